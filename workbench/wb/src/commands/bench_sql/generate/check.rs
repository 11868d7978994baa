//! What an experiment needs from elsewhere, looked at before a model is asked.

use std::path::Path;

use anyhow::{Context, Error, Result};
use wb_llm::LlmConfig;
use wb_sql::{benchmarks::files, rag::Prompt};

use crate::{
    config::{GeneratorChoice, RagConfig, RetrieverChoice},
    output,
    pipeline::encoder,
};

/// Refuses an experiment whose files are not there.
pub fn data(config: &RagConfig) -> Result<()> {
    let folder = &config.dataset;
    files::folder(folder, "rag.dataset is a folder with tables.json, dev.json and database/ID/*.sqlite")?;
    let of_training = config.training.within(folder);
    for file in [folder.join("tables.json"), folder.join(&config.questions)].into_iter().chain(of_training) {
        if !file.is_file() {
            let hint = "rag.questions and rag.training name files in rag.dataset; the defaults are those of Spider";
            let missing = wb_core::Error::data(file.display().to_string(), "there is no such file").with_hint(hint);
            return Err(missing.into());
        }
    }
    if let GeneratorChoice::Model(model) = &config.generator
        && let Some(path) = &model.prompt
    {
        Prompt::load(path).context("cannot read rag.generator.model.prompt")?;
    }
    Ok(())
}

/// Retrievers whose encoder is not there, or cannot be read.
pub fn encoders(config: &RagConfig, runs: &Path) -> Vec<(String, Error)> {
    let of = |retriever: &RetrieverChoice| match retriever {
        RetrieverChoice::Encoder(arm) => encoder::named(&arm.model, runs).err().map(|error| (retriever.name(), error)),
        _ => None,
    };
    config.retrievers.iter().filter_map(of).collect()
}

/// The lines of `wb check`: arms and who writes the queries. Its table says what of it is not there.
pub fn lines(config: &RagConfig, llm: Option<&LlmConfig>) {
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
