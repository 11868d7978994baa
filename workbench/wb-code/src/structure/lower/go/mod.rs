//! Go: a block's names are seen by what follows them, those outside of functions by all files of the package.
//!
//! Pointers are what they point to. Slices, arrays, channels and maps are records of what is got by an index
//! ([`ELEMENT`]) and of what a loop gives first ([`KEY`]); several results of a function are a record of their positions.

mod declarations;
mod expressions;
mod functions;
mod imports;
mod statements;
#[cfg(test)]
mod tests;
mod types;

use std::collections::{HashMap, HashSet};

use tree_sitter::Node;

use crate::structure::{
    builder::{NewBinding, StructureBuilder, children, field},
    file::{BindingId, BindingKind, BuiltinType, FieldKey, NameSpace, RecordValue, ScopeId, ScopeKind, Value, ValueId},
};

/// Types, values and packages share their names.
const ANY: NameSpace = NameSpace::ANY;
/// The scope that all files of a package see; that of the file with its imports lies within.
const PACKAGE: ScopeId = ScopeId(0);
/// Name of the field for what an index gives.
const ELEMENT: &str = "[]";
/// Name of the field for what `range` gives first.
const KEY: &str = "[k]";
/// Name of the field that is called in place of its record.
const CALLED: &str = "()";

/// Writes down a file.
pub(super) fn lower(builder: &mut StructureBuilder<'_>, root: Node<'_>) {
    builder.module(root);
    let file = builder.scope(ScopeKind::Block, Some(PACKAGE), None);
    let mut lowering = Lowering {
        builder,
        file,
        extensions: HashMap::new(),
        returns: Vec::new(),
        guesses: Vec::new(),
        hidden: HashSet::new(),
    };
    let mut block = Block { scope: file, names: Vec::new(), is_package: true };
    for child in children(root) {
        lowering.statement(child, &mut block);
    }
    lowering.export_guesses();
    builder.structure.references.sort_by_key(|reference| reference.span.start);
}

struct Lowering<'b, 's> {
    builder: &'b mut StructureBuilder<'s>,
    /// The scope of the file's imports.
    file: ScopeId,
    /// Scopes of the methods of each type.
    extensions: HashMap<&'s str, ScopeId>,
    /// Results of the functions around.
    returns: Vec<Vec<ValueId>>,
    /// Imports with the names that their packages may have.
    guesses: Vec<(BindingId, Vec<String>)>,
    /// Constants of the language whose names the file has for something else.
    hidden: HashSet<&'s str>,
}

/// Statements that share their names.
struct Block {
    /// The scope as it is after the last declaration.
    scope: ScopeId,
    /// Names that are declared in it.
    names: Vec<String>,
    /// True outside of functions, where the order does not count.
    is_package: bool,
}

impl Block {
    fn within(scope: ScopeId) -> Self {
        Self { scope, names: Vec::new(), is_package: false }
    }
}

impl<'s> Lowering<'_, 's> {
    /// The scope of a new declaration, and of all that follows it.
    fn open(&mut self, block: &mut Block) -> ScopeId {
        if block.is_package {
            return PACKAGE;
        }
        block.scope = self.builder.scope(ScopeKind::Block, Some(block.scope), None);
        block.scope
    }

    /// A block within another one.
    fn inner(&mut self, scope: ScopeId) -> Block {
        Block::within(self.builder.scope(ScopeKind::Block, Some(scope), None))
    }

    /// A name in the scope that was opened for it; `_` is none.
    fn declare(&mut self, block: &mut Block, scope: ScopeId, name: Node<'_>, new: NewBinding) -> BindingId {
        let text = self.builder.text(name);
        if text == "_" {
            return self.builder.loose(text, name, new.in_space(ANY));
        }
        if is_constant(text) {
            self.hidden.insert(text);
        }
        block.names.push(text.to_owned());
        self.builder.bind(scope, text, name, new.in_space(ANY))
    }

    fn constant(&mut self, text: &str) -> ValueId {
        self.builder.value(Value::Constant { text: text.into(), type_name: BuiltinType::None })
    }

    /// Value that a record has in a field.
    fn item(&mut self, of: ValueId, name: &str) -> ValueId {
        let key = self.constant(name);
        self.builder.value(Value::Item { of, key })
    }

    fn instance(&mut self, of: ValueId) -> ValueId {
        self.builder.value(Value::Instance(of))
    }

    /// A record of values of declared types.
    fn record(&mut self, fields: &[(&str, Node<'_>, ValueId)]) -> ValueId {
        let mut record = RecordValue::default();
        for (name, node, declared) in fields {
            let new = NewBinding::new(BindingKind::Element).typed(Some(*declared));
            let binding = self.builder.loose(name, *node, new);
            record.fields.push((FieldKey::Name((*name).into()), binding));
        }
        self.builder.value(Value::Record(Box::new(record)))
    }

    /// Several values in their order; one alone is itself.
    fn tuple(&mut self, values: &[(Node<'_>, ValueId)]) -> Option<ValueId> {
        match values {
            [] => None,
            [(_, value)] => Some(*value),
            _ => {
                let names: Vec<String> = (0..values.len()).map(|at| at.to_string()).collect();
                let fields: Vec<_> =
                    names.iter().zip(values).map(|(name, (node, it))| (name.as_str(), *node, *it)).collect();
                Some(self.record(&fields))
            }
        }
    }
}

/// Nodes of a field that may be there more than once, without what separates them.
fn fields<'t>(node: Node<'t>, name: &str) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.children_by_field_name(name, &mut cursor).filter(Node::is_named).collect()
}

/// Expressions of a list; a node that is no list is one.
fn listed(node: Option<Node<'_>>) -> Vec<Node<'_>> {
    match node {
        Some(list) if list.kind() == "expression_list" => children(list),
        other => other.into_iter().collect(),
    }
}

/// True for a constant that the language names, though a declaration may hide it.
fn is_constant(name: &str) -> bool {
    matches!(name, "true" | "false" | "nil" | "iota")
}

/// True where a token stands between the parts of a node.
fn has_token(node: Node<'_>, token: &str) -> bool {
    let mut cursor = node.walk();
    node.children(&mut cursor).any(|child| child.kind() == token)
}
