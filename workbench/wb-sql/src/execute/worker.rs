//! The parent's side of one worker: a process that is started, asked, and ended when it does not answer in time.

use std::{
    ffi::OsString,
    io::{Read, Write},
    os::{fd::AsFd, unix::process::ExitStatusExt},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{
    Error, Result,
    protocol::{self, HEADER, Hello, Reply, Setup},
};

/// What starts a worker: a program that calls [`serve`](super::serve) with its input and output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The program, by its absolute path: workers run at the root of the file system.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// How long a worker may take to say that it is ready.
const READY: Duration = Duration::from_secs(20);
/// What can be written to a pipe that has room without waiting.
const PIECE: usize = 4096;

/// Why a worker is of no use any more.
#[derive(Debug)]
pub(super) enum Broken {
    /// It has not answered in time.
    Hung,
    /// It has ended, by this signal if by one.
    Ended(Option<i32>),
    /// What it wrote is no message.
    Garbled(String),
}

/// A running worker.
pub(super) struct Worker {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    /// What was read and belongs to the next message.
    unread: Vec<u8>,
}

impl Worker {
    /// Starts one, with an empty environment, at the root of the file system.
    pub fn start(command: &WorkerCommand, memory_bytes: u64) -> Result<Worker> {
        let failed = |what: String| Error::Start { command: command.program.display().to_string(), what };
        let mut child = Command::new(&command.program)
            .args(&command.arguments)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("it has no pipes".to_owned()));
        };
        let mut worker = Worker { child, stdin, stdout, unread: Vec::new() };
        let deadline = Instant::now() + READY;
        let setup = protocol::json(&Setup { memory_bytes })?;
        let hello = worker.send(&setup, deadline).and_then(|()| worker.payload(deadline));
        let hello = hello.map_err(|broken| failed(format!("it does not say that it is ready: {broken:?}")))?;
        let _: Hello = protocol::parsed(&hello)?;
        Ok(worker)
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a message. The worker has answered the one before, so its pipe is empty, and a short one never waits.
    pub fn send(&mut self, payload: &[u8], deadline: Instant) -> Result<(), Broken> {
        for (at, piece) in protocol::frame(payload).chunks(PIECE).enumerate() {
            if at > 0 {
                wait(&self.stdin, PollFlags::OUT, deadline)?;
            }
            if self.stdin.write_all(piece).is_err() {
                return Err(self.ended());
            }
        }
        Ok(())
    }

    /// Waits for a message.
    pub fn reply(&mut self, deadline: Instant) -> Result<Reply, Broken> {
        let payload = self.payload(deadline)?;
        protocol::reply(&payload).map_err(|error| Broken::Garbled(error.to_string()))
    }

    fn payload(&mut self, deadline: Instant) -> Result<Vec<u8>, Broken> {
        let garbled = |error: Error| Broken::Garbled(error.to_string());
        self.fill(HEADER, deadline)?;
        let mut header = [0; HEADER];
        header.copy_from_slice(&self.unread[..HEADER]);
        let length = protocol::announced(&header).map_err(garbled)?;
        self.fill(HEADER + length, deadline)?;
        let rest = self.unread.split_off(HEADER + length);
        let mut payload = std::mem::replace(&mut self.unread, rest);
        payload.drain(..HEADER);
        protocol::check(&header, &payload).map_err(garbled)?;
        Ok(payload)
    }

    /// Reads until so many bytes are there.
    fn fill(&mut self, bytes: usize, deadline: Instant) -> Result<(), Broken> {
        let mut piece = [0; 16 << 10];
        while self.unread.len() < bytes {
            wait(&self.stdout, PollFlags::IN, deadline)?;
            match self.stdout.read(&mut piece) {
                Ok(0) | Err(_) => return Err(self.ended()),
                Ok(count) => self.unread.extend(&piece[..count]),
            }
        }
        Ok(())
    }

    /// It closed its pipe, so it ends; how it did is told by the system.
    fn ended(&mut self) -> Broken {
        let until = Instant::now() + Duration::from_secs(1);
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Broken::Ended(status.signal()),
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(1)),
                _ => return Broken::Ended(None),
            }
        }
    }
}

impl Worker {
    /// Ends its process, without waiting for that.
    pub fn kill(&mut self) {
        // It fails only if the process is gone.
        let _ = self.child.kill();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

/// Waits until a pipe can be used, at most until the deadline.
fn wait(pipe: &impl AsFd, what: PollFlags, deadline: Instant) -> Result<(), Broken> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut pipes = [PollFd::new(pipe, what)];
        let timeout =
            Timespec { tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX), tv_nsec: left.subsec_nanos().into() };
        match poll(&mut pipes, Some(&timeout)) {
            Ok(0) if left.is_zero() => return Err(Broken::Hung),
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            // Ready, or broken: reading and writing tell which.
            _ => return Ok(()),
        }
    }
}
