//! The machine that runs the pickle of an array of objects: only the steps and names that texts, numbers, lists, tuples
//! and dictionaries need. Nothing is executed: a name is one of three or an error.

use wb_core::pickle::{Id, PickleTape, shown};

use super::value::{PickledName, PickledValue};

/// The longest shape.
const MOST_AXES: usize = 32;

/// The array that a program makes, and all values.
pub struct Objects<'a> {
    /// The array's shape.
    pub shape: Vec<u64>,
    /// Its entries, row after row.
    pub entries: Vec<Id>,
    /// Every value, by its id.
    pub values: Vec<PickledValue<'a>>,
}

impl<'a> Objects<'a> {
    /// Runs a program that makes an array of objects in no more than `most_steps` steps, which bound the memory that it
    /// takes: a step makes one value at most, and texts stay where they are in the program.
    pub fn read(program: &'a [u8], most_steps: usize) -> Result<Self, String> {
        let mut machine = Machine { tape: PickleTape::new(program), values: vec![] };
        let last = machine.run(most_steps)?;
        let behind = machine.tape.left();
        if behind > 0 {
            return Err(format!("has {behind} bytes behind its end"));
        }
        let PickledValue::Array(Some((shape, entries))) = machine.values[last] else {
            return Err(format!("makes {}, expected a filled array", machine.values[last].kind()));
        };
        let shape = machine.sizes(shape)?;
        match std::mem::replace(&mut machine.values[entries], PickledValue::Plain) {
            PickledValue::List(entries) => Ok(Self { shape, entries, values: machine.values }),
            other => Err(format!("has {} as an array's entries, expected a list", other.kind())),
        }
    }
}

struct Machine<'a> {
    tape: PickleTape<'a>,
    /// Every value that was made: at most one for each step.
    values: Vec<PickledValue<'a>>,
}

impl<'a> Machine<'a> {
    /// Runs to the end and gives the value that is left.
    fn run(&mut self, most_steps: usize) -> Result<Id, String> {
        for _ in 0..most_steps {
            let at = self.tape.at();
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
        let code = self.tape.take(1)?[0];
        match code {
            code if self.tape.moves(code)? => {}
            // PROTO: 3 is what NumPy 1 writes, 4 what NumPy 2 does.
            0x80 => {
                let version = self.tape.take(1)?[0];
                if !(3..=5).contains(&version) {
                    return Err(format!("is a pickle of version {version}, expected 3 to 5"));
                }
            }
            b'.' => return self.tape.last().map(Some),
            b'N' | 0x88 | 0x89 => self.push(PickledValue::Plain),
            b'G' => {
                self.tape.take(8)?;
                self.push(PickledValue::Plain);
            }
            b'K' => self.push_number(1)?,
            b'M' => self.push_number(2)?,
            b'J' => {
                let number = self.tape.number(4)? as i32;
                self.push(PickledValue::Number(i64::from(number)));
            }
            0x8a => {
                let number = self.tape.long()?;
                self.push(PickledValue::Number(number));
            }
            0x8c => self.text(1)?,
            b'X' => self.text(4)?,
            0x8d => self.text(8)?,
            b'C' => {
                let length = self.tape.take(1)?[0];
                self.tape.take(usize::from(length))?;
                self.push(PickledValue::Bytes);
            }
            b')' => self.push(PickledValue::Tuple(vec![])),
            b't' => {
                let items = self.tape.pop_to_mark()?;
                self.push(PickledValue::Tuple(items));
            }
            0x85..=0x87 => {
                let items = self.tape.pop_many(usize::from(code - 0x84))?;
                self.push(PickledValue::Tuple(items));
            }
            b']' => self.push(PickledValue::List(vec![])),
            b'a' => {
                let item = self.tape.pop()?;
                self.list()?.push(item);
            }
            b'e' => {
                let items = self.tape.pop_to_mark()?;
                self.list()?.extend(items);
            }
            b'}' => self.push(PickledValue::Dictionary(vec![])),
            b's' => {
                let (value, key) = (self.tape.pop()?, self.tape.pop()?);
                self.dictionary()?.push((key, value));
            }
            b'u' => {
                let items = self.tape.pop_to_mark()?;
                if items.len() % 2 != 0 {
                    return Err("has a key without a value".into());
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
                let (&PickledValue::Text(module), &PickledValue::Text(name)) =
                    (&self.values[module], &self.values[name])
                else {
                    return Err("has a name that is no text".into());
                };
                self.name(module, name)?;
            }
            b'R' => {
                let (arguments, function) = (self.tape.pop()?, self.tape.pop()?);
                let made = self.call(function, arguments)?;
                self.push(made);
            }
            b'b' => {
                let state = self.tape.pop()?;
                self.fill(state)?;
            }
            other => return Err(format!("has step 0x{other:02x}, which no array of texts needs")),
        }
        Ok(None)
    }

    fn push_number(&mut self, bytes: usize) -> Result<(), String> {
        let number = self.tape.number(bytes)? as i64;
        self.push(PickledValue::Number(number));
        Ok(())
    }

    fn text(&mut self, length_bytes: usize) -> Result<(), String> {
        let text = self.tape.text(length_bytes)?;
        self.push(PickledValue::Text(text));
        Ok(())
    }

    fn push(&mut self, value: PickledValue<'a>) {
        self.tape.push(self.values.len());
        self.values.push(value);
    }

    fn list(&mut self) -> Result<&mut Vec<Id>, String> {
        let top = self.tape.top()?;
        match &mut self.values[top] {
            PickledValue::List(items) => Ok(items),
            other => Err(format!("adds to {}, expected a list", other.kind())),
        }
    }

    fn dictionary(&mut self) -> Result<&mut Vec<(Id, Id)>, String> {
        let top = self.tape.top()?;
        match &mut self.values[top] {
            PickledValue::Dictionary(pairs) => Ok(pairs),
            other => Err(format!("adds to {}, expected a dictionary", other.kind())),
        }
    }

    fn name(&mut self, module: &str, name: &str) -> Result<(), String> {
        let known = match (module, name) {
            // NumPy 1, and NumPy 2's name for the same.
            ("numpy.core.multiarray" | "numpy._core.multiarray", "_reconstruct") => PickledName::Reconstruct,
            ("numpy", "ndarray") => PickledName::Ndarray,
            ("numpy", "dtype") => PickledName::Dtype,
            _ => {
                let name = shown(&format!("{module}.{name}"));
                return Err(format!("names `{name}`, which is nothing that makes texts"));
            }
        };
        self.push(PickledValue::Name(known));
        Ok(())
    }

    fn tuple(&self, id: Id, what: &str) -> Result<&[Id], String> {
        match &self.values[id] {
            PickledValue::Tuple(items) => Ok(items),
            other => Err(format!("has {} as {what}, expected a tuple", other.kind())),
        }
    }

    fn sizes(&self, id: Id) -> Result<Vec<u64>, String> {
        let items = self.tuple(id, "an array's shape")?;
        if items.len() > MOST_AXES {
            return Err(format!("has {} numbers as an array's shape", items.len()));
        }
        let size = |item: &Id| match self.values[*item] {
            PickledValue::Number(number) => u64::try_from(number).ok(),
            _ => None,
        };
        let sizes: Option<Vec<u64>> = items.iter().map(size).collect();
        sizes.ok_or_else(|| "has an array's shape that is not made of numbers from 0".to_owned())
    }

    fn call(&self, function: Id, arguments: Id) -> Result<PickledValue<'a>, String> {
        let arguments = self.tuple(arguments, "arguments")?;
        match (&self.values[function], arguments) {
            // The class, a shape and a type for the time until it is filled.
            (PickledValue::Name(PickledName::Reconstruct), [class, _, _]) => match self.values[*class] {
                PickledValue::Name(PickledName::Ndarray) => Ok(PickledValue::Array(None)),
                ref other => Err(format!("makes an array of {}, expected `numpy.ndarray`", other.kind())),
            },
            // 'O8', align, copy
            (PickledValue::Name(PickledName::Dtype), [kind, _, _]) => match self.values[*kind] {
                PickledValue::Text("O" | "O4" | "O8") => Ok(PickledValue::ObjectType),
                PickledValue::Text(other) => Err(format!("has an array of `{}`, expected objects, `O8`", shown(other))),
                ref other => Err(format!("has {} as a type, expected `O8`", other.kind())),
            },
            (PickledValue::Name(known), arguments) => {
                Err(format!("calls {known:?} with {} arguments", arguments.len()))
            }
            (other, _) => Err(format!("calls {}, expected a function", other.kind())),
        }
    }

    /// BUILD: gives the uppermost value its state.
    fn fill(&mut self, state: Id) -> Result<(), String> {
        let top = self.tape.top()?;
        match self.values[top] {
            // Byte order and alignment: objects have none.
            PickledValue::ObjectType => Ok(()),
            PickledValue::Array(None) => {
                // version, shape, type, whether column after column, entries
                let [_, shape, kind, _, entries] = *self.tuple(state, "an array's state")? else {
                    return Err("has an array's state that is not made of five values".into());
                };
                if !matches!(self.values[kind], PickledValue::ObjectType) {
                    return Err(format!("has {} as an array's type", self.values[kind].kind()));
                }
                self.values[top] = PickledValue::Array(Some((shape, entries)));
                Ok(())
            }
            ref other => Err(format!("fills {}, expected a new array", other.kind())),
        }
    }
}
