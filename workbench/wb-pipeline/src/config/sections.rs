//! Sections that a command cannot do without: each gives a reference to it, or an error with the shortest one that works.

use wb_core::{Error, Result};
use wb_synth::snippets::SnippetsConfig;

use super::{AbConfig, DataConfig, EncoderConfig, Experiment, RagConfig};

impl Experiment {
    /// The section `data:`.
    ///
    /// # Errors
    ///
    /// If the file does not have it; so for all sections.
    pub fn data(&self) -> Result<&DataConfig> {
        self.require("data", self.data.as_ref(), "data: { sources: [{ code: { path: src } }] }")
    }

    /// The section `encoder:`.
    pub fn encoder(&self) -> Result<&EncoderConfig> {
        self.require("encoder", self.encoder.as_ref(), "encoder: { model: { static_embedding: {} } }")
    }

    /// The section `snippets:`.
    pub fn snippets(&self) -> Result<&SnippetsConfig> {
        let shortest = "snippets: { sources: [{ tree: { files: { path: src } } }] }";
        self.require("snippets", self.snippets.as_ref(), shortest)
    }

    /// The section `ab:`.
    pub fn ab(&self) -> Result<&AbConfig> {
        let shortest =
            "ab: { queries: queries.jsonl, judgements: judged.jsonl, encoder: sentence-transformers/all-MiniLM-L6-v2 }";
        self.require("ab", self.ab.as_ref(), shortest)
    }

    /// The section `rag:`.
    pub fn rag(&self) -> Result<&RagConfig> {
        self.require("rag", self.rag.as_ref(), "rag: { dataset: datasets/external/spider }")
    }

    /// Refuses a file that says nothing of what pairs are made by: one of `synth:`, `rules:` and `annotate:` is enough.
    pub fn check_makes_something(&self) -> Result<()> {
        if self.synth.is_some() || self.annotate.is_some() {
            return Ok(());
        }
        let shortest =
            "rules: {} makes pairs without a language model; synth: {} with llm: { model: FILE.gguf } asks one";
        self.require("synth:`, `rules:` or `annotate", self.rules.as_ref(), shortest).map(|_| ())
    }

    fn require<'a, S>(&self, key: &str, section: Option<&'a S>, shortest: &str) -> Result<&'a S> {
        section.ok_or_else(|| {
            let message = format!("needs `{key}:`, which {} does not have", self.read_by.file.display());
            Error::data(self.read_by.command, message).with_hint(shortest)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn hints_can_be_pasted() {
        let missing = |experiment: &Experiment| -> [Option<Error>; 5] {
            [
                experiment.data().err(),
                experiment.encoder().err(),
                experiment.snippets().err(),
                experiment.ab().err(),
                experiment.rag().err(),
            ]
        };
        for (at, error) in missing(&Experiment::default()).into_iter().enumerate() {
            let hint = error.unwrap().hint().unwrap().to_owned();
            let text = format!("name: pasted\n{hint}\n");
            let experiment: Experiment = wb_core::config::from_text(&text, Path::new("pasted.yaml")).unwrap();
            assert!(missing(&experiment)[at].is_none(), "{hint}");
        }
    }

    #[test]
    fn one_way_to_make_pairs_is_enough() {
        let made_by = |section: &str| {
            let text = format!("name: x\n{section}\n");
            let experiment: Experiment = wb_core::config::from_text(&text, Path::new("x.yaml")).unwrap();
            experiment.check_makes_something()
        };
        for section in ["rules: {}", "synth: {}", "annotate: {}"] {
            made_by(section).unwrap();
        }
        assert!(made_by("seed: 1").unwrap_err().to_string().contains("needs `synth:`, `rules:` or `annotate:`"));
    }
}
