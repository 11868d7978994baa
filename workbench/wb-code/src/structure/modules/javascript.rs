//! Modules of JavaScript and TypeScript: paths, what `tsconfig.json` makes of them, packages by `package.json`.

use std::{collections::BTreeMap, path::Path};

use serde::Deserialize;

use super::{Modules, ancestors, folder, joined};
use crate::structure::project::Project;

/// Endings that are tried, in this order.
const ENDINGS: [&str; 8] = [".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts"];

/// The settings of a project by their folders.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// `package.json` by the package's name: folder, and the file that is meant by the name alone.
    packages: BTreeMap<String, (String, Option<String>)>,
    /// `compilerOptions` of `tsconfig.json`, by its folder.
    compilers: BTreeMap<String, CompilerOptions>,
}

#[derive(Debug, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct CompilerOptions {
    base_url: Option<String>,
    paths: BTreeMap<String, Vec<String>>,
    root_dirs: Vec<String>,
}

#[derive(Debug, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct TsConfig {
    compiler_options: CompilerOptions,
}

#[derive(Debug, Deserialize, Default)]
#[serde(default)]
struct PackageJson {
    name: Option<String>,
    main: Option<String>,
    module: Option<String>,
    types: Option<String>,
}

impl Settings {
    pub fn new(texts: &BTreeMap<String, String>) -> Self {
        let mut settings = Self::default();
        for (path, text) in texts {
            let within = folder(path);
            match path[within.len()..].trim_start_matches('/') {
                "tsconfig.json" | "jsconfig.json" => {
                    if let Some(TsConfig { compiler_options }) = read(text) {
                        settings.compilers.insert(within.to_owned(), compiler_options);
                    }
                }
                "package.json" => {
                    if let Some(PackageJson { name: Some(name), main, module, types }) = read(text) {
                        settings.packages.insert(name, (within.to_owned(), types.or(module).or(main)));
                    }
                }
                _ => {}
            }
        }
        settings
    }
}

/// JSON with remarks and commas too many, as these files have them.
fn read<T: serde::de::DeserializeOwned>(text: &str) -> Option<T> {
    let mut bare = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let skipped = match next {
            '"' => {
                let ends = |(at, c): (usize, char)| c == '"' && !rest[1..at].ends_with('\\');
                let end = rest.char_indices().skip(1).find(|it| ends(*it)).map_or(rest.len(), |(at, _)| at + 1);
                bare.push_str(&rest[..end]);
                end
            }
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            _ => {
                bare.push(if next == '\t' { ' ' } else { next });
                next.len_utf8()
            }
        };
        rest = &rest[skipped..];
    }
    // A flow of YAML may end in a comma, JSON may not.
    wb_core::config::from_text(&bare, Path::new("settings")).ok()
}

/// The file that a module's name means in a file.
pub(super) fn named(modules: &Modules, project: &Project, path: &str, module: &str) -> Option<u32> {
    let settings = &modules.javascript;
    let within = folder(path);
    if module.starts_with('.') {
        let wanted = joined(within, module)?;
        return file(project, &wanted).or_else(|| in_roots(settings, project, within, &wanted));
    }
    mapped(settings, project, within, module).or_else(|| in_package(settings, project, module))
}

/// The file of a path without ending, or the index of a folder.
fn file(project: &Project, path: &str) -> Option<u32> {
    let at = |path: &str| project.file_at(path).map(|at| at as u32);
    // `./a.js` may mean the source that it is made of.
    let bare = [".js", ".jsx", ".mjs", ".cjs"].iter().find_map(|ending| path.strip_suffix(ending));
    let with_endings = |path: &str| ENDINGS.iter().find_map(|ending| at(&format!("{path}{ending}")));
    let index = if path.is_empty() { "index".to_owned() } else { format!("{path}/index") };
    at(path).or_else(|| with_endings(path)).or_else(|| bare.and_then(with_endings)).or_else(|| with_endings(&index))
}

/// A path that lies in another one of `rootDirs`.
fn in_roots(settings: &Settings, project: &Project, within: &str, wanted: &str) -> Option<u32> {
    let (base, options) = compiler(settings, within)?;
    let roots: Vec<String> = options.root_dirs.iter().filter_map(|root| joined(base, root)).collect();
    let rest = roots.iter().find_map(|root| wanted.strip_prefix(root.as_str()))?;
    roots.iter().find_map(|root| file(project, &joined(root, rest)?))
}

/// A name that `paths` or `baseUrl` makes a path.
fn mapped(settings: &Settings, project: &Project, within: &str, module: &str) -> Option<u32> {
    let (base, options) = compiler(settings, within)?;
    let base_url = joined(base, options.base_url.as_deref().unwrap_or("."))?;
    // The pattern that says most of the name is taken.
    let fitting = options.paths.iter().filter_map(|(pattern, targets)| {
        let (before, after) = pattern.split_once('*').unwrap_or((pattern, ""));
        let star = module.strip_prefix(before)?.strip_suffix(after)?;
        (pattern.contains('*') || star.is_empty()).then_some((before.len(), star, targets))
    });
    if let Some((_, star, targets)) = fitting.max_by_key(|(length, ..)| *length) {
        let found = targets.iter().find_map(|target| file(project, &joined(&base_url, &target.replace('*', star))?));
        if found.is_some() {
            return found;
        }
    }
    options.base_url.as_ref().and_then(|_| file(project, &joined(&base_url, module)?))
}

/// A package of the project itself, or a file in it.
fn in_package(settings: &Settings, project: &Project, module: &str) -> Option<u32> {
    let (name, (root, main)) = settings.packages.iter().rev().find(|(name, _)| {
        module.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })?;
    let rest = module[name.len()..].trim_start_matches('/');
    let wanted = if rest.is_empty() { main.as_deref().unwrap_or("index") } else { rest };
    ["", "src", "lib"].iter().find_map(|sources| file(project, &joined(&joined(root, sources)?, wanted)?))
}

fn compiler<'s>(settings: &'s Settings, within: &str) -> Option<(&'s str, &'s CompilerOptions)> {
    ancestors(within).find_map(|folder| settings.compilers.get_key_value(folder)).map(|(path, it)| (path.as_str(), it))
}
