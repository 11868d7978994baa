//! The worker's side: a process that limits itself, reads statements from its input and writes their results.

mod connection;
mod limits;
mod math;
mod run;
mod script;

use std::{
    fs::File,
    io::{BufReader, Write},
    os::fd::AsFd,
};

use self::{
    connection::Connections,
    limits::{Clock, Grant},
};
use super::{Error, Result, protocol};

/// Serves statements until the input ends. This is the whole life of a worker process: `stdin` and `stdout` are
/// connected to a [`WorkerPool`](super::WorkerPool), and nothing else may be written to them.
///
/// The process gives up what it does not need first: memory beyond a bound, files and core dumps of any size, more than
/// a few open files. While a statement runs, the end of `stdin` (the parent is gone) ends the process.
///
/// # Errors
///
/// If the pipes break or what arrives is no message; the process should end then.
pub fn serve(stdin: impl AsFd, stdout: impl AsFd) -> Result<()> {
    let stdin = stdin.as_fd().try_clone_to_owned()?;
    let clock = Clock::watching(stdin.try_clone()?);
    let mut input = BufReader::new(File::from(stdin));
    let mut output = File::from(stdout.as_fd().try_clone_to_owned()?);
    let Some(setup) = protocol::read_frame(&mut input)? else { return Ok(()) };
    let setup: protocol::Setup = protocol::parsed(&setup)?;
    limits::apply(setup.memory_bytes)?;
    let hello = protocol::Hello { sqlite: rusqlite::version().to_owned() };
    output.write_all(&protocol::frame(&protocol::json(&hello)?))?;
    let mut connections = Connections::new(clock.clone());
    let mut grant = Grant::default();
    while let Some(request) = protocol::read_frame(&mut input)? {
        let request: protocol::Request = protocol::parsed(&request)?;
        clock.start(request.timeout_ms);
        grant.renew(request.timeout_ms)?;
        let mut send = |frames: &[u8]| output.write_all(frames).map_err(Error::from);
        run::run(&mut connections, &request, &mut send)?;
    }
    Ok(())
}
