//! Names with a declared type: parameters, variables, fields, and functions by what they return.

use std::ops::Range;

use tree_sitter::Node;

use super::{nodes::visit_named, type_name::outermost_name};
use crate::languages::{Language, parse};

/// A name and the type that the source declares for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedName {
    /// The place of the name at its declaration, in bytes.
    pub name: Range<usize>,
    /// The place of its type, in bytes.
    pub annotation: Range<usize>,
    /// The type's outermost name, `Vec` of `&mut Vec<T>`; arrays are `[]`, tuples `tuple`, function types `function`.
    pub type_name: String,
}

/// A kind of node that declares a type for one name or several.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Typing {
    /// The node's kind.
    pub(crate) node: &'static str,
    /// The field with the name or with the declarator around it; empty for the first child that is one.
    pub(crate) name: &'static str,
    /// The kind of the children that are declarators, where they have no field.
    declarators: &'static str,
    /// The field with the type; empty for the last type that stands behind the name.
    pub(crate) annotation: &'static str,
}

impl Typing {
    pub(crate) const fn new(node: &'static str, name: &'static str, annotation: &'static str) -> Self {
        Self { node, name, declarators: "", annotation }
    }

    /// One type for all children of a kind.
    pub(crate) const fn of_children(node: &'static str, declarators: &'static str, annotation: &'static str) -> Self {
        Self { node, name: "", declarators, annotation }
    }

    /// A type without a field of its own, behind the name.
    pub(crate) const fn after_name(node: &'static str, name: &'static str) -> Self {
        Self { node, name, declarators: "", annotation: "" }
    }
}

/// The typed names of a text, in the order in which their declarations begin. Types that are left to the compiler
/// (`var`, `auto`) are none, and so are patterns of several names. Empty for languages without written types.
pub fn type_labels(text: &str, language: Language) -> Vec<TypedName> {
    let typings = language.rules().typings();
    if typings.is_empty() {
        return Vec::new();
    }
    let Some(tree) = parse(text, language.rules().grammars(text)) else { return Vec::new() };
    let mut found = Vec::new();
    visit_named(tree.root_node(), &mut |node| {
        let mut typings = typings.iter().filter(|typing| typing.node == node.kind()).peekable();
        if typings.peek().is_some() && is_whole(node) {
            typings.for_each(|typing| add(text, node, *typing, &mut found));
        }
    });
    found
}

/// True where the grammar read all parts of a node: in prose it finds declarations that are none.
fn is_whole(node: Node<'_>) -> bool {
    !node.children(&mut node.walk()).any(|child| child.is_error() || child.is_missing())
}

fn add(text: &str, node: Node<'_>, typing: Typing, found: &mut Vec<TypedName>) {
    let annotation = match typing.annotation {
        "" => type_behind_name(node, typing.name),
        field => node.child_by_field_name(field),
    };
    let Some(annotation) = annotation.and_then(written_type) else { return };
    let type_name = match annotation.kind() {
        "function_type" => Some("function".to_owned()),
        _ => text.get(annotation.byte_range()).and_then(outermost_name),
    };
    let Some(type_name) = type_name else { return };
    let mut names = names(node, typing);
    // Of several names before one type, the last is the one that has it.
    if typing.annotation.is_empty() {
        names.retain(|name| name.end_byte() <= annotation.start_byte());
        names = names.pop().into_iter().collect();
    }
    for name in names {
        if !name.byte_range().is_empty() && !annotation.byte_range().is_empty() {
            let type_name = type_name.clone();
            found.push(TypedName { name: name.byte_range(), annotation: annotation.byte_range(), type_name });
        }
    }
}

/// The names that a node declares.
fn names<'tree>(node: Node<'tree>, typing: Typing) -> Vec<Node<'tree>> {
    let mut cursor = node.walk();
    match (typing.name, typing.declarators) {
        ("", "") => node.named_children(&mut cursor).filter_map(identifier).take(1).collect(),
        ("", kind) => {
            let declarators = node.named_children(&mut cursor).filter(|child| child.kind() == kind);
            declarators.filter_map(identifier).collect()
        }
        (field, _) => node.children_by_field_name(field, &mut cursor).filter_map(identifier).collect(),
    }
}

/// The last child that is a type and stands behind the first name.
fn type_behind_name<'tree>(node: Node<'tree>, name: &str) -> Option<Node<'tree>> {
    let name = match name {
        "" => node.named_children(&mut node.walk()).find_map(identifier)?,
        field => node.child_by_field_name(field).and_then(identifier)?,
    };
    let is_type = |child: &Node<'_>| {
        child.start_byte() >= name.end_byte() && (child.kind().ends_with("_type") || child.kind() == "type_annotation")
    };
    node.named_children(&mut node.walk()).filter(is_type).last()
}

/// The type itself, without the colon that TypeScript and Swift count to it, and without what Scala and Zig put around it.
fn written_type(annotation: Node<'_>) -> Option<Node<'_>> {
    match annotation.kind() {
        "type_annotation" => annotation.named_child(0),
        "lazy_parameter_type" | "repeated_parameter_type" => {
            annotation.child_by_field_name("type").and_then(written_type)
        }
        "error_union_type" => annotation.child_by_field_name("ok").and_then(written_type),
        "type_predicate_annotation" | "asserts_annotation" => None,
        _ => Some(annotation),
    }
}

/// The one name inside a declarator; `None` where there are several, or none, or where the type belongs to what
/// a pointer to a function returns.
fn identifier(node: Node<'_>) -> Option<Node<'_>> {
    let mut node = node;
    loop {
        node = match node.kind() {
            "identifier"
            | "simple_identifier"
            | "field_identifier"
            | "property_identifier"
            | "private_property_identifier"
            | "variable_name"
            | "name" => return Some(node),
            "pointer_declarator" | "array_declarator" | "function_declarator" | "init_declarator" => {
                node.child_by_field_name("declarator")?
            }
            "pattern" => node.child_by_field_name("bound_identifier")?,
            "variable_declarator" | "qualified_identifier" | "property_element" => node.child_by_field_name("name")?,
            "reference_declarator" | "mut_pattern" => {
                node.named_child(u32::try_from(node.named_child_count()).ok()?.checked_sub(1)?)?
            }
            _ => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `name: type` of each typed name, with the annotation where it differs.
    fn typed(text: &str, language: Language) -> Vec<String> {
        let found = type_labels(text, language);
        found
            .iter()
            .map(|typed| {
                let (name, annotation) = (&text[typed.name.clone()], &text[typed.annotation.clone()]);
                match annotation == typed.type_name {
                    true => format!("{name}: {annotation}"),
                    false => format!("{name}: {} = {annotation}", typed.type_name),
                }
            })
            .collect()
    }

    #[test]
    fn rust() {
        let text = "struct A<'a> { b: &'a str }\nconst N: usize = 3;\n\
                    fn f(mut x: Vec<u8>, (p, q): (u8, u8), &y: &i64) -> Option<u8> {\n    let z: [u8; 3] = g(|k: i32| k);\n    let w = 1;\n}";
        let expected =
            ["b: str = &'a str", "N: usize", "f: Option = Option<u8>", "x: Vec = Vec<u8>", "z: [] = [u8; 3]", "k: i32"];
        assert_eq!(typed(text, Language::Rust), expected);
    }

    #[test]
    fn python() {
        let text = "class A:\n    size: int = 3\n    def f(self, a: str, b: 'List[int]' = None, *args: int, c=1) -> Dict[str, int]:\n        x: float\n        y = 2\n";
        let expected = ["size: int", "f: Dict = Dict[str, int]", "a: str", "b: List = 'List[int]'", "x: float"];
        assert_eq!(typed(text, Language::Python), expected);
    }

    #[test]
    fn java() {
        let text = "class A { private final Map<String, Integer> m = null; int[] xs, ys;\n\
                    List<String> f(final String s, int... n) { var v = 1; long k = 2, j; for (String t : s) {} return null; } }";
        let expected = [
            "m: Map = Map<String, Integer>",
            "xs: [] = int[]",
            "ys: [] = int[]",
            "f: List = List<String>",
            "s: String",
            "k: long",
            "j: long",
            "t: String",
        ];
        assert_eq!(typed(text, Language::Java), expected);
    }

    #[test]
    fn typescript() {
        let text = "class A { private b: string[] = []; m(x?: number, {p}: Q): void {} }\n\
                    interface I { c: string | null; n(): boolean }\n\
                    function f(a: (x: number) => void, b = 1): Promise<A> { const z: Map<string, A> = g(); let w = 2; }\n\
                    function isA(x: any): x is A { return true }";
        let expected = [
            "b: [] = string[]",
            "m: void",
            "x: number",
            "c: string = string | null",
            "n: boolean",
            "f: Promise = Promise<A>",
            "a: function = (x: number) => void",
            "x: number",
            "z: Map = Map<string, A>",
            "x: any",
        ];
        assert_eq!(typed(text, Language::TypeScript), expected);
        assert!(typed("function f(a) { return a }", Language::JavaScript).is_empty());
    }

    #[test]
    fn go() {
        let text = "package p\ntype T struct { A, B int; c []string }\nvar x, y map[string]int\n\
                    func (t *T) f(a, b string, r ...int) (int, error) { var z *http.Request; w := 1 }\nfunc g() error {}";
        let expected = [
            "A: int",
            "B: int",
            "c: [] = []string",
            "x: map = map[string]int",
            "y: map = map[string]int",
            "f: tuple = (int, error)",
            "t: T = *T",
            "a: string",
            "b: string",
            "r: int",
            "z: Request = *http.Request",
            "g: error",
        ];
        assert_eq!(typed(text, Language::Go), expected);
    }

    #[test]
    fn c_and_cpp() {
        let text = "struct a { unsigned long n; char *s; };\nstatic int *f(const char *name, int xs[3], void (*cb)(int)) { struct stat st, *p; int i = 0; }";
        let expected = [
            "n: unsigned long",
            "s: char",
            "f: int",
            "name: char",
            "xs: int",
            "st: stat = struct stat",
            "p: stat = struct stat",
            "i: int",
        ];
        assert_eq!(typed(text, Language::C), expected);
        let text =
            "std::string A::f(const std::vector<int>& xs, T&& t, int k = 3) { auto z = 1; std::map<int, int> m; }";
        let expected = [
            "f: string = std::string",
            "xs: vector = std::vector<int>",
            "t: T",
            "k: int",
            "m: map = std::map<int, int>",
        ];
        assert_eq!(typed(text, Language::Cpp), expected);
    }

    #[test]
    fn php() {
        let text = "class A { private ?string $s = null; function f(int $a, $b, \\App\\M $m): array { } }";
        assert_eq!(typed(text, Language::Php), ["$s: string = ?string", "f: array", "$a: int", "$m: M = \\App\\M"]);
    }

    #[test]
    fn csharp() {
        let text = "class A<T> { private readonly List<T> xs = new(), ys; int? Size { get; set; }\n\
                    Task<int> F(string s, T[] rest) { var v = 1; A.B b = null; foreach (char c in s) {} int G(long k) => 1; } }";
        let expected = [
            "xs: List = List<T>",
            "ys: List = List<T>",
            "Size: int = int?",
            "F: Task = Task<int>",
            "s: string",
            "rest: [] = T[]",
            "b: B = A.B",
            "c: char",
            "G: int",
            "k: long",
        ];
        assert_eq!(typed(text, Language::CSharp), expected);
    }

    #[test]
    fn kotlin() {
        let text = "class A<T>(val b: List<T>, c: Int = 1)\n\
                    fun String.f(vararg d: T, g: (Int) -> Unit): Map<String, T>? { val h: Long = 1; val i = 2; return null }\n\
                    fun String.j() = 1\n";
        let expected = [
            "b: List = List<T>",
            "c: Int",
            "f: Map = Map<String, T>?",
            "d: T",
            "g: function = (Int) -> Unit",
            "h: Long",
        ];
        assert_eq!(typed(text, Language::Kotlin), expected);
    }

    #[test]
    fn scala() {
        let text = "class A[T](b: List[T], val c: Int = 1) { var d: Option[Int] = None; val e = 1\n\
                    def f(g: => String, h: T*)(k: Int => T): Map[String, T] = { val (x, y): (Int, Int) = z; null } }\n";
        let expected = [
            "b: List = List[T]",
            "c: Int",
            "d: Option = Option[Int]",
            "f: Map = Map[String, T]",
            "g: String",
            "h: T",
            "k: function = Int => T",
        ];
        assert_eq!(typed(text, Language::Scala), expected);
    }

    #[test]
    fn swift() {
        let text = "class A { let b: [String]; var c: Int? = 1, d = 2, e: Double\n\
                    func f(_ g: inout Int, h: @escaping (Int) -> Void, i: any P) -> some View { let (x, y): (Int, Int) = z } }\n\
                    protocol Q { func k() -> Bool }\n";
        let expected = [
            "b: [] = [String]",
            "e: Double",
            "f: View = some View",
            "g: Int",
            "h: function = (Int) -> Void",
            "i: P = any P",
            "k: Bool",
        ];
        assert_eq!(typed(text, Language::Swift), expected);
    }

    #[test]
    fn zig() {
        let text = "const A = struct { b: ?*const u8 = null, c: []u8 };\nvar d: u32 = 1;\nconst e = 2;\n\
                    fn f(g: std.mem.Allocator, comptime h: type, k: anytype) !A {}\n";
        let expected =
            ["b: u8 = ?*const u8", "c: [] = []u8", "d: u32", "f: A", "g: Allocator = std.mem.Allocator", "h: type"];
        assert_eq!(typed(text, Language::Zig), expected);
    }

    #[test]
    fn text_that_is_no_code_gives_nothing() {
        assert!(typed("", Language::Rust).is_empty());
        assert!(typed("Sort a list of numbers.", Language::Java).is_empty());
    }
}
