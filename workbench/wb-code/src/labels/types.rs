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
    /// The field with the type.
    pub(crate) annotation: &'static str,
}

impl Typing {
    pub(crate) const fn new(node: &'static str, name: &'static str, annotation: &'static str) -> Self {
        Self { node, name, annotation }
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

fn add<'tree>(text: &str, node: Node<'tree>, typing: Typing, found: &mut Vec<TypedName>) {
    let Some(annotation) = node.child_by_field_name(typing.annotation).and_then(written_type) else { return };
    let Some(type_name) = text.get(annotation.byte_range()).and_then(outermost_name) else { return };
    let names: Vec<Node<'tree>> = match typing.name {
        "" => node.named_children(&mut node.walk()).filter_map(identifier).take(1).collect(),
        field => node.children_by_field_name(field, &mut node.walk()).filter_map(identifier).collect(),
    };
    for name in names {
        if !name.byte_range().is_empty() && !annotation.byte_range().is_empty() {
            let type_name = type_name.clone();
            found.push(TypedName { name: name.byte_range(), annotation: annotation.byte_range(), type_name });
        }
    }
}

/// The type itself, without the colon that TypeScript counts to it.
fn written_type(annotation: Node<'_>) -> Option<Node<'_>> {
    match annotation.kind() {
        "type_annotation" => annotation.named_child(0),
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
            | "field_identifier"
            | "property_identifier"
            | "private_property_identifier"
            | "variable_name"
            | "name" => return Some(node),
            "pointer_declarator" | "array_declarator" | "function_declarator" | "init_declarator" => {
                node.child_by_field_name("declarator")?
            }
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
    fn text_that_is_no_code_gives_nothing() {
        assert!(typed("", Language::Rust).is_empty());
        assert!(typed("Sort a list of numbers.", Language::Java).is_empty());
    }
}
