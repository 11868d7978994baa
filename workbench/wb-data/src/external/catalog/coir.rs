//! CoIR's ten tasks, each a folder in BEIR's layout; the two that are made of CodeSearchNet have one for each language.

use super::{
    super::{
        conversions::{Beir, Conversion},
        entry::{DataSetFolder, Entry, ServedFiles, WantedFile},
    },
    codesearchnet::LANGUAGES,
};

/// The name of all tasks together.
pub(super) const ALL: &str = "coir";

/// True where an entry is one of the tasks.
pub(super) fn is_task(name: &str) -> bool {
    name.starts_with("coir-")
}

const LICENSE: &str = "as the hub tags it MIT; its sources have licenses of their own (CoSQA: C-UDA)";

/// Repository of `CoIR-Retrieval` with the commit that MTEB pins, and the license.
const TASKS: [(&str, &str, &str); 8] = [
    ("apps", "f22508f96b7a36c2415181ed8bb76f76e04ae2d5", LICENSE),
    ("cosqa", "bc5efb7e9d437246ce393ed19d772e08e4a79535", "C-UDA 1.0, that of CoSQA"),
    ("synthetic-text2sql", "686b87296c3a0191b5d9415a00526c62db9fce09", "Apache-2.0, that of synthetic_text_to_sql"),
    ("stackoverflow-qa", "db8f169f3894c14a00251061f957b2063eef2bd5", LICENSE),
    ("codefeedback-st", "d213819e87aab9010628da8b73ab4eb337c89340", LICENSE),
    ("codefeedback-mt", "b0f12fa0c0dd67f59c95a5c33d02aeeb4c398c5f", LICENSE),
    ("codetrans-contest", "20da4eb20a4b17300c0986ee148c90867a7f2a4d", LICENSE),
    ("codetrans-dl", "281562cb8a1265ab5c0824bfa6ddcd9b0a15618f", LICENSE),
];

/// Name, repository and commit of the two tasks with languages; the name is the folder's too.
const OF_CODESEARCHNET: [(&str, &str, &str); 2] = [
    ("codesearchnet", "CodeSearchNet", "4adc7bc41202b5c13543c9c886a25f340634dab3"),
    ("codesearchnet-ccr", "CodeSearchNet-ccr", "6e1effa2c03723c5fde48ee912b5ee08d4f211e8"),
];

pub(super) fn entries() -> Vec<Entry> {
    let tasks = TASKS.into_iter().map(|(task, commit, license)| {
        let id = format!("CoIR-Retrieval/{task}");
        let part = part(format!("coir/{task}"), &id, commit, ["corpus", "queries", "data"]);
        entry(task, license, vec![part])
    });
    let with_languages = OF_CODESEARCHNET.into_iter().map(|(task, repository, commit)| {
        let id = format!("CoIR-Retrieval/{repository}");
        let parts = LANGUAGES.into_iter().map(|language| {
            let folders = ["corpus", "queries", "qrels"].map(|kind| format!("{language}-{kind}"));
            let mut part = part(format!("coir/{task}/{language}"), &id, commit, folders.each_ref().map(String::as_str));
            part.language = Some(language);
            part
        });
        entry(task, "each function under its repository's license", parts.collect())
    });
    tasks.chain(with_languages).collect()
}

fn entry(task: &str, license: &'static str, parts: Vec<DataSetFolder>) -> Entry {
    Entry {
        name: format!("coir-{task}"),
        title: format!("CoIR, {task} (Li et al. 2024)"),
        used_by: "wb bench beir",
        license,
        about: None,
        note: match parts.len() {
            1 => "",
            _ => "a query is the code and a document its summary; the names of the files of judgements were inferred",
        },
        parts,
    }
}

/// A folder, of repository folders with documents, queries and judgements.
fn part(place: String, id: &str, commit: &str, [corpus, queries, qrels]: [&str; 3]) -> DataSetFolder {
    let files = [
        WantedFile::new(format!("{corpus}/corpus-*.parquet")).called("corpus"),
        WantedFile::new(format!("{queries}/queries-*.parquet")).called("queries"),
        WantedFile::new(format!("{qrels}/test-*.parquet")).called("qrels"),
    ];
    DataSetFolder::new(place, Conversion::Beir(Beir { split: "test" }), vec![ServedFiles::hub(id, commit, files)])
}
