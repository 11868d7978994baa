//! Java's packages: all files that say the same name.

use super::Modules;
use crate::{Language, structure::project::StructuredFile};

/// Puts a file into its package, and that one into those around it.
pub(super) fn register(modules: &mut Modules, at: usize, file: &StructuredFile) {
    let name = file.head.package.as_deref().unwrap_or_default();
    let package = modules.of_name(Language::Java, name);
    modules.packages[package as usize].files.push(at);
    let mut inner = name;
    while let Some((outer, last)) = inner.rsplit_once('.') {
        let child = modules.of_name(Language::Java, inner);
        let around = modules.of_name(Language::Java, outer);
        modules.packages[around as usize].children.insert(last.to_owned(), child);
        inner = outer;
    }
    if !inner.is_empty() {
        let child = modules.of_name(Language::Java, inner);
        let root = modules.of_name(Language::Java, "");
        modules.packages[root as usize].children.insert(inner.to_owned(), child);
    }
}
