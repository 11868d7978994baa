//! `wb bench`: an encoder, a run or BM25 under every protocol that the data can give.

use anyhow::{Context, Result, bail};
use wb_bench::{BenchmarkConfig, Contestant, Dataset, Options};
use wb_core::{
    EncoderRef, PairSet, RunDir, Seed,
    records::outcome::Outcome,
    run_dir::{read_json, write_json},
};
use wb_data::OnBad;
use wb_retrieval::{Bm25Config, token_index::TokenIndexConfig};
use wb_synth::annotate::EmbedText;

use super::{End, bench_sql};
use crate::{
    args,
    config::{DocumentsConfig, SourceChoice},
    output::{self, Bars},
    pipeline::{bench, data, documents::Documents, encoder, manifest},
};

/// `wb bench`
pub fn bench(arguments: &args::Bench) -> Result<End> {
    if let Some(kind) = bench_sql::asked(arguments)? {
        return bench_sql::bench(kind, arguments);
    }
    // Everything typed is checked before anything is computed.
    let benchmarks = arguments.names.iter().map(|name| named(name, arguments)).collect::<Result<Vec<_>>>()?;
    let requirements = arguments.require.iter().map(|text| requirement(text)).collect::<Result<Vec<_>>>()?;
    if let Some(retriever) = &arguments.retriever {
        encoder::check_retriever(retriever)?;
    }
    let token_index = arguments.token_index.map(|bits| TokenIndexConfig { bits, ..TokenIndexConfig::default() });
    if let Some(config) = &token_index {
        config.validate("--token-index")?;
    }
    let documents = documents(arguments)?;
    let mut bars = Bars::new();
    let mut run = None;
    let encoder = match &arguments.retriever {
        Some(_) => None,
        None => {
            let name = EncoderRef::from(arguments.encoder.as_deref().unwrap_or("latest"));
            let (encoder, of_run) =
                encoder::open(&name, &arguments.places.runs, arguments.max_tokens, arguments.device)?;
            run = of_run;
            Some(encoder)
        }
    };
    let (mut outcomes, mut compressed) = (Vec::new(), Vec::new());
    for benchmark in &benchmarks {
        let pairs = test_pairs(benchmark, arguments, run.as_ref(), &mut bars)?;
        let dataset = match (&pairs, &arguments.dataset) {
            (Some(pairs), _) => Dataset::Pairs(pairs),
            (None, Some(folder)) => Dataset::Folder(folder),
            (None, None) => bail!("{} needs its data: --dataset DIR", bench::name_of(benchmark)),
        };
        let plan = benchmark.benchmark().plan(dataset)?;
        for note in &plan.not_run {
            output::note(format!("not run: {}: {}", note.id, note.reason));
        }
        let over = match (&encoder, &documents) {
            (Some(encoder), Some(documents)) => {
                documents.check(&plan.texts)?;
                let over = documents.over(encoder)?;
                let name = documents.name_over(encoder);
                Some(over.named(name))
            }
            _ => None,
        };
        let contestant = match (&encoder, &over) {
            (None, _) => Contestant::Bm25(Bm25Config::default()),
            (_, Some(over)) => Contestant::Encoder(over),
            (Some(encoder), None) => Contestant::Encoder(encoder),
        };
        let mut settings = encoder.as_ref().map(bench::settings).unwrap_or_default();
        settings.extend(documents.as_ref().map(Documents::setting));
        let scorer = contestant.prepare(&plan.texts, &mut |p| bars.report(p))?;
        let options = Options { seed: Seed(17), ..Options::default() };
        let outcome = wb_bench::run(&plan, &scorer, &settings, options, &mut |p| bars.report(p))?;
        if let Some(path) = &arguments.trec {
            let (protocol, queries) = wb_bench::write_trec(&plan, &scorer, path)?;
            output::note(format!("{}: {queries} queries of {protocol}", path.display()));
        }
        if let Some(config) = &token_index {
            compressed.push(wb_bench::compressed(&scorer, config, Seed(17), &mut |p| bars.report(p))?);
        }
        outcomes.push(outcome);
    }
    bars.finish();
    if let Some(path) = &arguments.json {
        match outcomes.as_slice() {
            [one] => write_json(path, one)?,
            several => write_json(path, &several)?,
        }
    }
    bench::print(&outcomes);
    compressed.iter().for_each(bench::print_compressed);
    for warning in outcomes.iter().flat_map(|outcome| &outcome.warnings) {
        output::note(format!("warning: {warning}"));
    }
    judge(&requirements, &benchmarks, &outcomes)
}

/// What is embedded of documents, where that is not their own text.
fn documents(arguments: &args::Bench) -> Result<Option<Documents>> {
    let (Some(embed), Some(annotations)) = (&arguments.embed, &arguments.annotations) else { return Ok(None) };
    let Some(embed) = EmbedText::ALL.into_iter().find(|one| one.as_str() == embed) else {
        bail!("--embed {embed}: expected code, annotation, both or concat")
    };
    Documents::load(&DocumentsConfig { embed, annotations: annotations.clone() }).map(Some)
}

fn named(name: &str, arguments: &args::Bench) -> Result<BenchmarkConfig> {
    let mut benchmark = BenchmarkConfig::named(name)?;
    let raw = match arguments.text.as_str() {
        "tokens" => false,
        "raw" => true,
        other => bail!("--text {other}: expected tokens or raw"),
    };
    match &mut benchmark {
        BenchmarkConfig::Codesearchnet(config) => {
            config.languages.clone_from(&arguments.languages);
            if raw {
                config.text = wb_bench::layouts::codesearchnet::TextMode::Raw;
            }
        }
        _ if raw || !arguments.languages.is_empty() => {
            bail!("--text and --languages are for codesearchnet, not for {name}")
        }
        _ => {}
    }
    benchmark.validate("bench")?;
    Ok(benchmark)
}

/// The pairs of the file that was named, else the test pairs of the run, for the benchmark that measures on them.
fn test_pairs(
    benchmark: &BenchmarkConfig,
    arguments: &args::Bench,
    run: Option<&RunDir>,
    bars: &mut Bars,
) -> Result<Option<PairSet>> {
    if !matches!(benchmark, BenchmarkConfig::Pairs(_)) {
        return Ok(None);
    }
    if let Some(file) = &arguments.dataset {
        let source = SourceChoice::of_file(file)?;
        return Ok(Some(bench::pairs_of(&[source], OnBad::default(), &mut |p| bars.report(p))?));
    }
    let latest;
    let run = match run {
        Some(run) => run,
        None => {
            latest = RunDir::open(&arguments.places.runs, "latest")?;
            &latest
        }
    };
    let manifest: wb_core::manifest::Manifest = read_json(&run.manifest())?;
    let of_data = manifest.fingerprints.get("data").context("the run's manifest names no data")?;
    let short = of_data.get(..12).unwrap_or(of_data);
    let folders = std::fs::read_dir(&arguments.places.datasets)
        .with_context(|| format!("cannot read {}", arguments.places.datasets.display()))?;
    for folder in folders.flatten().map(|entry| entry.path()) {
        if folder.to_string_lossy().ends_with(&format!("-{short}")) {
            data::card(&folder)?;
            return Ok(Some(wb_data::store::load(&folder)?.test));
        }
    }
    bail!("the pairs of {} are no longer under {}", run.id(), arguments.places.datasets.display())
}

/// `mrr=0.40`
pub(super) fn requirement(text: &str) -> Result<(String, f64)> {
    let parsed =
        text.split_once('=').and_then(|(metric, value)| Some((metric.to_lowercase(), value.parse::<f64>().ok()?)));
    match parsed {
        Some((metric, value)) if (0.0..=1.0).contains(&value) => Ok((metric, value)),
        _ => bail!("--require {text}: expected a metric and a fraction, as in mrr=0.40"),
    }
}

/// The first number of the required metric of each benchmark, its main protocols first.
fn judge(requirements: &[(String, f64)], benchmarks: &[BenchmarkConfig], outcomes: &[Outcome]) -> Result<End> {
    let mut end = End::Done;
    for (metric, least) in requirements {
        for (benchmark, outcome) in benchmarks.iter().zip(outcomes) {
            let main = benchmark.benchmark().card().main;
            let of_main = outcome.protocols.iter().find(|score| {
                &score.metric == metric
                    && main.iter().any(|(id, _)| score.id == *id || (id.ends_with('-') && score.id.starts_with(id)))
            });
            let Some(score) = of_main.or_else(|| outcome.protocols.iter().find(|score| &score.metric == metric)) else {
                bail!("--require {metric}={least}: {} has no metric `{metric}`", outcome.benchmark);
            };
            if score.value < *least {
                output::note(format!("refused: {} {metric} is {:.4}, required {least:.4}", score.id, score.value));
                end = End::Refused;
            }
        }
    }
    Ok(end)
}

/// What this build is, for `wb doctor`.
pub fn build() -> String {
    format!("wb {} with {}", env!("CARGO_PKG_VERSION"), manifest::features().join(", "))
}
