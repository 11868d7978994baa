//! Files of code in any of the twenty languages, told by their endings and cut to pieces: no grammar is needed.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_code::{CODE_LANGUAGES, CodeLanguage};
use wb_core::{Origin, Progress};

use super::{
    Result, Snippet,
    cut::{CutConfig, cut},
    files::{self, FileGroup},
    source::{SnippetSource, Take},
    tree::lines,
};
use crate::languages;

/// Files to read, and how they are cut.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FileSnippets {
    /// A folder of sources, subfolders too.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub path: PathBuf,
    /// Languages to read; empty for all twenty.
    pub languages: Vec<String>,
    /// Larger files are left out: most are generated.
    pub max_file_bytes: u64,
    /// Unit that must not be split between training and test.
    pub group: FileGroup,
    /// Pieces that files are cut to.
    pub cut: CutConfig,
}

impl Default for FileSnippets {
    fn default() -> Self {
        Self {
            path: PathBuf::new(),
            languages: Vec::new(),
            max_file_bytes: 1 << 20,
            group: FileGroup::TopFolder,
            cut: CutConfig::default(),
        }
    }
}

impl SnippetSource for FileSnippets {
    fn kind(&self) -> &'static str {
        "files"
    }

    fn place(&self) -> String {
        format!("files {}", self.path.display())
    }

    fn validate(&self, key: &str) -> wb_core::Result<()> {
        files::validate(&self.path, self.max_file_bytes, key)?;
        for name in &self.languages {
            languages::check(name, &format!("{key}.languages"), format!("`{name}` is an unknown language"))?;
        }
        self.cut.validate(&format!("{key}.cut"))
    }

    fn each(&self, take: &mut Take<'_>, progress: &mut dyn FnMut(Progress)) -> Result<()> {
        let is_wanted = |name: &str| {
            languages::known(name).is_some()
                && (self.languages.is_empty() || self.languages.iter().any(|wanted| wanted == name))
        };
        let wanted = CODE_LANGUAGES.iter().filter(|language| is_wanted(language.name));
        let endings: Vec<String> =
            wanted.flat_map(|language| language.endings).map(|ending| format!(".{ending}")).collect();
        let endings: Vec<&str> = endings.iter().map(String::as_str).collect();
        let files = files::list(&self.path, &endings, take)?;
        for (done, file) in files.iter().enumerate() {
            progress(Progress::new("reading snippets", done, files.len()));
            let ending = file.relative.rsplit_once('.').map_or("", |(_, ending)| ending);
            let Some(language) = CodeLanguage::with_ending(ending).filter(|known| is_wanted(known.name)) else {
                take.leave_out("file of another kind", 1);
                continue;
            };
            let Some(text) = file.read(self.max_file_bytes, take)? else { continue };
            let origin = file.origin(self.group, &self.path);
            for piece in cut(&text, take.tokens, self.cut) {
                let lines = lines(&text, piece.start, piece.end);
                take.snippet(Snippet {
                    id: format!("{}#L{}-L{}", file.relative, lines[0], lines[1]),
                    language: language.name.to_owned(),
                    text: text[piece].to_owned(),
                    origin: Origin { lines, ..origin.clone() },
                    ..Snippet::default()
                });
            }
        }
        Ok(())
    }
}
