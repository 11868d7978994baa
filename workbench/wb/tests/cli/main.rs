//! The command as people meet it: exit codes, standard output and standard error, on a made-up project.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

mod agents;
mod annotations;
mod bench_sql;
mod commands;
mod cost;
mod cross_encoder;
mod curriculum;
#[cfg(feature = "hub")]
mod data_get;
mod decoder;
mod defaults;
mod distilled;
mod distributed;
mod dtypes;
mod encode;
mod export;
mod files;
mod gates;
mod help;
mod hub;
mod init;
mod interrupted;
mod killed;
mod late_interaction;
mod made_pairs;
mod my_repo;
mod names;
mod negatives;
mod objectives;
mod progress;
mod recipes;
mod reranking;
mod rescoring;
mod resumed;
mod search;
mod shards;
mod static_from_teacher;
mod story;
mod structure;
mod synthesis;
mod tables;
mod weights;
mod xtr;
mod yaml;

use wb_sandbox as sandbox;
