//! Text-to-SQL in lines: the arms before anything is asked, and the experiment in tables.

mod print;

use std::path::Path;

use anyhow::Error;
use wb_llm::LlmConfig;
use wb_text2sql::{
    RagConfig,
    config::{GeneratorChoice, RetrieverChoice},
};

pub use self::print::print;
use crate::{encoder, output};

/// Retrievers whose encoder is not there, or cannot be read.
pub fn encoders(config: &RagConfig, runs: &Path) -> Vec<(String, Error)> {
    let of = |retriever: &RetrieverChoice| match retriever {
        RetrieverChoice::Encoder(arm) => encoder::named(&arm.model, runs).err().map(|error| (retriever.name(), error)),
        _ => None,
    };
    config.retrievers.iter().filter_map(of).collect()
}

/// Prints the arms and who writes the queries.
pub fn describe(config: &RagConfig, llm: Option<&LlmConfig>) {
    let arms: Vec<String> = config.retrievers.iter().map(RetrieverChoice::name).collect();
    output::line(format!("rag       {}, without retrieval and by {}", config.dataset.display(), arms.join(", ")));
    output::line(match &config.generator {
        GeneratorChoice::Model(model) => format!(
            "          queries by {}, {} a question, {} repairs at most",
            llm.map(|llm| llm.model.as_str()).unwrap_or_default(),
            model.samples,
            model.repair
        ),
        GeneratorChoice::Nearest(_) => "          queries by rules: no language model".to_owned(),
    });
}
