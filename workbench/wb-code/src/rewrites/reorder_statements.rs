//! Reordering: two neighbors that set different variables to values of which neither needs the other change places.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{
    Draw, Edits, ParsedSource, Refusal,
    names::{locals, names},
    pure::{PURE_CALLS, Pure, pure},
    rewrite::{Change, Rewrite},
    source::{ancestors, is_comment, preorder},
};
use crate::languages::Language;

/// Only assignments of pure expressions to local variables are swapped, of which at most one may fail,
/// and none inside of a `try`: so nobody can see which came first.
pub(super) struct ReorderStatements;

impl Rewrite for ReorderStatements {
    fn edits(&self, source: &ParsedSource<'_>, draw: &mut Draw) -> Result<Change, Refusal> {
        if matches!(source.language, Language::TypeScript | Language::C | Language::Cpp) {
            return Err(Refusal::UnknownLanguage);
        }
        let (pairs, refusal) = source.in_functions(|function| swappable(source, function));
        // One swap per run of statements that touch: pairs are drawn, and taken if they are apart from those before.
        let mut edits = Edits::new();
        let mut used: Vec<usize> = Vec::new();
        let mut notes = Vec::new();
        for at in draw.order(pairs.len()) {
            let Some((one, other)) = pairs.get(at).copied() else { continue };
            if used.contains(&one.id()) || used.contains(&other.id()) || notes.len() == 3 {
                continue;
            }
            used.extend([one.id(), other.id()]);
            edits.replace(one.byte_range(), source.str(other));
            edits.replace(other.byte_range(), source.str(one));
            notes.push(format!("`{}`", source.str(other).trim_end_matches(';')));
        }
        if edits.is_empty() {
            return Err(refusal);
        }
        Ok(Change { edits, note: format!("move {} before the independent statement above", notes.join(", ")) })
    }
}

/// An assignment of a pure expression to one local variable.
struct Assignment<'s> {
    target: &'s str,
    value: Pure<'s>,
}

fn swappable<'t>(source: &'t ParsedSource<'_>, function: Node<'t>) -> Result<Vec<(Node<'t>, Node<'t>)>, Refusal> {
    let all = names(source, function)?;
    let local = locals(source, &all);
    if source.language == Language::Php && preorder(function).iter().any(|node| node.kind().contains("reference")) {
        return Err(Refusal::Unsafe("references"));
    }
    let mut pairs = Vec::new();
    for first in preorder(function) {
        let Some(second) = first.next_named_sibling() else { continue };
        if !first.is_named() || is_comment(first) || is_comment(second) || !stands_alone(source, first, second) {
            continue;
        }
        let (Some(one), Some(other)) = (assignment(source, first, &local), assignment(source, second, &local)) else {
            continue;
        };
        let apart = one.target != other.target
            && !one.value.reads.contains(other.target)
            && !other.value.reads.contains(one.target);
        let in_try = ancestors(first).take_while(|up| up.id() != function.id()).any(|up| {
            up.kind().contains("try")
                || matches!(up.kind(), "with_statement" | "begin" | "class_definition" | "class_body")
        });
        if apart && !(one.value.may_fail && other.value.may_fail) && !in_try && source.str(first) != source.str(second)
        {
            pairs.push((first, second));
        }
    }
    Ok(pairs)
}

/// Both on lines of their own, next to each other, at one margin.
fn stands_alone(source: &ParsedSource<'_>, first: Node<'_>, second: Node<'_>) -> bool {
    let lines = first.end_position().row + 1 == second.start_position().row;
    lines
        && source.owns_lines(first)
        && source.owns_lines(second)
        && source.is_one_line(first)
        && source.is_one_line(second)
        && source.margin(first.start_byte()) == source.margin(second.start_byte())
}

fn assignment<'s>(source: &ParsedSource<'s>, statement: Node<'_>, local: &BTreeSet<&str>) -> Option<Assignment<'s>> {
    let (target, value) = match (source.language, statement.kind()) {
        (Language::Python, "expression_statement") => {
            let inner = statement.named_child(0).filter(|inner| inner.kind() == "assignment")?;
            if inner.child_by_field_name("type").is_some() || statement.named_child_count() != 1 {
                return None;
            }
            (inner.child_by_field_name("left")?, inner.child_by_field_name("right")?)
        }
        (Language::JavaScript, "lexical_declaration" | "variable_declaration")
        | (Language::Java, "local_variable_declaration") => {
            let mut cursor = statement.walk();
            let mut declarators =
                statement.named_children(&mut cursor).filter(|child| child.kind() == "variable_declarator");
            let declarator = declarators.next()?;
            if declarators.next().is_some() || declarator.child_by_field_name("dimensions").is_some() {
                return None;
            }
            (declarator.child_by_field_name("name")?, declarator.child_by_field_name("value")?)
        }
        (Language::Go, "short_var_declaration") => {
            (statement.child_by_field_name("left")?, statement.child_by_field_name("right")?)
        }
        (Language::Ruby, "assignment") => {
            (statement.child_by_field_name("left")?, statement.child_by_field_name("right")?)
        }
        (Language::Rust, "let_declaration") => {
            (statement.child_by_field_name("pattern")?, statement.child_by_field_name("value")?)
        }
        (Language::Php, "expression_statement") => {
            let inner = statement.named_child(0).filter(|inner| inner.kind() == "assignment_expression")?;
            (inner.child_by_field_name("left")?, inner.child_by_field_name("right")?)
        }
        _ => return None,
    };
    // The last expression of a Ruby method is its result, and so is an assignment there.
    if source.language == Language::Ruby && statement.next_named_sibling().is_none() {
        return None;
    }
    if source.language == Language::Ruby && statement.parent().is_none_or(|parent| parent.kind() != "body_statement") {
        return None;
    }
    let name = source.str(target);
    let is_plain = local.contains(name.trim_start_matches('$'));
    let mut value = pure(source, value)?;
    // A known function that has become a variable is not known any more.
    if source.language == Language::Python
        && PURE_CALLS.iter().any(|call| value.reads.contains(call) && local.contains(call))
    {
        return None;
    }
    // A variable may not have a value yet, unless it is one of the function's own; Java and Go see to that themselves.
    let declared_only = matches!(source.language, Language::Java | Language::Go | Language::Rust);
    value.may_fail |= !declared_only && !value.reads.is_empty();
    is_plain.then_some(Assignment { target: name, value })
}
