//! The worth of retrieval in one word and a few sentences.

use serde::Serialize;
use wb_core::records::rag::{Rag, RagPair, RagShare};

use super::is_ceiling;
use crate::{
    numbers::{count, difference, fraction, interval, p_value},
    words,
};

/// The top of the page.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Headline {
    class: &'static str,
    word: &'static str,
    /// The best retrieving arm against none, by each metric.
    said: Vec<String>,
    /// Remarks about it.
    notes: Vec<String>,
}

/// The best retrieving arm against the first: sure where the interval of the difference leaves out 0.
pub fn headline(rag: &Rag, best: Option<usize>) -> Headline {
    let nothing = |why: &str| Headline {
        class: "none",
        word: "NOTHING COMPARED",
        said: vec![why.to_owned()],
        notes: ceiling(rag, None).into_iter().collect(),
    };
    let Some((first, arm)) = rag.arms.first().zip(best.map(|best| &rag.arms[best])) else {
        return nothing("no arm retrieves examples without reading the gold query");
    };
    let mut known = Vec::new();
    for (metric, shares) in [("ex", [arm.ex, first.ex]), ("em", [arm.em, first.em])] {
        if let Some(pair) = pair(rag, metric, &first.name, &arm.name).filter(|_| shares.iter().all(|one| one.of > 0)) {
            known.push((pair, said(pair, shares)));
        }
    }
    let Some((main, _)) = known.first() else { return nothing("the arms share no question that was judged") };
    let (class, word) = words::difference(main.interval);
    let mut notes = Vec::new();
    let rivals = rag.arms.iter().skip(1).filter(|arm| !is_ceiling(arm)).count();
    if rivals > 1 {
        notes.push(format!(
            "{} is the best of {rivals} retrieving arms on these same questions, which flatters it a little; \
             all comparisons stand below.",
            arm.name
        ));
    }
    notes.extend(ceiling(rag, Some(main)));
    Headline { class, word, said: known.into_iter().map(|(_, said)| said).collect(), notes }
}

fn said(pair: &RagPair, [arm, first]: [RagShare; 2]) -> String {
    format!(
        "{} {} of {} against {} of {}, difference {} {}, McNemar's {}, {} better and {} worse of {}",
        pair.metric.to_uppercase(),
        fraction(arm.value),
        pair.second,
        fraction(first.value),
        pair.first,
        difference(pair.difference),
        interval(pair.interval),
        p_value(pair.p_value),
        count(pair.only_second),
        count(pair.only_first),
        count(arm.of.min(first.of))
    )
}

/// The pair of two arms, if it was compared.
pub fn pair<'a>(rag: &'a Rag, metric: &str, first: &str, second: &str) -> Option<&'a RagPair> {
    rag.pairs.iter().find(|pair| (pair.metric.as_str(), &*pair.first, &*pair.second) == (metric, first, second))
}

/// Tells what examples that were chosen with the gold query reach, and how much of that way the headline's arm goes.
fn ceiling(rag: &Rag, main: Option<&RagPair>) -> Option<String> {
    let arm = rag.arms.iter().find(|arm| is_ceiling(arm))?;
    let shares = [("EX", arm.ex), ("EM", arm.em)].into_iter().filter(|(_, share)| share.of > 0);
    let shares: Vec<String> = shares.map(|(name, share)| format!("{name} {}", fraction(share.value))).collect();
    if shares.is_empty() {
        return None;
    }
    let mut note =
        format!("Ceiling: {} chooses its examples by the gold query and reaches {}", arm.name, shares.join(" and "));
    let whole = main.and_then(|main| pair(rag, &main.metric, &main.first, &arm.name));
    if let (Some(main), Some(whole)) = (main, whole)
        && whole.interval.low > 0.0
        && main.difference > 0.0
    {
        let share = 100.0 * main.difference / whole.difference;
        note.push_str(&format!("; {} goes {share:.0} % of the way there from {}", main.second, main.first));
    }
    note.push('.');
    Some(note)
}
