//! PyCG's micro-benchmark: programs of a few lines with the calls of each function in `callgraph.json`.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::{StructureCase, files_below};
use crate::{
    Error, Result,
    structure::{Project, Solver},
};

/// Asks all programs below a folder.
pub(super) fn measure(folder: &Path) -> Result<Vec<StructureCase>> {
    let files = files_below(folder)?;
    let mut cases = Vec::new();
    for graph in files.iter().filter(|path| path.file_name().is_some_and(|name| name == "callgraph.json")) {
        let within = graph.parent().unwrap_or(folder);
        let read = |path: &Path| std::fs::read_to_string(path).map_err(Error::io("read", path));
        let expected: BTreeMap<String, Vec<String>> =
            serde_json::from_str(&read(graph)?).map_err(|error| Error::json(graph, &error))?;
        let expected: BTreeSet<(String, String)> =
            expected.into_iter().flat_map(|(from, to)| to.into_iter().map(move |to| (from.clone(), to))).collect();
        let mut texts = Vec::new();
        for path in
            files.iter().filter(|path| path.starts_with(within) && path.extension().is_some_and(|it| it == "py"))
        {
            let name = path.strip_prefix(within).unwrap_or(path).to_string_lossy().into_owned();
            texts.push((name, read(path)?));
        }
        let project = Project::of_texts(texts.iter().map(|(path, text)| (path.as_str(), text.as_str())));
        let found = Solver::new(&project).with_callers().call_edges();
        let name = within.strip_prefix(folder).unwrap_or(within).to_string_lossy().into_owned();
        let mut parts = name.rsplit('/').skip(1);
        let category = parts.next().unwrap_or_default().to_owned();
        let wrong = expected.symmetric_difference(&found).map(|edge| {
            let sign = if found.contains(edge) { "too many" } else { "missing" };
            format!("{sign}: {} -> {}", edge.0, edge.1)
        });
        cases.push(StructureCase {
            name,
            category,
            right: expected.intersection(&found).count(),
            expected: expected.len(),
            answered: found.len(),
            answered_right: expected.intersection(&found).count(),
            exact_wrong: 0,
            wrong: wrong.collect(),
        });
    }
    Ok(cases)
}
