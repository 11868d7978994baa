//! Names in Python, with their places worked out by hand.

use crate::structure::tests::{check as check_file, places as places_of};

/// Asks a file alone.
fn check(text: &str, asked: &[(u32, &str, &[u32])]) {
    check_file("a.py", text, asked);
}

#[test]
fn names_are_looked_up_in_functions_and_past_classes() {
    let text = "size = 1
class Box:
    size = 2
    width = size
    def area(self, height):
        def inner():
            return height
        return size, inner
    def grow(self):
        global size
        size = 3
";
    check(text, &[(4, "size", &[3]), (7, "height", &[5]), (8, "size", &[1, 11]), (8, "inner", &[6])]);
}

#[test]
fn the_body_of_a_class_sees_nothing_of_its_bases_and_its_methods_do() {
    let text = "def rate(): pass
class Base:
    def rate(self): pass
    limit = 5
class Task(Base):
    best = rate
    most = limit
    def run(self):
        return self.rate, self.limit
";
    check(text, &[(6, "rate", &[1]), (7, "limit", &[]), (9, "rate", &[3]), (9, "limit", &[4])]);
}

#[test]
fn what_is_written_by_a_key_is_no_member_and_what_is_written_by_a_name_no_element() {
    let text = "class Shelf:
    name = 1
    def fill(self, key):
        self['name'] = first
        self[key] = second
        self.size = third
def first(): pass
def second(): pass
def third(): pass
shelf = Shelf()
shelf.name
shelf.size
a = shelf['name']
a()
b = shelf['size']
b()
held = {'size': first}
held.size
";
    check(text, &[(11, "name", &[2]), (12, "size", &[6, 9]), (18, "size", &[])]);
    let follows = |line| {
        crate::structure::tests::definitions(&[("a.py", text)], "a.py", line, if line == 14 { "a" } else { "b" })
    };
    assert_eq!(follows(14), [4, 7, 13], "the key as it is written");
    assert_eq!(follows(16), [15], "neither the field of that name, nor what a key that nobody knows may be");
}

#[test]
fn a_later_value_replaces_an_earlier_one_where_it_has_run_for_sure() {
    let text = "def f(flag):
    x = 1
    x = 2
    print(x)
    if flag:
        x = 3
    print(x)
    for _ in flag:
        print(x)
        x = 4
    def later():
        return x
";
    check(text, &[(4, "x", &[3]), (7, "x", &[3, 6]), (9, "x", &[3, 6, 10]), (12, "x", &[2, 3, 6, 10])]);
}

#[test]
fn members_are_those_of_the_class_and_of_what_its_methods_write() {
    let text = "class Base:
    def run(self): pass
class Task(Base):
    limit = 5
    def __init__(self, owner):
        self.owner = owner
    @property
    def twice(self): return self
    @classmethod
    def make(cls): return cls(Other())
    @staticmethod
    def free(): pass
class Other:
    def go(self): pass
task = Task(Other())
task.run(); task.limit; task.owner.go()
task.twice.run()
Task.make().owner.go()
Task.free()
super_of = task.nothing
";
    check(
        text,
        &[
            (16, "run", &[2]),
            (16, "limit", &[4]),
            (16, "owner", &[5, 6]),
            (16, "go", &[14]),
            (17, "run", &[2]),
            (18, "make", &[10]),
            (18, "go", &[14]),
            (19, "free", &[12]),
            (20, "nothing", &[]),
        ],
    );
}

#[test]
fn containers_give_what_was_put_into_them() {
    let text = "class A:
    def a(self): pass
class B:
    def b(self): pass
both = {'one': A(), 2: B()}
both['one'].a(); both[2].b()
first, (second, *_) = A(), (B(), 1)
first.a(); second.b()
for item in [A()]:
    item.a()
[each.b() for each in (B(),)]
def many():
    yield A()
next(many()).a()
with A() as opened:
    opened.a()
(lambda given: given.b())(B())
def named(*rest, key=None, **more):
    return key
named(key=B()).b()
";
    let a = [(6, "a"), (8, "a"), (10, "a"), (14, "a"), (16, "a")].map(|(line, name)| (line, name, [2]));
    let b = [(6, "b"), (8, "b"), (11, "b"), (20, "b")].map(|(line, name)| (line, name, [4]));
    for (line, name, expected) in a.into_iter().chain(b) {
        check(text, &[(line, name, &expected)]);
    }
}

#[test]
fn imports_lead_to_modules_and_packages_by_their_names() {
    let files = [
        ("app/__init__.py", "from .core import Engine as Motor\n"),
        ("app/core.py", "class Engine:\n    def start(self): pass\nclass Wheel: pass\n"),
        ("app/tools/help.py", "from ..core import *\nfrom .. import core\nWheel\ncore.Engine\n"),
        (
            "main.py",
            "import app.core as c\nfrom app import Motor\nimport app\nMotor().start()\nc.Wheel\napp.core.Wheel\nimport os.path\nos.path.join\n",
        ),
    ];
    let places = |path: &str, line, name| places_of(&files, path, line, name);
    let at = |path: &str, line| (path.to_owned(), line);
    assert_eq!(places("main.py", 4, "start"), [at("app/core.py", 2)]);
    assert_eq!(places("main.py", 4, "Motor"), [at("main.py", 2), at("app/__init__.py", 1), at("app/core.py", 1)]);
    assert_eq!(places("main.py", 5, "Wheel"), [at("app/core.py", 3)]);
    assert_eq!(places("main.py", 6, "Wheel"), [at("app/core.py", 3)]);
    assert_eq!(places("app/tools/help.py", 3, "Wheel"), [at("app/core.py", 3)]);
    assert_eq!(places("app/tools/help.py", 4, "Engine"), [at("app/core.py", 1)]);
    assert_eq!(places("main.py", 8, "path"), [at("main.py", 7)]);
    assert_eq!(places("main.py", 8, "join"), []);
}
