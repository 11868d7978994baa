//! Bags of token vectors made from a teacher against Model2Vec's formulas, and in every folder that holds them.

use serde::Deserialize;
use wb_core::{Side, progress::silent};
use wb_encoder::{
    Architecture, BagFromTeacher, BiEncoder, DeviceConfig, ExportConfig, ExportFormat, Folder, Pooling, export,
    folder::{MaxTokens, Prompts},
    models::StaticConfig,
};

use crate::common::{cpu, golden_json, matrix, same, tiny};

#[derive(Deserialize)]
struct Golden {
    tokens: usize,
    every: usize,
    sif: f64,
    texts: Vec<String>,
    weights: Vec<f64>,
    bags: Vec<Bag>,
}

#[derive(Deserialize)]
struct Bag {
    dim: usize,
    vectors: Vec<Vec<f32>>,
    weighted: Vec<Vec<f32>>,
    plain: Vec<Vec<f32>>,
}

fn wanted(dim: usize, weighted: bool, sif: f64) -> BagFromTeacher {
    let bag = StaticConfig { vocab_size: 0, dim, weighted, positions: 48 };
    BagFromTeacher { bag, sif, max_tokens: MaxTokens::both(64) }
}

/// The tiny BERT; its own pooling and prompts are not those of the token vectors.
fn teacher() -> Folder {
    let mut teacher = tiny("tiny-bert");
    teacher.model.pooling = Pooling::Cls;
    teacher.prompts = Prompts { query: "query: ".into(), document: "document: ".into() };
    teacher
}

fn make(wanted: &BagFromTeacher, teacher: Folder) -> wb_encoder::Result<Folder> {
    wanted.make("bag", teacher, &DeviceConfig::Cpu.open().unwrap(), &mut silent)
}

fn values<'a>(folder: &'a Folder, name: &str) -> std::borrow::Cow<'a, [f32]> {
    folder.model.parameters.get(name).unwrap().values.floats()
}

#[test]
fn vectors_weights_and_embeddings_are_those_of_model2vec() {
    let golden: Golden = golden_json("static-from-teacher.json");
    let texts: Vec<&str> = golden.texts.iter().map(String::as_str).collect();
    let embed = |folder: Folder| cpu(folder).embed(&texts, Side::Document, &mut silent).unwrap();
    for Bag { dim, vectors, weighted, plain } in &golden.bags {
        let sizes = StaticConfig { vocab_size: golden.tokens, dim: (*dim).min(32), weighted: true, positions: 48 };
        let bag = make(&wanted(*dim, true, golden.sif), teacher()).unwrap();
        assert_eq!(bag.model.architecture, Architecture::StaticEmbedding(sizes.clone()));
        assert_eq!((bag.normalize, bag.tokenizer.special_tokens()), (true, 0));
        assert_eq!(bag.notes, ["token vectors were made from tiny-bert"]);
        let found = values(&bag, "embeddings.weight");
        let rows: Vec<Vec<f32>> = found.chunks_exact(sizes.dim).step_by(golden.every).map(<[f32]>::to_vec).collect();
        same(matrix(&rows).view(), matrix(vectors).view(), 1e-5, format!("vectors of {dim}"));
        for (found, expected) in values(&bag, "token_weights").iter().zip(&golden.weights) {
            assert!((f64::from(*found) - expected.ln()).abs() < 1e-6, "{found} {expected}");
        }
        same(embed(bag).view(), matrix(weighted).view(), 1e-5, format!("weighted by logarithms, {dim}"));
        let inside = make(&wanted(*dim, false, golden.sif), teacher()).unwrap();
        same(embed(inside).view(), matrix(weighted).view(), 1e-5, format!("weights in the vectors, {dim}"));
        let without = make(&wanted(*dim, true, 0.0), teacher()).unwrap();
        same(embed(without).view(), matrix(plain).view(), 1e-5, format!("plain, {dim}"));
    }
}

#[test]
fn a_bag_reads_back_as_it_is() {
    let texts = ["Sort a list.", "return the sorted list"];
    let place = tempfile::tempdir().unwrap();
    let bag = make(&wanted(8, true, 1e-4), teacher()).unwrap();
    let embed = |folder: Folder| cpu(folder).embed(&texts, Side::Document, &mut silent).unwrap();
    let expected = embed(bag.clone());
    bag.write(&place.path().join("own")).unwrap();
    let st = ExportConfig { format: ExportFormat::St, ..Default::default() };
    export(&bag, &st, &|_| String::new(), &place.path().join("st")).unwrap();
    for name in ["own", "st"] {
        let back = Folder::read(&place.path().join(name)).unwrap();
        assert_eq!(back.tokenizer.special_tokens(), 0, "{name}");
        same(embed(back).view(), expected.view(), 1e-6, name);
    }
    // Made again, it is equal to the bit.
    let again = make(&wanted(8, true, 1e-4), teacher()).unwrap();
    assert_eq!(again.model.parameters, bag.model.parameters);
}

#[test]
fn what_cannot_be_is_refused() {
    let mut broken = teacher();
    let width = broken.model.architecture.dim();
    let words = broken.model.parameters.iter_mut().find(|p| p.shape.len() == 2 && p.name.contains("word")).unwrap();
    words.values.floats_mut()[7 * width] = f32::NAN;
    let token = broken.tokenizer.token(7).unwrap();
    let told = make(&wanted(8, true, 1e-4), broken).unwrap_err().to_string();
    assert!(told.contains(&format!("tiny-bert: its state of token 7, {token:?}, is not finite")), "{told}");
    let told = make(&wanted(8, true, 1.0), teacher()).unwrap_err().to_string();
    assert!(told.contains("sif: got 1, expected at least 0 and below 1"), "{told}");
}

#[test]
fn a_teacher_in_other_clothes_gives_what_it_says() {
    // A bag can be a teacher too: it has no layers, so that a token's vector is its own.
    let first = make(&wanted(8, false, 0.0), teacher()).unwrap();
    let second = make(&wanted(8, false, 0.0), first.clone()).unwrap();
    let texts = ["Sort a list.", "def add(a, b): return a"];
    let embed = |folder: Folder| BiEncoder::embed(&cpu(folder), &texts, Side::Query, &mut silent).unwrap();
    // Its vectors are centered and along their components already.
    same(embed(second).view(), embed(first).view(), 1e-4, "a bag of a bag");
}
