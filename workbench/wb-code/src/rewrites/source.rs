//! A text with its syntax tree, and the few questions that every rewrite asks about it.

use std::{collections::BTreeSet, ops::Range};

use tree_sitter::{Node, Tree};

use super::Refusal;
use crate::languages::{Language, parse};

/// Texts above this many bytes are refused: a rewrite is made for functions and small files.
const MAX_BYTES: usize = 256 << 10;
/// Trees deeper than this are refused: nobody wrote them, and every look at a parent walks down from the root.
const MAX_DEPTH: usize = 200;

/// A text of one language that parses without errors.
pub struct ParsedSource<'s> {
    pub(crate) text: &'s str,
    pub(crate) language: Language,
    tree: Tree,
}

impl<'s> ParsedSource<'s> {
    /// Parses a text; one with syntax errors is refused.
    pub fn parse(text: &'s str, language: Language) -> Result<Self, Refusal> {
        if text.len() > MAX_BYTES || text.contains('\r') || text.contains('\0') {
            return Err(Refusal::DoesNotParse);
        }
        let tree = parse(text, language.rules().grammars(text)).ok_or(Refusal::DoesNotParse)?;
        if tree.root_node().has_error() || depth(tree.root_node()) > MAX_DEPTH {
            return Err(Refusal::DoesNotParse);
        }
        Ok(Self { text, language, tree })
    }

    pub(crate) fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    pub(crate) fn str(&self, node: Node<'_>) -> &'s str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// All words of the text: what a fresh name must not be.
    pub(crate) fn words(&self) -> BTreeSet<&'s str> {
        self.text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect()
    }

    /// Functions and methods that stand in no other one.
    pub(crate) fn functions(&self) -> Vec<Node<'_>> {
        let kinds = function_kinds(self.language);
        let mut found: Vec<Node<'_>> = Vec::new();
        for node in preorder(self.root()) {
            let is_inner = found.last().is_some_and(|outer| node.start_byte() < outer.end_byte());
            if kinds.contains(&node.kind()) && node.is_named() && !is_inner {
                found.push(node);
            }
        }
        found
    }

    /// Everything that `find` finds in the functions, with the last refusal, for where that is nothing.
    pub(crate) fn in_functions<'t, T>(
        &'t self,
        find: impl Fn(Node<'t>) -> Result<Vec<T>, Refusal>,
    ) -> (Vec<T>, Refusal) {
        let (mut all, mut refusal) = (Vec::new(), Refusal::NoSite);
        for function in self.functions() {
            match find(function) {
                Ok(found) => all.extend(found),
                Err(why) => refusal = why,
            }
        }
        (all, refusal)
    }

    /// The names of the functions that stand in no other one, in the order of the source.
    pub fn function_names(&self) -> Vec<String> {
        let named = self.functions().into_iter().filter_map(|function| function.child_by_field_name("name"));
        named.map(|name| self.str(name).to_owned()).collect()
    }

    /// The functions at the top of a Python or JavaScript text, each with its name and the names of the parameters that
    /// must be given; nothing in the place of one that cannot be called with plain values: methods, those that give
    /// promises, and those with starred parameters.
    pub fn plain_functions(&self) -> Vec<Option<(String, Vec<String>)>> {
        let kind = match self.language {
            Language::Python => "function_definition",
            Language::JavaScript => "function_declaration",
            _ => return Vec::new(),
        };
        let functions = named_children(self.root()).into_iter().filter(|node| node.kind() == kind);
        functions.map(|function| self.plain(function)).collect()
    }

    fn plain(&self, function: Node<'_>) -> Option<(String, Vec<String>)> {
        let is_async = function.child(0).is_some_and(|first| first.kind() == "async");
        let mut names = Vec::new();
        for parameter in named_children(function.child_by_field_name("parameters")?) {
            let name = match parameter.kind() {
                "identifier" => parameter,
                "typed_parameter" => parameter.named_child(0).filter(|name| name.kind() == "identifier")?,
                "default_parameter" | "typed_default_parameter" | "assignment_pattern" => continue,
                _ => return None,
            };
            names.push(self.str(name).to_owned());
        }
        let is_method = names.first().is_some_and(|first| matches!(first.as_str(), "self" | "cls"));
        let name = self.str(function.child_by_field_name("name")?).to_owned();
        (!is_method && !is_async && !names.is_empty()).then_some((name, names))
    }

    /// Every function, the inner ones too.
    pub(crate) fn all_functions(&self) -> Vec<Node<'_>> {
        let kinds = function_kinds(self.language);
        preorder(self.root()).into_iter().filter(|node| node.is_named() && kinds.contains(&node.kind())).collect()
    }

    /// The position where the line of `at` begins.
    pub(crate) fn line_start(&self, at: usize) -> usize {
        self.text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1)
    }

    /// The position where the line of `at` ends, before its line break.
    pub(crate) fn line_end(&self, at: usize) -> usize {
        self.text.get(at..).and_then(|after| after.find('\n')).map_or(self.text.len(), |newline| at + newline)
    }

    /// The white space before `at` on its line, if nothing else stands there.
    pub(crate) fn margin(&self, at: usize) -> Option<&'s str> {
        self.text.get(self.line_start(at)..at).filter(|space| space.trim().is_empty())
    }

    /// True where a node has its lines to itself.
    pub(crate) fn owns_lines(&self, node: Node<'_>) -> bool {
        let after = self.text.get(node.end_byte()..self.line_end(node.end_byte())).unwrap_or_default();
        self.margin(node.start_byte()).is_some() && after.trim().is_empty()
    }

    /// True where a node spans one line.
    pub(crate) fn is_one_line(&self, node: Node<'_>) -> bool {
        node.start_position().row == node.end_position().row
    }

    /// One more level of indentation, as the text has it: of its first indented line, four spaces where there is none.
    pub(crate) fn indent(&self) -> &'s str {
        let spaces = |line: &'s str| &line[..line.len() - line.trim_start().len()];
        let indented = self.text.lines().map(|line| (spaces(line), line)).filter(|(_, line)| !line.trim().is_empty());
        let first = indented.map(|(space, _)| space).find(|space| !space.is_empty());
        match first {
            Some(space) if space.starts_with('\t') => "\t",
            Some(space) if space.len() <= 8 => space,
            _ => "    ",
        }
    }

    /// True where any multi-line literal (string, template, here document) is in a range: such text cannot be indented.
    pub(crate) fn has_multiline_literal(&self, node: Node<'_>) -> bool {
        preorder(node).into_iter().any(|inner| {
            let kind = inner.kind();
            (kind.contains("string") || kind.contains("heredoc") || kind.contains("template") || kind == "text")
                && inner.start_position().row != inner.end_position().row
        })
    }

    /// The text of a range with every line but the first moved by the difference between two margins.
    /// `None` where a line does not begin with the old margin.
    pub(crate) fn moved(&self, range: Range<usize>, old: &str, new: &str) -> Option<String> {
        let mut result = String::new();
        for (index, line) in self.text.get(range)?.split('\n').enumerate() {
            if index > 0 {
                result.push('\n');
            }
            if index == 0 || line.trim().is_empty() {
                result.push_str(line);
            } else {
                result.push_str(new);
                result.push_str(line.strip_prefix(old)?);
            }
        }
        Some(result)
    }
}

/// Kinds of nodes that are functions in a language: with parameters and a body, closures aside. None for the languages
/// that no rule knows.
pub(crate) fn function_kinds(language: Language) -> &'static [&'static str] {
    match language {
        Language::Python | Language::C | Language::Cpp => &["function_definition"],
        Language::JavaScript | Language::TypeScript => &[
            "function_declaration",
            "function_expression",
            "arrow_function",
            "method_definition",
            "generator_function_declaration",
            "generator_function",
        ],
        Language::Java => &["method_declaration", "constructor_declaration"],
        Language::Go => &["function_declaration", "method_declaration"],
        Language::Ruby => &["method", "singleton_method"],
        Language::Rust => &["function_item"],
        Language::Php => &["function_definition", "method_declaration"],
        // Rules rewrite none of the others.
        _ => &[],
    }
}

/// Functions without a name in a language.
pub(crate) fn closure_kinds(language: Language) -> &'static [&'static str] {
    match language {
        Language::Python => &["lambda"],
        Language::JavaScript | Language::TypeScript => &[],
        Language::Java => &["lambda_expression", "class_body"],
        Language::Go => &["func_literal"],
        Language::Ruby => &["block", "do_block", "lambda"],
        Language::Rust => &["closure_expression", "async_block"],
        Language::Php => &["anonymous_function", "arrow_function"],
        Language::C | Language::Cpp => &["lambda_expression"],
        // Rules rewrite none of the others.
        _ => &[],
    }
}

/// True where a node is a function of any sort, named or not.
pub(crate) fn is_function(node: Node<'_>, language: Language) -> bool {
    node.is_named()
        && (function_kinds(language).contains(&node.kind()) || closure_kinds(language).contains(&node.kind()))
}

/// A node and everything in it, parents first, without recursion: a hostile source can nest a million deep.
pub(crate) fn preorder(root: Node<'_>) -> Vec<Node<'_>> {
    let mut nodes = Vec::new();
    let mut cursor = root.walk();
    loop {
        nodes.push(cursor.node());
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return nodes;
            }
        }
    }
}

/// Number of levels of a tree.
fn depth(root: Node<'_>) -> usize {
    let mut cursor = root.walk();
    let mut deepest = 0;
    loop {
        deepest = deepest.max(cursor.depth() as usize);
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return deepest;
            }
        }
    }
}

/// The parents of a node, nearest first.
pub(crate) fn ancestors(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    std::iter::successors(node.parent(), |node| node.parent())
}

/// True where `inner` lies in `outer`.
pub(crate) fn within(inner: Range<usize>, outer: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// True where a node is the child of its parent by this field's name.
pub(crate) fn is_field(node: Node<'_>, field: &str) -> bool {
    node.parent().is_some_and(|parent| {
        let mut cursor = parent.walk();
        parent.children_by_field_name(field, &mut cursor).any(|child| child.id() == node.id())
    })
}

/// Named children that are no comments.
pub(crate) fn named_children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| !child.is_extra()).collect()
}

/// True where a node is a comment in any of the languages.
pub(crate) fn is_comment(node: Node<'_>) -> bool {
    matches!(node.kind(), "comment" | "line_comment" | "block_comment")
}
