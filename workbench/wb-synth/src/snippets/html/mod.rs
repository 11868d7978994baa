//! HTML pages: scripts, styles, navigation and boilerplate taken out, code kept, the rest cut to pieces.

mod clean;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Error, Progress};

use super::{
    Result,
    cut::CutConfig,
    files::{self, FileGroup},
    markdown::give,
    page::PageCode,
    source::{SnippetSource, Take},
};
use clean::clean;

/// Pages to read, and how they are cleaned and cut.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HtmlSnippets {
    /// A file, or a folder of files that end in `.html`, `.htm` or `.xhtml`, subfolders too.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub path: PathBuf,
    /// Larger files are left out.
    pub max_file_bytes: u64,
    /// Unit that must not be split between training and test.
    pub group: FileGroup,
    /// Pieces that pages are cut to.
    pub cut: CutConfig,
    /// Treatment of code.
    pub code: PageCode,
    /// Elements with one of these words as a class or as their id are taken out, as boilerplate.
    pub drop_classes: Vec<String>,
    /// A paragraph or an entry of a list of which more than this share of the letters are links is taken out; 1 for none.
    pub max_link_share: f64,
}

impl Default for HtmlSnippets {
    fn default() -> Self {
        Self {
            path: PathBuf::new(),
            max_file_bytes: 8 << 20,
            group: FileGroup::File,
            cut: CutConfig::default(),
            code: PageCode::InText,
            drop_classes: DROP_CLASSES.map(str::to_owned).to_vec(),
            max_link_share: 0.6,
        }
    }
}

/// Classes that pages of documentation, blogs and question sites give to the parts that are not what the page is about.
const DROP_CLASSES: [&str; 37] = [
    "nav",
    "navbar",
    "navigation",
    "menu",
    "sidebar",
    "sphinxsidebar",
    "related",
    "breadcrumb",
    "breadcrumbs",
    "toc",
    "headerlink",
    "footer",
    "site-footer",
    "site-header",
    "page-footer",
    "page-header",
    "skip-link",
    "skip-to-content",
    "cookie",
    "cookie-banner",
    "cookie-consent",
    "banner",
    "ad",
    "ads",
    "advertisement",
    "sponsor",
    "social",
    "share",
    "share-buttons",
    "comments",
    "newsletter",
    "popup",
    "modal",
    "pagination",
    "linenos",
    "line-numbers",
    "gutter",
];

impl SnippetSource for HtmlSnippets {
    fn kind(&self) -> &'static str {
        "html"
    }

    fn place(&self) -> String {
        format!("html {}", self.path.display())
    }

    fn validate(&self, key: &str) -> wb_core::Result<()> {
        files::validate(&self.path, self.max_file_bytes, key)?;
        if !(0.0..=1.0).contains(&self.max_link_share) {
            let message = format!("got {}, expected a share from 0 to 1", self.max_link_share);
            return Err(Error::value(format!("{key}.max_link_share"), message));
        }
        self.cut.validate(&format!("{key}.cut"))
    }

    fn each(&self, take: &mut Take<'_>, progress: &mut dyn FnMut(Progress)) -> Result<()> {
        let files = files::list(&self.path, &[".html", ".htm", ".xhtml"], take)?;
        for (done, file) in files.iter().enumerate() {
            progress(Progress::new("reading snippets", done, files.len()));
            let Some(text) = file.read(self.max_file_bytes, take)? else { continue };
            let origin = file.origin(self.group, &self.path);
            let cleaned = clean(&text, &self.drop_classes, self.max_link_share);
            take.leave_out("paragraph of links", cleaned.links_dropped);
            give(file, &cleaned.page, self.code, self.cut, &origin, take);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
