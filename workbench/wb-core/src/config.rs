//! Reads a YAML file into typed configuration, and says path, line, column and the near name where it does not fit.
//!
//! This is the only file that knows the YAML library.
//! Enums are written as single-key maps (`loss: { mnrl: { scale: 20 } }`), because then the library keeps positions.

use std::{collections::BTreeMap, path::Path};

use serde::{Serialize, de::DeserializeOwned};
use serde_yaml::{Value, with::singleton_map_recursive};

use crate::{Error, Result, remote, suggest};

/// Most bytes of a file: no experiment is this long; a longer file is the wrong file.
const MAX_BYTES: u64 = 1 << 20;

/// Loads a file, then applies `key.path=value` overrides.
///
/// The file is typed first, so that its errors have lines; then the overrides are applied and typed again,
/// so that their errors name the override.
pub fn load<T: DeserializeOwned + Serialize>(path: &Path, overrides: &[String]) -> Result<T> {
    let local = &remote::local(path)?;
    let size = std::fs::metadata(local).map_err(Error::io("read", path))?.len();
    if size > MAX_BYTES {
        return Err(Error::data(
            path.display().to_string(),
            format!("{size} bytes, expected a configuration of at most {MAX_BYTES}"),
        ));
    }
    let bytes = std::fs::read(local).map_err(Error::io("read", path))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        Error::data(path.display().to_string(), format!("byte {} is not UTF-8", error.utf8_error().valid_up_to()))
    })?;
    let typed: T = from_text(&text, path)?;
    if overrides.is_empty() { Ok(typed) } else { override_values(&text, path, overrides) }
}

/// A configuration without a file: the defaults, with `key.path=value` overrides.
///
/// # Errors
///
/// If an override names no key, or a value that does not fit.
pub fn of_overrides<T: DeserializeOwned>(overrides: &[String]) -> Result<T> {
    override_values("{}", Path::new("the command line"), overrides)
}

/// Types a text as `T`; `path` is for messages only.
pub fn from_text<T: DeserializeOwned>(text: &str, path: &Path) -> Result<T> {
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(serde_yaml::Deserializer::from_str(text), &mut track);
    singleton_map_recursive::deserialize(tracked).map_err(|error: serde_yaml::Error| {
        let path_of_key = track.path().to_string();
        // Where a text is no YAML, the library has a key without a name.
        let key = path_of_key.strip_suffix(".?").unwrap_or(&path_of_key).to_owned();
        // For errors that are not its own the library has the place of the map around; the key stands further down.
        let place = error.location().map(|at| (at.line(), at.column())).max(locate(text, &key)).unwrap_or((1, 1));
        let message = plain(without_position(&error.to_string(), &path_of_key));
        let (line, column) = second_of_a_duplicate(text, &message).unwrap_or(place);
        let hint = hint_for(&message);
        let at = if key == "." { String::new() } else { format!("{key}: ") };
        Error::Parse { path: path.to_path_buf(), line, column, at, message, hint }
    })
}

/// The values of a YAML by the paths of their keys, as they are typed in overrides; lists are one value. Empty where the text
/// is no YAML.
pub fn flat(text: &str) -> BTreeMap<String, String> {
    fn add(path: String, value: &Value, all: &mut BTreeMap<String, String>) {
        match value {
            Value::Mapping(map) if !map.is_empty() => {
                for (key, value) in map {
                    let key = key.as_str().unwrap_or("?");
                    add(if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }, value, all);
                }
            }
            Value::String(text) => drop(all.insert(path, text.clone())),
            other => drop(all.insert(path, serde_json::to_string(other).unwrap_or_default())),
        }
    }
    let mut all = BTreeMap::new();
    add(String::new(), &serde_yaml::from_str(text).unwrap_or(Value::Null), &mut all);
    all.remove("");
    all
}

/// The resolved configuration as YAML, defaults filled in.
pub fn to_text<T: Serialize>(config: &T) -> Result<String> {
    let mut bytes = Vec::new();
    let mut serializer = serde_yaml::Serializer::new(&mut bytes);
    singleton_map_recursive::serialize(config, &mut serializer)
        .map_err(|error| Error::data("configuration", error.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Adds file, line and column to an [`Error::Value`], as far as the key can be found in the file.
pub fn with_position(error: Error, path: &Path) -> Error {
    let Error::Value { key, message, hint } = error else { return error };
    let found = std::fs::read_to_string(path).ok().and_then(|text| locate(&text, &key));
    match found {
        Some((line, column)) => {
            Error::Parse { path: path.to_path_buf(), line, column, at: format!("{key}: "), message, hint }
        }
        None => Error::Value { key, message, hint },
    }
}

fn override_values<T: DeserializeOwned>(text: &str, path: &Path, overrides: &[String]) -> Result<T> {
    let mut tree: Value = from_text(text, path)?;
    for given in overrides {
        let refuse = |message: String, hint: Option<String>| Error::Override { given: given.clone(), message, hint };
        let Some((key, value)) = given.split_once('=') else {
            return Err(refuse("no `=` in it".into(), Some("write key.path=value, as in train.epochs=1".into())));
        };
        let value: Value =
            serde_yaml::from_str(value).map_err(|error| refuse(format!("its value is not YAML: {error}"), None))?;
        *slot(&mut tree, key).map_err(|message| refuse(message, None))? = value;
        // Typed after each one, so that the message can name the one that does not fit.
        type_tree::<T>(tree.clone()).map_err(|(key, message)| {
            let hint = hint_for(&message);
            refuse(if key == "." { message } else { format!("{key}: {message}") }, hint)
        })?;
    }
    type_tree(tree).map_err(|(key, message)| Error::Value { key, message, hint: None })
}

fn type_tree<T: DeserializeOwned>(tree: Value) -> std::result::Result<T, (String, String)> {
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(tree, &mut track);
    singleton_map_recursive::deserialize(tracked).map_err(|error: serde_yaml::Error| {
        let key = track.path().to_string();
        let message = plain(without_position(&error.to_string(), &key));
        (key, message)
    })
}

/// The place of `a.b.0.c` in a tree, made where it is missing.
fn slot<'a>(mut tree: &'a mut Value, key: &str) -> std::result::Result<&'a mut Value, String> {
    for part in key.split('.') {
        if tree.is_null() {
            *tree = Value::Mapping(serde_yaml::Mapping::new());
        }
        tree = match tree {
            Value::Mapping(map) => map.entry(Value::String(part.to_owned())).or_insert(Value::Null),
            Value::Sequence(list) => {
                let n = list.len();
                let index: usize = part.parse().map_err(|_| format!("`{part}` is not a position in a list of {n}"))?;
                list.get_mut(index).ok_or_else(|| format!("no position {index} in a list of {n}, the first is 0"))?
            }
            _ => return Err(format!("nothing can stand under `{part}`: what is above it is a single value")),
        };
    }
    Ok(tree)
}

/// The library appends its position and prepends its own path; both are told elsewhere in our message.
fn without_position(message: &str, key: &str) -> String {
    let message = message.split(" at line ").next().unwrap_or(message);
    let message = message.strip_prefix(key).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(message);
    // `a.b: unknown field` where the library's path is shorter than ours.
    match message.split_once(": ") {
        Some((head, rest)) if key.starts_with(head) && !head.is_empty() => rest.to_owned(),
        _ => message.to_owned(),
    }
}

/// Said of a choice with more than one key, or none.
const SEVERAL_KEYS: &str = "got a map, expected one with a single key, the name of a choice";

/// The library's words for types, in a reader's words.
fn plain(message: String) -> String {
    let rest = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    let Some((given, expected)) = rest.and_then(|rest| rest.rsplit_once(", expected ")) else { return message };
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "newtype variant" | "struct variant" | "tuple variant" => {
            return "got a name alone, expected a map with this name as its key, as in `{ name: {} }`".into();
        }
        "map with a single key" if given == "map" => return SEVERAL_KEYS.into(),
        other if other.starts_with("struct ") => "keys with values, as in `{ key: value }`",
        other => other,
    };
    let given = match given {
        "unit value" => "nothing",
        other => other.split(" as ").next().unwrap_or(other),
    };
    format!("got {given}, expected {expected}")
}

/// ``unknown field `scal`, expected one of `scale`, `temperature` `` holds all that a suggestion needs.
fn hint_for(message: &str) -> Option<String> {
    if message == SEVERAL_KEYS {
        return Some("further keys stand under the name, as in `{ name: { key: value, other: value } }`".to_owned());
    }
    if !message.starts_with("unknown ") {
        return None;
    }
    let mut names = message.split('`').skip(1).step_by(2);
    let given = names.next()?;
    // Our own messages list names without quotes.
    let bare = message.split_once("expected one of ").map_or("", |(_, list)| list).split(", ");
    suggest::nearest(given, names.chain(bare)).map(|near| format!("did you mean `{near}`?"))
}

/// The library gives the first line for ``duplicate field `name` ``; the second one is what the reader looks for.
fn second_of_a_duplicate(text: &str, message: &str) -> Option<(usize, usize)> {
    let name = message.strip_prefix("duplicate field `")?.split('`').next()?;
    let needle = format!("{name}:");
    let mut places = text
        .lines()
        .enumerate()
        .filter_map(|(number, line)| find_key(line, &needle).map(|at| (number + 1, line[..at].chars().count() + 1)));
    let first = places.next()?;
    places.find(|place| place.1 == first.1)
}

/// Line and column, from 1, of a key path in block or flow style; the deepest part that can be found.
fn locate(text: &str, key: &str) -> Option<(usize, usize)> {
    let parts: Vec<&str> =
        key.split(['.', '[', ']']).filter(|part| !part.is_empty() && part.parse::<usize>().is_err()).collect();
    let mut found = None;
    let mut depth = 0;
    for (number, line) in text.lines().enumerate() {
        let body = line.split(" #").next().unwrap_or(line);
        if body.trim_start().starts_with('#') {
            continue;
        }
        let mut from = 0;
        while let Some(part) = parts.get(depth) {
            let needle = format!("{part}:");
            let Some(at) = body.get(from..).and_then(|rest| find_key(rest, &needle)).map(|at| at + from) else { break };
            found = Some((number + 1, body[..at].chars().count() + 1));
            depth += 1;
            from = at + needle.len();
        }
        if depth == parts.len() {
            break;
        }
    }
    found
}

/// Place of a key in a line: at a word's beginning.
fn find_key(text: &str, needle: &str) -> Option<usize> {
    text.match_indices(needle)
        .map(|(at, _)| at)
        .find(|&at| text[..at].chars().next_back().is_none_or(|before| " {,-\"'".contains(before)))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Top {
        name: String,
        loss: Loss,
        #[serde(default)]
        many: Vec<Loss>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Loss {
        Mnrl(Mnrl),
        Triplet {},
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Mnrl {
        scale: f32,
    }

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn values_are_known_by_their_paths() {
        let all = flat("a: { b: 1, c: { d: x } }\ne: [1, { f: 2 }]\ng: null\nh: {}\n");
        let all: Vec<String> = all.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(all, ["a.b=1", "a.c.d=x", "e=[1,{\"f\":2}]", "g=null", "h={}"]);
        assert!(flat("a: [").is_empty() && flat("").is_empty());
    }

    /// Each row: a file, the line and column, words of the message, the hint.
    #[test]
    fn errors_say_where_and_what_is_near() {
        let check = |text: &str, place: (usize, usize), words: &str, near: Option<&str>| {
            let error = from_text::<Top>(text, Path::new("a.yaml")).unwrap_err();
            let Error::Parse { line, column, at, message, hint, .. } = &error else { panic!("{error:?}") };
            assert_eq!((*line, *column), place, "{error}");
            assert!(format!("{at}{message}").contains(words), "{error}");
            assert_eq!(hint.as_deref(), near, "{error}");
        };
        check("name: a\nloss:\n  mnlr: { scale: 1 }\n", (3, 3), "unknown variant `mnlr`", Some("did you mean `mnrl`?"));
        check(
            "name: a\nloss:\n  mnrl:\n    scal: 1\n",
            (4, 5),
            "loss.mnrl.scal: unknown field `scal`",
            Some("did you mean `scale`?"),
        );
        check("name: a\nloss:\n  mnrl: { scale: high }\n", (3, 18), "got string \"high\", expected a number", None);
        check(
            "name: a\nloss: { mnrl: { scale: 1 } }\nmany:\n  - triplet: {}\n  - triplt: {}\n",
            (5, 5),
            "unknown variant",
            Some("did you mean `triplet`?"),
        );
        check(
            "name: a\nloss: { mnrl: { scale: 1 }, triplet: {} }\n",
            (2, 7),
            "loss: got a map, expected one with a single key",
            Some("further keys stand under the name, as in `{ name: { key: value, other: value } }`"),
        );
        check("name: a\n", (1, 1), "missing field `loss`", None);
        check("name: a\nname: b\nloss: { triplet: {} }\n", (2, 1), "duplicate", None);
    }

    #[test]
    fn overrides_are_applied_and_named_when_wrong() {
        let file = file("name: a\nloss: { mnrl: { scale: 20 } }\n");
        let top: Top = load(file.path(), &["loss.mnrl.scale=5".into(), "name=b".into()]).unwrap();
        assert_eq!(top, Top { name: "b".into(), loss: Loss::Mnrl(Mnrl { scale: 5.0 }), many: vec![] });
        let error = load::<Top>(file.path(), &["loss.mnrl.scal=5".into()]).unwrap_err();
        assert!(error.to_string().starts_with("override `loss.mnrl.scal=5`: "), "{error}");
        assert_eq!(error.hint(), Some("did you mean `scale`?"));
        let error = load::<Top>(file.path(), &["name.x=5".into()]).unwrap_err();
        assert!(error.to_string().contains("single value"), "{error}");
        assert!(load::<Top>(file.path(), &["name".into()]).is_err());
    }

    #[test]
    fn a_resolved_config_reads_back() {
        let top = Top { name: "a".into(), loss: Loss::Triplet {}, many: vec![Loss::Mnrl(Mnrl { scale: 1.5 })] };
        let text = to_text(&top).unwrap();
        assert_eq!(from_text::<Top>(&text, Path::new("a")).unwrap(), top, "{text}");
    }

    #[test]
    fn impossible_values_get_their_line() {
        let file = file("name: a\n# loss: no\nloss:\n  mnrl: { scale: 0 }\n");
        let error = with_position(Error::value("loss.mnrl.scale", "0, expected more than 0"), file.path());
        assert!(error.to_string().ends_with(":4:11: loss.mnrl.scale: 0, expected more than 0"), "{error}");
    }

    #[test]
    fn hostile_files_are_errors() {
        let laughs = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\nname: [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n";
        assert!(from_text::<Top>(laughs, Path::new("a")).is_err());
        assert!(from_text::<Top>(&"[".repeat(20_000), Path::new("a")).is_err());
        assert!(from_text::<Top>("\tname: a", Path::new("a")).is_err());
        assert!(from_text::<Top>("", Path::new("a")).is_err());
        let big = file(&"# long\n".repeat(200_000));
        assert!(load::<Top>(big.path(), &[]).unwrap_err().to_string().contains("expected a configuration"));
    }
}
