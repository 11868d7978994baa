//! MRR of BM25 over a BEIR folder for every way to make words, so that the defaults can be checked on other data.
//!
//! `bm25_variants FOLDER [SPLIT]`; every query has one answer, ranks are over the whole corpus, 1 + strictly better,
//! with the mean over all orders of equal scores beside it.
#![allow(clippy::print_stdout, reason = "the table is the output")]

use std::{error::Error, path::Path, time::Instant};

use wb_core::progress::silent;
use wb_retrieval::{
    Bm25Config, Retriever, beir,
    bm25::Repeated,
    code_tokens::{CodeTokensConfig, Stemming},
    retriever::{Titles, document_texts},
    ties::rank_of,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = arguments.first().ok_or("usage: bm25_variants FOLDER [SPLIT]")?;
    let data = beir::read(Path::new(folder), arguments.get(1).map_or("test", String::as_str))?;
    let documents = document_texts(&data.corpus, Titles::Leave);
    let (mut queries, mut answers) = (Vec::new(), Vec::new());
    for query in &data.queries {
        if let Some(answer) = data.qrels.of(&query.id).and_then(|grades| data.corpus.position(grades.keys().next()?)) {
            queries.push(query.text.as_str());
            answers.push(answer);
        }
    }
    println!("{} queries, {} documents", queries.len(), documents.len());
    println!("split whole stemming repeated    MRR  (ties)  R@1  R@10  index s  score s");
    for split in [false, true] {
        for whole in [false, true] {
            for stemming in [Stemming::None, Stemming::Plural, Stemming::Light] {
                for repeated in [Repeated::EachTime, Repeated::Once] {
                    if whole && !split {
                        continue;
                    }
                    let config = Bm25Config { tokens: CodeTokensConfig { split, whole, stemming }, repeated };
                    let start = Instant::now();
                    let bm25 = config.init(&documents, &mut silent)?;
                    let indexed = start.elapsed().as_secs_f64();
                    let start = Instant::now();
                    let mut ranks = Vec::new();
                    for (queries, answers) in queries.chunks(500).zip(answers.chunks(500)) {
                        let scores = bm25.scores(queries, &mut silent)?;
                        for (row, answer) in scores.rows().into_iter().zip(answers) {
                            ranks.push(rank_of(row.as_slice().unwrap_or_default(), *answer));
                        }
                    }
                    let scored = start.elapsed().as_secs_f64();
                    let mean = |value: &dyn Fn(&wb_retrieval::ties::Rank) -> f64| {
                        ranks.iter().map(value).sum::<f64>() / ranks.len() as f64
                    };
                    println!(
                        "{split:5} {whole:5} {:8} {:8} {:.4} {:.4} {:.4} {:.4} {indexed:.2} {scored:.2}",
                        format!("{stemming:?}"),
                        format!("{repeated:?}"),
                        mean(&|rank| 1.0 / rank.best as f64),
                        mean(&|rank| rank.expected_reciprocal()),
                        mean(&|rank| f64::from(u8::from(rank.best == 1))),
                        mean(&|rank| f64::from(u8::from(rank.best <= 10))),
                    );
                }
            }
        }
    }
    Ok(())
}
