//! `wb bench`: an encoder, a run or BM25 under every protocol that the data can give.

use anyhow::{Result, bail};
use wb_bench::{BenchContestant, BenchmarkConfig, BenchmarkData, Options, benchmarks::NAMES};
use wb_core::{
    Encoder, Error, PairSet, RunDir, Seed,
    records::outcome::{ContestantOutcome, ContestantRole},
    run_dir::write_json,
    suggest,
};
use wb_data::OnBad;
use wb_pipeline::{
    bench,
    config::{DocumentsConfig, SourceChoice},
    contestants::{Contestants, WantedContestants},
    documents::Documents,
    encoder, external, manifest, test_pairs,
};
use wb_retrieval::{Bm25Config, token_index::TokenIndexConfig};
use wb_sql::benchmarks::SqlBenchmark;
use wb_synth::annotate::EmbedText;

use super::{End, data_get, judge_sql};
use crate::{
    args,
    output::{self, Bars},
};

/// `wb bench`
pub fn bench(arguments: &args::Bench) -> Result<End> {
    if arguments.names.is_empty() {
        return list(arguments);
    }
    let of_sql = one_of_sql(&arguments.names)?;
    refuse_options(arguments)?;
    if let Some(benchmark) = of_sql {
        return judge_sql::judge(benchmark, arguments);
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
    let folders = match &arguments.dataset {
        Some(dataset) => vec![Some(dataset.clone()); benchmarks.len()],
        None => external::folders(&benchmarks, &arguments.external, &data_get::bring)?,
    };
    let mut bars = Bars::new();
    let contestants = Contestants::open(wanted(arguments), &mut |p| bars.report(p))?;
    if let Some(line) = &contestants.line {
        output::line(line);
    }
    let (encoder, run) = (contestants.encoder.as_ref(), contestants.run.as_ref());
    let (mut outcomes, mut compressed) = (Vec::new(), Vec::new());
    for (benchmark, folder) in benchmarks.iter().zip(&folders) {
        let pairs = pairs(benchmark, arguments, run.map(|run| &run.folder), &mut bars)?;
        let dataset = match (&pairs, folder) {
            (Some(pairs), _) => BenchmarkData::Pairs(pairs),
            (None, Some(folder)) => BenchmarkData::Folder(folder),
            (None, None) => bail!("{} needs its data: --dataset DIR", bench::name_of(benchmark)),
        };
        let plan = benchmark.benchmark().plan(dataset)?;
        for note in &plan.not_run {
            output::note(format!("not run: {}: {}", note.id, note.reason));
        }
        let over = match (encoder, &documents) {
            (Some(encoder), Some(documents)) => {
                documents.check(&plan.texts)?;
                let over = documents.over(encoder)?;
                let name = documents.name_over(encoder);
                Some(over.named(name))
            }
            _ => None,
        };
        let embedding = match (encoder, &over) {
            (_, Some(over)) => Some(over as &dyn Encoder),
            (Some(encoder), None) => Some(encoder as &dyn Encoder),
            (None, None) => None,
        };
        let words = contestants.bm25.then(|| BenchContestant::Bm25(Bm25Config::default()));
        for contestant in words.into_iter().chain(embedding.map(BenchContestant::Encoder)) {
            let mut settings = match (&contestant, encoder) {
                (BenchContestant::Encoder(_), Some(encoder)) => bench::settings(encoder),
                _ => Vec::new(),
            };
            settings.extend(documents.as_ref().map(Documents::setting));
            let mut scorer = contestant.prepare(&plan.texts, &mut |p| bars.report(p))?;
            let mut options = Options { seed: Seed(17), ..Options::default() };
            let run = run.filter(|_| matches!(contestant, BenchContestant::Encoder(_)));
            if let Some(run) = run {
                scorer = scorer.known_as(ContestantRole::Trained, run.base.clone());
                options.training = run.trained_on.as_ref().ok();
            }
            let mut outcome = wb_bench::run(&plan, &scorer, &settings, options, &mut |p| bars.report(p))?;
            outcome.warnings.extend(run.and_then(|run| run.trained_on.as_ref().err().cloned()));
            if let Some(path) = &arguments.trec {
                let (protocol, queries) = wb_bench::write_trec(&plan, &scorer, path)?;
                output::note(format!("{}: {queries} queries of {protocol}", path.display()));
            }
            if let Some(config) = &token_index {
                compressed.push(wb_bench::compressed(&scorer, config, Seed(17), &mut |p| bars.report(p))?);
            }
            outcomes.push(outcome);
        }
    }
    bars.finish();
    if let Some(path) = &arguments.json {
        match outcomes.as_slice() {
            [one] => write_json(path, one)?,
            several => write_json(path, &several)?,
        }
    }
    bench::print(&outcomes);
    bench::print_audit(&outcomes);
    if let Some(Ok(training)) = run.map(|run| &run.trained_on) {
        output::note(format!("audited against the {} training pairs of the run", training.n_pairs));
    }
    compressed.iter().for_each(bench::print_compressed);
    // What both contestants of a benchmark are warned of is said once.
    let mut said: Vec<&str> = Vec::new();
    for warning in outcomes.iter().flat_map(|outcome| &outcome.warnings) {
        if !said.contains(&warning.as_str()) {
            output::note(format!("warning: {warning}"));
            said.push(warning);
        }
    }
    // The encoder's, where BM25 is measured beside it.
    let judged: Vec<&ContestantOutcome> = outcomes.chunks(contestants.count()).filter_map(<[_]>::last).collect();
    judge(&requirements, &benchmarks, &judged)
}

/// The contestants that the command line asks for.
fn wanted(arguments: &args::Bench) -> WantedContestants<'_> {
    WantedContestants {
        bm25: arguments.retriever.is_some(),
        encoder: arguments.encoder.as_deref(),
        // Files of one contestant, and what is asked of an encoder alone.
        encoder_alone: arguments.trec.is_some() || arguments.token_index.is_some() || arguments.embed.is_some(),
        max_tokens: arguments.max_tokens,
        device: arguments.device,
        folders: arguments.places.folders(),
    }
}

/// The benchmark of text-to-SQL that is asked for, if one is.
///
/// # Errors
///
/// If a name is none of a benchmark, or it is one of several.
fn one_of_sql(names: &[String]) -> Result<Option<SqlBenchmark>> {
    let Some(benchmark) = names.iter().find_map(|name| SqlBenchmark::named(name)) else {
        if let Some(name) = names.iter().find(|name| !NAMES.contains(&name.as_str())) {
            let all = NAMES.into_iter().chain(SqlBenchmark::ALL.map(SqlBenchmark::name));
            let hint = suggest::hint(name, all);
            return Err(Error::Unknown { kind: "benchmark", name: name.clone(), hint }.into());
        }
        return Ok(None);
    };
    if names.len() > 1 {
        bail!("{} is judged alone: predictions are those of one benchmark", benchmark.name());
    }
    Ok(Some(benchmark))
}

/// Refuses options that a benchmark does not take.
fn refuse_options(arguments: &args::Bench) -> Result<()> {
    for name in &arguments.names {
        let refused = arguments.given().find(|(_, takers)| !takers.contains(&name.as_str()));
        match refused {
            None => {}
            Some((option, takers)) if takers == NAMES => {
                bail!("{option} is for benchmarks of retrieval: {name} judges the SQL of --predictions")
            }
            Some((option, [most @ .., last])) if !most.is_empty() => {
                bail!("{option} is for {} and {last}, not for {name}", most.join(", "))
            }
            Some((option, takers)) => bail!("{option} is for {}, not for {name}", takers.concat()),
        }
    }
    Ok(())
}

/// `wb bench` alone: the benchmarks and what there is of their data.
fn list(arguments: &args::Bench) -> Result<End> {
    if let Some((option, _)) = arguments.given().next() {
        let hint = format!("names stand first: wb bench codesearchnet {option} ...; `wb bench` alone lists them");
        return Err(Error::data("wb bench", format!("{option} is given, and no benchmark")).with_hint(hint).into());
    }
    let listed = external::all(&arguments.external, arguments.places.folders())?;
    let rows = listed
        .into_iter()
        .map(|one| vec![one.name.to_owned(), one.state.to_string(), one.measures.to_owned(), one.protocols]);
    output::table(&["benchmark", "data", "measures", "protocols"], &rows.collect::<Vec<_>>());
    output::line("\nwb bench NAME measures BM25 and the latest run's encoder; --encoder and --retriever name another");
    Ok(End::Done)
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
    if let BenchmarkConfig::Codesearchnet(config) = &mut benchmark {
        config.languages.clone_from(&arguments.languages);
        if raw {
            config.text = wb_bench::layouts::codesearchnet::TextMode::Raw;
        }
    }
    benchmark.validate("bench")?;
    Ok(benchmark)
}

/// The pairs of the file that was named, else the test pairs of the run, for the benchmark that measures on them.
fn pairs(
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
        return Ok(Some(bench::pairs_of(&[source], OnBad::Stop.into(), &mut |p| bars.report(p))?));
    }
    let latest;
    let run = match run {
        Some(run) => run,
        None => {
            latest = RunDir::open(&arguments.places.runs, "latest")?;
            &latest
        }
    };
    test_pairs::of_run(run, &arguments.places.datasets).map(Some)
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
fn judge(
    requirements: &[(String, f64)],
    benchmarks: &[BenchmarkConfig],
    outcomes: &[&ContestantOutcome],
) -> Result<End> {
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
