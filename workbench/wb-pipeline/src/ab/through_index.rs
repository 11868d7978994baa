//! An arm of the A/B experiment as `wb search` finds it: snippets as cells of files, an index of them, and its ranking.

use std::{collections::BTreeMap, fmt::Write, fs, sync::Arc};

use anyhow::Result;
use wb_bench::{AbArm, AbQuery, BenchContestant};
use wb_code::{
    Language,
    notebook::{CELL, comment_of},
};
use wb_core::{
    Error, Progress,
    records::annotation::{Annotation, AnnotationsByText},
};
use wb_search::{
    CodeIndex, FolderFiles, PartedQuestion, ProjectAnnotations, RankingWeights, SearchQuestion, VectorEncoder,
    VectorStore, build, units::TOGETHER, vectors::embed,
};
use wb_synth::Snippet;

/// A file of cells, and the lines of each snippet in it.
#[derive(Default)]
struct CellFile<'s> {
    text: String,
    lines: u32,
    snippets: Vec<([u32; 2], &'s str)>,
}

impl<'s> CellFile<'s> {
    /// Adds a snippet behind those that are there, the context as a cell of prose above it.
    fn add(&mut self, snippet: &'s Snippet) {
        let sign = comment_of(&snippet.language);
        let first = self.lines + 1;
        let mut line = |text: &str| {
            let _ = writeln!(self.text, "{text}");
            self.lines += 1;
        };
        if !snippet.context.is_empty() {
            line(&format!("{sign} {CELL} [markdown]"));
            snippet.context.lines().for_each(|text| line(format!("{sign} {text}").trim_end()));
        }
        line(&format!("{sign} {CELL}"));
        snippet.text.lines().for_each(line);
        self.snippets.push(([first, self.lines], &snippet.id));
    }
}

/// Searches the snippets with all queries; `annotations` are theirs by position, or none at all.
pub(super) fn search(
    name: &str,
    contestant: &BenchContestant<'_>,
    queries: &[AbQuery],
    snippets: &[Snippet],
    annotations: &[Option<Annotation>],
    progress: &mut dyn FnMut(Progress),
) -> Result<AbArm> {
    let mut files: BTreeMap<String, CellFile<'_>> = BTreeMap::new();
    for (number, snippet) in snippets.iter().enumerate() {
        files.entry(file_name(snippet, number)).or_default().add(snippet);
    }
    let folder = tempfile::tempdir().map_err(Error::io("create", &std::env::temp_dir()))?;
    let root = folder.path().join("snippets");
    for (path, file) in &files {
        let path = root.join(path);
        let parent = path.parent().unwrap_or(&root);
        fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
        fs::write(&path, &file.text).map_err(Error::io("write", &path))?;
    }
    let mut found = FolderFiles::of(&root)?;
    let said = snippets.iter().zip(annotations);
    let said = said.filter_map(|(snippet, said)| Some((snippet.text.as_str(), said.clone()?)));
    let said = AnnotationsByText::from_iter(said);
    found.annotations = (!said.is_empty()).then(|| Arc::new(ProjectAnnotations::new(said)));
    let mut index = build(found, &mut |_| {})?.0;
    if let BenchContestant::Encoder(encoder) = contestant {
        let made_by = VectorEncoder::of(&encoder.name(), String::new(), *encoder);
        let store = VectorStore::below(&folder.path().join("vectors"), made_by);
        let (vectors, _) = embed(&index, None, &store, *encoder, progress)?;
        index.set_vectors(vectors);
    }
    let weights = RankingWeights::shipped()?;
    let ranking = |query: &AbQuery| -> Result<(String, Vec<String>)> {
        let mut asked = PartedQuestion::whole(SearchQuestion::new(&query.text));
        if let BenchContestant::Encoder(encoder) = contestant {
            asked.embed(*encoder)?;
        }
        Ok((query.id.clone(), ids(&index, &asked, &weights, &files)?))
    };
    let rankings = queries.iter().map(ranking).collect::<Result<_>>()?;
    Ok(AbArm { name: name.to_owned(), rankings })
}

/// The snippets that are found, best first. A unit can hold several small ones.
fn ids(
    index: &CodeIndex,
    asked: &PartedQuestion,
    weights: &RankingWeights,
    files: &BTreeMap<String, CellFile<'_>>,
) -> Result<Vec<String>> {
    let mut ids: Vec<String> = Vec::new();
    // More than are wanted, as several units can be of one snippet.
    for unit in index.search_issue(asked, weights, 8 * AbArm::DEPTH)? {
        let here = files.get(&unit.path).into_iter().flat_map(|file| &file.snippets);
        for (lines, id) in here {
            if lines[0] <= unit.lines[1] && unit.lines[0] <= lines[1] && !ids.iter().any(|before| before == id) {
                ids.push((*id).to_owned());
            }
        }
    }
    ids.truncate(AbArm::DEPTH);
    Ok(ids)
}

/// The file that a snippet is put into, with the ending of its language: its own with others of it, but alone where it is so
/// small that it would be one unit with its neighbors.
fn file_name(snippet: &Snippet, number: usize) -> String {
    let path = if snippet.origin.path.is_empty() { "snippets" } else { &snippet.origin.path };
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '/') { c } else { '-' };
    let stem: String = stem.chars().map(plain).collect();
    let ending = Language::named(&snippet.language).and_then(|language| language.extensions().first());
    let alone =
        if snippet.text.len() + snippet.context.len() <= TOGETHER { format!("-{number}") } else { String::new() };
    format!("{}{alone}.{}", stem.trim_matches('/'), ending.unwrap_or(&"txt"))
}
