//! Judges of pairs before training: BM25, and pretrained encoders whose embeddings are kept from gate to gate.

use std::collections::HashMap;

use anyhow::Result;
use wb_core::{Encoder, EncoderRef, Pair, Progress, Ranker, Side};
use wb_data::judge::{Judge, JudgeError};
use wb_encoder::BiEncoder;
use wb_retrieval::{
    Bm25Config, DenseRetriever, Remembered,
    own_ranks::{own_ranks, similar_earlier},
};

use super::{device, encoder, session};
use crate::config::Experiment;

/// The judges of an experiment; encoders are opened when they are asked for the first time.
pub struct Judges<'a> {
    experiment: &'a Experiment,
    encoders: Vec<(EncoderRef, Remembered<BiEncoder>)>,
}

impl<'a> Judges<'a> {
    /// Opens nothing yet.
    pub fn new(experiment: &'a Experiment) -> Self {
        Self { experiment, encoders: Vec::new() }
    }

    fn encoder(&mut self, judge: &EncoderRef) -> Result<&Remembered<BiEncoder>, JudgeError> {
        // As it is: anyhow's own conversion hides the error from those who look for its hint.
        self.opened(judge).map_err(anyhow::Error::reallocate_into_boxed_dyn_error_without_backtrace)
    }

    fn opened(&mut self, judge: &EncoderRef) -> Result<&Remembered<BiEncoder>> {
        let at = match self.encoders.iter().position(|(known, _)| known == judge) {
            Some(at) => at,
            None => {
                let device = device::open(self.experiment.device.first(), Some(&encoder::locate(judge)?))?;
                let (folder, _) = encoder::named(judge, session::runs())?;
                let encoder = BiEncoder::open_frozen(folder, &device)?;
                self.encoders.push((judge.clone(), Remembered::new(encoder)));
                self.encoders.len() - 1
            }
        };
        Ok(&self.encoders[at].1)
    }
}

impl Judge for Judges<'_> {
    fn ranks(
        &mut self,
        by: &Ranker,
        pairs: &[Pair],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<usize>, JudgeError> {
        let anchors: Vec<&str> = pairs.iter().map(|pair| pair.anchor.as_str()).collect();
        let (documents, own) = distinct(pairs);
        match by {
            Ranker::Bm25 => {
                let bm25 = Bm25Config::default().init(&documents, progress)?;
                Ok(own_ranks(&bm25, &anchors, &own, progress)?)
            }
            Ranker::Encoder(encoder) => {
                let encoder = self.encoder(encoder)?;
                let dense = DenseRetriever::new(encoder, &documents, progress)?;
                Ok(own_ranks(&dense, &anchors, &own, progress)?)
            }
        }
    }

    fn similar(
        &mut self,
        encoder: &EncoderRef,
        texts: &[&str],
        cosine: f64,
        take: &mut dyn FnMut(usize, &[usize]),
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), JudgeError> {
        let vectors = self.encoder(encoder)?.encode(texts, Side::Document, progress)?;
        similar_earlier(&vectors, cosine, take, progress);
        Ok(())
    }
}

/// The different positives, and for each pair the place of its own.
fn distinct(pairs: &[Pair]) -> (Vec<&str>, Vec<usize>) {
    let mut documents: Vec<&str> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(pairs.len());
    let mut own = Vec::with_capacity(pairs.len());
    for pair in pairs {
        own.push(*places.entry(&pair.positive).or_insert_with(|| {
            documents.push(&pair.positive);
            documents.len() - 1
        }));
    }
    (documents, own)
}

#[cfg(test)]
mod tests {
    use wb_core::progress::silent;

    use super::*;

    fn pair(anchor: &str, positive: &str) -> Pair {
        Pair { anchor: anchor.into(), positive: positive.into(), ..Pair::default() }
    }

    #[test]
    fn equal_texts_do_not_compete() {
        let pairs = [
            pair("sort numbers", "fn sort(numbers)"),
            pair("open file", "fn open(file)"),
            // The same text as another pair's positive.
            pair("open a door", "fn open(file)"),
            pair("greet", "fn hello(name)"),
        ];
        let experiment = Experiment::default();
        let ranks = Judges::new(&experiment).ranks(&Ranker::Bm25, &pairs, &mut silent).unwrap();
        assert_eq!(ranks, [1, 1, 1, 3]);
    }

    #[test]
    fn an_encoder_judges_with_its_adapters() {
        let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../wb-encoder/tests/golden");
        let alone = EncoderRef::from(golden.join("tiny-qwen3").to_str().unwrap());
        let adapted = EncoderRef { adapter: Some(golden.join("peft-tiny-qwen3")), ..alone.clone() };
        let experiment = Experiment::default();
        let mut judges = Judges::new(&experiment);
        let mut vector =
            |judge| judges.opened(judge).unwrap().encode(&["open a file"], Side::Query, &mut silent).unwrap();
        assert_ne!(vector(&alone).view(), vector(&adapted).view());
    }

    #[test]
    fn an_encoder_judges_by_meaning() {
        let model = std::env::var_os("WB_MINILM").map(std::path::PathBuf::from).filter(|path| path.is_dir());
        let Some(model) = model else {
            let line = b"SKIPPED an_encoder_judges_by_meaning: WB_MINILM names no folder\n";
            let _ = std::io::Write::write_all(&mut std::io::stderr(), line);
            return;
        };
        let encoder = EncoderRef::from(model.to_str().unwrap());
        let experiment = Experiment::default();
        let mut judges = Judges::new(&experiment);
        let texts = [
            "Returns the largest number of a list.",
            "How to open a file for reading?",
            "Gives the biggest number in a list.",
            "Returns the largest number of a list.",
        ];
        let mut found = Vec::new();
        let mut take = |at: usize, earlier: &[usize]| found.push((at, earlier.to_vec()));
        judges.similar(&encoder, &texts, 0.8, &mut take, &mut silent).unwrap();
        assert_eq!(found, [(0, vec![]), (1, vec![]), (2, vec![0]), (3, vec![0, 2])]);
        let pairs = [
            pair("largest number of a list", "def f(xs):\n    return max(xs)"),
            pair("open a file for reading", "def g(path):\n    return open(path)"),
            pair("largest number of a list", "def h(path):\n    os.remove(path)"),
        ];
        let ranks = judges.ranks(&Ranker::Encoder(encoder), &pairs, &mut silent).unwrap();
        assert_eq!(ranks[..2], [1, 1]);
        assert!(ranks[2] > 1);
    }
}
