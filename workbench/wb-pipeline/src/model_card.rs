//! The README.md of an exported encoder: what it is, how to use it, what it learned from, how it measured, how it was written.

use std::{fmt::Write, path::Path};

use anyhow::Result;
use wb_core::{
    RunDir,
    manifest::Manifest,
    records::{
        data::DataCard,
        outcome::{OutcomeNumbers, ProtocolScore},
    },
    run_dir::read_json,
};
use wb_encoder::{Architecture, ExportConfig, ExportFormat, Exported, Folder};

use super::manifest::quoted;
use crate::config::Experiment;

/// An export: the encoder, its format and its place.
pub struct Subject<'a> {
    /// The encoder.
    pub folder: &'a Folder,
    /// The format.
    pub config: &'a ExportConfig,
    /// The folder to be.
    pub out: &'a Path,
}

/// Facts about an encoder beyond itself. Nothing is invented: what a run does not tell is left out.
#[derive(Default)]
pub struct ModelCard {
    experiment: Option<Experiment>,
    manifest: Option<Manifest>,
    data: Option<DataCard>,
    outcomes: Vec<OutcomeNumbers>,
    run: Option<String>,
}

impl ModelCard {
    /// Reads what a run says of itself.
    pub fn gather(run: Option<&RunDir>, experiment: Option<Experiment>) -> Result<Self> {
        let Some(run) = run else { return Ok(Self { experiment, ..Self::default() }) };
        let outcomes = run.benches()?.iter().map(|path| read_json(path)).collect::<wb_core::Result<_>>()?;
        Ok(Self {
            experiment,
            manifest: Some(read_json(&run.manifest())?),
            data: if run.data().is_file() { Some(read_json(&run.data())?) } else { None },
            outcomes,
            run: Some(run.id().to_owned()),
        })
    }

    /// The card as Markdown, with the figures of the export.
    pub fn text(&self, subject: &Subject<'_>, exported: &Exported) -> String {
        let mut text = String::new();
        // Writing into a String does not fail.
        let _ = self.write(subject, exported, &mut text);
        text
    }

    fn write(&self, subject: &Subject<'_>, exported: &Exported, text: &mut String) -> std::fmt::Result {
        self.front_matter(subject, text)?;
        self.what_it_is(subject, exported, text)?;
        how_to_use(subject, exported, text)?;
        self.training(text)?;
        self.data(text)?;
        self.results(text)?;
        self.how_it_was_written(subject, exported, text)
    }

    /// Writes the front matter, which the hub reads.
    fn front_matter(&self, subject: &Subject<'_>, text: &mut String) -> std::fmt::Result {
        let library = match subject.config.format {
            ExportFormat::St | ExportFormat::St6 => "sentence-transformers",
            ExportFormat::Peft => "peft",
            ExportFormat::Safetensors => "wb",
        };
        let task = if subject.folder.pair_reading.is_some() { "text-ranking" } else { "sentence-similarity" };
        writeln!(text, "---\nlibrary_name: {library}\npipeline_tag: {task}")?;
        // Only a hub id means something to others.
        if let Some(base) =
            self.base(subject).filter(|base| base.matches('/').count() == 1 && !base.starts_with(['/', '.', '~']))
        {
            writeln!(text, "base_model: {base}")?;
        }
        let kind = match subject.folder.pair_reading {
            Some(_) => "cross-encoder\n- reranker",
            None => "sentence-similarity\n- feature-extraction",
        };
        writeln!(text, "tags:\n- sentence-transformers\n- {kind}\n- code")?;
        if subject.folder.lora.is_some() {
            writeln!(text, "- lora")?;
        }
        writeln!(text, "---\n")
    }

    fn what_it_is(&self, subject: &Subject<'_>, exported: &Exported, text: &mut String) -> std::fmt::Result {
        let folder = subject.folder;
        let title = self.experiment.as_ref().map_or(folder.name.as_str(), |experiment| experiment.name.as_str());
        writeln!(text, "# {}\n", cell(title))?;
        if folder.pair_reading.is_some() {
            writeln!(
                text,
                "A cross-encoder of text and code: it reads a query and a document together and gives one score.\n"
            )?;
        } else {
            let vectors =
                if folder.late_interaction.is_some() { "one vector for each of its tokens" } else { "one vector" };
            writeln!(text, "An encoder of text and code: each text becomes {vectors}.\n")?;
        }
        writeln!(text, "| | |\n|---|---|")?;
        let mut row = |name: &str, value: String| writeln!(text, "| {name} | {} |", cell(&value));
        row("architecture", folder.model.architecture.describe())?;
        if let Some(base) = self.base(subject) {
            row("base model", base)?;
        }
        match &folder.pair_reading {
            Some(reading) => {
                row("score", format!("{:?} of one number", reading.activation).to_lowercase())?;
                row("longest query and document", format!("{} tokens together", exported.max_tokens))?;
            }
            None => Self::of_vectors(subject, exported, &mut row)?,
        }
        row("weights", subject.config.dtype.to_string())?;
        writeln!(text)
    }

    fn of_vectors(
        subject: &Subject<'_>,
        exported: &Exported,
        row: &mut dyn FnMut(&str, String) -> std::fmt::Result,
    ) -> std::fmt::Result {
        let folder = subject.folder;
        let late = folder.late_interaction.as_ref();
        let normalized = if folder.normalize || late.is_some() { "of length 1" } else { "not normalized" };
        row("embedding", format!("{} numbers, {normalized}", folder.dim()))?;
        if !matches!(folder.model.architecture, Architecture::StaticEmbedding(_)) && late.is_none() {
            row("pooling", format!("{:?}", folder.model.pooling).to_lowercase())?;
        }
        let compared = match late {
            Some(_) => {
                "maxsim: the query's tokens, each by its greatest cosine with a token of the document".to_owned()
            }
            None => format!("{:?}", subject.config.similarity).to_lowercase(),
        };
        row("compared by", compared)?;
        row("longest text", format!("{} tokens", exported.max_tokens))?;
        for (side, prompt) in [("query", &folder.prompts.query), ("document", &folder.prompts.document)] {
            if !prompt.is_empty() {
                row(&format!("{side} prompt"), format!("{prompt:?}"))?;
            }
        }
        Ok(())
    }

    fn training(&self, text: &mut String) -> std::fmt::Result {
        let Some(experiment) = &self.experiment else { return Ok(()) };
        writeln!(text, "## Training\n")?;
        if let Some(manifest) = &self.manifest {
            writeln!(
                text,
                "Trained by `wb` {} on {} ({}) with:\n",
                manifest.version,
                cell(&manifest.device),
                cell(&manifest.machine)
            )?;
            writeln!(text, "```sh\n{}\n```\n", short(&manifest.command))?;
        }
        let train = &experiment.train;
        writeln!(text, "| | |\n|---|---|")?;
        let name = |value: &serde_json::Value| match value {
            serde_json::Value::String(name) => name.clone(),
            serde_json::Value::Object(map) => map.keys().cloned().collect::<Vec<_>>().join(", "),
            other => other.to_string(),
        };
        let named =
            |value: serde_json::Result<serde_json::Value>| value.map_or_else(|_| String::new(), |value| name(&value));
        writeln!(text, "| loss | {} |", named(serde_json::to_value(&train.loss)))?;
        writeln!(text, "| epochs | {} |", train.epochs)?;
        writeln!(text, "| pairs in a batch | {} |", train.batch.pairs)?;
        writeln!(text, "| learning rate | {} |", train.optimizer.learning_rate())?;
        writeln!(text, "| seed | {} |\n", experiment.seed.0)?;
        if let Ok(yaml) = wb_core::config::to_text(experiment) {
            let yaml = yaml.replace("```", "'''");
            writeln!(
                text,
                "<details><summary>The whole configuration</summary>\n\n```yaml\n{yaml}```\n\n</details>\n"
            )?;
        }
        Ok(())
    }

    fn data(&self, text: &mut String) -> std::fmt::Result {
        let Some(data) = &self.data else { return Ok(()) };
        writeln!(text, "## Data\n\n| source | pairs |\n|---|---|")?;
        for source in &data.sources {
            writeln!(text, "| {} | {} |", cell(&source.name), source.pairs)?;
        }
        writeln!(text, "\n| split | pairs | languages |\n|---|---|---|")?;
        for (name, split) in &data.splits {
            let languages: Vec<String> =
                split.languages.iter().map(|(language, pairs)| format!("{language} {pairs}")).collect();
            writeln!(text, "| {} | {} | {} |", cell(name), split.pairs, cell(&languages.join(", ")))?;
        }
        match data.licenses.is_empty() {
            true => writeln!(
                text,
                "\nThe data's licenses are not known to `wb`: look them up before you pass this encoder on.\n"
            ),
            false => {
                writeln!(
                    text,
                    "\nLicenses as the sources name them; each text stays under its own.\n\n| license | pairs |\n|---|---|"
                )?;
                for (license, pairs) in &data.licenses {
                    let license = if license.is_empty() { "not named" } else { license };
                    writeln!(text, "| {} | {pairs} |", cell(license))?;
                }
                writeln!(text)
            }
        }
    }

    fn results(&self, text: &mut String) -> std::fmt::Result {
        if self.outcomes.is_empty() {
            return Ok(());
        }
        writeln!(text, "## Results\n")?;
        writeln!(
            text,
            "Each number with its protocol, the documents that a query is ranked against, and a 95 % bootstrap interval over queries.\n"
        )?;
        writeln!(
            text,
            "| benchmark | protocol | language | split | pool | queries | metric | contestant | value | 95 % interval |"
        )?;
        writeln!(text, "|---|---|---|---|---|---|---|---|---|---|")?;
        for outcome in &self.outcomes {
            for score in &outcome.protocols {
                let ProtocolScore { id, language, split, pool, n_queries, metric, value, interval, .. } = score;
                let contestant = cell(&outcome.contestant);
                writeln!(
                    text,
                    "| {} | {id} | {language} | {split} | {pool} | {n_queries} | {metric} | {contestant} | {value:.4} | {:.4} to {:.4} |",
                    outcome.benchmark, interval.low, interval.high
                )?;
            }
        }
        writeln!(text)
    }

    fn how_it_was_written(&self, subject: &Subject<'_>, exported: &Exported, text: &mut String) -> std::fmt::Result {
        let command: Vec<String> = std::env::args().map(quoted).collect();
        writeln!(text, "## Export\n\n```sh\n{}\n```\n", short(&command.join(" ")))?;
        let parity = exported.parity;
        writeln!(
            text,
            "This folder was read back by `wb` {} and compared with the encoder that it was made of, on {} texts as queries and as documents: \
             least cosine {:.7}, largest difference of an element {:.1e}.",
            env!("CARGO_PKG_VERSION"),
            parity.texts,
            parity.cosine,
            parity.difference
        )?;
        if let Some(rounded) = parity.rounded {
            writeln!(
                text,
                "The weights were rounded to {}: least cosine {rounded:.7} to the encoder before that.",
                subject.config.dtype
            )?;
        }
        if let Some(run) = &self.run {
            writeln!(text, "The run was `{}`.", cell(run))?;
        }
        for note in &exported.notes {
            writeln!(text, "- {}", cell(note))?;
        }
        Ok(())
    }

    /// The model that training began with.
    fn base(&self, subject: &Subject<'_>) -> Option<String> {
        let of_run = self.experiment.as_ref().and_then(Experiment::pretrained);
        subject.config.base.clone().or_else(|| of_run.map(|reference| reference.id.clone()))
    }
}

/// A few lines that work as they stand.
fn how_to_use(subject: &Subject<'_>, exported: &Exported, text: &mut String) -> std::fmt::Result {
    let place = subject.out.display().to_string();
    let python = |lines: &str| format!("```python\n{lines}\n```\n");
    let encode = "queries = model.encode_query([\"sort a list of numbers\"])\n\
                  documents = model.encode_document([\"def sort(xs):\\n    return sorted(xs)\"])\n\
                  print(model.similarity(queries, documents))";
    writeln!(text, "## Use\n")?;
    if subject.folder.pair_reading.is_some() {
        let lines = match subject.config.format {
            ExportFormat::Safetensors => format!("```sh\nwb bench pairs --rerank {}\n```\n", quoted(place)),
            _ => python(&format!(
                "from sentence_transformers import CrossEncoder\n\nmodel = CrossEncoder({place:?})\n\
                 print(model.predict([(\"sort a list of numbers\", \"def sort(xs):\\n    return sorted(xs)\")]))"
            )),
        };
        return writeln!(text, "{lines}");
    }
    let late = subject.folder.late_interaction.is_some();
    let class = if late { "MultiVectorEncoder" } else { "SentenceTransformer" };
    let lines = match subject.config.format {
        ExportFormat::St | ExportFormat::St6 => {
            let trust = if exported.has_own_module { ", trust_remote_code=True" } else { "" };
            python(&format!("from sentence_transformers import {class}\n\nmodel = {class}({place:?}{trust})\n{encode}"))
        }
        ExportFormat::Peft => python(&format!(
            "from sentence_transformers import {class}  # with peft installed\n\nmodel = {class}({place:?})\n{encode}"
        )),
        ExportFormat::Safetensors => format!("```sh\nwb bench pairs --encoder {}\n```\n", quoted(place)),
    };
    writeln!(text, "{lines}")
}

/// A command without the folder that the program lay in.
fn short(command: &str) -> String {
    let (program, rest) = command.split_once(' ').unwrap_or((command, ""));
    let name = program.rsplit('/').next().unwrap_or(program);
    format!("{name} {rest}").replace("```", "'''")
}

/// A text in a table: one line, no columns of its own.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ").replace('<', "&lt;")
}
