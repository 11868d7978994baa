//! Benchmarks that a command line names: BM25, an encoder or both measured on each, printed, and held to requirements.

use std::{
    cell::LazyCell,
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};
use wb_bench::{
    BenchContestant, BenchmarkConfig, BenchmarkData, BenchmarkPlan, Compressed, Options, Reranking, Scorer,
    benchmarks::stands_for,
};
use wb_core::{
    Encoder, PairSet, Progress, RunDir, Seed, distinct,
    records::outcome::{ContestantOutcome, ContestantRole},
    remote,
    run_dir::write_json,
};
use wb_data::OnBad;
use wb_encoder::{DeviceConfig, MemoryType};
use wb_retrieval::{Bm25Config, token_index::TokenIndexConfig};

use super::{
    dtypes::{self, ComparedDtype, OwnWeights},
    name_of, pairs_of,
    print::{print, print_audit, print_compressed},
    settings,
};
use crate::{
    config::SourceChoice,
    contestants::{Contestants, TrainedRun},
    documents::Documents,
    output,
    session::Folders,
    test_pairs,
};

/// Draws of the intervals, which no command line changes.
const SEED: Seed = Seed(17);

/// Benchmarks with their data, and the contestants to measure on them.
pub struct NamedBenchmarks<'a> {
    /// The benchmarks.
    pub benchmarks: &'a [BenchmarkConfig],
    /// A folder with the data of each; none for the one that measures on pairs.
    pub folders: &'a [Option<PathBuf>],
    /// One contestant or two.
    pub contestants: &'a Contestants,
    /// Annotations to embed in the place of documents.
    pub documents: Option<&'a Documents>,
    /// A file of pairs, instead of the test pairs of a run.
    pub pairs: Option<&'a Path>,
    /// A file to write the rankings to, in TREC's format.
    pub trec: Option<&'a Path>,
    /// A compressed index of tokens, to be measured too.
    pub token_index: Option<&'a TokenIndexConfig>,
    /// Types of weights in which the encoder is measured too.
    pub dtypes: &'a [MemoryType],
    /// The device on which it is.
    pub device: DeviceConfig,
    /// A cross-encoder that orders the first documents of every contestant, each measured once more so.
    pub reranking: Option<Reranking<'a>>,
    /// Folders of runs and of their pairs.
    pub places: Folders<'a>,
}

/// The numbers of named benchmarks.
pub struct NamedOutcomes<'a> {
    /// Outcomes of every contestant on the first benchmark, then on the next.
    pub outcomes: Vec<ContestantOutcome>,
    compressed: Vec<Compressed>,
    compared: Vec<ComparedDtype>,
    measured: &'a NamedBenchmarks<'a>,
}

impl NamedBenchmarks<'_> {
    /// Measures every contestant on every benchmark.
    ///
    /// # Errors
    ///
    /// If data is missing or cannot be read, or a text cannot be encoded.
    pub fn measure(&self, progress: &mut dyn FnMut(Progress)) -> Result<NamedOutcomes<'_>> {
        let (encoder, run) = (self.contestants.encoder.as_ref(), self.contestants.run.as_ref());
        let (mut outcomes, mut compressed, mut compared) = (Vec::new(), Vec::new(), Vec::new());
        // What cannot be measured is told before anything is.
        if let Some(encoder) = encoder {
            dtypes::check(encoder, self.device, self.dtypes)?;
        }
        if let (Some(encoder), Some(_)) = (encoder, self.token_index) {
            wb_bench::check_compressible(encoder)?;
        }
        let plans = self.plans(progress)?;
        for (benchmark, plan) in self.benchmarks.iter().zip(plans) {
            let over = match (encoder, self.documents) {
                (Some(encoder), Some(documents)) => {
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
            let training = run.and_then(|run| run.trained_on.as_ref().ok());
            let audits = LazyCell::new(|| wb_bench::audits(&plan, None));
            let audits_of_run = LazyCell::new(|| wb_bench::audits(&plan, training));
            let words = self.contestants.bm25.then(|| BenchContestant::Bm25(Bm25Config::default()));
            for contestant in words.into_iter().chain(embedding.map(BenchContestant::Encoder)) {
                let mut settings = match (&contestant, encoder) {
                    (BenchContestant::Encoder(_), Some(encoder)) => settings(encoder),
                    _ => Vec::new(),
                };
                settings.extend(self.documents.map(Documents::setting));
                let mut scorer = contestant.prepare(&plan.texts, progress)?;
                let run = run.filter(|_| matches!(contestant, BenchContestant::Encoder(_)));
                if let Some(run) = run {
                    scorer = scorer.known_as(ContestantRole::Trained, run.base.clone());
                }
                let is_compared = run.is_some() && training.is_some();
                let audits = if is_compared { audits_of_run.as_slice() } else { audits.as_slice() };
                let options = Options { seed: SEED, audits, ..Options::default() };
                let mut outcome = wb_bench::run(&plan, &scorer, &settings, options, progress)?;
                outcome.warnings.extend(run.and_then(|run| run.trained_on.as_ref().err().cloned()));
                let reranked = self.reranking.map(|reranking| scorer.with_reranker(reranking));
                let again = match &reranked {
                    Some(reranked) => Some(self.rerank(&plan, reranked, (&settings, &outcome), options, progress)?),
                    None => None,
                };
                if let Some(path) = self.trec {
                    let scorer = reranked.as_ref().unwrap_or(&scorer);
                    let (protocol, queries) = wb_bench::write_trec(&plan, scorer, path, progress)?;
                    output::note(format!("{}: {queries} queries of {protocol}", path.display()));
                }
                if let Some(config) = self.token_index {
                    compressed.push(wb_bench::compressed(&scorer, config, SEED, progress)?);
                }
                let own =
                    encoder.filter(|_| matches!(contestant, BenchContestant::Encoder(_))).map(|encoder| OwnWeights {
                        encoder,
                        plan: &plan,
                        scorer: &scorer,
                        settings: &settings,
                        options,
                        outcome: &outcome,
                        main: benchmark.benchmark().card().main,
                        device: self.device,
                        place: self.contestants.place.as_deref(),
                    });
                let beside = |own: OwnWeights<'_>| {
                    self.dtypes.iter().map(|dtype| own.beside(*dtype, progress)).collect::<Result<Vec<_>>>()
                };
                let in_dtypes = own.map_or(Ok(Vec::new()), beside)?;
                outcomes.push(outcome);
                outcomes.extend(again);
                for (outcome, found) in in_dtypes {
                    outcomes.push(outcome);
                    compared.push(found);
                }
            }
        }
        Ok(NamedOutcomes { outcomes, compressed, compared, measured: self })
    }

    /// Reads every benchmark's data, and refuses what is asked of it and cannot be done with it.
    fn plans(&self, progress: &mut dyn FnMut(Progress)) -> Result<Vec<BenchmarkPlan>> {
        let run = self.contestants.run.as_ref().map(|run| &run.folder);
        let mut plans = Vec::new();
        for (benchmark, folder) in self.benchmarks.iter().zip(self.folders) {
            let pairs = self.pairs(benchmark, run, progress)?;
            let folder = folder.as_deref().map(remote::local).transpose()?;
            let dataset = match (&pairs, &folder) {
                (Some(pairs), _) => BenchmarkData::Pairs(pairs),
                (None, Some(folder)) => BenchmarkData::Folder(folder),
                (None, None) => bail!("{} needs its data: --dataset DIR", name_of(benchmark)),
            };
            let plan = benchmark.benchmark().plan(dataset)?;
            for note in &plan.not_run {
                output::note(format!("not run: {}: {}", note.id, note.reason));
            }
            if let (Some(_), Some(documents)) = (&self.contestants.encoder, self.documents) {
                documents.check(&plan.texts)?;
            }
            let wanted = [("--rerank", self.reranking.is_some()), ("--trec", self.trec.is_some())];
            if let Some((option, _)) = wanted.iter().find(|(_, wanted)| *wanted && !plan.ranks_a_pool()) {
                bail!("{option}: no protocol of {} that can be run here ranks a whole pool", plan.card.name);
            }
            plans.push(plan);
        }
        Ok(plans)
    }

    /// Measures a contestant whose first documents are reranked; what it cannot be measured on is told.
    fn rerank(
        &self,
        plan: &BenchmarkPlan,
        reranked: &Scorer<'_>,
        (settings, before): (&[(String, String)], &ContestantOutcome),
        options: Options<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<ContestantOutcome> {
        let mut outcome = wb_bench::run(plan, reranked, settings, options, progress)?;
        for note in outcome.not_run.iter().skip(plan.not_run.len()) {
            output::note(format!("not run: {}: {}", note.id, note.reason));
        }
        let new = before.warnings.iter().filter(|warning| !outcome.warnings.contains(warning)).cloned();
        let of_training: Vec<String> = new.filter(|warning| warning.starts_with("not compared")).collect();
        outcome.warnings.extend(of_training);
        Ok(outcome)
    }

    /// The pairs of the file that was named, else the test pairs of the run, for the benchmark that measures on them.
    fn pairs(
        &self,
        benchmark: &BenchmarkConfig,
        run: Option<&RunDir>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Option<PairSet>> {
        if !matches!(benchmark, BenchmarkConfig::Pairs(_)) {
            return Ok(None);
        }
        if let Some(file) = self.pairs {
            let source = SourceChoice::of_file(file)?;
            return Ok(Some(pairs_of(&[source], OnBad::Stop.into(), progress)?));
        }
        let latest;
        let run = match run {
            Some(run) => run,
            None => {
                latest = RunDir::open(self.places.runs, "latest")?;
                &latest
            }
        };
        test_pairs::of_run(run, self.places.datasets).map(Some)
    }
}

impl NamedOutcomes<'_> {
    /// Writes the records as JSON: one by itself, several as a list.
    pub fn write(&self, path: &Path) -> Result<()> {
        match self.outcomes.as_slice() {
            [one] => write_json(path, one)?,
            several => write_json(path, &several)?,
        }
        Ok(())
    }

    /// Prints the numbers, the audits, the compressed indexes, and each warning once.
    pub fn print(&self) {
        print(&self.outcomes);
        print_audit(&self.outcomes);
        if let Some(TrainedRun { trained_on: Ok(training), .. }) = &self.measured.contestants.run {
            output::note(format!("audited against the {} training pairs of the run", training.n_pairs));
        }
        self.compressed.iter().for_each(print_compressed);
        dtypes::print(&self.compared);
        // Both contestants of a benchmark may be warned of the same.
        for warning in distinct(self.outcomes.iter().flat_map(|outcome| &outcome.warnings)) {
            output::note(format!("warning: {warning}"));
        }
    }

    /// True where each benchmark reaches every required metric, whose first number counts, main protocols first; of two
    /// contestants the encoder is held to it, and with a cross-encoder what it reranked. Each that is missed is told.
    ///
    /// # Errors
    ///
    /// If a benchmark does not have a metric.
    pub fn meet(&self, requirements: &[(String, f64)]) -> Result<bool> {
        let mut is_met = true;
        // The encoder's, where BM25 is measured beside it; the reranked one, where there is one; with its own weights.
        let Self { measured: NamedBenchmarks { contestants, reranking, dtypes, .. }, .. } = self;
        let count = contestants.count() * if reranking.is_some() { 2 } else { 1 };
        let of_each = self.outcomes.chunks(count + dtypes.len());
        let judged: Vec<&ContestantOutcome> = of_each.filter_map(|all| all[..count].last()).collect();
        for (metric, least) in requirements {
            for (benchmark, outcome) in self.measured.benchmarks.iter().zip(&judged) {
                let main = benchmark.benchmark().card().main;
                let of_main = outcome
                    .protocols
                    .iter()
                    .find(|score| &score.metric == metric && main.iter().any(|(id, _)| stands_for(id, &score.id)));
                let first = || outcome.protocols.iter().find(|score| &score.metric == metric);
                let Some(score) = of_main.or_else(first) else {
                    bail!("--require {metric}={least}: {} has no metric `{metric}`", outcome.benchmark);
                };
                if score.value < *least {
                    output::note(format!("refused: {} {metric} is {:.4}, required {least:.4}", score.id, score.value));
                    is_met = false;
                }
            }
        }
        Ok(is_met)
    }
}
