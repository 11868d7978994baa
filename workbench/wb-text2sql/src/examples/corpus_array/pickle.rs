//! The machine that runs the pickle of an array of objects: only the steps and names that texts, numbers, lists, tuples
//! and dictionaries need. Nothing is executed: a name is one of three or an error.

use std::collections::BTreeMap;

use super::value::{Id, Known, Value};

/// The longest shape.
const MOST_AXES: usize = 32;

/// The array that a program makes, and all values.
pub struct Objects<'a> {
    /// The array's shape.
    pub shape: Vec<u64>,
    /// Its entries, row after row.
    pub entries: Vec<Id>,
    /// Every value, by its id.
    pub values: Vec<Value<'a>>,
}

impl<'a> Objects<'a> {
    /// Runs a program that makes an array of objects in no more than `most_steps` steps, which bound the memory that it
    /// takes: a step makes one value at most, and texts stay where they are in the program.
    pub fn read(program: &'a [u8], most_steps: usize) -> Result<Self, String> {
        let mut machine =
            Machine { program, at: 0, values: vec![], stack: vec![], marks: vec![], memo: BTreeMap::new() };
        let last = machine.run(most_steps)?;
        let behind = program.len() - machine.at;
        if behind > 0 {
            return Err(format!("has {behind} bytes behind its end"));
        }
        let Value::Array(Some((shape, entries))) = machine.values[last] else {
            return Err(format!("makes {}, expected a filled array", machine.values[last].kind()));
        };
        let shape = machine.sizes(shape)?;
        match std::mem::replace(&mut machine.values[entries], Value::Plain) {
            Value::List(entries) => Ok(Self { shape, entries, values: machine.values }),
            other => Err(format!("has {} as an array's entries, expected a list", other.kind())),
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
    fn run(&mut self, most_steps: usize) -> Result<Id, String> {
        for _ in 0..most_steps {
            let at = self.at;
            match self.step() {
                Ok(None) => {}
                Ok(Some(last)) => return Ok(last),
                Err(message) => return Err(format!("at byte {at} of its pickle: {message}")),
            }
        }
        Err(format!("takes more than {most_steps} steps, more than so many rows need"))
    }

    /// One step; the last value when the program ends with it.
    fn step(&mut self) -> Result<Option<Id>, String> {
        let code = self.take(1)?[0];
        match code {
            // PROTO: 3 is what NumPy 1 writes, 4 what NumPy 2 does.
            0x80 => {
                let version = self.take(1)?[0];
                if !(3..=5).contains(&version) {
                    return Err(format!("is a pickle of version {version}, expected 3 to 5"));
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
            b'N' | 0x88 | 0x89 => self.push(Value::Plain),
            b'G' => {
                self.take(8)?;
                self.push(Value::Plain);
            }
            b'K' => self.push_number(1)?,
            b'M' => self.push_number(2)?,
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
            0x8c => self.text(1)?,
            b'X' => self.text(4)?,
            0x8d => self.text(8)?,
            b'C' => {
                let length = self.take(1)?[0];
                self.take(usize::from(length))?;
                self.push(Value::Bytes);
            }
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
            b')' => self.push(Value::Tuple(vec![])),
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
            b']' => self.push(Value::List(vec![])),
            b'a' => {
                let item = self.pop()?;
                self.list()?.push(item);
            }
            b'e' => {
                let items = self.pop_to_mark()?;
                self.list()?.extend(items);
            }
            b'}' => self.push(Value::Dictionary(vec![])),
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.dictionary()?.push((key, value));
            }
            b'u' => {
                let items = self.pop_to_mark()?;
                if items.len() % 2 != 0 {
                    return Err("has a key without a value".into());
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
                let (&Value::Text(module), &Value::Text(name)) = (&self.values[module], &self.values[name]) else {
                    return Err("has a name that is no text".into());
                };
                self.name(module, name)?;
            }
            b'R' => {
                let (arguments, function) = (self.pop()?, self.pop()?);
                let made = self.call(function, arguments)?;
                self.push(made);
            }
            b'b' => {
                let state = self.pop()?;
                self.fill(state)?;
            }
            other => return Err(format!("has step 0x{other:02x}, which no array of texts needs")),
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

    /// An unsigned number of up to eight bytes.
    fn number(&mut self, bytes: usize) -> Result<u64, String> {
        Ok(self.take(bytes)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn push_number(&mut self, bytes: usize) -> Result<(), String> {
        let number = self.number(bytes)? as i64;
        self.push(Value::Number(number));
        Ok(())
    }

    fn text(&mut self, length_bytes: usize) -> Result<(), String> {
        let length = usize::try_from(self.number(length_bytes)?).unwrap_or(usize::MAX);
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

    fn list(&mut self) -> Result<&mut Vec<Id>, String> {
        let top = self.top()?;
        match &mut self.values[top] {
            Value::List(items) => Ok(items),
            other => Err(format!("adds to {}, expected a list", other.kind())),
        }
    }

    fn dictionary(&mut self) -> Result<&mut Vec<(Id, Id)>, String> {
        let top = self.top()?;
        match &mut self.values[top] {
            Value::Dictionary(pairs) => Ok(pairs),
            other => Err(format!("adds to {}, expected a dictionary", other.kind())),
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
        let known = match (module, name) {
            // NumPy 1, and NumPy 2's name for the same.
            ("numpy.core.multiarray" | "numpy._core.multiarray", "_reconstruct") => Known::Reconstruct,
            ("numpy", "ndarray") => Known::Ndarray,
            ("numpy", "dtype") => Known::Dtype,
            _ => {
                let name = shown(&format!("{module}.{name}"));
                return Err(format!("names `{name}`, which is nothing that makes texts"));
            }
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

    fn sizes(&self, id: Id) -> Result<Vec<u64>, String> {
        let items = self.tuple(id, "an array's shape")?;
        if items.len() > MOST_AXES {
            return Err(format!("has {} numbers as an array's shape", items.len()));
        }
        let size = |item: &Id| match self.values[*item] {
            Value::Number(number) => u64::try_from(number).ok(),
            _ => None,
        };
        let sizes: Option<Vec<u64>> = items.iter().map(size).collect();
        sizes.ok_or_else(|| "has an array's shape that is not made of numbers from 0".to_owned())
    }

    fn call(&self, function: Id, arguments: Id) -> Result<Value<'a>, String> {
        let arguments = self.tuple(arguments, "arguments")?;
        match (&self.values[function], arguments) {
            // The class, a shape and a type for the time until it is filled.
            (Value::Name(Known::Reconstruct), [class, _, _]) => match self.values[*class] {
                Value::Name(Known::Ndarray) => Ok(Value::Array(None)),
                ref other => Err(format!("makes an array of {}, expected `numpy.ndarray`", other.kind())),
            },
            // 'O8', align, copy
            (Value::Name(Known::Dtype), [kind, _, _]) => match self.values[*kind] {
                Value::Text("O" | "O4" | "O8") => Ok(Value::ObjectType),
                Value::Text(other) => Err(format!("has an array of `{}`, expected objects, `O8`", shown(other))),
                ref other => Err(format!("has {} as a type, expected `O8`", other.kind())),
            },
            (Value::Name(known), arguments) => Err(format!("calls {known:?} with {} arguments", arguments.len())),
            (other, _) => Err(format!("calls {}, expected a function", other.kind())),
        }
    }

    /// BUILD: gives the uppermost value its state.
    fn fill(&mut self, state: Id) -> Result<(), String> {
        let top = self.top()?;
        match self.values[top] {
            // Byte order and alignment: objects have none.
            Value::ObjectType => Ok(()),
            Value::Array(None) => {
                // version, shape, type, whether column after column, entries
                let [_, shape, kind, _, entries] = *self.tuple(state, "an array's state")? else {
                    return Err("has an array's state that is not made of five values".into());
                };
                if !matches!(self.values[kind], Value::ObjectType) {
                    return Err(format!("has {} as an array's type", self.values[kind].kind()));
                }
                self.values[top] = Value::Array(Some((shape, entries)));
                Ok(())
            }
            ref other => Err(format!("fills {}, expected a new array", other.kind())),
        }
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| "has text that is no UTF-8".into())
}

fn shown(text: &str) -> String {
    text.chars().take(80).collect::<String>().escape_debug().to_string()
}
