//! Coming batches are tokenized off the training thread, a few ahead, and handed over in order.

use std::{
    sync::mpsc::{Receiver, sync_channel},
    thread,
};

use wb_core::Side;

use super::{
    curriculum::TrainStage,
    guide_cache::CachedGuide,
    table::PairTable,
    token_cache::{TokenCache, Tokenize, TokenizeRequest},
    views::Views,
};
use crate::{
    batch::TokenBatch,
    error::{Result, training_stopped},
    losses::{GuideEmbeddings, Labels},
};

/// Batches that each tokenizing thread may be ahead.
const AHEAD: usize = 2;

/// A batch ready for the model.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainBatch {
    /// Positions of its pairs.
    pub pairs: Vec<u32>,
    /// The anchors, then the documents by column.
    pub tokens: TokenBatch,
    /// Labels of these texts for the loss.
    pub labels: Labels,
}

/// Makes batches out of pairs.
pub struct BatchMaker<'a> {
    /// The pairs' texts.
    pub table: &'a PairTable<'a>,
    /// Text to token ids.
    pub tokenize: &'a Tokenize<'a>,
    /// Token ids of texts met before.
    pub cache: &'a TokenCache,
    /// Tokenization of the texts.
    pub views: &'a Views,
    /// The stages, which say how many hard negatives count.
    pub stages: &'a [TrainStage],
    /// Embeds texts for the loss.
    pub guide: Option<&'a CachedGuide<'a>>,
}

/// A batch to make: its stage and its pairs.
pub type PlannedBatch<'a> = (usize, &'a [u32]);

impl BatchMaker<'_> {
    /// One batch.
    pub fn make(&self, (stage, pairs): PlannedBatch<'_>) -> Result<TrainBatch> {
        let labels = self.table.labels(pairs, self.stages[stage].negatives);
        let mut ids = Vec::new();
        let mut ends = vec![0];
        let anchors = pairs.iter().zip(labels.anchors()).map(|(pair, text)| (Side::Query, *pair, *text));
        let documents = labels.owners().iter().zip(labels.documents());
        let documents = documents.map(|(owner, text)| (Side::Document, pairs[*owner as usize], *text));
        for (side, pair, text) in anchors.chain(documents) {
            let view = self.views.number(stage, self.table.dataset(pair), side);
            self.cache.append(text, view, &mut ids, || self.tokenize(text, view))?;
            ends.push(ids.len());
        }
        let tokens = TokenBatch::new(ends.windows(2).map(|ends| &ids[ends[0]..ends[1]]));
        Ok(TrainBatch { pairs: pairs.to_vec(), tokens, labels: self.guided(labels)? })
    }

    fn guided(&self, labels: Labels) -> Result<Labels> {
        let Some(guide) = self.guide else { return Ok(labels) };
        let text = |number: u32| self.table.text(number);
        let anchors = guide.embed(Side::Query, labels.anchors(), &text)?;
        let documents = guide.embed(Side::Document, labels.documents(), &text)?;
        labels.with_guide(GuideEmbeddings { anchors, documents })
    }

    fn tokenize(&self, text: u32, view: u32) -> Result<Vec<u32>> {
        let (text, view) = (self.table.text(text)?, self.views.view(view));
        let prompt = view.prompt.as_deref();
        (self.tokenize)(TokenizeRequest { text: &text, side: view.side, prompt, max_tokens: view.max_tokens })
    }
}

/// Batches in the planned order, whatever thread makes them.
pub struct Batches {
    lanes: Vec<Receiver<Result<TrainBatch>>>,
    next: usize,
}

impl Batches {
    /// The next batch. After the last one, or where a tokenizing thread died, an error.
    pub fn next_batch(&mut self) -> Result<TrainBatch> {
        let lane = &self.lanes[self.next % self.lanes.len()];
        self.next += 1;
        lane.recv().unwrap_or_else(|_| {
            let message = "no further batch came from the tokenizing threads".to_owned();
            Err(training_stopped(0, &message))
        })
    }
}

/// Runs `consume` with the planned batches while `threads` threads make them ahead of it.
/// When `consume` returns, early or not, the threads end.
pub fn with_batches<R>(
    maker: &BatchMaker<'_>,
    planned: &[PlannedBatch<'_>],
    threads: usize,
    consume: impl FnOnce(Batches) -> R,
) -> R {
    let threads = threads.clamp(1, planned.len().max(1));
    thread::scope(|scope| {
        let lane = |lane: usize| {
            let (sender, receiver) = sync_channel(AHEAD);
            scope.spawn(move || {
                for pairs in planned.iter().skip(lane).step_by(threads) {
                    // An error ends the lane after it is handed over; so does a receiver that is gone.
                    let made = maker.make(*pairs);
                    let failed = made.is_err();
                    if sender.send(made).is_err() || failed {
                        return;
                    }
                }
            });
            receiver
        };
        let lanes = (0..threads).map(lane).collect();
        // `consume` owns the receivers: its end is what tells the threads to stop.
        consume(Batches { lanes, next: 0 })
    })
}

/// Number of threads that tokenize: one for each processor, at most 8. In the first epoch of a small model
/// tokenizing is most of the work; later the threads mostly wait.
pub fn default_threads() -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get).min(8)
}

#[cfg(test)]
mod tests {
    use wb_core::Pair;

    use super::*;
    use crate::train::{config::TrainConfig, curriculum};

    fn pairs() -> Vec<Pair> {
        let pair = |i: usize| Pair {
            id: i.to_string(),
            anchor: format!("a{i}"),
            positive: "p".repeat(i + 1),
            ..Pair::default()
        };
        (0..40).map(pair).collect()
    }

    fn lengths(wanted: TokenizeRequest<'_>) -> Result<Vec<u32>> {
        let text = wanted.text;
        // Long texts take longer, so that threads overtake each other.
        std::thread::sleep(std::time::Duration::from_micros(200 / text.len() as u64));
        Ok(vec![text.len() as u32; text.len().min(3)])
    }

    fn one_stage() -> (Vec<TrainStage>, Views) {
        let config = TrainConfig { negatives: 0, ..TrainConfig::default() };
        let stages = curriculum::stages(&config, &[String::new()]).unwrap();
        let views = Views::new(&stages, &[String::new()], &config.prompts);
        (stages, views)
    }

    fn maker<'a>(
        table: &'a PairTable<'a>,
        cache: &'a TokenCache,
        (stages, views): &'a (Vec<TrainStage>, Views),
    ) -> BatchMaker<'a> {
        BatchMaker { table, tokenize: &lengths, cache, views, stages, guide: None }
    }

    #[test]
    fn batches_come_in_order_with_any_number_of_threads() {
        let pairs = pairs();
        let table = PairTable::in_memory(&pairs, 0);
        let stage = one_stage();
        let planned: Vec<Vec<u32>> = (0..60u32).map(|i| vec![i % 40, (i * 7) % 40]).collect();
        let planned: Vec<PlannedBatch<'_>> = planned.iter().map(|pairs| (0, pairs.as_slice())).collect();
        let all = |threads| {
            let cache = TokenCache::new(300);
            with_batches(&maker(&table, &cache, &stage), &planned, threads, |mut batches| {
                (0..planned.len()).map(|_| batches.next_batch().unwrap()).collect::<Vec<_>>()
            })
        };
        let one = all(1);
        assert_eq!(one.iter().map(|b| (0, b.pairs.as_slice())).collect::<Vec<_>>(), planned);
        assert_eq!(one[3].tokens.len(), 4);
        assert_eq!(one, all(3));
        assert_eq!(one, all(64));
    }

    #[test]
    fn leaving_early_and_errors_do_not_hang() {
        let pairs = pairs();
        let table = PairTable::in_memory(&pairs, 0);
        let (stage, cache) = (one_stage(), TokenCache::new(0));
        let planned: Vec<Vec<u32>> = (0..40).map(|i| vec![i]).collect();
        let planned: Vec<PlannedBatch<'_>> = planned.iter().map(|pairs| (0, pairs.as_slice())).collect();
        let maker = maker(&table, &cache, &stage);
        let first = with_batches(&maker, &planned, 4, |mut batches| batches.next_batch().unwrap());
        assert_eq!(first.pairs, [0]);
        let refuse = |wanted: TokenizeRequest<'_>| {
            if wanted.text == "a5" {
                return Err(wb_core::Error::data("tokenizer", "no"));
            }
            Ok(vec![1])
        };
        let maker = BatchMaker { tokenize: &refuse, ..maker };
        let came = with_batches(&maker, &planned, 4, |mut batches| {
            (0..planned.len()).map_while(|_| batches.next_batch().ok()).count()
        });
        assert_eq!(came, 5);
    }
}
