//! Questions that the tests of languages ask, and the solver's own.

use std::collections::BTreeSet;

use super::{FileStructure, Project, Solver};

/// Paths and lines at which a name is defined that stands in a line of a file, nearest first; its first place there counts.
pub(super) fn places(texts: &[(&str, &str)], path: &str, line: u32, name: &str) -> Vec<(String, u32)> {
    let project = Project::of_texts(texts.iter().copied());
    let text = texts.iter().find(|(own, _)| *own == path).map_or("", |(_, text)| text);
    let Some(at) = project.file_at(path) else { return Vec::new() };
    let structure = &project.files()[at].structure;
    let is_asked = |span: &std::ops::Range<u32>| text.get(span.start as usize..span.end as usize) == Some(name);
    let here = structure.references.iter().filter(|it| it.line == line && is_asked(&it.span));
    let Some(first) = here.clone().map(|it| it.span.start).min() else { return Vec::new() };
    let mut solver = Solver::new(&project);
    let mut places = Vec::new();
    for reference in here.filter(|it| it.span.start == first) {
        for definition in solver.definitions(at, reference.value) {
            let home = &project.files()[definition.file];
            let place = (home.path.clone(), home.structure.binding(definition.binding).line);
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    places
}

/// Lines, in order, of those places.
pub(super) fn definitions(texts: &[(&str, &str)], path: &str, line: u32, name: &str) -> Vec<u32> {
    let lines: BTreeSet<u32> = places(texts, path, line, name).into_iter().map(|(_, line)| line).collect();
    lines.into_iter().collect()
}

/// Asks one file for lines of names: line, name, the lines at which it is defined.
pub(super) fn check(path: &str, text: &str, asked: &[(u32, &str, &[u32])]) {
    for (line, name, expected) in asked {
        assert_eq!(definitions(&[(path, text)], path, *line, name), *expected, "{name} in line {line}");
    }
}

fn edges(texts: &[(&str, &str)]) -> Vec<String> {
    let project = Project::of_texts(texts.iter().copied());
    let found = Solver::new(&project).with_callers().call_edges();
    found.into_iter().map(|(from, to)| format!("{from} > {to}")).collect()
}

#[test]
fn calls_lead_to_functions_that_were_handed_on() {
    let text = "class Job:
    def __init__(self, work):
        self.work = work
    def run(self):
        self.work()
def one(): pass
def twice(f):
    def inner():
        f()
        return f
    return inner
@twice
def two(): pass
Job(one).run()
two()()
done = {'a': one}
done.update({'b': two})
for key in [len]:
    key([])
";
    let expected = [
        "main > <**PyDict**>.update",
        "main > <builtin>.len",
        "main > main.Job.__init__",
        "main > main.Job.run",
        "main > main.twice",
        "main > main.twice.inner",
        "main > main.two",
        "main.Job.run > main.one",
        "main.twice.inner > main.two",
    ];
    assert_eq!(edges(&[("main.py", text)]), expected);
}

#[test]
fn calls_go_through_modules_and_bases() {
    let files = [
        ("lib.py", "class Base:\n    def go(self):\n        self.step()\n    def step(self): pass\n"),
        (
            "main.py",
            "from lib import Base\nimport outside.thing\nclass Own(Base):\n    def step(self):\n        super().step()\nOwn().go()\noutside.thing.call()\n",
        ),
    ];
    let expected = [
        "lib.Base.go > lib.Base.step",
        "lib.Base.go > main.Own.step",
        "main > lib.Base.go",
        "main > outside.thing.call",
        "main.Own.step > <builtin>.super",
        "main.Own.step > lib.Base.step",
    ];
    assert_eq!(edges(&files), expected);
}

#[test]
fn calls_that_python_makes_by_itself_and_values_of_many_kinds_are_followed() {
    let cases: [(&str, &[&str]); 12] = [
        (
            "class C:\n    def __iter__(self): return self\n    def __next__(self): return f\ndef f(): pass\nfor i in C():\n    i()\n",
            &["main > main.C.__iter__", "main > main.C.__next__", "main > main.f"],
        ),
        (
            "class A:\n    def __enter__(self): return self\n    def __exit__(self, *a): pass\n    def f(self): pass\nwith A() as a:\n    a.f()\n",
            &["main > main.A.__enter__", "main > main.A.__exit__", "main > main.A.f"],
        ),
        ("def g():\n    yield f\ndef f(): pass\n[x() for x in g()]\n", &["main > main.f", "main > main.g"]),
        ("def a(): pass\nl = []\nl.append(a)\nl[0]()\n", &["main > <**PyList**>.append", "main > main.a"]),
        ("def a(): pass\ndef g(**kw):\n    kw['k']()\ng(k=a)\n", &["main > main.g", "main.g > main.a"]),
        ("def a(): pass\ndef h(*args):\n    args[0]()\nh(a)\n", &["main > main.h", "main.h > main.a"]),
        (
            "x = lambda: 1\ndef f(a):\n    a()\nf(lambda: x())\n",
            &["main > main.f", "main.<lambda2> > main.<lambda1>", "main.f > main.<lambda2>"],
        ),
        (
            "class A:\n    def f(self): pass\nclass B(A): pass\nclass C(A):\n    def f(self): pass\nclass D(B, C): pass\nD().f()\n",
            &["main > main.C.f"],
        ),
        (
            "import ext\nfrom ext import parent\nclass K(parent): pass\next.f()\nK().g()\n",
            &["main > ext.f", "main > ext.parent.g"],
        ),
        (
            "class D:\n    def __init__(self, f): self.f = f\n    def __call__(self): self.f()\n@D\ndef g(): pass\ng()\n",
            &["main > main.D.__call__", "main > main.D.__init__", "main.D.__call__ > main.g"],
        ),
        (
            "class A:\n    x = None\n    def go(self):\n        self.x()\ndef f(): pass\nA.x = f\nA().go()\n",
            &["main > main.A.go", "main.A.go > main.f"],
        ),
        ("def a(): pass\ndef b(): pass\nd = {'k': a}\nd['k'] = b\nd['k']()\nf = a\nf = b\nf()\n", &["main > main.b"]),
    ];
    for (text, expected) in cases {
        assert_eq!(edges(&[("main.py", text)]), expected, "{text}");
    }
}

#[test]
fn what_goes_round_in_circles_ends() {
    let python = "def f(x): return g(x)\ndef g(x): return f(g(x))\na = b = f(a)\nclass A(A): pass\nclass B(C): pass\nclass C(B): pass\n\
                  B().m\nx = x.next\nfor y in y: y.z\nd = {'k': d}\nd['k']['k']\nf(f(f(a))).n\n";
    for line in [7, 8, 9, 11, 12] {
        for name in ["m", "next", "z", "d", "n", "x"] {
            definitions(&[("a.py", python)], "a.py", line, name);
        }
    }
    let typescript =
        "type A = B; type B = A;\nlet a: A = { ...a, b: a };\na.b.b.c;\nclass X extends X {}\nnew X().y;\n";
    check("a.ts", typescript, &[(3, "a", &[2]), (3, "c", &[]), (5, "y", &[])]);
}

#[test]
fn deep_nesting_is_read() {
    let deep = format!("x = {}1{}\nx\n", "(".repeat(3000), ")".repeat(3000));
    check("a.py", &deep, &[(2, "x", &[1])]);
    let long = format!("let s = 'a'{};\ns;\n", " + 'b'".repeat(3000));
    check("a.js", &long, &[(2, "s", &[1])]);
}

#[test]
fn bytes_give_the_structure_back_and_damage_is_told() {
    let text = "from os import *\nclass A(B):\n    def f(self, x: int = 1, *r): self.y = [x, {'k': r}]; return lambda: x\nA().f()(1)\n";
    let project = Project::of_texts([
        ("a.py", text),
        ("b.ts", "type T<X> = { a: X }; let t: T<string>; export = t;"),
        ("C.java", "class C<T> extends D { private int n; C() { switch (n) { case 1: break; } } }"),
        (
            "d.rs",
            "mod e; struct S<T>(T); impl<T: A> A for S<T> { fn f(self) -> T { self.0.map(|x| x.f()) } } macro_rules! m { () => {} }",
        ),
    ]);
    for file in project.files() {
        let bytes = file.structure.to_bytes().unwrap();
        let again = FileStructure::from_bytes(&bytes).unwrap();
        assert_eq!(format!("{again:?}"), format!("{:?}", *file.structure));
        for at in (0..bytes.len()).step_by(3) {
            for by in [1, 0x7f, 0x80, 0xff] {
                let mut other = bytes.clone();
                other[at] ^= by;
                // What can be read can be asked, too.
                if let Ok(read) = FileStructure::from_bytes(&other) {
                    let broken = super::StructuredFile::new(&file.path, file.language, read);
                    let project = Project::new(vec![broken], &std::collections::BTreeMap::new());
                    let mut solver = Solver::new(&project);
                    let asked = project.files()[0].structure.references.iter().take(3).map(|it| it.value);
                    asked.collect::<Vec<_>>().into_iter().for_each(|value| _ = solver.definitions(0, value));
                }
            }
            assert!(FileStructure::from_bytes(&bytes[..at]).is_err());
        }
    }
}

#[test]
fn a_definition_says_whether_it_is_the_name_s_own() {
    use super::DefinitionStep::{Further, Import, Own};
    let texts = [
        ("a.py", "def make(): pass\n"),
        ("b.py", "from a import make as own\nother = own\nother()\nown()\n"),
        ("c.ts", "export const one = 1;\n"),
        ("d.ts", "import * as c from './c';\nconst two = c.one;\ntwo;\nc;\n"),
    ];
    let project = Project::of_texts(texts);
    let mut solver = Solver::new(&project);
    let mut steps = |path: &str, line: u32| {
        let at = project.file_at(path).unwrap();
        let reference = project.files()[at].structure.references.iter().find(|it| it.line == line).unwrap();
        let found = solver.definitions_of(at, reference).into_iter();
        let place = |file: usize, binding| project.files()[file].structure.binding(binding).line;
        found
            .map(|it| (it.step, project.files()[it.file].path.as_str(), place(it.file, it.binding)))
            .collect::<Vec<_>>()
    };
    assert_eq!(steps("b.py", 3), [(Own, "b.py", 2), (Further, "b.py", 1), (Further, "a.py", 1)]);
    assert_eq!(steps("b.py", 4), [(Import, "b.py", 1), (Own, "a.py", 1)]);
    // The string of an import, and the name for the whole file.
    assert_eq!(steps("d.ts", 1), [(Own, "c.ts", 1)]);
    assert_eq!(steps("d.ts", 4), [(Import, "d.ts", 1), (Own, "c.ts", 1)]);
}

/// Sets are cut where they are large, and what is left of one is the same each time.
#[test]
fn the_same_is_found_each_time() {
    let mut text = String::from("const table = {};\n");
    for at in 0..40 {
        text += &format!("function f{at}() {{}}\ntable.key{at} = f{at};\n");
    }
    text += "function run(key) { table[key](); }\n";
    let first = edges(&[("main.js", &text)]);
    assert_eq!(first.len(), 32, "{first:?}");
    for _ in 0..5 {
        assert_eq!(edges(&[("main.js", &text)]), first);
    }
}

/// A project has millions of them.
#[test]
fn a_value_takes_forty_bytes() {
    assert_eq!(size_of::<super::file::Value>(), 40);
}
