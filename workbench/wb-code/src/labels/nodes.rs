//! The kind of every named syntax node of a text, as a number that means the same in all languages.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Range,
    sync::LazyLock,
};

use tree_sitter::Node;

use crate::languages::{Grammar, Language, parse};

/// A named node of a syntax tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeLabel {
    /// Its place in the text, in bytes.
    pub bytes: Range<usize>,
    /// Position of its kind in [`node_kinds`]; `None` for text that the grammar could not read.
    pub kind: Option<u16>,
}

/// Kinds of named nodes, and the place of each.
struct Kinds {
    names: Vec<String>,
    places: HashMap<String, u16>,
}

static KINDS: LazyLock<Kinds> = LazyLock::new(|| {
    let mut names = BTreeSet::new();
    for grammar in Grammar::ALL {
        let grammar = grammar.load();
        let is_shown = |id: &u16| grammar.node_kind_is_named(*id) && grammar.node_kind_is_visible(*id);
        let named = (0..grammar.node_kind_count() as u16).filter(is_shown);
        names.extend(named.filter_map(|id| grammar.node_kind_for_id(id)).map(str::to_owned));
    }
    let names: Vec<String> = names.into_iter().collect();
    let places = names.iter().enumerate().map(|(place, name)| (name.clone(), place as u16)).collect();
    Kinds { names, places }
});

/// The names of all kinds of named nodes in all grammars, in alphabetical order. A kind that several grammars have
/// by one name (`identifier`, `call_expression`) is one kind, so that what is learned in one language helps in another.
pub fn node_kinds() -> &'static [String] {
    &KINDS.names
}

/// The named nodes of a text, each before those inside it; where several cover a place, the last of them
/// is the smallest. Empty where the text cannot be parsed.
pub fn node_labels(text: &str, language: Language) -> Vec<NodeLabel> {
    let Some(tree) = parse(text, language.rules().grammars(text)) else { return Vec::new() };
    let mut labels = Vec::new();
    visit_named(tree.root_node(), &mut |node| {
        // A node that the grammar put in where the text lacks one has no bytes.
        if !node.is_missing() && node.start_byte() < node.end_byte() {
            labels.push(NodeLabel { bytes: node.byte_range(), kind: KINDS.places.get(node.kind()).copied() });
        }
    });
    labels
}

/// Calls `visit` with every named node, parents first, without recursion.
pub(super) fn visit_named<'tree>(root: Node<'tree>, visit: &mut impl FnMut(Node<'tree>)) {
    let mut cursor = root.walk();
    loop {
        if cursor.node().is_named() {
            visit(cursor.node());
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kind of the smallest node around a piece of the text.
    fn kind_of(text: &str, language: Language, piece: &str) -> String {
        let at = text.find(piece).unwrap();
        let covers = |label: &&NodeLabel| label.bytes.start <= at && at + piece.len() <= label.bytes.end;
        let labels = node_labels(text, language);
        let kind = labels.iter().rfind(covers).and_then(|label| label.kind);
        kind.map_or_else(String::new, |kind| node_kinds()[usize::from(kind)].clone())
    }

    #[test]
    fn the_smallest_node_around_a_token_in_every_language() {
        use Language::{
            C, CSharp, Cpp, Elixir, Go, Haskell, Java, JavaScript, Kotlin, Lua, Php, Python, Ruby, Rust, Scala, Shell,
            Swift, TypeScript, Zig,
        };
        for (language, text, expected) in [
            (
                Rust,
                "fn add(a: u8) -> u8 { a + 1 } // done",
                [
                    ("fn", "function_item"),
                    ("u8", "primitive_type"),
                    ("+", "binary_expression"),
                    ("done", "line_comment"),
                ],
            ),
            (
                Python,
                "def add(a):\n    return a + 1  # done",
                [("def", "function_definition"), ("add", "identifier"), ("+", "binary_operator"), ("1", "integer")],
            ),
            (
                Java,
                "int add(int a) { return a + 1; }",
                [
                    ("int", "integral_type"),
                    ("add", "identifier"),
                    ("return", "return_statement"),
                    ("+", "binary_expression"),
                ],
            ),
            (
                JavaScript,
                "function add(a) { return `x${a}`; }",
                [
                    ("function", "function_declaration"),
                    ("(", "formal_parameters"),
                    ("x", "string_fragment"),
                    ("${", "template_substitution"),
                ],
            ),
            (
                TypeScript,
                "const a: Map<string> = new Map()",
                [
                    ("const", "lexical_declaration"),
                    ("Map<", "generic_type"),
                    ("string", "predefined_type"),
                    ("new", "new_expression"),
                ],
            ),
            (
                Go,
                "func add(a int) int { return a + 1 }",
                [
                    ("func", "function_declaration"),
                    ("add", "identifier"),
                    ("int", "type_identifier"),
                    ("1", "int_literal"),
                ],
            ),
            (
                Ruby,
                "def add(a)\n  a + :one\nend",
                [("def", "method"), ("add", "identifier"), (":one", "simple_symbol"), ("end", "method")],
            ),
            (
                Php,
                "function add($a) { return $a + 1; }",
                [
                    ("function", "function_definition"),
                    ("add", "name"),
                    ("$a", "variable_name"),
                    ("return", "return_statement"),
                ],
            ),
            (
                C,
                "int add(int *a) { return *a + 1; }",
                [
                    ("int", "primitive_type"),
                    ("*a)", "parameter_list"),
                    ("*a +", "binary_expression"),
                    ("1", "number_literal"),
                ],
            ),
            (
                Cpp,
                "template <class T> T add(T b) { return b + 1; }",
                [
                    ("template", "template_declaration"),
                    ("class", "type_parameter_declaration"),
                    ("T b", "parameter_declaration"),
                    ("1", "number_literal"),
                ],
            ),
            (
                CSharp,
                "class A { int Add(int a) => a + 1; }",
                [
                    ("class", "class_declaration"),
                    ("int a", "parameter"),
                    ("=>", "arrow_expression_clause"),
                    ("1", "integer_literal"),
                ],
            ),
            (
                Kotlin,
                "fun add(a: Int): Int = a + 1",
                [
                    ("fun", "function_declaration"),
                    ("Int", "type_identifier"),
                    ("+", "additive_expression"),
                    ("1", "integer_literal"),
                ],
            ),
            (
                Scala,
                "def add(a: Int): Int = a + 1",
                [
                    ("def", "function_definition"),
                    ("Int", "type_identifier"),
                    ("+", "operator_identifier"),
                    ("1", "integer_literal"),
                ],
            ),
            (
                Swift,
                "func add(a: Int) -> Int { a + 1 }",
                [
                    ("func", "function_declaration"),
                    ("Int", "type_identifier"),
                    ("+", "additive_expression"),
                    ("1", "integer_literal"),
                ],
            ),
            (
                Lua,
                "function add(a) return a + 1 end",
                [
                    ("function", "function_declaration"),
                    ("add", "identifier"),
                    ("+", "binary_expression"),
                    ("1", "number"),
                ],
            ),
            (
                Shell,
                "add() { echo \"$1\"; }",
                [("add", "word"), ("{", "compound_statement"), ("echo", "word"), ("$1", "simple_expansion")],
            ),
            (Haskell, "add a = a + 1", [("add", "variable"), ("=", "match"), ("+", "operator"), ("1", "integer")]),
            (
                Elixir,
                "def add(a), do: a + 1",
                [("def", "identifier"), ("do: ", "keyword"), ("+", "binary_operator"), ("1", "integer")],
            ),
            (
                Zig,
                "fn add(a: u8) u8 { return a + 1; }",
                [("fn", "function_declaration"), ("u8", "builtin_type"), ("+", "binary_expression"), ("1", "integer")],
            ),
        ] {
            for (piece, kind) in expected {
                assert_eq!(kind_of(text, language, piece), kind, "{language}: {piece} of {text}");
            }
        }
    }

    #[test]
    fn nodes_come_before_what_is_inside_them_and_errors_have_no_kind() {
        let text = "fn f() { let x = (1 + ; } fn g() {}";
        let labels = node_labels(text, Language::Rust);
        assert_eq!(labels[0].bytes, 0..text.len());
        assert!(labels.iter().any(|label| label.kind.is_none()), "{labels:?}");
        for (at, label) in labels.iter().enumerate() {
            assert!(labels[at + 1..].iter().all(|later| later.bytes.start >= label.bytes.start));
        }
        assert_eq!(kind_of(text, Language::Rust, "fn g"), "function_item");
        assert!(node_labels("", Language::Rust).is_empty());
        let nested = "(".repeat(20_000) + &")".repeat(20_000);
        assert!(node_labels(&nested, Language::JavaScript).len() < 100_000);
    }

    #[test]
    fn kinds_are_sorted_and_shared_by_name() {
        let kinds = node_kinds();
        assert!(kinds.is_sorted() && kinds.len() > 500 && kinds.len() < 2000, "{}", kinds.len());
        assert!(kinds.binary_search(&"identifier".to_owned()).is_ok());
        let hidden: Vec<&String> = kinds.iter().filter(|kind| kind.starts_with('_')).collect();
        // The grammar of Bash shows some of its words by such a name.
        assert_eq!(hidden, ["_expression"], "hidden kinds are no labels");
    }
}
