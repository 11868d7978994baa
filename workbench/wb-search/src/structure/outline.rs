//! The functions and classes of files, by the lines that define them.

use std::path::Path;

use serde::Serialize;
use wb_code::{ChunkKind, Language, items};

use crate::{Error, FolderFiles, Result, files::language_and_role};

/// A function or a class of an outline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutlineItem {
    /// Path of its file.
    pub path: String,
    /// First and last line, from 1, with attributes and the comment directly above.
    pub lines: [u32; 2],
    /// Function or class.
    pub kind: ChunkKind,
    /// Its name; empty where it has none.
    pub name: String,
    /// Items that it is inside of.
    pub depth: usize,
    /// The line that defines it, without its margin.
    pub signature: String,
}

/// The outline of a file, or of all files below a folder.
///
/// # Errors
///
/// If there is no such file or folder, or if the functions of the one file cannot be found.
pub fn outline(place: &Path) -> Result<Vec<OutlineItem>> {
    let is_file = place.is_file();
    let found = if is_file { FolderFiles::of_file(place)? } else { FolderFiles::of(place)? };
    let mut all = Vec::new();
    for file in &found.files {
        let Ok(text) = found.read(file) else { continue };
        let language = language_and_role(&file.path, &text).and_then(|(language, _)| Language::named(language));
        match language {
            Some(language) => all.extend(outline_of(&file.path, &text, language)),
            None if is_file => {
                let what = format!("{} is in no language whose functions can be found", place.display());
                return Err(Error::failed(what));
            }
            None => {}
        }
    }
    Ok(all)
}

/// The outline of a text.
pub(super) fn outline_of(path: &str, text: &str, language: Language) -> Vec<OutlineItem> {
    let lines: Vec<&str> = text.lines().collect();
    let mut around: Vec<u32> = Vec::new();
    let mut all = Vec::new();
    for item in items(text, language).unwrap_or_default() {
        around.retain(|end| *end >= item.lines[1]);
        let signature = lines.get(item.code_line as usize - 1).map_or("", |line| line.trim()).to_owned();
        let path = path.to_owned();
        all.push(OutlineItem {
            path,
            lines: item.lines,
            kind: item.kind,
            name: item.name,
            depth: around.len(),
            signature,
        });
        around.push(item.lines[1]);
    }
    all
}
