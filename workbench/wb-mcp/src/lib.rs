//! Answers for agents: a project's index behind the Model Context Protocol, over standard input and output or over HTTP.
//!
//! [`LiveProject`] keeps an index open and brings it up to date as files change, [`AgentServer`] offers its five tools,
//! which only read, and [`serve_stdio`] and [`serve_http`] carry them. What stands in a project's files is data: it comes
//! inside of JSON strings, without what a terminal or a reader would take for more than text.

mod answer;
mod guard;
mod http;
mod live;
mod runtime;
mod schema;
mod server;
mod stdio;
mod tools;

pub use guard::{HttpAccess, read_token};
pub use http::serve_http;
pub use live::{EncoderOpener, LiveProject, OpenedEncoder};
pub use runtime::StopFlag;
pub use server::AgentServer;
pub use stdio::{serve_stdio, serve_streams};
pub use wb_core::{Error, Result};
