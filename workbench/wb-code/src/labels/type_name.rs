//! A written type to the name of its outermost part: `&mut Vec<T>` and `std::vector<int>` are about vectors.

/// The outermost name: without references, pointers, qualifiers, paths and arguments; `None` for a type left open.
///
/// Arrays, slices and lists in brackets are all `[]`, tuples `tuple`, function types `function`, object types `{}`.
/// Of a union, the first member that is not a null counts.
pub(super) fn outermost_name(written: &str) -> Option<String> {
    let mut text = written.trim().trim_matches(['"', '\'']);
    loop {
        let before = text;
        text = text.trim_start_matches(['&', '*', '?', '@']).trim_start();
        for word in QUALIFIERS {
            if let Some(rest) = text.strip_prefix(word)
                && rest.starts_with(char::is_whitespace)
            {
                text = rest.trim_start();
            }
        }
        if let Some(rest) = text.strip_prefix('\'') {
            // A lifetime of Rust.
            text = rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').trim_start();
        }
        if text == before {
            break;
        }
    }
    if let Some(inside) = text.strip_prefix('(') {
        let name = if inside.contains("=>") {
            "function"
        } else if inside.trim_start().starts_with(')') {
            "()"
        } else {
            "tuple"
        };
        return Some(name.to_owned());
    }
    if text.starts_with('[') {
        return Some("[]".to_owned());
    }
    if text.starts_with('{') {
        return Some("{}".to_owned());
    }
    if let Some((first, others)) = text.split_once('|')
        && !first.contains(['<', '[', '(', '{'])
    {
        let members = std::iter::once(first).chain(others.split('|')).map(str::trim);
        let mut telling = members.filter(|member| !["null", "undefined", "None", "nil", ""].contains(member));
        return telling.next().and_then(outermost_name);
    }
    let end = text.find(['<', '[', '(', '{', ';', ',', '=', '+', '*', '&', '!', '?']).unwrap_or(text.len());
    let (head, rest) = text.split_at(end);
    if rest.starts_with("[]") {
        return Some("[]".to_owned());
    }
    let head = head.rsplit("::").next().unwrap_or(head);
    let head = head.rsplit(['.', '\\']).next().unwrap_or(head);
    let words: Vec<&str> = head.split_whitespace().collect();
    let name = match words.as_slice() {
        // `chan int`, `const T`: the first word says it; `unsigned long` is one name.
        ["chan", ..] => "chan".to_owned(),
        _ => words.join(" "),
    };
    let is_open = ["", "var", "auto", "_", "let", "fn", "func", "anytype"].contains(&name.as_str());
    match name.as_str() {
        "fn" | "func" | "Fn" | "FnMut" | "FnOnce" | "Callable" => Some("function".to_owned()),
        _ => (!is_open).then_some(name),
    }
}

const QUALIFIERS: [&str; 17] = [
    "mut", "const", "volatile", "final", "static", "readonly", "dyn", "impl", "struct", "enum", "union", "class",
    "typename", "some", "any", "inout", "suspend",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outermost_name_of_each_way_to_write_a_type() {
        for (written, expected) in [
            ("u8", "u8"),
            ("&mut Vec<T>", "Vec"),
            ("&'a str", "str"),
            ("Option<Box<dyn Error + Send>>", "Option"),
            ("impl Iterator<Item = u8> + '_", "Iterator"),
            ("&dyn Fn(&str) -> u8", "function"),
            ("std::io::Result<()>", "Result"),
            ("[u8; 4]", "[]"),
            ("&[u8]", "[]"),
            ("(u8, String)", "tuple"),
            ("()", "()"),
            ("List[int]", "List"),
            ("typing.Optional[str]", "Optional"),
            ("\"Forward\"", "Forward"),
            ("str | None", "str"),
            ("None | int", "int"),
            ("None", "None"),
            ("final Map.Entry<K, V>", "Entry"),
            ("String[]", "[]"),
            ("string | null", "string"),
            ("(a: number) => void", "function"),
            ("{ a: number }", "{}"),
            ("Promise<string | null>", "Promise"),
            ("*http.Request", "Request"),
            ("[]string", "[]"),
            ("map[string]int", "map"),
            ("chan int", "chan"),
            ("func(int) error", "function"),
            ("(int, error)", "tuple"),
            ("unsigned  long", "unsigned long"),
            ("struct stat", "stat"),
            ("const std::vector<int>&", "vector"),
            ("?string", "string"),
            ("String?", "String"),
            ("any Shape", "Shape"),
            ("Map<String, Int>?", "Map"),
            ("?*const u8", "u8"),
            ("[]const u8", "[]"),
            ("\\App\\Model", "Model"),
        ] {
            assert_eq!(outermost_name(written).as_deref(), Some(expected), "{written}");
        }
        for open in ["var", "auto", "_", ""] {
            assert_eq!(outermost_name(open), None, "{open}");
        }
    }
}
