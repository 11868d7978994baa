//! What an experiment needs from elsewhere, looked at before a model is asked.

use std::path::Path;

use anyhow::{Context, Error, Result};
use wb_core::paths::expand_home;
use wb_llm::EngineConfig;
use wb_sql::rag::Prompt;

use super::super::files;
use crate::{
    config::{GeneratorChoice, RagConfig, RetrieverChoice, TextToSql},
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

/// The lines of `wb check`.
pub fn lines(file: &TextToSql, runs: &Path) -> Result<()> {
    let config = &file.rag;
    data(config)?;
    let arms: Vec<String> = config.retrievers.iter().map(RetrieverChoice::name).collect();
    output::line(format!("rag       {}, without retrieval and by {}", config.dataset.display(), arms.join(", ")));
    let GeneratorChoice::Model(model) = &config.generator else {
        output::line("          queries by rules: no language model");
        return missing(config, runs);
    };
    let name = file.llm.as_ref().map(|llm| llm.model.as_str()).unwrap_or_default();
    output::line(format!(
        "          queries by {name}, {} a question, {} repairs at most",
        model.samples, model.repair
    ));
    let is_file = |llm: &&wb_llm::LlmConfig| llm.base_url.is_empty() && !matches!(llm.engine, EngineConfig::Http(_));
    if let Some(llm) = file.llm.as_ref().filter(is_file)
        && !expand_home(Path::new(&llm.model)).is_file()
    {
        output::line(format!("lint: llm.model: {} is not there yet", llm.model));
    }
    missing(config, runs)
}

fn missing(config: &RagConfig, runs: &Path) -> Result<()> {
    for (name, error) in encoders(config, runs) {
        output::line(format!("lint: retriever {name}: {error:#}; a run is made by `wb train`"));
    }
    Ok(())
}
