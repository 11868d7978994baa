//! Text-to-SQL: Spider with its databases, BIRD's mini-dev, and gretel's synthetic questions.

use super::super::{
    conversions::{ColumnContent, ColumnField, Conversion, OutputFile, Rows, Unzip},
    entry::{DataSetFolder, Entry, ServedFiles, WantedFile},
};

const GB: u64 = 1_000_000_000;

pub(super) fn entries() -> Vec<Entry> {
    vec![
        Entry {
            name: "spider".into(),
            title: "Spider 1.0 with its databases (Yu et al. 2018)".into(),
            used_by: "wb bench spider; configs/spider-rag.yaml, configs/coderag-spider.yaml",
            license: "CC BY-SA 4.0",
            about: Some(99_736_136),
            note: "the archive of 166 databases, without the hidden test set; its commit may not be on the repository's main branch",
            parts: vec![spider()],
        },
        Entry {
            name: "bird".into(),
            title: "BIRD mini-dev for SQLite (Li et al. 2023)".into(),
            used_by: "wb bench bird",
            license: "CC BY-SA 4.0",
            about: Some(764_000_000),
            note: "questions are the corrected ones of January 2026; the address of the databases names no version, and was \
                   last seen with these bytes in September 2026",
            parts: vec![bird()],
        },
        Entry {
            name: "synthetic-sql".into(),
            title: "gretel's synthetic_text_to_sql (2024)".into(),
            used_by: "wb bench synthetic-sql",
            license: "Apache-2.0",
            about: Some(34_260_000),
            note: "",
            parts: vec![synthetic()],
        },
    ]
}

fn spider() -> DataSetFolder {
    let unzip = Unzip {
        archive: "spider.zip",
        root: "tables.json",
        keep: Vec::new(),
        needs: vec!["dev.json", "tables.json", "train_spider.json", "database"],
        most: 4 * GB,
    };
    let files = [WantedFile::new("data/spider.zip").of(99_736_136)];
    let origin = ServedFiles::hub("xlangai/spider", "6232cc3fad6d54c62b3ba23a364083a98ff36a17", files);
    DataSetFolder::new("spider", Conversion::Unzip(unzip), vec![origin])
}

fn bird() -> DataSetFolder {
    let unzip = Unzip {
        archive: "minidev.zip",
        root: "dev_databases/",
        keep: vec!["dev_databases/"],
        needs: vec!["mini_dev_sqlite.json", "dev_databases"],
        most: 12 * GB,
    };
    let questions = [WantedFile::new("data/mini_dev_sqlite-00000-of-00001.json").called("mini_dev_sqlite.json")];
    let archive =
        [WantedFile::new("minidev.zip").sha256("cc48ba16838204e4e214512030cb572eeb5f7bcdd999bae4b9b6ff12ec13b92f")];
    let origins = vec![
        ServedFiles::hub("birdsql/bird_mini_dev", "f65faf4ae3b638c1fa6df1d3370c8d92c8366301", questions),
        ServedFiles::web("https://bird-bench.oss-cn-beijing.aliyuncs.com", archive),
    ];
    DataSetFolder::new("bird", Conversion::Unzip(unzip), origins)
}

fn synthetic() -> DataSetFolder {
    const fn text(name: &'static str) -> ColumnField {
        ColumnField { from: name, to: name, kind: ColumnContent::Text }
    }
    const fn any(name: &'static str) -> ColumnField {
        ColumnField { from: name, to: name, kind: ColumnContent::Any }
    }
    let rows = Rows {
        outputs: ["train", "test"].map(|split| OutputFile { from: split, to: format!("{split}.jsonl") }).to_vec(),
        columns: vec![
            any("id"),
            any("domain"),
            any("domain_description"),
            any("sql_complexity"),
            any("sql_complexity_description"),
            any("sql_task_type"),
            any("sql_task_type_description"),
            text("sql_prompt"),
            text("sql_context"),
            text("sql"),
            any("sql_explanation"),
        ],
        unit: "questions",
    };
    let files = ["train", "test"]
        .map(|split| WantedFile::new(format!("synthetic_text_to_sql_{split}.snappy.parquet")).called(split));
    let commit = "740ab236e64503fba51be1101df7a1be83bf455d";
    let origin = ServedFiles::hub("gretelai/synthetic_text_to_sql", commit, files);
    DataSetFolder::new("synthetic-sql", Conversion::Rows(rows), vec![origin])
}
