//! `csn-func1000`: [`csn-1000`](super::csn_1000) with function names in place of docstrings.
//!
//! The query is the function's name cut into lower-case parts by the rules of dpu_utils' `split_identifier_into_parts`,
//! joined by one space (dots and other marks stay as parts of their own: `travis . cli . preparse`). In the code every
//! token that equals the *whole* name becomes `%UNK%`. Names in the data carry what is around them
//! (`Travis.CLI.preparse`) while tokens do not (`preparse`), so outside of Go and plain functions the name mostly stays
//! in the code: the reference is like that, and this follows it.

use crate::layouts::codesearchnet::Function;

/// `csn-func1000` in words.
pub const DESCRIPTION: &str = "as csn-1000, with the function’s name as the query";
/// Token that stands for the name in the code.
pub const HIDDEN: &str = "%UNK%";

/// The name as a query.
pub fn query(function: &Function) -> String {
    identifier_parts(&function.name).join(" ")
}

/// The code with its name hidden; `None` for a record without tokens.
pub fn code(function: &Function) -> Option<String> {
    let shown = |token: &String| if *token == function.name { HIDDEN.to_owned() } else { token.clone() };
    function.tokens.as_ref().map(|tokens| tokens.iter().map(shown).collect::<Vec<_>>().join(" "))
}

/// Cuts an identifier at `_`, at white space, and between neighbours as dpu_utils does.
pub fn identifier_parts(identifier: &str) -> Vec<String> {
    let chars: Vec<char> = identifier.chars().collect();
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut flush = |part: &mut String| {
        if !part.is_empty() {
            parts.push(std::mem::take(part).to_lowercase());
        }
    };
    for (index, char) in chars.iter().enumerate() {
        if *char == '_' || char.is_whitespace() {
            flush(&mut part);
            continue;
        }
        if index > 0 && cut_between(chars[index - 1], *char, chars.get(index + 1).copied()) {
            flush(&mut part);
        }
        part.push(*char);
    }
    flush(&mut part);
    if parts.is_empty() { vec![identifier.to_owned()] } else { parts }
}

fn cut_between(left: char, right: char, after: Option<char>) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic();
    let mark = |c: char| matches!(c, '@' | '$' | '.' | '\'' | '"');
    (left.is_ascii_lowercase() || left.is_ascii_digit()) && right.is_ascii_uppercase()
        || (left.is_ascii_uppercase() || left.is_ascii_digit())
            && right.is_ascii_uppercase()
            && after.is_some_and(|after| after.is_ascii_lowercase())
        || left.is_ascii_digit() && letter(right)
        || letter(left) && right.is_ascii_digit()
        || mark(left) && right.is_ascii_alphanumeric()
        || left.is_ascii_alphanumeric() && mark(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_cut_as_in_the_reference() {
        for (identifier, expected) in [
            ("Travis.CLI.preparse", "travis . cli . preparse"),
            ("parseHTTPRequest2xx", "parse http request 2 xx"),
            ("__init__", "init"),
            ("snake_caseName", "snake case name"),
            ("$.fn.is'ok'", "$. fn . is ' ok '"),
            ("___", "___"),
            ("ABC", "abc"),
            ("größeÄndern", "größeändern"),
        ] {
            assert_eq!(identifier_parts(identifier).join(" "), expected, "{identifier}");
        }
    }

    #[test]
    fn only_whole_names_are_hidden() {
        let tokens = ["def", "run", "(", "run", ")"].map(str::to_owned).to_vec();
        let plain = Function { name: "run".into(), tokens: Some(tokens.clone()), ..Function::default() };
        assert_eq!(code(&plain).unwrap(), "def %UNK% ( %UNK% )");
        let nested = Function { name: "Job.run".into(), tokens: Some(tokens), ..Function::default() };
        assert_eq!(code(&nested).unwrap(), "def run ( run )");
    }
}
