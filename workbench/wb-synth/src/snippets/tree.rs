//! A tree of sources: whole files cut to pieces, functions, classes.

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_code::{ChunkKind, TreeConfig, TreeFile, TreeFiles, chunks, tree_files};
use wb_core::{Error, Origin, Progress};

use super::{
    Result, Snippet,
    cut::{CutConfig, cut},
    source::{SnippetSource, Take},
    tokens::TokenRule,
};

/// Sources to read, and what is taken out of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TreeSnippets {
    /// Files to read, as `data: source: tree` has it.
    pub files: TreeConfig,
    /// Units that are taken out of each file.
    pub units: Vec<Unit>,
    /// Pieces that `file`s are cut to; functions and classes are left whole.
    pub cut: CutConfig,
}

impl Default for TreeSnippets {
    fn default() -> Self {
        Self { files: TreeConfig::default(), units: vec![Unit::Function], cut: CutConfig::default() }
    }
}

/// Unit of a file of sources that is a snippet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// The whole file, cut to pieces.
    File,
    /// Functions and methods; the comment directly above is the context.
    Function,
    /// Classes, interfaces, traits, structures, enumerations, modules; the comment directly above is the context.
    Class,
}

/// The snippets of one file.
#[derive(Default)]
struct FileRead {
    found: Vec<Snippet>,
    left_out: Option<&'static str>,
}

/// Files that are read at once, so that memory does not depend on the tree.
const BATCH: usize = 256;

impl SnippetSource for TreeSnippets {
    fn kind(&self) -> &'static str {
        "tree"
    }

    fn place(&self) -> String {
        format!("tree {}", self.files.path.as_deref().unwrap_or("Cargo's registry"))
    }

    fn validate(&self, key: &str) -> wb_core::Result<()> {
        self.files.validate(&format!("{key}.files"))?;
        if self.units.is_empty() {
            let message = "got none, expected `file`, `function` or `class`";
            return Err(Error::value(format!("{key}.units"), message));
        }
        if let Some(at) = (1..self.units.len()).find(|at| self.units[..*at].contains(&self.units[*at])) {
            return Err(Error::value(format!("{key}.units"), format!("{:?} stands there twice", self.units[at])));
        }
        self.cut.validate(&format!("{key}.cut"))
    }

    fn each(&self, take: &mut Take<'_>, progress: &mut dyn FnMut(Progress)) -> Result<()> {
        let tree = tree_files(&self.files)?;
        for (reason, count) in &tree.skipped {
            take.leave_out(reason.clone(), *count);
        }
        for (at, batch) in tree.files.chunks(BATCH).enumerate() {
            progress(Progress::new("reading snippets", at * BATCH, tree.files.len()));
            let tokens = take.tokens;
            let read: Vec<FileRead> = batch.par_iter().map(|file| self.file(&tree, file, tokens)).collect();
            for file in read {
                match file.left_out {
                    Some(reason) => take.leave_out(reason, 1),
                    None => take.file(),
                }
                file.found.into_iter().for_each(|found| take.snippet(found));
            }
        }
        Ok(())
    }
}

impl TreeSnippets {
    fn file(&self, tree: &TreeFiles, file: &TreeFile, tokens: &dyn TokenRule) -> FileRead {
        let (language, source) = match tree.read(file) {
            Ok(read) => read,
            Err(reason) => return FileRead { left_out: Some(reason), ..FileRead::default() },
        };
        let mut read = FileRead::default();
        let mut push = |lines: [u32; 2], text: String, context: String| {
            read.found.push(Snippet {
                id: format!("{}#L{}-L{}", file.id, lines[0], lines[1]),
                language: language.name().to_owned(),
                text,
                context,
                origin: Origin { lines, ..file.origin.clone() },
            });
        };
        let mut kinds = Vec::new();
        for unit in &self.units {
            match unit {
                Unit::Function => kinds.push(ChunkKind::Function),
                Unit::Class => kinds.push(ChunkKind::Class),
                Unit::File => {
                    for piece in cut(&source, tokens, self.cut) {
                        let lines = lines(&source, piece.start, piece.end);
                        push(lines, source[piece].to_owned(), String::new());
                    }
                }
            }
        }
        if !kinds.is_empty() {
            let Some(chunks) = chunks(&source, language, &kinds) else {
                read.left_out = Some("parse failed");
                return read;
            };
            for chunk in chunks {
                push(chunk.lines, chunk.text, chunk.comment);
            }
        }
        read
    }
}

/// First and last line of a range, from 1.
pub(super) fn lines(text: &str, from: usize, to: usize) -> [u32; 2] {
    let line = |at: usize| {
        let before = text.get(..at).unwrap_or_default();
        u32::try_from(1 + before.bytes().filter(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX)
    };
    let end = from + text.get(from..to).unwrap_or_default().trim_end().len();
    [line(from), line(end)]
}
