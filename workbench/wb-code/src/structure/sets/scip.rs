//! Projects with an `index.scip`: what a compiler's own tool says that each name stands for.
//!
//! A question is an occurrence that refers to a symbol which the index defines in the project, or which is another
//! project's, so that each answer is wrong. It is asked at a name of ours: our reference with the same bytes, or the last
//! one within them (`a.b` of an import). Where it is a place at which we define the name ourselves (a second
//! assignment), nothing is asked. An answer is a place at which
//! a definition of the name itself stands, other than one by its name alone: neither an import, which is the way to one,
//! nor what the value of the name has as another name. It is right where SCIP has the same symbol at that place: a variable that is assigned twice is one symbol, whose
//! first place SCIP calls its definition. The file itself has the symbols that SCIP defines at its begin.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    ops::Range,
    path::{Path, PathBuf},
};

use rayon::prelude::*;

use super::{StructureCase, files_below};
use crate::{
    Error, Language, Result,
    structure::{
        DefinitionStep, EdgeClass, ExactNames, Project, Solver,
        file::{Binding, BindingId, Reference},
        project::SETTINGS,
        scip::{SCIP_FILE, ScipIndex, SymbolSpan},
    },
};

/// Asks the projects below a folder; with their indexes at hand where these are imported.
pub(super) fn measure(folder: &Path, is_imported: bool) -> Result<Vec<StructureCase>> {
    let indexes =
        files_below(folder)?.into_iter().filter(|path| path.file_name().is_some_and(|name| name == SCIP_FILE));
    let mut cases = Vec::new();
    for index in indexes {
        let root = index.parent().unwrap_or(folder);
        let name = root.strip_prefix(folder).unwrap_or(root).to_string_lossy().into_owned();
        cases.extend(Measured::of(root, ScipIndex::read(&index)?, is_imported)?.cases(&name));
    }
    Ok(cases)
}

/// A project beside what SCIP says of it.
struct Measured {
    project: Project,
    /// Names of SCIP by the files of the project.
    spans: BTreeMap<usize, Vec<SymbolSpan>>,
    /// Symbols at the places of each file.
    at: HashMap<usize, HashMap<Range<u32>, BTreeSet<u32>>>,
    /// Symbols that are defined in the project.
    defined: BTreeSet<u32>,
    /// Symbols that are seen in their document alone.
    is_local: Vec<bool>,
}

impl Measured {
    fn of(root: &Path, index: ScipIndex, is_imported: bool) -> Result<Self> {
        let texts = texts(root)?;
        let mut by_path: HashMap<String, Vec<SymbolSpan>> = HashMap::new();
        for document in &index.documents {
            let Some(text) = texts.get(&document.path) else { continue };
            let found = document.spans(&index, text).ok_or_else(|| {
                Error::file(&root.join(&document.path), format!("is not the text that {SCIP_FILE} was made of"))
                    .with_hint("make the index again")
            })?;
            by_path.insert(document.path.clone(), found);
        }
        let is_local = index.symbols.iter().map(|symbol| symbol.is_local).collect();
        let known = if is_imported { by_path.clone() } else { HashMap::new() };
        let exact = ExactNames::new(known, index.symbols, HashSet::new());
        let own = texts.iter().map(|(path, text)| (path.as_str(), text.as_str()));
        let project = Project::of_texts_with(own, exact);
        let (mut spans, mut at, mut defined) = (BTreeMap::new(), HashMap::new(), BTreeSet::new());
        for (path, found) in by_path {
            let Some(file) = project.file_at(&path) else { continue };
            let places: &mut HashMap<Range<u32>, BTreeSet<u32>> = at.entry(file).or_default();
            for one in &found {
                places.entry(one.span.clone()).or_default().insert(one.symbol);
                defined.extend(one.is_definition.then_some(one.symbol));
            }
            spans.insert(file, found);
        }
        Ok(Self { project, spans, at, defined, is_local })
    }

    /// A case for each file and kind of symbol.
    fn cases(&self, name: &str) -> Vec<StructureCase> {
        let files: Vec<usize> = self.spans.keys().copied().collect();
        let one = |solver: &mut Solver<'_>, file: usize| self.of_file(solver, file, name);
        let all: Vec<[StructureCase; 2]> = files.into_par_iter().map_init(|| Solver::new(&self.project), one).collect();
        all.into_iter().flatten().filter(|case| case.expected + case.answered > 0).collect()
    }

    fn of_file(&self, solver: &mut Solver<'_>, file: usize, name: &str) -> [StructureCase; 2] {
        let structured = &self.project.files()[file];
        let mut cases = ["symbols", "locals"].map(|kind| StructureCase {
            name: format!("{name}/{}", structured.path).trim_start_matches('/').to_owned(),
            category: format!("{name} {kind}").trim_start().to_owned(),
            ..StructureCase::default()
        });
        for (span, wanted, line) in self.questions(file) {
            let is_local = wanted.iter().all(|symbol| self.is_local[*symbol as usize]);
            let case = &mut cases[usize::from(is_local)];
            let is_here = !wanted.is_disjoint(&self.defined);
            case.expected += usize::from(is_here);
            let (mut is_found, mut told) = (false, Vec::new());
            for reference in self.references(file, &span) {
                for (place, edge) in self.answers(solver, file, reference) {
                    let symbols = self.symbols_of(place);
                    let is_right = symbols.is_some_and(|symbols| !symbols.is_disjoint(&wanted));
                    case.answered += 1;
                    case.answered_right += usize::from(is_right);
                    case.exact_wrong += usize::from(!is_right && edge == EdgeClass::Exact);
                    is_found |= is_right;
                    if !is_right {
                        told.push(format!(
                            "{}{}",
                            self.place(place),
                            if edge == EdgeClass::Exact { ", exact" } else { "" }
                        ));
                    }
                }
            }
            case.right += usize::from(is_found && is_here);
            if is_here && !is_found || !told.is_empty() {
                let kind = if is_found || !is_here { "too many" } else { "missing" };
                case.wrong.push(format!("{line}: {kind}: {told:?} in place of {:?}", self.defined_at(&wanted)));
            }
        }
        cases
    }

    /// Places that refer to symbols, with these and the line.
    fn questions(&self, file: usize) -> Vec<(Range<u32>, BTreeSet<u32>, u32)> {
        let structure = &self.project.files()[file].structure;
        let referred: HashSet<&Range<u32>> = structure.references.iter().map(|it| &it.span).collect();
        let bound: HashSet<&Range<u32>> = structure.bindings.iter().map(|it| &it.span).collect();
        let mut questions: BTreeMap<(u32, u32), (BTreeSet<u32>, u32)> = BTreeMap::new();
        for SymbolSpan { span, line, symbol, is_definition } in &self.spans[&file] {
            let is_ours = bound.contains(span) && !referred.contains(span);
            // An indexer may name what it does not define anywhere by a symbol of the document.
            let is_known = self.defined.contains(symbol) || !self.is_local[*symbol as usize];
            if !is_definition && !is_ours && is_known {
                let question = questions.entry((span.start, span.end)).or_insert((BTreeSet::new(), *line));
                question.0.insert(*symbol);
            }
        }
        questions.into_iter().map(|((start, end), (wanted, line))| (start..end, wanted, line)).collect()
    }

    /// References of ours at a place of SCIP.
    fn references(&self, file: usize, span: &Range<u32>) -> Vec<&Reference> {
        let references = &self.project.files()[file].structure.references;
        let exact: Vec<&Reference> = references.iter().filter(|it| it.span == *span).collect();
        if !exact.is_empty() {
            return exact;
        }
        let within = references.iter().filter(|it| span.start <= it.span.start && it.span.end <= span.end);
        within.max_by_key(|it| it.span.start).into_iter().collect()
    }

    /// Places at which the name itself is defined, each once.
    fn answers(
        &self,
        solver: &mut Solver<'_>,
        file: usize,
        reference: &Reference,
    ) -> BTreeMap<(usize, BindingId), EdgeClass> {
        let found = solver.definitions_of(file, reference).into_iter();
        let found = found.filter(|it| it.edge < EdgeClass::NameOnly && it.step == DefinitionStep::Own);
        found.map(|it| ((it.file, it.binding), it.edge)).collect()
    }

    /// The symbols that SCIP has where a definition of ours stands.
    fn symbols_of(&self, (file, binding): (usize, BindingId)) -> Option<&BTreeSet<u32>> {
        let structure = &self.project.files()[file].structure;
        let span = match structure.module == Some(binding) {
            true => 0..0,
            false => structure.binding(binding).span.clone(),
        };
        self.at.get(&file)?.get(&span)
    }

    fn place(&self, (file, binding): (usize, BindingId)) -> String {
        let file = &self.project.files()[file];
        let Binding { name, line, .. } = file.structure.binding(binding);
        format!("{}:{line} {name}", file.path)
    }

    fn defined_at(&self, symbols: &BTreeSet<u32>) -> Vec<String> {
        let places = self.spans.iter().flat_map(|(file, spans)| spans.iter().map(move |it| (*file, it)));
        let places = places.filter(|(_, it)| it.is_definition && symbols.contains(&it.symbol));
        places.map(|(file, it)| format!("{}:{}", self.project.files()[file].path, it.line)).collect()
    }
}

/// Texts of a project's sources and of the settings that imports follow.
fn texts(root: &Path) -> Result<BTreeMap<String, String>> {
    let is_wanted = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        Language::from_extension(&ending).is_some() || SETTINGS.contains(&name.as_ref())
    };
    let mut texts = BTreeMap::new();
    let files: Vec<PathBuf> = files_below(root)?.into_iter().filter(|path| is_wanted(path)).collect();
    for path in files {
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        let bytes = std::fs::read(&path).map_err(Error::io("read", &path))?;
        // A file that is no text has no names.
        texts.extend(String::from_utf8(bytes).ok().map(|text| (name, text)));
    }
    Ok(texts)
}
