//! `wb shards`: a stage in parts, on as many machines as there are.

use anyhow::Result;
use wb_core::Error;
use wb_pipeline::{
    data,
    shards::{self, EncodePlan, Launcher, ShardSize, SlurmArrays},
    typed::file_and_values,
};
use wb_shards::{AttemptEnd, OpenPlan, Store, shard_of_environment};

use super::{End, experiment};
use crate::{
    args::{self, ShardsCommand},
    interrupt,
    output::{self, Bars},
};

/// `wb shards`
pub fn shards(command: ShardsCommand) -> Result<End> {
    interrupt::listen()?;
    let done = match command {
        ShardsCommand::Plan(arguments) => plan(*arguments),
        ShardsCommand::Run(arguments) => run(arguments),
        ShardsCommand::Status(arguments) => status(&arguments),
        ShardsCommand::Missing(arguments) => missing(&arguments),
        ShardsCommand::Merge(arguments) => merge(&arguments),
    };
    match done {
        Ok(()) => Ok(End::Done),
        // Who started this may start it again, here or elsewhere.
        Err(error) if shards::may_pass(&error) => {
            output::error(&error);
            Ok(End::TryAgain)
        }
        Err(error) => Err(error),
    }
}

fn plan(arguments: args::PlanArguments) -> Result<()> {
    let args::PlanArguments { given, encoder, input, field, side, max_tokens, shards, rows_per_shard, .. } = arguments;
    let (config, overrides) = file_and_values(given.config, given.overrides);
    let side: wb_core::Side = side.into();
    let work = Store::open(&arguments.work)?;
    let mut bars = Bars::new();
    let mut device = given.device.unwrap_or_default();
    let (table, field) = match (input, config) {
        (Some(file), _) => (file, field.unwrap_or_else(|| "text".to_owned())),
        (None, Some(config)) => {
            let typed = args::ExperimentArguments { config, overrides, device: given.device, places: given.places };
            let experiment = experiment::load("wb shards plan", &typed)?;
            experiment.data()?;
            experiment::prepare(&experiment, &typed, &["data."])?;
            device = experiment.device.first();
            let data = data::data(&experiment, &typed.places.datasets, &mut |p| bars.report(p))?;
            let field = if side == wb_core::Side::Query { "anchor" } else { "positive" };
            (data.folder.join("train.parquet"), field.to_owned())
        }
        (None, None) => {
            let what = "nothing to encode: neither a YAML with pairs nor a file is named";
            return Err(Error::failed(what).with_hint("--in texts.parquet --field text").into());
        }
    };
    let size = match (shards, rows_per_shard) {
        (Some(shards), _) => ShardSize::Shards(shards),
        (None, Some(rows)) => ShardSize::Rows(rows),
        (None, None) => ShardSize::Usual,
    };
    let planned = EncodePlan { table, field, encoder: encoder.as_str().into(), side, max_tokens, device, size };
    let plan = planned.write(&work, &mut |p| bars.report(p))?;
    bars.finish();
    shards::print_plan(&plan);
    Ok(())
}

fn run(arguments: args::RunShards) -> Result<()> {
    let plan = OpenPlan::open(&arguments.plan)?;
    let scratch = shards::scratch(arguments.scratch)?;
    let mut bars = Bars::new();
    if arguments.all {
        let launcher = match arguments.slurm {
            true => Launcher::Slurm(SlurmArrays {
                at_once: arguments.at_once,
                options: arguments.option,
                program: arguments.program,
            }),
            false => Launcher::Local(arguments.processes),
        };
        launcher.run(&plan, &scratch, &mut |p| bars.report(p))?;
        bars.finish();
        output::line(format!("all {} shards are done; next: wb shards merge {}", plan.plan().shards(), plan.place()));
        return Ok(());
    }
    let given =
        arguments.shard.map_or_else(|| shard_of_environment(&|name| std::env::var(name).ok()), |it| Ok(Some(it)));
    let Some(shard) = given? else {
        let what = "no shard: none is named, and no scheduler has said one";
        return Err(Error::failed(what).with_hint("--shard 0, or --all for every shard on this machine").into());
    };
    if arguments.anew && plan.forget(shard)? {
        output::note(format!("forgot what was made of shard {shard}"));
    }
    let end = shards::run(&plan, shard, &scratch, &mut |p| bars.report(p))?;
    bars.finish();
    output::line(match end {
        AttemptEnd::Committed(made) => {
            format!("shard {shard}: rows {} to {}, {:.1} s", made.rows[0], made.rows[1], made.seconds)
        }
        AttemptEnd::There(made) => format!("shard {shard}: done already, by {}", made.attempt),
        AttemptEnd::Lost(made) => format!("shard {shard}: done meanwhile by {}", made.attempt),
    });
    Ok(())
}

fn status(arguments: &args::PlanPlace) -> Result<()> {
    let status = OpenPlan::open(&arguments.plan)?.status()?;
    if arguments.json {
        output::line(serde_json::to_string_pretty(&status)?);
    } else {
        shards::print_status(&status);
    }
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
    let record = shards::merge(&plan, arguments.out.as_deref(), &mut |p| bars.report(p))?;
    bars.finish();
    shards::print_merged(&record, arguments.out.as_deref());
    Ok(())
}
