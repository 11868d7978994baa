//! Expressions without side effects: which variables they read, and whether they may fail.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{
    ParsedSource,
    source::{is_field, preorder},
};
use crate::languages::Language;

/// Functions of Python without side effects on values that have none.
pub(super) const PURE_CALLS: &[&str] = &["len", "abs", "int", "float", "str", "bool", "ord", "chr"];

/// Properties of an expression that has no side effect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Pure<'s> {
    /// The variables that it reads.
    pub(super) reads: BTreeSet<&'s str>,
    /// True where it can raise, throw or panic.
    pub(super) may_fail: bool,
}

/// Properties of an expression; `None` where it may have a side effect, or where this cannot be told.
///
/// Calls, fields and subscripts are never pure here: a property, a default of a dictionary, an iterator have effects.
/// Operators are taken to have none of their own, however they are overloaded.
pub(super) fn pure<'s>(source: &ParsedSource<'s>, expression: Node<'_>) -> Option<Pure<'s>> {
    let mut known = Pure::default();
    for node in preorder(expression) {
        if node.is_extra() {
            return None;
        }
        if !node.is_named() {
            // `in` consumes an iterator, `&` and `<-` and `new` are no plain values.
            if matches!(
                node.kind(),
                "in" | "not in" | "instanceof" | "delete" | "void" | "new" | "<-" | "=" | "++" | "--"
            ) {
                return None;
            }
            if source.language == Language::Go && node.kind() == "&" || node.kind() == ".." {
                return None;
            }
            continue;
        }
        match class(source, node) {
            Class::Value => {}
            Class::Variable => {
                known.reads.insert(source.str(node));
            }
            Class::Operator => known.may_fail = true,
            Class::Unknown => return None,
        }
    }
    Some(known)
}

enum Class {
    /// A literal, or what only holds others together.
    Value,
    Variable,
    /// Something that may fail.
    Operator,
    Unknown,
}

fn class(source: &ParsedSource<'_>, node: Node<'_>) -> Class {
    use Class::{Operator, Unknown, Value, Variable};
    let python_call = |node: Node<'_>| {
        let callee = node.child_by_field_name("function").map(|callee| source.str(callee)).unwrap_or_default();
        PURE_CALLS.contains(&callee)
    };
    match (source.language, node.kind()) {
        (
            _,
            "integer" | "float" | "true" | "false" | "parenthesized_expression" | "string_content" | "escape_sequence",
        ) => Value,
        (Language::Python, kind) => match kind {
            "none" | "string" | "string_start" | "string_end" | "tuple" | "list" | "pair" | "argument_list" => Value,
            "identifier" => Variable,
            "dictionary"
            | "set"
            | "binary_operator"
            | "unary_operator"
            | "not_operator"
            | "boolean_operator"
            | "comparison_operator"
            | "conditional_expression" => Operator,
            "call" if python_call(node) => Operator,
            _ => Unknown,
        },
        (Language::JavaScript, kind) => match kind {
            "number" | "string" | "string_fragment" | "null" | "undefined" | "array" => Value,
            "identifier" => Variable,
            "binary_expression" | "unary_expression" | "ternary_expression" => Operator,
            _ => Unknown,
        },
        (Language::Java, kind) => match kind {
            "decimal_integer_literal"
            | "hex_integer_literal"
            | "decimal_floating_point_literal"
            | "character_literal"
            | "string_literal"
            | "string_fragment"
            | "null_literal" => Value,
            "identifier" => Variable,
            "binary_expression" | "unary_expression" | "ternary_expression" => Operator,
            _ => Unknown,
        },
        (Language::Go, kind) => match kind {
            "int_literal"
            | "float_literal"
            | "interpreted_string_literal"
            | "interpreted_string_literal_content"
            | "rune_literal"
            | "expression_list" => Value,
            "identifier" => Variable,
            "binary_expression" | "unary_expression" => Operator,
            _ => Unknown,
        },
        (Language::Ruby, kind) => match kind {
            "nil" | "array" | "hash" | "simple_symbol" | "string" => Value,
            "binary" | "unary" | "parenthesized_statements" => Operator,
            // An identifier may be a call, so only literals are known.
            _ => Unknown,
        },
        (Language::Rust, kind) => match kind {
            "integer_literal" | "float_literal" | "boolean_literal" | "char_literal" | "string_literal" => Value,
            "identifier" if node.parent().is_some_and(|parent| parent.kind() == "binary_expression") => Variable,
            "binary_expression" => Operator,
            _ => Unknown,
        },
        (Language::Php, kind) => match kind {
            "boolean" | "null" | "string" | "array_creation_expression" | "array_element_initializer" => Value,
            "variable_name" => Variable,
            "name" if is_field(node, "name") || node.parent().is_some_and(|up| up.kind() == "variable_name") => Value,
            "binary_expression" | "unary_op_expression" | "conditional_expression" => Operator,
            _ => Unknown,
        },
        _ => Unknown,
    }
}
