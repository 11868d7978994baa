//! Lines of a project's files as they are now, for answers that show them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use wb_core::untrusted::clean;

use super::graph::ProjectGraph;

/// A text with the ends of its lines.
type LinedText = (String, Vec<usize>);

/// Lines of files, each of which is read when somebody asks for one of its lines, and once.
pub(super) struct NowLines<'g> {
    graph: &'g ProjectGraph,
    files: Mutex<HashMap<String, Arc<OnceLock<LinedText>>>>,
}

impl<'g> NowLines<'g> {
    /// Lines of the files of a graph.
    pub fn of(graph: &'g ProjectGraph) -> Self {
        Self { graph, files: Mutex::default() }
    }

    /// A line by its number from 1, without its margin and without control characters; nothing where there is none.
    pub fn line(&self, path: &str, line: u32) -> String {
        let file = self.file(path);
        let (text, ends) = file.get_or_init(|| {
            let text = self.graph.text(path);
            let ends = memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]).collect();
            (text, ends)
        });
        let end_of = |line: u32| (line as usize).checked_sub(1).and_then(|at| ends.get(at).copied());
        let from = end_of(line.saturating_sub(1)).unwrap_or(0);
        end_of(line).and_then(|to| text.get(from..to)).map(|line| clean(line.trim())).unwrap_or_default()
    }

    fn file(&self, path: &str) -> Arc<OnceLock<LinedText>> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        match files.get(path) {
            Some(known) => known.clone(),
            None => files.entry(path.to_owned()).or_default().clone(),
        }
    }
}
