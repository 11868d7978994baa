//! Inside a paragraph: links to their text, code spans to their content, emphasis, tags and addresses away.

use std::collections::BTreeSet;

use super::{Markup, html};

/// Plain text of a description; `links` are the names that the doc comment defines targets for, in lower case.
pub(super) fn plain(text: &str, markup: Markup, links: &BTreeSet<String>) -> String {
    let mut out = String::with_capacity(text.len());
    Scanner { markup, links, depth: 0 }.scan(text, &mut out);
    out
}

struct Scanner<'a> {
    markup: Markup,
    links: &'a BTreeSet<String>,
    depth: usize,
}

impl Scanner<'_> {
    fn scan(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        while let Some(at) = rest.find(['`', '[', '{', '<', '*', '&', '\\', ':', '@', '!', '+', 'h', '|']) {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let used = self.markup_at(rest, out);
            if used == 0 {
                let first = rest.chars().next().map_or(1, char::len_utf8);
                out.push_str(&rest[..first]);
                rest = &rest[first..];
            } else {
                rest = &rest[used..];
            }
        }
        out.push_str(rest);
    }

    /// Writes what stands for the markup at the head of `rest` and says how long it is; 0 where it is only text.
    fn markup_at(&mut self, rest: &str, out: &mut String) -> usize {
        match rest.as_bytes()[0] {
            b'`' => self.code_span(rest, out),
            b'[' => self.link(rest, out),
            b'!' if rest.starts_with("![") => image(&rest[1..]).map_or(0, |used| used + 1),
            b'{' => self.braces(rest, out),
            b'<' => {
                if rest.starts_with("<http") {
                    drop_pointer(out);
                }
                html::tag(rest, out)
            }
            b'*' => self.emphasis(rest, out),
            b'&' => html::entity(rest, out),
            b'\\' | b'@' => self.command(rest, out),
            b':' if self.markup == Markup::Docstring => role(rest),
            b'+' if self.markup == Markup::Rdoc => between(rest, "+", out),
            b'|' if self.markup == Markup::Docstring => between(rest, "|", out),
            b'h' if rest.starts_with("http://") || rest.starts_with("https://") => {
                drop_pointer(out);
                address(rest)
            }
            _ => 0,
        }
    }

    fn inside(&mut self, text: &str, out: &mut String) {
        if self.depth >= 8 {
            out.push_str(text);
            return;
        }
        self.depth += 1;
        self.scan(text, out);
        self.depth -= 1;
    }

    fn code_span(&mut self, rest: &str, out: &mut String) -> usize {
        let ticks = rest.len() - rest.trim_start_matches('`').len();
        let Some(end) = find_run(&rest[ticks..], ticks) else {
            // `text' as old comments quote
            return ticks;
        };
        let content = rest[ticks..ticks + end].trim();
        let mut used = ticks + end + ticks;
        if self.markup == Markup::Docstring && ticks == 1 {
            used += rest[used..].len() - rest[used..].trim_start_matches('_').len();
            let target = content.find('<').filter(|at| *at > 0 && content.ends_with('>'));
            out.push_str(target.map_or(content, |at| content[..at].trim_end()).trim_start_matches(['~', '!']));
        } else {
            out.push_str(content);
        }
        used
    }

    /// `[text](target)`, `[text][name]`, `[name]`, `[label]{@link target}`, footnotes.
    fn link(&mut self, rest: &str, out: &mut String) -> usize {
        // `list[0]`, `map[string]int`
        if out.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ']' | ')')) && !rest.starts_with("[^") {
            return 0;
        }
        let Some(end) = closing(rest, b'[', b']') else { return 0 };
        let inner = &rest[1..end];
        let after = &rest[end + 1..];
        if let Some(target) = after.starts_with('(').then(|| closing(after, b'(', b')')).flatten() {
            self.inside(inner, out);
            return end + 1 + target + 1;
        }
        if let Some(target) = after.starts_with('[').then(|| closing(after, b'[', b']')).flatten() {
            self.inside(inner, out);
            return end + 1 + target + 1;
        }
        if after.starts_with("{@link") {
            self.inside(inner, out);
            return end + 1 + after.find('}').map_or(0, |at| at + 1);
        }
        // An editor's template that nobody filled in.
        if inner.starts_with('^') || self.markup == Markup::Tags && inner.ends_with(" description") {
            return end + 1;
        }
        if self.markup == Markup::Docstring {
            // `[1]_`, a citation
            return if after.starts_with('_') { end + 2 } else { 0 };
        }
        if is_path(inner) {
            let path = inner.trim_matches('`');
            out.push_str(path.split_once('@').map_or(path, |(_, name)| name).trim_matches('`'));
            return end + 1;
        }
        let name = inner.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        let is_code = inner.starts_with('`') && inner.len() > 2;
        if is_code || inner.starts_with('[') || self.links.contains(name.trim_matches('`')) {
            self.inside(inner, out);
            return end + 1;
        }
        0
    }

    /// `{@link X label}`, `{@code x}`, YARD's `{Foo#bar label}`, RDoc's `{label}[target]`.
    fn braces(&mut self, rest: &str, out: &mut String) -> usize {
        let Some(end) = closing(rest, b'{', b'}') else { return 0 };
        let inner = &rest[1..end];
        if let Some(inline_tag) = inner.strip_prefix('@') {
            let (name, content) = inline_tag.split_once(char::is_whitespace).unwrap_or((inline_tag, ""));
            let content = content.trim();
            match name.to_ascii_lowercase().as_str() {
                "inheritdoc" | "docroot" | "value" => {}
                "link" | "linkplain" | "linkcode" | "see" | "tutorial" => {
                    let label = content.split_once('|').map(|(_, label)| label.trim());
                    let label =
                        label.or_else(|| split_target(content)).unwrap_or_else(|| content.trim_start_matches('#'));
                    if !label.starts_with("http") {
                        self.inside(&label.replace('#', "."), out);
                    }
                }
                _ => out.push_str(content),
            }
            return end + 1;
        }
        if self.markup == Markup::Rdoc {
            if let Some(target) =
                rest[end + 1..].starts_with('[').then(|| closing(&rest[end + 1..], b'[', b']')).flatten()
            {
                self.inside(inner, out);
                return end + 1 + target + 1;
            }
            let (target, label) = inner.split_once(' ').unwrap_or((inner, inner));
            if target.contains("::")
                || target.contains('#')
                || target.starts_with(|c: char| c.is_ascii_uppercase()) && is_path(target)
            {
                out.push_str(if target == label { target.trim_start_matches('#') } else { label });
                return end + 1;
            }
        }
        0
    }

    /// `**strong**` and `*emphasis*`, not `**kwargs`, `a * b` or `char *`.
    fn emphasis(&mut self, rest: &str, out: &mut String) -> usize {
        let stars = (rest.len() - rest.trim_start_matches('*').len()).min(3);
        let mark = &rest[..stars];
        let inner = &rest[stars..];
        if inner.starts_with(|c: char| c.is_whitespace() || c == '*')
            || out.ends_with(|c: char| c.is_alphanumeric() || c == ')')
        {
            return 0;
        }
        let Some(end) = inner.find(mark).filter(|end| *end > 0) else { return 0 };
        let after = inner[end + stars..].chars().next();
        let content = &inner[..end];
        if content.ends_with(char::is_whitespace)
            || content.contains("\n\n")
            || after.is_some_and(|c| c.is_alphanumeric() || c == '*')
        {
            return 0;
        }
        self.inside(content, out);
        stars + end + stars
    }

    /// Doxygen's word commands (`\p name`) and, elsewhere, escaped punctuation.
    fn command(&mut self, rest: &str, out: &mut String) -> usize {
        let name = &rest[1..];
        let end = name.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(name.len());
        if self.markup == Markup::Doxygen && !out.ends_with(|c: char| c.is_alphanumeric()) {
            let command = &name[..end];
            if matches!(
                command,
                "p" | "c"
                    | "a"
                    | "e"
                    | "em"
                    | "b"
                    | "ref"
                    | "link"
                    | "endlink"
                    | "n"
                    | "copybrief"
                    | "copydoc"
                    | "brief"
                    | "sa"
                    | "see"
                    | "note"
            ) {
                let rest = &name[end..];
                return 1 + end + (rest.len() - rest.trim_start_matches(' ').len());
            }
            if rest.starts_with("\\f$") || rest.starts_with("@f$") {
                let formula = &rest[3..];
                return 3 + ["\\f$", "@f$"].iter().filter_map(|mark| formula.find(mark)).min().map_or(0, |at| at + 3);
            }
        }
        if rest.starts_with('\\') && name.starts_with(|c: char| c.is_ascii_punctuation()) {
            out.push_str(&name[..1]);
            return 2;
        }
        0
    }
}

/// The position of a run of exactly `ticks` backticks.
fn find_run(text: &str, ticks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(next) = text[at..].find('`') {
        let start = at + next;
        let run = text[start..].len() - text[start..].trim_start_matches('`').len();
        if run == ticks {
            return Some(start);
        }
        at = start + run;
    }
    None
}

/// The position of the bracket that closes the one at the head, code spans skipped; within 2,000 bytes.
fn closing(text: &str, open: u8, close: u8) -> Option<usize> {
    let mut depth = 0_usize;
    let mut in_code = false;
    for (at, byte) in text.bytes().enumerate().take(2_000) {
        if byte == b'`' {
            in_code = !in_code;
        } else if byte == open && !in_code {
            depth += 1;
        } else if byte == close && !in_code {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

/// True where the text in brackets names an item: `Vec::push`, `struct@Foo`, `core::fmt`, `foo()`, `vec!`.
fn is_path(inner: &str) -> bool {
    let path = inner.strip_prefix('`').and_then(|path| path.strip_suffix('`')).unwrap_or(inner);
    path.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '<')
        && !path.contains('`')
        && path.len() > 1
        && path.chars().all(|c| c.is_alphanumeric() || "_:!()<>&'@.#-*".contains(c))
}

/// The label in `target label`; a target may hold spaces in its parentheses.
fn split_target(content: &str) -> Option<&str> {
    let mut depth = 0_usize;
    for (at, c) in content.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            c if c.is_whitespace() && depth == 0 => return Some(content[at..].trim()),
            _ => {}
        }
    }
    None
}

/// `[alt](target)` after an exclamation mark: nothing of it is prose.
fn image(rest: &str) -> Option<usize> {
    let end = closing(rest, b'[', b']')?;
    let after = &rest[end + 1..];
    let (open, close) = if after.starts_with('(') { (b'(', b')') } else { (b'[', b']') };
    if !after.starts_with(char::from(open)) {
        return None;
    }
    Some(end + 1 + closing(after, open, close)? + 1)
}

/// `:class:` before a backtick.
fn role(rest: &str) -> usize {
    let Some(tick) = rest.find('`') else { return 0 };
    let role = &rest[..tick];
    let is_role = role.len() > 2
        && role.ends_with(':')
        && role.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b':' | b'-' | b'+'));
    if is_role { tick } else { 0 }
}

/// `+code+`: one word or a few between marks that hug them.
fn between(rest: &str, mark: &str, out: &mut String) -> usize {
    let inner = &rest[mark.len()..];
    let Some(end) = inner.find(mark).filter(|end| (1..=60).contains(end)) else { return 0 };
    let content = &inner[..end];
    if content.starts_with(char::is_whitespace) || content.ends_with(char::is_whitespace) || content.contains('\n') {
        return 0;
    }
    out.push_str(content);
    end + 2 * mark.len()
}

/// Takes `See`, `see also:` and the like off the end: without the address after them they say nothing.
fn drop_pointer(out: &mut String) {
    const POINTERS: [&str; 12] =
        ["see", "see also", "cf.", "ref", "reference", "source", "link", "via", "at", "here", "more info", "docs"];
    let kept = out.trim_end().trim_end_matches([':', '-', '(']).trim_end();
    let from = kept.rfind(['.', '\n', '!', '?', '(', ';', ',']).map_or(0, |at| at + 1);
    let last = kept[from..].trim();
    if POINTERS.iter().any(|pointer| last.eq_ignore_ascii_case(pointer)) {
        out.truncate(from);
        out.push(' ');
    }
}

/// The length of a bare address, without the punctuation of the sentence around it.
fn address(rest: &str) -> usize {
    let end = rest
        .find(|c: char| c.is_whitespace() || matches!(c, ')' | '>' | ']' | '"' | '\'' | '`' | '}'))
        .unwrap_or(rest.len());
    rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?']).len()
}
