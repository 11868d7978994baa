//! The `negatives:` section: what ranks documents, which of them may be hard negatives, and which of those are taken.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{EncoderRef, Error, Result};

use super::{ByteSize, RescoreConfig};

/// Mining of hard negatives. What is null is decided by the mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MiningConfig {
    /// Set of rules: `nv_retriever`, `sentence_transformers`, `flag_embedding`, `naive`. The other keys change single
    /// values of it; what is `null` is the mode's.
    pub mode: Mode,
    /// Negatives for each pair. `train.negatives` says how many of them training uses. `null` for the mode's.
    pub per_pair: Option<usize>,
    /// `[from, to]`: places that are looked at, the first is 0 and `to` is not among them. A `to` of `null` is chosen
    /// so that there should be enough. More places cost memory, not much time. `null` for the mode's.
    pub ranks: Option<(usize, Option<usize>)>,
    /// A document with a lower score is too easy.
    pub min_score: Option<f64>,
    /// A document with a higher score may be an answer.
    pub max_score: Option<f64>,
    /// A negative's score plus this is at most the positive's.
    pub absolute_margin: Option<f64>,
    /// A negative's score is at most the positive's less this share of its magnitude: positive − |positive| · margin,
    /// right for scores below zero too. Of several positives the one with the least score counts. `null` for the
    /// mode's.
    pub relative_margin: Option<f64>,
    /// Choice among the documents that are left: `top`, `random`, or `{ softmax: { temperature: 0.05 } }`, where a
    /// document's weight is exp(score / `temperature`). A pair's draw depends on the seed and the pair's id alone.
    /// `null` for the mode's.
    pub sampling: Option<Sampling>,
    /// Fills a pair that is short with any documents, drawn at random. `null` for the mode's.
    pub fill: Option<bool>,
    /// A document whose Jaccard similarity with a positive reaches this (five-token shingles) is a copy of it; `0` for
    /// off, else 0.3 to 1.
    pub near_duplicates: f64,
    /// Positives stay where they are ranked: rankings for a reranker, only with `wb mine-negatives --format n-tuple`.
    pub include_positives: bool,
    /// Retriever that ranks: `encoder` (cosine; with late interaction MaxSim over the number of the query's tokens,
    /// every query with every document, which takes a thousand times the products) or `bm25` (the words of
    /// `bench.bm25`; a document that shares no word is no candidate).
    pub retriever: MiningRetriever,
    /// An encoder by its name: a folder, a run, or `owner/name` of the hub. `null` for the experiment's own, which must
    /// be `pretrained`.
    pub encoder: Option<EncoderRef>,
    /// More documents: a file in the layout of BEIR's `corpus.jsonl` (`_id`, `text`, perhaps `title`).
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub corpus: Option<PathBuf>,
    /// Vectors that another program made, instead of an encoder.
    pub vectors: Option<VectorsConfig>,
    /// A `negatives.parquet` of `wb mine-negatives` or `wb shards merge`, mined of these very pairs (and of this
    /// `corpus`): nothing is ranked, and training takes these.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub mined: Option<PathBuf>,
    /// Scores of a stronger model in place of the retriever's, for all candidates and all positives: `{ file: PATH }`
    /// or `{ cross_encoder: { model: NAME } }`. Every rule and margin is then one of these scores, and they put the
    /// candidates into a new order.
    pub rescore: Option<RescoreConfig>,
    /// Negatives on which it is estimated how many are answers after all, one a pair; `0` for off.
    pub sample: usize,
    /// Memory for texts, vectors and candidates while searching: vectors are read in blocks from the disk, and the
    /// result does not depend on it. An encoder's weights, BM25's index and a cross-encoder's scores (50 bytes each)
    /// come on top.
    pub ram: ByteSize,
}

/// Vectors in files, and whose they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VectorsConfig {
    /// `.npy` or `.safetensors` of 32-bit floats: one row for each anchor. Cosines are taken, so lengths do not
    /// matter.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub queries: PathBuf,
    /// Ids of pairs, one a line, in the order of the rows.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub query_ids: PathBuf,
    /// One row for each document, in the same formats.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub documents: PathBuf,
    /// Ids of pairs, for their positives, and of documents of the corpus, one a line.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub document_ids: PathBuf,
}

/// Set of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// TopK-PercPos of NV-Retriever (arXiv 2407.15831): the 4 best documents with at most 95 % of the positive's score,
    /// a relative margin of .05, of as many places as are needed.
    #[default]
    NvRetriever,
    /// The defaults of sentence-transformers' `mine_hard_negatives`: the 3 best documents that the other rules leave,
    /// of as many places as are needed, without a margin.
    SentenceTransformers,
    /// FlagEmbedding's `hn_mine`: 15 at random of places 10 to 210 of the whole ranking, filled up with any documents,
    /// without a margin.
    FlagEmbedding,
    /// The 15 best of the first 100 places of the whole ranking that are not the positive. For comparison: nothing is
    /// filtered, and nothing may be.
    Naive,
}

/// Choice among the documents that are left.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Sampling {
    /// The best.
    #[default]
    Top,
    /// Any, each as likely as another.
    Random,
    /// A document's weight is exp(score / temperature), without replacement.
    Softmax(Softmax),
}

/// Steepness of the weights.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Softmax {
    /// Scores are divided by this: near 0 the best are drawn, far above the scores any.
    pub temperature: f64,
}

impl Default for Softmax {
    fn default() -> Self {
        Self { temperature: 0.05 }
    }
}

/// Retriever that ranks the documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MiningRetriever {
    /// Cosines of vectors.
    #[default]
    Encoder,
    /// Words.
    Bm25,
}

impl Default for MiningConfig {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            per_pair: None,
            ranks: None,
            min_score: None,
            max_score: None,
            absolute_margin: None,
            relative_margin: None,
            sampling: None,
            fill: None,
            near_duplicates: 0.0,
            include_positives: false,
            retriever: MiningRetriever::default(),
            encoder: None,
            corpus: None,
            vectors: None,
            mined: None,
            rescore: None,
            sample: 1000,
            ram: ByteSize(2_000_000_000),
        }
    }
}

/// Rules that a config comes to, with the mode's values where none are given.
#[derive(Debug, Clone, PartialEq)]
pub struct MiningRules {
    /// Negatives for each pair.
    pub per_pair: usize,
    /// The first place that is looked at, from 0.
    pub from: usize,
    /// The first place that is not; none for the automatic one.
    pub to: Option<usize>,
    /// Least number of places that are looked at, where their end is automatic.
    pub fewest: usize,
    /// Counts places in the whole ranking, positives and all, and not in what the other rules leave.
    pub whole_ranking: bool,
    /// Least score.
    pub min_score: Option<f32>,
    /// Greatest score.
    pub max_score: Option<f32>,
    /// Least distance from the positive's score.
    pub absolute_margin: Option<f32>,
    /// Least distance from the positive's score as a share of its magnitude.
    pub relative_margin: Option<f32>,
    /// Choice among those that are left.
    pub sampling: Sampling,
    /// Fills up with random documents what is short.
    pub fill: bool,
    /// A document with this Jaccard similarity to a positive is its copy; 0 for off.
    pub near_duplicates: f64,
    /// Keeps positives among the candidates.
    pub include_positives: bool,
}

impl MiningConfig {
    /// Refuses values that make no sense; `key` is the config path of this section.
    pub fn validate(&self, key: &str) -> Result<()> {
        let refuse = |of: &str, message: String| Err(Error::value(format!("{key}.{of}"), message));
        let filters = [
            ("min_score", self.min_score),
            ("max_score", self.max_score),
            ("absolute_margin", self.absolute_margin),
            ("relative_margin", self.relative_margin),
        ];
        for (of, value) in filters {
            let Some(value) = value else { continue };
            if self.mode == Mode::Naive {
                let message = format!("got {value}, but the mode `naive` filters nothing: it is there for comparison");
                return Err(Error::value(format!("{key}.{of}"), message).with_hint(format!(
                    "{key}.mode=sentence_transformers takes the best documents too, with any filter"
                )));
            }
            if !value.is_finite() || (of.ends_with("margin") && value < 0.0) {
                let least = if of.ends_with("margin") { "a number from 0" } else { "a number" };
                return refuse(of, format!("got {value}, expected {least}"));
            }
        }
        if let (Some(min), Some(max)) = (self.min_score, self.max_score)
            && min > max
        {
            return refuse("min_score", format!("got {min}, above max_score {max}: no score lies between them"));
        }
        let rules = self.rules();
        if rules.per_pair == 0 {
            return refuse("per_pair", "got 0, expected at least 1".into());
        }
        if let Some(to) = rules.to {
            let from = rules.from;
            if from >= to {
                return Err(Error::value(
                    format!("{key}.ranks"),
                    format!("got [{from}, {to}], expected the lower first"),
                )
                .with_hint(format!("{key}.ranks='[{to}, {from}]'")));
            }
            if rules.per_pair > to - from {
                let places = to - from;
                return refuse(
                    "ranks",
                    format!("[{from}, {to}] has {places} places, too few for {} negatives a pair", rules.per_pair),
                );
            }
        }
        if let Sampling::Softmax(Softmax { temperature }) = rules.sampling
            && !(temperature.is_finite() && temperature > 0.0)
        {
            return refuse("sampling.softmax.temperature", format!("got {temperature}, expected a number above 0"));
        }
        if self.near_duplicates != 0.0 && !(0.3..=1.0).contains(&self.near_duplicates) {
            let message =
                format!("got {}, expected 0 (off) or a Jaccard similarity between 0.3 and 1", self.near_duplicates);
            return refuse("near_duplicates", message);
        }
        if self.retriever == MiningRetriever::Bm25 && self.vectors.is_some() {
            return refuse("vectors", "BM25 ranks words and takes no vectors".into());
        }
        if self.encoder.is_some() && self.vectors.is_some() {
            return refuse("vectors", "stand beside `encoder`, expected one of the two".into());
        }
        for (other, is_given) in [
            ("encoder", self.encoder.is_some()),
            ("vectors", self.vectors.is_some()),
            ("rescore", self.rescore.is_some()),
        ] {
            if self.mined.is_some() && is_given {
                return refuse("mined", format!("stands beside `{other}`, but what was mined is ranked no more"));
            }
        }
        if let Some(rescore) = &self.rescore {
            rescore.validate(&format!("{key}.rescore"))?;
        }
        if self.ram < SMALLEST_RAM {
            return refuse("ram", format!("got {}, expected at least {SMALLEST_RAM}", self.ram));
        }
        Ok(())
    }

    /// True where documents are ranked by the encoder that the experiment begins with.
    pub fn ranks_by_own_encoder(&self) -> bool {
        self.retriever == MiningRetriever::Encoder && self.encoder.is_none() && self.vectors.is_none()
    }

    /// The mode's values, and those that are given in their place.
    pub fn rules(&self) -> MiningRules {
        let (per_pair, ranks, whole_ranking, margin, sampling, fill) = match self.mode {
            Mode::NvRetriever => (4, (0, None), false, Some(0.05), Sampling::Top, false),
            Mode::SentenceTransformers => (3, (0, None), false, None, Sampling::Top, false),
            Mode::FlagEmbedding => (15, (10, Some(210)), true, None, Sampling::Random, true),
            Mode::Naive => (15, (0, Some(100)), true, None, Sampling::Top, false),
        };
        let (from, to) = self.ranks.unwrap_or(ranks);
        MiningRules {
            per_pair: self.per_pair.unwrap_or(per_pair),
            from,
            to,
            fewest: if self.mode == Mode::NvRetriever { 100 } else { 0 },
            whole_ranking,
            min_score: self.min_score.map(|score| score as f32),
            max_score: self.max_score.map(|score| score as f32),
            absolute_margin: self.absolute_margin.map(|margin| margin as f32),
            relative_margin: self.relative_margin.or(margin).map(|margin| margin as f32),
            sampling: self.sampling.unwrap_or(sampling),
            fill: self.fill.unwrap_or(fill),
            near_duplicates: self.near_duplicates,
            include_positives: self.include_positives,
        }
    }
}

/// Less than this holds no useful block.
const SMALLEST_RAM: ByteSize = ByteSize(16_000_000);

impl MiningRules {
    /// The first place that is not looked at, and how many documents are asked for. `most_pairs` is the greatest number
    /// of pairs with one anchor, `most_never` the greatest number of documents that no query's negatives may be.
    ///
    /// The automatic end is sentence-transformers': `from + n + most_pairs`, or `from + 10 n + most_pairs` where a rule
    /// may throw documents away; `nv_retriever` looks at 100 places at least. `most_pairs` more documents are asked
    /// for, because positives are among them.
    pub fn depth(&self, most_pairs: usize, most_never: usize, rescored: bool) -> (usize, usize) {
        let throws = self.absolute_margin.is_some()
            || self.relative_margin.is_some()
            || self.max_score.is_some()
            || self.near_duplicates > 0.0
            || (rescored && self.min_score.is_some());
        let wanted = if throws { 10 * self.per_pair } else { self.per_pair };
        let to = self.to.unwrap_or(self.from + (wanted + most_pairs).max(self.fewest));
        let spare = if self.whole_ranking { 0 } else { most_pairs.max(most_never) };
        (to, to.saturating_add(spare))
    }

    /// The rules in words, for tables: name and value.
    pub fn described(&self) -> Vec<(String, String)> {
        let mut told = vec![("negatives a pair".to_owned(), self.per_pair.to_string())];
        let to = match (self.to, self.fewest) {
            (Some(to), _) => to.to_string(),
            (None, 0) => "as many as needed".to_owned(),
            (None, fewest) => format!("{} or more", self.from + fewest),
        };
        let of = if self.whole_ranking { "the whole ranking" } else { "what the other rules leave" };
        told.push(("places".to_owned(), format!("{} to {to} of {of}", self.from)));
        let values = [
            ("absolute margin", self.absolute_margin),
            ("relative margin", self.relative_margin),
            ("least score", self.min_score),
            ("greatest score", self.max_score),
        ];
        told.extend(values.iter().filter_map(|(name, value)| Some(((*name).to_owned(), value.as_ref()?.to_string()))));
        let sampling = match self.sampling {
            Sampling::Top => "the best".to_owned(),
            Sampling::Random => "random".to_owned(),
            Sampling::Softmax(Softmax { temperature }) => format!("softmax at temperature {temperature}"),
        };
        told.push(("drawn".to_owned(), sampling));
        if self.near_duplicates > 0.0 {
            told.push(("copies left out from a similarity of".to_owned(), self.near_duplicates.to_string()));
        }
        for (name, on) in [("filled at random", self.fill), ("positives stay", self.include_positives)] {
            if on {
                told.push((name.to_owned(), "yes".to_owned()));
            }
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(config: MiningConfig) -> String {
        config.validate("negatives").unwrap_err().to_string()
    }

    #[test]
    fn impossible_values_are_refused_with_what_was_expected() {
        let d = MiningConfig::default;
        assert!(d().validate("negatives").is_ok());
        let rows = [
            (MiningConfig { per_pair: Some(0), ..d() }, "negatives.per_pair: got 0, expected at least 1"),
            (
                MiningConfig { ranks: Some((9, Some(3))), ..d() },
                "negatives.ranks: got [9, 3], expected the lower first",
            ),
            (
                MiningConfig { ranks: Some((2, Some(4))), per_pair: Some(3), ..d() },
                "negatives.ranks: [2, 4] has 2 places, too few for 3 negatives a pair",
            ),
            (
                MiningConfig { mode: Mode::Naive, relative_margin: Some(0.05), ..d() },
                "negatives.relative_margin: got 0.05, but the mode `naive` filters nothing: it is there for comparison",
            ),
            (
                MiningConfig { absolute_margin: Some(-0.1), ..d() },
                "negatives.absolute_margin: got -0.1, expected a number from 0",
            ),
            (MiningConfig { min_score: Some(f64::NAN), ..d() }, "negatives.min_score: got NaN, expected a number"),
            (
                MiningConfig { min_score: Some(0.5), max_score: Some(0.4), ..d() },
                "negatives.min_score: got 0.5, above max_score 0.4: no score lies between them",
            ),
            (
                MiningConfig { sampling: Some(Sampling::Softmax(Softmax { temperature: 0.0 })), ..d() },
                "negatives.sampling.softmax.temperature: got 0, expected a number above 0",
            ),
            (
                MiningConfig { near_duplicates: 0.1, ..d() },
                "negatives.near_duplicates: got 0.1, expected 0 (off) or a Jaccard similarity between 0.3 and 1",
            ),
            (
                MiningConfig {
                    rescore: Some(RescoreConfig::CrossEncoder(crate::mining::CrossEncoderConfig::default())),
                    ..d()
                },
                "negatives.rescore.cross_encoder.model: is empty, expected an encoder: a folder, a run, or `owner/name` of the hub",
            ),
            (MiningConfig { ram: ByteSize(1_000_000), ..d() }, "negatives.ram: got 1MB, expected at least 16MB"),
        ];
        for (config, message) in rows {
            assert_eq!(refused(config), message);
        }
        // What would be too few is fine where the end is automatic.
        assert!(MiningConfig { ranks: Some((9, None)), per_pair: Some(30), ..d() }.validate("negatives").is_ok());
    }

    #[test]
    fn modes_are_the_values_of_their_papers_and_programs() {
        let of = |mode| MiningConfig { mode, ..MiningConfig::default() }.rules();
        let nv = of(Mode::NvRetriever);
        assert_eq!((nv.relative_margin, nv.sampling, nv.whole_ranking), (Some(0.05), Sampling::Top, false));
        assert_eq!((nv.depth(1, 1, false), nv.depth(2, 3, false)), ((100, 101), (100, 103)));
        let many = MiningConfig { per_pair: Some(15), ..MiningConfig::default() }.rules();
        assert_eq!(many.depth(1, 1, false), (151, 152));
        let st = of(Mode::SentenceTransformers);
        assert_eq!((st.per_pair, st.depth(2, 1, false)), (3, (5, 7)));
        let flag = of(Mode::FlagEmbedding);
        assert_eq!((flag.per_pair, flag.from, flag.to, flag.fill), (15, 10, Some(210), true));
        assert_eq!((flag.sampling, flag.depth(7, 9, false)), (Sampling::Random, (210, 210)));
        let naive = of(Mode::Naive);
        assert_eq!((naive.per_pair, naive.depth(3, 3, false), naive.relative_margin), (15, (100, 100), None));
        let own = MiningConfig { per_pair: Some(7), relative_margin: Some(0.1), ..MiningConfig::default() }.rules();
        assert_eq!((own.per_pair, own.relative_margin), (7, Some(0.1)));
    }
}
