//! `wb ab`: whether what a language model said of code is found better than the code.

use anyhow::Result;
use wb_bench::BenchContestant;
use wb_core::EncoderRef;
use wb_encoder::BiEncoder;
use wb_pipeline::{
    ab::{self as experiment, AbReport},
    config::{AbConfig, Experiment},
    encoder::{self, Opening},
    environment, synth,
};
use wb_retrieval::Bm25Config;
use wb_synth::annotate::AnnotatedSnippets;

use super::{End, experiment::of_file, unless_stopped};
use crate::{args, interrupt, output::Bars};

/// `wb ab`
pub fn ab(arguments: &args::AbArguments) -> Result<End> {
    let mut is_worse = false;
    let end = unless_stopped(measure(arguments, &mut is_worse))?;
    Ok(if is_worse && arguments.no_worse { End::Refused } else { end })
}

fn measure(arguments: &args::AbArguments, is_worse: &mut bool) -> Result<()> {
    let given = &arguments.given;
    let file = of_file("wb ab", &given.config, &given.overrides)?;
    let mut config = file.ab()?.clone();
    if let Some(encoder) = &arguments.encoder {
        config.encoder = EncoderRef::from(encoder.as_str()).into();
    }
    file.snippets()?;
    let out = given.out.clone().unwrap_or_else(|| synth::folder(&file.name));
    // Everything that can be wrong is looked at before a model is asked, which may take hours.
    let asked = experiment::asked(&config)?;
    // One of the two arms always embeds annotations.
    if given.replay.is_none() {
        environment::complete(file.llm.as_ref())?;
    }
    let encoder = open(&config, &file, arguments)?;
    let interrupt = interrupt::listen()?;
    let mut bars = Bars::new();
    let mut progress = |p| bars.report(p);
    let client = interrupt.while_asking(|stop| synth::open(&file, &out, given.replay.as_deref(), stop))?;
    let snippets = synth::read(&file, &mut progress)?.snippets;
    let annotated = match (&file.annotate, &client) {
        (Some(annotate), Some(client)) => {
            interrupt.while_asking(|_| synth::annotated((&file, annotate), client, &snippets, &out, &mut progress))?
        }
        _ => AnnotatedSnippets::default(),
    };
    let contestant = match &encoder {
        Some(encoder) => BenchContestant::Encoder(encoder),
        None => BenchContestant::Bm25(Bm25Config::default()),
    };
    let arms = experiment::search(&config, &asked, &contestant, &snippets, &annotated.annotations, &mut progress)?;
    bars.finish();
    let said = client.as_ref().map(|client| (&annotated, client.info()));
    let told =
        AbReport { name: &file.name, seed: file.seed, searched_by: &contestant.name(), annotated: said, out: &out };
    let ab = told.measure_and_print(&asked, &arms, &snippets)?;
    *is_worse = ab.metrics.first().is_some_and(|metric| metric.interval.high < 0.0);
    Ok(())
}

/// The encoder that both arms are embedded by; none for BM25.
fn open(config: &AbConfig, file: &Experiment, arguments: &args::AbArguments) -> Result<Option<BiEncoder>> {
    let Some(encoder) = config.encoder.encoder() else { return Ok(None) };
    let runs = &arguments.places.runs;
    encoder::open(encoder, runs, Opening { max_tokens: config.max_tokens, device: file.device.first(), dtype: None })
        .map(|(encoder, _)| Some(encoder))
}
