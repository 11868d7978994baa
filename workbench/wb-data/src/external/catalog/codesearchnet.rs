//! CodeSearchNet: its functions, the human judgements, and AdvTest, in one folder as its benchmark reads it.
//!
//! Functions are put into the packaging of the original release, so that recipes and readers of the one read the other.

use super::super::{
    conversions::{Annotations, ColumnContent, ColumnField, Conversion, OutputFile, Rows},
    entry::{DataSetFolder, Entry, ServedFiles, WantedFile},
};

/// The languages of the release.
pub(super) const LANGUAGES: [&str; 6] = ["go", "java", "javascript", "php", "python", "ruby"];

const HUB: (&str, &str) = ("code-search-net/code_search_net", "bd0cf261e357a3eb5c8fba490d23ec1a1cd59555");

const fn text(from: &'static str, to: &'static str) -> ColumnField {
    ColumnField { from, to, kind: ColumnContent::Text }
}

const fn texts(from: &'static str, to: &'static str) -> ColumnField {
    ColumnField { from, to, kind: ColumnContent::Texts }
}

const fn any(from: &'static str, to: &'static str) -> ColumnField {
    ColumnField { from, to, kind: ColumnContent::Any }
}

/// The hub's columns under the names of the release. Its `sha` is not there; it is part of the address.
const FUNCTION: [ColumnField; 11] = [
    any("repository_name", "repo"),
    any("func_path_in_repository", "path"),
    text("func_name", "func_name"),
    any("whole_func_string", "original_string"),
    text("language", "language"),
    text("func_code_string", "code"),
    texts("func_code_tokens", "code_tokens"),
    text("func_documentation_string", "docstring"),
    texts("func_documentation_tokens", "docstring_tokens"),
    text("func_code_url", "url"),
    any("split_name", "partition"),
];

/// AdvTest names a function without its class by `identifier`; in what is measured, `func_name` is empty.
const ADVERSARIAL: [ColumnField; 8] = [
    any("nwo", "repo"),
    any("path", "path"),
    text("identifier", "func_name"),
    text("language", "language"),
    text("code", "code"),
    texts("code_tokens", "code_tokens"),
    texts("docstring_tokens", "docstring_tokens"),
    text("url", "url"),
];

pub(super) fn entries() -> Vec<Entry> {
    vec![
        Entry {
            name: "codesearchnet".into(),
            title: "CodeSearchNet, test and validation functions (Husain et al. 2019)".into(),
            used_by: "wb bench codesearchnet; most recipes measure on it; configs/xtr-tiny.yaml",
            license: "each function under its repository's license",
            about: None,
            note: "it was not seen that the hub's rows stand in the order of the release, which decides the batches of csn-1000",
            parts: parts(&[("test", "test"), ("validation", "valid")]),
        },
        Entry {
            name: "codesearchnet-train".into(),
            title: "CodeSearchNet, 1.9 million training functions".into(),
            used_by: "configs/xtr-lora.yaml; finds more of codesearchnet-annotations",
            license: "each function under its repository's license",
            about: None,
            note: "",
            parts: parts(&[("train", "train")]),
        },
        Entry {
            name: "codesearchnet-annotations".into(),
            title: "CodeSearchNet, 99 queries with human judgements".into(),
            used_by: "wb bench codesearchnet (csn-ndcg-within, csn-ndcg-all)",
            license: "MIT; each function under its repository's license",
            about: Some(680_291),
            note: "judged functions are looked up among CodeSearchNet's that are here; those without a docstring are in no \
                   split and cannot be found",
            parts: vec![annotations()],
        },
        Entry {
            name: "advtest".into(),
            title: "AdvTest of CodeXGLUE, test and validation (Lu et al. 2021)".into(),
            used_by: "wb bench codesearchnet (advtest)",
            license: "C-UDA 1.0",
            about: Some(24_900_000),
            note: "the commit is of the pull request that brought the Parquet files; main's own was not seen",
            parts: vec![advtest()],
        },
    ]
}

/// Functions of a split, as the data set's card counts them.
fn functions(language: &str, split: &str) -> u64 {
    let [train, valid, test] = match language {
        "go" => [317_832, 14_242, 14_291],
        "java" => [454_451, 15_328, 26_909],
        "javascript" => [123_889, 8_253, 6_483],
        "php" => [523_712, 26_015, 28_391],
        "python" => [412_178, 23_107, 22_176],
        _ => [48_791, 2_209, 2_279],
    };
    match split {
        "train" => train,
        "valid" => valid,
        _ => test,
    }
}

/// A folder for each language and split; `splits` has the hub's and the release's names.
fn parts(splits: &[(&str, &str)]) -> Vec<DataSetFolder> {
    let each = LANGUAGES.into_iter().flat_map(|language| splits.iter().map(move |split| (language, *split)));
    each.map(|(language, (of_hub, split))| {
        let from = "functions";
        let rows = Rows {
            outputs: vec![OutputFile { from, to: format!("{language}_{split}_0.jsonl.gz") }],
            columns: FUNCTION.to_vec(),
            unit: "functions",
        };
        let files = [WantedFile::new(format!("{language}/{of_hub}-*.parquet")).called(from)];
        DataSetFolder {
            place: format!("codesearchnet/{language}/final/jsonl/{split}"),
            instead: vec![
                format!("codesearchnet/{language}/{split}.jsonl"),
                format!("codesearchnet/{language}/{split}.jsonl.gz"),
                format!("codesearchnet/{language}/{language}/final/jsonl/{split}"),
            ],
            language: Some(language),
            records: Some(functions(language, split)),
            origins: vec![ServedFiles::hub(HUB.0, HUB.1, files)],
            conversion: Conversion::Rows(rows),
        }
    })
    .collect()
}

fn annotations() -> DataSetFolder {
    let files = [
        WantedFile::new("resources/annotationStore.csv")
            .of(677_798)
            .sha256("0340af32b551ceadb74fec147f97642b7fedf3ff039e38fb86baff49ee899846"),
        WantedFile::new("resources/queries.csv")
            .of(2_493)
            .sha256("037509c717c2e164721f0fd3ea45cb05f36669551af643f53930a92b76b146cf"),
    ];
    let origin = ServedFiles::github("github/CodeSearchNet", "106e827405c968597da938f6b373d30183918869", files);
    DataSetFolder::new("codesearchnet/annotated", Conversion::Annotations(Annotations), vec![origin])
}

fn advtest() -> DataSetFolder {
    let rows = Rows {
        outputs: vec![
            OutputFile { from: "test", to: "test.jsonl.gz".into() },
            OutputFile { from: "validation", to: "valid.jsonl.gz".into() },
        ],
        columns: ADVERSARIAL.to_vec(),
        unit: "functions",
    };
    let files = ["test", "validation"].map(|split| WantedFile::new(format!("data/{split}-*.parquet")).called(split));
    let commit = "f38ee8712c776ac49d99a846c2e06490aa660484";
    let origin = ServedFiles::hub("google/code_x_glue_tc_nl_code_search_adv", commit, files);
    DataSetFolder::new("codesearchnet/AdvTest", Conversion::Rows(rows), vec![origin])
}
