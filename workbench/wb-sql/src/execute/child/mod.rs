//! The worker's side: a process that limits itself, reads statements from its input and writes their results.

mod connection;
mod limits;
mod math;
mod run;

use std::{
    io::{Read, Write},
    os::fd::AsFd,
};

use self::{connection::Connections, limits::Clock};
use super::{Error, Result, protocol};

/// Serves statements until the input ends. This is the whole life of a worker process: `stdin` and `stdout` are
/// connected to a [`Pool`](super::Pool), and nothing else may be written to them.
///
/// The process gives up what it does not need first: memory beyond a bound, files and core dumps of any size, more than
/// a few open files. While a statement runs, the end of `stdin` (the parent is gone) ends the process.
///
/// # Errors
///
/// If the pipes break or what arrives is no message; the process should end then.
pub fn serve(mut stdin: impl Read + AsFd, mut stdout: impl Write) -> Result<()> {
    let Some(setup) = protocol::read_frame(&mut stdin)? else { return Ok(()) };
    let setup: protocol::Setup = protocol::parsed(&setup)?;
    limits::apply(setup.memory_bytes)?;
    let clock = Clock::watching(stdin.as_fd().try_clone_to_owned()?);
    let hello = protocol::Hello { sqlite: rusqlite::version().to_owned() };
    protocol::write_frame(&mut stdout, &protocol::json(&hello)?)?;
    let mut connections = Connections::new(clock.clone());
    while let Some(request) = protocol::read_frame(&mut stdin)? {
        let request: protocol::Request = protocol::parsed(&request)?;
        clock.start(request.timeout_ms);
        limits::grant_cpu(request.timeout_ms)?;
        let mut send = |payload: &[u8]| protocol::write_frame(&mut stdout, payload).map_err(Error::from);
        let end = run::run(&mut connections, &request, &mut send)?;
        protocol::write_frame(&mut stdout, &protocol::end(&end)?)?;
    }
    Ok(())
}
