//! Benchmarks of a run: every contestant on every benchmark, each measured once.

mod dtypes;
mod named;
mod names;
mod print;

use std::{collections::HashSet, path::PathBuf};

use anyhow::{Context, Result};
use wb_bench::{
    BenchContestant, BenchmarkConfig, BenchmarkData, BenchmarkPlan, Options, Reranking, Scorer, TrainingTexts,
};
use wb_core::{
    Encoder, PairSet, Progress,
    fingerprint::Fingerprint,
    records::outcome::{ContestantOutcome, ContestantRole},
    remote,
    run_dir::{read_json, write_json},
};
use wb_data::Tolerance;
use wb_encoder::{BiEncoder, CrossEncoder, Folder};

pub use self::{
    named::{NamedBenchmarks, NamedOutcomes},
    names::benchmark_of_sql,
    print::print,
};
use crate::{
    config::{BenchEntry, ContestantName, Experiment, SourceChoice},
    data::ExperimentPairs,
    device,
    documents::Documents,
    manifest::this_code,
    output,
    train::OpenRun,
};

/// The outcomes of one benchmark, in the contestants' order.
pub struct MeasuredBenchmark {
    /// The benchmark's main protocols and metrics.
    pub main: &'static [(&'static str, &'static str)],
    /// One a contestant.
    pub outcomes: Vec<ContestantOutcome>,
}

/// A benchmark's name in YAML.
pub fn name_of(benchmark: &BenchmarkConfig) -> &'static str {
    benchmark.benchmark().card().name
}

/// Measures all that is not measured yet; `untrained` is the encoder before training, where that is a contestant.
pub fn bench(
    experiment: &Experiment,
    data: &ExperimentPairs,
    run: &mut OpenRun,
    untrained: Option<Folder>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<MeasuredBenchmark>> {
    let mut encoders = Encoders {
        experiment,
        documents: experiment.bench.documents.as_ref().map(Documents::load).transpose()?,
        run_encoder: run.dir.encoder(),
        untrained,
        opened: [None, None],
    };
    // Neither changes from one benchmark to the next.
    let of_encoder = Folder::fingerprint(&run.dir.encoder())?;
    let of_annotations =
        experiment.bench.documents.as_ref().map(|one| Fingerprint::of_file(&one.annotations)).transpose()?;
    let mut all = Vec::new();
    let mut training: Option<TrainingTexts> = None;
    let mut unchanged = 0;
    for (at, entry) in experiment.bench.benchmarks.iter().enumerate() {
        let name = file_name(experiment, at);
        progress(Progress::new("reading benchmark", 0, 1).note(name.clone()));
        let trained_on = training_files(experiment, entry, data)?;
        let plan = plan(experiment, entry, data, trained_on.as_ref(), progress)
            .with_context(|| format!("cannot read benchmark {name}"))?;
        let inputs = inputs(experiment, &plan, entry, (&of_encoder, of_annotations.as_ref()))?;
        let stage = format!("bench {name}");
        let contestants = experiment.contestants();
        let files: Vec<_> = contestants.iter().map(|c| run.dir.bench(&name, c.as_str())).collect();
        let main = entry.benchmark.benchmark().card().main;
        if run.stages.is_done(&stage, &inputs) && files.iter().all(|file| file.is_file()) {
            let outcomes = files.iter().map(|file| read_json(file)).collect::<Result<_, _>>()?;
            all.push(MeasuredBenchmark { main, outcomes });
            unchanged += 1;
            continue;
        }
        run.dir.reopen()?;
        if let Some(documents) = &encoders.documents {
            documents.check(&plan.texts).with_context(|| format!("benchmark {name}"))?;
        }
        // The run's own test pairs were audited against its training pairs when they were made.
        let is_own = entry.dataset.is_none() && entry.sources.is_empty();
        if training.is_none() && !is_own && !data.streaming {
            training = Some(data.prepared.train.pairs().iter().collect());
        }
        let training = training.as_ref().filter(|_| !is_own);
        if data.streaming && !is_own {
            output::note(format!("{name}: not compared with the training pairs, which are not in memory"));
        }
        let audits = wb_bench::audits(&plan, training);
        let options = Options { seed: experiment.seed, examples: experiment.bench.examples, audits: &audits };
        let mut outcomes = Vec::new();
        let mut of_trained = None;
        for (contestant, file) in contestants.iter().zip(&files) {
            let outcome = encoders.measure(*contestant, &plan, options, &mut of_trained, progress)?;
            write_json(file, &outcome)?;
            outcomes.push(outcome);
        }
        run.stages.done(&stage, inputs)?;
        all.push(MeasuredBenchmark { main, outcomes });
    }
    if unchanged > 0 {
        output::note(format!("benchmarks: {unchanged} unchanged"));
    }
    Ok(all)
}

/// The file name of the benchmark at a position: its name, with a number where it stands twice.
fn file_name(experiment: &Experiment, at: usize) -> String {
    let entries = &experiment.bench.benchmarks;
    let name = name_of(&entries[at].benchmark);
    match entries[..at].iter().filter(|entry| name_of(&entry.benchmark) == name).count() {
        0 => name.to_owned(),
        before => format!("{name}{}", before + 1),
    }
}

/// Fingerprint of all that decides the numbers of a benchmark, with the encoder that was trained and the annotations
/// of documents.
fn inputs(
    experiment: &Experiment,
    plan: &BenchmarkPlan,
    entry: &BenchEntry,
    (of_encoder, of_annotations): (&Fingerprint, Option<&Fingerprint>),
) -> Result<Fingerprint> {
    let mut all = Fingerprint::builder();
    all.text(&this_code()).text(Fingerprint::of_json(entry).as_str());
    all.number(u64::from(entry.benchmark.benchmark().card().version)).number(experiment.seed.0);
    let bench = &experiment.bench;
    all.text(Fingerprint::of_json(&(&bench.bm25, &bench.fusion, &bench.contestants, bench.examples)).as_str());
    if experiment.reads_pairs() {
        all.number(bench.rerank_top as u64);
    }
    if let (Some(documents), Some(of_annotations)) = (&bench.documents, of_annotations) {
        all.text(documents.embed.as_str()).text(of_annotations.as_str());
    }
    all.text(plan.dataset.as_str());
    all.text(&device::resolved(experiment.device.first())?.to_string());
    all.text(of_encoder.as_str());
    Ok(all.finish())
}

/// Refuses a benchmark of held-out pairs where none are, before anything is trained for it.
pub fn expect_held_out(experiment: &Experiment, is_any: bool) -> Result<()> {
    let Some(at) = experiment.of_held_out().filter(|_| !is_any) else { return Ok(()) };
    let what = "`pairs` measures held-out pairs, and there are none, expected at least one";
    let hint = "a share of data.split.test, as in data.split.test=0.05; `wb train` trains and measures nothing";
    Err(wb_core::Error::value(format!("bench.benchmarks[{at}]"), what).with_hint(hint).into())
}

fn plan(
    experiment: &Experiment,
    entry: &BenchEntry,
    data: &ExperimentPairs,
    trained_on: Option<&(PathBuf, HashSet<String>)>,
    progress: &mut dyn FnMut(Progress),
) -> Result<BenchmarkPlan> {
    let benchmark = entry.benchmark.benchmark();
    if !entry.sources.is_empty() {
        let tolerance = experiment.data()?.tolerance();
        return Ok(benchmark.plan(BenchmarkData::Pairs(&pairs_of(&entry.sources, tolerance, progress)?))?);
    }
    let folder = entry.dataset.as_deref().map(remote::local).transpose()?;
    let dataset = match (&folder, trained_on) {
        (Some(folder), _) => BenchmarkData::Folder(folder),
        (None, Some((folder, trained_on))) => BenchmarkData::Repository { folder, trained_on },
        (None, None) => BenchmarkData::Pairs(&data.prepared.test),
    };
    Ok(benchmark.plan(dataset)?)
}

/// The repository that a run is measured on by `search`, with the files that pairs of training and validation come from; none
/// for other benchmarks.
fn training_files(
    experiment: &Experiment,
    entry: &BenchEntry,
    data: &ExperimentPairs,
) -> Result<Option<(PathBuf, HashSet<String>)>> {
    let (BenchmarkConfig::Search(_), None) = (&entry.benchmark, &entry.dataset) else { return Ok(None) };
    let (tree, dataset) = experiment.data()?.repository()?;
    let pairs = [&data.prepared.train, &data.prepared.validation].into_iter().flat_map(|set| set.pairs());
    // Each file is a group of its own, named by its path.
    let files = pairs.filter(|pair| pair.origin.dataset == dataset).map(|pair| pair.origin.group.clone());
    Ok(Some((tree.root()?, files.collect())))
}

/// All pairs of some sources, as they are read: nothing is filtered and nothing is split.
pub fn pairs_of(sources: &[SourceChoice], tolerance: Tolerance, progress: &mut dyn FnMut(Progress)) -> Result<PairSet> {
    let mut read = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        if source.has_texts() {
            let message = "gives texts without a label, and there is nothing to find for them";
            return Err(wb_core::Error::data(source.name(), message)
                .with_hint("name the field of the positive: `fields: { positive: NAME }`")
                .into());
        }
        let of_source =
            source.read(at, tolerance, progress).with_context(|| format!("cannot read {}", source.name()))?;
        for (reason, count) in &of_source.skipped {
            output::note(format!("{}: {count} records gave no pair: {reason}", of_source.name));
        }
        read.push(of_source);
    }
    Ok(PairSet::new(wb_data::merge(read))?)
}

/// The two encoders of a run, opened when they are asked for.
struct Encoders<'a> {
    experiment: &'a Experiment,
    documents: Option<Documents>,
    run_encoder: std::path::PathBuf,
    untrained: Option<Folder>,
    opened: [Option<BiEncoder>; 2],
}

impl Encoders<'_> {
    /// Measures one contestant. `of_trained` keeps the trained encoder's vectors, which two contestants share.
    fn measure<'t>(
        &mut self,
        contestant: ContestantName,
        plan: &'t BenchmarkPlan,
        options: Options<'_>,
        of_trained: &mut Option<(Scorer<'t>, Vec<(String, String)>)>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<ContestantOutcome> {
        let (bm25, fusion) = (self.experiment.bench.bm25, self.experiment.bench.fusion.clone());
        if self.experiment.reads_pairs() && contestant != ContestantName::Bm25 {
            return self.measure_cross_encoder(contestant == ContestantName::Trained, plan, options, progress);
        }
        if of_trained.is_none() && matches!(contestant, ContestantName::Trained | ContestantName::Fused) {
            *of_trained = Some(self.prepare(true, plan, progress)?);
        }
        let (scorer, settings) = match (contestant, of_trained) {
            (ContestantName::Trained, Some((scorer, settings))) => {
                return Ok(wb_bench::run(plan, scorer, settings, options, progress)?);
            }
            (ContestantName::Fused, Some((scorer, settings))) => (scorer.with_bm25(bm25, fusion), settings.clone()),
            (ContestantName::Untrained, _) => self.prepare(false, plan, progress)?,
            _ => (BenchContestant::Bm25(bm25).prepare(&plan.texts, progress)?, Vec::new()),
        };
        Ok(wb_bench::run(plan, &scorer, &settings, options, progress)?)
    }

    /// The part that a run's own contestant has, and what it began with.
    fn role(&self, trained: bool) -> (ContestantRole, Option<String>) {
        match trained {
            true => (ContestantRole::Trained, self.experiment.pretrained().map(|base| base.id.clone())),
            false => (ContestantRole::Untrained, None),
        }
    }

    /// Measures a cross-encoder on what BM25 finds: each query's first documents in its order, the rest below.
    fn measure_cross_encoder(
        &mut self,
        trained: bool,
        plan: &BenchmarkPlan,
        options: Options<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<ContestantOutcome> {
        let bench = &self.experiment.bench;
        let (name, folder) = match trained {
            true => ("trained", Folder::read_cross_encoder(&self.run_encoder)?),
            false => ("untrained", self.untrained.clone().context("the cross-encoder before training is not there")?),
        };
        let device = device::open(self.experiment.device.first(), trained.then_some(self.run_encoder.as_path()))?;
        let reranker = CrossEncoder::open(folder, &device)?.named(name);
        let settings = vec![("max tokens of both".to_owned(), reranker.max_tokens().to_string())];
        let (role, base) = self.role(trained);
        let words = BenchContestant::Bm25(bench.bm25).prepare(&plan.texts, progress)?;
        let scorer = words.with_reranker(Reranking { reranker: &reranker, top: bench.rerank_top });
        Ok(wb_bench::run(plan, &scorer.known_as(role, base), &settings, options, progress)?)
    }

    /// The encoder with all texts embedded, and what belongs to its numbers.
    fn prepare<'t>(
        &mut self,
        trained: bool,
        plan: &'t BenchmarkPlan,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Scorer<'t>, Vec<(String, String)>)> {
        self.open(trained)?;
        let encoder =
            self.opened[usize::from(trained)].as_ref().context("an encoder that was just opened is not there")?;
        let (role, base) = self.role(trained);
        let mut settings = settings(encoder);
        let scorer = match &self.documents {
            None => BenchContestant::Encoder(encoder).prepare(&plan.texts, progress)?,
            Some(documents) => {
                settings.push(documents.setting());
                BenchContestant::Encoder(&documents.over(encoder)?).prepare(&plan.texts, progress)?
            }
        };
        Ok((scorer.known_as(role, base), settings))
    }

    fn open(&mut self, trained: bool) -> Result<()> {
        let slot = usize::from(trained);
        if self.opened[slot].is_none() {
            let model = trained.then_some(self.run_encoder.as_path());
            let device = device::open(self.experiment.device.first(), model)?;
            let folder = match (trained, self.untrained.take()) {
                (true, kept) => {
                    self.untrained = kept;
                    Folder::read(&self.run_encoder)?
                }
                (false, Some(folder)) => folder,
                (false, None) => anyhow::bail!("the untrained encoder was not kept, or taken twice"),
            };
            let name = if trained { "trained" } else { "untrained" };
            self.opened[slot] = Some(BiEncoder::open_frozen(folder, &device)?.named(name));
        }
        Ok(())
    }
}

/// Settings that belong to the numbers of an encoder, as shown to people.
pub fn settings(encoder: &BiEncoder) -> Vec<(String, String)> {
    let of_encoder = encoder.settings();
    let (max_tokens, prompts) = (of_encoder.max_tokens, &of_encoder.prompts);
    let mut settings = vec![
        ("max query tokens".to_owned(), max_tokens.query.to_string()),
        ("max document tokens".to_owned(), max_tokens.document.to_string()),
        ("normalized".to_owned(), of_encoder.normalize.to_string()),
        ("dimensions".to_owned(), encoder.dim().to_string()),
    ];
    for (side, prompt) in [("query prompt", &prompts.query), ("document prompt", &prompts.document)] {
        if !prompt.is_empty() {
            settings.push((side.to_owned(), prompt.clone()));
        }
    }
    settings
}
