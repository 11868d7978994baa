//! Drawn arguments: values of the simple kinds that functions take, the likely ones for a parameter's name first.

use serde_json::{Value, json};
use wb_code::rewrites::Draw;
use wb_core::Seed;

/// Calls of one function.
pub(super) const CALLS: usize = 40;

/// [`CALLS`] lists of arguments for the parameters of these names, the same for the same seed.
pub(super) fn arguments(parameters: &[String], seed: Seed) -> Vec<Vec<Value>> {
    let mut draw = Draw::new(seed, "arguments");
    (0..CALLS)
        .map(|call| {
            parameters
                .iter()
                .map(|name| {
                    // Most calls give a parameter what its name asks for, some give it anything.
                    let kind = if call % 4 == 3 { draw.below(KINDS) } else { likely(name, &mut draw) };
                    value(kind, &mut draw)
                })
                .collect()
        })
        .collect()
}

const KINDS: usize = 8;

fn likely(name: &str, draw: &mut Draw) -> usize {
    let name = name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&["str", "text", "word", "name", "path", "line", "char", "sentence", "prefix", "key", "url", "msg"]) {
        3
    } else if has(&["dict", "map", "config", "options", "params", "kwargs"]) {
        6
    } else if has(&["list", "arr", "nums", "numbers", "values", "items", "seq", "data", "xs", "lst", "tup", "elements"])
    {
        [4, 4, 4, 5, 7][draw.below(5)]
    } else if has(&["flag", "is_", "has_"]) {
        2
    } else if name.len() <= 2 || has(&["num", "count", "size", "len", "index", "idx", "limit", "start", "end", "width"])
    {
        [0, 0, 0, 1, 4][draw.below(5)]
    } else {
        draw.below(KINDS)
    }
}

fn value(kind: usize, draw: &mut Draw) -> Value {
    let mut whole = |most: usize| draw.below(most) as i64;
    match kind {
        0 => json!(whole(20) - 4),
        1 => json!((whole(200) - 50) as f64 / 8.0),
        2 => json!(whole(2) == 1),
        3 => {
            let words = [
                "",
                "a",
                "abc",
                "Hello World",
                "x,y,z",
                "12",
                "racecar",
                "a b c",
                "key=value",
                "(()())",
                "level up",
                "Zed",
            ];
            json!(words[usize::try_from(whole(words.len())).unwrap_or(0)])
        }
        4 => {
            let length = whole(7);
            json!((0..length).map(|_| whole(12) - 3).collect::<Vec<_>>())
        }
        5 => {
            let words = ["a", "bb", "abc", "hello", "", "x"];
            let length = whole(5);
            json!((0..length).map(|_| words[usize::try_from(whole(6)).unwrap_or(0)]).collect::<Vec<_>>())
        }
        6 => json!({"a": whole(9), "b": whole(9) - 2, "key": "value"}),
        _ => {
            let rows = 1 + whole(3);
            json!((0..rows).map(|_| (0..3).map(|_| whole(9)).collect::<Vec<_>>()).collect::<Vec<_>>())
        }
    }
}
