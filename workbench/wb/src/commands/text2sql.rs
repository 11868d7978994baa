//! `wb text2sql`: text-to-SQL without retrieved examples and with those of each retriever, on the same questions with
//! the same seeds.

use std::path::Path;

use anyhow::{Context, Result, bail};
use wb_core::records::rag::Rag;
use wb_pipeline::{
    encoder::{self, Opening},
    environment, requirements, synth, text2sql,
};
use wb_sql::benchmarks::{SqlBenchmark, files, judged::statuses, status};
use wb_text2sql::{
    config::{GeneratorChoice, RetrieverChoice},
    experiment::{LanguageModel, OpenEncoder, RagExperiment, RagInputs, check_files, refusals},
};

use super::{End, experiment::of_file, judge_sql, unless_stopped};
use crate::{
    args, interrupt,
    output::{self, Bars},
};

/// `wb text2sql`
pub fn text2sql(arguments: &args::Text2Sql) -> Result<End> {
    let requirements = requirements::of_sql(&arguments.require, SqlBenchmark::Spider)?;
    if let Some(path) = &arguments.json {
        files::writable(path, "--json")?;
    }
    let mut unmet = Vec::new();
    let end = unless_stopped(run(arguments).map(|rag| unmet = refusals(&rag, &requirements)))?;
    unmet.iter().for_each(output::note);
    Ok(if unmet.is_empty() { end } else { End::Refused })
}

fn run(arguments: &args::Text2Sql) -> Result<Rag> {
    let given = &arguments.given;
    let file = of_file("wb text2sql", &given.config, &given.overrides)?;
    let config = file.rag()?;
    let out = given.out.clone().unwrap_or_else(|| Path::new("reports").join(&file.name));
    let asks = matches!(config.generator, GeneratorChoice::Model(_));
    if given.replay.is_some() && !asks {
        bail!("--replay takes the answers of a language model, and `rag.generator` asks none");
    }
    if given.replay.is_none() && asks {
        environment::complete(file.llm.as_ref())?;
    }
    let prompt = check_files(config)?;
    let runs = &arguments.places.runs;
    if let Some((name, error)) = text2sql::encoders(config, runs).into_iter().next() {
        return Err(error.context(format!("retriever {name}")));
    }
    let interrupt = interrupt::listen()?;
    let mut bars = Bars::new();
    let pool = judge_sql::pool(&arguments.execution, SqlBenchmark::Spider)?;
    // Before anything is embedded: a model that is not there is known at once.
    let client = match &file.llm {
        Some(llm) if asks => Some(
            interrupt.while_asking(|stop| synth::open_model(llm, file.seed, &out, given.replay.as_deref(), stop))?,
        ),
        _ => None,
    };
    let asking = client.as_ref().map(|client| text2sql::Asking { client, interrupt: &interrupt });
    let mut progress = |progress| bars.report(progress);
    let inputs = RagInputs::read(config, arguments.execution.databases.as_deref(), &pool, file.seed, &mut progress)?;
    if inputs.unread > 0 {
        let unread = inputs.unread;
        output::note(format!(
            "{unread} columns of the databases could not be read: their texts are not known as values"
        ));
    }
    wb_core::atomic::create_folders(&out)?;
    let experiment = RagExperiment {
        name: &file.name,
        config,
        seed: file.seed,
        out: &out,
        inputs: &inputs,
        predictor: &inputs.predictor()?,
        pool: &pool,
        prompt: &prompt,
        model: asking.as_ref().map(|asking| LanguageModel { ask: asking, info: asking.client.info() }),
    };
    let mut arms = vec![experiment.arm(None, None, &mut progress)?];
    for retriever in &config.retrievers {
        let opened = match retriever {
            RetrieverChoice::Encoder(arm) => {
                let opened = encoder::open(
                    &arm.model,
                    runs,
                    Opening { max_tokens: arm.max_tokens, device: file.device.first(), dtype: None },
                );
                Some(opened.with_context(|| format!("retriever {}", retriever.name()))?)
            }
            _ => None,
        };
        let encoder =
            opened.as_ref().map(|(encoder, run)| OpenEncoder { encoder, run: run.as_ref().map(|run| run.id()) });
        let arm = experiment.arm(Some(retriever), encoder, &mut progress)?;
        arm.retrieved.iter().flat_map(|retrieved| &retrieved.notes).for_each(output::note);
        arms.push(arm);
    }
    let rag = experiment.record(&arms)?;
    bars.finish();
    text2sql::print(&rag);
    for arm in &arms {
        output::line(format!("{:12} {}", arm.name, status::line(&statuses(&arm.judged))));
    }
    text2sql::write(&rag, &out, arguments.json.as_deref())?;
    Ok(rag)
}
