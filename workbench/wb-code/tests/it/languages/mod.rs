//! One realistic source per language; prose and code are compared to the letter.

use wb_code::{Language, anchor_prose, documented_functions};

mod braces;
mod doxygen;
mod scripts;
mod systems;

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
