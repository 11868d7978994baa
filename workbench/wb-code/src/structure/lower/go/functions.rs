//! Functions: parameters, results, receivers, and what calls tell about type parameters.

use tree_sitter::Node;

use super::{ANY, Block, ELEMENT, KEY, Lowering, field, fields};
use crate::structure::{
    builder::{NewBinding, children},
    file::{
        BindingKind, Extension, FunctionParameter, FunctionValue, ParameterKind, ScopeId, ScopeKind, Value, ValueId,
    },
};

/// The receiver of a method.
pub(super) struct Receiver<'t> {
    name: Option<Node<'t>>,
    /// The name of its type.
    of: Node<'t>,
    class: ValueId,
    /// Names that it gives the parameters of its type.
    parameters: Vec<Node<'t>>,
}

/// Parameters of a function with one type.
struct Typed<'t> {
    names: Vec<Node<'t>>,
    declared: Node<'t>,
    is_variadic: bool,
}

impl Lowering<'_, '_> {
    pub(super) fn function_declaration(&mut self, node: Node<'_>, block: &mut Block) {
        let value = self.function(node, self.file, None);
        if let Some(name) = field(node, "name") {
            let new = NewBinding::of(BindingKind::Function, value).in_space(ANY);
            // Nobody can name `init`, of which there may be many.
            match self.builder.text(name) {
                "init" => _ = self.builder.loose("init", name, new),
                _ => {
                    let scope = self.open(block);
                    self.declare(block, scope, name, new);
                }
            }
        }
    }

    /// A method, put into a scope with the others of its type in this file.
    pub(super) fn method_declaration(&mut self, node: Node<'_>) {
        let parameters = field(node, "receiver").map(children).unwrap_or_default();
        let Some(receiver) = parameters.first().and_then(|receiver| self.receiver(*receiver)) else {
            self.function(node, self.file, None);
            return;
        };
        let of = self.builder.text(receiver.of);
        let scope = match self.extensions.get(of) {
            Some(scope) => *scope,
            None => {
                let scope = self.builder.scope(ScopeKind::Class, Some(self.file), Some(receiver.class));
                let extension = Extension { of: receiver.class, scope, bases: Vec::new() };
                self.builder.structure.extensions.push(extension);
                self.extensions.insert(of, scope);
                scope
            }
        };
        let value = self.function(node, scope, Some(receiver));
        if let Some(name) = field(node, "name") {
            let text = self.builder.text(name);
            self.builder.bind(scope, text, name, NewBinding::of(BindingKind::Function, value).in_space(ANY));
        }
    }

    fn receiver<'t>(&mut self, node: Node<'t>) -> Option<Receiver<'t>> {
        let mut of = field(node, "type")?;
        let mut parameters = Vec::new();
        loop {
            match of.kind() {
                "pointer_type" | "parenthesized_type" => of = *children(of).first()?,
                "generic_type" => {
                    // Each argument is a name that is declared here.
                    let arguments = field(of, "type_arguments").map(children).unwrap_or_default();
                    parameters = arguments.iter().filter_map(|it| children(*it).first().copied()).collect();
                    of = field(of, "type")?;
                }
                "type_identifier" => break,
                _ => return None,
            }
        }
        let class = self.builder.name(of, self.file, ANY);
        Some(Receiver { name: field(node, "name"), of, class, parameters })
    }

    /// A function, a method, a literal of one, or the type of one.
    pub(super) fn function(&mut self, node: Node<'_>, around: ScopeId, receiver: Option<Receiver<'_>>) -> ValueId {
        let value = self.builder.opaque();
        let types = field(node, "type_parameters");
        // The types of parameters see type parameters, but not each other's names.
        let outer = self.builder.scope(ScopeKind::Block, Some(around), Some(value));
        let scope = self.builder.scope(ScopeKind::Function, Some(outer), Some(value));
        let mut block = Block::within(scope);
        let mut function = FunctionValue { scope: Some(scope), ..FunctionValue::default() };
        if let Some(receiver) = receiver {
            self.receive(receiver, outer, &mut block, &mut function);
        }
        function.type_parameters = self.type_parameters(types, outer);
        let parameters = field(node, "parameters").map(parameters_of).unwrap_or_default();
        for parameter in &parameters {
            self.parameter(parameter, outer, &mut block, &mut function);
        }
        self.infer(&function.type_parameters, &parameters, scope);
        function.declared = field(node, "result").and_then(|result| self.results(result, outer, &mut block));
        if let Some(body) = field(node, "body") {
            self.returns.push(Vec::new());
            for child in children(body) {
                self.statement(child, &mut block);
            }
            function.returns = self.returns.pop().unwrap_or_default();
        }
        self.builder.structure.values[value.0 as usize] = Value::Function(function.into());
        value
    }

    fn receive(&mut self, receiver: Receiver<'_>, outer: ScopeId, block: &mut Block, function: &mut FunctionValue) {
        let Receiver { name, of, class, parameters } = receiver;
        // One without a name is there all the same, for the parameters of its type.
        let text = name.map_or("", |name| self.builder.text(name));
        let new = NewBinding::new(BindingKind::Parameter).in_space(ANY);
        let binding = self.builder.bind(block.scope, text, name.unwrap_or(of), new);
        block.names.push(text.to_owned());
        function.class = Some(class);
        function.receiver = Some(binding);
        function.takes_receiver = true;
        for (place, parameter) in parameters.into_iter().enumerate() {
            let at = of.start_byte() as u32;
            let object = self.builder.value(Value::Name { name: text.into(), scope: block.scope, space: ANY, at });
            let value = self.builder.value(Value::Member { of: object, name: format!("[{place}]").into(), space: ANY });
            self.declare(block, outer, parameter, NewBinding::of(BindingKind::Class, value));
        }
    }

    /// Type parameters in a scope; without arguments they are what they must satisfy.
    pub(super) fn type_parameters(&mut self, list: Option<Node<'_>>, scope: ScopeId) -> Vec<FunctionParameter> {
        let mut all = Vec::new();
        let mut block = Block::within(scope);
        let declarations = list.map(children).unwrap_or_default();
        let mut constraints = Vec::new();
        for declaration in declarations.into_iter().filter(|it| it.kind() == "type_parameter_declaration") {
            for name in fields(declaration, "name") {
                let binding = self.declare(&mut block, scope, name, NewBinding::new(BindingKind::Class));
                all.push(FunctionParameter { binding, kind: ParameterKind::One, default: None });
                constraints.push((binding, field(declaration, "type")));
            }
        }
        // They may name each other.
        let mut last = None;
        for (binding, constraint) in constraints {
            let value = match (constraint, last) {
                (Some(node), Some((known, value))) if node == known => Some(value),
                (Some(node), _) => Some(self.type_of(node, scope)),
                (None, _) => None,
            };
            last = constraint.zip(value);
            self.builder.binding_mut(binding).value = value;
        }
        all
    }

    fn parameter(&mut self, of: &Typed<'_>, outer: ScopeId, block: &mut Block, function: &mut FunctionValue) {
        let Typed { names, declared, is_variadic } = of;
        let of = self.type_of(*declared, outer);
        let mut value = self.instance(of);
        if *is_variadic {
            value = self.record(&[(ELEMENT, *declared, value)]);
        }
        let kind = if *is_variadic { ParameterKind::Rest } else { ParameterKind::One };
        let new = || NewBinding::new(BindingKind::Parameter).in_space(ANY).typed(Some(value));
        if names.is_empty() {
            let binding = self.builder.loose("", *declared, new());
            function.parameters.push(FunctionParameter { binding, kind, default: None });
        }
        for name in names {
            let binding = self.declare(block, block.scope, *name, new());
            function.parameters.push(FunctionParameter { binding, kind, default: None });
        }
    }

    /// Results of a function, as its declaration says them; results with names are variables of its.
    fn results(&mut self, node: Node<'_>, outer: ScopeId, block: &mut Block) -> Option<ValueId> {
        if node.kind() != "parameter_list" {
            let of = self.type_of(node, outer);
            return Some(self.instance(of));
        }
        let mut all = Vec::new();
        for Typed { names, declared, .. } in parameters_of(node) {
            let of = self.type_of(declared, outer);
            let value = self.instance(of);
            all.extend(std::iter::repeat_n((declared, value), names.len().max(1)));
            for name in names {
                let new = NewBinding::new(BindingKind::Variable).typed(Some(value));
                self.declare(block, block.scope, name, new);
            }
        }
        self.tuple(&all)
    }

    /// Lets type parameters be what the arguments of a call tell.
    fn infer(&mut self, types: &[FunctionParameter], parameters: &[Typed<'_>], scope: ScopeId) {
        for FunctionParameter { binding, .. } in types {
            let name = self.builder.structure.binding(*binding).name.clone();
            let mut told = Vec::new();
            for Typed { names, declared, is_variadic } in parameters {
                let Some(parameter) = names.first().filter(|_| self.mentions(*declared, &name)) else { continue };
                let text = self.builder.text(*parameter).to_owned();
                let value = Value::Name { name: text.into(), scope, space: ANY, at: parameter.start_byte() as u32 };
                let mut value = self.builder.value(value);
                if *is_variadic {
                    value = self.item(value, ELEMENT);
                }
                told.extend(self.told(*declared, value, &name));
            }
            if !told.is_empty() {
                let told = self.builder.value(Value::AnyOf(told));
                let constraint = self.builder.structure.binding(*binding).value;
                let value = self.builder.value(Value::FirstOf(std::iter::once(told).chain(constraint).collect()));
                self.builder.binding_mut(*binding).value = Some(value);
            }
        }
    }

    /// True where a type names another one.
    fn mentions(&self, node: Node<'_>, name: &str) -> bool {
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            if node.kind() == "type_identifier" && self.builder.text(node) == name {
                return true;
            }
            open.extend(children(node));
        }
        false
    }

    /// The part of a value that has a type parameter for its type, where the value's type names it.
    fn told(&mut self, mut declared: Node<'_>, mut value: ValueId, name: &str) -> Option<ValueId> {
        loop {
            let inner = |name: &str| field(declared, name);
            declared = match declared.kind() {
                "type_identifier" => return (self.builder.text(declared) == name).then_some(value),
                "pointer_type" | "parenthesized_type" | "type_elem" => *children(declared).first()?,
                "slice_type" | "array_type" => {
                    value = self.item(value, ELEMENT);
                    inner("element")?
                }
                "channel_type" => {
                    value = self.item(value, ELEMENT);
                    inner("value")?
                }
                "map_type" => {
                    let (key, of) = (inner("key")?, inner("value")?);
                    let is_key = !self.mentions(of, name);
                    value = self.item(value, if is_key { KEY } else { ELEMENT });
                    if is_key { key } else { of }
                }
                "function_type" => {
                    let call =
                        Value::Call { callee: value, arguments: Box::default(), named: Box::default(), creates: false };
                    value = self.builder.value(call);
                    inner("result")?
                }
                "parameter_list" => {
                    let results = parameters_of(declared);
                    let count = |result: &Typed<'_>| result.names.len().max(1);
                    let found = results.iter().position(|result| self.mentions(result.declared, name))?;
                    let (before, from) = results.split_at_checked(found)?;
                    if results.iter().map(count).sum::<usize>() > 1 {
                        let place: usize = before.iter().map(count).sum();
                        value = self.item(value, &place.to_string());
                    }
                    from.first()?.declared
                }
                "generic_type" => {
                    let arguments = inner("type_arguments").map(children).unwrap_or_default();
                    let place = arguments.iter().position(|argument| self.mentions(*argument, name))?;
                    value =
                        self.builder.value(Value::Member { of: value, name: format!("[{place}]").into(), space: ANY });
                    *arguments.get(place)?
                }
                _ => return None,
            };
        }
    }
}

/// Parameters of a list.
fn parameters_of(list: Node<'_>) -> Vec<Typed<'_>> {
    let declarations = children(list);
    let is_named = declarations.iter().any(|it| field(*it, "name").is_some());
    let mut all = Vec::new();
    let mut before = Vec::new();
    for node in declarations {
        let Some(declared) = field(node, "type") else { continue };
        let mut names = fields(node, "name");
        // In a long list the grammar may take names for types: `a, b, c int`.
        if is_named && names.is_empty() && declared.kind() == "type_identifier" {
            before.push(declared);
            continue;
        }
        names.splice(0..0, std::mem::take(&mut before));
        all.push(Typed { names, declared, is_variadic: node.kind() == "variadic_parameter_declaration" });
    }
    all
}
