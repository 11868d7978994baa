//! Notebooks of both formats, votes, magics, and damaged files.

use std::fs;

use serde_json::{Value, json};
use tempfile::tempdir;

use super::super::tests::{get, texts};
use super::*;

const YAML: &str = "sources: [{ notebooks: { path: HERE, min_tokens: 3 } }]\nfilters: { min_chars: 1 }";

fn write(folder: &std::path::Path, name: &str, notebook: &Value) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, notebook.to_string()).unwrap();
}

fn cell(kind: &str, source: impl Into<Value>) -> Value {
    json!({ "cell_type": kind, "metadata": {}, "source": source.into(), "outputs": [{ "data": { "image/png": "AAAA" } }] })
}

fn v4(cells: &[Value]) -> Value {
    json!({ "nbformat": 4, "nbformat_minor": 5, "metadata": { "kernelspec": { "language": "python" } }, "cells": cells })
}

#[test]
fn code_with_the_markdown_before_it() {
    let here = tempdir().unwrap();
    let notebook = v4(&[
        cell("markdown", "# Title"),
        cell("markdown", json!(["Some *text*\n", "![x](data:image/png;base64,", "A".repeat(100), ") end"])),
        cell("code", json!(["%matplotlib inline\n", "import numpy as np\n", "x = np.ones(3)"])),
        cell("code", "y = x + 1"),
        cell("raw", "nothing"),
        cell("code", "z"),
        cell("code", ""),
        cell("code", "%%bash\nls -l | wc"),
        cell("code", "%%latex\n\\alpha + \\beta"),
    ]);
    write(here.path(), "a.ipynb", &notebook);
    let set = get(here.path(), YAML).unwrap();
    let expected = [
        ("notebooks:a.ipynb#cell3", "import numpy as np\nx = np.ones(3)", "# Title\n\nSome *text*\n![x](data:) end"),
        ("notebooks:a.ipynb#cell4", "y = x + 1", ""),
        ("notebooks:a.ipynb#cell8", "ls -l | wc", ""),
    ];
    assert_eq!(texts(&set), expected);
    assert_eq!((set.snippets[0].language.as_str(), set.snippets[2].language.as_str()), ("python", "shell"));
    assert_eq!(set.snippets[0].origin.group, "a.ipynb");
    let left_out: Vec<(&str, u64)> =
        set.card.sources[0].left_out.iter().map(|(reason, count)| (reason.as_str(), *count)).collect();
    assert_eq!(left_out, [("cell of %%latex", 1), ("cell under 3 tokens", 1), ("empty cell", 1), ("raw cell", 1)]);
    let keep = get(here.path(), &YAML.replace("min_tokens: 3", "min_tokens: 3, magics: keep")).unwrap();
    assert!(keep.snippets[0].text.starts_with("%matplotlib") && keep.snippets.len() == 4);
}

#[test]
fn cells_under_fifty_tokens_are_dropped_unless_told_otherwise() {
    let here = tempdir().unwrap();
    let words = |count: usize| (0..count).map(|at| format!("w{at}")).collect::<Vec<_>>().join(" ");
    write(here.path(), "a.ipynb", &v4(&[cell("code", words(49)), cell("code", words(50))]));
    let set = get(here.path(), "sources: [{ notebooks: { path: HERE } }]\nfilters: { min_chars: 1 }").unwrap();
    assert_eq!((set.snippets.len(), set.snippets[0].id.as_str()), (1, "notebooks:a.ipynb#cell2"));
    assert_eq!(set.card.sources[0].left_out["cell under 50 tokens"], 1);
}

#[test]
fn the_third_format_and_other_languages() {
    let here = tempdir().unwrap();
    let sheet = json!([{ "cells": [
        { "cell_type": "heading", "level": 2, "source": ["Load"] },
        { "cell_type": "code", "language": "julia", "input": ["x = [1, 2]\n", "% not magic"], "outputs": [] },
    ] }]);
    write(here.path(), "old.ipynb", &json!({ "nbformat": 3, "metadata": {}, "worksheets": sheet }));
    let set = get(here.path(), YAML).unwrap();
    assert_eq!(texts(&set), [("notebooks:old.ipynb#cell2", "x = [1, 2]\n% not magic", "## Load")]);
    assert_eq!(set.snippets[0].language, "julia");
}

#[test]
fn only_notebooks_with_votes() {
    let here = tempdir().unwrap();
    for (name, code) in
        [("0/11.ipynb", "a = b + 1"), ("0/12.ipynb", "a = b + 2"), ("13.ipynb", "a = b + 3"), ("14.ipynb", "a = b + 4")]
    {
        write(here.path(), name, &v4(&[cell("code", code)]));
    }
    let csv = "\u{feff}Id,CurrentKernelVersionId,TotalVotes,Author,License\n1,11,10,ann,Apache 2.0\n2,12,9,bob,\n3,13,2,eve,\n3,13,40,eve,\n5,99,1,,\n";
    fs::write(here.path().join("Kernels.csv"), csv).unwrap();
    let votes = "sources: [{ notebooks: { path: HERE, min_tokens: 3, votes: { path: HERE/Kernels.csv, license_column: License, group_column: Author } } }]\nfilters: { min_chars: 1 }";
    let set = get(here.path(), votes).unwrap();
    let kept: Vec<(&str, &str, &str)> =
        set.snippets.iter().map(|s| (s.id.as_str(), s.origin.group.as_str(), s.origin.license.as_str())).collect();
    assert_eq!(kept, [("notebooks:0/11.ipynb#cell1", "ann", "Apache 2.0"), ("notebooks:13.ipynb#cell1", "eve", "")]);
    let left_out = &set.card.sources[0].left_out;
    assert_eq!(
        (left_out["notebook under 10 votes"], left_out["notebook that the table of votes does not have"]),
        (1, 1)
    );

    let other = votes.replace("license_column: License", "votes_column: TotalVote");
    let error = get(here.path(), &other).unwrap_err();
    assert!(error.to_string().contains("Kernels.csv:1: no column `TotalVote`"), "{error}");
    assert_eq!(error.hint(), Some("did you mean `TotalVotes`?"));
    fs::write(here.path().join("Kernels.csv"), csv.replace(",9,", ",many,")).unwrap();
    let error = get(here.path(), votes).unwrap_err().to_string();
    assert!(error.ends_with("Kernels.csv:3: column `TotalVotes` is `many`, expected a number"), "{error}");
    let by_path = votes.replace("license_column: License", "key_column: Author, key: path");
    fs::write(here.path().join("Kernels.csv"), "Author,TotalVotes\n0/12.ipynb,11\n").unwrap();
    assert_eq!(get(here.path(), &by_path).unwrap().snippets.len(), 1);
}

#[test]
fn hostile_notebooks_are_errors_with_their_place_or_counted() {
    let deep = format!(
        "{{\"nbformat\":4,\"cells\":[{{\"cell_type\":\"code\",\"source\":{}{}}}]}}",
        "[".repeat(9000),
        "]".repeat(9000)
    );
    let deep_metadata = format!("{{\"nbformat\":4,\"cells\":[],\"x\":{}{}}}", "[".repeat(90_000), "]".repeat(90_000));
    for (content, part) in [
        (&b"{\"nbformat\": 4,\n \"cells\": [{"[..], "a.ipynb:2:12: the notebook ends inside its JSON"),
        (b"[]", "not a notebook"),
        (b"{}", "a.ipynb:1: no `nbformat`"),
        (b"{\"nbformat\": 5, \"cells\": []}", "got `nbformat` 5, expected 2, 3 or 4"),
        (b"{\"nbformat\": 4}", "no `cells`"),
        (
            b"{\"nbformat\": 4, \"cells\": [{\"cell_type\": \"code\", \"source\": [1]}]}",
            "a.ipynb: cell 1: the source is an array with something else",
        ),
        (b"{\"nbformat\": 4, \"cells\": [{\"source\": \"\"}]}", "cell 1: no `cell_type`"),
        (b"{\"nbformat\": 4,\n \"cells\": \"\xff\"}", "a.ipynb:2: byte 0xff is not UTF-8"),
        (b"\xff\xfe{\0", "UTF-16"),
        (deep.as_bytes(), "a.ipynb:1:"),
        (deep_metadata.as_bytes(), ""),
    ] {
        let here = tempdir().unwrap();
        fs::write(here.path().join("a.ipynb"), content).unwrap();
        write(here.path(), "b.ipynb", &v4(&[cell("code", "x = y + 1")]));
        match get(here.path(), YAML) {
            Err(error) => assert!(error.to_string().contains(part) && !part.is_empty(), "{error}"),
            Ok(set) => assert!(part.is_empty() && set.snippets.len() == 1, "{part}"),
        }
        let set = get(here.path(), &format!("{YAML}\non_bad: skip\nmax_bad_share: 0.6")).unwrap();
        assert_eq!(set.snippets.len(), 1, "{part}");
    }
    let here = tempdir().unwrap();
    write(here.path(), "a.ipynb", &v4(&[cell("code", "x = y + 1")]));
    fs::write(here.path().join("b.ipynb"), vec![b' '; 5000]).unwrap();
    let set = get(here.path(), &YAML.replace("min_tokens: 3", "min_tokens: 3, max_file_bytes: 4000")).unwrap();
    assert_eq!(set.card.sources[0].left_out["file over max_file_bytes"], 1);
}

#[test]
fn the_end_of_a_long_context_is_kept() {
    assert_eq!(last_chars("one\ntwo three\nfour", 10), "four");
    assert_eq!(last_chars("größe", 3), "öße");
    assert_eq!(last_chars("abc", 3), "abc");
    assert_eq!(last_chars("", 3), "");
}
