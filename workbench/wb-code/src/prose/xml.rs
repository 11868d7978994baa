//! XML documentation of C#: the text of `<summary>` and `<remarks>`, or all of it where no element says what is what.

/// Elements whose text is about something else than what the member does.
const SIDE_ELEMENTS: [&str; 12] = [
    "param",
    "typeparam",
    "returns",
    "value",
    "exception",
    "permission",
    "example",
    "seealso",
    "code",
    "include",
    "completionlist",
    "footer",
];

/// The description, with references and code in words and without any other element.
pub(super) fn description(doc: &str) -> String {
    let described: Vec<&str> = ["summary", "remarks"].iter().filter_map(|name| inside(doc, name)).collect();
    let text = if described.is_empty() { doc.to_owned() } else { described.join("\n\n") };
    plain(&text)
}

/// Text between the first tags of a name; to the end where the second is missing.
fn inside<'a>(doc: &'a str, name: &str) -> Option<&'a str> {
    let start = doc.find(&format!("<{name}>"))? + name.len() + 2;
    let end = doc[start..].find(&format!("</{name}>")).map_or(doc.len(), |at| start + at);
    Some(&doc[start..end])
}

fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some((tag, length)) = tag(rest) else {
            out.push('<');
            rest = &rest[1..];
            continue;
        };
        rest = &rest[length..];
        if SIDE_ELEMENTS.contains(&tag.name) && !tag.is_closing {
            if !tag.is_empty {
                let close = format!("</{}>", tag.name);
                rest = rest.find(&close).map_or("", |at| &rest[at + close.len()..]);
            }
            continue;
        }
        match tag.name {
            "para" | "p" | "br" | "list" | "item" | "description" | "term" | "listheader" => out.push('\n'),
            _ => out.push_str(&reference(&tag)),
        }
    }
    out.push_str(rest);
    out
}

/// A tag by its parts.
struct Tag<'a> {
    name: &'a str,
    attributes: &'a str,
    is_closing: bool,
    is_empty: bool,
}

/// The tag at the head of a text, and its length; `None` where it is only a bracket.
fn tag(text: &str) -> Option<(Tag<'_>, usize)> {
    let end = text.find('>')?;
    let inner = &text[1..end];
    let is_closing = inner.starts_with('/');
    let is_empty = inner.ends_with('/');
    let inner = inner.trim_matches('/');
    let name_end = inner.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inner.len());
    let (name, attributes) = inner.split_at(name_end);
    let is_tag = name.starts_with(|c: char| c.is_ascii_lowercase())
        && !attributes.contains('<')
        && (attributes.is_empty() || attributes.starts_with(char::is_whitespace));
    is_tag.then_some((Tag { name, attributes, is_closing, is_empty }, end + 1))
}

/// The words of `<see cref="T:System.String"/>`, `<paramref name="x"/>`, `<see langword="null"/>`.
fn reference(tag: &Tag<'_>) -> String {
    if !tag.is_empty {
        return String::new();
    }
    let value = ["cref", "name", "langword"].iter().find_map(|key| {
        let after = tag.attributes.split_once(&format!("{key}=")).map(|(_, after)| after)?;
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        after[1..].split(quote).next()
    });
    let Some(value) = value.filter(|_| tag.name != "inheritdoc") else { return String::new() };
    // `T:`, `M:` and the like say what kind of thing it is.
    let value = match value.as_bytes() {
        [kind, b':', ..] if kind.is_ascii_uppercase() || *kind == b'!' => &value[2..],
        _ => value,
    };
    value.replace('{', "<").replace('}', ">").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_the_description() {
        for (doc, expected) in [
            (
                "<summary>Adds <c>a</c> to <paramref name=\"b\"/>.</summary>\n<param name=\"a\">One.</param>",
                "Adds a to b.",
            ),
            (
                "<summary>\nSee <see cref=\"T:A.List{T}\"/> or <see cref=\"M\">that</see>.\n</summary>",
                "\nSee A.List&lt;T&gt; or that.\n",
            ),
            ("<summary>One.<para>Two.</para></summary><remarks>Three.</remarks>", "One.\nTwo.\n\n\nThree."),
            ("No element, a < b and List<T>.", "No element, a < b and List<T>."),
            ("<inheritdoc cref=\"X\"/>", ""),
            ("<returns>Nothing.</returns>", ""),
            ("<summary>Never closed", "Never closed"),
            ("<summary>Code: <code>x = 1;</code>done.</summary>", "Code: done."),
        ] {
            assert_eq!(description(doc), expected, "{doc}");
        }
    }
}
