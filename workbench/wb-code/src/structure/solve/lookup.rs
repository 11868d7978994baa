//! Names looked up from a scope outwards.

use super::{Context, Found, Question, Solver, Thing, ThingId};
use crate::{
    Language,
    structure::file::{BindingId, BindingKind, NameSpace, ScopeId, ScopeKind},
};

/// Functions and types of Python that every file has.
const PYTHON_BUILTINS: &str = " abs all any bool bytes callable chr classmethod compile delattr dict dir divmod enumerate eval \
    exec filter float format frozenset getattr globals hasattr hash hex id input int isinstance issubclass iter len list \
    locals map max min next object oct open ord pow print property range repr reversed round set setattr slice sorted \
    staticmethod str sum super tuple type vars zip __import__ ";

/// Functions and types of Go that every file has.
const GO_BUILTINS: &str = " any append bool byte cap clear close comparable complex complex64 complex128 copy delete error \
    float32 float64 imag int int8 int16 int32 int64 len make max min new panic print println real recover rune string \
    uint uint8 uint16 uint32 uint64 uintptr ";

impl Solver<'_> {
    /// Places that a name may stand for, seen from a scope.
    pub(super) fn lookup(
        &mut self,
        mut context: Context,
        file: usize,
        from: ScopeId,
        name: &str,
        space: NameSpace,
        used: Option<u32>,
    ) -> Vec<Found> {
        let language = self.project.at(file).language;
        if let Some(kinds) = obscured(language, space) {
            let mut all = kinds.into_iter().map(|kind| self.lookup(context, file, from, name, kind, used));
            return all.find(|found| !found.is_empty()).unwrap_or_default();
        }
        let mut next = Some(from);
        let mut used = used;
        while let Some(at) = next {
            let scope = self.structure(file).scope(at);
            let is_seen = match (scope.kind, language) {
                (ScopeKind::Class, Language::Python) => at == from,
                (ScopeKind::Class, Language::Go | Language::JavaScript | Language::Rust | Language::TypeScript) => {
                    false
                }
                _ => true,
            };
            if is_seen {
                // Members that are seen without an object are members of that which the code runs for.
                let mut found = match (scope.kind, language) {
                    (ScopeKind::Class, language) if language != Language::Python => Vec::new(),
                    _ => self.in_scope(context, file, at, name, space),
                };
                // The body of a class of Python does not see what its bases have.
                let is_inherited = language != Language::Python && scope.kind == ScopeKind::Class && found.is_empty();
                if let (true, Some(owner)) = (is_inherited, scope.owner) {
                    for class in self.things(context, file, owner) {
                        let instance = self.thing(Thing::Instance { class, made: None });
                        found.extend(self.members(file, instance, name, space));
                    }
                }
                if let Some(used) = used {
                    self.reaching(file, used, &mut found);
                }
                if !found.is_empty() {
                    return found;
                }
            }
            // When a function runs that is asked further out, nobody knows.
            if scope.kind == ScopeKind::Function {
                used = None;
            }
            // Names further out do not depend on the calls of what is left here.
            // Type parameters stand in a scope around that of their owner.
            let is_left = scope.parent.is_none_or(|parent| self.structure(file).scope(parent).owner != scope.owner);
            if let Some(frame) = self.frame(context)
                && Some(frame.function) == scope.owner
                && frame.file == file
                && is_left
            {
                context = frame.outer;
            }
            // A module of Rust sees nothing of the one around it.
            let is_closed = language == Language::Rust && scope.kind == ScopeKind::Module;
            next = scope.parent.filter(|_| !is_closed);
        }
        self.global(file, name, space)
    }

    /// Leaves those bindings whose values can be there at a byte, where later ones replace earlier ones.
    fn reaching(&self, file: usize, used: u32, found: &mut Vec<Found>) {
        let structure = self.structure(file);
        let blocks: Vec<_> = found.iter().map(|it| (it.file == file).then(|| structure.binding(it.binding))).collect();
        let Some(blocks) = blocks.into_iter().map(|it| it.filter(|it| it.block.is_some())).collect::<Option<Vec<_>>>()
        else {
            return;
        };
        if blocks.len() < 2 {
            return;
        }
        // The last that has run for sure.
        let has_run = |at: u32, block: &Option<std::ops::Range<u32>>| {
            at < used && block.as_ref().is_some_and(|block| block.contains(&used))
        };
        let sure = blocks.iter().filter(|it| has_run(it.span.start, &it.block)).map(|it| it.span.start).max();
        let again = |at: u32| {
            let both = structure.loops.iter().filter(|it| it.contains(&used) && it.contains(&at));
            both.map(|it| it.start).max().is_some_and(|start| sure.is_none_or(|sure| start > sure))
        };
        let reaches = |at: u32| match at < used {
            true => sure.is_none_or(|sure| at >= sure),
            false => again(at),
        };
        let kept: Vec<bool> = blocks.iter().map(|it| reaches(it.span.start)).collect();
        if kept.contains(&true) {
            let mut kept = kept.into_iter();
            found.retain(|_| kept.next().unwrap_or(true));
        }
    }

    /// Names of one scope alone, with those that it includes.
    pub(super) fn in_scope(
        &mut self,
        context: Context,
        file: usize,
        at: ScopeId,
        name: &str,
        space: NameSpace,
    ) -> Vec<Found> {
        let structure = self.structure(file);
        let scope = structure.scope(at);
        let context = if scope.parent.is_none() { 0 } else { context };
        let mut own = self.named(file, at, name);
        own.retain(|binding| structure.binding(*binding).space.meets(space));
        let mut found: Vec<Found> =
            own.into_iter().map(|binding| Found { file, binding, context, receiver: None }).collect();
        let missing = if scope.includes.is_empty() { NameSpace(0) } else { self.missing(file, &found, space) };
        if missing != NameSpace(0) {
            // The last one replaces those before.
            for value in scope.includes.iter().rev() {
                let before = found.len();
                for object in self.things(context, file, *value) {
                    found.extend(self.members(file, object, name, missing));
                }
                if found.len() > before {
                    break;
                }
            }
        }
        found
    }

    /// The kinds of names, of some, that none of the places has: those are looked for in what a scope includes.
    fn missing(&mut self, file: usize, found: &[Found], space: NameSpace) -> NameSpace {
        if found.is_empty() {
            return space;
        }
        if self.project.at(file).language != Language::Rust {
            return NameSpace(0);
        }
        let mut missing = space.0;
        for place in found {
            let binding = self.structure(place.file).binding(place.binding);
            match (binding.kind, binding.value) {
                // An import has the kinds of what it stands for.
                (BindingKind::Import, Some(value)) => {
                    for other in self.get(Question::Places(place.context, place.file, value)) {
                        let Found { file, binding, .. } = self.places[other as usize];
                        let other = self.structure(file).binding(binding);
                        if other.kind != BindingKind::Import {
                            missing &= !other.space.0;
                        }
                    }
                }
                _ => missing &= !binding.space.0,
            }
        }
        NameSpace(missing)
    }

    /// Bindings of a name in a scope.
    pub(super) fn named(&mut self, file: usize, at: ScopeId, name: &str) -> Vec<BindingId> {
        if let Some(by_name) = self.tables(file).names.get(&at) {
            return by_name.get(name).cloned().unwrap_or_default();
        }
        let names = self.structure(file).scope(at).names.iter();
        names.filter(|(own, _)| own == name).map(|(_, binding)| *binding).collect()
    }

    /// Files of a package that may show a name, in order.
    pub(super) fn files_with(&mut self, package: u32, name: &str) -> Vec<usize> {
        let tables = self.package_tables(package);
        let mut files = tables.including.clone();
        files.extend(tables.names.get(name).into_iter().flatten());
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Names that a file sees without saying where from.
    fn global(&mut self, file: usize, name: &str, space: NameSpace) -> Vec<Found> {
        if self.project.at(file).language == Language::Rust {
            let macros = self.macros(file, name, space);
            return match (macros.is_empty(), self.project.standard(Language::Rust)) {
                (true, Some(standard)) => self.in_scope(0, standard, ScopeId(0), name, space),
                _ => macros,
            };
        }
        match self.project.own_package(file) {
            Some(package) => {
                let others = self.files_with(package, name).into_iter().filter(|other| *other != file);
                others.flat_map(|other| self.in_scope(0, other, ScopeId(0), name, space)).collect()
            }
            None => {
                let fits = |(other, binding): &(usize, _)| self.structure(*other).binding(*binding).space.meets(space);
                let known = self.project.globals(file, name).filter(fits);
                known.map(|(file, binding)| Found { file, binding, context: 0, receiver: None }).collect()
            }
        }
    }

    /// Macros of the crate of a file, which are found wherever they stand in it.
    pub(super) fn macros(&self, file: usize, name: &str, space: NameSpace) -> Vec<Found> {
        if !space.meets(NameSpace::METHOD) {
            return Vec::new();
        }
        let package = self.project.own_package(file);
        let same = self.project.crate_globals(name).filter(|(other, _)| {
            self.project.at(*other).language == Language::Rust && self.project.own_package(*other) == package
        });
        same.map(|(file, binding)| Found { file, binding, context: 0, receiver: None }).collect()
    }

    /// Thing that the language itself calls so.
    pub(super) fn builtin(&mut self, file: usize, name: &str, space: NameSpace) -> Option<ThingId> {
        match self.project.at(file).language {
            Language::Rust => {
                let package = self.project.package(file, &format!("::{name}"))?;
                Some(self.thing(Thing::Package(package)))
            }
            Language::Python if PYTHON_BUILTINS.contains(&format!(" {name} ")) => {
                let path = format!("<builtin>.{name}");
                Some(self.thing(Thing::Outside { file, binding: None, depth: usize::MAX, path }))
            }
            Language::Go if GO_BUILTINS.contains(&format!(" {name} ")) => {
                let path = format!("<builtin>.{name}");
                Some(self.thing(Thing::Outside { file, binding: None, depth: usize::MAX, path }))
            }
            // What is no variable and no type is a package.
            Language::Java if space.meets(NameSpace::TYPE) => {
                let package = self.project.package(file, name)?;
                Some(self.thing(Thing::Package(package)))
            }
            _ => None,
        }
    }
}

/// The kinds of names that are tried one after the other, where a name of one kind hides those of another: a variable of
/// Java a type.
pub(super) fn obscured(language: Language, space: NameSpace) -> Option<[NameSpace; 2]> {
    let is_either = language == Language::Java && space == NameSpace::BOTH;
    is_either.then_some([NameSpace::VALUE, NameSpace::TYPE])
}
