//! Functions and classes that use definitions, from one to the next.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;
use wb_code::{
    Language,
    structure::{
        EdgeClass, StructuredFile,
        file::{BindingId, BindingKind},
    },
};

use super::{
    graph::{ProjectGraph, SymbolPlace},
    usages::SymbolUsage,
};
use crate::{FileRole, Result};

/// A function or a class that uses another, with the lines at which it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SymbolUser {
    /// The function or the class; the file itself, where the usage stands in none.
    pub symbol: SymbolPlace,
    /// The surest of its usages.
    pub edge: EdgeClass,
    /// Lines, from 1.
    pub lines: Vec<u32>,
    /// Steps on the way from what was asked for, from 1.
    pub depth: usize,
    /// The name that it uses.
    pub through: String,
    /// True for tests.
    pub is_test: bool,
}

/// Usages that are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Followed {
    /// Calls alone.
    Calls,
    /// All but imports.
    Usages,
}

impl ProjectGraph {
    /// Functions that call definitions, and those that call these, up to `depth` calls away; the surest first at each depth.
    pub fn callers(&self, symbols: &[SymbolPlace], depth: usize) -> Result<Vec<SymbolUser>> {
        self.users(symbols, depth, Followed::Calls)
    }

    /// Functions and classes that use definitions, and those that use these, up to `depth` steps away; the surest first at each
    /// depth.
    pub fn users(&self, symbols: &[SymbolPlace], depth: usize, followed: Followed) -> Result<Vec<SymbolUser>> {
        let mut all: Vec<SymbolUser> = Vec::new();
        let mut seen: HashSet<SymbolPlace> = symbols.iter().cloned().collect();
        let mut now = symbols.to_vec();
        for step in 1..=depth {
            let found = self.users_of(&now, step, followed)?;
            let found: Vec<SymbolUser> = found.into_iter().filter(|user| seen.insert(user.symbol.clone())).collect();
            now.clear();
            // What is found by its name alone leads further from name to name, and to nowhere.
            let is_known = |user: &&SymbolUser| user.edge < EdgeClass::NameOnly && !user.symbol.name.is_empty();
            for SymbolUser { symbol, .. } in found.iter().filter(is_known).filter(|_| step < depth) {
                if !self.is_everywhere(symbol.own_name())? {
                    now.push(symbol.clone());
                }
            }
            all.extend(found);
            if now.is_empty() {
                break;
            }
        }
        Ok(all)
    }

    fn users_of(&self, symbols: &[SymbolPlace], depth: usize, followed: Followed) -> Result<Vec<SymbolUser>> {
        let names: HashMap<(usize, BindingId), &str> =
            symbols.iter().map(|symbol| ((symbol.file, symbol.binding), symbol.name.as_str())).collect();
        let is_followed = |is_call: bool, is_import: bool| match followed {
            Followed::Calls => is_call,
            Followed::Usages => !is_import,
        };
        let mut users: BTreeMap<(usize, Option<BindingId>), SymbolUser> = BTreeMap::new();
        for usage in self.usages(symbols)?.into_iter().filter(|usage| is_followed(usage.is_call, usage.is_import)) {
            let through = usage.of.and_then(|of| names.get(&of)).map_or("", |name| *name);
            let user = users.entry((usage.file, usage.around)).or_insert_with(|| self.user(&usage, depth, through));
            if usage.edge < user.edge {
                (user.edge, user.through) = (usage.edge, through.to_owned());
            }
            user.lines.push(usage.line);
        }
        let mut found: Vec<SymbolUser> = users.into_values().collect();
        found.iter_mut().for_each(|user| {
            user.lines.sort_unstable();
            user.lines.dedup();
        });
        found.sort_by(|one, other| (one.edge, &one.symbol).cmp(&(other.edge, &other.symbol)));
        Ok(found)
    }

    /// The user at a usage, without its lines: the definition around it; the file, where there is none.
    pub(super) fn user(&self, usage: &SymbolUsage, depth: usize, through: &str) -> SymbolUser {
        let symbol = match usage.around {
            Some(binding) => self.place(usage.file, binding),
            None => self.top_of(usage.file),
        };
        let (is_test, edge, lines) = (self.is_test(&symbol), usage.edge, Vec::new());
        SymbolUser { symbol, edge, lines, depth, through: through.to_owned(), is_test }
    }

    /// A file as a whole.
    pub(super) fn top_of(&self, file: usize) -> SymbolPlace {
        let StructuredFile { path, structure, .. } = &self.project.files()[file];
        let (path, binding) = (path.clone(), structure.module.unwrap_or(BindingId(0)));
        SymbolPlace { path, line: 1, name: String::new(), kind: BindingKind::Module, file, binding }
    }

    /// True for what stands in a file of tests, or in a module of them in a file of Rust.
    pub fn is_test(&self, symbol: &SymbolPlace) -> bool {
        let is_in_tests = || {
            let mut around = symbol.name.split('.').rev().skip(usize::from(symbol.kind != BindingKind::Module));
            around.any(|name| matches!(name, "test" | "tests"))
        };
        let is_rust = self.project.files()[symbol.file].language == Language::Rust;
        self.role_of(&symbol.path) == Some(FileRole::Test) || (is_rust && is_in_tests())
    }
}
