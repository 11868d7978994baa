//! The parent's side of one worker: a process that is started, asked, and ended when it does not answer in time.

use std::{
    collections::VecDeque,
    ffi::OsString,
    io::{ErrorKind, Read, Write},
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{
    Error, Result,
    protocol::{self, HEADER, Hello, Reply, Setup},
};

/// Command that starts a worker: a program that calls [`serve`](super::serve) with its input and output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The program, by its absolute path: workers run at the root of the file system.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// Time that a worker may take to say that it is ready.
const READY: Duration = Duration::from_secs(20);
/// Bytes that can be written without waiting to a pipe of which the system says that it has room.
const PIECE: usize = 4096;

/// Reason why a worker is of no use any more.
#[derive(Debug)]
pub(super) enum Broken {
    /// Silence until its time was over.
    Hung,
    /// End of the worker, by this signal if by one.
    Ended(Option<i32>),
    /// Bytes that are no message.
    Garbled(String),
}

/// A running worker.
pub(super) struct Worker {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    /// Bytes that were read and belong to the next message.
    unread: Vec<u8>,
    /// Bytes that are still to be written.
    unsent: VecDeque<u8>,
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
        let mut worker = Worker { child, stdin, stdout, unread: Vec::new(), unsent: VecDeque::new() };
        let deadline = Instant::now() + READY;
        let setup = protocol::json(&Setup { memory_bytes })?;
        worker.send(&setup);
        let hello = worker
            .payload(deadline)
            .map_err(|broken| failed(format!("it does not say that it is ready: {broken:?}")))?;
        let _: Hello = protocol::parsed(&hello)?;
        Ok(worker)
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a message, as far as that needs no waiting; the rest is written while answers are waited for. So a worker
    /// that reads nothing holds up nobody, and one that waits for its own answers to be read goes on.
    pub fn send(&mut self, payload: &[u8]) {
        self.unsent.extend(protocol::frame(payload));
        while self.can_write() {
            self.write();
        }
    }

    /// True where there is something to write, and room for it right now.
    fn can_write(&self) -> bool {
        if self.unsent.is_empty() {
            return false;
        }
        let mut pipe = [PollFd::new(&self.stdin, PollFlags::OUT)];
        poll(&mut pipe, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
    }

    /// Writes what has room.
    fn write(&mut self) {
        let piece = self.unsent.as_slices().0;
        match self.stdin.write(&piece[..piece.len().min(PIECE)]) {
            Ok(count) => drop(self.unsent.drain(..count)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Nobody reads any more; what the worker said before is still read, and then how it ended.
            Err(_) => self.unsent.clear(),
        }
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
            if !self.wait(deadline)? {
                continue;
            }
            match self.stdout.read(&mut piece) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return Err(self.ended()),
                Ok(count) => self.unread.extend(&piece[..count]),
            }
        }
        Ok(())
    }

    /// Waits until something can be read, at most until the deadline, and writes meanwhile what has room. False where
    /// nothing can be read yet.
    fn wait(&mut self, deadline: Instant) -> Result<bool, Broken> {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout =
            Timespec { tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX), tv_nsec: left.subsec_nanos().into() };
        let mut pipes = [PollFd::new(&self.stdout, PollFlags::IN), PollFd::new(&self.stdin, PollFlags::OUT)];
        let pipes = if self.unsent.is_empty() { &mut pipes[..1] } else { &mut pipes[..] };
        match poll(pipes, Some(&timeout)) {
            Ok(0) if left.is_zero() => return Err(Broken::Hung),
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(false),
            _ => {}
        }
        // Ready, or broken: reading and writing tell which.
        let ready = |at: usize| pipes.get(at).is_some_and(|pipe| !pipe.revents().is_empty());
        let (can_read, can_write) = (ready(0), ready(1));
        if can_write {
            self.write();
        }
        Ok(can_read)
    }

    /// End of a worker that closed its pipe, as the system tells it.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker that says hello and then reads nothing, with as little room in its pipe as there can be.
    fn deaf(then: &str) -> Worker {
        let hello = protocol::frame(br#"{"sqlite":"none"}"#);
        let octal: String = hello.iter().map(|byte| format!("\\{byte:03o}")).collect();
        let arguments = vec!["-c".into(), format!("printf '{octal}'; {then}").into()];
        let worker = Worker::start(&WorkerCommand { program: "/bin/sh".into(), arguments }, 1 << 20).unwrap();
        rustix::pipe::fcntl_setpipe_size(&worker.stdin, 4096).unwrap();
        worker
    }

    #[test]
    fn a_worker_that_reads_nothing_holds_up_nobody() {
        let mut worker = deaf("exec sleep 60");
        let begin = Instant::now();
        for _ in 0..3 {
            worker.send(&[b'x'; 3000]);
        }
        assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
        let until = begin + Duration::from_millis(300);
        assert!(matches!(worker.reply(until), Err(Broken::Hung)));
        assert!(begin.elapsed() >= Duration::from_millis(300) && begin.elapsed() < Duration::from_secs(2));
    }

    /// The worker waits for its answers to be read, the parent waits for its requests to be read: both go on.
    #[test]
    fn requests_are_written_while_answers_are_read() {
        let answer = protocol::frame(&[&b"C"[..], &[0; 100_000]].concat());
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("answer"), &answer).unwrap();
        let path = folder.path().join("answer");
        let mut worker = deaf(&format!("cat {0}; cat {0}; cat > /dev/null", path.display()));
        for _ in 0..20 {
            worker.send(&[b'x'; 3000]);
        }
        let until = Instant::now() + Duration::from_secs(20);
        for _ in 0..2 {
            let Ok(Reply::Cells(cells)) = worker.reply(until) else { panic!("no answer") };
            assert_eq!(cells.len(), 100_000);
        }
        assert!(matches!(worker.reply(Instant::now() + Duration::from_millis(200)), Err(Broken::Hung)));
        assert!(worker.unsent.is_empty(), "all was written while it was waited for");
    }
}
