//! The command as people meet it: exit codes, standard output and standard error, on a made-up project.

mod commands;
mod files;
mod help;
mod interrupted;
mod made_up;
mod names;
mod sandbox;
mod story;
mod weights;
mod yaml;
