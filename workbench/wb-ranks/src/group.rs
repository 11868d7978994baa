//! The meeting of the ranks: rank 0 listens, the others come.

use std::{
    collections::BTreeMap,
    io,
    net::{TcpListener, TcpStream},
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use wb_core::{Error, Result};
use wb_encoder::{DeviceConfig, FarDevice, LostRank};

use crate::{
    Placement,
    far_rank::FarRank,
    hello::{self, Member},
    link::Link,
};

/// Time between two looks at who has come.
const LOOK: Duration = Duration::from_millis(50);
/// Time after which who waits is told for whom.
const LONG: Duration = Duration::from_secs(10);

/// The other ranks, as rank 0 has them.
#[derive(Debug)]
pub struct OtherRanks {
    far: Vec<Arc<FarRank>>,
}

/// The place of a rank's device at the side of rank 0.
#[derive(Debug)]
pub struct Place {
    link: Link,
}

/// Secret that ranks share, where there is one.
fn secret() -> String {
    std::env::var("WB_RANKS_SECRET").unwrap_or_default()
}

/// A wait that tells after some seconds what it waits for.
struct Wait {
    since: Instant,
    limit: Duration,
    is_told: bool,
}

impl Wait {
    fn new(limit: Duration) -> Self {
        Self { since: Instant::now(), limit, is_told: false }
    }

    /// False once it has taken too long.
    fn goes_on(&mut self, waiting: &mut dyn FnMut(String), what: impl Fn() -> String) -> bool {
        thread::sleep(LOOK);
        if !self.is_told && self.since.elapsed() > LONG {
            self.is_told = true;
            waiting(what());
        }
        self.since.elapsed() < self.limit
    }
}

impl OtherRanks {
    /// Waits until all ranks have come, as rank 0; `waiting` is told for whom, after ten seconds, and who was refused.
    ///
    /// # Errors
    ///
    /// If the port is taken, two say that they are one rank, or a rank has not come after `limit`; then of the kind
    /// [`LostRank`].
    pub fn gather(
        placement: &Placement,
        first: &Member,
        limit: Duration,
        waiting: &mut dyn FnMut(String),
    ) -> Result<Self> {
        let mut found: BTreeMap<(usize, usize), FarRank> = BTreeMap::new();
        if placement.ranks == 1 {
            return Ok(Self { far: Vec::new() });
        }
        let listener = listen(placement)?;
        let (secret, mut wait) = (secret(), Wait::new(limit));
        let (met, meeting) = mpsc::channel::<Result<(Member, TcpStream)>>();
        let mut refused = String::new();
        loop {
            // One that has gone again is waited for anew.
            found.retain(|_, device| !device.is_lost());
            let has_come = |rank: usize| {
                let mut devices = found.range((rank, 0)..(rank + 1, 0));
                let count = devices.clone().count();
                devices.next().is_some_and(|(_, device)| device.of_rank() == count)
            };
            let missing: Vec<String> =
                (1..placement.ranks).filter(|rank| !has_come(*rank)).map(|rank| rank.to_string()).collect();
            if missing.is_empty() {
                return Ok(Self { far: found.into_values().map(Arc::new).collect() });
            }
            let missing = || format!("rank {} of {}", missing.join(", "), placement.ranks);
            let address = placement.address();
            if !wait.goes_on(waiting, || format!("waiting at {address} for {}", missing())) {
                let what = format!("{} did not come to {address} in {} s{refused}", missing(), limit.as_secs());
                let error = Error::failed(what).with_hint("all ranks have to reach that host: MASTER_ADDR");
                // One that was refused comes no better another time.
                return Err(if refused.is_empty() { error.of_kind(LostRank) } else { error });
            }
            // Each says its first words in a thread, so that one who is silent keeps nobody waiting.
            while let Ok((stream, _)) = listener.accept() {
                let (met, first, secret) = (met.clone(), first.clone(), secret.clone());
                thread::spawn(move || {
                    let Some(member) = hello::ask(&stream, &first, &secret) else { return };
                    met.send(member.map(|member| (member, stream))).ok();
                });
            }
            for one in meeting.try_iter() {
                let (member, stream) = match one {
                    Ok(one) => one,
                    // It may be of another training, and has been told.
                    Err(error) => {
                        waiting(format!("refused: {}", error.in_one_line()));
                        refused = format!("; refused: {error}");
                        continue;
                    }
                };
                let link = Link::begin(stream, format!("rank {} on {}", member.rank, member.host))?;
                let place = (member.rank, member.number.0);
                let before = found.insert(place, FarRank::new(link, member));
                // The end of one that has come again may be on its way.
                if before.is_some_and(|before| !before.is_lost_soon()) {
                    let message = format!("two processes say that they are rank {}", place.0);
                    return Err(Error::failed(message).with_hint("each rank has a number of its own: RANK"));
                }
            }
        }
    }

    /// The devices of all of them, in the order of the ranks.
    pub fn devices(&self) -> impl Iterator<Item = DeviceConfig> {
        self.far.iter().map(|device| device.config())
    }

    /// The devices themselves.
    pub fn far(&self) -> Vec<Arc<dyn FarDevice>> {
        self.far.iter().map(|rank| Arc::clone(rank) as Arc<dyn FarDevice>).collect()
    }

    /// Lets the others end too, with an exit code.
    pub fn end(&self, code: u8) {
        self.far.iter().for_each(|rank| rank.end(code));
    }

    #[cfg(test)]
    pub(crate) fn sums(&self) -> Vec<u64> {
        self.far.iter().map(|rank| rank.sums()).collect()
    }
}

fn listen(placement: &Placement) -> Result<TcpListener> {
    let is_here = matches!(placement.host.as_str(), "localhost" | "::1") || placement.host.starts_with("127.");
    let listener = match is_here {
        true => TcpListener::bind((placement.host.as_str(), placement.port)),
        false => TcpListener::bind(("::", placement.port)).or_else(|_| TcpListener::bind(("0.0.0.0", placement.port))),
    };
    let failed = |error: io::Error| {
        Error::failed(format!("rank 0 cannot listen at port {}: {error}", placement.port))
            .with_hint("another port for all ranks: MASTER_PORT=29600")
    };
    let listener = listener.map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

/// Goes to rank 0, as another one; `waiting` is told where it is looked for, after ten seconds.
///
/// # Errors
///
/// If rank 0 refuses this one, or is not found within `limit`; then of the kind [`LostRank`].
pub fn join(placement: &Placement, member: &Member, limit: Duration, waiting: &mut dyn FnMut(String)) -> Result<Place> {
    let (secret, mut wait) = (secret(), Wait::new(limit));
    let address = placement.address();
    loop {
        let met = TcpStream::connect((placement.host.as_str(), placement.port))
            .and_then(|stream| Ok((hello::say(&stream, member, &secret)?, stream)));
        let error = match met {
            Ok((welcome, stream)) => {
                welcome?;
                return Ok(Place { link: Link::begin(stream, format!("rank 0 at {address}"))? });
            }
            Err(error) => error,
        };
        if !wait.goes_on(waiting, || format!("looking for rank 0 at {address}")) {
            let seconds = limit.as_secs();
            return Err(Error::failed(format!("rank 0 was not found at {address} in {seconds} s: {error}"))
                .with_hint("the host of rank 0 as all others reach it: MASTER_ADDR")
                .of_kind(LostRank));
        }
    }
}

impl Place {
    pub(crate) fn link(&self) -> &Link {
        &self.link
    }
}
