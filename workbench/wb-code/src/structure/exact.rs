//! Names whose meaning is known for sure: an indexer that knows the language's types has written it down.
//!
//! They replace what our own rules say of the same name. A symbol counts only while all files that define it are as the
//! indexer saw them; of any other name, our own rules are asked.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    ops::Range,
};

use super::{
    file::{Binding, BindingId, BindingKind, FileStructure, Heirs, NameSpace, Reference, ScopeId, Value, ValueId},
    scip::{ScipSymbol, SymbolSpan},
};

/// The names of files, by their paths, and the symbols that they stand for.
#[derive(Debug, Default)]
pub struct ExactNames {
    files: HashMap<String, Vec<SymbolSpan>>,
    symbols: Vec<ScipSymbol>,
    /// Paths and places at which each symbol is defined.
    defined: HashMap<u32, Vec<(String, Range<u32>)>>,
    /// Symbols that are also defined where something else is by now.
    doubtful: HashSet<u32>,
}

impl ExactNames {
    /// Names of the files that are as they were, in the order of their bytes, and the symbols that other files define.
    pub fn new(files: HashMap<String, Vec<SymbolSpan>>, symbols: Vec<ScipSymbol>, doubtful: HashSet<u32>) -> Self {
        let mut defined: HashMap<u32, Vec<(String, Range<u32>)>> = HashMap::new();
        for (path, spans) in &files {
            for one in spans.iter().filter(|it| it.is_definition) {
                defined.entry(one.symbol).or_default().push((path.clone(), one.span.clone()));
            }
        }
        defined
            .values_mut()
            .for_each(|places| places.sort_by(|one, other| (&one.0, one.1.start).cmp(&(&other.0, other.1.start))));
        Self { files, symbols, defined, doubtful }
    }

    /// Paths of the files, in order.
    pub fn paths(&self) -> BTreeSet<&str> {
        self.files.keys().map(String::as_str).collect()
    }

    /// Names of a file, in the order of their bytes; none of one that is not known.
    pub fn of_file(&self, path: &str) -> &[SymbolSpan] {
        self.files.get(path).map(Vec::as_slice).unwrap_or_default()
    }

    /// The symbols that a place of a file refers to or defines; none where it names nothing that is sure.
    pub fn at(&self, path: &str, span: &Range<u32>) -> Vec<u32> {
        let all = self.of_file(path);
        let from = all.partition_point(|it| (it.span.start, it.span.end) < (span.start, span.end));
        let here: Vec<u32> = all[from..].iter().take_while(|it| it.span == *span).map(|it| it.symbol).collect();
        // A symbol of the document that it does not define is an indexer's name for something that it does not follow.
        let is_sure = |symbol: &u32| {
            !self.doubtful.contains(symbol)
                && (self.defined.contains_key(symbol) || !self.symbols[*symbol as usize].is_local)
        };
        match here.iter().all(|symbol| !self.doubtful.contains(symbol)) {
            true => here.into_iter().filter(is_sure).collect(),
            false => Vec::new(),
        }
    }

    /// Paths and places at which a symbol is defined; none where that is outside of the project.
    pub fn definitions(&self, symbol: u32) -> &[(String, Range<u32>)] {
        self.defined.get(&symbol).map(Vec::as_slice).unwrap_or_default()
    }

    /// A file's structure with the places that the indexer knows and our own rules do not.
    #[must_use]
    pub fn complete(&self, path: &str, mut structure: FileStructure) -> FileStructure {
        let names = self.of_file(path);
        if names.is_empty() {
            return structure;
        }
        let bound: HashMap<Range<u32>, BindingId> =
            structure.bindings.iter().zip(0..).map(|(it, at)| (it.span.clone(), BindingId(at))).collect();
        let referred: HashSet<Range<u32>> = structure.references.iter().map(|it| it.span.clone()).collect();
        let scopes: HashMap<BindingId, ScopeId> = structure
            .scopes
            .iter()
            .zip(0..)
            .flat_map(|(scope, at)| scope.names.iter().map(move |(_, it)| (*it, ScopeId(at))))
            .collect();
        let mut before: Vec<(u32, ScopeId)> = structure.references.iter().map(|it| (it.span.start, it.scope)).collect();
        before.sort_by_key(|it| it.0);
        for SymbolSpan { span, line, symbol, is_definition } in names {
            if span.is_empty() {
                // A file without a statement is a file.
                if *is_definition && structure.module.is_none() {
                    structure.bindings.push(lone_binding("", BindingKind::Module, span.clone(), *line));
                    structure.module = Some(BindingId(structure.bindings.len() as u32 - 1));
                }
                continue;
            }
            if *is_definition && !bound.contains_key(span) {
                let ScipSymbol { name, kind, .. } = &self.symbols[*symbol as usize];
                structure.bindings.push(lone_binding(name, *kind, span.clone(), *line));
            } else if !is_definition && !referred.contains(span) {
                let near = before.partition_point(|it| it.0 <= span.start).checked_sub(1);
                let near = near.and_then(|at| before.get(at)).map(|it| it.1);
                let scope = bound.get(span).and_then(|it| scopes.get(it)).copied().or(near).unwrap_or(ScopeId(0));
                structure.values.push(Value::Opaque);
                let value = ValueId(structure.values.len() as u32 - 1);
                structure.references.push(Reference { span: span.clone(), line: *line, scope, value });
            }
        }
        structure
    }
}

/// A binding that no scope has.
fn lone_binding(name: &str, kind: BindingKind, span: Range<u32>, line: u32) -> Binding {
    Binding {
        name: name.into(),
        kind,
        space: NameSpace::ANY,
        span,
        line,
        value: None,
        declared: None,
        of_instance: false,
        heirs: Heirs::default(),
        is_alias: false,
        block: None,
    }
}
