//! One realistic source per language; prose and code are compared to the letter.

use wb_code::{ChunkKind, Language, anchor_prose, documented_functions, items};

mod braces;
mod csharp;
mod doxygen;
mod elixir;
mod haskell;
mod kotlin;
mod lua;
mod scala;
mod scripts;
mod shell;
mod swift;
mod systems;
mod zig;

/// A function as expected: name, lines, prose, code.
type Expected<'a> = (&'a str, [u32; 2], &'a str, &'a str);

fn check(language: Language, source: &str, expected: &[Expected<'_>]) {
    let functions = documented_functions(source, language);
    let names: Vec<&str> = functions.iter().map(|function| function.name.as_str()).collect();
    assert_eq!(names, expected.iter().map(|(name, ..)| *name).collect::<Vec<_>>(), "{language}: names");
    for (function, (name, lines, prose, code)) in functions.iter().zip(expected) {
        assert_eq!(anchor_prose(&function.doc, language, 600), *prose, "{language}: prose of {name}");
        assert_eq!(function.code, *code, "{language}: code of {name}");
        assert_eq!(function.lines, *lines, "{language}: lines of {name}");
    }
}

/// Every function (`f`) and class (`c`) with its name, its lines, and behind `@` that of its code where it is another.
fn outline(language: Language, source: &str) -> Vec<String> {
    let short = |item: wb_code::CodeItem| {
        let kind = if item.kind == ChunkKind::Function { "f" } else { "c" };
        let [from, to] = item.lines;
        let code = if item.code_line == from { String::new() } else { format!(" @{}", item.code_line) };
        format!("{kind} {} {from}-{to}{code}", item.name)
    };
    items(source, language).unwrap().into_iter().map(short).collect()
}
