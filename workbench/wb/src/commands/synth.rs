//! `wb synth`: training pairs from a language model and from rules.

use anyhow::{Result, bail};
use wb_pipeline::{
    environment, session, shards,
    synth::{self, ANNOTATIONS, PAIRS},
};

use super::{End, experiment, unless_stopped};
use crate::{
    args, interrupt,
    output::{self, Bars},
};

/// `wb synth`
pub fn synth(arguments: &args::Synth) -> Result<End> {
    unless_stopped(make(arguments))
}

fn make(arguments: &args::Synth) -> Result<()> {
    let given = &arguments.given;
    let file = experiment::of_file("wb synth", &given.config, &given.overrides)?;
    file.snippets()?;
    file.check_makes_something()?;
    let reviews = synth::reviews(&file)?;
    let asks = file.synth.is_some() || file.annotate.is_some();
    if given.replay.is_some() && !asks {
        bail!("--replay takes the answers of a language model, and {} asks none", given.config.display());
    }
    if given.replay.is_none() && asks {
        environment::complete(file.llm.as_ref())?;
    }
    let out = session::work_folder(&given.out.clone().unwrap_or_else(|| synth::folder(&file.name)), &|_| true)?;
    let interrupt = interrupt::listen()?;
    let mut bars = Bars::new();
    let mut progress = |p| bars.report(p);
    for warning in file.synth.iter().flat_map(|synth| synth.warnings()) {
        output::note(format!("warning: {warning}"));
    }
    if arguments.dry_run && !asks {
        bail!("--dry-run measures what a language model takes, and {} asks none", given.config.display());
    }
    // Before the snippets are read: that may take minutes, and a model that is not there is known at once.
    let replay = match (&given.replay, &file.run_on) {
        (None, Some(run_on)) if asks && !arguments.dry_run => {
            Some(shards::synthesized(&file, run_on, &out, &mut progress)?)
        }
        (replay, _) => replay.clone(),
    };
    let client = interrupt.while_asking(|stop| synth::open(&file, &out, replay.as_deref(), stop))?;
    let snippets = synth::read(&file, &mut progress)?;
    if let (true, Some(client)) = (arguments.dry_run, &client) {
        let estimates = interrupt.while_asking(|_| synth::estimates(&file, client, &snippets, &mut progress))?;
        bars.finish();
        let info = client.info();
        output::line(format!("{} on {}, {} at once", info.model, info.engine, info.parallel));
        synth::print_estimates(&estimates);
        return Ok(());
    }
    let client = client.as_ref();
    let made = interrupt.while_asking(|_| synth::synthesize(&file, client, snippets, &reviews, &out, &mut progress))?;
    bars.finish();
    synth::print(&made, client);
    output::line(format!("pairs   {}", out.join(PAIRS).display()));
    output::line(format!("card    {}", out.join("card.md").display()));
    output::line(format!("review  {}", out.join("review.html").display()));
    if made.annotated.is_some() {
        output::line(format!("said    {}", out.join(ANNOTATIONS).display()));
    }
    Ok(())
}
