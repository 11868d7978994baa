//! SQLite's mathematical functions, which builds of SQLite have or have not: here they are always there.
//!
//! As sqlite.org/lang_mathfunc.html describes them: NULL for what is no number and for what is not defined.

use rusqlite::{
    Connection, Result,
    functions::{Context, FunctionFlags},
    types::{Value, ValueRef},
};

/// A function by its name.
type OfOne = (&'static str, fn(f64) -> f64);
/// A function of two numbers by its name.
type OfTwo = (&'static str, fn(f64, f64) -> f64);

/// Functions of one number.
const OF_ONE: [OfOne; 23] = [
    ("acos", f64::acos),
    ("acosh", f64::acosh),
    ("asin", f64::asin),
    ("asinh", f64::asinh),
    ("atan", f64::atan),
    ("atanh", f64::atanh),
    ("cos", f64::cos),
    ("cosh", f64::cosh),
    ("degrees", |x| x * (180.0 / std::f64::consts::PI)),
    ("exp", f64::exp),
    ("ln", |x| positive(x, f64::ln)),
    ("log", |x| positive(x, f64::log10)),
    ("log10", |x| positive(x, f64::log10)),
    ("log2", |x| positive(x, f64::log2)),
    ("radians", |x| x * (std::f64::consts::PI / 180.0)),
    ("sin", f64::sin),
    ("sinh", f64::sinh),
    ("sqrt", f64::sqrt),
    ("tan", f64::tan),
    ("tanh", f64::tanh),
    ("ceil", f64::ceil),
    ("ceiling", f64::ceil),
    ("floor", f64::floor),
];

/// Functions of two numbers.
const OF_TWO: [OfTwo; 5] = [
    ("atan2", f64::atan2),
    ("mod", |x, y| x % y),
    ("pow", f64::powf),
    ("power", f64::powf),
    ("log", |base, x| {
        let of_base = positive(base, f64::ln);
        if of_base > 0.0 { positive(x, f64::ln) / of_base } else { f64::NAN }
    }),
];

/// Adds them to a connection.
pub(super) fn add(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    for (name, compute) in OF_ONE {
        // Whole numbers are not turned into others by rounding.
        let rounds = matches!(name, "ceil" | "ceiling" | "floor");
        connection.create_scalar_function(name, 1, flags, move |context| {
            Ok(match number(context, 0) {
                Some(Number::Whole(whole)) if rounds => Value::Integer(whole),
                Some(argument) => result(compute(argument.real())),
                None => Value::Null,
            })
        })?;
    }
    connection.create_scalar_function("trunc", 1, flags, |context| {
        Ok(match number(context, 0) {
            Some(Number::Whole(whole)) => Value::Integer(whole),
            Some(Number::Real(real)) => result(real.trunc()),
            None => Value::Null,
        })
    })?;
    for (name, compute) in OF_TWO {
        connection.create_scalar_function(name, 2, flags, move |context| {
            let (Some(one), Some(other)) = (number(context, 0), number(context, 1)) else { return Ok(Value::Null) };
            Ok(result(compute(one.real(), other.real())))
        })?;
    }
    connection.create_scalar_function("pi", 0, flags, |_| Ok(std::f64::consts::PI))
}

fn positive(x: f64, compute: fn(f64) -> f64) -> f64 {
    if x > 0.0 { compute(x) } else { f64::NAN }
}

fn result(number: f64) -> Value {
    if number.is_nan() { Value::Null } else { Value::Real(number) }
}

enum Number {
    Whole(i64),
    Real(f64),
}

impl Number {
    fn real(&self) -> f64 {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "as SQLite does")]
            Number::Whole(whole) => *whole as f64,
            Number::Real(real) => *real,
        }
    }
}

/// An argument that is a number, or a text that reads as one.
fn number(context: &Context<'_>, at: usize) -> Option<Number> {
    match context.get_raw(at) {
        ValueRef::Integer(whole) => Some(Number::Whole(whole)),
        ValueRef::Real(real) => Some(Number::Real(real)),
        ValueRef::Text(bytes) => {
            let text = std::str::from_utf8(bytes).ok()?.trim_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
            let numeric = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
            if !text.bytes().all(numeric) {
                return None;
            }
            text.parse().map(Number::Whole).or_else(|_| text.parse().map(Number::Real)).ok()
        }
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}
