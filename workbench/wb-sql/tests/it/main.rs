//! The judge of text-to-SQL on made-up and on real databases.

mod agreement;
mod bird;
mod hostile;
mod speed;
mod support;
mod workers;
