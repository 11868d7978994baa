//! Scanner for code that holds nothing but imports, comments and brackets.

/// The reason why a text is no code worth finding, or `None` where it may be.
///
/// The reasons are `only comments` and `only imports`. A line scanner, not a parser: it knows the comments and import
/// statements of the usual languages, and takes every line that it does not know for code.
pub fn empty_content(code: &str) -> Option<&'static str> {
    let mut imports = false;
    let mut skipping = Skipping::Nothing;
    for line in code.lines() {
        let mut rest = line.trim();
        match &skipping {
            Skipping::Comment(end) => match rest.find(end) {
                Some(at) => {
                    rest = rest[at + end.len()..].trim();
                    skipping = Skipping::Nothing;
                }
                None => continue,
            },
            Skipping::Import(depth) => {
                let depth = depth + brackets(rest);
                skipping = if depth > 0 { Skipping::Import(depth) } else { Skipping::Nothing };
                continue;
            }
            Skipping::Nothing => {}
        }
        while let Some((start, end)) = block_comment(rest) {
            match rest[start..].find(end) {
                Some(at) => rest = rest[start + at + end.len()..].trim(),
                None => {
                    skipping = Skipping::Comment(end);
                    rest = "";
                }
            }
        }
        if is_line_comment(rest) || !rest.contains(char::is_alphanumeric) {
            continue;
        }
        if is_import(rest) {
            imports = true;
            let depth = brackets(rest);
            if depth > 0 {
                skipping = Skipping::Import(depth);
            }
            continue;
        }
        return None;
    }
    Some(if imports { "only imports" } else { "only comments" })
}

/// The thing that the scanner is in the middle of.
enum Skipping {
    Nothing,
    Comment(&'static str),
    Import(i32),
}

/// The length of an opening mark at the line's beginning, and what closes it.
fn block_comment(line: &str) -> Option<(usize, &'static str)> {
    let marks = [("/*", "*/"), ("\"\"\"", "\"\"\""), ("'''", "'''"), ("<!--", "-->"), ("{-", "-}"), ("=begin", "=end")];
    marks.into_iter().find(|(open, _)| line.starts_with(open)).map(|(open, close)| (open.len(), close))
}

fn is_line_comment(line: &str) -> bool {
    let hash = line.starts_with('#')
        && !["#include", "#import", "#define", "#if", "#el", "#end", "#[", "#!["]
            .iter()
            .any(|mark| line.starts_with(mark));
    hash || ["//", "--", "%", ";;", "* "].iter().any(|mark| line.starts_with(mark))
}

fn is_import(line: &str) -> bool {
    let line = line.strip_prefix("pub ").or_else(|| line.strip_prefix("pub(crate) ")).unwrap_or(line);
    let after = |word: &str, next: &[char]| line.strip_prefix(word).is_some_and(|rest| rest.starts_with(next));
    let first = |word: &str| after(word, &[' ', '\t']);
    let words = ["import", "package", "use", "extern crate", "require", "require_once", "require_relative"];
    let statement = words.into_iter().any(first)
        || after("import", &['{', '"', '\'', '*'])
        || after("require", &['(']) && !line.contains('=')
        || first("using") && !line.contains('(')
        || ["#include", "#import"].into_iter().any(|word| after(word, &[' ', '<', '"']));
    statement
        || first("from") && line.contains(" import")
        || first("mod") && line.ends_with(';')
        || first("export") && line.contains(" from ")
        || ["const ", "let ", "var "].iter().any(|word| line.starts_with(word)) && line.contains("= require(")
        || line.starts_with("<?php") && line.len() == 5
}

/// Opening minus closing brackets.
fn brackets(line: &str) -> i32 {
    line.chars().map(|c| i32::from("({[".contains(c)) - i32::from(")}]".contains(c))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_told_from_imports_and_comments() {
        let check = |code: &str, expected: Option<&str>| assert_eq!(empty_content(code), expected, "{code}");
        check("use std::{\n    fmt,\n    io,\n};\n// nothing else\n", Some("only imports"));
        check("import os\nfrom sys import (\n  a,\n  b,\n)\n", Some("only imports"));
        check("package main\n\nimport (\n\t\"fmt\"\n)\n", Some("only imports"));
        check("#include <stdio.h>\n/* a\n b */\n", Some("only imports"));
        check("const fs = require('fs');\nexport { a } from './a';\n", Some("only imports"));
        check("pub use a::b;\npub(crate) mod c;\n", Some("only imports"));
        check("// a\n/* b\n * c\n */\n# d\n\"\"\" e\nf \"\"\"\n{\n}\n", Some("only comments"));
        check("", Some("only comments"));
        check("/* a */ fn f() {}\n", None);
        check("use a::b;\nfn f() {}\n", None);
        check("#[test]\nfn f() {}", None);
        check("import os\nprint(os)\n", None);
        check("using System;\nusing System.Text;\n", Some("only imports"));
        check("using (var file = Open()) {\n  file.Read();\n}\n", None);
        check("users = [1]\n", None);
        check("\"\"\"doc\"\"\" \nx = 1", None);
        check("#define A 1", None);
        check("/* one */ /* two */ // three", Some("only comments"));
    }
}
