//! Times training steps beside another program: `train_bench MODEL_FOLDER PAIRS.jsonl BATCH [targets=NAME,...] [checkpointing]`,
//! one `["query", "code"]` a line.
//!
//! Adapters of rank 8 and alpha 16 on query and value, or on what is named, dropout 0.1, MNRL with scale 20, AdamW; at most 256 tokens.
//! Texts are made token ids before the clock starts. Prints the first batch's loss without dropout; then takes one step
//! with each batch for each line on standard input and prints the seconds of all steps and the last loss.
#![allow(clippy::print_stdout, reason = "the seconds are the output")]

use std::{error::Error, fs, io::stdin, path::Path, time::Instant};

use ndarray::{Axis, concatenate};
use wb_core::{Embeddings, Seed, Side};
use wb_encoder::{
    Backbone, BiEncoder, DeviceConfig, Dropout, Folder, Gradients, LoraConfig, TokenBatch,
    losses::{Labels, LossConfig, LossOnEmbeddings},
    similarities::SimilarityConfig,
    train::{OptimizerConfig, optimizer::AdamW},
};

/// The anchors' texts and then the documents', and whose they are.
struct Batch {
    tokens: TokenBatch,
    anchors: usize,
    labels: Labels,
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, pairs, size, options @ ..] = &arguments[..] else {
        return Err("usage: train_bench MODEL_FOLDER PAIRS.jsonl BATCH [targets=NAME,...] [checkpointing]".into());
    };
    let pairs: Vec<[String; 2]> =
        fs::read_to_string(pairs)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let size: usize = size.parse()?;
    let mut folder = Folder::read(Path::new(model))?;
    let mut lora = LoraConfig::default();
    if let Some(targets) = options.iter().find_map(|option| option.strip_prefix("targets=")) {
        lora.targets = serde_json::from_value(targets.split(',').collect())?;
    }
    folder.attach(&lora, Seed(42))?;
    let mut encoder = BiEncoder::open(folder, &DeviceConfig::Cpu.open()?)?;
    encoder.backbone_mut().set_gradient_checkpointing(options.iter().any(|option| option == "checkpointing"))?;
    let batches = pairs.chunks_exact(size).map(|pairs| tokenize(&encoder, pairs)).collect::<Result<Vec<_>, _>>()?;
    let loss = LossOnEmbeddings::new(SimilarityConfig::Cosine, &LossConfig::default());
    let mut optimizer = AdamW::new(&OptimizerConfig::default(), encoder.backbone().parameters())?;
    let mut gradients = Gradients::zeros(encoder.backbone().parameters());

    println!("ready {:.6}", accumulate(encoder.backbone(), &loss, &batches[0], None, &mut gradients)?);
    gradients.iter_mut().for_each(|gradient| gradient.fill(0.0));
    let mut step = 0;
    for line in stdin().lines() {
        line?;
        let start = Instant::now();
        let mut last = 0.0;
        for batch in &batches {
            last = accumulate(encoder.backbone(), &loss, batch, Some(Dropout { seed: step }), &mut gradients)?;
            encoder.backbone_mut().update(&mut |weights| optimizer.update(weights, &mut gradients, 2e-5, 1.0))?;
            step += 1;
        }
        println!("{:.6} {last:.6}", start.elapsed().as_secs_f64());
    }
    Ok(())
}

fn tokenize(encoder: &BiEncoder, pairs: &[[String; 2]]) -> wb_encoder::Result<Batch> {
    let side = |which: usize| pairs.iter().map(|pair| pair[which].as_str()).collect::<Vec<_>>();
    let (queries, documents) = (encoder.tokenize(&side(0), Side::Query)?, encoder.tokenize(&side(1), Side::Document)?);
    let tokens = TokenBatch::new(queries.iter().chain(&documents).map(Vec::as_slice));
    Ok(Batch { tokens, anchors: pairs.len(), labels: Labels::distinct(pairs.len(), 0) })
}

/// Adds one batch's gradients and returns its loss.
fn accumulate(
    backbone: &dyn Backbone,
    loss: &LossOnEmbeddings,
    batch: &Batch,
    dropout: Option<Dropout>,
    gradients: &mut Gradients,
) -> wb_encoder::Result<f64> {
    let (embeddings, tape) = backbone.embed_tracked(&batch.tokens, dropout)?;
    let embeddings = Embeddings::dense(embeddings);
    let (anchors, documents) = (embeddings.part(0..batch.anchors), embeddings.part(batch.anchors..embeddings.texts()));
    let found = loss.forward_backward(&anchors, &documents, &batch.labels)?;
    let at_embeddings = concatenate![Axis(0), found.at_anchors, found.at_documents];
    backbone.backward(tape, at_embeddings.view(), gradients)?;
    Ok(found.loss)
}
