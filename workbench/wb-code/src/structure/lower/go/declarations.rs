//! Variables and constants: `var`, `const`, `:=`.

use tree_sitter::Node;

use super::{Block, Lowering, field, fields, is_constant, listed};
use crate::structure::{
    builder::{NewBinding, children},
    file::{BindingKind, ScopeId, ValueId},
};

impl Lowering<'_, '_> {
    /// `var a, b T = c, d`, alone or several in parentheses.
    pub(super) fn var_declaration(&mut self, node: Node<'_>, block: &mut Block) {
        for spec in children(node) {
            match spec.kind() {
                "var_spec_list" => self.var_declaration(spec, block),
                _ => _ = self.spec(spec, block, None),
            }
        }
    }

    /// Constants in parentheses, which have the type and the value of the one before where they say none.
    pub(super) fn const_declaration(&mut self, node: Node<'_>, block: &mut Block) {
        let mut before = None;
        for spec in children(node) {
            before = Some(self.spec(spec, block, before));
        }
    }

    fn spec(&mut self, node: Node<'_>, block: &mut Block, before: Option<Spec>) -> Spec {
        let names = fields(node, "name");
        let declared = field(node, "type").map(|declared| {
            let of = self.type_of(declared, block.scope);
            self.instance(of)
        });
        let right = listed(field(node, "value"));
        let spec = match before {
            Some(before) if declared.is_none() && right.is_empty() => before,
            _ => Spec { declared, values: self.values(&right, names.len(), block.scope) },
        };
        let scope = self.open(block);
        for (at, name) in names.into_iter().enumerate() {
            let new = NewBinding::new(BindingKind::Variable).typed(spec.declared);
            self.declare(block, scope, name, NewBinding { value: spec.values.get(at).copied(), ..new });
        }
        spec
    }

    /// `a, b := c, d`: names that the block has already are used again.
    pub(super) fn short_declaration(&mut self, left: &[Node<'_>], values: &[ValueId], block: &mut Block) {
        let around = block.scope;
        let before = block.names.len();
        let scope = self.open(block);
        for (at, name) in left.iter().enumerate() {
            let is_known = |text: &str| block.names.iter().take(before).any(|known| known == text);
            let is_name = name.kind() == "identifier" || is_constant(name.kind());
            if !is_name || is_known(self.builder.text(*name)) {
                self.expression(*name, around);
                continue;
            }
            let value = values.get(at).copied();
            self.declare(block, scope, *name, NewBinding { value, ..NewBinding::new(BindingKind::Variable) });
        }
    }

    /// Values for a number of names: of as many expressions, or of one that gives several.
    pub(super) fn values(&mut self, right: &[Node<'_>], names: usize, scope: ScopeId) -> Vec<ValueId> {
        let values: Vec<ValueId> = right.iter().map(|value| self.expression(*value, scope)).collect();
        match (values.as_slice(), right) {
            ([of], [node]) if names > 1 => {
                let mut node = *node;
                while let ("parenthesized_expression", Some(inner)) = (node.kind(), children(node).first()) {
                    node = *inner;
                }
                match node.kind() {
                    // The grammar takes a call with a type argument for a conversion.
                    "call_expression" | "type_conversion_expression" => {
                        (0..names).map(|at| self.item(*of, &at.to_string())).collect()
                    }
                    // The second says whether there is one.
                    _ => values,
                }
            }
            _ => values,
        }
    }
}

/// Types and values of the names of a declaration.
struct Spec {
    declared: Option<ValueId>,
    values: Vec<ValueId>,
}
