//! Epoch after epoch of batches out of the data sets of a stage.

use wb_core::{Error, Result, Seed};

use super::{
    config::{BatchFrom, TrainConfig},
    mix::DatasetShare,
    sampler::PairTexts,
    table::PairTable,
};

/// Makes batches, one epoch at a time. Nothing depends on what was asked for before but for how far data sets have been
/// gone through, so the same calls give the same batches.
pub struct Epochs<'a> {
    table: &'a PairTable<'a>,
    texts: Vec<PairTexts>,
    config: &'a TrainConfig,
    seed: Seed,
    /// The pairs of each data set.
    members: Vec<Vec<u32>>,
    /// Number of passes begun over each data set.
    passes: Vec<u64>,
    /// The data sets at hand.
    sets: Vec<usize>,
    /// Rest of the pass over each data set: whole batches, or single pairs where batches are mixed.
    streams: Vec<Vec<Vec<u32>>>,
    /// Number of units in which each data set at hand is gone through once.
    units: Vec<usize>,
    /// Epochs begun.
    epoch: u64,
    /// Epochs done but for the one at hand.
    done: f64,
    batches: std::vec::IntoIter<Vec<u32>>,
    count: usize,
    /// Pairs of the data sets at hand that no batch holds, by epoch.
    pub left_out: Vec<usize>,
}

impl<'a> Epochs<'a> {
    /// Before the first epoch; [`Epochs::enter`] comes next.
    pub fn new(table: &'a PairTable<'a>, config: &'a TrainConfig, seed: Seed) -> Self {
        let n = table.datasets().len();
        let mut members = vec![Vec::new(); n];
        (0..table.len() as u32).for_each(|pair| members[table.dataset(pair)].push(pair));
        Self {
            table,
            texts: (0..table.len() as u32).map(|pair| [table.anchor(pair), table.document(pair)]).collect(),
            config,
            seed,
            members,
            passes: vec![0; n],
            sets: Vec::new(),
            streams: vec![Vec::new(); n],
            units: vec![0; n],
            epoch: 0,
            done: 0.0,
            batches: Vec::new().into_iter(),
            count: 0,
            left_out: Vec::new(),
        }
    }

    /// From here on batches come from these data sets. Other ones than before begin a new epoch;
    /// with the same the epoch at hand goes on.
    pub fn enter(&mut self, sets: &[usize]) {
        if self.sets == sets {
            return;
        }
        self.done = self.position();
        (self.count, self.batches) = (0, Vec::new().into_iter());
        self.streams.iter_mut().for_each(Vec::clear);
        self.sets = sets.to_vec();
    }

    /// Epochs done, with a fraction.
    pub fn position(&self) -> f64 {
        match self.count {
            0 => self.done,
            count => self.done + (count - self.batches.len()) as f64 / count as f64,
        }
    }

    /// The batches of the next step: `accumulate` of them, or fewer at the end of an epoch.
    pub fn next_step(&mut self) -> Result<Vec<Vec<u32>>> {
        if self.batches.len() == 0 {
            self.begin()?;
        }
        Ok(self.batches.by_ref().take(self.config.batch.accumulate).collect())
    }

    fn begin(&mut self) -> Result<()> {
        self.done = self.position();
        let batches = match self.config.batch.from {
            BatchFrom::OneDataset => self.apart()?,
            BatchFrom::AllDatasets => self.mixed()?,
        };
        if batches.is_empty() {
            return Err(self.no_batch(&self.sets));
        }
        self.epoch += 1;
        self.left_out.push(self.count_left_out(&batches));
        self.count = batches.len();
        self.batches = batches.into_iter();
        Ok(())
    }

    /// Each batch from one data set.
    fn apart(&mut self) -> Result<Vec<Vec<u32>>> {
        let sets = self.weighted()?;
        for set in &sets {
            if self.streams[*set].is_empty() {
                self.fill_with_batches(*set)?;
            }
        }
        let turns = self.config.mix.turns(&self.shares(&sets), self.seed, self.epoch)?;
        let mut batches = Vec::with_capacity(turns.len());
        for turn in turns {
            let set = sets[turn];
            if self.streams[set].is_empty() {
                self.fill_with_batches(set)?;
            }
            batches.extend(self.streams[set].pop());
        }
        Ok(batches)
    }

    /// Each batch from all data sets.
    fn mixed(&mut self) -> Result<Vec<Vec<u32>>> {
        let sets = self.weighted()?;
        let order: Vec<u32> = if self.config.mix == super::MixConfig::Proportional {
            let is_used = |pair: &u32| self.sets.contains(&self.table.dataset(*pair));
            let all: Vec<u32> = (0..self.table.len() as u32).filter(is_used).collect();
            self.seed.permutation_at("sampler", self.epoch, all.len()).into_iter().map(|at| all[at]).collect()
        } else {
            for set in &sets {
                self.units[*set] = self.members[*set].len();
            }
            let turns = self.config.mix.turns(&self.shares(&sets), self.seed, self.epoch)?;
            let mut order = Vec::with_capacity(turns.len());
            for turn in turns {
                let set = sets[turn];
                if self.streams[set].is_empty() {
                    // Taken from the end.
                    self.streams[set] = self.pass(set).into_iter().rev().map(|pair| vec![pair]).collect();
                }
                order.extend(self.streams[set].pop().into_iter().flatten());
            }
            order
        };
        let batch = &self.config.batch;
        Ok(batch.sampler.batches(&self.texts, order, batch.pairs, batch.drop_last))
    }

    /// The data sets at hand that are not left out by their weight.
    fn weighted(&self) -> Result<Vec<usize>> {
        let mut sets = Vec::with_capacity(self.sets.len());
        for set in &self.sets {
            if self.config.mix.weight(&self.table.datasets()[*set], self.members[*set].len())? > 0.0 {
                sets.push(*set);
            }
        }
        Ok(sets)
    }

    fn shares(&self, sets: &[usize]) -> Vec<DatasetShare<'a>> {
        let names = self.table.datasets();
        let share = |set: &usize| DatasetShare {
            name: names[*set].as_str(),
            pairs: self.members[*set].len(),
            units: self.units[*set],
        };
        sets.iter().map(share).collect()
    }

    fn fill_with_batches(&mut self, set: usize) -> Result<()> {
        let batch = &self.config.batch;
        let order = self.pass(set);
        let mut batches = batch.sampler.batches(&self.texts, order, batch.pairs, batch.drop_last);
        if batches.is_empty() {
            return Err(self.no_batch(&[set]));
        }
        self.units[set] = batches.len();
        // Taken from the end.
        batches.reverse();
        self.streams[set] = batches;
        Ok(())
    }

    /// The pairs of a data set in the order of its next pass. With one data set a pass is an epoch;
    /// with several, adding one does not change the order of another.
    fn pass(&mut self, set: usize) -> Vec<u32> {
        let members = &self.members[set];
        let purpose = match self.table.datasets() {
            [_] => "sampler".to_owned(),
            names => format!("sampler/{}", names[set]),
        };
        let order = self.seed.permutation_at(&purpose, self.passes[set], members.len());
        self.passes[set] += 1;
        order.into_iter().map(|at| members[at]).collect()
    }

    fn count_left_out(&self, batches: &[Vec<u32>]) -> usize {
        let mut used = vec![false; self.table.len()];
        batches.iter().flatten().for_each(|pair| used[*pair as usize] = true);
        let left = |set: &usize| self.members[*set].iter().filter(|pair| !used[**pair as usize]).count();
        self.sets.iter().map(left).sum()
    }

    fn no_batch(&self, sets: &[usize]) -> Error {
        let names = self.table.datasets();
        let pairs: usize = sets.iter().map(|set| self.members[*set].len()).sum();
        let which = match sets {
            [set] if names.len() > 1 => format!(" of `{}`", names[*set]),
            _ => String::new(),
        };
        // A batch that is not full needs another pair too: its documents are the negatives of the first.
        let drops = self.config.batch.drop_last;
        let wanted = if drops { self.config.batch.pairs } else { 2 };
        let message =
            format!("{wanted} pairs are needed for a batch, and {pairs} training pairs{which} cannot fill one");
        let hint = match (drops, which.is_empty()) {
            (true, true) => "a smaller train.batch.pairs, or train.batch.drop_last=false",
            (true, false) => {
                "a smaller train.batch.pairs, train.batch.drop_last=false, or train.batch.from=all_datasets"
            }
            (false, true) => "more pairs: see what the gates of `data` dropped",
            (false, false) => "train.batch.from=all_datasets, or more pairs of it",
        };
        Error::value("train.batch.pairs", message).with_hint(hint)
    }
}
