//! Templates and the one place where text becomes HTML: made visible, then escaped.

use minijinja::{
    AutoEscape, Environment, UndefinedBehavior, Value,
    syntax::SyntaxConfig,
    value::{Serde, ValueKind},
};
use serde::Serialize;

use crate::{Error, Result};

/// The page of a run.
pub const PAGE: &str = "page.html";
/// The list of runs.
pub const INDEX: &str = "index.html";
/// Mined pairs.
pub const TRIPLES: &str = "triples.html";
/// An A/B experiment.
pub const AB: &str = "ab.html";
/// Text-to-SQL with retrieved examples.
pub const RAG: &str = "rag.html";
/// The beginning of all pages, up to the title.
const HEAD: &str = include_str!("../templates/head.html");
/// The style of all pages.
const STYLE: &str = include_str!("../templates/style.css");

/// Fills a template. Every text is escaped unless it was made by [`safe`]; a name that the content lacks is an error.
pub fn render(template: &'static str, content: &impl Serialize) -> Result<String> {
    let failed = |source| Error::failed(format!("cannot fill the template `{template}`")).with_cause(source);
    let source = match template {
        INDEX => include_str!("../templates/index.html"),
        AB => include_str!("../templates/ab.html"),
        RAG => include_str!("../templates/rag.html"),
        TRIPLES => include_str!("../templates/triples.html"),
        _ => include_str!("../templates/page.html"),
    };
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().map_err(failed)?;
    environment.set_syntax(syntax);
    environment.set_formatter(|out, state, value| match value.kind() {
        ValueKind::String if !value.is_safe() => Ok(out.write_str(&escape(value.as_str().unwrap_or_default()))?),
        _ => minijinja::escape_formatter(out, state, value),
    });
    environment.add_global("head", safe(HEAD));
    environment.add_global("style", safe(STYLE));
    environment.add_template(template, source).map_err(failed)?;
    environment.get_template(template).and_then(|page| page.render(Value::from(Serde(content)))).map_err(failed)
}

/// Text that is HTML already: our own, or made by [`escape`].
pub fn safe(html: impl Into<String>) -> Value {
    Value::from_safe_string(html.into())
}

/// Text as HTML shows it: the five special characters escaped, and characters that would hide or turn around
/// what follows them (controls, direction marks, zero-width spaces, line separators) shown by their numbers.
pub fn escape(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + text.len() / 16);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            '\r' if letters.peek() == Some(&'\n') => {}
            '\n' | '\t' => html.push(letter),
            _ if hides(letter) => html.push_str(&format!("⟨U+{:04X}⟩", letter as u32)),
            _ => html.push(letter),
        }
    }
    html
}

fn hides(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_only_text() {
        let rows = [
            ("</script><script>alert(1)</script>", "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("<img src=x onerror='a' b=\"c\">", "&lt;img src=x onerror=&#39;a&#39; b=&quot;c&quot;&gt;"),
            ("a & b", "a &amp; b"),
            ("{{ 7 * 7 }} {% raw %}", "{{ 7 * 7 }} {% raw %}"),
            ("a\u{2028}b\u{202e}c\u{0}", "a⟨U+2028⟩b⟨U+202E⟩c⟨U+0000⟩"),
            ("one\r\ntwo\rthree\tfour", "one\ntwo⟨U+000D⟩three\tfour"),
            ("naïve 漢字 👩\u{200d}💻", "naïve 漢字 👩\u{200d}💻"),
        ];
        for (text, html) in rows {
            assert_eq!(escape(text), html);
        }
    }
}
