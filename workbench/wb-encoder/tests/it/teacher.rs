//! A teacher whose vectors are shortened against scikit-learn's components and sentence-transformers' dense layer.

use ndarray::Axis;
use serde::Deserialize;
use wb_core::{Encoder, Pair, PairSet, Seed, Side, progress::silent};
use wb_encoder::{
    BiEncoder,
    train::{FittedTeacher, TrainConfig},
    weights,
};

use crate::common::{cpu, golden_json, matrix, same, tiny};

#[derive(Deserialize)]
struct Golden {
    texts: Vec<String>,
    every: usize,
    reductions: Vec<Reduction>,
}

#[derive(Deserialize)]
struct Reduction {
    dim: usize,
    components: Vec<Vec<f32>>,
    embeddings: Vec<Vec<f32>>,
}

/// Texts without labels.
fn pairs(texts: &[String]) -> PairSet {
    let pair = |text: &String| Pair { id: text.clone(), anchor: text.clone(), ..Pair::default() };
    PairSet::new(texts.iter().map(pair).collect()).unwrap()
}

fn config(loss: &str) -> TrainConfig {
    TrainConfig { loss: serde_json::from_str(loss).unwrap(), ..TrainConfig::default() }
}

const DISTILL: &str = r#"{"distill_embeddings": {"teacher": {"id": "x"}}}"#;

fn fit(config: &TrainConfig, pairs: &PairSet, dim: usize, file: &std::path::Path) -> wb_encoder::Result<BiEncoder> {
    let fitted = FittedTeacher { config, pairs: pairs.into(), seed: Seed(3), dim, file };
    fitted.fit(cpu(tiny("tiny-bert")), &mut silent)
}

#[test]
fn it_is_shortened_as_scikit_learn_and_sentence_transformers_do() {
    let golden: Golden = golden_json("teacher-components.json");
    let (place, pairs) = (tempfile::tempdir().unwrap(), pairs(&golden.texts));
    let texts: Vec<&str> = golden.texts.iter().step_by(golden.every).map(String::as_str).collect();
    let embed = |encoder: &BiEncoder| encoder.embed(&texts, Side::Document, &mut silent).unwrap();
    for Reduction { dim, components, embeddings } in &golden.reductions {
        let file = place.path().join(format!("{dim}.safetensors"));
        let teacher = fit(&config(DISTILL), &pairs, *dim, &file).unwrap();
        assert_eq!(Encoder::dim(&teacher), *dim);
        let written = weights::read_all(&file).unwrap();
        let found = written[0].values.floats().into_owned();
        let found = ndarray::Array2::from_shape_vec((*dim, 32), found).unwrap();
        same(found.view(), matrix(components).view(), 2e-4, format!("components of {dim}"));
        // This one normalizes, and does so after the layer too.
        let expected = wb_core::Embeddings::dense(matrix(embeddings)).normalized();
        same(embed(&teacher).view(), expected.view(), 2e-4, format!("embeddings of {dim}"));
        // The file decides from then on, to the last bit, whatever the texts are.
        let other = PairSet::new(pairs.pairs()[..dim + 2].to_vec()).unwrap();
        let again = fit(&config(DISTILL), &other, *dim, &file).unwrap();
        assert_eq!((embed(&again), again.fingerprint()), (embed(&teacher), teacher.fingerprint()));
    }
}

#[test]
fn one_of_the_same_length_stays_and_is_turned_for_matryoshka() {
    let golden: Golden = golden_json("teacher-components.json");
    let (place, pairs) = (tempfile::tempdir().unwrap(), pairs(&golden.texts));
    let file = place.path().join("components.safetensors");
    let texts: Vec<&str> = golden.texts.iter().map(String::as_str).collect();
    let embed = |encoder: &BiEncoder| encoder.embed(&texts, Side::Document, &mut silent).unwrap().into_inner();
    let own = embed(&fit(&config(DISTILL), &pairs, 32, &file).unwrap());
    assert!(!file.exists());
    same(own.view(), embed(&cpu(tiny("tiny-bert"))).view(), 0.0, "as it was");
    let nested = format!(r#"{{"matryoshka": {{"dims": [32, 4], "loss": {DISTILL}}}}}"#);
    let turned = embed(&fit(&config(&nested), &pairs, 32, &file).unwrap());
    // All inner products stay, and the first numbers vary most.
    same(turned.dot(&turned.t()).view(), own.dot(&own.t()).view(), 1e-5, "inner products");
    let varies = turned.var_axis(Axis(0), 0.0);
    assert!(varies.iter().take(4).sum::<f32>() > 0.5 * varies.sum(), "{varies}");
    let before = own.var_axis(Axis(0), 0.0);
    assert!(before.iter().take(4).sum::<f32>() < 0.4 * before.sum(), "{before}");
}

#[test]
fn what_cannot_be_shortened_is_refused() {
    let golden: Golden = golden_json("teacher-components.json");
    let file = tempfile::tempdir().unwrap().path().join("components.safetensors");
    let refused = |texts: usize, dim| {
        let error = fit(&config(DISTILL), &pairs(&golden.texts[..texts]), dim, &file).map(|_| ()).unwrap_err();
        assert!(error.hint().is_some(), "{error}");
        error.to_string()
    };
    let told = "train.loss.teacher: its vectors are taken to 16 principal components, which more than 16 texts have";
    assert!(refused(16, 16).starts_with(told));
    assert!(refused(20, 33).starts_with("train.loss.teacher: its vectors have 32 numbers, and the model's have 33"));
    assert!(!file.exists());
}

/// A training that was stopped asks its teacher for other texts together than one that was not.
#[test]
fn a_text_has_the_same_vector_alone_and_among_others() {
    let word = |at: usize| ["sort", "every", "list", "of", "numbers", "fn main() {", "x += 1;", "}"][at * at % 8];
    let texts: Vec<String> =
        (0..70).map(|at| (0..1 + at * 7 % 60).map(|of| word(at + of)).collect::<Vec<_>>().join(" ")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for name in ["tiny-bert", "tiny-roberta", "tiny-modernbert", "tiny-nomic", "tiny-gemma", "tiny-qwen3", "tiny-t5"] {
        let encoder = cpu(tiny(name));
        let embed = |texts: &[&str]| encoder.embed(texts, Side::Document, &mut silent).unwrap();
        let together = embed(&texts);
        for some in [1, 2, 3, 17] {
            for (number, texts) in texts.chunks(some).enumerate() {
                let first = number * some;
                assert_eq!(embed(texts), together.part(first..first + texts.len()), "{name}: {some} at {first}");
            }
        }
    }
}
