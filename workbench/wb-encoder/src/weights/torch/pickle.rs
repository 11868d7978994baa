//! The machine that runs a pickle: only the steps and names that tensors need.

use std::{collections::BTreeMap, rc::Rc};

use safetensors::Dtype;

use super::tensor::{Storage, Tensor};

/// Runs a program that makes a dictionary of tensors, and gives them by name in the dictionary's order.
pub fn run(program: &[u8]) -> Result<Vec<(&str, Rc<Tensor<'_>>)>, String> {
    if program.len() > LONGEST {
        return Err(format!("has {} bytes, more than any dictionary of tensors needs", program.len()));
    }
    let mut machine = Machine {
        program,
        at: 0,
        // In the order of their places: these are made once.
        values: vec![Value::None, Value::Flag, Value::List, Value::Tuple(Vec::new())],
        stack: Vec::new(),
        marks: Vec::new(),
        memo: BTreeMap::new(),
    };
    let last = machine.run()?;
    let Value::Dictionary(pairs) = &machine.values[last] else {
        return Err(format!("makes {}, expected a dictionary of tensors", machine.values[last].kind()));
    };
    let mut tensors: Vec<(&str, Rc<Tensor<'_>>)> = Vec::with_capacity(pairs.len());
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, value) in pairs {
        let Value::Text(name) = &machine.values[*name] else {
            return Err(format!("has {} as a name, expected text", machine.values[*name].kind()));
        };
        let Value::Tensor(tensor) = &machine.values[*value] else {
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

/// A value, by its place among all values.
type Id = usize;

const NONE: Id = 0;
const FLAG: Id = 1;
const LIST: Id = 2;
const EMPTY_TUPLE: Id = 3;

/// What the machine can make.
#[derive(Debug, Clone)]
enum Value<'a> {
    None,
    Flag,
    Number(i64),
    Text(&'a str),
    Tuple(Vec<Id>),
    List,
    Dictionary(Vec<(Id, Id)>),
    Name(Known),
    Storage(Rc<Storage<'a>>),
    Tensor(Rc<Tensor<'a>>),
}

/// The names that a program may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    OrderedDict,
    RebuildTensor,
    RebuildParameter,
    Storage(Dtype),
}

impl Known {
    fn find(module: &str, name: &str) -> Option<Self> {
        Some(match (module, name) {
            ("collections", "OrderedDict") => Self::OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2") => Self::RebuildTensor,
            ("torch._utils", "_rebuild_parameter") => Self::RebuildParameter,
            ("torch", "FloatStorage") => Self::Storage(Dtype::F32),
            ("torch", "HalfStorage") => Self::Storage(Dtype::F16),
            ("torch", "BFloat16Storage") => Self::Storage(Dtype::BF16),
            ("torch", "DoubleStorage") => Self::Storage(Dtype::F64),
            ("torch", "LongStorage") => Self::Storage(Dtype::I64),
            ("torch", "IntStorage") => Self::Storage(Dtype::I32),
            ("torch", "ShortStorage") => Self::Storage(Dtype::I16),
            ("torch", "CharStorage") => Self::Storage(Dtype::I8),
            ("torch", "ByteStorage") => Self::Storage(Dtype::U8),
            ("torch", "BoolStorage") => Self::Storage(Dtype::BOOL),
            _ => return None,
        })
    }
}

impl Value<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Flag => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "text",
            Self::Tuple(_) => "a tuple",
            Self::List => "a list",
            Self::Dictionary(_) => "a dictionary",
            Self::Name(_) => "a class or function",
            Self::Storage(_) => "a storage",
            Self::Tensor(_) => "a tensor",
        }
    }
}

struct Machine<'a> {
    program: &'a [u8],
    at: usize,
    /// Every value that was made: at most one for each step.
    values: Vec<Value<'a>>,
    stack: Vec<Id>,
    /// How high the stack was at each mark.
    marks: Vec<usize>,
    memo: BTreeMap<u32, Id>,
}

impl<'a> Machine<'a> {
    /// Runs to the end and gives the value that is left.
    fn run(&mut self) -> Result<Id, String> {
        loop {
            let at = self.at;
            match self.step() {
                Ok(None) => {}
                Ok(Some(last)) => return Ok(last),
                Err(message) => return Err(format!("at byte {at}: {message}")),
            }
        }
    }

    /// One step; the last value when the program ends with it.
    fn step(&mut self) -> Result<Option<Id>, String> {
        let code = self.take(1)?[0];
        match code {
            // PROTO: 2 is what torch writes.
            0x80 => {
                let version = self.take(1)?[0];
                if !(2..=5).contains(&version) {
                    return Err(format!("is a pickle of version {version}, expected 2 to 5"));
                }
            }
            // FRAME: only tells how much to read at once.
            0x95 => drop(self.take(8)?),
            b'.' => {
                let last = self.pop()?;
                return match (self.stack.is_empty(), self.marks.is_empty()) {
                    (true, true) => Ok(Some(last)),
                    _ => Err("ends with values that nothing used".into()),
                };
            }
            b'N' => self.stack.push(NONE),
            0x88 | 0x89 => self.stack.push(FLAG),
            b'K' => {
                let number = self.number(1)?;
                self.push(Value::Number(number));
            }
            b'M' => {
                let number = self.number(2)?;
                self.push(Value::Number(number));
            }
            b'J' => {
                let number = self.number(4)? as i32;
                self.push(Value::Number(i64::from(number)));
            }
            // LONG1: little-endian with a sign.
            0x8a => {
                let length = usize::from(self.take(1)?[0]);
                let bytes = self.take(length)?;
                if length > 8 {
                    return Err(format!("has a number of {length} bytes"));
                }
                let sign = bytes.last().map_or(0, |byte| if byte & 0x80 != 0 { 0xff } else { 0 });
                let mut whole = [sign; 8];
                whole[..length].copy_from_slice(bytes);
                self.push(Value::Number(i64::from_le_bytes(whole)));
            }
            b'X' => self.text(4)?,
            0x8c => self.text(1)?,
            b'q' => {
                let place = self.number(1)? as u32;
                self.remember(place)?;
            }
            b'r' => {
                let place = self.number(4)? as u32;
                self.remember(place)?;
            }
            0x94 => self.remember(self.memo.len() as u32)?,
            b'h' => {
                let place = self.number(1)? as u32;
                self.recall(place)?;
            }
            b'j' => {
                let place = self.number(4)? as u32;
                self.recall(place)?;
            }
            b'(' => self.marks.push(self.stack.len()),
            b')' => self.stack.push(EMPTY_TUPLE),
            b't' => {
                let items = self.pop_to_mark()?;
                self.push(Value::Tuple(items));
            }
            0x85..=0x87 => {
                let mut items = Vec::with_capacity(3);
                for _ in 0x85..=code {
                    items.push(self.pop()?);
                }
                items.reverse();
                self.push(Value::Tuple(items));
            }
            b']' => self.stack.push(LIST),
            b'a' => {
                self.pop()?;
                self.expect_list()?;
            }
            b'e' => {
                self.pop_to_mark()?;
                self.expect_list()?;
            }
            b'}' => self.push(Value::Dictionary(Vec::new())),
            b's' => {
                let (value, name) = (self.pop()?, self.pop()?);
                self.dictionary()?.push((name, value));
            }
            b'u' => {
                let items = self.pop_to_mark()?;
                if items.len() % 2 != 0 {
                    return Err("has a name without a value".into());
                }
                self.dictionary()?.extend(items.chunks_exact(2).map(|pair| (pair[0], pair[1])));
            }
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.name(module, name)?;
            }
            // STACK_GLOBAL
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                let (Value::Text(module), Value::Text(name)) = (&self.values[module], &self.values[name]) else {
                    return Err("has a name that is no text".into());
                };
                let (module, name) = (*module, *name);
                self.name(module, name)?;
            }
            b'Q' => {
                let id = self.pop()?;
                let storage = self.storage(id)?;
                self.push(Value::Storage(Rc::new(storage)));
            }
            b'R' => {
                let (arguments, function) = (self.pop()?, self.pop()?);
                let made = self.call(function, arguments)?;
                self.push(made);
            }
            // BUILD: attributes of a dictionary, such as `_metadata`, which say nothing about its tensors.
            b'b' => {
                self.pop()?;
                self.dictionary()?;
            }
            other => return Err(format!("has step 0x{other:02x}, which no dictionary of tensors needs")),
        }
        Ok(None)
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(n).filter(|end| *end <= self.program.len());
        let end = end.ok_or_else(|| format!("ends after {} bytes, in the middle of a step", self.program.len()))?;
        let taken = &self.program[self.at..end];
        self.at = end;
        Ok(taken)
    }

    /// An unsigned number of up to four bytes.
    fn number(&mut self, bytes: usize) -> Result<i64, String> {
        Ok(self.take(bytes)?.iter().rev().fold(0, |number, byte| number << 8 | i64::from(*byte)))
    }

    fn text(&mut self, length_bytes: usize) -> Result<(), String> {
        let length = self.number(length_bytes)? as usize;
        let text = utf8(self.take(length)?)?;
        self.push(Value::Text(text));
        Ok(())
    }

    fn line(&mut self) -> Result<&'a str, String> {
        let rest = &self.program[self.at..];
        let length = rest.iter().position(|byte| *byte == b'\n').ok_or("has a name without an end")?;
        let line = self.take(length + 1)?;
        utf8(&line[..length])
    }

    fn push(&mut self, value: Value<'a>) {
        self.stack.push(self.values.len());
        self.values.push(value);
    }

    /// Takes the uppermost value, which must lie above the last mark.
    fn pop(&mut self) -> Result<Id, String> {
        let floor = self.marks.last().copied().unwrap_or(0);
        if self.stack.len() <= floor {
            return Err("takes a value where there is none".into());
        }
        self.stack.pop().ok_or_else(|| "takes a value where there is none".into())
    }

    fn pop_to_mark(&mut self) -> Result<Vec<Id>, String> {
        let mark = self.marks.pop().ok_or("has no mark where one is needed")?;
        Ok(self.stack.split_off(mark))
    }

    fn top(&self) -> Result<Id, String> {
        self.stack.last().copied().ok_or_else(|| "takes a value where there is none".into())
    }

    fn dictionary(&mut self) -> Result<&mut Vec<(Id, Id)>, String> {
        let top = self.top()?;
        match &mut self.values[top] {
            Value::Dictionary(pairs) => Ok(pairs),
            other => Err(format!("adds to {}, expected a dictionary", other.kind())),
        }
    }

    /// Lists stand in attributes only; what is in them does not matter.
    fn expect_list(&self) -> Result<(), String> {
        match &self.values[self.top()?] {
            Value::List => Ok(()),
            other => Err(format!("adds to {}, expected a list", other.kind())),
        }
    }

    fn remember(&mut self, place: u32) -> Result<(), String> {
        let top = self.top()?;
        self.memo.insert(place, top);
        Ok(())
    }

    fn recall(&mut self, place: u32) -> Result<(), String> {
        let id = *self.memo.get(&place).ok_or_else(|| format!("recalls {place}, which was never remembered"))?;
        self.stack.push(id);
        Ok(())
    }

    fn name(&mut self, module: &str, name: &str) -> Result<(), String> {
        let Some(known) = Known::find(module, name) else {
            let shown: String = format!("{module}.{name}").chars().take(80).collect();
            return Err(format!("names `{}`, which is nothing that makes tensors", shown.escape_debug()));
        };
        self.push(Value::Name(known));
        Ok(())
    }

    fn tuple(&self, id: Id, what: &str) -> Result<&[Id], String> {
        match &self.values[id] {
            Value::Tuple(items) => Ok(items),
            other => Err(format!("has {} as {what}, expected a tuple", other.kind())),
        }
    }

    fn size(&self, id: Id, what: &str) -> Result<usize, String> {
        match &self.values[id] {
            Value::Number(number) => {
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
            (Value::Name(Known::Storage(dtype)), Value::Text(key)) => {
                Ok(Storage { dtype: *dtype, key, count: self.size(*count, "a storage's length")? })
            }
            _ => Err("has a storage of an unknown type".into()),
        }
    }

    fn call(&self, function: Id, arguments: Id) -> Result<Value<'a>, String> {
        let arguments = self.tuple(arguments, "arguments")?;
        match (&self.values[function], arguments) {
            (Value::Name(Known::OrderedDict), []) => Ok(Value::Dictionary(Vec::new())),
            // storage, offset, shape, strides, requires_grad, hooks, and perhaps metadata
            (
                Value::Name(Known::RebuildTensor),
                [storage, offset, shape, strides, _, _] | [storage, offset, shape, strides, _, _, _],
            ) => {
                let Value::Storage(storage) = &self.values[*storage] else {
                    return Err(format!("has a tensor on {}, expected a storage", self.values[*storage].kind()));
                };
                Ok(Value::Tensor(Rc::new(Tensor {
                    storage: **storage,
                    offset: self.size(*offset, "a tensor's offset")?,
                    shape: self.sizes(*shape, "a tensor's shape")?,
                    strides: self.sizes(*strides, "a tensor's strides")?,
                })))
            }
            // data, requires_grad, hooks
            (Value::Name(Known::RebuildParameter), [data, _, _]) => match &self.values[*data] {
                Value::Tensor(tensor) => Ok(Value::Tensor(Rc::clone(tensor))),
                other => Err(format!("has {} as a parameter, expected a tensor", other.kind())),
            },
            (Value::Name(known), arguments) => Err(format!("calls {known:?} with {} arguments", arguments.len())),
            (other, _) => Err(format!("calls {}, expected a function", other.kind())),
        }
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| "has text that is no UTF-8".into())
}
