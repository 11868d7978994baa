//! Mined pairs as rows for other trainers: sentence-transformers' four formats, one JSON object a row.
//!
//! The rows and their order are those of `mine_hard_negatives`: queries in the order in which they first come, each
//! with its different positives; the columns are called `anchor`, `positive`, `negative` and so on, and `positive` is
//! the column of all documents in the labeled formats.

use serde_json::{Map, Value, json};

use super::{MinedNegatives, MinedPair, MiningTexts};

/// Layouts of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `anchor, positive, negative[, scores]`: one row for each negative.
    Triplet,
    /// `anchor, positive, negative_1, ..., negative_n[, scores]`; a pair with fewer negatives is left out.
    NTuple,
    /// `anchor, positive, label` or `score`: one row for each document.
    LabeledPair,
    /// `anchor, positive, labels` or `scores`: a list of documents; a pair without negatives is left out.
    LabeledList,
}

impl Format {
    /// Every format with its name.
    pub const ALL: [(&'static str, Self); 4] = [
        ("triplet", Self::Triplet),
        ("n-tuple", Self::NTuple),
        ("labeled-pair", Self::LabeledPair),
        ("labeled-list", Self::LabeledList),
    ];
}

/// Hands every row to `each`; gives the number of pairs that were left out because they are short.
pub fn rows<E>(
    format: Format,
    texts: &MiningTexts<'_>,
    mined: &MinedNegatives,
    per_pair: usize,
    scores: bool,
    mut each: impl FnMut(Value) -> Result<(), E>,
) -> Result<u64, E> {
    let mut left_out = 0;
    for (query, of_query) in by_query(texts).into_iter().enumerate() {
        let anchor = texts.queries()[query];
        if format == Format::LabeledPair {
            labeled_pairs(anchor, texts, mined, &of_query, scores, &mut each)?;
            continue;
        }
        for pair in of_query {
            let positive = texts.documents()[texts.positive_of(pair) as usize];
            let negatives: Vec<&str> = mined.negatives(texts, pair).collect();
            let of_pair = &mined.pairs[pair];
            let scored = || -> Vec<Value> { of_pair.scores() };
            let mut row = Map::new();
            row.insert("anchor".into(), anchor.into());
            row.insert("positive".into(), positive.into());
            match format {
                Format::Triplet => {
                    for (negative, score) in negatives.iter().zip(scored().split_off(1)) {
                        let mut row = row.clone();
                        row.insert("negative".into(), (*negative).into());
                        if scores {
                            row.insert("scores".into(), json!([number(of_pair.positive_score), score]));
                        }
                        each(row.into())?;
                    }
                    left_out += u64::from(negatives.is_empty());
                }
                Format::NTuple => {
                    if negatives.len() < per_pair {
                        left_out += 1;
                        continue;
                    }
                    for (at, negative) in negatives.iter().enumerate() {
                        row.insert(format!("negative_{}", at + 1), (*negative).into());
                    }
                    if scores {
                        row.insert("scores".into(), scored().into());
                    }
                    each(row.into())?;
                }
                _ => {
                    if negatives.is_empty() {
                        left_out += 1;
                        continue;
                    }
                    let documents: Vec<&str> = std::iter::once(positive).chain(negatives).collect();
                    let labels: Vec<u8> = (0..documents.len()).map(|at| u8::from(at == 0)).collect();
                    row.insert("positive".into(), documents.into());
                    match scores {
                        true => row.insert("scores".into(), scored().into()),
                        false => row.insert("labels".into(), labels.into()),
                    };
                    each(row.into())?;
                }
            }
        }
    }
    Ok(left_out)
}

/// A query's positives, then the negatives of its pairs, each once.
fn labeled_pairs<E>(
    anchor: &str,
    texts: &MiningTexts<'_>,
    mined: &MinedNegatives,
    pairs: &[usize],
    scores: bool,
    each: &mut impl FnMut(Value) -> Result<(), E>,
) -> Result<(), E> {
    let mut row = |document: u32, label: u8, score: Option<f32>| {
        let text = texts.documents()[document as usize];
        each(match scores {
            true => json!({"anchor": anchor, "positive": text, "score": score.map(number)}),
            false => json!({"anchor": anchor, "positive": text, "label": label}),
        })
    };
    for pair in pairs {
        row(texts.positive_of(*pair), 1, Some(mined.pairs[*pair].positive_score))?;
    }
    let mut seen = Vec::new();
    for negative in pairs.iter().flat_map(|pair| &mined.pairs[*pair].negatives) {
        if !seen.contains(&negative.document) {
            seen.push(negative.document);
            row(negative.document, 0, negative.score)?;
        }
    }
    Ok(())
}

/// Finds, for each query, the first pair of each of its positives, in the positives' order.
fn by_query(texts: &MiningTexts<'_>) -> Vec<Vec<usize>> {
    let mut found = vec![Vec::new(); texts.queries().len()];
    for pair in 0..texts.pairs().len() {
        let of_query: &mut Vec<usize> = &mut found[texts.query_of(pair)];
        if of_query.iter().all(|before| texts.positive_of(*before) != texts.positive_of(pair)) {
            of_query.push(pair);
        }
    }
    found
}

impl MinedPair {
    /// The positive's score, then the negatives'.
    fn scores(&self) -> Vec<Value> {
        let negatives = self.negatives.iter().map(|negative| negative.score.map_or(Value::Null, number));
        std::iter::once(number(self.positive_score)).chain(negatives).collect()
    }
}

/// A score with its own digits and no more.
fn number(score: f32) -> Value {
    // The shortest digits that give the same 32 bits; widened, they would be others.
    score.to_string().parse::<f64>().map_or(Value::Null, Value::from)
}
