//! The first words between two ranks: both must be parts of one training, and know its secret where there is one.

use std::{
    hash::{BuildHasher, RandomState},
    io::{self, Read},
    net::TcpStream,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use wb_core::{Error, Result, fingerprint::Fingerprint};
use wb_encoder::DeviceConfig;

use crate::frame::Frame;

/// Time that the first words may take.
const WORDS: Duration = Duration::from_secs(10);
/// Most bytes of one of them.
const MOST: u64 = 1 << 16;

/// A device of a rank, as the others have to know it.
#[derive(Debug, Clone)]
pub struct Member {
    /// The rank's number.
    pub rank: usize,
    /// Number of ranks that it counts.
    pub ranks: usize,
    /// Its host's name.
    pub host: String,
    /// The program's version and source, in words.
    pub build: String,
    /// Fingerprint of the experiment that it was given.
    pub experiment: Fingerprint,
    /// One of its devices, which is not `auto`.
    pub device: DeviceConfig,
    /// The device's name for people.
    pub description: String,
    /// The device's number among those of the rank, and how many these are.
    pub number: (usize, usize),
}

#[derive(Serialize, Deserialize)]
struct Challenge {
    nonce: String,
}

#[derive(Serialize, Deserialize)]
struct Hello {
    rank: u64,
    ranks: u64,
    host: String,
    build: String,
    experiment: String,
    /// The device as it is written for people.
    device: String,
    description: String,
    number: (u64, u64),
    nonce: String,
    proof: String,
}

#[derive(Serialize, Deserialize)]
enum Reply {
    Welcome { proof: String },
    Refused { what: String, hint: Option<String> },
}

/// A text that was never used before.
fn nonce() -> String {
    // The standard library's hash maps draw keys of their own from the system.
    (0..4u8).map(|at| format!("{:016x}", RandomState::new().hash_one(at))).collect()
}

/// Proof that somebody knows the secret, for these nonces alone.
fn proof(secret: &str, who: &str, nonces: [&str; 2]) -> String {
    let mut proof = Fingerprint::builder();
    proof.text("wb ranks").text(secret).text(who);
    nonces.iter().for_each(|nonce| {
        proof.text(nonce);
    });
    proof.finish().to_string()
}

/// A connection for as long as the first words may take, however slowly they come.
struct Words<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl<'a> Words<'a> {
    fn begin(stream: &'a TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(WORDS))?;
        Ok(Self { stream, until: Instant::now() + WORDS })
    }

    fn read<T: serde::de::DeserializeOwned>(&mut self) -> io::Result<T> {
        let none = || io::Error::new(io::ErrorKind::InvalidData, "what came is no message of wb");
        Frame::read(self, MOST)?.ok_or_else(none)?.head().map_err(|_| none())
    }

    fn write(&self, what: &impl Serialize) -> io::Result<()> {
        Frame::of(what).map_err(io::Error::other)?.write(&mut &*self.stream)
    }
}

impl Read for Words<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(to)
    }
}

/// Asks who has connected to rank 0: the rank, where it belongs here; else the error that it is told too. Nothing where it
/// is no rank at all, or does not know the secret.
pub(crate) fn ask(stream: &TcpStream, first: &Member, secret: &str) -> Option<Result<Member>> {
    let own = nonce();
    let mut words = Words::begin(stream).ok()?;
    words.write(&Challenge { nonce: own.clone() }).ok()?;
    let hello: Hello = words.read().ok()?;
    let refuse = |error: Error| {
        let reply = Reply::Refused { what: error.to_string(), hint: error.hint().map(str::to_owned) };
        words.write(&reply).ok();
        error
    };
    let nonces = [own.as_str(), hello.nonce.as_str()];
    if hello.proof != proof(secret, "rank", nonces) {
        refuse(Error::failed("rank 0 has another secret").with_hint("the same WB_RANKS_SECRET for all ranks"));
        return None;
    }
    let member = belongs(&hello, first).map_err(refuse);
    if member.is_ok() {
        words.write(&Reply::Welcome { proof: proof(secret, "first", nonces) }).ok()?;
    }
    Some(member)
}

/// The member that says hello, unless it is part of something else.
fn belongs(hello: &Hello, first: &Member) -> Result<Member> {
    let rank = hello.rank as usize;
    let differs = |what: &str, there: &str, here: &str| {
        let message =
            format!("rank {rank} on {} has another {what} than rank 0 on {}: {there}, {here}", hello.host, first.host);
        Err(Error::failed(message).with_hint("the same command and the same wb on all ranks"))
    };
    if hello.build != first.build {
        return differs("build", &hello.build, &first.build);
    }
    if hello.experiment != first.experiment.as_str() {
        let short = |of: &str| of.get(..12).unwrap_or(of).to_owned();
        return differs("experiment", &short(&hello.experiment), first.experiment.short());
    }
    if hello.ranks != first.ranks as u64 {
        return differs("number of ranks", &hello.ranks.to_string(), &first.ranks.to_string());
    }
    if !(1..first.ranks).contains(&rank) {
        return differs("place", &format!("rank {rank}"), &format!("expected 1 to {}", first.ranks - 1));
    }
    let (number, of) = hello.number;
    if number >= of {
        return differs("number of devices", &of.to_string(), &format!("expected more than {number}"));
    }
    let (device, number) = (hello.device.parse()?, (number as usize, of as usize));
    let (host, description) = (hello.host.clone(), hello.description.clone());
    Ok(Member { rank, host, device, description, number, ..first.clone() })
}

/// Says hello to rank 0.
///
/// # Errors
///
/// The outer one if there is no rank 0 at the other end, the inner one if it refuses.
pub(crate) fn say(stream: &TcpStream, member: &Member, secret: &str) -> io::Result<Result<()>> {
    let mut words = Words::begin(stream)?;
    let Challenge { nonce: theirs } = words.read()?;
    let own = nonce();
    let nonces = [theirs.as_str(), own.as_str()];
    let hello = Hello {
        rank: member.rank as u64,
        ranks: member.ranks as u64,
        host: member.host.clone(),
        build: member.build.clone(),
        experiment: member.experiment.to_string(),
        device: member.device.to_string(),
        description: member.description.clone(),
        number: (member.number.0 as u64, member.number.1 as u64),
        nonce: own.clone(),
        proof: proof(secret, "rank", nonces),
    };
    words.write(&hello)?;
    Ok(match words.read()? {
        Reply::Refused { what, hint } => Err(Error::failed(what).with_hint_if(hint)),
        Reply::Welcome { proof: found } if found == proof(secret, "first", nonces) => Ok(()),
        Reply::Welcome { .. } => {
            let error = Error::failed("whoever listens in the place of rank 0 does not know the secret");
            Err(error.with_hint("the same WB_RANKS_SECRET for all ranks"))
        }
    })
}
