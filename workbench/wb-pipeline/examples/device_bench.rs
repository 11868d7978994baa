//! Times a device beside another program: `device_bench MODEL_FOLDER DEVICE`, one command a line on standard input.
//!
//! - `vectors TEXTS TOKENS PRECISION FILE` writes pooled vectors as little-endian 32-bit floats.
//! - `encode TEXTS TOKENS PRECISION` prints the seconds of one pass.
//! - `train PAIRS TOKENS PRECISION` prints the seconds of one step of adapters of rank 8 on all linear layers, dropout
//!   0.1, MNRL with scale 20, AdamW; everything on the device. Then the loss. `train-whole` trains all weights.
//! - `search QUERIES DOCUMENTS DIM K` prints the seconds of exact search, and how many of 100 queries found what they find
//!   on the processor.
//!
//! Texts are made of token ids without a tokenizer, the same as in `scripts/gpu/peer.py` where the model has 7,010 or more. PRECISION is `fp32`, `bf16` or
//! `f16`; what the device has not is answered by `refused`. Prints `ready` and the device when the model is there.
#![allow(clippy::print_stdout, reason = "the seconds are the output")]

use std::{error::Error, fs, io::stdin, path::Path, time::Instant};

use ndarray::Array2;
use rayon::prelude::*;
use wb_core::{Embeddings, Seed, seed::mix64};
use wb_encoder::{
    BiEncoder, DeviceConfig, DeviceMaxima, Folder, LoraConfig, OpenDevice, Precision, Stop, TokenBatch,
    losses::{Labels, LossConfig, LossOnEmbeddings},
    similarities::SimilarityConfig,
    train::{
        Meeting, TrainConfig,
        prefetch::TrainBatch,
        state::TrainState,
        step::{StepOptions, accumulate},
    },
};
use wb_retrieval::Flat;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Queries whose rankings are compared with the processor's.
const COMPARED: usize = 100;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, device] = &arguments[..] else { return Err("usage: device_bench MODEL_FOLDER DEVICE".into()) };
    let device = device.parse::<DeviceConfig>()?.open()?;
    let mut bench = Bench { model: model.clone(), encoder: None, training: None };
    println!("ready {}", device.description);
    for line in stdin().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let found = match words[..] {
            ["vectors", texts, tokens, precision, file] => {
                let vectors = bench.encode(&device, [texts, tokens], precision)?;
                vectors.map(|vectors| write(&vectors, file)).transpose()?.map(|()| "written".to_owned())
            }
            ["encode", texts, tokens, precision] => {
                let start = Instant::now();
                let vectors = bench.encode(&device, [texts, tokens], precision)?;
                vectors.map(|_| format!("{:.6}", start.elapsed().as_secs_f64()))
            }
            ["train", pairs, tokens, precision] => bench.train(&device, [pairs, tokens], (precision, true))?,
            ["train-whole", pairs, tokens, precision] => bench.train(&device, [pairs, tokens], (precision, false))?,
            ["search", queries, documents, dim, k] => {
                let maxima = DeviceMaxima::new(device.burn(), &device.description);
                Some(search(maxima, [queries, documents, dim, k].map(str::parse))?)
            }
            _ => return Err(format!("{line:?}: see the head of device_bench.rs").into()),
        };
        println!("{}", found.unwrap_or_else(|| "refused".to_owned()));
    }
    Ok(())
}

/// A model, and one that trains.
struct Bench {
    model: String,
    encoder: Option<BiEncoder>,
    training: Option<Training>,
}

/// Adapters or all weights in training, in one precision.
struct Training {
    encoder: BiEncoder,
    state: TrainState,
    precision: String,
    adapters: bool,
    steps: u64,
}

impl Bench {
    /// Pooled vectors; none where the device has not these numbers.
    fn encode(
        &mut self,
        device: &OpenDevice,
        [texts, tokens]: [&str; 2],
        precision: &str,
    ) -> Result<Option<Array2<f32>>> {
        // Only one of both is on the device.
        self.training = None;
        let encoder = match &mut self.encoder {
            Some(encoder) => encoder,
            none => none.insert(BiEncoder::open_frozen(Folder::read(Path::new(&self.model))?, device)?),
        };
        if !set(encoder, precision)? {
            return Ok(None);
        }
        let batch = made_up(encoder, [texts.parse()?, tokens.parse()?], 0);
        Ok(Some(encoder.backbone().embed(&batch)?))
    }

    fn train(
        &mut self,
        device: &OpenDevice,
        [pairs, tokens]: [&str; 2],
        (precision, adapters): (&str, bool),
    ) -> Result<Option<String>> {
        self.encoder = None;
        let fits = |training: &Training| training.precision == precision && training.adapters == adapters;
        if !self.training.as_ref().is_some_and(fits) {
            self.training = None;
            let mut folder = Folder::read(Path::new(&self.model))?;
            if adapters {
                let lora: LoraConfig = serde_json::from_str(r#"{"rank": 8, "dropout": 0.1, "targets": "all-linear"}"#)?;
                folder.attach(&lora, Seed(42))?;
            }
            let mut encoder = BiEncoder::open(folder, device)?;
            if !set(&mut encoder, precision)? {
                return Ok(None);
            }
            let mut state = TrainState::new(&TrainConfig::default(), encoder.backbone().parameters())?;
            state.settle(encoder.backbone_mut())?;
            self.training = Some(Training { encoder, state, precision: precision.to_owned(), adapters, steps: 0 });
        }
        let Some(Training { encoder, state, steps, .. }) = &mut self.training else { return Ok(None) };
        let pairs: usize = pairs.parse()?;
        let labels = Labels::distinct(pairs, 0);
        let tokens = made_up(encoder, [2 * pairs, tokens.parse()?], *steps as usize);
        let batch = TrainBatch { pairs: (0..pairs as u32).collect(), tokens, labels };
        let loss = LossOnEmbeddings::new(SimilarityConfig::Cosine, &LossConfig::default());
        let options = StepOptions {
            dropout: Some(Seed(1)),
            micro_tokens: 0,
            micro_texts: 0,
            weight: 1.0,
            stop: &Stop::default(),
        };
        let start = Instant::now();
        *steps += 1;
        let found =
            accumulate(encoder.backbone(), Meeting::Vectors, &loss, &batch, *steps, options, &mut state.gradients)?;
        state.gradient_norm(encoder.backbone_mut())?;
        state.update(encoder.backbone_mut(), 2e-5, 1.0, *steps)?;
        device.burn().sync()?;
        Ok(Some(format!("{:.6} {found:.6}", start.elapsed().as_secs_f64())))
    }
}

/// Sets the precision; false where the device has it not.
fn set(encoder: &mut BiEncoder, precision: &str) -> Result<bool> {
    let precision: Precision = serde_json::from_value(precision.into())?;
    match encoder.backbone_mut().set_precision(precision) {
        Ok(()) => Ok(true),
        Err(_) if precision != Precision::Fp32 => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Texts of so many tokens: token `j` of text `i` is 10 + (7,919·i + 104,729·j) mod 7,000, as in `peer.py`; less than 7,000
/// where the model has not so many.
fn made_up(encoder: &BiEncoder, [texts, tokens]: [usize; 2], shift: usize) -> TokenBatch {
    let different = (encoder.settings().model.architecture.vocab_size() - 10).min(7000);
    let token = |i: usize, j: usize| (10 + (7919 * (i + shift) + 104_729 * j) % different) as u32;
    let texts: Vec<Vec<u32>> = (0..texts).map(|i| (0..tokens).map(|j| token(i, j)).collect()).collect();
    TokenBatch::new(texts.iter().map(Vec::as_slice))
}

fn write(vectors: &Array2<f32>, file: &str) -> Result<()> {
    Ok(fs::write(file, vectors.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())?)
}

fn search(maxima: DeviceMaxima, sizes: [std::result::Result<usize, std::num::ParseIntError>; 4]) -> Result<String> {
    let [queries, documents, dim, k] = sizes;
    let (queries, documents, dim, k) = (queries?, documents?, dim?, k?);
    let vectors = |rows: usize, seed: u64| {
        let mut all = vec![0f32; rows * dim];
        all.par_chunks_mut(dim.max(1)).enumerate().for_each(|(row, vector)| {
            let draw = |at: usize| mix64(seed << 48 | (row * dim + at) as u64) as f64 / u64::MAX as f64;
            vector.iter_mut().enumerate().for_each(|(at, x)| *x = (draw(at) - 0.5) as f32);
        });
        Embeddings::of_values(all, dim, None).map(Embeddings::normalized)
    };
    let (queries, index) = (vectors(queries, 1)?, Flat::new(vectors(documents, 2)?)?);
    let start = Instant::now();
    let found = index.search_with(Some(Box::new(maxima)), &queries, k)?;
    let seconds = start.elapsed().as_secs_f64();
    let some = queries.part(0..COMPARED.min(queries.texts()));
    let expected = index.search(&some, k)?;
    let same = expected.iter().zip(&found).filter(|(expected, found)| expected == found).count();
    Ok(format!("{seconds:.6} {same} of {} as on the processor", expected.len()))
}
