//! A project's code found by words and names: its index, answers to questions, and the ranking measured on questions of
//! others.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::Result;
use wb_core::{Progress, run_dir::write_json};
use wb_search::{
    CodeIndex, FolderFiles, IndexPlace, RankingWeights, SearchAnswer, SearchQuestion, build,
    ranking::SignalWeights,
    sets::{SearchSet, measure},
};

use crate::output;

/// Progress of what several threads do.
type Told<'a> = &'a mut (dyn FnMut(Progress) + Send);

/// Indexes a project, or brings its index up to date; tells what is in it.
pub fn index(place: &IndexPlace, anew: bool, progress: Told<'_>) -> Result<()> {
    let started = Instant::now();
    let (index, found) = place.bring_up(anew, progress)?;
    output::line(format!("{} in {:.1} s", holds(&index), started.elapsed().as_secs_f64()));
    for (reason, files) in &found.skipped {
        output::note(format!("left aside, {reason}: {files}"));
    }
    output::note(format!("kept in {}", place.file.display()));
    Ok(())
}

/// Tells what an index has; true where it is there and nothing has changed since.
pub fn status(place: &IndexPlace) -> Result<bool> {
    let Some(index) = place.read()? else {
        output::line(format!("{}: not indexed; `wb index` does it", place.root.display()));
        return Ok(false);
    };
    let stale = index.stale()?;
    output::line(format!("{}, {} changed and {} gone since", holds(&index), stale.changed.len(), stale.gone.len()));
    Ok(stale.is_empty())
}

fn holds(index: &CodeIndex) -> String {
    let (files, units, bytes) = (index.n_readable(), index.units().len(), index.n_bytes() as f64 / 1e6);
    format!("{}: {files} files, {units} units, {bytes:.1} MB", index.root().display())
}

/// A question to a project, and the form of the answer.
pub struct ProjectSearch<'a> {
    /// The question as typed.
    pub text: &'a str,
    /// The question.
    pub question: SearchQuestion,
    /// Answers at most.
    pub most: usize,
    /// Tokens of text at most.
    pub budget: Option<usize>,
    /// Reads files that have changed first.
    pub fresh: bool,
    /// Tells the answer as JSON.
    pub json: bool,
    /// Tells of what each score is made.
    pub explain: bool,
}

impl ProjectSearch<'_> {
    /// Asks, after making the index where there is none; true where there was an answer.
    pub fn ask(&self, place: &IndexPlace, progress: Told<'_>) -> Result<bool> {
        let kept = if self.fresh { None } else { place.read()? };
        let index = match kept {
            Some(index) => index,
            None => place.bring_up(false, progress)?.0,
        };
        let weights = RankingWeights::default();
        let answer = SearchAnswer::of(&index, self.text, &self.question, &weights, self.most, self.budget)?;
        match self.json {
            true => output::line(serde_json::to_string_pretty(&answer)?),
            false => output::line(answer.text(self.explain)),
        }
        if !answer.stale.is_empty() {
            let n = answer.stale.len();
            output::note(format!("{n} files have changed since they were indexed; --fresh reads them first"));
        }
        Ok(!answer.answers.is_empty())
    }
}

/// Measures the ranking on a set, beside plain BM25 over the same units; with a file to write the numbers to.
pub fn bench(set: SearchSet, folder: &Path, json: Option<PathBuf>, progress: Told<'_>) -> Result<()> {
    let loaded = set.load(folder)?;
    let indexed = loaded.repositories.iter().map(|one| Ok(build(FolderFiles::of(&one.root)?, progress)?.0));
    let indexes = indexed.collect::<Result<Vec<CodeIndex>>>()?;
    let (plain, weights) = (SignalWeights::plain(), RankingWeights::default());
    let plain = RankingWeights { symbol: plain.clone(), prose: plain };
    let found = measure(&loaded, &indexes, &weights, "wb search, no model")?;
    let words = measure(&loaded, &indexes, &plain, "BM25")?;
    let rows: Vec<Vec<String>> = found
        .metrics
        .iter()
        .map(|(name, own)| {
            let of_words = words.metrics.get(name).map_or(f64::NAN, |value| value.value);
            let digits = if own.value > 10.0 { 0 } else { 3 };
            let interval = format!("[{:.digits$}, {:.digits$}]", own.low, own.high);
            vec![name.clone(), format!("{:.digits$}", own.value), interval, format!("{of_words:.digits$}")]
        })
        .collect();
    output::line(format!("{set}: {} questions, {} repositories", loaded.questions.len(), loaded.repositories.len()));
    output::table(&["metric", "wb search", "95 %", "BM25"], &rows);
    json.map_or(Ok(()), |path| write_json(&path, &[found, words])).map_err(Into::into)
}
