//! Text-to-SQL in lines: the arms before anything is asked, and the experiment in tables.

mod print;

use std::path::{Path, PathBuf};

use anyhow::{Error, Result};
use wb_core::{records::rag::Rag, run_dir::write_json};
use wb_llm::{Ask, Client, LlmConfig, LlmQuestion, Reply};
use wb_text2sql::{
    RagConfig,
    config::{GeneratorChoice, RetrieverChoice},
};

pub use self::print::print;
use crate::{encoder, interrupt::Interrupt, output, pages};

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

/// Writes an experiment's record and its page, and tells where they are.
pub fn write(rag: &Rag, out: &Path, json: Option<&Path>) -> Result<()> {
    let record: PathBuf = out.join("rag.json");
    write_json(&record, rag)?;
    if let Some(json) = json {
        write_json(json, rag)?;
    }
    output::line(format!("record  {}", record.display()));
    if let Some(files) = pages::rag(rag, &record.with_extension("html"))? {
        output::line(format!("page    {}", files.html.display()));
        output::line(format!("chart   {}", files.png.display()));
    }
    Ok(())
}

/// A language model that is asked until Ctrl-C.
pub struct Asking<'a> {
    /// The model.
    pub client: &'a Client,
    /// The wish to stop.
    pub interrupt: &'a Interrupt,
}

impl Ask for Asking<'_> {
    fn ask_all(&self, questions: &[LlmQuestion], each: &mut dyn FnMut(usize, &Reply)) -> wb_llm::Result<Vec<Reply>> {
        self.interrupt.while_asking(|_| self.client.ask_all(questions, each))
    }
}
