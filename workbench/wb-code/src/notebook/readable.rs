//! A notebook as a source of as many lines as its file has: code where it stands, Markdown as comments, nothing else.
//!
//! Cells begin as the percent format of Spyder, VS Code and Jupytext has it, `# %%`, on the line that opens their source.

use serde_json::Value;

use super::{
    magics,
    parse::{Cell, CellKind, Notebook, NotebookFault},
    without_data,
};

/// Begins a cell, behind the sign of a comment and a space.
pub const CELL: &str = "%%";
/// Stands before the name of the language, in the first line, behind the sign of a comment.
const LANGUAGE: &str = "language: ";
/// Stands before IPython's commands, which are comments here; people write one space.
const COMMAND: &str = "#  ";
/// Separates lines that the file has in one: no end of a line to Rust, white space to grammars.
const INNER: &str = "\r";

/// True for the path of a notebook.
pub fn is_notebook(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| ending.eq_ignore_ascii_case("ipynb"))
}

/// The language of a notebook that [`readable`] made readable.
pub fn language_of(readable: &str) -> &str {
    let first = readable.lines().next().unwrap_or_default();
    first.split_once(LANGUAGE).map_or("python", |(_, name)| name)
}

/// The code and the prose of a notebook, each on its line of the file.
///
/// IPython's commands, and cells that are handed to another language, are comments too.
///
/// # Errors
///
/// If it is no notebook, or one whose cells share a line, as where the whole file is one.
pub fn readable(text: &str) -> Result<String, NotebookFault> {
    let notebook = Notebook::parse(text.strip_prefix('\u{feff}').unwrap_or(text))?;
    let raw: Vec<&str> = text.lines().collect();
    let comment = comment_of(&notebook.language);
    let mut lines = vec![String::new(); raw.len()];
    let mut from = 0;
    for cell in notebook.cells.iter().flatten().filter(|cell| !cell.source.trim().is_empty()) {
        let Some(place) = SourcePlace::find(&raw, from, &cell.source) else {
            let message = "its cells do not stand on lines of their own".to_owned();
            return Err(NotebookFault { place: (from + 1).to_string(), reason: "cells share lines", message });
        };
        let kind = match cell.kind {
            CellKind::Code => "",
            CellKind::Text => " [markdown]",
            CellKind::Other => " [raw]",
        };
        if let Some(line) = lines.get_mut(place.mark).filter(|line| line.is_empty()) {
            *line = format!("{comment} {CELL}{kind}");
        }
        let mut shown = shown(cell, &notebook.language, comment).into_iter();
        for (line, pieces) in lines[place.first..].iter_mut().zip(&place.pieces) {
            *line = shown.by_ref().take(*pieces).collect::<Vec<_>>().join(INNER);
        }
        from = place.first + place.pieces.len();
    }
    if notebook.language != "python" && lines.first().is_some_and(String::is_empty) {
        lines[0] = format!("{comment} {LANGUAGE}{}", notebook.language);
    }
    Ok(lines.join("\n"))
}

/// The code of a cell of a readable notebook, by its lines, as [`super::without_magics`] leaves it.
pub fn code_of(lines: &[&str]) -> String {
    let lines = lines.iter().flat_map(|line| line.split(INNER));
    let code: Vec<&str> = lines.filter(|line| !line.starts_with(COMMAND)).collect();
    code.join("\n").trim_matches('\n').trim_end().to_owned()
}

/// The lines of a cell as they are shown.
fn shown(cell: &Cell, language: &str, comment: &str) -> Vec<String> {
    let commented = |line: &str| format!("{comment} {line}").trim_end().to_owned();
    match cell.kind {
        CellKind::Text => without_data(&cell.source).lines().map(commented).collect(),
        CellKind::Other => Vec::new(),
        CellKind::Code if language != "python" => cell.source.lines().map(str::to_owned).collect(),
        CellKind::Code => {
            let is_python = magics::without_magics(&cell.source).is_ok_and(|(language, _)| language == "python");
            let line = |(line, is_magic): (&str, bool)| {
                let line = line.trim_end_matches(['\n', '\r']);
                match is_magic || line.starts_with("%%") {
                    true => format!("{COMMAND}{line}"),
                    false if !is_python => commented(line),
                    false => line.to_owned(),
                }
            };
            magics::lines(&cell.source).map(line).collect()
        }
    }
}

/// The sign that begins a comment of one line.
pub fn comment_of(language: &str) -> &'static str {
    match language {
        "python" | "r" | "julia" | "ruby" | "perl" | "shell" | "bash" | "elixir" => "#",
        "sql" | "haskell" | "lua" => "--",
        _ => "//",
    }
}

/// The lines of a file that hold a cell's source.
struct SourcePlace {
    /// The line to mark as its beginning.
    mark: usize,
    /// The first line with text of it.
    first: usize,
    /// Numbers of its lines on each line from there.
    pieces: Vec<usize>,
}

impl SourcePlace {
    /// The first place from a line on.
    fn find(raw: &[&str], from: usize, source: &str) -> Option<Self> {
        (from..raw.len()).find_map(|at| Self::at(raw, at, source))
    }

    fn at(raw: &[&str], at: usize, source: &str) -> Option<Self> {
        let line = raw[at].trim();
        let rest = line.strip_prefix("\"source\":").or_else(|| line.strip_prefix("\"input\":"))?.trim();
        let bare = |line: &str| line.trim().trim_end_matches(',').to_owned();
        if rest == "[" {
            let pieces: Vec<String> =
                raw[at + 1..].iter().map_while(|line| serde_json::from_str(&bare(line)).ok()).collect();
            return holds(&pieces.concat(), source).then(|| Self {
                mark: at,
                first: at + 1,
                pieces: pieces.iter().map(|piece| piece.lines().count()).collect(),
            });
        }
        let text = match serde_json::from_str(&bare(rest)).ok()? {
            Value::String(text) => text,
            Value::Array(pieces) => pieces.iter().filter_map(Value::as_str).collect(),
            _ => return None,
        };
        let pieces = vec![text.lines().count()];
        // The line before it has something else of the cell, which is not shown.
        holds(&text, source).then(|| Self { mark: at.saturating_sub(1), first: at, pieces })
    }
}

/// True for the text of a source; a heading's has its signs before it.
fn holds(text: &str, source: &str) -> bool {
    let text = text.replace("\r\n", "\n");
    text == source || source.strip_suffix(text.as_str()).is_some_and(|sign| sign.trim_start_matches('#') == " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTEBOOK: &str = r###"{
 "cells": [
  {
   "cell_type": "markdown",
   "metadata": {},
   "source": [
    "## Load\n",
    "![x](data:image/png;base64,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA)"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 1,
   "outputs": [
    { "output_type": "stream", "text": [
    "x = 1\n"
    ] }
   ],
   "source": [
    "%matplotlib inline\n",
    "def load(path):\n",
    "    return open(path)"
   ]
  },
  {
   "cell_type": "code",
   "source": "%%bash\nls -l"
  },
  {
   "cell_type": "code",
   "source": ["x = 1\n", "y = 2"]
  }
 ],
 "metadata": {},
 "nbformat": 4
}"###;

    #[test]
    fn each_line_of_code_stands_where_it_is_in_the_file() {
        let text = readable(NOTEBOOK).unwrap();
        let found: Vec<(usize, &str)> = (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty()).collect();
        let expected = [
            (6, "# %% [markdown]"),
            (7, "# ## Load"),
            (8, "# ![x](data:)"),
            (19, "# %%"),
            (20, "#  %matplotlib inline"),
            (21, "def load(path):"),
            (22, "    return open(path)"),
            (26, "# %%"),
            (27, "#  %%bash\r# ls -l"),
            (30, "# %%"),
            (31, "x = 1\ry = 2"),
        ];
        assert_eq!(found, expected);
        assert_eq!(text.split('\n').count(), NOTEBOOK.lines().count());
        assert_eq!(language_of(&text), "python");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(code_of(&lines[19..22]), "def load(path):\n    return open(path)");
        assert_eq!(code_of(&lines[30..]), "x = 1\ny = 2");
    }

    #[test]
    fn a_notebook_on_one_line_is_none_with_lines() {
        let one = NOTEBOOK.replace('\n', " ");
        assert_eq!(readable(&one).unwrap_err().reason, "cells share lines");
        assert_eq!(readable(&format!("\u{feff}{NOTEBOOK}")), readable(NOTEBOOK));
        assert_eq!(readable("{").unwrap_err().reason, "cut off");
    }

    #[test]
    fn another_language_is_named_in_the_first_line() {
        let julia = NOTEBOOK
            .replace("\"metadata\": {},\n \"nb", "\"metadata\": {\"kernelspec\": {\"language\": \"julia\"}},\n \"nb");
        let text = readable(&julia).unwrap();
        assert_eq!((text.lines().next(), language_of(&text)), (Some("# language: julia"), "julia"));
        assert!(text.contains("\n%matplotlib inline\n"));
    }

    #[test]
    fn paths_of_notebooks() {
        assert!(is_notebook("a/b.ipynb") && is_notebook("B.IPYNB") && !is_notebook("ipynb") && !is_notebook("a.py"));
    }
}
