//! The ranking measured on a set of questions.

use std::path::Path;

use anyhow::Result;
use wb_core::{
    EncoderRef, Error, Reranker,
    run_dir::write_json,
    statistics::{Comparison, quantile},
};
use wb_encoder::{BiEncoder, DeviceConfig};
use wb_retrieval::trec::write_runs;
use wb_search::{
    CodeIndex, FolderFiles, RankingWeights, SearchContext, VectorEncoder, build,
    sets::{IndexedSet, Measured, SearchSet, main_metrics, measure, seconds},
    vector_store,
    vectors::embed,
};
use wb_sql::benchmarks::files::writable;

use super::{Told, expect_reading, open};
use crate::{output, requirements};

/// Reads a set and indexes its repositories.
pub(super) fn indexed(set: SearchSet, folder: &Path, progress: Told<'_>) -> Result<IndexedSet> {
    let loaded = set.load(folder)?;
    let indexed = loaded.repositories.iter().map(|one| {
        let index = build(FolderFiles::of(&one.root)?, progress)?.0;
        match index.n_readable() {
            0 => Err(Error::failed(format!("{} has no file that can be searched", one.root.display()))
                .with_hint("unpack the repository there")
                .into()),
            _ => Ok(index),
        }
    });
    let indexes = indexed.collect::<Result<Vec<CodeIndex>>>()?;
    if loaded.left_out > 0 {
        let (set, n) = (loaded.set, loaded.left_out);
        output::note(format!("{n} questions of {set} are left out: what they ask about is not there"));
    }
    Ok((loaded, indexes))
}

/// Gives a set's units and questions their vectors.
pub(super) fn add_vectors(
    (loaded, indexes): &mut IndexedSet,
    (made_by, encoder): &(VectorEncoder, BiEncoder),
    weights: &RankingWeights,
    progress: Told<'_>,
) -> Result<()> {
    let store = vector_store(made_by.clone())?;
    for index in indexes {
        let (vectors, _) = embed(index, None, &store, encoder, progress)?;
        index.set_vectors(vectors);
    }
    Ok(loaded.embed(encoder, weights)?)
}

/// A set of questions to measure the ranking on.
pub struct SearchBench<'a> {
    /// The set.
    pub set: SearchSet,
    /// Its folder.
    pub folder: &'a Path,
    /// An encoder whose vectors are measured beside words alone.
    pub encoder: Option<EncoderRef>,
    /// Device that models compute on.
    pub device: DeviceConfig,
    /// A cross-encoder that reads the first so many answers to each question.
    pub rerank: Option<(&'a dyn Reranker, usize)>,
    /// The ranking's weights.
    pub weights: RankingWeights,
    /// Asks in the context that questions have.
    pub in_context: bool,
    /// Hops of every question.
    pub hops: u8,
    /// Another ranking to compare with: numbers of `json`, or a run file of TREC.
    pub against: Option<&'a Path>,
    /// File to write the numbers to.
    pub json: Option<&'a Path>,
    /// File to write the last ranking to.
    pub trec: Option<&'a Path>,
    /// Metrics with the least value that each has to reach.
    pub require: Vec<(String, f64)>,
}

/// An error where a device is named and nothing computes on it.
pub(super) fn expect_model(has_model: bool, device: DeviceConfig) -> Result<()> {
    if has_model || device == DeviceConfig::Auto {
        return Ok(());
    }
    let what = "computes for a model, and none is named, expected `--encoder` or `--rerank`";
    Err(Error::value("--device", what).with_hint("without --device").into())
}

impl SearchBench<'_> {
    /// Options of `wb bench` that it takes.
    pub const OPTIONS: [&'static str; 12] = [
        "--dataset",
        "--json",
        "--require",
        "--set",
        "--encoder",
        "--rerank",
        "--trec",
        "--device",
        "--weights",
        "--against",
        "--context",
        "--hops",
    ];

    /// Measures the ranking without a model and with an encoder's vectors, beside plain BM25 over the same units; true
    /// where it reaches what is required.
    pub fn run(self, progress: Told<'_>) -> Result<bool> {
        let Self { set, folder, weights, .. } = &self;
        if self.rerank.is_some() {
            expect_reading(weights)?;
            if *set == SearchSet::Intents {
                let what =
                    "answers to intents are those of the structure, which come before what a cross-encoder orders";
                return Err(Error::value("--rerank", what).with_hint("another --set").into());
            }
        }
        expect_model(self.encoder.is_some() || self.rerank.is_some(), self.device)?;
        self.json.map_or(Ok(()), |file| writable(file, "--json"))?;
        self.trec.map_or(Ok(()), |file| writable(file, "--trec"))?;
        let opened = self.encoder.as_ref().map(|reference| open(reference, self.device)).transpose()?;
        let mut indexed = indexed(*set, folder, progress)?;
        if self.in_context && indexed.0.questions.iter().all(|question| question.context == SearchContext::default()) {
            let what = format!("asks in the context of questions, and those of {set} have none");
            return Err(Error::value("--context", what).with_hint("--set no-answer").into());
        }
        let other = self.against.map(|file| indexed.0.other(file, &indexed.1)).transpose()?;
        let mut rows = vec![measure(&indexed.0, &indexed.1, &RankingWeights::plain(), "BM25")?];
        (indexed.0.in_context, indexed.0.hops) = (self.in_context, self.hops);
        rows.push(measure(&indexed.0, &indexed.1, weights, "wb search, no model")?);
        if let Some(opened) = &opened {
            add_vectors(&mut indexed, opened, weights, progress)?;
            rows.push(measure(&indexed.0, &indexed.1, weights, &format!("wb search, {}", opened.0.opens))?);
        }
        if let (Some((reranker, n)), Some(before)) = (self.rerank, rows.last()) {
            let name = format!("{}, read by {}", before.contestant, reranker.name());
            indexed.0.read(&indexed.1, weights, (reranker, n), progress)?;
            rows.push(measure(&indexed.0, &indexed.1, weights, &name)?);
        }
        if *set == SearchSet::Intents {
            let (loaded, indexes) = &mut indexed;
            let routed = loaded.route(indexes, weights, progress)?;
            rows.push(measure(&indexed.0, &indexed.1, weights, "wb search, structure first")?);
            output::note(format!("the structure has units for {routed} of {} questions", indexed.0.questions.len()));
        }
        let (loaded, indexes) = indexed;
        output::line(format!(
            "{set}: {} questions, {} repositories",
            loaded.questions.len(),
            loaded.repositories.len()
        ));
        if *set == SearchSet::Own {
            output::note("these questions are made of their answers, which flatters: a stranger's are harder");
        }
        if *set == SearchSet::NoAnswer && rows.iter().all(|row| !row.metrics.contains_key("auroc")) {
            output::note("no auroc: it takes questions with an answer and questions without one");
        }
        tell(&rows);
        let shown = if *set == SearchSet::Intents { 2 } else { 1 };
        rows.iter().rev().take(shown).rev().for_each(tell_by_category);
        let seconds = seconds(&loaded, &indexes, weights)?;
        if let (Some(half), Some(most)) = (quantile(&seconds, 0.5), quantile(&seconds, 0.99)) {
            let beside = if self.rerank.is_some() { ", beside the cross-encoder" } else { "" };
            output::note(format!("a question takes {:.1} ms, 1 in 100 over {:.1} ms{beside}", 1e3 * half, 1e3 * most));
        }
        let Some(mut own) = rows.pop() else { return Ok(true) };
        // A cross-encoder against the ranking without it, where nothing else is asked for.
        let before = rows.last().filter(|_| self.rerank.is_some());
        if let Some(other) = other.as_ref().or(before) {
            let same = own.compare(&loaded, other)?;
            tell_against(&own, other, same);
        }
        own.beside = rows.into_iter().chain(other).collect();
        if let Some(path) = self.json {
            write_json(path, &own)?;
        }
        if let Some(path) = self.trec {
            write_runs(path, &loaded.runs(&indexes, weights)?, "wb-search")?;
        }
        let known = own.metrics.iter().map(|(name, value)| (name.clone(), value.value)).collect();
        requirements::reached(&known, &self.require, own.set.name())
    }
}

/// A table of kinds of questions with their intervals, for the metrics that say most; nothing of a set of one kind.
fn tell_by_category(measured: &Measured) {
    // Questions that are made of a repository have metrics for each kind already.
    if measured.by_category.is_empty() || measured.set == SearchSet::Own {
        return;
    }
    let metrics = main_metrics(measured.set);
    let count = |kind: &str| measured.questions.iter().filter(|question| question.category == kind).count();
    let lines: Vec<Vec<String>> = measured
        .by_category
        .iter()
        .map(|(kind, of_kind)| {
            let value = |name: &&str| {
                of_kind
                    .get(*name)
                    .map_or("-".to_owned(), |found| format!("{:.3} [{:.3}, {:.3}]", found.value, found.low, found.high))
            };
            [kind.clone(), count(kind).to_string()].into_iter().chain(metrics.iter().map(value)).collect()
        })
        .collect();
    let head: Vec<&str> = ["kind", "questions"].into_iter().chain(metrics.iter().copied()).collect();
    output::line("");
    output::table(&head, &lines);
}

/// A table of differences to another ranking, question by question.
fn tell_against(own: &Measured, other: &Measured, same: usize) {
    let lines: Vec<Vec<String>> = own
        .against
        .iter()
        .map(|(name, Comparison { difference, interval, p_value, wins_ties_losses: [wins, ties, losses] })| {
            let digits = if interval.high - interval.low > 10.0 { 0 } else { 3 };
            let counts = format!("{wins}/{ties}/{losses}");
            let of = |measured: &Measured| {
                measured.metrics.get(name).map_or("-".to_owned(), |found| format!("{:.digits$}", found.value))
            };
            vec![
                name.clone(),
                of(own),
                of(other),
                format!("{difference:+.digits$}"),
                format!("{interval:+.digits$}"),
                format!("{p_value:.3}"),
                counts,
            ]
        })
        .collect();
    let all = own.questions.len();
    let (ours, theirs) = (&own.contestant, &other.contestant);
    output::line(format!("\n{ours} minus {theirs}, on the questions of both, {same} of {all}:"));
    output::table(&["metric", "own", "other", "difference", "95 %", "p", "better/equal/worse"], &lines);
}

/// A table of rankings: a metric a line, with the interval of the last.
fn tell(contestants: &[Measured]) {
    let Some((own, others)) = contestants.split_last() else { return };
    let lines: Vec<Vec<String>> = own
        .metrics
        .iter()
        .map(|(name, value)| {
            let digits = if value.value > 10.0 { 0 } else { 3 };
            let of = |other: &Measured| other.metrics.get(name).map_or(f64::NAN, |value| value.value);
            let values = others.iter().map(|other| format!("{:.digits$}", of(other)));
            let interval = format!("[{:.digits$}, {:.digits$}]", value.low, value.high);
            let all = [name.clone()].into_iter().chain(values);
            all.chain([format!("{:.digits$}", value.value), interval]).collect()
        })
        .collect();
    let short = |contestant: &str| match contestant.strip_prefix("wb search, ") {
        Some("structure first") => "structure first".to_owned(),
        Some(read) if read.contains(", read by ") => "reranked".to_owned(),
        Some("no model") => "no model".to_owned(),
        Some(_) => "with vectors".to_owned(),
        None => contestant.to_owned(),
    };
    let names: Vec<String> = contestants.iter().map(|one| short(&one.contestant)).collect();
    let head: Vec<&str> = ["metric"].into_iter().chain(names.iter().map(String::as_str)).chain(["95 %"]).collect();
    output::table(&head, &lines);
}
