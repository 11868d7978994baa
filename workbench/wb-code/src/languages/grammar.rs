//! The tree-sitter grammars, and one parser of each per thread.

use std::{borrow::Cow, cell::RefCell, collections::HashMap};

use tree_sitter::{ParseOptions, ParseState, Parser, Point, Range, Tree};

use super::budget::{Budget, nests_too_deep};

/// A grammar; a language can have more than one (TypeScript with and without JSX, PHP with and without its tag).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Grammar {
    Rust,
    Python,
    Java,
    JavaScript,
    TypeScript,
    Tsx,
    Go,
    Ruby,
    Php,
    PhpOnly,
    C,
    Cpp,
    CSharp,
    Kotlin,
    Scala,
    Swift,
    Lua,
    Bash,
    Haskell,
    Elixir,
    Zig,
}

impl Grammar {
    /// All of them.
    pub(crate) const ALL: [Self; 21] = [
        Self::Rust,
        Self::Python,
        Self::Java,
        Self::JavaScript,
        Self::TypeScript,
        Self::Tsx,
        Self::Go,
        Self::Ruby,
        Self::Php,
        Self::PhpOnly,
        Self::C,
        Self::Cpp,
        Self::CSharp,
        Self::Kotlin,
        Self::Scala,
        Self::Swift,
        Self::Lua,
        Self::Bash,
        Self::Haskell,
        Self::Elixir,
        Self::Zig,
    ];

    pub(crate) fn load(self) -> tree_sitter::Language {
        match self {
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::Java => tree_sitter_java::LANGUAGE.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
            Self::Ruby => tree_sitter_ruby::LANGUAGE.into(),
            Self::Php => tree_sitter_php::LANGUAGE_PHP.into(),
            Self::PhpOnly => tree_sitter_php::LANGUAGE_PHP_ONLY.into(),
            Self::C => tree_sitter_c::LANGUAGE.into(),
            Self::Cpp => tree_sitter_cpp::LANGUAGE.into(),
            Self::CSharp => tree_sitter_c_sharp::LANGUAGE.into(),
            Self::Kotlin => tree_sitter_kotlin_sg::LANGUAGE.into(),
            Self::Scala => tree_sitter_scala::LANGUAGE.into(),
            Self::Swift => tree_sitter_swift::LANGUAGE.into(),
            Self::Lua => tree_sitter_lua::LANGUAGE.into(),
            Self::Bash => tree_sitter_bash::LANGUAGE.into(),
            Self::Haskell => tree_sitter_haskell::LANGUAGE.into(),
            Self::Elixir => tree_sitter_elixir::LANGUAGE.into(),
            Self::Zig => tree_sitter_zig::LANGUAGE.into(),
        }
    }
}

thread_local! {
    static PARSERS: RefCell<HashMap<Grammar, Parser>> = RefCell::new(HashMap::new());
}

/// The tree of a source by the first grammar that finds no error in it, else by the first grammar.
///
/// `None` where parsing takes far more work than the length of the source explains, or where it nests deeper than any source
/// (text that is no source, see [`Budget`]). Time plays no part, so the answer is the same on every machine.
pub(crate) fn parse(source: &str, grammars: &[Grammar]) -> Option<Tree> {
    if nests_too_deep(source) {
        return None;
    }
    let first = parse_with(source, *grammars.first()?)?;
    if !first.root_node().has_error() {
        return Some(first);
    }
    for grammar in &grammars[1..] {
        if let Some(tree) = parse_with(source, *grammar)
            && !tree.root_node().has_error()
        {
            return Some(tree);
        }
    }
    Some(first)
}

/// The tree of a part of a source as if other text stood before and after it, with the places that it has in the source.
pub(crate) fn parse_part(source: &str, grammar: Grammar, part: Range, before: &str, after: &str) -> Option<Tree> {
    let start = part.start_byte.checked_sub(before.len())?;
    let text = source.get(part.start_byte..part.end_byte)?;
    let read = |offset: usize| {
        let parts = [(start, before), (part.start_byte, text), (part.end_byte, after)];
        let mut rest = parts.into_iter().filter_map(|(from, text)| text.as_bytes().get(offset.checked_sub(from)?..));
        rest.find(|rest| !rest.is_empty()).unwrap_or_default()
    };
    let column = |point: Point, by: isize| Point { column: point.column.saturating_add_signed(by), ..point };
    let range = Range {
        start_byte: start,
        end_byte: part.end_byte + after.len(),
        start_point: column(part.start_point, -(before.len() as isize)),
        end_point: column(part.end_point, after.len() as isize),
    };
    parse_bytes(grammar, range.end_byte - range.start_byte, &[range], read)
}

fn parse_with(source: &str, grammar: Grammar) -> Option<Tree> {
    let source = if grammar == Grammar::Bash { narrowed(source) } else { Cow::Borrowed(source) };
    let bytes = source.as_bytes();
    parse_bytes(grammar, bytes.len(), &[], |offset| bytes.get(offset..).unwrap_or_default())
}

/// The source with each letter above U+00FF replaced by one or two below it, as many bytes in all.
///
/// Bash's scanner looks letters up in C's table for one byte, so that `{` before any other letter reads memory outside of it
/// and may end the process (<https://github.com/tree-sitter/tree-sitter-bash/issues/337>). To Bash all of them are parts of
/// words, and places are counted in bytes, so the tree is the same.
fn narrowed(source: &str) -> Cow<'_, str> {
    if source.chars().all(|letter| letter <= 'ÿ') {
        return Cow::Borrowed(source);
    }
    let mut narrow = String::with_capacity(source.len());
    for letter in source.chars() {
        match letter.len_utf8() {
            _ if letter <= 'ÿ' => narrow.push(letter),
            2 => narrow.push('ÿ'),
            3 => narrow.push_str("ÿ_"),
            _ => narrow.push_str("ÿÿ"),
        }
    }
    Cow::Owned(narrow)
}

fn parse_bytes<'s>(
    grammar: Grammar,
    length: usize,
    ranges: &[Range],
    read: impl Fn(usize) -> &'s [u8],
) -> Option<Tree> {
    PARSERS.with_borrow_mut(|parsers| {
        let parser = parsers.entry(grammar).or_insert_with(|| {
            let mut parser = Parser::new();
            // The grammars are pinned beside the parser library; one that does not fit gives no trees, and the tests say so.
            let _ = parser.set_language(&grammar.load());
            parser
        });
        let budget = Budget::of(ranges.first().map_or(0, |range| range.start_byte), length);
        let mut progress = |state: &ParseState| budget.check(state.current_byte_offset());
        let options = ParseOptions::new().progress_callback(&mut progress);
        // The parser keeps its ranges, so those of the last part are taken back.
        parser.set_included_ranges(ranges).ok()?;
        let tree = parser.parse_with_options(&mut |offset: usize, _| budget.piece(read(offset)), None, Some(options));
        if tree.is_none() {
            parser.reset();
        }
        // One whose text was cut short is no tree of that text.
        tree.filter(|_| !budget.is_spent())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_no_source_are_given_up() {
        // Lua's scanner looks for the end of a block at each `<`, Bash's within a single step; Swift's grammar tries more
        // and more readings side by side.
        for (grammar, line) in [(Grammar::Lua, "<a "), (Grammar::Bash, "\0"), (Grammar::Swift, "|> ")] {
            let text = line.repeat(20_000 / line.len());
            assert!(parse(&text, &[grammar]).is_none(), "{grammar:?}");
            // The parser reads the next source as ever.
            assert!(parse("x = 1\n", &[grammar]).is_some_and(|tree| !tree.root_node().has_error()), "{grammar:?}");
        }
    }

    #[test]
    fn texts_that_nest_without_end_are_given_up() {
        // Java's and PHP's overflow the stack of a thread.
        for (grammar, open) in
            [(Grammar::Lua, "if x {\n"), (Grammar::Java, "{("), (Grammar::Php, "([{"), (Grammar::Rust, "%w(")]
        {
            assert!(parse(&open.repeat(50_000), &[grammar]).is_none(), "{grammar:?}");
        }
        let deep = format!("x = {}1{}\n", "(".repeat(5_000), ")".repeat(5_000));
        assert!(parse(&deep.repeat(3), &[Grammar::Python]).is_some_and(|tree| !tree.root_node().has_error()));
    }

    #[test]
    fn long_sources_and_broken_ones_have_trees() {
        let lines = "local function f(x)\n  if x then return { 1, \"a\" } end\nend\n".repeat(5_000);
        assert!(parse(&lines, &[Grammar::Lua]).is_some_and(|tree| !tree.root_node().has_error()));
        // An end that is missing once costs one search.
        assert!(parse(&format!("{lines}x = [[\n{lines}"), &[Grammar::Lua]).is_some());
        assert!(parse(&format!("{lines}if x {{\n{lines}"), &[Grammar::Lua]).is_some());
    }

    #[test]
    fn narrowed_letters_take_as_many_bytes_and_leave_the_tree_as_it_is() {
        let source = "# 世界 ω\nf() {\n  echo \"$x 世\" 😀 é\n}\n";
        let narrow = narrowed(source);
        assert_eq!((narrow.len(), narrow.lines().count()), (source.len(), source.lines().count()));
        assert_eq!(narrow, "# ÿ_ÿ_ ÿ\nf() {\n  echo \"$x ÿ_\" ÿÿ é\n}\n");
        let wide = parse_bytes(Grammar::Bash, source.len(), &[], |at| &source.as_bytes()[at..]).expect("a tree");
        let tree = parse_with(source, Grammar::Bash).expect("a tree");
        assert_eq!(tree.root_node().to_sexp(), wide.root_node().to_sexp());
        assert!(!tree.root_node().has_error());
        assert!(matches!(narrowed("é"), Cow::Borrowed(_)));
    }
}
