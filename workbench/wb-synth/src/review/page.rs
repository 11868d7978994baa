//! The review page: pairs on one page without any network, with what is needed to judge them and where they came from.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, value::Serde};
use serde::Serialize;
use wb_core::{Pair, Seed, fingerprint::Fingerprint};

use super::{Reviews, text_hash};
use crate::{
    Error, Result,
    provenance::{Maker, Provenance},
    tasks::TaskCatalog,
};

/// Pairs on a page at most: a browser still shows as many, and nobody reads more.
pub const MAX_ROWS: usize = 5000;

#[derive(Serialize)]
struct Page<'a> {
    rows: Vec<Row<'a>>,
    /// Pairs that there are.
    all: usize,
    /// Number of rows by who made them.
    makers: BTreeMap<&'static str, usize>,
    /// Decisions about other pairs before: an export holds them again, so that they are not lost.
    earlier: Vec<Earlier<'a>>,
    nonce: &'a str,
}

#[derive(Serialize)]
struct Earlier<'a> {
    id: &'a str,
    hash: &'a str,
    verdict: &'static str,
    note: &'a str,
}

/// A pair on the page.
#[derive(Serialize)]
struct Row<'a> {
    id: &'a str,
    hash: String,
    made_by: &'static str,
    task: &'a str,
    how: Vec<String>,
    language: &'a str,
    source: String,
    label: String,
    verdict: &'static str,
    query: String,
    document: String,
    negatives: Vec<Negative>,
}

#[derive(Serialize)]
struct Negative {
    how: String,
    text: String,
}

/// The page. It loads nothing, sends nothing, runs only its own script, and shows every text as text.
///
/// Of more than [`MAX_ROWS`] pairs it shows all that a model wrote first, and of the others as many as fit, drawn by the
/// seed and their ids: they stay on the page when others are rejected.
pub fn page(
    pairs: &[Pair],
    provenance: &[Provenance],
    catalog: Option<&TaskCatalog>,
    reviews: &Reviews,
    seed: Seed,
) -> Result<String> {
    let shown = shown(provenance, seed);
    let rows: Vec<Row> = shown.iter().map(|at| row(&pairs[*at], &provenance[*at], catalog)).collect();
    let mut makers = BTreeMap::new();
    rows.iter().for_each(|row| *makers.entry(row.made_by).or_default() += 1);
    let ids: BTreeSet<&str> = rows.iter().map(|row| row.id).collect();
    let earlier = reviews.beside(&ids).map(|line| Earlier {
        id: &line.id,
        hash: &line.hash,
        verdict: line.verdict.name(),
        note: &line.note,
    });
    let earlier: Vec<Earlier> = earlier.collect();
    // It names this set of pairs in the browser's store, and lets this page's script and style run: no text in it can know it.
    let nonce = Fingerprint::of_json(&(&rows, &earlier));
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let failed = |error: minijinja::Error| Error::failed(format!("the review page: {error:#}"));
    let template = environment.template_from_str(include_str!("../../templates/review.html")).map_err(failed)?;
    let page = Page { rows, all: pairs.len(), makers, earlier, nonce: nonce.short() };
    template.render(Value::from(Serde(&page))).map_err(failed)
}

/// The places of the pairs on the page, in their order.
fn shown(provenance: &[Provenance], seed: Seed) -> Vec<usize> {
    let mut places: Vec<usize> = (0..provenance.len()).collect();
    if places.len() <= MAX_ROWS {
        return places;
    }
    places.sort_by_cached_key(|at| {
        let from = &provenance[*at];
        (from.made_by == Maker::Rules, seed.number_at(&format!("review {}", from.id), 0), *at)
    });
    places.truncate(MAX_ROWS);
    places.sort_unstable();
    places
}

fn row<'a>(pair: &'a Pair, from: &'a Provenance, catalog: Option<&TaskCatalog>) -> Row<'a> {
    let [first, last] = from.source.lines;
    let lines = if first > 0 { format!(":{first}-{last}") } else { String::new() };
    let by_rule = |at: usize| from.rules.as_ref().and_then(|rules| rules.negatives.get(at));
    let negatives = pair.negatives.iter().enumerate().map(|(at, text)| Negative {
        how: by_rule(at).map_or_else(|| "written by the model".to_owned(), |rule| format!("by the rule {rule}")),
        text: visible(text),
    });
    Row {
        id: &pair.id,
        hash: text_hash(&pair.anchor, &pair.positive),
        made_by: from.made_by.name(),
        task: &from.task,
        how: how(from, catalog),
        language: &pair.language,
        source: visible(format!("{} {}{lines} {}", from.source.group, from.source.path, from.source.license).trim()),
        label: from.label.map_or_else(String::new, |label| label.to_string()),
        verdict: from.review.map_or("", super::ReviewVerdict::name),
        query: visible(&pair.anchor),
        document: visible(&pair.positive),
        negatives: negatives.collect(),
    }
}

/// The criteria of a pair: the task's words, or what the rules did.
fn how(from: &Provenance, catalog: Option<&TaskCatalog>) -> Vec<String> {
    if let Some(rules) = &from.rules {
        let mut how = vec![format!("By rules: {}.", rules.names.join(", "))];
        if !rules.notes.is_empty() {
            how.push(format!("What they did: {}.", rules.notes.join("; ")));
        }
        if let Some(verdict) = &rules.verdict {
            how.push(format!("Both sides were run: {}.", verdict.name()));
        }
        return how.iter().map(|line| visible(line)).collect();
    }
    if from.made_by == Maker::Annotation {
        return vec!["A query that the model wrote for this code.".to_owned()];
    }
    let chosen = catalog.and_then(|catalog| catalog.tasks.iter().find(|chosen| chosen.name() == from.task));
    chosen.map_or_else(Vec::new, |chosen| {
        vec![chosen.task.instruction.clone(), format!("Relevant when: {}", chosen.task.relevance)]
    })
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
    use crate::rules::Applied;

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
            source: Origin { group: "g".into(), path: "a.py".into(), lines: [3, 9], ..Origin::default() },
            label: Some(1),
            ..Provenance::default()
        };
        (pair, from)
    }

    fn shown(pair: Pair, from: Provenance) -> String {
        page(&[pair], &[from], Some(&TaskCatalog::load(&[]).unwrap()), &Reviews::default(), Seed(1)).unwrap()
    }

    #[test]
    fn hostile_texts_are_shown_and_not_run() {
        let hostile = "</pre><script>alert(1)</script><img src=x onerror=alert(1)> {{ 7 * 7 }} \u{202e}\"'";
        let (pair, from) = pair("a\"><script>", hostile);
        let notes = vec![hostile.to_owned()];
        let by_rules = Provenance { rules: Some(Applied { notes, ..Applied::default() }), ..from.clone() };
        for page in [shown(pair.clone(), from), shown(pair, by_rules)] {
            assert_eq!(page.matches("<script").count(), 1, "{page}");
            assert!(!page.contains("<img") && page.contains("&lt;img") && page.contains("{{ 7 * 7 }}"));
            assert!(!page.contains('\u{202e}') && page.contains("\\u{202e}"));
            for outside in ["http://", "https://", "src=\"", "@import", "url("] {
                assert!(!page.contains(outside), "{outside}");
            }
            assert!(page.contains("default-src 'none'") && page.contains("a.py:3-9"));
        }
    }

    #[test]
    fn a_row_says_what_its_pair_is_judged_by() {
        let (one, from) = pair("a", "q");
        let page = shown(one.clone(), from.clone());
        assert!(page.contains("Relevant when: ") && page.contains("judged 1"), "{page}");
        let rules = Applied { names: vec!["rename".into()], notes: vec!["a is b".into()], ..Applied::default() };
        let by_rules = Provenance { made_by: Maker::Rules, rules: Some(rules), label: None, ..from.clone() };
        let page = shown(one.clone(), by_rules);
        assert!(page.contains("By rules: rename.") && page.contains("What they did: a is b."), "{page}");
        assert!(!page.contains("Relevant when") && !page.contains("judged"), "{page}");
        let page = shown(one, Provenance { made_by: Maker::Annotation, ..from });
        assert!(page.contains("the model wrote for this code"), "{page}");
    }

    #[test]
    fn of_very_many_pairs_a_part_is_shown_and_what_a_model_wrote_is_in_it() {
        let many: Vec<(Pair, Provenance)> = (0..MAX_ROWS + 50)
            .map(|at| {
                let (pair, from) = pair(&format!("p{at}"), "q");
                let made_by = if at % 1000 == 999 { Maker::Model } else { Maker::Rules };
                (pair, Provenance { made_by, ..from })
            })
            .collect();
        let (pairs, provenance): (Vec<Pair>, Vec<Provenance>) = many.into_iter().unzip();
        let places = super::shown(&provenance, Seed(1));
        assert_eq!(places.len(), MAX_ROWS);
        assert!(places.is_sorted() && (999..provenance.len()).step_by(1000).all(|at| places.contains(&at)));
        // What is on it stays on it when another pair is gone.
        let fewer = super::shown(&provenance[1..], Seed(1));
        assert!(places.iter().filter(|at| **at > 0).all(|at| fewer.contains(&(at - 1))));
        let page = page(&pairs, &provenance, None, &Reviews::default(), Seed(1)).unwrap();
        assert_eq!(page.matches("<article").count(), MAX_ROWS);
        assert!(page.contains("5000 of 5050 pairs"));
    }
}
