//! Annotations of cells and functions by a language model, for the units of an index that they are in.

use std::{
    fs,
    path::{Path, PathBuf},
};

use wb_code::{ChunkKind, Language, chunks, notebook::code_of};
use wb_core::{fingerprint::text_key, records::annotation::AnnotationsByText};

use crate::{CodeUnit, Error, Result, units::cells::cells};

/// A file of annotations, as `wb synth` writes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AnnotationFile {
    /// Its path, in full.
    pub path: PathBuf,
    /// [`text_key`] of it.
    pub key: [u64; 2],
}

impl AnnotationFile {
    /// A file as it is now.
    pub fn of(path: &Path) -> Result<Self> {
        let path = path.canonicalize().map_err(unread(path))?;
        let text = fs::read_to_string(&path).map_err(unread(&path))?;
        Ok(Self { key: text_key(&text), path })
    }
}

/// Annotations by the texts that they speak of, with their file.
#[derive(Debug, Clone)]
pub struct ProjectAnnotations {
    file: AnnotationFile,
    by_text: AnnotationsByText,
}

impl ProjectAnnotations {
    /// Annotations that are in no file.
    pub fn new(by_text: AnnotationsByText) -> Self {
        Self { file: AnnotationFile::default(), by_text }
    }

    /// Reads a file.
    pub fn load(file: AnnotationFile) -> Result<Self> {
        Ok(Self { by_text: AnnotationsByText::load(&file.path)?, file })
    }

    /// The file.
    pub fn file(&self) -> &AnnotationFile {
        &self.file
    }

    /// Gives the units of a file what was said of the cells, functions and classes that begin in them.
    pub(crate) fn annotate(&self, units: &mut [CodeUnit], text: &str, language: &str) {
        for (line, code) in annotated(text, language) {
            let Some(annotation) = self.by_text.of(&code) else { continue };
            let around = units.iter_mut().filter(|unit| (unit.lines[0]..=unit.lines[1]).contains(&line));
            if let Some(unit) = around.min_by_key(|unit| unit.lines[1] - unit.lines[0]) {
                let said = if unit.said.is_empty() { "" } else { "\n" };
                unit.said += &format!("{said}{}", annotation.text());
            }
        }
    }
}

/// Texts that may be annotated, each with its first line of code.
fn annotated(text: &str, language: &str) -> Vec<(u32, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let of_cell = |cell: &wb_code::CodeItem| {
        let [first, last] = [cell.code_line as usize, cell.lines[1] as usize];
        (cell.code_line, code_of(lines.get(first..last).unwrap_or_default()))
    };
    let mut found: Vec<(u32, String)> = cells(&lines).iter().map(of_cell).collect();
    let kinds = [ChunkKind::Function, ChunkKind::Class];
    let chunks = Language::named(language).and_then(|language| chunks(text, language, &kinds)).unwrap_or_default();
    found.extend(chunks.into_iter().map(|chunk| (chunk.lines[0], chunk.text)));
    found
}

fn unread(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |error| {
        let unread = Error::failed(format!("cannot read the annotations {}", path.display())).with_cause(error);
        unread.with_hint("`wb synth` writes annotations.jsonl; `wb index --annotations none` does without")
    }
}
