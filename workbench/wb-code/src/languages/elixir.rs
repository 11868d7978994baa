//! Elixir: `@doc` above `def`, `defp`, `defmacro` and the like, which are one function with the clauses below.

use tree_sitter::Node;

use super::{
    Grammar,
    language::{Clause, DocKind, LanguageRules, Placement, Role, child_of_kind, function},
};
use crate::{documented::layout::dedent, prose::Markup};

pub(super) struct Elixir;

impl LanguageRules for Elixir {
    fn grammars(&self, _source: &str) -> &'static [Grammar] {
        &[Grammar::Elixir]
    }

    fn markers(&self) -> &'static [&'static str] {
        &["@doc"]
    }

    fn role<'tree>(&self, node: Node<'tree>, source: &str) -> Role<'tree> {
        match node.kind() {
            "call" => called(node, source).unwrap_or(Role::Other),
            "unary_operator" => match attribute(node, source) {
                Some("callback" | "macrocallback") => Role::Declaration,
                Some(
                    "doc" | "spec" | "impl" | "deprecated" | "since" | "dialyzer" | "compile" | "tag" | "decorate",
                ) => Role::Attribute,
                _ => Role::Other,
            },
            "comment" => Role::Comment,
            _ => Role::Other,
        }
    }

    fn has_clauses(&self) -> bool {
        true
    }

    fn clause(&self, node: Node<'_>, source: &str) -> Option<Clause> {
        let (head, body) = definition(node, source)?;
        let name = source.get(name(head).byte_range())?;
        // Functions of one name and another number of parameters are others.
        let names = vec![format!("{name}/{}", arity(head))];
        Some(Clause { names, has_body: body.is_some() })
    }

    fn placement(&self) -> Placement {
        Placement::Above
    }

    fn doc_kind(&self, text: &str) -> DocKind {
        let value = text.strip_prefix("@doc").map(|value| value.trim_start_matches(['(', ' ', '\t', '\n']));
        match value.is_some_and(|value| value.starts_with(['"', '~', '\''])) {
            true => DocKind::Block,
            false => DocKind::Remark,
        }
    }

    fn comment_text(&self, comment: &str) -> Option<String> {
        let value = comment.strip_prefix("@doc")?.trim_start_matches(['(', ' ', '\t', '\n']);
        Some(literal(value.trim_end_matches(')')).unwrap_or_default())
    }

    fn markup(&self) -> Markup {
        Markup::Markdown
    }
}

/// Words that define a function or a macro.
const DEFINING: [&str; 6] = ["def", "defp", "defmacro", "defmacrop", "defguard", "defguardp"];

/// The role of `def f(x) do … end` and what else is a call in this grammar.
fn called<'tree>(node: Node<'tree>, source: &str) -> Option<Role<'tree>> {
    if let Some((head, body)) = definition(node, source) {
        return Some(function(Some(name(head)), body));
    }
    match target(node, source)? {
        "defdelegate" => Some(Role::Declaration),
        "test" => {
            let title = arguments(node)?.named_child(0).filter(|title| title.kind() == "string")?;
            Some(Role::Function {
                name: child_of_kind(title, "quoted_content"),
                body: child_of_kind(node, "do_block")?,
            })
        }
        // Components declare these between their documentation and their function.
        "attr" | "slot" if arguments(node).is_some() => Some(Role::Attribute),
        _ => None,
    }
}

/// Head and body of a definition: `f(x)` of `def f(x) when x > 0 do … end`; no body where it is only declared.
fn definition<'tree>(node: Node<'tree>, source: &str) -> Option<(Node<'tree>, Option<Node<'tree>>)> {
    if node.kind() != "call" {
        return None;
    }
    let word = target(node, source)?;
    if !DEFINING.contains(&word) {
        return None;
    }
    let arguments = arguments(node)?;
    let mut head = arguments.named_child(0)?;
    let has_guard = |head: Node<'_>| {
        head.kind() == "binary_operator" && head.child_by_field_name("operator").is_some_and(|op| op.kind() == "when")
    };
    let guarded = has_guard(head);
    while has_guard(head) {
        head = head.child_by_field_name("left")?;
    }
    let body = child_of_kind(node, "do_block")
        .or_else(|| child_of_kind(arguments, "keywords").filter(|words| holds_do(*words, source)));
    // What a guard stands for is written behind `when`.
    let body = body.or_else(|| (guarded && word.starts_with("defguard")).then_some(arguments));
    Some((head, body))
}

/// `do: 1` among keywords.
fn holds_do(keywords: Node<'_>, source: &str) -> bool {
    let mut cursor = keywords.walk();
    let mut keys = keywords.named_children(&mut cursor).filter_map(|pair| pair.child_by_field_name("key"));
    keys.any(|key| source.get(key.byte_range()).is_some_and(|key| key.trim_end().trim_end_matches(':') == "do"))
}

/// The name in a head: of a call, of an operator between two parameters, or the head itself.
fn name(head: Node<'_>) -> Node<'_> {
    let field = match head.kind() {
        "call" => "target",
        "binary_operator" | "unary_operator" => "operator",
        _ => return head,
    };
    head.child_by_field_name(field).unwrap_or(head)
}

fn arity(head: Node<'_>) -> usize {
    match head.kind() {
        "binary_operator" => 2,
        "unary_operator" => 1,
        _ => arguments(head).map_or(0, |arguments| arguments.named_child_count()),
    }
}

/// The word that a call begins with.
pub(crate) fn target<'s>(node: Node<'_>, source: &'s str) -> Option<&'s str> {
    let target = node.child_by_field_name("target").filter(|target| target.kind() == "identifier")?;
    source.get(target.byte_range())
}

/// The arguments of a call.
pub(crate) fn arguments(node: Node<'_>) -> Option<Node<'_>> {
    child_of_kind(node, "arguments")
}

/// The name in `@name value`.
fn attribute<'s>(node: Node<'_>, source: &'s str) -> Option<&'s str> {
    let operand = node.child_by_field_name("operand").filter(|operand| operand.kind() == "call")?;
    let is_attribute = node.child_by_field_name("operator").is_some_and(|operator| operator.kind() == "@");
    if is_attribute { target(operand, source) } else { None }
}

/// True for the attributes that hold prose: `@moduledoc "…"`, `@doc "…"`, `@typedoc "…"`.
pub(crate) fn is_prose(node: Node<'_>, source: &str) -> bool {
    node.kind() == "unary_operator" && matches!(attribute(node, source), Some("doc" | "moduledoc" | "typedoc"))
}

/// The content of a string, a here document or a sigil.
fn literal(value: &str) -> Option<String> {
    let is_raw = value.starts_with("~S");
    let quoted = value.strip_prefix("~S").or_else(|| value.strip_prefix("~s")).unwrap_or(value);
    let pairs = [
        ("\"\"\"", "\"\"\""),
        ("'''", "'''"),
        ("\"", "\""),
        ("'", "'"),
        ("(", ")"),
        ("[", "]"),
        ("{", "}"),
        ("|", "|"),
    ];
    let (open, close) = pairs.into_iter().find(|(open, _)| quoted.starts_with(open))?;
    let inner = quoted.strip_prefix(open)?;
    // The closing parenthesis of `~S(…)` may be gone with that of the attribute.
    let inner = inner.strip_suffix(close).unwrap_or(inner);
    let text = dedent(inner.trim_matches('\n'));
    Some(if is_raw { text } else { text.replace("\\\"", "\"").replace("\\n", "\n").replace("\\\\", "\\") })
}
