//! Go's packages: files of one folder that say the same name, imported by their module's path and the folder.

use std::collections::BTreeMap;

use super::{Modules, ancestors, folder, joined};
use crate::{
    Language,
    structure::{lazy::StructureHead, project::StructuredFile},
};

/// First parts of the paths of the standard library, which no other module has.
const STANDARD: &str = " archive bufio builtin bytes cmp compress container context crypto database debug embed encoding \
    errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin reflect regexp \
    runtime slices sort strconv strings structs sync syscall testing text time unicode unique unsafe weak ";

/// The modules of a project, and its packages by their folders.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// `go.mod` by its folder.
    modules: BTreeMap<String, GoMod>,
    /// Packages that may be imported, by their folders: the name, the number of files, the package.
    folders: BTreeMap<String, BTreeMap<String, (usize, u32)>>,
}

/// A `go.mod`, as far as it says where packages lie.
#[derive(Debug, Default, PartialEq, Eq)]
struct GoMod {
    /// Path that imports of its packages begin with.
    path: String,
    /// Paths of modules that lie in folders below, or beside, that of the file.
    replaced: Vec<(String, String)>,
}

impl Settings {
    pub fn new(texts: &BTreeMap<String, String>) -> Self {
        let is_module = |(path, _): &(&String, &String)| path.rsplit('/').next() == Some("go.mod");
        let modules = texts.iter().filter(is_module).map(|(path, text)| (folder(path).to_owned(), GoMod::read(text)));
        Self { modules: modules.collect(), folders: BTreeMap::new() }
    }
}

impl GoMod {
    fn read(text: &str) -> Self {
        let mut module = Self::default();
        let mut block = "";
        for line in text.lines() {
            let line = line.split_once("//").map_or(line, |(line, _)| line);
            let mut words: Vec<&str> = line.split_whitespace().map(|word| word.trim_matches(['"', '`'])).collect();
            match words.as_slice() {
                [verb, "("] => block = verb,
                [")"] => block = "",
                _ => {
                    if !block.is_empty() {
                        words.insert(0, block);
                    }
                    match words.as_slice() {
                        ["module", path, ..] => module.path = (*path).to_owned(),
                        ["replace", from, .., "=>", to] if to.starts_with('.') => {
                            module.replaced.push(((*from).to_owned(), (*to).to_owned()));
                        }
                        _ => {}
                    }
                }
            }
        }
        module
    }
}

/// The name of the package of a file among those of a project: its folder, and what it calls itself.
pub(super) fn key(path: &str, head: &StructureHead) -> String {
    format!("{} {}", folder(path), head.package.as_deref().unwrap_or_default())
}

/// Puts a file into the package of its folder.
pub(super) fn register(modules: &mut Modules, at: usize, file: &StructuredFile) {
    let package = modules.of_name(Language::Go, &key(&file.path, &file.head));
    modules.packages[package as usize].files.push(at);
    let name = file.head.package.clone().unwrap_or_default();
    // Tests that see no more than others do are a package that nobody imports.
    if file.path.ends_with("_test.go") && name.ends_with("_test") {
        return;
    }
    let known = modules.go.folders.entry(folder(&file.path).to_owned()).or_default();
    known.entry(name).or_insert((0, package)).0 += 1;
}

/// The package that an import's path means in a file.
pub(super) fn named(modules: &Modules, path: &str, module: &str) -> Option<u32> {
    let settings = &modules.go;
    let within = folder(path);
    if module.starts_with('.') {
        return in_folder(settings, &joined(within, module)?);
    }
    let first = module.split('/').next().unwrap_or_default();
    let is_standard = STANDARD.contains(&format!(" {first} "));
    let own = ancestors(within).find_map(|folder| settings.modules.get_key_value(folder));
    let Some((root, own)) = own else {
        return if is_standard { None } else { by_end(settings, module) };
    };
    // The file's own module, those in place of others, all others of the project.
    let replaced = own.replaced.iter().filter_map(|(from, to)| Some((from.as_str(), joined(root, to)?)));
    let further = settings.modules.iter().map(|(folder, it)| (it.path.as_str(), folder.clone()));
    let all = std::iter::once((own.path.as_str(), root.clone())).chain(replaced).chain(further);
    let mut found: Vec<(usize, u32)> = Vec::new();
    for (path, folder) in all {
        let rest = match path {
            // The standard library's own modules.
            "std" => Some(module),
            _ => module.strip_prefix(path).filter(|rest| rest.is_empty() || rest.starts_with('/')),
        };
        let package = rest.filter(|_| !path.is_empty()).and_then(|rest| in_folder(settings, &joined(&folder, rest)?));
        found.extend(package.map(|package| (path.len(), package)));
    }
    // The first of the longest.
    let nearest = found.into_iter().reduce(|best, next| if next.0 > best.0 { next } else { best });
    let vendored =
        || ancestors(within).find_map(|folder| in_folder(settings, &joined(folder, &format!("vendor/{module}"))?));
    nearest.map(|(_, package)| package).or_else(vendored)
}

/// The package whose folder fits most of the end of an import's path, where no module says more.
fn by_end(settings: &Settings, module: &str) -> Option<u32> {
    let parts: Vec<&str> = module.split('/').collect();
    (0..parts.len()).find_map(|skipped| {
        let end = parts.get(skipped..)?.join("/");
        let fits = |folder: &&String| {
            folder.strip_suffix(&end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        // A single part says too little, unless it is a whole folder.
        let says_enough = |folder: &&String| skipped == 0 || parts.len() - skipped > 1 || **folder == end;
        let mut folders = settings.folders.keys().filter(fits).filter(says_enough);
        in_folder(settings, folders.next()?)
    })
}

/// The package of a folder that may be imported: not a program, unless there is nothing else.
fn in_folder(settings: &Settings, folder: &str) -> Option<u32> {
    let known = settings.folders.get(folder)?.iter();
    let best = known.max_by_key(|(name, (files, package))| (*name != "main", *files, std::cmp::Reverse(*package)));
    best.map(|(_, (_, package))| *package)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_says_its_path_and_what_it_replaces() {
        let text = "module \"example.com/a\" // a\n\ngo 1.20\nrequire (\n\tx.y/z v1.0.0\n)\nreplace x.y/z => ../z\nreplace (\n\tq v1 => ./q\n\tr => s.t/r v2\n)\n";
        let replaced = vec![("x.y/z".to_owned(), "../z".to_owned()), ("q".to_owned(), "./q".to_owned())];
        assert_eq!(GoMod::read(text), GoMod { path: "example.com/a".to_owned(), replaced });
    }
}
