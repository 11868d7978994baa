//! MRR and loss of a cross-encoder on held-out pairs, of which each anchor ranks a few documents.

use super::validate::{TEXTS, Validation, ValidationScores, batches};
use crate::{backbone::Backbone, cross_encoder::PairReading, error::Result, losses::LossOnEmbeddings};

/// Documents that each anchor ranks: its positive, its hard negatives, and positives of other pairs up to this number.
/// All of them would be the square of the pairs to read.
pub const VALIDATION_CANDIDATES: usize = 20;

impl Validation {
    /// Measures a cross-encoder. Each anchor ranks [`VALIDATION_CANDIDATES`] documents, the last of them positives that follow its
    /// own among the held-out pairs, which the seed drew: the same at every validation. Ties count against it, and equal
    /// texts do not compete. `go_on` is told how many texts are read.
    pub(super) fn measure_pairs(
        &self,
        backbone: &dyn Backbone,
        (reading, max_tokens): (&PairReading, usize),
        loss: &LossOnEmbeddings,
        go_on: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Option<ValidationScores>> {
        let mut ranks = Vec::with_capacity(self.len());
        let mut own = Vec::with_capacity(self.len());
        let lists: Vec<Candidates<'_>> = (0..self.len()).map(|pair| self.candidates(pair)).collect();
        let pairs: Vec<(usize, &[u32])> = lists
            .iter()
            .enumerate()
            .flat_map(|(pair, list)| list.documents.iter().map(move |one| (pair, *one)))
            .collect();
        let mut numbers = Vec::with_capacity(pairs.len());
        for some in pairs.chunks(TEXTS) {
            let read: Vec<_> =
                some.iter().map(|(pair, document)| reading.join(&self.anchors[*pair], document, max_tokens)).collect();
            let states = backbone.embed(&reading.batch(&read))?;
            numbers.extend(reading.head.numbers(backbone.parameters(), states.view())?.0);
            // What is told is a share of the texts of the held-out pairs.
            if !go_on(numbers.len() * self.texts() / pairs.len()) {
                return Ok(None);
            }
        }
        let mut left = numbers.as_slice();
        for list in &lists {
            let (of_list, rest) = left.split_at(list.documents.len());
            left = rest;
            let ahead = |x: &&f32| **x >= of_list[0] || x.is_nan() || of_list[0].is_nan();
            ranks.push(1 + of_list[1..].iter().filter(ahead).count());
            own.push(&of_list[..list.own]);
        }
        let mut sum = 0.0;
        for batch in batches(self.len(), self.batch_pairs).into_iter().filter(|_| self.without_loss.is_none()) {
            let labels = self.labels(&batch)?;
            let mut taken = vec![0; batch.len()];
            let number = |owner: &u32| {
                let owner = *owner as usize;
                taken[owner] += 1;
                own[batch.start + owner][taken[owner] - 1]
            };
            let numbers: Vec<f32> = labels.owners().iter().map(number).collect();
            sum += loss.of_numbers(&numbers, &labels)?.0 * batch.len() as f64;
        }
        Ok(Some(self.measured(&ranks, sum)))
    }

    /// The documents that an anchor ranks: its positive, its hard negatives, others' positives.
    fn candidates(&self, pair: usize) -> Candidates<'_> {
        let hard = self.negative_starts[pair]..self.negative_starts[pair + 1];
        let mut documents: Vec<&[u32]> = vec![&self.positives[pair]];
        documents.extend(self.negatives[hard].iter().map(Vec::as_slice));
        let own = documents.len();
        let following = (1..self.len()).map(|step| (pair + step) % self.len());
        let others = following.filter(|other| self.document_texts[*other][0] != self.document_texts[pair][0]);
        let room = VALIDATION_CANDIDATES.saturating_sub(own);
        documents.extend(others.take(room).map(|other| self.positives[other].as_slice()));
        Candidates { documents, own }
    }
}

/// Documents that an anchor ranks.
struct Candidates<'a> {
    /// Token ids, the positive first.
    documents: Vec<&'a [u32]>,
    /// The first so many are the pair's own.
    own: usize,
}
