//! One training by all processes that a launcher has started: this one's part in it.
//!
//! Rank 0 runs the experiment, with the devices of the others beside its own, as if they were its own: a run by two ranks
//! of one processor each is the run of `device: [cpu, cpu]`, and either goes on with the other's. The others compute what they
//! are asked for.

use std::{thread, time::Duration};

use anyhow::Result;
use wb_core::{fingerprint::Fingerprint, lock::host};
use wb_encoder::{Devices, OpenDevice, Precision, is_lost_rank};
use wb_ranks::{Member, OtherRanks, Placement, join, serve, share_processor};

use crate::{config::Experiment, device, interrupt::Interrupt, manifest::this_code, output};

/// Time within which all ranks have to come: nodes of a cluster begin one after the other.
const MEETING: Duration = Duration::from_secs(600);

/// Part of this process in what it was started for.
pub enum Part {
    /// The experiment itself.
    Experiment(Ranks),
    /// Computing for rank 0, which has ended with this exit code.
    Done(u8),
}

/// The other ranks, as rank 0 has them; none where a process is alone.
#[derive(Default)]
pub struct Ranks {
    others: Option<(OtherRanks, Devices)>,
}

impl Part {
    /// Finds this process's part. Rank 0 has all others when this returns, and the others are at its service until it ends.
    /// Where nothing is `distributed`, a process is alone.
    ///
    /// # Errors
    ///
    /// If there is no launcher, or the ranks do not find each other, or a device of this rank cannot be used.
    pub fn begin(distributed: bool, experiment: &Experiment, interrupt: &Interrupt) -> Result<Self> {
        if !distributed {
            return Ok(Self::Experiment(Ranks::default()));
        }
        if experiment.sweep.is_some() && experiment.run_on.is_some() {
            let message = "starts every run of a sweep by itself, and --distributed makes each the work of all ranks";
            return Err(wb_core::Error::value("run_on", message).with_hint("one of both").into());
        }
        let placement = Placement::of_environment()?;
        share_processor(&placement);
        // After `auto` was found to be a GPU: each rank of a host has its own.
        let own = placement.devices(&device::all_resolved(&experiment.device)?);
        // Ranks may have devices of different kinds.
        let anywhere = Experiment { device: Devices::default(), ..experiment.clone() };
        let member = Member {
            rank: placement.rank,
            ranks: placement.ranks,
            host: host(),
            build: this_code(),
            experiment: Fingerprint::of_bytes(wb_core::config::to_text(&anywhere)?.as_bytes()),
            device: own.first(),
            description: String::new(),
            number: (0, 1),
        };
        if placement.rank > 0 {
            return other(&placement, &member, (&own, experiment.train.precision), interrupt).map(Self::Done);
        }
        let group = OtherRanks::gather(&placement, &member, MEETING, &mut |what| output::note(what))?;
        output::note(format!("rank 0 of {}: the devices of all train together", placement.ranks));
        Ok(Self::Experiment(Ranks { others: Some((group, own)) }))
    }
}

/// The work of another rank than the first, each of its devices by itself, until rank 0 ends; its exit code.
fn other(
    placement: &Placement,
    member: &Member,
    (own, precision): (&Devices, Precision),
    interrupt: &Interrupt,
) -> Result<u8> {
    let open = |device| device::open_for(device, None, precision);
    let devices = own.iter().map(open).collect::<Result<Vec<OpenDevice>>>()?;
    let names: Vec<&str> = devices.iter().map(|device| device.description.as_str()).collect();
    let (names, ranks, address) = (names.join(" + "), placement.ranks, placement.address());
    let met = devices.iter().enumerate().map(|(at, device)| {
        let (description, number) = (device.description.clone(), (at, devices.len()));
        let member = Member { device: device.config, description, number, ..member.clone() };
        Ok((join(placement, &member, MEETING, &mut |what| output::note(what))?, device))
    });
    let met = met.collect::<wb_core::Result<Vec<_>>>()?;
    output::note(format!("rank {} of {ranks}: {names} for rank 0 at {address}", member.rank));
    // Ctrl-C reaches all ranks: rank 0 writes a checkpoint and says when this is the end.
    interrupt.while_training(|| {
        thread::scope(|scope| {
            let all: Vec<_> = met.iter().map(|(place, device)| scope.spawn(move || serve(place, device))).collect();
            let ends = all.into_iter().map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            Ok(ends.collect::<wb_core::Result<Vec<u8>>>()?.into_iter().max().unwrap_or_default())
        })
    })
}

impl Ranks {
    /// The experiment on the devices of all ranks.
    #[must_use]
    pub fn experiment(&self, experiment: &Experiment) -> Experiment {
        let Some((group, own)) = &self.others else { return experiment.clone() };
        Experiment { device: own.and(group.devices()), ..experiment.clone() }
    }

    /// Opens the devices of such an experiment; see [`device::of_experiment`].
    pub(crate) fn open(&self, experiment: &Experiment) -> Result<OpenDevice> {
        let Some((group, own)) = &self.others else { return device::of_experiment(experiment) };
        Ok(device::all(own, experiment)?.with_far(group.far()))
    }

    /// Lets the others end too.
    pub fn end(&self, code: u8) {
        if let Some((group, _)) = &self.others {
            group.end(code);
        }
    }
}

/// True where another rank is gone: the same command goes on from the last whole step.
pub fn is_lost(error: &anyhow::Error) -> bool {
    is_lost_rank(error.as_ref())
}

/// A hint for a place that another process holds, where that one was started together with this one.
pub(crate) fn if_together(error: wb_core::Error) -> wb_core::Error {
    match (error, Placement::of_environment()) {
        (wb_core::Error::Locked { path, holder, hint: None }, Ok(placement)) if placement.ranks > 1 => {
            let hint = format!(
                "this is one of {} processes that were started together: with --distributed they train one encoder",
                placement.ranks
            );
            wb_core::Error::Locked { path, holder, hint: Some(hint) }
        }
        (error, _) => error,
    }
}
