//! Notebooks: found by their code and prose, with lines as they stand in the file, and by what was said of their cells.

use std::fs;

use serde_json::json;
use wb_core::records::annotation::AnnotationsByText;
use wb_search::{
    FileRole, FolderFiles, IndexPlace, LinePattern, RankingWeights, SearchAnswer, SearchQuestion, cut,
    structure::ProjectGraph,
};

use crate::{indexed, project, request, write};

/// A notebook as Jupyter writes it: a line of source on each line of the file.
fn notebook(cells: &[(&str, &str)]) -> String {
    let cell = |(kind, source): &(&str, &str)| {
        let source: Vec<&str> = source.split_inclusive('\n').collect();
        json!({ "cell_type": kind, "metadata": {}, "outputs": [{ "text": ["SMOTE\n"] }], "source": source })
    };
    let cells: Vec<_> = cells.iter().map(cell).collect();
    let all = json!({ "cells": cells, "metadata": { "kernelspec": { "language": "python" } }, "nbformat": 4 });
    serde_json::to_string_pretty(&all).unwrap()
}

const BALANCE: &str = "from imblearn.over_sampling import SMOTE\n\nsampler = SMOTE(random_state=1)\n\ndef balanced(x, y):\n    \
                       return sampler.fit_resample(x, y)\n\n# more of the same, so that the cell stands alone, as cells do that say enough\n";
const PLOT: &str = "%matplotlib inline\nimport matplotlib.pyplot as plt\n\nplt.bar(counts.index, counts.values)\nplt.title(\"rows of each class\")\nplt.show()\n";

fn churn() -> String {
    let long = format!("{BALANCE}{}", "print(balanced(features, labels))\n".repeat(12));
    notebook(&[
        ("markdown", "## Rare classes\nMake more of the rare class."),
        ("code", &long),
        ("markdown", "A picture."),
        ("code", &format!("{PLOT}{}", "plt.savefig(\"classes.png\")\n".repeat(12))),
    ])
}

#[test]
fn a_notebook_is_found_by_its_cells_and_its_lines_are_those_of_the_file() {
    let text = churn();
    let folder = project(&[("a/churn.ipynb", &text), ("one_line.ipynb", &text.replace('\n', " ")), ("b.ipynb", "{")]);
    let index = indexed(folder.path());
    let file = index.files().iter().find(|file| file.path == "a/churn.ipynb").unwrap();
    assert_eq!((file.role, file.language.as_str()), (FileRole::Example, "python"));
    let weights = RankingWeights { excerpt: None, ..RankingWeights::shipped().unwrap() };
    let answer = SearchAnswer::of(&index, &request("make more rows of the rare class", None), &weights);
    let answer = answer.unwrap();
    let first = &answer.answers[0];
    assert_eq!(
        (first.found.path.as_str(), first.found.names.as_slice()),
        ("a/churn.ipynb", &["balanced".to_owned()][..])
    );
    let raw: Vec<&str> = text.lines().collect();
    let [from, to] = first.found.lines.map(|line| line as usize);
    assert!(raw[from - 1].contains("\"source\": ["), "{}", raw[from - 1]);
    for (line, shown) in raw[from - 1..to].iter().zip(first.text.lines()) {
        let is_code = !shown.is_empty() && !shown.starts_with('#');
        assert!(
            !is_code || line.contains(&serde_json::to_string(shown).unwrap().trim_matches('"').to_owned()),
            "{line}"
        );
    }
    assert!(first.text.contains("# Make more of the rare class.") && !first.text.contains("outputs"));
    let example = answer.snippets();
    assert!(
        example.starts_with(&format!("### Example 1: a/churn.ipynb:{from}-{to}\n\n```python\n# ## Rare classes\n"))
    );
    assert!(!example.contains("%%") && !example.contains("\n\n\n"), "{example}");
    // What is no notebook with lines is left aside, and told.
    let mut found = FolderFiles::of(folder.path()).unwrap();
    found.files.retain(|file| file.path != "a/churn.ipynb");
    let reasons: Vec<_> = found.files.iter().map(|file| found.read(file).unwrap_err()).collect();
    assert_eq!(reasons, ["cut off", "cells share lines"]);
}

#[test]
fn patterns_look_into_the_file_as_it_is() {
    let folder = project(&[("churn.ipynb", &churn())]);
    let index = indexed(folder.path());
    let found = FolderFiles::of(folder.path()).unwrap();
    let lines = |pattern: &str| {
        let lines = index.matching_lines(&found, &LinePattern::new(pattern).unwrap(), &SearchQuestion::new(""));
        lines.unwrap().lines.len()
    };
    let text = churn();
    for pattern in ["SMOTE", "cell_type", "nbformat", "%matplotlib"] {
        assert_eq!(lines(pattern), text.lines().filter(|line| line.contains(pattern)).count(), "{pattern}");
    }
}

#[test]
fn definitions_in_notebooks_have_their_lines() {
    let folder = project(&[("churn.ipynb", &churn())]);
    let outside = tempfile::tempdir().unwrap();
    let place = IndexPlace::of(folder.path(), Some(outside.path().join("index"))).unwrap();
    let (mut update, _) = place.update(false, &mut |_| {}).unwrap();
    update.structures(&mut |_| {}).unwrap();
    let graph = ProjectGraph::open(update.keep().unwrap()).unwrap();
    let found = graph.definitions("balanced").unwrap();
    let line = 1 + churn().lines().position(|line| line.contains("def balanced")).unwrap() as u32;
    assert_eq!(found.iter().map(|place| place.line).collect::<Vec<_>>(), [line]);
}

#[test]
fn what_was_said_of_a_cell_finds_it_until_it_is_forgotten() {
    let folder = project(&[
        ("churn.ipynb", &churn()),
        ("lib.py", &format!("class A:\n    {}", BALANCE.replace('\n', "\n    "))),
    ]);
    let outside = tempfile::tempdir().unwrap();
    let index_file = outside.path().join("index");
    let mut place = IndexPlace::of(folder.path(), Some(index_file)).unwrap();
    let code = format!("{PLOT}{}", "plt.savefig(\"classes.png\")\n".repeat(12));
    let record = |text: &str, summary: &str| {
        let annotation = json!({ "summary": summary, "keywords": ["histogram"], "queries": ["how skewed is it"] });
        json!({ "id": "x", "text": AnnotationsByText::key(text), "annotation": annotation }).to_string()
    };
    // As `wb synth` reads the cell, without its command; and a method at its own margin.
    let lines = [
        record(code.strip_prefix("%matplotlib inline\n").unwrap(), "Draws the imbalance."),
        record("def balanced(x, y):\n    return sampler.fit_resample(x, y)", "Evens out."),
        record("elsewhere", "Nothing here."),
    ];
    let file = outside.path().join("annotations.jsonl");
    fs::write(&file, lines.join("\n")).unwrap();
    let weights = RankingWeights::shipped().unwrap();
    let ask = |place: &IndexPlace, text: &str| -> Vec<(String, String)> {
        let (index, _) = place.bring_up(false, &mut |_| {}).unwrap();
        let answer = SearchAnswer::of(&index, &request(text, None), &weights).unwrap();
        let said = answer.answers.into_iter().map(|unit| (unit.found.path, unit.said));
        said.collect()
    };
    assert_eq!(ask(&place, "skewed histogram"), []);
    place.annotations = Some(Some(file.clone()));
    let said = "Draws the imbalance.\nKeywords: histogram\nhow skewed is it";
    assert!(ask(&place, "draws imbalance").contains(&("churn.ipynb".to_owned(), said.to_owned())));
    let index = place.read().unwrap().unwrap();
    let snippets = || SearchAnswer::of(&index, &request("draws imbalance", None), &weights).unwrap().snippets();
    assert!(snippets().contains("\n\n```python\n# Draws the imbalance.\n# A picture.\n"), "{}", snippets());
    assert_eq!(ask(&place, "evens")[0].0, "lib.py");
    // The index keeps to it, also for a file that changes, and sees that the annotations have changed.
    place.annotations = None;
    assert_eq!(place.read().unwrap().unwrap().n_annotated(), 3, "the cell, and the function in both files");
    write(folder.path(), "other.py", "x = 1\n");
    assert_eq!(ask(&place, "draws imbalance").len(), 1);
    let anew = IndexPlace { alone: true, ..place.clone() };
    assert_eq!(anew.bring_up(true, &mut |_| {}).unwrap().0.n_annotated(), 3, "also anew, with other folders");
    fs::write(&file, lines[..1].join("\n")).unwrap();
    assert_eq!(ask(&place, "evens"), []);
    assert_eq!(ask(&place, "draws imbalance").len(), 1);
    fs::remove_file(&file).unwrap();
    let error = place.bring_up(false, &mut |_| {}).unwrap_err();
    assert!(error.hint().unwrap().contains("--annotations none"), "{error}");
    place.annotations = Some(None);
    assert_eq!(ask(&place, "draws imbalance"), []);
    assert_eq!(place.read().unwrap().unwrap().n_annotated(), 0);
}

#[test]
fn scripts_of_cells_are_cut_as_notebooks_are() {
    let lines = "value = compute(value)\n".repeat(30);
    let text = format!("# %% Load\n{lines}# %% Fit\n{lines}");
    assert_eq!(cut(&text, "python").iter().map(|unit| unit.lines).collect::<Vec<_>>(), [[1, 31], [32, 62]]);
}
