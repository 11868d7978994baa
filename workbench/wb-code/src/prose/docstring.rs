//! Python's docstrings: the description before sections (`Args:`, `Parameters` underlined), fields (`:param`) and doctests.

/// Google's section names, without the colon.
const SECTIONS: [&str; 44] = [
    "args",
    "arg",
    "arguments",
    "parameters",
    "parameter",
    "params",
    "param",
    "keyword args",
    "keyword arguments",
    "kwargs",
    "other parameters",
    "returns",
    "return",
    "yields",
    "yield",
    "raises",
    "raise",
    "except",
    "exceptions",
    "throws",
    "example",
    "examples",
    "usage",
    "attributes",
    "attribute",
    "methods",
    "note",
    "notes",
    "see also",
    "references",
    "reference",
    "todo",
    "warning",
    "warnings",
    "warns",
    "inputs",
    "input",
    "outputs",
    "output",
    "side effects",
    "receives",
    "options",
    "return value",
    "return values",
];

/// The text before the first section, field or doctest, without directives and literal blocks.
pub(super) fn description(doc: &str) -> String {
    let lines: Vec<&str> = doc.lines().collect();
    let mut kept: Vec<String> = Vec::new();
    let mut block: Option<usize> = None;
    for (index, line) in lines.iter().enumerate() {
        let text = line.trim();
        let indentation = line.len() - line.trim_start().len();
        if let Some(margin) = block {
            if text.is_empty() || indentation > margin {
                continue;
            }
            block = None;
        }
        let below = lines.get(index + 1).map_or("", |line| line.trim());
        if is_section(text, below) || is_field(text) {
            // Sections of a class docstring may come before its prose; those of a function end it.
            break;
        }
        if text.starts_with(">>>") || text.starts_with("In [") {
            if kept.iter().any(|line| !line.trim().is_empty()) {
                break;
            }
            continue;
        }
        if text.starts_with(".. ") || text == ".." {
            block = Some(indentation);
            continue;
        }
        if let Some(before) = text.strip_suffix("::") {
            block = Some(indentation);
            kept.push(if before.is_empty() { String::new() } else { format!("{}{before}:", &line[..indentation]) });
            continue;
        }
        kept.push((*line).to_owned());
    }
    kept.join("\n")
}

fn is_section(text: &str, below: &str) -> bool {
    let underlined = below.len() >= 3
        && below.len() + 2 >= text.len()
        && below.bytes().all(|byte| matches!(byte, b'-' | b'=' | b'~'));
    if let Some(name) = text.strip_suffix(':') {
        return SECTIONS.contains(&name.trim_end().to_ascii_lowercase().as_str());
    }
    let lower = text.to_ascii_lowercase();
    if underlined {
        return SECTIONS.contains(&lower.as_str());
    }
    // `Returns: the number`, `Args: x: the number`.
    lower.split_once(':').is_some_and(|(name, _)| {
        matches!(
            name,
            "args"
                | "arguments"
                | "parameters"
                | "params"
                | "returns"
                | "return"
                | "yields"
                | "raises"
                | "example"
                | "examples"
                | "usage"
                | "input"
                | "output"
                | "inputs"
                | "outputs"
        )
    })
}

/// `:param x:`, `:return:`, `@param x:`, as Sphinx and Epydoc write them.
fn is_field(text: &str) -> bool {
    const FIELDS: [&str; 21] = [
        "param",
        "parameter",
        "arg",
        "argument",
        "key",
        "keyword",
        "type",
        "return",
        "returns",
        "rtype",
        "raise",
        "raises",
        "except",
        "exception",
        "var",
        "ivar",
        "cvar",
        "vartype",
        "meta",
        "yield",
        "yields",
    ];
    let Some(field) = text.strip_prefix(':').or_else(|| text.strip_prefix('@')) else { return false };
    let end = field.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(field.len());
    let rest = &field[end..];
    FIELDS.contains(&&field[..end]) && (rest.starts_with([':', ' ']) || rest.is_empty()) && !rest.starts_with(":`")
}
