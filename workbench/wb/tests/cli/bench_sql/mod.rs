//! `wb bench spider`, `bird` and `synthetic-sql`: predicted SQL, judged through the command.

mod errors;
mod events;
mod generate;
mod made_up;
mod others;
mod published;
mod spider;
