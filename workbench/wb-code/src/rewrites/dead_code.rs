//! Dead code: a statement that cannot run, or that nobody sees, is put between two others.

use tree_sitter::Node;

use super::{
    Draw, Edits, ParsedSource, Refusal,
    rewrite::{Change, Rewrite},
    source::{ancestors, function_kinds, is_comment, named_children, preorder},
    words::fresh,
};
use crate::languages::Language;

/// Nothing is put after a `return`, before a docstring or a directive, or where the last value counts.
pub(super) struct DeadCode;

impl Rewrite for DeadCode {
    fn edits(&self, source: &ParsedSource<'_>, draw: &mut Draw) -> Result<Change, Refusal> {
        if matches!(source.language, Language::C | Language::Cpp) {
            return Err(Refusal::UnknownLanguage);
        }
        let places = places(source);
        let place = *draw.one_of(&places).ok_or(Refusal::NoSite)?;
        let margin = source.margin(place.start_byte()).unwrap_or_default();
        let taken = source.words();
        let name = fresh(&taken, [&["unused", "spare"][..], &["placeholder"], &["padding", "idle"]][draw.below(3)]);
        let number = draw.below(10);
        let indent = source.indent();
        let (text, note) = snippet(source.language, draw, &name, number, margin, indent);
        let mut edits = Edits::new();
        edits.insert(place.start_byte(), format!("{text}\n{margin}"));
        Ok(Change { edits, note })
    }
}

/// Statements of function bodies before which another can stand.
fn places<'t>(source: &'t ParsedSource<'_>) -> Vec<Node<'t>> {
    let functions = function_kinds(source.language);
    let mut places = Vec::new();
    for block in preorder(source.root()) {
        let is_block = match source.language {
            Language::Python | Language::Java | Language::Rust => block.kind() == "block",
            Language::JavaScript | Language::TypeScript => block.kind() == "statement_block",
            Language::Go => block.kind() == "statement_list",
            Language::Ruby => block.kind() == "body_statement",
            Language::Php => block.kind() == "compound_statement",
            _ => false,
        };
        if !is_block {
            continue;
        }
        // The nearest thing around that is no block must be a function: class bodies have other rules.
        let owner = ancestors(block)
            .find(|up| functions.contains(&up.kind()) || up.kind().contains("class") || up.kind().contains("switch"));
        if !owner.is_some_and(|owner| functions.contains(&owner.kind())) {
            continue;
        }
        for (index, statement) in named_children(block).into_iter().enumerate() {
            if can_precede(source, statement, index) {
                places.push(statement);
            }
        }
    }
    places
}

fn can_precede(source: &ParsedSource<'_>, statement: Node<'_>, index: usize) -> bool {
    let text = source.str(statement);
    let kind = statement.kind();
    let is_first_text = index == 0 && text.starts_with(['"', '\'', 'r', 'u', 'R', 'U', 'b', 'f']) && is_text(statement);
    source.margin(statement.start_byte()).is_some()
        && !is_comment(statement)
        && !is_first_text
        && !text.starts_with("#[")
        && !text.starts_with("#!")
        && !matches!(
            kind,
            "explicit_constructor_invocation"
                | "inner_attribute_item"
                | "rescue"
                | "ensure"
                | "else"
                | "attribute_item"
                | "empty_statement"
                | "use_declaration"
                | "future_import_statement"
                | "global_statement"
                | "nonlocal_statement"
        )
        && statement.prev_sibling().is_none_or(|before| before.kind() != "attribute_item" && !is_comment(before))
        && !(source.language == Language::Java && is_after_jump(statement))
}

fn is_text(statement: Node<'_>) -> bool {
    let inner = if statement.kind() == "expression_statement" { statement.named_child(0) } else { Some(statement) };
    inner.is_some_and(|inner| matches!(inner.kind(), "string" | "concatenated_string"))
}

fn is_after_jump(statement: Node<'_>) -> bool {
    statement.prev_named_sibling().is_some_and(|before| {
        matches!(before.kind(), "return_statement" | "throw_statement" | "break_statement" | "continue_statement")
    })
}

fn snippet(
    language: Language,
    draw: &mut Draw,
    name: &str,
    number: usize,
    margin: &str,
    indent: &str,
) -> (String, String) {
    let never = draw.below(2) == 0;
    let inner = format!("{margin}{indent}");
    let text = match (language, never) {
        (Language::Python, true) => format!("if False:\n{inner}{name} = {number}"),
        (Language::Python, false) => format!("{name} = {number}"),
        (Language::JavaScript | Language::TypeScript, true) => {
            format!("if (false) {{\n{inner}let {name} = {number};\n{margin}}}")
        }
        (Language::JavaScript | Language::TypeScript, false) => format!("const {name} = {number};"),
        (Language::Java, true) => format!("if (false) {{\n{inner}int {name} = {number};\n{margin}}}"),
        (Language::Java, false) => format!("int {name} = {number};"),
        (Language::Go, true) => format!("if false {{\n{inner}_ = {number}\n{margin}}}"),
        (Language::Go, false) => format!("_ = {number}"),
        (Language::Ruby, true) => format!("if false\n{inner}{name} = {number}\n{margin}end"),
        (Language::Ruby, false) => format!("{name} = {number}"),
        (Language::Rust, true) => format!("if false {{\n{inner}let _{name} = {number};\n{margin}}}"),
        (Language::Rust, false) => format!("let _{name} = {number};"),
        (Language::Php, true) => format!("if (false) {{\n{inner}${name} = {number};\n{margin}}}"),
        (Language::Php, false) => format!("${name} = {number};"),
        _ => String::new(),
    };
    let note = if never { "add a branch that never runs" } else { "add a variable that nobody reads" };
    (text, note.to_owned())
}
