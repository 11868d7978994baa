//! What holds for the project as a whole: its configs, its crates, its files.

mod configs;
mod tidy;
