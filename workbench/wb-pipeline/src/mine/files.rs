//! The files of a mining: pairs, scores with their places, rows for other trainers, candidates for another model.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Result, bail};
use serde::Serialize;
use wb_core::{Error, Pair, atomic, remote::Outgoing};
use wb_data::{
    negative_table::{NegativeById, NegativesOfPair},
    store,
};
use wb_retrieval::mining::{Format, MinedNegatives, MiningTexts, NegativeCandidate, formats};

/// A file that the user asked for.
pub struct Out {
    path: PathBuf,
    kind: Kind,
    scores: bool,
}

enum Kind {
    Parquet,
    Jsonl,
    Rows(Format),
}

/// A file that cannot be written for the end of its name, and a name that can.
fn refused(path: &Path, message: &str, ending: &str) -> anyhow::Error {
    let hint = format!("--out {}", path.with_extension(ending).display());
    Error::data(format!("--out {}", path.display()), message).with_hint(hint).into()
}

impl Out {
    /// Chooses by the file's name and the format that was asked for: `pairs`, or one of sentence-transformers'.
    pub fn new(path: &Path, format: &str, scores: bool) -> Result<Self> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let row_format = Format::ALL.iter().find(|(name, _)| *name == format).map(|(_, format)| *format);
        let kind = match (format, row_format, ending) {
            ("pairs", _, "parquet") => Kind::Parquet,
            ("pairs", _, "jsonl") => Kind::Jsonl,
            (_, Some(format), "jsonl") => Kind::Rows(format),
            ("pairs", ..) => {
                return Err(refused(path, "expected a name that ends in .parquet or .jsonl", "parquet"));
            }
            (_, Some(_), _) => {
                return Err(refused(path, &format!("rows as {format} are written to a .jsonl file"), "jsonl"));
            }
            _ => {
                let names: Vec<&str> = Format::ALL.iter().map(|(name, _)| *name).collect();
                bail!("--format {format}: expected pairs, {}", names.join(", "))
            }
        };
        if scores && !matches!(kind, Kind::Rows(_)) {
            bail!(
                "--scores is for --format triplet, n-tuple, labeled-pair or labeled-list; pairs have theirs in the file beside"
            );
        }
        Ok(Self { path: path.to_owned(), kind, scores })
    }

    /// True where it can hold positives among the negatives.
    pub fn keeps_order(&self) -> bool {
        matches!(self.kind, Kind::Rows(Format::NTuple))
    }

    /// The file itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file with scores and places.
    pub fn scores_path(&self) -> PathBuf {
        scores_of(&self.path)
    }
}

/// Pairs with their negatives, one by one.
pub fn pairs<'t>(texts: &'t MiningTexts<'_>, mined: &'t MinedNegatives) -> impl Iterator<Item = Pair> + 't {
    texts.pairs().iter().enumerate().map(|(at, pair)| Pair {
        negatives: mined.negatives(texts, at).map(Arc::from).collect(),
        id: pair.id.clone(),
        task: pair.task,
        language: pair.language.clone(),
        anchor: pair.anchor.clone(),
        positive: pair.positive.clone(),
        origin: pair.origin.clone(),
        // Nobody scored the new ones; the positive keeps its score.
        scores: pair.scores.first().copied().into_iter().collect(),
    })
}

/// Negatives of pairs by the ids of their documents, one by one.
pub fn by_id<'t>(texts: &'t MiningTexts<'_>, mined: &'t MinedNegatives) -> impl Iterator<Item = NegativesOfPair> + 't {
    let id = |document: u32| texts.document_ids()[document as usize].to_owned();
    mined.pairs.iter().zip(texts.pairs()).map(move |(of_pair, pair)| NegativesOfPair {
        pair: pair.id.clone(),
        score: of_pair.positive_score,
        negatives: of_pair
            .negatives
            .iter()
            .map(|negative| NegativeById { id: id(negative.document), score: negative.score, rank: negative.rank })
            .collect(),
    })
}

/// Writes what the user asked for: the file beside it first.
pub fn write_out(out: &Out, texts: &MiningTexts<'_>, mined: &MinedNegatives, per_pair: usize) -> Result<()> {
    let to = Outgoing::to(&out.path)?;
    let (path, scores) = (to.local(), scores_of(to.local()));
    write_scores(&scores, texts, mined)?;
    match out.kind {
        Kind::Parquet => store::write_pairs(path, pairs(texts, mined))?,
        Kind::Jsonl => lines(path, |lines| pairs(texts, mined).try_for_each(|pair| lines.add(&pair)))?,
        Kind::Rows(format) => {
            let mut left_out = 0;
            lines(path, |lines| {
                left_out = formats::rows(format, texts, mined, per_pair, out.scores, |row| lines.add(&row))?;
                Ok(())
            })?;
            if left_out > 0 {
                crate::output::note(format!(
                    "{left_out} pairs with too few negatives are not in {}",
                    out.path.display()
                ));
            }
        }
    }
    Ok(to.send(&[scores])?)
}

/// The file with scores and places beside one.
fn scores_of(path: &Path) -> PathBuf {
    path.with_extension("scores.jsonl")
}

#[derive(Serialize)]
struct Scores<'a> {
    pair: &'a str,
    positive: Scored<'a>,
    negatives: Vec<Scored<'a>>,
}

#[derive(Serialize)]
struct Scored<'a> {
    id: &'a str,
    score: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<u32>,
}

/// One line for each pair: the scores of its positive and of its negatives, with their places in the ranking.
pub fn write_scores(path: &Path, texts: &MiningTexts<'_>, mined: &MinedNegatives) -> Result<()> {
    let id = |document: u32| texts.document_ids()[document as usize];
    lines(path, |lines| {
        for (at, of_pair) in mined.pairs.iter().enumerate() {
            let negatives = of_pair.negatives.iter();
            lines.add(&Scores {
                pair: &texts.pairs()[at].id,
                positive: Scored { id: id(texts.positive_of(at)), score: Some(of_pair.positive_score), rank: None },
                negatives: negatives.map(|n| Scored { id: id(n.document), score: n.score, rank: n.rank }).collect(),
            })?;
        }
        Ok(())
    })
}

#[derive(Serialize)]
struct CandidateLine<'a> {
    query: &'a str,
    document: &'a str,
    score: Option<f32>,
    rank: Option<u32>,
    query_text: &'a str,
    document_text: &'a str,
}

/// Writes every candidate of every query, and each query's positives, for a model that scores both texts together. `search`
/// is given what takes them.
pub fn write_candidates(
    path: &Path,
    texts: &MiningTexts<'_>,
    search: impl FnOnce(&mut dyn FnMut(usize, &[NegativeCandidate]) -> std::io::Result<()>) -> Result<()>,
) -> Result<()> {
    let mut failed = None;
    let written = lines(path, |lines| {
        let mut line = |query: usize, document: u32, score: Option<f32>, rank: Option<u32>| {
            lines.add(&CandidateLine {
                query: &texts.pairs()[texts.first_pair_of(query)].id,
                document: texts.document_ids()[document as usize],
                score,
                rank,
                query_text: texts.queries()[query],
                document_text: texts.documents()[document as usize],
            })
        };
        let searched = search(&mut |query, candidates| {
            for candidate in candidates {
                line(query, candidate.document, Some(candidate.score), Some(candidate.rank))?;
            }
            let is_among = |positive: &u32| candidates.iter().any(|candidate| candidate.document == *positive);
            // Margins are measured from the positives, wherever they are ranked.
            texts.positives(query).iter().filter(|p| !is_among(p)).try_for_each(|p| line(query, *p, None, None))
        });
        searched.map_err(|error| {
            failed = Some(error);
            std::io::Error::other("the search failed")
        })
    });
    match failed {
        Some(error) => Err(error),
        None => written,
    }
}

/// JSON lines on their way to a file.
struct Lines<'a>(BufWriter<&'a mut File>);

impl Lines<'_> {
    fn add(&mut self, value: &impl Serialize) -> std::io::Result<()> {
        serde_json::to_writer(&mut self.0, value)?;
        self.0.write_all(b"\n")
    }
}

/// Writes JSON lines, whole or not at all.
fn lines(path: &Path, fill: impl FnOnce(&mut Lines<'_>) -> std::io::Result<()>) -> Result<()> {
    Ok(atomic::write_with(path, |file| {
        let mut lines = Lines(BufWriter::new(file));
        fill(&mut lines)?;
        lines.0.flush()
    })?)
}
