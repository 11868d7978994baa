//! Texts that are embedded of documents: their own text, what a language model said of them, or both.

use std::path::Path;

use anyhow::{Context, Result, bail};
use wb_bench::{DocumentTexts, texts::BenchmarkTexts};
use wb_core::{Encoder, Error, fingerprint::Fingerprint, records::annotation::AnnotationsByText, suggest};
use wb_synth::annotate::EmbedText;

use crate::{config::DocumentsConfig, output};

/// Annotations, and which of them and the code is embedded.
pub struct Documents {
    embed: EmbedText,
    annotations: AnnotationsByText,
    fingerprint: Fingerprint,
    place: String,
}

impl Documents {
    /// Reads the annotations.
    pub fn load(config: &DocumentsConfig) -> Result<Self> {
        let place = config.annotations.display().to_string();
        let annotations = AnnotationsByText::load(&config.annotations).context("cannot read the annotations")?;
        let fingerprint = Fingerprint::of_file(&config.annotations)?;
        Ok(Self { embed: config.embed, annotations, fingerprint, place })
    }

    /// Reads what `--embed` and `--annotations` name; none without both.
    pub fn of_options(embed: Option<&str>, annotations: Option<&Path>) -> Result<Option<Self>> {
        let (Some(embed), Some(annotations)) = (embed, annotations) else { return Ok(None) };
        let Some(embed) = EmbedText::ALL.into_iter().find(|one| one.as_str() == embed) else {
            let near = suggest::nearest(embed, EmbedText::ALL.iter().map(|one| one.as_str()));
            return Err(Error::data(format!("--embed {embed}"), "expected code, annotation, both or concat")
                .with_hint_if(near.map(|near| format!("did you mean `{near}`?")))
                .into());
        };
        Self::load(&DocumentsConfig { embed, annotations: annotations.to_owned() }).map(Some)
    }

    /// An encoder that embeds these texts of a document.
    pub fn over<'a>(&'a self, encoder: &'a dyn Encoder) -> Result<DocumentTexts<'a>> {
        let several = self.embed == EmbedText::Both;
        let texts = |text: &str| self.embed.of(text, self.annotations.of(text));
        Ok(DocumentTexts::new(encoder, self.embed.as_str(), &self.fingerprint, several, texts)?)
    }

    /// The name of an encoder that embeds these texts.
    pub fn name_over(&self, encoder: &dyn Encoder) -> String {
        format!("{} ({})", encoder.name(), self.embed.as_str())
    }

    /// Says how many documents of a benchmark have no annotation; that none has one is an error.
    pub fn check(&self, texts: &BenchmarkTexts) -> Result<()> {
        let all = texts.documents.as_strs();
        let without = all.iter().filter(|text| self.annotations.of(text).is_none()).count();
        if without == all.len() && self.embed != EmbedText::Code {
            bail!(
                "{}: none of its {} annotations speaks of one of the {} documents; an annotation is found by the exact \
                 text, so `snippets:` has to read the very texts that the benchmark does",
                self.place,
                self.annotations.len(),
                all.len()
            );
        }
        if without > 0 && self.embed != EmbedText::Code {
            output::note(format!(
                "{without} of {} documents have no annotation: their own text alone is embedded",
                all.len()
            ));
        }
        Ok(())
    }

    /// The setting that belongs to the numbers, as shown to people.
    pub fn setting(&self) -> (String, String) {
        ("documents".to_owned(), format!("{} ({})", self.embed.as_str(), self.place))
    }
}
