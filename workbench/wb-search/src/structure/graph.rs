//! A project's definitions and usages, of the structures that are kept beside its index; files that have changed since are
//! read as they are now.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use rayon::prelude::*;
use serde::Serialize;
use wb_code::{
    CodeItem, Language,
    structure::{
        EdgeClass, ExactNames, FileStructure, FileSymbols, LazyStructure, Project, SETTINGS, Solver, StructureHead,
        StructureSource, StructuredFile,
        file::{BindingId, BindingKind},
        lowers_by_rules, structure_of,
    },
};
use wb_core::fingerprint::text_key;

use super::{
    scip::{ScipCoverage, ScipStore},
    store::StructureStore,
};
use crate::{
    Changes, CodeIndex, Error, FileRole, FolderFiles, Result,
    files::{ProjectFile, language_and_role, text_below},
    parts::IndexPart,
    patterns::trigrams,
};

/// Files with a name, above which it is not followed to those who use what uses it.
const EVERYWHERE: usize = 400;

/// A definition.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct SymbolPlace {
    /// Path of its file.
    pub path: String,
    /// Line of its name, from 1.
    pub line: u32,
    /// Its name with those of what it is inside of: `Class.method`.
    pub name: String,
    /// Kind: function, class, module, variable, field.
    pub kind: BindingKind,
    /// Position of the file in the graph.
    #[serde(skip)]
    pub(super) file: usize,
    #[serde(skip)]
    pub(super) binding: BindingId,
}

impl SymbolPlace {
    /// Its name without those of what it is inside of.
    pub fn own_name(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or_default()
    }
}

/// Structures of the files of an index.
struct IndexStructures {
    store: Option<StructureStore>,
    /// The files as they are now.
    found: FolderFiles,
    files: Vec<([u64; 2], Language, String)>,
    /// Files that are not what they were.
    changed: HashSet<String>,
    failed: Mutex<Option<Error>>,
    exact: Arc<ExactNames>,
}

impl IndexStructures {
    /// The store, where it has a file as it is now.
    fn kept(&self, path: &str) -> Option<&StructureStore> {
        self.store.as_ref().filter(|_| !self.changed.contains(path))
    }

    fn read(&self, number: usize) -> Result<FileStructure> {
        let (key, language, path) = &self.files[number];
        let structure = match self.kept(path).and_then(|store| store.bytes(*key)) {
            Some(bytes) => FileStructure::from_bytes(&bytes?)?,
            None => structure_of(&text_now(&self.found, path), *language),
        };
        Ok(self.exact.complete(path, structure))
    }

    /// True where one of some names may stand in a file; its structure is then at hand, or is read when it is looked at.
    fn may_have(&self, number: usize, structure: &LazyStructure, names: &BTreeSet<&str>) -> bool {
        if structure.is_made() {
            return true;
        }
        let (key, _, path) = &self.files[number];
        let Some(Ok(bytes)) = self.kept(path).and_then(|store| store.bytes(*key)) else { return true };
        let has = names.iter().any(|name| memchr::memmem::find(&bytes, name.as_bytes()).is_some());
        if has && let Ok(read) = FileStructure::from_bytes(&bytes) {
            structure.set(self.exact.complete(path, read));
        }
        has
    }
}

/// Text of a file as it is now; nothing where it is gone, or no file to be read.
fn text_now(found: &FolderFiles, path: &str) -> String {
    let at = found.files.binary_search_by(|file: &ProjectFile| file.path.as_str().cmp(path));
    at.ok().and_then(|at| found.read(&found.files[at]).ok()).unwrap_or_default()
}

impl StructureSource for IndexStructures {
    fn structure(&self, number: usize) -> FileStructure {
        self.read(number).unwrap_or_else(|error| {
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            structure_of("", Language::Python)
        })
    }
}

/// The definitions and usages of a project.
pub struct ProjectGraph {
    pub(super) project: Project,
    structures: Arc<IndexStructures>,
    /// Numbers in `structures` of the project's files, in their order.
    numbers: Vec<usize>,
    roles: HashMap<String, FileRole>,
    /// Files of the index by the trigrams of a name, see [`CodeIndex::files_with`].
    index: CodeIndex,
    at_index: HashMap<String, usize>,
    scip: Option<ScipCoverage>,
}

impl ProjectGraph {
    /// The graph of an index and of the files as they are now.
    pub fn open(index: CodeIndex) -> Result<Self> {
        let found = index.walk()?;
        let stale = Changes::between(&index, &found);
        let gone: HashSet<String> = stale.gone.into_iter().collect();
        let mut files = Vec::new();
        let mut settings = BTreeMap::new();
        let (mut roles, mut at_index) = (HashMap::new(), HashMap::new());
        for (at, file) in index.files().iter().enumerate().filter(|(_, file)| !gone.contains(&file.path)) {
            at_index.insert(file.path.clone(), at);
            roles.insert(file.path.clone(), file.role);
            if let Some(language) = Language::named(&file.language) {
                files.push((file.hash, language, file.path.clone()));
            }
            let name = file.path.rsplit('/').next().unwrap_or_default();
            if SETTINGS.contains(&name) {
                let text = text_below(index.root(), &file.path).unwrap_or_default();
                settings.insert(file.path.clone(), text);
            }
        }
        // Those that are new, in the order of the walk.
        for path in stale.changed.iter().filter(|path| !at_index.contains_key(*path)) {
            let Some((language, role)) = language_and_role(path, "") else { continue };
            roles.insert(path.clone(), role);
            files.extend(Language::named(language).map(|language| ([0; 2], language, path.clone())));
        }
        let store = StructureStore::open(index.parts().get(IndexPart::Structures))?;
        let changed: HashSet<String> = stale.changed.into_iter().collect();
        let (exact, scip) = match ScipStore::open(index.parts().get(IndexPart::Scip))? {
            Some(kept) => {
                let keys: HashMap<&str, [u64; 2]> = files.iter().map(|(key, _, path)| (path.as_str(), *key)).collect();
                let is_current = |path: &str, key| match changed.contains(path) {
                    true => text_key(&text_now(&found, path)) == key,
                    false => keys.get(path) == Some(&key),
                };
                let (exact, coverage) = kept.exact(is_current);
                (Arc::new(exact), Some(coverage))
            }
            None => (Arc::default(), None),
        };
        let failed = Mutex::new(None);
        let structures = Arc::new(IndexStructures { store, found, files, changed, failed, exact: exact.clone() });
        let mut all = Vec::with_capacity(structures.files.len());
        for (number, (key, language, path)) in structures.files.iter().enumerate() {
            let head = structures.kept(path).and_then(|store| store.head(*key)).cloned();
            let source: Arc<dyn StructureSource> = structures.clone();
            let structure = LazyStructure::from_source(source, number);
            // One that is not kept is read to know what it says to others; of languages by name nobody asks.
            let head = match head {
                Some(head) => head,
                None if lowers_by_rules(*language) => StructureHead::of(&structure),
                None => StructureHead::default(),
            };
            all.push((number, StructuredFile { path: path.clone(), language: *language, head, structure }));
        }
        all.sort_by(|one, other| one.1.path.cmp(&other.1.path));
        let (numbers, files) = all.into_iter().unzip();
        let project = Project::new(files, &settings).with_exact(exact);
        Ok(Self { project, structures, numbers, roles, index, at_index, scip })
    }

    /// The structure of a file, which is not kept.
    pub(super) fn read(&self, file: usize) -> Result<FileStructure> {
        self.structures.read(self.numbers[file])
    }

    /// The unit of the index that a line is in, the shortest such.
    pub(super) fn unit_at(&self, path: &str, line: u32) -> Option<usize> {
        let file = self.index.files().get(*self.at_index.get(path)?)?;
        let [first, end] = file.units.map(|unit| unit as usize);
        let units = self.index.units().get(first..end)?;
        let around = (first..).zip(units).filter(|(_, unit)| (unit.lines[0]..=unit.lines[1]).contains(&line));
        around.min_by_key(|(_, unit)| unit.lines[1] - unit.lines[0]).map(|(at, _)| at)
    }

    /// The role of a file.
    pub(super) fn role_of(&self, path: &str) -> Option<FileRole> {
        self.roles.get(path).copied()
    }

    /// Files that differ from those that were indexed, in order.
    pub fn changed(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self.structures.changed.iter().map(String::as_str).collect();
        all.sort_unstable();
        all
    }

    /// Text of a file of the project as it is now; nothing where it is gone, or no file to be read.
    pub(super) fn text(&self, path: &str) -> String {
        text_now(&self.structures.found, path)
    }

    /// The index.
    pub fn index(&self) -> &CodeIndex {
        &self.index
    }

    /// The files that an indexer has read, where the project has an `index.scip`.
    pub fn scip(&self) -> Option<ScipCoverage> {
        self.scip
    }

    /// The error of a structure that could not be read, if there was one.
    pub(super) fn whole<T>(&self, answer: T) -> Result<T> {
        match self.structures.failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => Ok(answer),
        }
    }

    /// Files of the index that may have a name, by its trigrams; `None` where it has too few letters for that.
    fn indexed_with(&self, name: &str) -> Result<Option<HashSet<u32>>> {
        let mut among: Option<HashSet<u32>> = None;
        for trigram in trigrams(name) {
            let files: HashSet<u32> = self.index.files_with(trigram)?.into_iter().collect();
            among = Some(match among {
                Some(before) => &before & &files,
                None => files,
            });
        }
        Ok(among)
    }

    /// True for a name that stands in so many files that following it would mean to read the project.
    pub(super) fn is_everywhere(&self, name: &str) -> Result<bool> {
        Ok(self.n_files_with(name)? > EVERYWHERE)
    }

    /// The number of files that may have a name.
    pub(super) fn n_files_with(&self, name: &str) -> Result<usize> {
        let among = self.indexed_with(name)?;
        Ok(among.map_or(self.project.files().len(), |files| files.len()))
    }

    /// The position of a file of the project.
    ///
    /// # Errors
    ///
    /// If the project has none such whose language is known.
    pub(super) fn file_named(&self, path: &str) -> Result<usize> {
        let none = || Error::failed(format!("{path} is no file of this index whose language is known"));
        self.project.file_at(path).ok_or_else(none)
    }

    /// The function or the class that lines stand in, the innermost; else what is defined at the first of them.
    pub(super) fn innermost(
        &self,
        file: usize,
        symbols: &FileSymbols<'_>,
        items: &[CodeItem],
        [first, last]: [u32; 2],
    ) -> Option<BindingId> {
        let structure = &self.project.files()[file].structure;
        // Those inside of others come after them.
        let item = items.iter().rev().find(|item| item.lines[0] <= first && last <= item.lines[1]);
        let of_item = item.and_then(|item| {
            let is_it = |id: &BindingId| {
                let binding = structure.binding(*id);
                binding.name == item.name && (item.lines[0]..=item.lines[1]).contains(&binding.line)
            };
            symbols.all().filter(is_it).min_by_key(|id| structure.binding(*id).line.abs_diff(item.code_line))
        });
        of_item.or_else(|| symbols.all().find(|id| structure.binding(*id).line == first))
    }

    /// Files that may have one of some names: by the trigrams of the index, and where that has changed all.
    pub(super) fn files_with(&self, names: &BTreeSet<&str>) -> Result<Vec<usize>> {
        let mut among: Option<HashSet<u32>> = Some(HashSet::new());
        for name in names {
            among = among.zip(self.indexed_with(name)?).map(|(among, of_name)| &among | &of_name);
        }
        let may_have = |file: &usize| {
            let path = &self.project.files()[*file].path;
            let is_in = |at: &usize| among.as_ref().is_none_or(|among| among.contains(&(*at as u32)));
            self.structures.changed.contains(path) || self.at_index.get(path).is_none_or(is_in)
        };
        let all: Vec<usize> = (0..self.project.files().len()).filter(may_have).collect();
        let files = self.project.files();
        let has = |file: &usize| self.structures.may_have(self.numbers[*file], &files[*file].structure, names);
        Ok(all.into_par_iter().filter(has).collect())
    }

    /// Definitions of a symbol: `name`, `Class.method`, `module::function`; what does work before tests.
    pub fn definitions(&self, symbol: &str) -> Result<Vec<SymbolPlace>> {
        let parts: Vec<&str> = symbol.split(['.', ':', '#', '/']).filter(|part| !part.is_empty()).collect();
        let Some((name, around)) = parts.split_last() else { return Ok(Vec::new()) };
        let of_file = |file: usize| -> Vec<SymbolPlace> {
            let StructuredFile { path, structure, .. } = &self.project.files()[file];
            let bindings = structure.bindings.iter().zip(0..);
            let of_name: Vec<BindingId> =
                bindings.filter(|(it, _)| it.name == *name).map(|(_, at)| BindingId(at)).collect();
            if of_name.is_empty() {
                return Vec::new();
            }
            let symbols = FileSymbols::of(structure);
            let module = path.rsplit_once('.').map_or("", |(stem, _)| stem);
            let is_wanted = |id: &BindingId| {
                let within: Vec<&str> = module.split('/').chain(symbols.path(*id)).collect();
                symbols.is_symbol(*id) && within[..within.len() - 1].ends_with(around)
            };
            of_name.into_iter().filter(is_wanted).map(|id| self.place_by(&symbols, file, id)).collect()
        };
        let mut found: Vec<SymbolPlace> =
            self.files_with(&BTreeSet::from([*name]))?.into_par_iter().flat_map_iter(of_file).collect();
        let rank = |place: &SymbolPlace| {
            let is_source = self.role_of(&place.path) == Some(FileRole::Source);
            let kind = match place.kind {
                BindingKind::Class | BindingKind::Module => 0,
                BindingKind::Function => 1,
                BindingKind::Variable => 2,
                _ => 3,
            };
            (!is_source, kind, place.path.clone(), place.line)
        };
        found.sort_by_cached_key(rank);
        found.dedup_by(|one, other| (&one.path, one.line) == (&other.path, other.line));
        self.whole(found)
    }

    /// Definitions of the name at a line, where that is used; `column` in characters from 1, or any of the line.
    pub fn definitions_at(
        &self,
        path: &str,
        line: u32,
        column: Option<usize>,
    ) -> Result<Vec<(EdgeClass, SymbolPlace)>> {
        let file = self.file_named(path)?;
        let text = self.text(path);
        let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1) as usize).map(str::len).sum();
        let rest = text.get(start..).unwrap_or_default();
        let byte =
            column.map(|column| start + rest.chars().take(column.saturating_sub(1)).map(char::len_utf8).sum::<usize>());
        let structure = &self.project.files()[file].structure;
        let mut solver = Solver::new(&self.project);
        let mut found = Vec::new();
        let here = structure.references.iter().filter(|it| it.line == line);
        for reference in here.filter(|it| byte.is_none_or(|byte| it.span.contains(&(byte as u32)))) {
            for definition in solver.definitions_of(file, reference) {
                found.push((definition.edge, self.place(definition.file, definition.binding)));
            }
        }
        self.whole(found)
    }

    pub(super) fn place(&self, file: usize, binding: BindingId) -> SymbolPlace {
        self.place_by(&FileSymbols::of(&self.project.files()[file].structure), file, binding)
    }

    pub(super) fn place_by(&self, symbols: &FileSymbols<'_>, file: usize, binding: BindingId) -> SymbolPlace {
        let StructuredFile { path, structure, .. } = &self.project.files()[file];
        let (own, name) = (structure.binding(binding), symbols.path(binding).join("."));
        SymbolPlace { path: path.clone(), line: own.line, name, kind: own.kind, file, binding }
    }
}
