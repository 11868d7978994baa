//! A connection to another rank, which is known to live by the signs that it sends.

use std::{
    io::{self, BufReader},
    net::{Shutdown, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use wb_core::{Error, Result};
use wb_encoder::LostRank;

use crate::frame::Frame;

/// Time between two signs of life.
const SIGNS: Duration = Duration::from_secs(3);
/// Time without one after which a rank is lost: a host without power says nothing more.
const SILENCE: Duration = Duration::from_secs(20);
/// Most bytes of a message.
const MOST: u64 = 1 << 42;

/// A connection to another rank.
#[derive(Debug)]
pub(crate) struct Link {
    peer: String,
    stream: Arc<TcpStream>,
    writing: Arc<Mutex<()>>,
    incoming: Mutex<mpsc::Receiver<io::Result<Frame>>>,
    lost: Arc<AtomicBool>,
    /// Its end ends the thread that sends signs.
    _alive: mpsc::Sender<()>,
}

impl Link {
    /// Takes a connection whose other end was found to be a rank; `peer` is its name in messages.
    pub(crate) fn begin(stream: TcpStream, peer: String) -> Result<Self> {
        let failed = |error: io::Error| lost(&peer, &error);
        stream.set_nodelay(true).map_err(failed)?;
        stream.set_nonblocking(false).map_err(failed)?;
        stream.set_read_timeout(Some(SILENCE)).map_err(failed)?;
        stream.set_write_timeout(Some(SILENCE)).map_err(failed)?;
        let (stream, writing, lost) = (Arc::new(stream), Arc::new(Mutex::new(())), Arc::new(AtomicBool::new(false)));
        let (send, incoming) = mpsc::channel();
        let (reading, reader_lost) = (Arc::clone(&stream), Arc::clone(&lost));
        // Somebody always reads: whoever is gone is seen to be, and signs of life do not pile up.
        thread::spawn(move || {
            let mut from = BufReader::with_capacity(1 << 16, &*reading);
            loop {
                let frame = match Frame::read(&mut from, MOST) {
                    Ok(None) => continue,
                    Ok(Some(frame)) => Ok(frame),
                    Err(error) => Err(error),
                };
                let is_end = frame.is_err();
                reader_lost.fetch_or(is_end, Ordering::SeqCst);
                if send.send(frame).is_err() || is_end {
                    return;
                }
            }
        });
        let (alive, end) = mpsc::channel();
        let (signing, signs) = (Arc::clone(&stream), Arc::clone(&writing));
        thread::spawn(move || {
            while end.recv_timeout(SIGNS) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _one = signs.lock().unwrap_or_else(PoisonError::into_inner);
                if Frame::write_sign_of_life(&mut &*signing).is_err() {
                    // The thread that reads finds out why.
                    return;
                }
            }
        });
        Ok(Self { peer, stream, writing, incoming: Mutex::new(incoming), lost, _alive: alive })
    }

    /// Sends a message.
    pub(crate) fn send(&self, frame: &Frame) -> Result<()> {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.lost.load(Ordering::SeqCst) {
            return Err(lost(&self.peer, &io::ErrorKind::UnexpectedEof.into()));
        }
        frame.write(&mut &*self.stream).map_err(|error| {
            // Half a message may be on its way: nothing may follow it.
            self.lost.store(true, Ordering::SeqCst);
            self.stream.shutdown(Shutdown::Both).ok();
            lost(&self.peer, &error)
        })
    }

    /// Waits for the next message.
    pub(crate) fn receive(&self) -> Result<Frame> {
        let incoming = self.incoming.lock().unwrap_or_else(PoisonError::into_inner);
        let closed = || Err(io::ErrorKind::UnexpectedEof.into());
        incoming.recv().unwrap_or_else(|_| closed()).map_err(|error| lost(&self.peer, &error))
    }

    /// A flag that is set once the other end is gone.
    pub(crate) fn lost(&self) -> &Arc<AtomicBool> {
        &self.lost
    }

    /// The other end's name.
    pub(crate) fn peer(&self) -> &str {
        &self.peer
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // What was sent still arrives; the thread that reads ends with the other side.
        self.stream.shutdown(Shutdown::Write).ok();
    }
}

fn lost(peer: &str, error: &io::Error) -> Error {
    let how = match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("has not been heard for {} s", SILENCE.as_secs())
        }
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe => "has ended".to_owned(),
        _ => format!("cannot be reached: {error}"),
    };
    Error::failed(format!("{peer} {how}"))
        .with_hint("the same command on all ranks goes on from the last whole step")
        .of_kind(LostRank)
}
