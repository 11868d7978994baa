//! The whole chain with a scripted model: a deterministic function of the question.

mod chain;
mod dry_run;
mod files;
mod support;
