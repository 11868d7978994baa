//! `wb bench spider`, `bird` and `synthetic-sql`: predicted SQL, judged through the command; `wb text2sql`, which makes it.

mod errors;
mod events;
mod made_up;
mod others;
mod published;
mod spider;
mod text2sql;
