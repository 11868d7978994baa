//! Languages with braces: any `while` as an endless loop with a way out, a counted `for` as a `while`.

use tree_sitter::Node;

use super::{Change, has_functions, has_own};
use crate::{
    languages::Language,
    rewrites::{
        Edits, ParsedSource,
        source::{is_comment, named_children, preorder},
    },
};

pub(super) fn ways(source: &ParsedSource<'_>) -> Vec<Change> {
    let mut ways = Vec::new();
    for function in source.functions() {
        for node in preorder(function).into_iter().filter(Node::is_named) {
            ways.extend(match (source.language, node.kind()) {
                (Language::Rust, "while_expression") | (_, "while_statement") => endless(source, node),
                (Language::Go, "for_statement") => endless(source, node),
                (_, "for_statement") => counted(source, node),
                _ => None,
            });
        }
    }
    ways
}

/// A block that has lines of its own between its braces, with its first statement.
fn block_of<'t>(source: &ParsedSource<'_>, node: Node<'t>) -> Option<(Node<'t>, Node<'t>)> {
    let body = node.child_by_field_name("body")?;
    let is_block = matches!(body.kind(), "block" | "statement_block" | "compound_statement");
    let open = body.child(0).filter(|open| is_block && open.kind() == "{")?;
    let rest = source.text.get(open.end_byte()..source.line_end(open.end_byte()))?;
    let mut first = *named_children(body).first()?;
    if first.kind() == "statement_list" {
        first = *named_children(first).first()?;
    }
    (rest.trim().is_empty() && source.margin(first.start_byte()).is_some()).then_some((body, first))
}

fn endless(source: &ParsedSource<'_>, node: Node<'_>) -> Option<Change> {
    let (body, first) = block_of(source, node)?;
    let open = body.child(0)?;
    let margin = source.margin(first.start_byte())?;
    let deeper = format!("{margin}{}", source.indent());
    let condition = match source.language {
        Language::Go => named_children(node)
            .into_iter()
            .next()
            .filter(|first| !matches!(first.kind(), "for_clause" | "range_clause" | "block"))?,
        _ => node.child_by_field_name("condition")?,
    };
    let text = source.str(condition);
    let bare = text.trim_start_matches('(').trim_end_matches(')').trim();
    let has_let = preorder(condition).iter().any(|part| part.kind().starts_with("let_"));
    if matches!(bare, "true" | "1" | "false") || has_let || preorder(condition).into_iter().any(is_comment) {
        return None;
    }
    let mut edits = Edits::new();
    let test = match source.language {
        Language::Rust => {
            let keyword = (0..).map_while(|at| node.child(at)).find(|child| child.kind() == "while")?;
            edits.replace(keyword.start_byte()..condition.end_byte(), "loop");
            format!("if !({text}) {{")
        }
        Language::Go => {
            edits.replace(node.start_byte()..open.start_byte(), "for ");
            format!("if !({text}) {{")
        }
        // The condition has its parentheses already.
        _ => {
            edits.replace(condition.byte_range(), "(true)");
            format!("if (!{text}) {{")
        }
    };
    let end = if source.language == Language::Go { "" } else { ";" };
    edits.insert(open.end_byte(), format!("\n{margin}{test}\n{deeper}break{end}\n{margin}}}"));
    Some(Change { edits, note: "write the loop as an endless loop with a break".to_owned() })
}

/// `for (a; b; c) { d }` becomes `{ a; while (b) { d c; } }`.
fn counted(source: &ParsedSource<'_>, node: Node<'_>) -> Option<Change> {
    let (init, update) = match source.language {
        Language::JavaScript | Language::TypeScript => ("initializer", "increment"),
        Language::Java => ("init", "update"),
        Language::Php => ("initialize", "update"),
        _ => return None,
    };
    let (body, _) = block_of(source, node)?;
    let parts = |field: &str| -> Vec<&str> {
        let mut cursor = node.walk();
        let parts = node.children_by_field_name(field, &mut cursor).filter(Node::is_named);
        parts.map(|part| source.str(part).trim_end_matches(';').trim_end()).collect()
    };
    let (start, test, step) = (parts(init), parts("condition"), parts(update));
    let [test] = test.as_slice() else { return None };
    let is_labeled = node.parent().is_some_and(|parent| parent.kind() == "labeled_statement");
    // `$i = 0, $j = 1` is no statement in PHP.
    let has_sequence = source.language == Language::Php
        && named_children(node).iter().any(|part| part.kind() == "sequence_expression");
    if has_sequence || start.is_empty() || step.is_empty() || is_labeled || test.is_empty() {
        return None;
    }
    if has_own(source, node, "continue_statement") || has_functions(source, node) || source.has_multiline_literal(node)
    {
        return None;
    }
    let header = source.text.get(node.start_byte()..body.start_byte())?;
    if header.contains('\n')
        || preorder(node).into_iter().any(|part| is_comment(part) && part.start_byte() < body.start_byte())
    {
        return None;
    }
    let statements = named_children(body);
    // What cannot be reached is an error in Java.
    let is_reached = source.language != Language::Java || statements.last().is_some_and(|last| falls_through(*last));
    if !is_reached || shadows(source, &statements, &step.join(" ")) {
        return None;
    }
    let margin = source.margin(node.start_byte())?;
    let indent = source.indent();
    let (one, two) = (format!("{margin}{indent}"), format!("{margin}{indent}{indent}"));
    let inside = source.text.get(body.start_byte() + 1..body.end_byte().checked_sub(1)?)?.trim_end();
    let inside = source.moved(body.start_byte() + 1..body.start_byte() + 1 + inside.len(), margin, &one)?;
    let mut edits = Edits::new();
    edits.replace(
        node.byte_range(),
        format!(
            "{{\n{one}{};\n{one}while ({test}) {{{inside}\n{two}{};\n{one}}}\n{margin}}}",
            start.join(&format!(";\n{one}")),
            step.join(&format!(";\n{two}")),
        ),
    );
    Some(Change { edits, note: "write the for loop as a while loop".to_owned() })
}

/// True where what follows a statement is certainly reached in the eyes of a compiler.
fn falls_through(last: Node<'_>) -> bool {
    match last.kind() {
        "expression_statement"
        | "local_variable_declaration"
        | "lexical_declaration"
        | "variable_declaration"
        | "enhanced_for_statement"
        | "for_in_statement"
        | "foreach_statement"
        | "echo_statement" => true,
        "if_statement" => last.child_by_field_name("alternative").is_none_or(|other| {
            let one = last.child_by_field_name("consequence");
            one.is_some_and(falls_through) || falls_through(other)
        }),
        "block" => named_children(last).last().is_none_or(|inner| falls_through(*inner)),
        "for_statement" => last.child_by_field_name("condition").is_some(),
        _ => false,
    }
}

/// True where the body declares a variable that the update would then mean.
fn shadows(source: &ParsedSource<'_>, statements: &[Node<'_>], update: &str) -> bool {
    let words: Vec<&str> = update.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').collect();
    statements.iter().filter(|statement| statement.kind().contains("declaration")).any(|declaration| {
        preorder(*declaration).into_iter().filter(|part| part.kind() == "variable_declarator").any(|declarator| {
            let name = declarator.child_by_field_name("name");
            name.is_some_and(|name| name.kind() != "identifier" || words.contains(&source.str(name)))
        })
    })
}
