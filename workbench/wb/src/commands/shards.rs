//! `wb shards`: a stage in parts, on as many machines as there are.

use anyhow::Result;
use wb_core::Error;
use wb_pipeline::{
    interrupt::Interrupt,
    shards::{self, EncodePlan, LocalProcesses, RunOn, ShardSize, ShardStage},
    typed::file_and_values,
};
use wb_shards::{OpenPlan, Store};

use super::{End, experiment};
use crate::{
    args::{self, ShardsCommand},
    interrupt,
    output::{self, Bars},
};

/// `wb shards`
pub fn shards(command: ShardsCommand) -> Result<End> {
    let interrupt = interrupt::listen()?;
    let is_attempt = matches!(command, ShardsCommand::Run(_));
    let done = match command {
        ShardsCommand::Plan(arguments) => plan(*arguments),
        ShardsCommand::Run(arguments) => run(arguments, &interrupt),
        ShardsCommand::Status(arguments) => OpenPlan::open(&arguments.plan)?
            .status()
            .map_err(Into::into)
            .and_then(|it| shards::print_status(&it, arguments.json)),
        ShardsCommand::Missing(arguments) => missing(&arguments),
        ShardsCommand::Merge(arguments) => merge(&arguments),
    };
    match done {
        Ok(()) => Ok(End::Done),
        // Who started this may start it again, here or elsewhere.
        Err(error) if is_attempt && shards::may_pass(&error) => {
            output::error(&error);
            Ok(End::TryAgain)
        }
        Err(error) => Err(error),
    }
}

fn plan(arguments: args::PlanArguments) -> Result<()> {
    let args::PlanArguments { given, stage, encoder, input, field, side, max_tokens, shards, rows_per_shard, work } =
        arguments;
    let (config, overrides) = file_and_values(given.config, given.overrides);
    let work = Store::open(&work)?;
    let mut bars = Bars::new();
    let of_texts = EncodePlan {
        table: input.unwrap_or_default(),
        field: field.unwrap_or_else(|| "text".to_owned()),
        encoder: encoder.unwrap_or_default().as_str().into(),
        side: side.into(),
        max_tokens,
        device: given.device.unwrap_or_default(),
        size: ShardSize::asked(shards, rows_per_shard),
    };
    let plan = if let Some(config) = config {
        let typed = args::ExperimentArguments { config, overrides, device: given.device, places: given.places };
        let experiment = experiment::load("wb shards plan", &typed)?;
        if !stage.asks() {
            experiment.data()?;
            experiment::prepare(&experiment, &typed, &["data.", "negatives."])?;
        }
        let datasets = &typed.places.datasets;
        let given = (&experiment, &experiment::overrides(&typed)[..]);
        shards::plan(stage, given, of_texts, datasets, &work, &mut |p| bars.report(p))?
    } else if stage == ShardStage::Encode && !of_texts.table.as_os_str().is_empty() {
        of_texts.write(&work, &mut |p| bars.report(p))?
    } else {
        let what = "nothing to work at: no YAML with pairs is named";
        return Err(Error::failed(what).with_hint("--stage encode --in texts.parquet --field text needs none").into());
    };
    bars.finish();
    shards::print_plan(&plan);
    Ok(())
}

fn run(arguments: args::RunShards, interrupt: &Interrupt) -> Result<()> {
    let plan = OpenPlan::open(&arguments.plan)?;
    let scratch = shards::scratch(arguments.scratch)?;
    if arguments.all {
        let mut bars = Bars::new();
        let run_on = match &arguments.run_on[..] {
            [] => RunOn::Local(LocalProcesses { processes: arguments.processes, shards: None }),
            typed => RunOn::of_overrides(typed)?,
        };
        let plan = shards::run_all(plan, &run_on, &scratch, &mut |p| bars.report(p))?;
        bars.finish();
        output::line(format!("all shards are done; next: wb shards merge {}", plan.place()));
        return Ok(());
    }
    let shard = shards::number(arguments.shard)?;
    if arguments.anew && plan.forget(shard)? {
        output::note(format!("forgot what was made of shard {shard}"));
    }
    let mut bars = Bars::of_shard(shard);
    let end = shards::run(&plan, shard, &scratch, interrupt, &mut |p| bars.report(p))?;
    bars.finish();
    shards::print_end(shard, &end);
    Ok(())
}

fn missing(arguments: &args::MissingShards) -> Result<()> {
    let missing = OpenPlan::open(&arguments.plan)?.missing()?;
    if !missing.is_empty() {
        shards::print_missing(&missing, arguments.form == "slurm");
    }
    Ok(())
}

fn merge(arguments: &args::MergeShards) -> Result<()> {
    let plan = OpenPlan::open(&arguments.plan)?;
    let mut bars = Bars::new();
    let scratch = shards::scratch(arguments.scratch.clone())?;
    if let Some(next) = shards::next_pass(&plan, &scratch, &mut |p| bars.report(p))? {
        bars.finish();
        shards::print_next(&next);
        return Ok(());
    }
    let record = shards::merge(&plan, arguments.out.as_deref(), &scratch, &mut |p| bars.report(p))?;
    bars.finish();
    shards::print_merged(&record, arguments.out.as_deref());
    Ok(())
}
