//! The machine that runs a pickle: only the steps and names that tensors need.

use std::{collections::BTreeMap, rc::Rc};

use wb_core::pickle::{Id, PickleTape, shown};

use super::{
    tensor::{Storage, Tensor},
    value::{TorchName, TorchValue},
};

/// Runs a program that makes a dictionary of tensors, and gives them by name in the dictionary's order.
pub fn run(program: &[u8]) -> Result<Vec<(&str, Rc<Tensor<'_>>)>, String> {
    if program.len() > LONGEST {
        return Err(format!("has {} bytes, more than any dictionary of tensors needs", program.len()));
    }
    let mut machine = Machine::new(program);
    let last = machine.run()?;
    let TorchValue::Dictionary(pairs) = &machine.values[last] else {
        return Err(format!("makes {}, expected a dictionary of tensors", machine.values[last].kind()));
    };
    let mut tensors: Vec<(&str, Rc<Tensor<'_>>)> = Vec::with_capacity(pairs.len());
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, value) in pairs {
        let TorchValue::Text(name) = &machine.values[*name] else {
            return Err(format!("has {} as a name, expected text", machine.values[*name].kind()));
        };
        let TorchValue::Tensor(tensor) = &machine.values[*value] else {
            return Err(format!("has {} under {name:?}, expected a tensor", machine.values[*value].kind()));
        };
        match places.insert(name, tensors.len()) {
            Some(before) => return Err(format!("has {:?} twice, expected it once", tensors[before].0)),
            None => tensors.push((name, Rc::clone(tensor))),
        }
    }
    Ok(tensors)
}

/// Longest program: a tensor takes about a hundred bytes of it.
const LONGEST: usize = 4 << 20;

const NONE: Id = 0;
const FLAG: Id = 1;
const LIST: Id = 2;
const EMPTY_TUPLE: Id = 3;

struct Machine<'a> {
    tape: PickleTape<'a>,
    /// Every value that was made: at most one for each step.
    values: Vec<TorchValue<'a>>,
}

impl<'a> Machine<'a> {
    fn new(program: &'a [u8]) -> Self {
        // In the order of their places: these are made once.
        let values = vec![TorchValue::None, TorchValue::Flag, TorchValue::List, TorchValue::Tuple(Vec::new())];
        Self { tape: PickleTape::new(program), values }
    }

    /// Runs to the end and gives the value that is left.
    fn run(&mut self) -> Result<Id, String> {
        loop {
            let at = self.tape.at();
            match self.step() {
                Ok(None) => {}
                Ok(Some(last)) => return Ok(last),
                Err(message) => return Err(format!("at byte {at}: {message}")),
            }
        }
    }

    /// One step; the last value when the program ends with it.
    fn step(&mut self) -> Result<Option<Id>, String> {
        let code = self.tape.take(1)?[0];
        match code {
            code if self.tape.moves(code)? => {}
            // PROTO: 2 is what torch writes.
            0x80 => {
                let version = self.tape.take(1)?[0];
                if !(2..=5).contains(&version) {
                    return Err(format!("is a pickle of version {version}, expected 2 to 5"));
                }
            }
            b'.' => return self.tape.last().map(Some),
            b'N' => self.tape.push(NONE),
            0x88 | 0x89 => self.tape.push(FLAG),
            b'K' => self.number(1)?,
            b'M' => self.number(2)?,
            b'J' => {
                let number = self.tape.number(4)? as i32;
                self.push(TorchValue::Number(i64::from(number)));
            }
            0x8a => {
                let number = self.tape.long()?;
                self.push(TorchValue::Number(number));
            }
            b'X' => self.text(4)?,
            0x8c => self.text(1)?,
            b')' => self.tape.push(EMPTY_TUPLE),
            b't' => {
                let items = self.tape.pop_to_mark()?;
                self.push(TorchValue::Tuple(items));
            }
            0x85..=0x87 => {
                let items = self.tape.pop_many(usize::from(code - 0x84))?;
                self.push(TorchValue::Tuple(items));
            }
            b']' => self.tape.push(LIST),
            b'a' => {
                self.tape.pop()?;
                self.expect_list()?;
            }
            b'e' => {
                self.tape.pop_to_mark()?;
                self.expect_list()?;
            }
            b'}' => self.push(TorchValue::Dictionary(Vec::new())),
            b's' => {
                let (value, name) = (self.tape.pop()?, self.tape.pop()?);
                self.dictionary()?.push((name, value));
            }
            b'u' => {
                let items = self.tape.pop_to_mark()?;
                if items.len() % 2 != 0 {
                    return Err("has a name without a value".into());
                }
                self.dictionary()?.extend(items.chunks_exact(2).map(|pair| (pair[0], pair[1])));
            }
            b'c' => {
                let (module, name) = (self.tape.line()?, self.tape.line()?);
                self.name(module, name)?;
            }
            // STACK_GLOBAL
            0x93 => {
                let (name, module) = (self.tape.pop()?, self.tape.pop()?);
                let (TorchValue::Text(module), TorchValue::Text(name)) = (&self.values[module], &self.values[name])
                else {
                    return Err("has a name that is no text".into());
                };
                let (module, name) = (*module, *name);
                self.name(module, name)?;
            }
            b'Q' => {
                let id = self.tape.pop()?;
                let storage = self.storage(id)?;
                self.push(TorchValue::Storage(Rc::new(storage)));
            }
            b'R' => {
                let (arguments, function) = (self.tape.pop()?, self.tape.pop()?);
                let made = self.call(function, arguments)?;
                self.push(made);
            }
            // BUILD: attributes of a dictionary, such as `_metadata`, which say nothing about its tensors.
            b'b' => {
                self.tape.pop()?;
                self.dictionary()?;
            }
            other => return Err(format!("has step 0x{other:02x}, which no dictionary of tensors needs")),
        }
        Ok(None)
    }

    /// Pushes an unsigned number of so many bytes.
    fn number(&mut self, bytes: usize) -> Result<(), String> {
        let number = self.tape.number(bytes)? as i64;
        self.push(TorchValue::Number(number));
        Ok(())
    }

    /// Pushes a text behind its length, which has so many bytes.
    fn text(&mut self, length_bytes: usize) -> Result<(), String> {
        let text = self.tape.text(length_bytes)?;
        self.push(TorchValue::Text(text));
        Ok(())
    }

    fn push(&mut self, value: TorchValue<'a>) {
        self.tape.push(self.values.len());
        self.values.push(value);
    }

    fn dictionary(&mut self) -> Result<&mut Vec<(Id, Id)>, String> {
        let top = self.tape.top()?;
        match &mut self.values[top] {
            TorchValue::Dictionary(pairs) => Ok(pairs),
            other => Err(format!("adds to {}, expected a dictionary", other.kind())),
        }
    }

    /// Lists stand in attributes only; what is in them does not matter.
    fn expect_list(&self) -> Result<(), String> {
        match &self.values[self.tape.top()?] {
            TorchValue::List => Ok(()),
            other => Err(format!("adds to {}, expected a list", other.kind())),
        }
    }

    fn name(&mut self, module: &str, name: &str) -> Result<(), String> {
        let Some(known) = TorchName::find(module, name) else {
            let name = shown(&format!("{module}.{name}"));
            return Err(format!("names `{name}`, which is nothing that makes tensors"));
        };
        self.push(TorchValue::Name(known));
        Ok(())
    }

    fn tuple(&self, id: Id, what: &str) -> Result<&[Id], String> {
        match &self.values[id] {
            TorchValue::Tuple(items) => Ok(items),
            other => Err(format!("has {} as {what}, expected a tuple", other.kind())),
        }
    }

    fn size(&self, id: Id, what: &str) -> Result<usize, String> {
        match &self.values[id] {
            TorchValue::Number(number) => {
                usize::try_from(*number).map_err(|_| format!("has {number} as {what}, expected 0 or more"))
            }
            other => Err(format!("has {} as {what}, expected a number", other.kind())),
        }
    }

    fn sizes(&self, id: Id, what: &str) -> Result<Vec<usize>, String> {
        let items = self.tuple(id, what)?;
        if items.len() > super::tensor::MOST_DIMENSIONS {
            return Err(format!("has {} numbers as {what}", items.len()));
        }
        items.iter().map(|item| self.size(*item, what)).collect()
    }

    /// ('storage', class, key, device, count)
    fn storage(&self, id: Id) -> Result<Storage<'a>, String> {
        let [_, class, key, _, count] = self.tuple(id, "a storage's description")? else {
            return Err("has a storage that is not described by five values".into());
        };
        match (&self.values[*class], &self.values[*key]) {
            (TorchValue::Name(TorchName::Storage(dtype)), TorchValue::Text(key)) => {
                Ok(Storage { dtype: *dtype, key, count: self.size(*count, "a storage's length")? })
            }
            _ => Err("has a storage of an unknown type".into()),
        }
    }

    fn call(&self, function: Id, arguments: Id) -> Result<TorchValue<'a>, String> {
        let arguments = self.tuple(arguments, "arguments")?;
        match (&self.values[function], arguments) {
            (TorchValue::Name(TorchName::OrderedDict), []) => Ok(TorchValue::Dictionary(Vec::new())),
            // storage, offset, shape, strides, requires_grad, hooks, and perhaps metadata
            (
                TorchValue::Name(TorchName::RebuildTensor),
                [storage, offset, shape, strides, _, _] | [storage, offset, shape, strides, _, _, _],
            ) => {
                let TorchValue::Storage(storage) = &self.values[*storage] else {
                    return Err(format!("has a tensor on {}, expected a storage", self.values[*storage].kind()));
                };
                Ok(TorchValue::Tensor(Rc::new(Tensor {
                    storage: **storage,
                    offset: self.size(*offset, "a tensor's offset")?,
                    shape: self.sizes(*shape, "a tensor's shape")?,
                    strides: self.sizes(*strides, "a tensor's strides")?,
                })))
            }
            // data, requires_grad, hooks
            (TorchValue::Name(TorchName::RebuildParameter), [data, _, _]) => match &self.values[*data] {
                TorchValue::Tensor(tensor) => Ok(TorchValue::Tensor(Rc::clone(tensor))),
                other => Err(format!("has {} as a parameter, expected a tensor", other.kind())),
            },
            (TorchValue::Name(known), arguments) => Err(format!("calls {known:?} with {} arguments", arguments.len())),
            (other, _) => Err(format!("calls {}, expected a function", other.kind())),
        }
    }
}

/// Number of values and places of values that a program leaves behind, and the size of a value: what its memory depends
/// on.
#[cfg(test)]
pub fn left_behind(program: &[u8]) -> (usize, usize) {
    let mut machine = Machine::new(program);
    let _ = machine.run();
    let inside = |value: &TorchValue<'_>| match value {
        TorchValue::Tuple(items) => items.len(),
        TorchValue::Dictionary(pairs) => 2 * pairs.len(),
        _ => 0,
    };
    let all = machine.values.len() + machine.tape.places() + machine.values.iter().map(inside).sum::<usize>();
    (all, size_of::<TorchValue<'_>>())
}
