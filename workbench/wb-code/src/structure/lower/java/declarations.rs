//! Classes, interfaces, enums, records, annotations, and their members.

use tree_sitter::Node;

use super::{DEEPEST, Lowering, children, field, fields, tokens};
use crate::structure::{
    builder::NewBinding,
    file::{
        BindingId, BindingKind, ClassValue, FunctionParameter, FunctionValue, Heirs, NameSpace, ScopeId, ScopeKind,
        Value, ValueId,
    },
};

/// Name under which a class has its constructors, which are no methods of it.
pub(super) const CONSTRUCTOR: &str = "<init>";

/// A class whose members are written down.
#[derive(Clone, Copy)]
pub(super) struct Body<'t> {
    pub scope: ScopeId,
    pub class: ValueId,
    /// The name of the class, or of the type that one without a name is of.
    pub name: Node<'t>,
    /// The scope of what is run for each new object.
    pub initializers: ScopeId,
    /// Heirs of members that do not say who may see them.
    pub heirs: Heirs,
}

/// Name under which a class has the type argument at a place, which is no name of Java.
pub(super) fn type_argument(place: usize) -> String {
    format!("<{place}>")
}

/// True for declarations of types.
pub(super) fn is_type(kind: &str) -> bool {
    matches!(
        kind,
        "class_declaration"
            | "interface_declaration"
            | "enum_declaration"
            | "record_declaration"
            | "annotation_type_declaration"
    )
}

impl Lowering<'_, '_> {
    /// A declaration of a type that stands in a scope, bound in another one or in the same.
    pub(super) fn type_declaration(&mut self, node: Node<'_>, scope: ScopeId, bound_in: ScopeId) -> Option<BindingId> {
        let name = field(node, "name").filter(|_| self.depth < DEEPEST)?;
        self.depth += 1;
        let class = self.builder.opaque();
        let text = self.builder.text(name);
        let new = NewBinding::of(BindingKind::Class, class).in_space(NameSpace::TYPE);
        let binding = self.builder.bind(bound_in, text, name, new);
        self.annotations(node, scope);
        let header = self.builder.scope(ScopeKind::Block, Some(scope), Some(class));
        let parameters = self.type_parameters(node, header).into_iter().map(|(_, parameter)| parameter).collect();
        let (mut bases, mut has_superclass) = (Vec::new(), false);
        for child in children(node) {
            match child.kind() {
                "superclass" => {
                    bases.extend(self.types_in(child, header));
                    has_superclass = true;
                }
                "super_interfaces" | "extends_interfaces" => bases.extend(self.types_in(child, header)),
                "permits" => _ = self.types_in(child, header),
                _ => {}
            }
        }
        if !has_superclass {
            let implied = self.implied_base(node, class);
            bases.push(implied);
        }
        let mut body = self.body_of(class, parameters, bases, header, name);
        if matches!(node.kind(), "interface_declaration" | "annotation_type_declaration") {
            body.heirs = Heirs::All;
        }
        if node.kind() == "enum_declaration" {
            self.members_of_enums(body);
        }
        let inner = field(node, "body");
        if let Some(components) = field(node, "parameters") {
            self.components(components, inner, body);
        }
        if let Some(inner) = inner {
            self.members(inner, body);
        }
        self.depth -= 1;
        Some(binding)
    }

    /// The class whose members a type has without saying so.
    fn implied_base(&mut self, node: Node<'_>, class: ValueId) -> ValueId {
        match node.kind() {
            "enum_declaration" => {
                let of = self.of_lang("Enum");
                self.builder.value(Value::Applied { of, arguments: vec![class] })
            }
            "record_declaration" => self.of_lang("Record"),
            "annotation_type_declaration" => {
                let space = NameSpace::TYPE;
                let package = self.builder.value(Value::Member { of: self.lang, name: "annotation".into(), space });
                self.builder.value(Value::Member { of: package, name: "Annotation".into(), space })
            }
            _ => self.of_lang("Object"),
        }
    }

    /// Makes a value a class, of which no member is known yet.
    fn body_of<'t>(
        &mut self,
        class: ValueId,
        parameters: Vec<FunctionParameter>,
        bases: Vec<ValueId>,
        around: ScopeId,
        name: Node<'t>,
    ) -> Body<'t> {
        let scope = self.builder.scope(ScopeKind::Class, Some(around), Some(class));
        for (parameter, place) in parameters.iter().zip(0..) {
            self.builder.export(scope, &type_argument(place), parameter.binding);
        }
        let value = Value::Class(Box::new(ClassValue { scope: Some(scope), parameters, bases }));
        self.builder.structure.values[class.0 as usize] = value;
        let initializers = self.block_in(scope);
        let this = self.builder.value(Value::Instance(class));
        let new = NewBinding::new(BindingKind::Parameter).typed(Some(this));
        self.builder.bind(initializers, "this", name, new);
        Body { scope, class, name, initializers, heirs: Heirs::Package }
    }

    /// A class without a name: its members, on top of those of a type.
    pub(super) fn anonymous(&mut self, inner: Node<'_>, of: ValueId, name: Node<'_>, scope: ScopeId) -> ValueId {
        let class = self.builder.opaque();
        // An interface has no superclass, a class is not told apart from it here.
        let object = self.of_lang("Object");
        let body = self.body_of(class, Vec::new(), vec![of, object], scope, name);
        self.members(inner, body);
        class
    }

    /// The methods that each enum has: `values()` and `valueOf(name)`.
    fn members_of_enums(&mut self, body: Body<'_>) {
        let all = self.array(body.class, body.name);
        for (name, of) in [("values", all), ("valueOf", body.class)] {
            let declared = Some(self.builder.value(Value::Instance(of)));
            self.implied_method(name, declared, true, body.name, body);
        }
    }

    /// A method that nobody writes.
    fn implied_method(&mut self, name: &str, declared: Option<ValueId>, is_static: bool, at: Node<'_>, body: Body<'_>) {
        let function = FunctionValue { class: Some(body.class), declared, is_static, ..FunctionValue::default() };
        let value = self.builder.value(Value::Function(function.into()));
        let new = NewBinding::of(BindingKind::Function, value).in_space(NameSpace::METHOD);
        self.builder.bind(body.scope, name, at, new);
    }

    /// Components of a record: fields with methods that read them.
    fn components(&mut self, node: Node<'_>, inner: Option<Node<'_>>, body: Body<'_>) {
        let is_reader = |member: &Node<'_>| {
            member.kind() == "method_declaration"
                && field(*member, "parameters").is_some_and(|it| children(it).is_empty())
        };
        let written = inner.map(children).unwrap_or_default();
        let written: Vec<Node<'_>> =
            written.into_iter().filter(is_reader).filter_map(|member| field(member, "name")).collect();
        for (component, place) in children(node).into_iter().zip(0_usize..) {
            let Some((name, declared, _)) = self.declared_parameter(component, body.scope) else { continue };
            let text = self.builder.text(name);
            let new = NewBinding::new(BindingKind::Field).typed(declared);
            let binding = self.builder.bind(body.scope, text, name, new);
            // Patterns take the components by their places, which are no names of Java.
            self.builder.export(body.scope, &place.to_string(), binding);
            if !written.iter().any(|reader| self.builder.text(*reader) == text) {
                self.implied_method(text, declared, false, name, body);
            }
        }
    }

    /// A class that is a file.
    pub(super) fn unnamed_class<'t>(&mut self, method: Node<'t>, scope: ScopeId) -> Body<'t> {
        let class = self.builder.opaque();
        let object = self.of_lang("Object");
        self.body_of(class, Vec::new(), vec![object], scope, method)
    }

    /// The members that stand in a body.
    fn members(&mut self, inner: Node<'_>, body: Body<'_>) {
        if self.depth >= DEEPEST {
            return;
        }
        self.depth += 1;
        for member in children(inner) {
            self.member(member, body);
        }
        self.depth -= 1;
    }

    pub(super) fn member(&mut self, member: Node<'_>, body: Body<'_>) {
        match member.kind() {
            // Without a class around it, a field looks like a variable.
            "field_declaration" | "constant_declaration" | "local_variable_declaration" => {
                self.fields_declared(member, body);
            }
            "method_declaration"
            | "annotation_type_element_declaration"
            | "constructor_declaration"
            | "compact_constructor_declaration" => self.method(member, body),
            "enum_constant" => self.enum_constant(member, body),
            "static_initializer" | "block" => self.block(member, body.initializers),
            "enum_body_declarations" | "ERROR" => self.members(member, body),
            kind if is_type(kind) => {
                if let Some(binding) = self.type_declaration(member, body.scope, body.scope) {
                    self.builder.binding_mut(binding).heirs = heirs(member, body);
                }
            }
            _ => _ = self.statement(member, body.initializers),
        }
    }

    fn fields_declared(&mut self, node: Node<'_>, body: Body<'_>) {
        self.annotations(node, body.scope);
        let declared = field(node, "type").map(|it| (it, self.type_of(it, body.scope)));
        for declarator in fields(node, "declarator") {
            let Some(name) = field(declarator, "name") else { continue };
            let declared = self.declared_of(declared, declarator, body.scope);
            let value = field(declarator, "value").map(|value| self.expression(value, body.initializers));
            let new = NewBinding { value, ..NewBinding::new(BindingKind::Field).typed(declared) };
            let text = self.builder.text(name);
            let binding = self.builder.bind(body.scope, text, name, new);
            self.builder.binding_mut(binding).heirs = heirs(node, body);
        }
    }

    /// A value of the type of one of several variables that are declared together.
    pub(super) fn declared_of(
        &mut self,
        declared: Option<(Node<'_>, Option<ValueId>)>,
        declarator: Node<'_>,
        scope: ScopeId,
    ) -> Option<ValueId> {
        let (node, of) = declared?;
        let of = self.array_of(of?, field(declarator, "dimensions"), node, scope);
        Some(self.builder.value(Value::Instance(of)))
    }

    fn enum_constant(&mut self, node: Node<'_>, body: Body<'_>) {
        self.annotations(node, body.scope);
        let Some(name) = field(node, "name") else { return };
        let arguments = field(node, "arguments");
        let arguments = arguments.map(|list| self.arguments(list, body.initializers)).unwrap_or_default();
        let mut class = body.class;
        if let Some(inner) = field(node, "body") {
            class = self.anonymous(inner, body.class, name, body.initializers);
        }
        let value = self.builder.call(node, body.initializers, class, arguments, Vec::new(), true);
        let declared = self.builder.value(Value::Instance(body.class));
        let new = NewBinding::of(BindingKind::Field, value).typed(Some(declared));
        let text = self.builder.text(name);
        self.builder.bind(body.scope, text, name, new);
    }
}

/// The classes that inherit a member.
pub(super) fn heirs(node: Node<'_>, body: Body<'_>) -> Heirs {
    let modifiers = children(node).into_iter().find(|child| child.kind() == "modifiers");
    let mut said = modifiers.into_iter().flat_map(tokens).filter_map(|token| match token.kind() {
        "public" | "protected" => Some(Heirs::All),
        "private" => Some(Heirs::None),
        _ => None,
    });
    said.next().unwrap_or(body.heirs)
}
