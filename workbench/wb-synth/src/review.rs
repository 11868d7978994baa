//! The review page: every pair on one page without any network, accepted or rejected, exported and read back.

use std::{collections::HashMap, path::Path};

use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, value::Serde};
use serde::{Deserialize, Serialize};
use wb_core::{Pair, fingerprint::Fingerprint};

use crate::{Error, Result, config::kind_name, lines, provenance::Provenance, tasks::Catalog};

/// What a person says of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It stays, before others.
    Accept,
    /// It goes.
    Reject,
}

/// One line of an exported review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: String,
    /// Of both sides: what was seen, so that another text under the same id is not judged by it.
    hash: String,
    verdict: Verdict,
    #[serde(default)]
    note: String,
}

/// An exported review.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reviews {
    verdicts: HashMap<String, (String, Verdict)>,
}

impl Reviews {
    /// What was said of a candidate, if its texts are those that were seen.
    pub fn of(&self, id: &str, query: &str, document: &str) -> Option<Verdict> {
        let (hash, verdict) = self.verdicts.get(id)?;
        (*hash == text_hash(query, document)).then_some(*verdict)
    }

    /// Pairs that were decided.
    pub fn len(&self) -> usize {
        self.verdicts.len()
    }

    /// Whether nothing was decided.
    pub fn is_empty(&self) -> bool {
        self.verdicts.is_empty()
    }
}

/// Reads an exported review; of several lines about one pair the last counts.
pub fn read(path: &Path) -> Result<Reviews> {
    let mut reviews = Reviews::default();
    for (_, line) in lines::read::<Line>(path)? {
        reviews.verdicts.insert(line.id, (line.hash, line.verdict));
    }
    Ok(reviews)
}

/// The hash of a pair's two sides, as the page exports it.
fn text_hash(query: &str, document: &str) -> String {
    Fingerprint::builder().text(query).text(document).finish().short().to_owned()
}

#[derive(Serialize)]
struct Page<'a> {
    rows: Vec<Row<'a>>,
    nonce: &'a str,
}

/// A pair on the page.
#[derive(Serialize)]
struct Row<'a> {
    id: &'a str,
    hash: String,
    task: &'a str,
    kind: &'static str,
    instruction: &'a str,
    relevance: &'a str,
    language: &'a str,
    source: String,
    label: String,
    verdict: &'static str,
    query: String,
    document: String,
    negatives: Vec<String>,
}

/// The page. It loads nothing, sends nothing, runs only its own script, and shows every text as text.
pub fn page(pairs: &[Pair], provenance: &[Provenance], catalog: &Catalog) -> Result<String> {
    let rows: Vec<Row> = pairs.iter().zip(provenance).map(|(pair, from)| row(pair, from, catalog)).collect();
    // It names this set of pairs in the browser's store, and lets this page's script and style run: no text in it can know it.
    let nonce = Fingerprint::of_json(&rows);
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let failed = |error: minijinja::Error| Error::Prompt {
        task: "the review page".into(),
        step: 1,
        message: format!("{error:#}"),
    };
    let template = environment.template_from_str(include_str!("../templates/review.html")).map_err(failed)?;
    template.render(Value::from(Serde(&Page { rows, nonce: nonce.short() }))).map_err(failed)
}

fn row<'a>(pair: &'a Pair, from: &'a Provenance, catalog: &'a Catalog) -> Row<'a> {
    let chosen = catalog.tasks.iter().find(|chosen| chosen.name() == from.task);
    let [first, last] = from.source.lines;
    let lines = if first > 0 { format!(":{first}-{last}") } else { String::new() };
    Row {
        id: &pair.id,
        hash: text_hash(&pair.anchor, &pair.positive),
        task: &from.task,
        kind: kind_name(pair.task),
        instruction: chosen.map_or("", |chosen| &chosen.task.instruction),
        relevance: chosen.map_or("", |chosen| &chosen.task.relevance),
        language: &pair.language,
        source: visible(format!("{} {}{lines} {}", from.source.group, from.source.path, from.source.license).trim()),
        label: from.label.map_or_else(String::new, |label| label.to_string()),
        verdict: match from.review {
            None => "",
            Some(Verdict::Accept) => "accept",
            Some(Verdict::Reject) => "reject",
        },
        query: visible(&pair.anchor),
        document: visible(&pair.positive),
        negatives: pair.negatives.iter().map(|text| visible(text)).collect(),
    }
}

/// Characters that hide or turn around what stands beside them, shown by their numbers.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        let hides =
            matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
        match letter {
            '\n' | '\t' => shown.push(letter),
            letter if hides || letter.is_control() => shown.push_str(&format!("\\u{{{:04x}}}", u32::from(letter))),
            letter => shown.push(letter),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use wb_core::{Origin, Task};

    use super::*;

    fn pair(id: &str, anchor: &str) -> (Pair, Provenance) {
        let pair = Pair {
            id: id.into(),
            task: Task::Text2code,
            anchor: anchor.into(),
            positive: "f(x)".into(),
            ..Pair::default()
        };
        let from = Provenance {
            id: id.into(),
            task: "text2code/web_query".into(),
            item: "s".into(),
            sample: 0,
            language: "python".into(),
            target_language: String::new(),
            source: Origin {
                group: "g".into(),
                path: "a.py".into(),
                lines: [3, 9],
                license: "MIT".into(),
                dataset: String::new(),
            },
            prompt_hash: String::new(),
            model: String::new(),
            model_hash: String::new(),
            engine: String::new(),
            seed: 1,
            asked: Vec::new(),
            label: Some(1),
            clarity: 1.0,
            review: None,
        };
        (pair, from)
    }

    #[test]
    fn hostile_texts_are_shown_and_not_run() {
        let hostile = "</pre><script>alert(1)</script><img src=x onerror=alert(1)> {{ 7 * 7 }} \u{202e}\"'";
        let (pair, from) = pair("a\"><script>", hostile);
        let page = page(&[pair], &[from], &Catalog::load(&[]).unwrap()).unwrap();
        assert_eq!(page.matches("<script").count(), 1, "{page}");
        assert!(!page.contains("<img") && page.contains("&lt;img") && page.contains("{{ 7 * 7 }}"));
        assert!(!page.contains('\u{202e}') && page.contains("\\u{202e}"));
        for outside in ["http://", "https://", "src=\"", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(page.contains("default-src 'none'") && page.contains("a.py:3-9"));
    }

    #[test]
    fn what_is_exported_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("review.jsonl");
        let hash = text_hash("q", "d");
        let text = format!(
            "{{\"id\":\"a\",\"hash\":\"{hash}\",\"verdict\":\"accept\"}}\n{{\"id\":\"a\",\"hash\":\"{hash}\",\"verdict\":\"reject\",\"note\":\"no\"}}\n"
        );
        std::fs::write(&path, &text).unwrap();
        let reviews = read(&path).unwrap();
        assert_eq!(reviews.of("a", "q", "d"), Some(Verdict::Reject));
        assert_eq!(reviews.of("a", "q", "another text"), None);
        assert_eq!(reviews.of("b", "q", "d"), None);
        std::fs::write(&path, text.replace("accept", "maybe")).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("review.jsonl:1:"));
    }
}
