//! Calls that are being looked into, and types with their arguments: the context that a name is worked out in.

use super::{Context, Solver, Thing, ThingId};
use crate::structure::file::{Value, ValueId};

/// A call that is being looked into: parameters of the function are what it gives.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Frame {
    pub file: usize,
    pub function: ValueId,
    /// The call, or the type with arguments; its file and its context.
    pub call: Option<(usize, ValueId, Context)>,
    /// Arguments that a type, or a function, is applied to, where they are known once and for all.
    pub arguments: Vec<Option<ThingId>>,
    pub receiver: Option<ThingId>,
    /// Frames around the function.
    pub outer: Context,
    /// Calls in each other.
    pub depth: u8,
    /// Types with arguments in each other.
    pub types: u8,
}

/// Calls in each other at most.
const DEEPEST: u8 = 3;
/// Calls of a function in each other at most, where a language has it built in.
const STANDARD: usize = 3;
/// Types with arguments in each other at most.
const TYPES: u8 = 5;

impl Solver<'_> {
    pub(super) fn frame(&self, context: Context) -> Option<&Frame> {
        self.frames.get_index((context as usize).checked_sub(1)?)
    }

    /// The frame within others, or those others where they are many already.
    pub(super) fn push(
        &mut self,
        (file, function): (usize, ValueId),
        outer: Context,
        call: Option<(usize, ValueId, Context)>,
        receiver: Option<ThingId>,
    ) -> Context {
        let is_type = call.is_some_and(|call| self.is_type(call));
        let counts = |context: Context| self.frame(context).map_or([0, 0], |frame| [frame.depth, frame.types]);
        let (around, from) = (counts(outer), call.map_or([0, 0], |(.., context)| counts(context)));
        // What a language has built in calls nothing but functions that it is given.
        let has_code = |value: &Value| matches!(value, Value::Function(function) if function.scope.is_some());
        let is_standard = file >= self.project.files().len() && has_code(self.structure(file).value(function));
        let depth = u8::from(!is_type && !is_standard) + around[0].max(from[0]);
        let types = u8::from(is_type) + around[1].max(from[1]);
        let is_nested = |context| {
            let mut next = self.frame(context);
            let mut left = if is_standard { STANDARD } else { 1 };
            while let Some(frame) = next.filter(|_| left > 0) {
                left -= usize::from((frame.file, frame.function) == (file, function));
                next = self.frame(frame.call.map_or(frame.outer, |(.., context)| context));
            }
            left == 0
        };
        // A function that calls itself is looked into once.
        if depth > DEEPEST || types > TYPES || call.is_some_and(|(.., context)| !is_type && is_nested(context)) {
            return outer;
        }
        let arguments = Vec::new();
        self.frames.insert_full(Frame { file, function, call, arguments, receiver, outer, depth, types }).0 as Context
            + 1
    }

    /// The frame of a function, from a context outwards: that of a call, or that of its type with arguments.
    pub(super) fn frame_of(&self, context: Context, file: usize, function: ValueId, of_type: bool) -> Option<Frame> {
        self.frame(self.context_of(context, file, function, of_type)?).cloned()
    }

    pub(super) fn context_of(
        &self,
        mut context: Context,
        file: usize,
        function: ValueId,
        of_type: bool,
    ) -> Option<Context> {
        while let Some(frame) = self.frame(context) {
            let is_type = !frame.arguments.is_empty() || frame.call.is_some_and(|call| self.is_type(call));
            if frame.file == file && frame.function == function && is_type == of_type {
                return Some(context);
            }
            context = frame.outer;
        }
        None
    }

    /// True for a type with arguments, where other frames have a call.
    pub(super) fn is_type(&self, (file, call, _): (usize, ValueId, Context)) -> bool {
        !matches!(self.structure(file).value(call), Value::Call { .. })
    }

    /// The frame of a type, or a function, that is applied to these.
    pub(super) fn push_applied(
        &mut self,
        (file, function): (usize, ValueId),
        outer: Context,
        arguments: Vec<Option<ThingId>>,
    ) -> Context {
        let around = self.frame(outer).map_or([0, 0], |frame| [frame.depth, frame.types]);
        let within = arguments.iter().flatten().map(|argument| self.types_within(*argument)).max();
        let types = 1 + around[1].max(within.unwrap_or_default());
        if types > TYPES {
            return outer;
        }
        let [depth, _] = around;
        let frame = Frame { file, function, call: None, arguments, receiver: None, outer, depth, types };
        self.frames.insert_full(frame).0 as Context + 1
    }

    /// Types with arguments within each other in a thing.
    fn types_within(&self, thing: ThingId) -> u8 {
        match self.things[thing as usize] {
            Thing::Site { context, .. } => self.frame(context).map_or(0, |frame| frame.types),
            Thing::Instance { class, .. } => self.types_within(class),
            _ => 0,
        }
    }
}
