//! Python's modules: files and folders by their names with dots.

use super::{Modules, ancestors, folder, joined};
use crate::{Language, structure::project::Project};

/// Puts a file into the packages of its folders.
pub(super) fn register(modules: &mut Modules, at: usize, path: &str) {
    let within = folder(path);
    let stem = path[within.len()..].trim_start_matches('/').trim_end_matches(".pyi").trim_end_matches(".py");
    let package = modules.of_name(Language::Python, within) as usize;
    match stem {
        "__init__" => modules.packages[package].files.push(at),
        _ => _ = modules.packages[package].children.insert(stem.to_owned(), at as u32),
    }
    // And each folder into the one around it.
    let mut inner = within;
    while !inner.is_empty() {
        let outer = folder(inner);
        let name = inner[outer.len()..].trim_start_matches('/').to_owned();
        let child = modules.of_name(Language::Python, inner);
        let package = modules.of_name(Language::Python, outer);
        // A module wins over a folder of its name that is no package.
        modules.packages[package as usize].children.entry(name).or_insert(child);
        inner = outer;
    }
}

/// The package that `a.b` or `..c` means in a file.
pub(super) fn named(modules: &Modules, project: &Project, path: &str, module: &str) -> Option<u32> {
    let name = module.trim_start_matches('.');
    let dots = module.len() - name.len();
    if dots > 0 {
        let up = "../".repeat(dots - 1);
        return below(modules, &joined(folder(path), &up)?, name);
    }
    // A root of imports is a folder that is no package itself.
    let is_package = |folder: &str| project.file_at(&format!("{folder}/__init__.py")).is_some();
    let roots = ancestors(folder(path)).filter(|folder| folder.is_empty() || !is_package(folder));
    let further = ["src", "lib", "python"].into_iter();
    roots.chain(further).find_map(|root| below(modules, root, name))
}

fn below(modules: &Modules, root: &str, name: &str) -> Option<u32> {
    let mut package = *modules.by_name.get(&(Language::Python, root.to_owned()))?;
    for part in name.split('.').filter(|part| !part.is_empty()) {
        package = modules.below(package, part)?;
    }
    Some(package)
}
