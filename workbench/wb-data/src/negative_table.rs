//! Hard negatives of pairs by the ids of their documents, as a Parquet file: `pair` text, `score` 32-bit float of its
//! positive, `negatives` list of text, `scores` list of 32-bit floats, `ranks` list of 32-bit numbers. A text is in no row:
//! many pairs have the same negatives.

use std::{collections::HashMap, fs, io, path::Path, sync::Arc};

use arrow_array::{
    Array, ArrayRef, RecordBatch, StringArray,
    builder::{Float32Builder, ListBuilder, StringBuilder, UInt32Builder},
    cast::AsArray as _,
    types::{Float32Type, UInt32Type},
};
use parquet::{arrow::ArrowWriter, errors::ParquetError};
use wb_core::{Document, Pair, atomic, remote};

use crate::{Error, Result, sources::batches, store::properties};

/// Rows that are written together.
const BATCH: usize = 8192;

/// The hard negatives of a pair.
#[derive(Debug, Clone, PartialEq)]
pub struct NegativesOfPair {
    /// The pair's id.
    pub pair: String,
    /// The score of its positive.
    pub score: f32,
    /// Its negatives, best first.
    pub negatives: Vec<NegativeById>,
}

/// A hard negative by the id of its document: that of the corpus, or of the first pair whose positive it is.
#[derive(Debug, Clone, PartialEq)]
pub struct NegativeById {
    /// The id.
    pub id: String,
    /// Its score; none for one that was drawn from all documents.
    pub score: Option<f32>,
    /// Its place in the retriever's ranking, from 1; none for one that was drawn.
    pub rank: Option<u32>,
}

/// Writes the negatives of pairs, whole or not at all; rows need not be in memory together.
///
/// # Errors
///
/// If the file cannot be written.
pub fn write_negatives(path: &Path, rows: impl IntoIterator<Item = NegativesOfPair>) -> Result<()> {
    let fill = |file: &mut fs::File| -> std::result::Result<(), ParquetError> {
        let mut writer = ArrowWriter::try_new(file, batch(&[])?.schema(), Some(properties()?))?;
        let mut waiting = Vec::with_capacity(BATCH);
        for row in rows {
            waiting.push(row);
            if waiting.len() == BATCH {
                writer.write(&batch(&waiting)?)?;
                waiting.clear();
            }
        }
        writer.write(&batch(&waiting)?)?;
        writer.close().map(|_| ())
    };
    atomic::write_with(path, |file| fill(file).map_err(io::Error::other))
}

/// Gives the negatives of every pair of what [`write_negatives`] wrote to `take`, in order; an error of `take` ends it.
///
/// # Errors
///
/// If the file cannot be read or is another one.
pub fn each_negatives(path: &Path, take: &mut dyn FnMut(NegativesOfPair) -> Result<()>) -> Result<()> {
    let names = ["pair", "score", "negatives", "scores", "ranks"];
    batches(&remote::local(path)?, |name| names.contains(&name), &mut |batch, _| {
        let column = |name: &str| batch.column_by_name(name).ok_or_else(|| not_ours(path, name));
        let text =
            |array: &ArrayRef, name: &str| array.as_string_opt::<i32>().cloned().ok_or_else(|| not_ours(path, name));
        let list = |name: &str| column(name)?.as_list_opt::<i32>().cloned().ok_or_else(|| not_ours(path, name));
        let pairs = text(column("pair")?, "pair")?;
        let of_positives = column("score")?.as_primitive_opt::<Float32Type>().ok_or_else(|| not_ours(path, "score"))?;
        let (ids, scores, ranks) = (list("negatives")?, list("scores")?, list("ranks")?);
        for row in 0..batch.num_rows() {
            let (scores, ranks) = (scores.value(row), ranks.value(row));
            let ids = text(&ids.value(row), "negatives")?;
            let scores = scores.as_primitive_opt::<Float32Type>().ok_or_else(|| not_ours(path, "scores"))?;
            let ranks = ranks.as_primitive_opt::<UInt32Type>().ok_or_else(|| not_ours(path, "ranks"))?;
            if scores.len() != ids.len() || ranks.len() != ids.len() {
                return Err(not_ours(path, "scores"));
            }
            let negative = |at: usize| NegativeById {
                id: ids.value(at).to_owned(),
                score: scores.is_valid(at).then(|| scores.value(at)),
                rank: ranks.is_valid(at).then(|| ranks.value(at)),
            };
            take(NegativesOfPair {
                pair: pairs.value(row).to_owned(),
                score: of_positives.value(row),
                negatives: (0..ids.len()).map(negative).collect(),
            })?;
        }
        Ok(())
    })
}

/// Pairs with the negatives of a file in place of those that they had, and of their scores those of the positives: the
/// negatives' texts are positives of the pairs and documents of a corpus.
///
/// # Errors
///
/// If the file was mined of other pairs, or an id is neither a pair's nor a document's.
pub fn with_negatives(mut pairs: Vec<Pair>, corpus: &[Document], path: &Path) -> Result<Vec<Pair>> {
    let place = || path.display().to_string();
    let others = |what: String| {
        let hint = "mine them again: wb mine-negatives CONFIG";
        Error::data(place(), format!("{what}: it was mined of other pairs")).with_hint(hint)
    };
    let mut all: Vec<Vec<Arc<str>>> = Vec::with_capacity(pairs.len());
    {
        // Each text once, however many pairs have it.
        let mut shared: HashMap<&str, Arc<str>> = HashMap::new();
        let of_pairs = pairs.iter().map(|pair| (pair.id.as_str(), pair.positive.as_str()));
        let of_corpus = corpus.iter().map(|document| (document.id.as_str(), document.text.as_str()));
        let texts: HashMap<&str, &str> = of_corpus.chain(of_pairs).collect();
        each_negatives(path, &mut |row| {
            let at = all.len();
            let pair = pairs.get(at).ok_or_else(|| others(format!("has more than {} rows", pairs.len())))?;
            if pair.id != row.pair {
                return Err(others(format!("row {} is of the pair `{}`, expected `{}`", at + 1, row.pair, pair.id)));
            }
            let text = |negative: &NegativeById| match texts.get(negative.id.as_str()) {
                Some(text) => Ok(Arc::clone(shared.entry(*text).or_insert_with(|| Arc::from(*text)))),
                None => {
                    let what = format!("row {}: no pair and no document has the id `{}`", at + 1, negative.id);
                    Err(Error::data(place(), what)
                        .with_hint("negatives.corpus names the file that they were mined from"))
                }
            };
            all.push(row.negatives.iter().map(text).collect::<Result<_>>()?);
            Ok(())
        })?;
        if all.len() < pairs.len() {
            return Err(others(format!("has {} rows for {} pairs", all.len(), pairs.len())));
        }
    }
    for (pair, negatives) in pairs.iter_mut().zip(all) {
        pair.negatives = negatives;
        // Nobody scored the new ones.
        pair.scores.truncate(1);
    }
    Ok(pairs)
}

fn batch(rows: &[NegativesOfPair]) -> std::result::Result<RecordBatch, ParquetError> {
    let (mut ids, mut scores, mut ranks) = (
        ListBuilder::new(StringBuilder::new()),
        ListBuilder::new(Float32Builder::new()),
        ListBuilder::new(UInt32Builder::new()),
    );
    for row in rows {
        for negative in &row.negatives {
            ids.values().append_value(&negative.id);
            scores.values().append_option(negative.score);
            ranks.values().append_option(negative.rank);
        }
        ids.append(true);
        scores.append(true);
        ranks.append(true);
    }
    let pairs: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.pair)));
    let of_positives: ArrayRef =
        Arc::new(arrow_array::Float32Array::from_iter_values(rows.iter().map(|row| row.score)));
    let lists: [(&str, ArrayRef); 3] = [
        ("negatives", Arc::new(ids.finish())),
        ("scores", Arc::new(scores.finish())),
        ("ranks", Arc::new(ranks.finish())),
    ];
    Ok(RecordBatch::try_from_iter([("pair", pairs), ("score", of_positives)].into_iter().chain(lists))?)
}

fn not_ours(path: &Path, column: &str) -> Error {
    let what = format!("has no column `{column}` of hard negatives by id");
    Error::data(path.display().to_string(), what).with_hint("name the negatives.parquet that `wb mine-negatives` keeps")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pair: &str, negatives: &[(&str, Option<f32>)]) -> NegativesOfPair {
        let by_id = |(at, (id, score)): (usize, &(&str, Option<f32>))| NegativeById {
            id: (*id).to_owned(),
            score: *score,
            rank: score.map(|_| at as u32 + 1),
        };
        NegativesOfPair {
            pair: pair.to_owned(),
            score: 0.5,
            negatives: negatives.iter().enumerate().map(by_id).collect(),
        }
    }

    fn pair(id: &str, positive: &str) -> Pair {
        let scores = vec![0.9, 0.1];
        Pair { id: id.into(), positive: positive.into(), negatives: vec!["old".into()], scores, ..Pair::default() }
    }

    #[test]
    fn negatives_come_back_and_are_texts_of_pairs_and_of_the_corpus() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("negatives.parquet");
        let rows = [row("a", &[("b", Some(0.4)), ("c1", None)]), row("b", &[])];
        write_negatives(&path, rows.clone()).unwrap();
        let mut read = Vec::new();
        each_negatives(&path, &mut |row| {
            read.push(row);
            Ok(())
        })
        .unwrap();
        assert_eq!(read, rows);
        let corpus = [Document { id: "c1".into(), text: "of the corpus".into(), title: String::new() }];
        let pairs = || vec![pair("a", "A"), pair("b", "B")];
        let with = with_negatives(pairs(), &corpus, &path).unwrap();
        assert_eq!(with[0].negatives, [Arc::from("B"), Arc::from("of the corpus")]);
        assert_eq!((with[1].negatives.len(), &with[0].scores), (0, &vec![0.9]));

        let told = |pairs: Vec<Pair>, corpus: &[Document]| {
            let error = with_negatives(pairs, corpus, &path).unwrap_err();
            assert!(error.hint().is_some());
            error.to_string().rsplit_once("negatives.parquet: ").unwrap().1.to_owned()
        };
        assert_eq!(told(pairs(), &[]), "row 1: no pair and no document has the id `c1`");
        let three = [pairs(), vec![pair("c", "C")]].concat();
        assert_eq!(told(three, &corpus), "has 2 rows for 3 pairs: it was mined of other pairs");
        let more = [corpus[0].clone(), Document { id: "b".into(), ..corpus[0].clone() }];
        assert_eq!(told(vec![pair("a", "A")], &more), "has more than 1 rows: it was mined of other pairs");
        let swapped = pairs().into_iter().rev().collect();
        assert_eq!(told(swapped, &corpus), "row 1 is of the pair `a`, expected `b`: it was mined of other pairs");
        crate::store::write_pairs(&path, pairs()).unwrap();
        assert_eq!(told(pairs(), &corpus), "has no column `pair` of hard negatives by id");
    }

    #[test]
    fn an_empty_table_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("negatives.parquet");
        write_negatives(&path, []).unwrap();
        assert_eq!(with_negatives(Vec::new(), &[], &path).unwrap(), []);
    }
}
