//! Jupyter notebooks: each code cell with the Markdown before it.

mod votes;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_code::notebook::{Cell, CellKind, Notebook, NotebookFault, without_data, without_magics};
use wb_core::{Error, Origin, Progress};

use super::{
    Result, Snippet, files,
    files::{FileGroup, TextFile},
    source::{SnippetSource, Take, bad},
};
pub use votes::{VoteKey, VotesConfig};

/// Notebooks to read, and the cells to take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NotebookSnippets {
    /// An `.ipynb` file, or a folder of them, subfolders too.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub path: PathBuf,
    /// Larger files are left out: most of such a file are pictures in its outputs.
    pub max_file_bytes: u64,
    /// Unit that must not be split between training and test.
    pub group: FileGroup,
    /// Cells with fewer tokens are left out.
    pub min_tokens: usize,
    /// Lines of IPython's own commands (`%matplotlib inline`, `!pip install`, `df?`).
    pub magics: Magics,
    /// Characters of the Markdown before a cell at most; the end of it, which is nearest to the code, is kept.
    pub max_context_chars: usize,
    /// Only notebooks that people voted for.
    pub votes: Option<VotesConfig>,
}

impl Default for NotebookSnippets {
    fn default() -> Self {
        Self {
            path: PathBuf::new(),
            max_file_bytes: 64 << 20,
            group: FileGroup::File,
            min_tokens: 50,
            magics: Magics::Drop,
            max_context_chars: 2000,
            votes: None,
        }
    }
}

/// Treatment of IPython's own commands in cells of Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Magics {
    /// Lines of them are taken out; a cell that `%%` hands to another language has that language.
    #[default]
    Drop,
    /// Everything stays as it stands.
    Keep,
}

impl SnippetSource for NotebookSnippets {
    fn kind(&self) -> &'static str {
        "notebooks"
    }

    fn place(&self) -> String {
        format!("notebooks {}", self.path.display())
    }

    fn validate(&self, key: &str) -> wb_core::Result<()> {
        files::validate(&self.path, self.max_file_bytes, key)?;
        if self.max_context_chars == 0 {
            return Err(Error::value(format!("{key}.max_context_chars"), "got 0, expected 1 or more"));
        }
        self.votes.as_ref().map_or(Ok(()), |votes| votes.validate(&format!("{key}.votes")))
    }

    fn each(&self, take: &mut Take<'_>, progress: &mut dyn FnMut(Progress)) -> Result<()> {
        let files = files::list(&self.path, &[".ipynb"], take)?;
        let votes = match &self.votes {
            Some(config) => Some(config.read(&files, take)?),
            None => None,
        };
        for (done, file) in files.iter().enumerate() {
            progress(Progress::new("reading snippets", done, files.len()));
            let mut origin = file.origin(self.group, &self.path);
            if let Some(votes) = &votes {
                match votes.of(file) {
                    Ok(known) => known.tell(&mut origin),
                    Err(reason) => {
                        take.leave_out(reason, 1);
                        continue;
                    }
                }
            }
            let Some(text) = file.read(self.max_file_bytes, take)? else { continue };
            match Notebook::parse(&text) {
                Ok(notebook) => self.cells(file, notebook, &origin, take)?,
                Err(NotebookFault { place, reason, message }) => {
                    take.bad(bad(format!("{}:{place}", file.absolute.display()), reason, message))?;
                }
            }
        }
        Ok(())
    }
}

impl NotebookSnippets {
    fn cells(&self, file: &TextFile, notebook: Notebook, origin: &Origin, take: &mut Take<'_>) -> Result<()> {
        let mut context = String::new();
        for (number, cell) in notebook.cells.into_iter().enumerate() {
            match cell {
                Ok(Cell { kind: CellKind::Text, source }) => {
                    if !context.is_empty() {
                        context.push_str("\n\n");
                    }
                    context.push_str(without_data(&source).trim());
                }
                Ok(Cell { kind: CellKind::Code, source }) => {
                    let above = std::mem::take(&mut context);
                    self.code(Code { file, number: number + 1, source, above, own: &notebook.language }, origin, take);
                }
                Ok(Cell { kind: CellKind::Other, .. }) => take.leave_out("raw cell", 1),
                Err(what) => {
                    context.clear();
                    let place = format!("{}: cell {}", file.absolute.display(), number + 1);
                    take.bad(bad(place, "not a cell", what))?;
                }
            }
        }
        Ok(())
    }

    fn code(&self, code: Code<'_>, origin: &Origin, take: &mut Take<'_>) {
        let (language, text) = match (self.magics, code.own) {
            (Magics::Drop, "python") => match without_magics(&code.source) {
                Ok(python) => python,
                Err(magic) => return take.leave_out(format!("cell of {magic}"), 1),
            },
            _ => (code.own.to_owned(), code.source),
        };
        let text = text.trim_matches(['\n', '\r']).trim_end().to_owned();
        if text.is_empty() {
            return take.leave_out("empty cell", 1);
        }
        if take.tokens.count(&text) < self.min_tokens {
            return take.leave_out(format!("cell under {} tokens", self.min_tokens), 1);
        }
        take.snippet(Snippet {
            id: format!("{}#cell{}", code.file.relative, code.number),
            language,
            text,
            context: last_chars(&code.above, self.max_context_chars),
            origin: origin.clone(),
        });
    }
}

/// A code cell on its way.
struct Code<'a> {
    file: &'a TextFile,
    number: usize,
    source: String,
    above: String,
    own: &'a str,
}

/// The end of a text, from the beginning of a line where there is one.
fn last_chars(text: &str, chars: usize) -> String {
    let Some((at, _)) = text.char_indices().rev().nth(chars - 1).filter(|(at, _)| *at > 0) else {
        return text.to_owned();
    };
    let end = &text[at..];
    end.split_once('\n').map_or(end, |(_, rest)| rest).trim_start().to_owned()
}

#[cfg(test)]
mod tests;
