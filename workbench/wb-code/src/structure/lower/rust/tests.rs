//! Names in Rust, with their places worked out by hand.

use std::collections::BTreeSet;

use crate::structure::{FileStructure, FileSymbols, Project, Solver, file::BindingId};

const LIB: &str = "src/lib.rs";

/// Places, as `path:line`, that any use of a name in a line stands for.
fn places(texts: &[(&str, &str)], path: &str, line: u32, name: &str) -> Vec<String> {
    all(texts, path, line, name).into_iter().map(|(path, line)| format!("{path}:{line}")).collect()
}

/// Lines of a program of one file.
fn at(text: &str, line: u32, name: &str) -> Vec<u32> {
    all(&[(LIB, text)], LIB, line, name).into_iter().map(|(_, line)| line).collect()
}

fn all(texts: &[(&str, &str)], path: &str, line: u32, name: &str) -> BTreeSet<(String, u32)> {
    let project = Project::of_texts(texts.iter().copied());
    let file = project.file_at(path).expect("the file is one of the texts");
    let text = texts.iter().find(|(own, _)| *own == path).map_or("", |(_, text)| text);
    let mut solver = Solver::new(&project);
    let mut found = BTreeSet::new();
    let is_asked = |span: &std::ops::Range<u32>| text.get(span.start as usize..span.end as usize) == Some(name);
    let references = project.files()[file].structure.references.iter();
    for reference in references.filter(|it| it.line == line && is_asked(&it.span)) {
        for definition in solver.definitions(file, reference.value) {
            let place = &project.files()[definition.file];
            found.insert((place.path.clone(), place.structure.binding(definition.binding).line));
        }
    }
    found
}

#[test]
fn each_let_begins_a_scope() {
    let text = "fn f(x: u8) -> u8 {
    let y = x;
    let x = y + x;
    {
        let x = x;
        g(x);
    }
    g(x);
    let late;
    late = x;
    fn g(a: u8) { a; }
    const X: u8 = 1;
    late + X
}
";
    assert_eq!(at(text, 2, "x"), [1]);
    assert_eq!(at(text, 3, "x"), [1]);
    assert_eq!(at(text, 5, "x"), [3]);
    assert_eq!(at(text, 6, "x"), [5]);
    assert_eq!(at(text, 8, "x"), [3]);
    assert_eq!(at(text, 6, "g"), [11], "items are seen before they stand there");
    assert_eq!(at(text, 13, "late"), [9]);
    assert_eq!(at(text, 13, "X"), [12]);
    assert_eq!(at(text, 11, "a"), [11]);
}

#[test]
fn patterns_bind_parts_of_what_they_match() {
    let text = "struct Point { x: Len, y: Len }
struct Pair(Len, Point);
struct Len;
impl Len { fn len(&self) -> u8 { 0 } }
enum Shape { Dot(Point), Line { from: Point, to: Len }, Nothing }
const NOTHING: u8 = 0;
fn f(pair: Pair, shape: &Shape, many: [Point; 2], n: u8) {
    let Pair(one, Point { x, y: up }) = pair;
    one.len(); x.len(); up.len();
    match shape {
        Shape::Dot(p) | Shape::Line { from: p, .. } if p.x.len() > 0 => { p.y.len(); }
        Shape::Line { to, .. } => { to.len(); }
        Shape::Nothing => {}
        _ => {}
    }
    if let Shape::Dot(ref dot @ Point { ref x, .. }) = *shape && x.len() > 0 { dot.y.len(); }
    let Shape::Line { to: end, .. } = shape else { return };
    end.len();
    while let [first, .., _] = &many { first.x.len(); }
    let (_, second, ..) = (1, Len, 2);
    second.len();
    match n { NOTHING => (), other => g(other) }
}
fn g((a, b): (Len, Point), Pair(c, _): Pair) { a.len(); b.x; c.len(); }
";
    for name in ["one", "x", "up"] {
        assert_eq!(at(text, 9, name), [8], "{name}");
    }
    assert_eq!(at(text, 9, "len"), [4]);
    assert_eq!(at(text, 8, "x"), [1], "the field");
    assert_eq!(at(text, 8, "y"), [1]);
    assert_eq!(at(text, 11, "Line"), [5]);
    assert_eq!(at(text, 11, "from"), [5]);
    assert_eq!(at(text, 11, "p"), [11]);
    assert_eq!(at(text, 11, "len"), [4]);
    assert_eq!(at(text, 12, "len"), [4]);
    assert_eq!(at(text, 13, "Nothing"), [5]);
    assert_eq!(at(text, 16, "len"), [4]);
    assert_eq!(at(text, 16, "dot"), [16]);
    assert_eq!(at(text, 18, "len"), [4]);
    assert_eq!(at(text, 19, "len"), [4]);
    assert_eq!(at(text, 21, "len"), [4]);
    assert_eq!(at(text, 22, "NOTHING"), [6]);
    assert_eq!(at(text, 22, "other"), [22]);
    assert_eq!(at(text, 24, "len"), [4]);
    assert_eq!(at(text, 24, "x"), [1]);
}

#[test]
fn fields_are_told_from_methods_and_named_in_literals() {
    let text = "struct Account { name: String, tail: Tail }
struct Tail(u8, Inner);
struct Inner { deep: u8 }
impl Account {
    fn name(&self) -> &str { &self.name }
    fn new(name: String, tail: Tail) -> Self {
        let other = Self { name, tail };
        Account { tail: Tail(1, Inner { deep: 2 }), ..other }
    }
}
fn f(a: Account) {
    a.name();
    a.tail.1.deep;
    a.name;
    let t = Tail { 0: 1, 1: Inner { deep: 3 } };
}
union Bits { whole: u32, half: u16 }
fn g(bits: Bits) { unsafe { bits.half }; }
";
    assert_eq!(at(text, 5, "name"), [1]);
    assert_eq!(at(text, 12, "name"), [5]);
    assert_eq!(at(text, 14, "name"), [1]);
    assert_eq!(at(text, 7, "name"), [1, 6], "the field and the parameter");
    assert_eq!(at(text, 7, "Self"), [1]);
    assert_eq!(at(text, 8, "tail"), [1]);
    assert_eq!(at(text, 8, "deep"), [3]);
    assert_eq!(at(text, 13, "1"), [2]);
    assert_eq!(at(text, 13, "deep"), [3]);
    assert_eq!(at(text, 15, "1"), [2]);
    assert_eq!(at(text, 18, "half"), [17]);
}

#[test]
fn impls_may_stand_in_any_file() {
    let texts = [
        (LIB, "pub mod shape;\npub mod paint;\nmod user;\n"),
        (
            "src/shape.rs",
            "pub struct Shape { pub size: u8 }
pub trait Area {
    const SIDES: u8;
    type Unit;
    fn area(&self) -> Self::Unit;
    fn double(&self) -> Self::Unit { self.area() }
    fn made() -> Self;
}
impl Shape { pub const ONE: u8 = 1; pub fn new() -> Self { Shape { size: Self::ONE } } }
",
        ),
        (
            "src/paint.rs",
            "use crate::shape::{Area, Shape};
pub struct Unit { pub of: u8 }
impl Area for Shape {
    const SIDES: u8 = 4;
    type Unit = Unit;
    fn area(&self) -> Unit { Unit { of: self.size } }
    fn made() -> Self { Shape::new() }
}
impl Shape { pub fn paint(&mut self) -> &mut Self { self } }
",
        ),
        (
            "src/user.rs",
            "use super::shape::{Area, Shape};
fn f(other: &dyn Area, any: impl Area) {
    let mut shape = Shape::new();
    shape.paint().paint().size;
    shape.area().of;
    shape.double().of;
    Shape::SIDES;
    Shape::made().size;
    <Shape as Area>::made().size;
    other.double();
    any.area();
}
fn g<T: Area>(t: T) { T::made().area(); t.double(); T::SIDES; }
",
        ),
    ];
    let user = |line, name| places(&texts, "src/user.rs", line, name);
    assert_eq!(user(3, "new"), ["src/shape.rs:9"]);
    assert_eq!(user(4, "paint"), ["src/paint.rs:9"]);
    assert_eq!(user(4, "size"), ["src/shape.rs:1"]);
    assert_eq!(user(5, "area"), ["src/paint.rs:6"]);
    assert_eq!(user(5, "of"), ["src/paint.rs:2"]);
    assert_eq!(user(6, "double"), ["src/shape.rs:6"], "a default method");
    assert_eq!(user(6, "of"), ["src/paint.rs:2"], "the associated type of the object");
    assert_eq!(user(7, "SIDES"), ["src/paint.rs:4"]);
    assert_eq!(user(8, "size"), ["src/shape.rs:1"]);
    assert_eq!(user(9, "made"), ["src/paint.rs:7"]);
    assert_eq!(user(10, "double"), ["src/shape.rs:6"]);
    assert_eq!(user(11, "area"), ["src/shape.rs:5"]);
    assert_eq!(user(13, "area"), ["src/shape.rs:5"]);
    assert_eq!(user(13, "made"), ["src/shape.rs:7"]);
    assert_eq!(user(13, "SIDES"), ["src/shape.rs:3"]);
    assert_eq!(places(&texts, "src/shape.rs", 9, "ONE"), ["src/shape.rs:9"]);
}

#[test]
fn type_parameters_are_what_types_are_applied_to() {
    let text = "struct Pair<A, B> { one: A, two: B }
impl<X, Y> Pair<X, Y> {
    fn new(one: X, two: Y) -> Self { Pair { one, two } }
    fn swap(self) -> Pair<Y, X> { Pair { one: self.two, two: self.one } }
    fn first(&self) -> &X { &self.one }
}
struct Cat; impl Cat { fn purr(&self) {} }
struct Dog; impl Dog { fn bark(&self) {} }
trait Named { fn name(&self) {} }
fn f(pair: Pair<Cat, Dog>) {
    pair.one.purr();
    pair.first().purr();
    pair.swap().first().bark();
    Pair::new(Dog, Cat).first().bark();
    let made = Pair { one: Dog, two: Cat };
    made.two.purr();
    same(Cat).purr();
    same::<Dog>(todo!()).bark();
    with(&Cat, |cat| { cat.purr(); Dog }).bark();
}
fn same<T>(t: T) -> T { t }
fn with<T, R, F>(t: &T, f: F) -> R where F: Fn(&T) -> R { f(t) }
fn g<T>(t: T, pairs: Pair<T, impl Named>) where T: Named { t.name(); pairs.one.name(); pairs.two.name(); }
struct Wrapped<T>(T);
fn h() { Wrapped(Cat).0.purr(); }
type Cats = Pair<Cat, Cat>;
impl Cats { fn both(&self) {} }
fn i(cats: Cats) { cats.both(); cats.two.purr(); }
";
    assert_eq!(at(text, 11, "purr"), [7]);
    assert_eq!(at(text, 12, "purr"), [7]);
    assert_eq!(at(text, 13, "bark"), [8]);
    assert_eq!(at(text, 14, "bark"), [8], "by the arguments of `new`");
    assert_eq!(at(text, 16, "purr"), [7], "by the fields of the literal");
    assert_eq!(at(text, 17, "purr"), [7]);
    assert_eq!(at(text, 18, "bark"), [8]);
    assert_eq!(at(text, 19, "purr"), [7], "what a closure is handed");
    assert_eq!(at(text, 19, "bark"), [8], "what a closure gives");
    assert_eq!(at(text, 23, "name"), [9]);
    assert_eq!(at(text, 25, "purr"), [7]);
    assert_eq!(at(text, 28, "both"), [27]);
    assert_eq!(at(text, 28, "purr"), [7]);
    assert_eq!(at(text, 4, "Y"), [2]);
}

#[test]
fn blanket_impls_fit_by_their_bounds() {
    let text = "trait Walk { fn walk(&self) {} }
trait Swim { fn swim(&self) {} }
trait Run { fn run(&self) {} }
impl<T: Walk> Run for T { fn run(&self) {} }
struct Cat; impl Walk for Cat {}
struct Fish; impl Swim for Fish {}
fn f(cat: Cat, fish: Fish) {
    cat.run();
    fish.run();
}
";
    assert_eq!(at(text, 8, "run"), [4]);
    assert!(at(text, 9, "run").is_empty());
}

#[test]
fn modules_see_nothing_of_what_is_around_them() {
    let texts = [
        (
            "src/main.rs",
            "mod a;\n#[path = \"odd.rs\"]\nmod b;\nfn top() {}\nmod c { pub fn f() { top(); super::top(); self::g(); crate::a::f(); } fn g() {} }\n",
        ),
        (
            "src/a/mod.rs",
            "pub mod deep;\nmod inline { pub mod below; }\npub fn f() { deep::g(); inline::below::h(); crate::b::odd(); }\n",
        ),
        ("src/a/deep.rs", "use super::super::top;\npub fn g() { super::f(); top(); }\n"),
        ("src/a/inline/below.rs", "pub fn h() {}\n"),
        ("src/odd.rs", "pub fn odd() {}\n"),
        ("src/bin/tool.rs", "fn top() {}\nfn main() { crate::top(); }\n"),
    ];
    let at = |path, line, name| places(&texts, path, line, name);
    assert_eq!(at("src/main.rs", 5, "top"), ["src/main.rs:4"]);
    assert_eq!(at("src/main.rs", 5, "g"), ["src/main.rs:5"]);
    assert_eq!(at("src/main.rs", 5, "f"), ["src/a/mod.rs:3"]);
    assert_eq!(at("src/main.rs", 5, "a"), ["src/main.rs:1"]);
    assert_eq!(at("src/a/mod.rs", 3, "g"), ["src/a/deep.rs:2"]);
    assert_eq!(at("src/a/mod.rs", 3, "h"), ["src/a/inline/below.rs:1"]);
    assert_eq!(at("src/a/mod.rs", 3, "odd"), ["src/odd.rs:1"]);
    assert_eq!(at("src/a/mod.rs", 3, "b"), ["src/main.rs:3"]);
    assert_eq!(at("src/a/deep.rs", 2, "f"), ["src/a/mod.rs:3"]);
    assert_eq!(at("src/a/deep.rs", 2, "top"), ["src/a/deep.rs:1", "src/main.rs:4"]);
    assert_eq!(at("src/bin/tool.rs", 2, "top"), ["src/bin/tool.rs:1"]);
}

#[test]
fn unqualified_names_do_not_leave_their_module() {
    let text = "fn top() {}\nmod c {\n    fn f() { top(); }\n}\n";
    assert!(at(text, 3, "top").is_empty());
}

#[test]
fn use_brings_names_in() {
    let texts = [
        (
            LIB,
            "mod a;\nmod b;\npub use a::{One as Uno, deep::{self, *}};\npub use b::*;\nmod tests { use super::*; fn f(u: Uno, t: Two, h: Here) { deep::g(); t.two; all(); } }\n",
        ),
        (
            "src/a.rs",
            "pub struct One;\npub mod deep {\n    pub struct Two { pub two: u8 }\n    pub fn g() {}\n    pub fn all() {}\n}\n",
        ),
        (
            "src/b.rs",
            "pub use super::*;\npub struct Here;\nuse crate::Uno;\nfn f(u: Uno, h: Two) {}\nfn g() { use self::inner::Kind::*; First; }\nmod inner { pub enum Kind { First, Second } }\n",
        ),
    ];
    let at = |path, line, name| places(&texts, path, line, name);
    assert_eq!(at(LIB, 3, "One"), ["src/a.rs:1"]);
    assert_eq!(at(LIB, 3, "deep"), ["src/a.rs:2"]);
    assert_eq!(at(LIB, 5, "Uno"), ["src/a.rs:1", "src/lib.rs:3"]);
    assert_eq!(at(LIB, 5, "deep"), ["src/a.rs:2", "src/lib.rs:3"]);
    assert_eq!(at(LIB, 5, "g"), ["src/a.rs:4"]);
    assert_eq!(at(LIB, 5, "Two"), ["src/a.rs:3"]);
    assert_eq!(at(LIB, 5, "two"), ["src/a.rs:3"]);
    assert_eq!(at(LIB, 5, "all"), ["src/a.rs:5"]);
    assert_eq!(at(LIB, 5, "Here"), ["src/b.rs:2"]);
    assert_eq!(at("src/b.rs", 4, "Uno"), ["src/a.rs:1", "src/b.rs:3", "src/lib.rs:3"]);
    assert_eq!(at("src/b.rs", 4, "Two"), ["src/a.rs:3"], "two modules that include each other");
    assert_eq!(at("src/b.rs", 5, "First"), ["src/b.rs:6"]);
}

#[test]
fn crates_are_called_as_their_manifests_say() {
    let texts = [
        ("core/Cargo.toml", "[package]\nname = \"my-core\"\n"),
        (
            "core/src/lib.rs",
            "pub mod shapes;\n#[macro_export]\nmacro_rules! shape { () => { $crate::shapes::Shape::new() } }\n",
        ),
        (
            "core/src/shapes.rs",
            "pub struct Shape;\nimpl Shape { pub fn new() -> Self { Shape } pub fn draw(&self) {} }\n",
        ),
        (
            "app/Cargo.toml",
            "[package]\nname = \"app\"\n[lib]\nname = \"application\"\n[dependencies]\nkernel = { package = \"my-core\", path = \"../core\" }\n",
        ),
        (
            "app/src/lib.rs",
            "use my_core::shapes::Shape;\npub fn f(s: Shape) { s.draw(); ::my_core::shapes::Shape::new(); my_core::shape!(); }\nfn g() { kernel::shapes::Shape::new(); }\n",
        ),
        ("app/tests/it.rs", "mod help;\nfn f() { application::f(help::shape()); help::shape().draw(); }\n"),
        ("app/tests/help.rs", "pub fn shape() -> my_core::shapes::Shape { todo!() }\n"),
    ];
    let app = |line, name| places(&texts, "app/src/lib.rs", line, name);
    assert_eq!(app(1, "my_core"), ["core/src/lib.rs:1"]);
    assert_eq!(app(1, "Shape"), ["core/src/shapes.rs:1"]);
    assert_eq!(app(2, "draw"), ["core/src/shapes.rs:2"]);
    assert_eq!(app(2, "new"), ["core/src/shapes.rs:2"]);
    assert_eq!(app(2, "shape"), ["core/src/lib.rs:3"]);
    assert_eq!(app(3, "new"), ["core/src/shapes.rs:2"]);
    assert_eq!(places(&texts, "core/src/lib.rs", 3, "new"), ["core/src/shapes.rs:2"]);
    assert_eq!(places(&texts, "app/tests/it.rs", 2, "f"), ["app/src/lib.rs:2"]);
    assert_eq!(places(&texts, "app/tests/it.rs", 2, "shape"), ["app/tests/help.rs:1"]);
    assert_eq!(places(&texts, "app/tests/it.rs", 2, "draw"), ["core/src/shapes.rs:2"]);
}

#[test]
fn types_go_through_the_standard_library() {
    let text = "use std::{collections::HashMap, rc::Rc, sync::{Arc, Mutex}};
struct Cat { age: Age }
struct Age; impl Age { fn years(&self) -> u8 { 0 } }
struct House { cats: Vec<Cat>, by_name: HashMap<String, Box<Cat>>, shared: Arc<Mutex<Cat>> }
impl House {
    fn find(&self, name: &str) -> Option<&Cat> { self.by_name.get(name).map(|cat| cat.as_ref()) }
    fn all(&self) -> Result<Vec<Rc<Cat>>, Error> { todo!() }
}
fn f(house: &House) -> anyhow::Result<Age> {
    for cat in &house.cats { cat.age.years(); }
    house.cats[0].age.years();
    house.find(\"a\").unwrap().age.years();
    if let Some(cat) = house.find(\"b\") { cat.age.years(); }
    for (at, cat) in house.all()?.iter().enumerate() { cat.age.years(); }
    house.shared.lock().unwrap().age.years();
    house.cats.iter().filter(|cat| cat.age.years() > 0).map(|cat| &cat.age).for_each(|age| { age.years(); });
    let ages: Vec<_> = house.cats.iter().map(|cat| &cat.age).collect();
    ages.first().unwrap().years();
    let mut filled = Vec::new();
    filled.push(Age);
    filled[0].years();
    house.by_name.values().max_by_key(|cat| cat.age.years());
    let named = house.cats.iter().find_map(|cat| (cat.age.years() > 1).then(|| &cat.age));
    named.map_or(0, |age| age.years());
    g()?.years();
    Ok(Age)
}
fn g() -> anyhow::Result<Age> { f(todo!()) }
struct Few(Vec<Cat>);
impl Iterator for Few { type Item = Cat; fn next(&mut self) -> Option<Cat> { self.0.pop() } }
fn h(few: Few, any: impl Iterator<Item = Cat>, own: Box<dyn Iterator<Item = Cat>>) {
    for cat in few { cat.age; }
    any.map(|cat| cat.age).last().unwrap().years();
    for cat in own { cat.age; }
}
struct Guard { cat: Cat }
impl std::ops::Deref for Guard { type Target = Cat; fn deref(&self) -> &Cat { &self.cat } }
async fn later(guard: Guard) -> Age { guard.age.years(); later(guard).await.years(); todo!() }
";
    for line in [10, 11, 12, 13, 14, 15, 16, 18, 21, 22, 23, 24, 25, 33, 38] {
        assert_eq!(at(text, line, "years"), [3], "line {line}");
    }
    for line in [32, 34, 38] {
        assert_eq!(at(text, line, "age"), [2], "line {line}");
    }
    assert!(at(text, 6, "as_ref").is_empty(), "the standard library is no place");
    assert_eq!(at(text, 12, "find"), [6]);
}

#[test]
fn macros_are_names_and_hold_names() {
    let texts = [
        (
            LIB,
            "#[macro_use]\nmod rules;\nmod user;\npub struct Cat { pub age: u8 }\nimpl Cat { pub fn purr(&self) -> u8 { 0 } }\n",
        ),
        (
            "src/rules.rs",
            "macro_rules! twice {\n    ($x:expr) => { helper!($x); $crate::Cat::purr($x) };\n}\nmacro_rules! helper { ($x:expr) => { $x } }\n",
        ),
        (
            "src/user.rs",
            "use crate::Cat;
fn f(cat: &Cat, width: usize) {
    println!(\"{cat:>width$} {} {{no}} {named}\", cat.purr(), named = cat.age);
    assert_eq!(cat.purr(), cat.age, \"{:?}\", cat);
    let cats = vec![Cat { age: 1 }, Cat { age: 2 }];
    cats[0].purr();
    twice!(cat.purr());
    matches!(Some(cat), Some(Cat { age: old }) if *old > cat.age);
    lazy! { static ref OTHER: Cat = Cat { age: 3 }; }
    property! { fn holds(a in 0..9, b: u8) { let c = a; assert!(c > b && cat.age > 1); } }
    local! { let inner = cat; inner.purr(); }
    let name = 1;
    quote! { let x = #name; #(#cats)* y };
    std::write!(f, \"{}\", cat.age);
}
fn unsee() { local_macro!(); }
macro_rules! local_macro { () => {} }
",
        ),
    ];
    let user = |line, name| places(&texts, "src/user.rs", line, name);
    assert_eq!(user(3, "cat"), ["src/user.rs:2"]);
    assert_eq!(user(3, "width"), ["src/user.rs:2"]);
    assert_eq!(user(3, "purr"), ["src/lib.rs:5"]);
    assert_eq!(user(3, "age"), ["src/lib.rs:4"]);
    assert!(user(3, "no").is_empty());
    assert_eq!(user(4, "purr"), ["src/lib.rs:5"]);
    assert_eq!(user(4, "age"), ["src/lib.rs:4"]);
    assert_eq!(user(5, "age"), ["src/lib.rs:4"]);
    assert_eq!(user(6, "purr"), ["src/lib.rs:5"]);
    assert_eq!(user(7, "twice"), ["src/rules.rs:1"]);
    assert_eq!(user(7, "purr"), ["src/lib.rs:5"]);
    assert_eq!(user(8, "age"), ["src/lib.rs:4"]);
    assert_eq!(user(8, "old"), ["src/user.rs:8"]);
    assert_eq!(user(9, "Cat"), ["src/lib.rs:4", "src/user.rs:1"]);
    assert_eq!(user(10, "a"), ["src/user.rs:10"]);
    assert_eq!(user(10, "c"), ["src/user.rs:10"]);
    assert_eq!(user(10, "age"), ["src/lib.rs:4"]);
    assert_eq!(user(11, "purr"), ["src/lib.rs:5"]);
    assert_eq!(user(13, "name"), ["src/user.rs:12"]);
    assert_eq!(user(13, "cats"), ["src/user.rs:5"]);
    assert!(user(13, "y").is_empty());
    assert_eq!(user(14, "age"), ["src/lib.rs:4"]);
    assert_eq!(user(16, "local_macro"), ["src/user.rs:17"]);
    assert_eq!(places(&texts, "src/rules.rs", 2, "helper"), ["src/rules.rs:4"]);
    assert_eq!(places(&texts, "src/rules.rs", 2, "purr"), ["src/lib.rs:5"]);
}

#[test]
fn derived_traits_come_from_macros_of_their_name() {
    let texts = [
        ("derive/Cargo.toml", "[package]\nname = \"cli-derive\"\n"),
        (
            "derive/src/lib.rs",
            "#[proc_macro_derive(Parser, attributes(arg))]\npub fn parser(input: TokenStream) -> TokenStream { todo!() }\n",
        ),
        ("cli/Cargo.toml", "[package]\nname = \"cli\"\n"),
        ("cli/src/lib.rs", "pub use cli_derive::Parser;\npub use self::traits::*;\nmod traits;\n"),
        ("cli/src/traits.rs", "pub trait Parser { fn parse() -> Self { todo!() } }\n"),
        (
            "app/src/main.rs",
            "use cli::Parser;\n#[derive(Clone, Parser)]\nstruct Options { #[arg(value_parser = number)] deep: bool }\nfn number() {}\nfn main() { Options::parse().clone().deep; }\n",
        ),
    ];
    let app = |line, name| places(&texts, "app/src/main.rs", line, name);
    let both = ["app/src/main.rs:1", "cli/src/lib.rs:1", "cli/src/traits.rs:1", "derive/src/lib.rs:2"];
    assert_eq!(app(2, "Parser"), both, "the macro and the trait");
    assert_eq!(app(3, "number"), ["app/src/main.rs:4"]);
    assert_eq!(app(5, "parse"), ["cli/src/traits.rs:1"]);
    assert_eq!(app(5, "deep"), ["app/src/main.rs:3"]);
}

#[test]
fn further_items_and_expressions() {
    let text = "const MOST: usize = 3;
static mut COUNT: [Item; MOST] = [Item { next: None }; MOST];
struct Item { next: Option<Box<Item>> }
impl Item { fn go(&self) -> &Item { self } }
type Items = Vec<Item>;
extern \"C\" { fn outer(item: *const Item); }
fn f(items: Items, n: u8) -> Item {
    'out: for item in items {
        loop { if n > 1 { break 'out; } else { continue 'out; } }
        item.go();
    }
    let picked = if n > 2 { &items[0] } else { match n { 0 => items.last().unwrap(), _ => return items[1] } };
    picked.go();
    let found = loop { break picked.go(); };
    found.go();
    let run = |item: &Item, (a, _): (Item, u8)| { a.go(); item.go() };
    run(picked, todo!()).go();
    unsafe { outer(found); (*COUNT)[0].go(); }
    let block = 'b: { if n > 1 { break 'b found; } found };
    (picked as &Item).go();
    fn inner<const N: usize>() -> usize { N }
    let calls: fn(u8) -> Item = todo!();
    calls(1).go();
    let Item { next: Some(next), .. } = picked else { panic!() };
    next.go();
    let task = async move { picked.go() };
    task.await.go();
}
";
    assert_eq!(at(text, 2, "MOST"), [1]);
    assert_eq!(at(text, 2, "next"), [3]);
    assert_eq!(at(text, 9, "'out"), [8]);
    for line in [10, 13, 14, 15, 16, 17, 18, 20, 23, 25, 26, 27] {
        assert_eq!(at(text, line, "go"), [4], "line {line}");
    }
    assert_eq!(at(text, 18, "outer"), [6]);
    assert_eq!(at(text, 18, "COUNT"), [2]);
    assert_eq!(at(text, 19, "'b"), [19]);
    assert_eq!(at(text, 21, "N"), [21]);
    assert_eq!(at(text, 24, "next"), [3]);
}

#[test]
fn definitions_and_calls_have_paths() {
    let text = "mod inner {
    pub struct Cat<T> { pub age: T }
    pub enum Kind { Big { size: u8 } }
}
use inner::{Cat, Kind};
impl<T> Cat<T> { fn purr(&self) { self.hum(); } }
trait Hum { fn hum(&self) {} }
impl Hum for Cat<u8> { fn hum(&self) { let sing = || self.purr(); sing(); helper(Kind::Big { size: 1 }); } }
fn helper(kind: Kind) {}
";
    let project = Project::of_texts([("a.rs", text)]);
    let structure = &project.files()[0].structure;
    let symbols = FileSymbols::of(structure);
    let path = |name: &str| {
        let found = structure.bindings.iter().zip(0..).filter(|(binding, _)| binding.name == name);
        found.map(|(_, at)| symbols.path(BindingId(at)).join(".")).collect::<Vec<_>>()
    };
    assert_eq!(path("age"), ["inner.Cat.age"]);
    assert_eq!(path("size"), ["inner.Kind.Big.size"]);
    assert_eq!(path("hum"), ["Hum.hum", "Cat.hum"]);
    assert_eq!(path("purr"), ["Cat.purr"]);
    let edges = Solver::new(&project).call_edges();
    let edges: Vec<String> = edges.into_iter().map(|(from, to)| format!("{from} > {to}")).collect();
    let expected = [
        "a.Cat.hum > a.Cat.hum.<lambda1>",
        "a.Cat.hum > a.helper",
        "a.Cat.hum.<lambda1> > a.Cat.purr",
        "a.Cat.purr > a.Cat.hum",
    ];
    assert_eq!(edges, expected);
}

#[test]
fn any_text_is_lowered() {
    let texts = [
        "fn f<T: Fn(A<'a>) -> B>(x: &mut T, ) where T: { let Some(x) | _ = y else { }; match x { A { b, .. } => c!(d.e(), |f| g), } }",
        "impl<T> A for B<T> { type C = D; fn e(self: Box<Self>) {} } use a::{self, b::*, c as _}; #[derive(A, b::C)] struct F(u8, G);",
        "m! { fn f(a in b) { c } \u{e9} { 'a: \"{x:y$}\" } } #[path = \"..\"] mod a { mod b; } enum E { A = 1, B(C), D { e: F } }",
        "type A = B; type B = A; fn f(a: A) { a.b(); A::c(); A { d: 1 } } trait C: C {} struct D<T: D<T>>(D<D<T>>); use self::*; use f as g; use g as f;",
        "macro_rules! m { ($a:ident $(, $b:expr)*) => { $crate::a::b!($a) } } trait T: A + 'static { const B: u8; } |x| _ = y;",
    ];
    let lowered = |text: &str| -> Option<FileStructure> { crate::structure::lower::lower(crate::Language::Rust, text) };
    for text in texts {
        for (end, _) in text.char_indices() {
            let Some(structure) = lowered(&text[..end]) else { continue };
            assert!(
                structure.references.iter().all(|it| text.get(it.span.start as usize..it.span.end as usize).is_some())
            );
        }
        let project = Project::of_texts([(LIB, text)]);
        let mut solver = Solver::new(&project);
        for reference in &project.files()[0].structure.references {
            solver.definitions(0, reference.value);
        }
    }
    for open in [
        "(",
        "[",
        "{",
        "a(",
        "&",
        "Box<",
        "m!(",
        "|x| ",
        "mod a {",
        "impl A { fn f() {",
        "x + ",
        "macro_rules! m { () => { (",
    ] {
        let text = format!("fn f() {{ {} }}", open.repeat(3000));
        lowered(&text);
        lowered(&format!("fn f(x: {}) {{}}", open.repeat(3000)));
    }
}
