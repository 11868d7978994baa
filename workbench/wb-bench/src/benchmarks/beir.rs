//! Any data set in BEIR's layout (CoIR's and MTEB's too), under three evaluators' rules.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_retrieval::beir as layout;

use super::benchmark::{Benchmark, BenchmarkData, BenchmarkPlan, Card};
use crate::{
    Result,
    layouts::{
        Files,
        files::{entries, lower_name},
        no_layout,
    },
    protocols::{
        PlannedProtocol,
        beir::{BeirRules, beir},
    },
};

/// See [`crate::protocols::beir`].
pub const CARD: Card = Card {
    name: "beir",
    measures: "any collection with judgements: nDCG@10",
    protocols: &["coir-*", "mteb-*", "st-*"],
    version: 1,
    dataset: "a folder in BEIR's layout: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv",
    place: "",
    licence: "that of the data",
    paper: "Thakur et al., BEIR, arXiv:2104.08663; Li et al., CoIR, arXiv:2407.02883; Muennighoff et al., MTEB, arXiv:2210.07316",
    citation: "",
    main: &[("coir-", "ndcg@10")],
};

/// Name of the data, and the judgments to use.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BeirConfig {
    /// Ends the protocols' ids: `csn` gives `coir-csn`, `mteb-csn`, `st-csn`. Empty for the folder's name.
    pub name: String,
    /// Judgments to use, as in `test`; empty for `test`, or the only ones that are there.
    pub split: String,
}

impl Benchmark for BeirConfig {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn validate(&self, key: &str) -> wb_core::Result<()> {
        if self.name.contains(char::is_whitespace) {
            let message = format!("got `{}`, expected a word without spaces", self.name);
            return Err(wb_core::Error::value(format!("{key}.name"), message));
        }
        Ok(())
    }

    fn is_in(&self, folder: &Path) -> Result<bool> {
        Ok(!find(folder)?.is_empty())
    }

    fn plan(&self, dataset: BenchmarkData<'_>) -> Result<BenchmarkPlan> {
        let folder = dataset.folder("beir")?;
        let mut files = Files::new(folder);
        let mut plan = BenchmarkPlan::new(&CARD);
        let folders = find(folder)?;
        if folders.is_empty() {
            return Err(no_layout(
                folder,
                "beir",
                "corpus.jsonl with queries.jsonl and qrels/test.tsv, here or in one folder a language",
            ));
        }
        for (language, folder) in folders {
            add(&mut plan, &mut files, &folder, &language, &self.name, &self.split)?;
        }
        plan.dataset = files.fingerprint();
        Ok(plan)
    }
}

/// The folder itself, or its sub-folders as languages.
pub(super) fn find(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let is_beir = |folder: &Path| {
        ["corpus.jsonl", "queries.jsonl"].iter().all(|name| folder.join(name).is_file())
            && folder.join("qrels").is_dir()
    };
    if is_beir(folder) {
        return Ok(vec![("all".to_owned(), folder.to_path_buf())]);
    }
    Ok(entries(folder)?.into_iter().filter(|path| is_beir(path)).map(|path| (lower_name(&path), path)).collect())
}

/// Adds the three protocols of one folder.
pub(super) fn add(
    plan: &mut BenchmarkPlan,
    files: &mut Files,
    folder: &Path,
    language: &str,
    name: &str,
    split: &str,
) -> Result<()> {
    let splits = layout::splits(folder)?;
    let split = match (split, splits.as_slice()) {
        ("", [only]) => only.clone(),
        ("", _) => "test".to_owned(),
        (named, _) => named.to_owned(),
    };
    if !splits.contains(&split) {
        let hint = format!("there is: {}", splits.join(", "));
        return Err(wb_core::Error::unknown("split", split).with_hint(hint));
    }
    let data = layout::read(folder, &split)?;
    for file in ["corpus.jsonl", "queries.jsonl", &format!("qrels/{split}.tsv")] {
        files.note(&folder.join(file))?;
    }
    let name = match name {
        "" => data_name(files.root()),
        name => name.to_owned(),
    };
    if data.dangling > 0 {
        plan.warnings.push(format!(
            "{name} {language}: {} judgements about queries or documents that are not there; such documents count as not found",
            data.dangling
        ));
    }
    for rules in BeirRules::ALL {
        plan.protocols.push(PlannedProtocol::Ranked(beir(&mut plan.texts, &data, &name, language, &split, rules)));
    }
    Ok(())
}

/// A folder's name as a data set's.
pub(super) fn data_name(folder: &Path) -> String {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    match lower_name(&folder).replace(char::is_whitespace, "-") {
        empty if empty.is_empty() => "data".to_owned(),
        name => name,
    }
}
