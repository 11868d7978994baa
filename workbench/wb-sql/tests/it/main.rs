//! The judge of text-to-SQL on made-up and on real databases.

mod agreement;
mod hostile;
mod speed;
mod support;
mod workers;
