//! The examples that each retriever finds for the questions, those of a question's own database taken out.

use std::{collections::HashMap, path::Path};

use ndarray::Array2;
use wb_bench::{BenchContestant, contestant::Chosen, texts::BenchmarkTexts};
use wb_core::{Encoder, Hit, Interaction, Progress, Ranking, Seed, Side};
use wb_retrieval::{inner_product::inner_products, top_k::top_k};
use wb_sql::exact::{component_f1, parts};

use super::{index::Index, inputs::RagInputs};
use crate::{
    Error, RagConfig, Result,
    config::{EncoderArm, RetrieverChoice},
    examples::{Guarded, guard},
    predict::Predictor,
};

/// Examples that were found.
pub struct Retrieved {
    /// One a question, best first, no more than are wanted.
    pub rankings: Vec<Ranking>,
    /// Account of what the guard took out.
    pub guarded: Guarded,
    /// Description of all that decides the rankings.
    pub by: String,
    /// Sentences on how it was done.
    pub notes: Vec<String>,
}

/// An encoder that was opened for an arm.
#[derive(Clone, Copy)]
pub struct OpenEncoder<'a> {
    /// The encoder.
    pub encoder: &'a dyn Encoder,
    /// The id of the run whose encoder it is, if it is one's.
    pub run: Option<&'a str>,
}

/// A retriever with what it searches.
pub(super) struct Retrieval<'a> {
    pub retriever: &'a RetrieverChoice,
    pub config: &'a RagConfig,
    pub inputs: &'a RagInputs,
    /// The examples' queries, read.
    pub predictor: &'a Predictor<'a>,
    /// The encoder, for a retriever that embeds.
    pub encoder: Option<OpenEncoder<'a>>,
    /// The folder in which indexes are kept.
    pub out: &'a Path,
    /// Draws random examples.
    pub seed: Seed,
}

impl Retrieval<'_> {
    /// Ranks the examples for all questions.
    pub fn retrieve(&self, progress: &mut dyn FnMut(Progress)) -> Result<Retrieved> {
        let Self { config, inputs, predictor, seed, .. } = *self;
        let depth = depth(config, inputs);
        let mut notes = Vec::new();
        let (mut rankings, by) = match self.retriever {
            RetrieverChoice::Random {} => (random(inputs, seed, depth), format!("random, seed {}", seed.0)),
            RetrieverChoice::Oracle {} => (oracle(inputs, predictor, depth), "the gold query's form".to_owned()),
            RetrieverChoice::Bm25(arm) => {
                let texts = self.texts()?;
                let contestant = BenchContestant::Bm25(arm.bm25);
                let by = format!("bm25 {}", contestant.fingerprint());
                (scored(&contestant, inputs, &texts, depth, progress)?, by)
            }
            RetrieverChoice::Encoder(arm) => self.encoded(arm, depth, &mut notes, progress)?,
        };
        let guarded = if config.own_database {
            let mut guarded = Guarded::default();
            for ranking in &mut rankings {
                ranking.hits.truncate(config.top_k);
                guarded.short += usize::from(ranking.hits.len() < config.top_k);
            }
            guarded
        } else {
            let own: Vec<&str> = inputs.asked.iter().map(|one| one.db_id.as_str()).collect();
            guard(&mut rankings, &inputs.examples, &own, config.top_k)
        };
        Ok(Retrieved { rankings, guarded, by, notes })
    }

    /// Text of each example that is searched.
    fn texts(&self) -> Result<Vec<String>> {
        let format = self.retriever.documents().unwrap_or(self.config.documents);
        self.inputs.examples.iter().map(|example| format.document(example, &self.inputs.catalogs)).collect()
    }

    /// Ranks by vectors, or by one vector a token.
    fn encoded(
        &self,
        arm: &EncoderArm,
        depth: usize,
        notes: &mut Vec<String>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Vec<Ranking>, String)> {
        let Self { retriever, inputs, out, .. } = *self;
        let Some(OpenEncoder { encoder, run }) = self.encoder else {
            let key = format!("rag.retrievers: {}", retriever.name());
            return Err(Error::value(key, "an encoder that was not opened"));
        };
        let of = encoder.fingerprint();
        let of_run = run.map(|run| format!(" of run {run}")).unwrap_or_default();
        let by = format!("encoder {of}{of_run}");
        let texts = self.texts()?;
        if encoder.interaction() == Interaction::MaxSim {
            if let Some(index) = &arm.index {
                let (name, index) = (retriever.name(), index.display());
                notes.push(format!("{name}: one vector a token, which {index} cannot hold: the examples are embedded"));
            }
            return Ok((scored(&BenchContestant::Encoder(encoder), inputs, &texts, depth, progress)?, by));
        }
        let index = match &arm.index {
            Some(folder) => Index::read(folder, &inputs.examples, &texts, encoder.dim())?,
            None => {
                let folder = out.join(format!("index-{}", retriever.name()));
                let embed = |texts: &[&str], progress: &mut dyn FnMut(Progress)| {
                    vectors(encoder, texts, Side::Document, progress)
                };
                let index = Index::kept(&folder, &inputs.examples, &texts, &of, &embed, progress)?;
                if index.is_taken {
                    notes.push(format!("{}: its vectors are taken", folder.display()));
                }
                index
            }
        };
        let questions: Vec<&str> = inputs.asked.iter().map(|one| one.question.as_str()).collect();
        let questions = vectors(encoder, &questions, Side::Query, progress)?;
        let scores = inner_products(questions.view(), index.vectors.view());
        let one = |query: usize| Ranking { query, hits: top_k(&scores.row(query).to_vec(), depth) };
        Ok(((0..inputs.asked.len()).map(one).collect(), by))
    }
}

/// Depth at which enough is left when a question's own database is taken out.
fn depth(config: &RagConfig, inputs: &RagInputs) -> usize {
    let mut of: HashMap<&str, usize> = HashMap::new();
    for example in &inputs.examples {
        *of.entry(&example.db_id).or_default() += 1;
    }
    let own = inputs.asked.iter().filter_map(|one| of.get(one.db_id.as_str())).max().copied().unwrap_or(0);
    config.top_k + if config.own_database { 0 } else { own }
}

/// Examples with a question, in an order that is drawn for each question.
fn random(inputs: &RagInputs, seed: Seed, depth: usize) -> Vec<Ranking> {
    let with: Vec<usize> = (0..inputs.examples.len()).filter(|&at| inputs.examples[at].question.is_some()).collect();
    let one = |query: usize| {
        let order = seed.permutation_at("random example", inputs.places[query] as u64, with.len());
        let hits = order.into_iter().take(depth).map(|at| Hit { document: with[at], score: 1.0 }).collect();
        Ranking { query, hits }
    };
    (0..inputs.asked.len()).map(one).collect()
}

/// Ranks by the F1 of an example's components with the gold query's.
fn oracle(inputs: &RagInputs, predictor: &Predictor<'_>, depth: usize) -> Vec<Ranking> {
    let all: Vec<_> = (0..inputs.examples.len()).map(|at| predictor.query(at).map(parts)).collect();
    let one = |query: usize| {
        let Some(gold) = inputs.gold[query].as_ref().map(parts) else { return Ranking { query, hits: Vec::new() } };
        let score = |parts: &Option<_>| parts.as_ref().map_or(0.0, |parts| component_f1(&gold, parts));
        #[expect(clippy::cast_possible_truncation, reason = "a score")]
        let scores: Vec<f32> = all.iter().map(|parts| score(parts) as f32).collect();
        Ranking { query, hits: top_k(&scores, depth) }
    };
    (0..inputs.asked.len()).map(one).collect()
}

/// Ranks by any contestant of the benchmarks.
fn scored(
    contestant: &BenchContestant<'_>,
    inputs: &RagInputs,
    examples: &[String],
    depth: usize,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Ranking>> {
    let mut texts = BenchmarkTexts::default();
    let queries: Vec<u32> = inputs.asked.iter().map(|one| texts.queries.number(&one.question)).collect();
    let documents: Vec<u32> = examples.iter().map(|text| texts.documents.number(text)).collect();
    let scorer = contestant.prepare(&texts, progress)?;
    let floor = scorer.floor().unwrap_or(f32::NEG_INFINITY);
    let found = |query: usize, scores: &[f32]| {
        let hits = top_k(scores, depth).into_iter().filter(|hit| hit.score > floor).collect();
        Ranking { query, hits }
    };
    let [queries, documents] =
        [(Side::Query, &queries), (Side::Document, &documents)].map(|(side, numbers)| Chosen { side, numbers });
    scorer.scores(queries, documents, found)
}

/// Vectors of length 1, so that their inner product is the cosine.
fn vectors(
    encoder: &dyn Encoder,
    texts: &[&str],
    side: Side,
    progress: &mut dyn FnMut(Progress),
) -> Result<Array2<f32>> {
    let embedded = encoder.encode(texts, side, progress);
    let embedded =
        embedded.map_err(|source| Error::failed(format!("encoder {} failed", encoder.name())).with_cause(source))?;
    Ok(embedded.normalized().into_inner())
}
