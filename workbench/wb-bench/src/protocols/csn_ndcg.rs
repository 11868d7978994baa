//! `csn-ndcg-within` and `csn-ndcg-all`: 99 human queries over a language's functions; NDCG of the first 300.
//!
//! After `src/relevanceeval.py` of github/CodeSearchNet. Relevance is the mean of a (query, language, URL)'s
//! judgements, 0 to 3 and possibly fractional; language and query in lower case. Of each query's ranking only the first
//! 300 URLs count. Gain is `2^relevance − 1`, discount `log2(rank + 1)`. In *within* the rank advances on annotated
//! URLs only, in *all* on every URL. The ideal is over all annotated URLs of the query, without a cut. Queries whose
//! ideal is 0 are left out; the mean is over the other annotated queries of the language. A URL that the ranking holds
//! twice is credited twice, as in the reference, with a warning.
//!
//! The pool is what the data holds: with the annotated corpus alone that is a few hundred judged functions of a
//! language, not the whole language, so the numbers are for comparisons on the same data only. Where the corpus lacks
//! judged URLs, which nobody can then return, the ideal of metric `ndcg` holds them all the same, as the reference
//! script does with the same annotations; metric `ndcg_held_ideal` leaves their judgements out. Equal scores stand in
//! corpus order. De-duplication keeps the first of equal texts, with the highest relevance of its copies; the others'
//! judgements are dropped, from the ideal too. The expected value under ties is the mean of 32 seeded orders.

use std::collections::{BTreeMap, HashMap, HashSet};

use rand::RngExt;
use wb_core::{
    Seed, Side,
    records::outcome::{AuditLine, ProtocolScore, QueryRank},
};

use super::{
    protocol::{Context, Protocol, ProtocolNumbers},
    ranked::{PoolQuery, QueryPool},
    relevanceeval::{CUT, Mode, dcg, ideal},
};
use crate::{
    Result,
    contestant::{Chosen, Scorer},
};

/// Orders of ties that are averaged.
const SHUFFLES: u64 = 32;

/// One language.
#[derive(Debug, Clone)]
pub struct CsnNdcg {
    /// `go`.
    pub language: String,
    /// URLs of the corpus with the numbers of their texts, in file order.
    pub documents: Vec<(String, u32)>,
    /// The queries that somebody judged for this language.
    pub queries: Vec<HumanQuery>,
}

/// A query with its judgements.
#[derive(Debug, Clone)]
pub struct HumanQuery {
    /// Query as it stands in the list of queries; its id too.
    pub text: String,
    /// The number of its text.
    pub number: u32,
    /// URL to mean relevance, of URLs that the corpus holds.
    pub relevance: BTreeMap<String, f64>,
    /// Mean relevance of judged URLs that the corpus lacks.
    pub unheld: Vec<f64>,
}

/// One query's values in one mode.
#[derive(Debug, Clone, Copy, Default)]
struct Value {
    value: f64,
    best: f64,
    expected: f64,
    worst: f64,
    distinct: f64,
    /// The ideal of held URLs as a share of that of all judged URLs; not a number where nothing is relevant.
    share: f64,
    /// Share of the held ideal without the judgements of duplicates.
    distinct_share: f64,
    rank: u64,
}

impl Value {
    /// The value over another ideal than that of held URLs.
    fn over(self, ideal: Ideal) -> Self {
        if ideal == Ideal::Held {
            return self;
        }
        // Where only URLs that the corpus lacks are relevant, the share is 0 and the values are not numbers.
        let scaled = |value: f64, share: f64| if share > 0.0 { value * share } else { 0.0 };
        Self {
            value: scaled(self.value, self.share),
            best: scaled(self.best, self.share),
            expected: scaled(self.expected, self.share),
            worst: scaled(self.worst, self.share),
            distinct: scaled(self.distinct, self.distinct_share),
            ..self
        }
    }
}

/// Judgements that the ideal is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ideal {
    /// Judgements about URLs of the corpus.
    Held,
    /// Every judgement, as the reference script has it.
    Judged,
}

impl Ideal {
    fn metric(self) -> &'static str {
        match self {
            Self::Held => "ndcg_held_ideal",
            Self::Judged => "ndcg",
        }
    }

    /// True where a query has an ideal above 0, from the share of its held ideal in the whole one.
    fn measures(self, share: f64) -> bool {
        match self {
            Self::Held => share > 0.0,
            Self::Judged => !share.is_nan(),
        }
    }
}

/// Counts of a query's judgements among its first 300 documents.
#[derive(Debug, Clone, Copy)]
struct Coverage {
    judged: usize,
    relevant: usize,
    of_relevant: usize,
}

/// A ranking as (score, relevance), best first and ties in corpus order.
type Scored = Vec<(f32, Option<f64>)>;

fn sorted(mut scored: Scored) -> Scored {
    // Stable, so ties keep corpus order.
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored
}

fn relevances(scored: &Scored) -> impl Iterator<Item = Option<f64>> + '_ {
    scored.iter().map(|(_, relevance)| *relevance)
}

/// Reorders documents of equal scores by relevance; unjudged ones are less than judged ones.
fn by_relevance(scored: &Scored, best_first: bool) -> Scored {
    let key = |relevance: Option<f64>| relevance.unwrap_or(-1.0);
    let mut scored = scored.clone();
    scored.sort_by(|a, b| {
        let relevance = key(b.1).total_cmp(&key(a.1));
        b.0.total_cmp(&a.0).then(if best_first { relevance } else { relevance.reverse() })
    });
    scored
}

fn shuffled(scored: &Scored, rng: &mut impl RngExt) -> Scored {
    let mut keyed: Vec<(u64, (f32, Option<f64>))> = scored.iter().map(|hit| (rng.random(), *hit)).collect();
    keyed.sort_by(|a, b| b.1.0.total_cmp(&a.1.0).then(a.0.cmp(&b.0)));
    keyed.into_iter().map(|(_, hit)| hit).collect()
}

fn rank_of_first_relevant(scored: &Scored, mode: Mode) -> u64 {
    let mut rank = 1;
    for relevance in relevances(scored).take(CUT) {
        match relevance {
            Some(relevance) if relevance > 0.0 => return rank,
            Some(_) => rank += 1,
            None => rank += u64::from(mode == Mode::All),
        }
    }
    0
}

impl CsnNdcg {
    fn query_values(&self, query: &HumanQuery, scores: &[f32], floor: Option<f32>, seed: Seed, at: u64) -> [Value; 2] {
        let hit = |position: usize| {
            let score = if scores[position].is_nan() { f32::NEG_INFINITY } else { scores[position] + 0.0 };
            (score, query.relevance.get(&self.documents[position].0).copied())
        };
        let matched = |position: &usize| floor.is_none_or(|floor| scores[*position] > floor);
        let all = sorted((0..scores.len()).filter(matched).map(hit).collect());
        let (distinct, distinct_relevance) = self.distinct(query, scores, &matched);
        let ideals = |held: &[f64]| {
            let of_held = ideal(held);
            (of_held, of_held / ideal(held.iter().chain(&query.unheld)))
        };
        let held: Vec<f64> = query.relevance.values().copied().collect();
        let ((whole, share), (distinct_ideal, distinct_share)) = (ideals(&held), ideals(&distinct_relevance));
        let tied = all.windows(2).any(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1);
        let mut values = [Value::default(); 2];
        for (value, mode) in values.iter_mut().zip(Mode::BOTH) {
            (value.share, value.distinct_share) = (share, distinct_share);
            value.value = dcg(relevances(&all), mode) / whole;
            (value.best, value.worst, value.expected) = (value.value, value.value, value.value);
            if tied {
                value.best = dcg(relevances(&by_relevance(&all, true)), mode) / whole;
                value.worst = dcg(relevances(&by_relevance(&all, false)), mode) / whole;
                let draws = (0..SHUFFLES).map(|draw| {
                    let mut rng = seed.stream_at("ties of csn-ndcg", at * SHUFFLES + draw);
                    dcg(relevances(&shuffled(&all, &mut rng)), mode) / whole
                });
                value.expected = draws.sum::<f64>() / SHUFFLES as f64;
            }
            value.distinct =
                if distinct_ideal > 0.0 { dcg(relevances(&distinct), mode) / distinct_ideal } else { value.value };
            value.rank = rank_of_first_relevant(&all, mode);
        }
        values
    }

    /// The ranking and the judgements without documents whose text stands earlier in the corpus.
    fn distinct(&self, query: &HumanQuery, scores: &[f32], matched: &dyn Fn(&usize) -> bool) -> (Scored, Vec<f64>) {
        let mut best: HashMap<u32, Option<f64>> = HashMap::new();
        for (url, text) in &self.documents {
            let kept = best.entry(*text).or_default();
            let own = query.relevance.get(url).copied();
            *kept = own.into_iter().chain(*kept).reduce(f64::max);
        }
        let mut seen = HashSet::new();
        let firsts: Vec<usize> =
            (0..self.documents.len()).filter(|position| seen.insert(self.documents[*position].1)).collect();
        let relevance = firsts.iter().filter_map(|position| best[&self.documents[*position].1]).collect();
        let kept = firsts.iter().copied().filter(matched);
        (sorted(kept.map(|position| (scores[position], best[&self.documents[position].1])).collect()), relevance)
    }

    fn audit(&self, found: &[Coverage]) -> Vec<AuditLine> {
        let line = |what: &str, count: usize, of: usize| AuditLine {
            what: format!("{what}: {}", self.language),
            count: count as u64,
            of: of as u64,
            examples: Vec::new(),
        };
        let sum = |part: fn(&Coverage) -> usize| found.iter().map(part).sum::<usize>();
        let unheld: usize = self.queries.iter().map(|query| query.unheld.len()).sum();
        let judged: usize = self.queries.iter().map(|query| query.relevance.len()).sum();
        vec![
            line("judged URLs among the first 300 of their query", sum(|f| f.judged), judged),
            line("relevant URLs among the first 300 of their query", sum(|f| f.relevant), sum(|f| f.of_relevant)),
            line("judgements about URLs that the corpus lacks", unheld, judged + unheld),
        ]
    }
}

impl CsnNdcg {
    /// Gives the data as queries over a pool, for audits: every URL that is relevant to a query answers it.
    pub fn as_part(&self) -> QueryPool {
        let queries = self.queries.iter().map(|query| {
            let grade = |url: &str| query.relevance.get(url).copied().filter(|grade| *grade > 0.0);
            let found = self.documents.iter().enumerate();
            PoolQuery {
                id: query.text.clone(),
                text: query.number,
                relevant: found.filter_map(|(position, (url, _))| Some((position, grade(url)?))).collect(),
                missing: Vec::new(),
            }
        });
        QueryPool {
            queries: queries.collect(),
            ids: self.documents.iter().map(|(url, _)| url.clone()).collect(),
            texts: self.documents.iter().map(|(_, text)| *text).collect(),
        }
    }
}

impl Protocol for CsnNdcg {
    fn id(&self) -> &str {
        "csn-ndcg"
    }

    fn title(&self) -> String {
        format!("csn-ndcg {} annotated", self.language)
    }

    fn measure(&self, scorer: &Scorer<'_>, context: Context) -> Result<ProtocolNumbers> {
        let numbers: Vec<u32> = self.queries.iter().map(|query| query.number).collect();
        let texts: Vec<u32> = self.documents.iter().map(|(_, text)| *text).collect();
        let sources = Chosen { side: Side::Query, numbers: &numbers };
        let targets = Chosen { side: Side::Document, numbers: &texts };
        let floor = scorer.floor();
        let found = scorer.scores(sources, targets, |index, scores| {
            let query = &self.queries[index];
            let values = self.query_values(query, scores, floor, context.seed, index as u64);
            (values, self.coverage(query, scores, floor))
        })?;
        let (values, coverage): (Vec<[Value; 2]>, Vec<Coverage>) = found.into_iter().unzip();
        let mut result = ProtocolNumbers { audit: self.audit(&coverage), ..ProtocolNumbers::default() };
        for mode in Mode::BOTH {
            result.scores.push(self.score(mode, Ideal::Judged, &values, context));
            if self.queries.iter().any(|query| !query.unheld.is_empty()) {
                result.scores.push(self.score(mode, Ideal::Held, &values, context));
            }
        }
        let mut urls = HashSet::new();
        let repeated = self.documents.iter().filter(|(url, _)| !urls.insert(url.as_str())).count();
        if repeated > 0 {
            result.warnings.push(format!(
                "csn-ndcg {}: {repeated} URLs stand in the corpus more than once and are credited each time, as in the reference",
                self.language
            ));
        }
        Ok(result)
    }
}

impl CsnNdcg {
    fn coverage(&self, query: &HumanQuery, scores: &[f32], floor: Option<f32>) -> Coverage {
        let mut order: Vec<usize> =
            (0..scores.len()).filter(|position| floor.is_none_or(|floor| scores[*position] > floor)).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        let first: HashSet<&str> =
            order.iter().take(CUT).map(|position| self.documents[*position].0.as_str()).collect();
        let inside = |url: &&String| first.contains(url.as_str());
        let relevant = || query.relevance.iter().filter(|(_, grade)| **grade > 0.0).map(|(url, _)| url);
        Coverage {
            judged: query.relevance.keys().filter(inside).count(),
            relevant: relevant().filter(inside).count(),
            of_relevant: relevant().count(),
        }
    }

    fn score(&self, mode: Mode, over: Ideal, values: &[[Value; 2]], context: Context) -> ProtocolScore {
        let measured: Vec<(&HumanQuery, Value)> = self
            .queries
            .iter()
            .zip(values)
            .map(|(query, values)| (query, values[mode as usize]))
            .filter(|(_, value)| over.measures(value.share))
            .map(|(query, value)| (query, value.over(over)))
            .collect();
        let mean = |part: fn(&Value) -> f64| {
            measured.iter().map(|(_, value)| part(value)).sum::<f64>() / measured.len().max(1) as f64
        };
        let own: Vec<f64> = measured.iter().map(|(_, value)| value.value).collect();
        ProtocolScore {
            id: mode.id().to_owned(),
            description: mode.description().to_owned(),
            language: self.language.clone(),
            split: "annotated".to_owned(),
            pool: self.documents.len() as u64,
            n_queries: measured.len() as u64,
            metric: over.metric().to_owned(),
            value: mean(|value| value.value),
            interval: context.interval(&own),
            tie_best: mean(|value| value.best),
            tie_expected: mean(|value| value.expected),
            tie_worst: mean(|value| value.worst),
            deduplicated: Some(mean(|value| value.distinct)),
            queries: measured
                .iter()
                .map(|(query, value)| QueryRank { id: query.text.clone(), rank: value.rank, value: value.value })
                .collect(),
        }
    }
}
