//! Definitions, usages and calls of small projects, and the file that keeps their structures.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use wb_code::structure::EdgeClass;
use wb_search::{
    IndexPlace,
    structure::{ProjectGraph, SymbolPlace},
};

use super::{part, project, write};

const ENGINE: &str =
    "class Engine:\n    def start(self):\n        return self.check()\n    def check(self):\n        return 1\n";
const MAIN: &str = "from lib.engine import Engine as Motor\n\ndef run():\n    motor = Motor()\n    motor.start()\n    other.start()\n\nrun()\n";

/// A project with an index of its own and its structures.
pub struct Kept {
    folder: TempDir,
    caches: TempDir,
}

impl Kept {
    pub fn of(files: &[(&str, &str)]) -> Self {
        let kept = Self { folder: project(files), caches: tempfile::tempdir().unwrap() };
        kept.bring_up();
        kept
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    pub fn place(&self) -> IndexPlace {
        IndexPlace::of(self.root(), Some(self.caches.path().join("index"))).unwrap()
    }

    /// The number of files whose structure was made.
    pub fn bring_up(&self) -> usize {
        let place = self.place();
        let (mut update, _) = place.update(false, &mut |_| {}).unwrap();
        let read = update.structures(&mut |_| {}).unwrap();
        update.keep().unwrap();
        read
    }

    pub fn graph(&self) -> ProjectGraph {
        ProjectGraph::open(self.place().read().unwrap().unwrap()).unwrap()
    }

    /// The file of a part of the index.
    pub fn part(&self, name: &str) -> PathBuf {
        part(&self.place(), name)
    }
}

pub fn told(places: &[SymbolPlace]) -> Vec<String> {
    places.iter().map(|place| format!("{}:{} {}", place.path, place.line, place.name)).collect()
}

pub fn usages(graph: &ProjectGraph, symbol: &str) -> Vec<String> {
    let found = graph.usages(&graph.definitions(symbol).unwrap()).unwrap();
    let line = |it: wb_search::structure::SymbolUsage| format!("{:?} {}:{} [{}]", it.edge, it.path, it.line, it.within);
    found.into_iter().map(line).collect()
}

#[test]
fn definitions_and_usages_are_found_over_files() {
    let kept = Kept::of(&[("lib/engine.py", ENGINE), ("main.py", MAIN), ("tests/test_a.py", "def check(): pass\n")]);
    let graph = kept.graph();
    // What does work comes before tests.
    assert_eq!(told(&graph.definitions("check").unwrap()), ["lib/engine.py:4 Engine.check", "tests/test_a.py:1 check"]);
    assert_eq!(told(&graph.definitions("engine::Engine::start").unwrap()), ["lib/engine.py:2 Engine.start"]);
    assert_eq!(told(&graph.definitions("Motor.start").unwrap()), Vec::<String>::new());
    assert_eq!(
        usages(&graph, "Engine.start"),
        ["ImportResolved main.py:5 [run]", "NameOnly main.py:6 [run]"],
        "the second is of nothing that is known"
    );
    assert_eq!(usages(&graph, "Engine.check"), ["SameFile lib/engine.py:3 [Engine.start]"]);
    assert_eq!(usages(&graph, "Engine"), ["ImportResolved main.py:1 []", "ImportResolved main.py:4 [run]"]);
    let at = graph.definitions_at("main.py", 5, Some(11)).unwrap();
    assert_eq!(
        at.iter().map(|(edge, place)| (*edge, place.line)).collect::<Vec<_>>(),
        [(EdgeClass::ImportResolved, 2)]
    );
    assert!(graph.definitions_at("nowhere.py", 1, None).is_err());
}

#[test]
fn callers_and_calls_go_over_files() {
    let kept = Kept::of(&[("lib/engine.py", ENGINE), ("main.py", MAIN)]);
    let graph = kept.graph();
    let callers = graph.callers(&graph.definitions("Engine.check").unwrap(), 4).unwrap();
    let told: Vec<String> =
        callers.iter().map(|it| format!("{} {}:{} {:?}", it.depth, it.symbol.path, it.symbol.name, it.lines)).collect();
    assert_eq!(told, ["1 lib/engine.py:Engine.start [3]", "2 main.py:run [5, 6]", "3 main.py: [8]"]);
    let run = graph.definitions("run").unwrap();
    let called: Vec<(String, u32, usize)> =
        graph.calls(&run[0]).unwrap().into_iter().map(|it| (it.name, it.line, it.definitions.len())).collect();
    assert_eq!(called, [("Motor".to_owned(), 4, 2), ("start".to_owned(), 5, 1), ("start".to_owned(), 6, 0)]);
}

#[test]
fn a_touched_file_changes_its_own_structure_alone_and_is_read_as_it_is() {
    let kept = Kept::of(&[("lib/engine.py", ENGINE), ("main.py", MAIN), ("notes.md", "# Engine\n")]);
    assert_eq!(kept.bring_up(), 0, "nothing has changed");
    write(kept.root(), "main.py", &format!("# A remark.\n{MAIN}"));
    write(kept.root(), "more.py", "from main import run\nrun()\n");
    // Before the index knows.
    let graph = kept.graph();
    assert_eq!(graph.changed(), ["main.py", "more.py"]);
    assert_eq!(
        usages(&graph, "run"),
        ["Exact main.py:9 []", "ImportResolved more.py:1 []", "ImportResolved more.py:2 []"]
    );
    assert_eq!(kept.bring_up(), 2);
    assert!(kept.graph().changed().is_empty());
    fs::remove_file(kept.root().join("more.py")).unwrap();
    assert_eq!(usages(&kept.graph(), "run"), ["Exact main.py:9 []"]);
    assert_eq!(kept.bring_up(), 0);
    // Bytes do not depend on the way there.
    let bytes = fs::read(kept.part("structures")).unwrap();
    let other = tempfile::tempdir().unwrap();
    let place = IndexPlace::of(kept.root(), Some(other.path().join("index"))).unwrap();
    let (mut update, _) = place.update(false, &mut |_| {}).unwrap();
    assert_eq!(update.structures(&mut |_| {}).unwrap(), 2);
    update.keep().unwrap();
    assert_eq!(fs::read(part(&place, "structures")).unwrap(), bytes);
}

#[test]
fn a_changed_file_with_a_key_in_it_is_in_no_answer() {
    let kept = Kept::of(&[("main.py", MAIN), ("later.py", "def shown(): pass\n")]);
    let key = format!("KEY = \"-----BEGIN RSA PRIVATE KEY-----\n{}\n\"\n", "Ab3".repeat(20));
    write(kept.root(), "later.py", &format!("{key}def shown(): pass\n"));
    write(kept.root(), "new.py", &format!("{key}def hidden(): pass\n"));
    let graph = kept.graph();
    assert_eq!(graph.changed(), ["later.py", "new.py"]);
    assert!(graph.definitions("shown").unwrap().is_empty() && graph.definitions("hidden").unwrap().is_empty());
}

#[test]
fn damaged_structures_are_refused_by_name_and_made_again() {
    let kept = Kept::of(&[("lib/engine.py", ENGINE), ("main.py", MAIN)]);
    let file = kept.part("structures");
    let bytes = fs::read(&file).unwrap();
    for at in (0..bytes.len()).step_by(7).rev() {
        let mut other = bytes.clone();
        other[at] ^= 0x20;
        fs::write(&file, &other).unwrap();
        let opened = kept.place().read().and_then(|index| ProjectGraph::open(index.unwrap()));
        // Another version is none; all else is told.
        if let Err(error) = opened.map(drop) {
            assert!(format!("{error:#}").contains("index.structures-"), "{error:#}");
        }
    }
    assert_eq!(kept.bring_up(), 2);
    assert_eq!(fs::read(&file).unwrap(), bytes);
}

#[test]
fn languages_without_rules_are_asked_by_name() {
    let kept = Kept::of(&[
        ("a.rb", "class Engine\n  def start\n    check\n  end\n  def check\n  end\nend\n"),
        ("b.rb", "def run\n  Engine.new.start()\nend\n"),
        ("c.c", "int start(void) { return 1; }\n"),
    ]);
    let graph = kept.graph();
    assert_eq!(told(&graph.definitions("start").unwrap()), ["a.rb:2 start", "c.c:1 start"]);
    assert_eq!(usages(&graph, "Engine"), ["NameOnly b.rb:2 [run]"]);
    assert_eq!(usages(&graph, "check"), ["NameOnly a.rb:3 [Engine.start]"]);
}
