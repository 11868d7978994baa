//! HTML in doc comments: tags, entities and elements that hold code or layout.

/// HTML elements that are taken for markup; others (`Vec<T>`) are text.
const ELEMENTS: [&str; 51] = [
    "a",
    "abbr",
    "address",
    "b",
    "big",
    "blockquote",
    "body",
    "br",
    "center",
    "cite",
    "code",
    "dd",
    "del",
    "details",
    "dfn",
    "div",
    "dl",
    "dt",
    "em",
    "font",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "img",
    "ins",
    "kbd",
    "li",
    "mark",
    "ol",
    "p",
    "pre",
    "samp",
    "small",
    "span",
    "strike",
    "strong",
    "sub",
    "summary",
    "sup",
    "td",
    "th",
    "tr",
    "tt",
    "u",
    "ul",
    "var",
];

const ENTITIES: [(&str, &str); 12] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&amp;", "&"),
    ("&quot;", "\""),
    ("&apos;", "'"),
    ("&#39;", "'"),
    ("&#64;", "@"),
    ("&nbsp;", " "),
    ("&mdash;", "-"),
    ("&ndash;", "-"),
    ("&hellip;", "..."),
    ("&copy;", ""),
];

/// Writes what an entity stands for and says how long it is; 0 where it is only an ampersand.
pub(super) fn entity(rest: &str, out: &mut String) -> usize {
    ENTITIES.iter().find(|(name, _)| rest.starts_with(name)).map_or(0, |(name, text)| {
        out.push_str(text);
        name.len()
    })
}

/// The length of a known HTML tag, a comment or `<https://…>`; 0 where it is only a bracket.
pub(super) fn tag(rest: &str, out: &mut String) -> usize {
    if rest.starts_with("<!--") {
        return rest.find("-->").map_or(0, |end| end + 3);
    }
    let Some(end) = rest.find('>') else { return 0 };
    let inner = rest[1..end].trim_start_matches('/');
    if inner.starts_with("http://") || inner.starts_with("https://") || inner.starts_with("mailto:") {
        return end + 1;
    }
    let name_end = inner.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inner.len());
    let name = inner[..name_end].to_ascii_lowercase();
    let well_formed = inner[name_end..].is_empty() || inner[name_end..].starts_with([' ', '/', '\n']);
    if !well_formed || inner.contains('<') || !ELEMENTS.contains(&name.as_str()) {
        return 0;
    }
    if matches!(
        name.as_str(),
        "p" | "br" | "li" | "ul" | "ol" | "div" | "hr" | "dd" | "dt" | "dl" | "td" | "th" | "tr" | "pre"
    ) {
        out.push(' ');
    }
    end + 1
}

/// The text without `<pre>…</pre>` and the like, which hold code or layout.
pub(super) fn without_elements(text: &str) -> String {
    let mut text = text.to_owned();
    for element in ["pre", "table", "script", "style", "caption"] {
        let (open, close) = (format!("<{element}"), format!("</{element}>"));
        while let Some(start) = find_ignoring_case(&text, &open, 0) {
            let after = text.as_bytes().get(start + open.len());
            if !after.is_some_and(|byte| matches!(byte, b'>' | b' ' | b'\n')) {
                break;
            }
            let end = find_ignoring_case(&text, &close, start).map_or(text.len(), |at| at + close.len());
            text.replace_range(start..end, "\n");
        }
    }
    text
}

fn find_ignoring_case(text: &str, needle: &str, from: usize) -> Option<usize> {
    let needle = needle.as_bytes();
    let bytes = text.as_bytes().get(from..)?;
    bytes.windows(needle.len()).position(|window| window.eq_ignore_ascii_case(needle)).map(|at| at + from)
}
