//! From verdicts to `rag.json`: shares with intervals, how good retrieval was, and the arms against each other.

use wb_core::{
    Seed,
    records::rag::{Rag, RagAnswer, RagArm, RagCost, RagExample, RagForms, RagLevel, RagPair, RagQuestion, RagShare},
    statistics::{self, mcnemar, wilson},
};
use wb_sql::{
    benchmarks::judged::JudgedPrediction,
    exact::QueryHardness,
    execute::prediction_of_line,
    spider::{SqlQuery, parse},
};

use super::{answers::AnsweredQuery, inputs::RagInputs, retrieve::Retrieved};
use crate::{RagConfig, Result, paired::bootstrap_difference, predict::Predictor, schema_recall, skeleton_match};

/// An arm with everything that came of it.
pub struct JudgedArm {
    /// Its name.
    pub name: String,
    /// Examples that were retrieved; none without retrieval.
    pub retrieved: Option<Retrieved>,
    /// Its queries.
    pub answered: Vec<AnsweredQuery>,
    /// Verdicts on these.
    pub judged: Vec<JudgedPrediction>,
    /// Cost of a language model.
    pub cost: Option<RagCost>,
}

/// Standard errors of 95 %.
const Z: f64 = 1.96;

/// The whole record.
pub fn record(
    (name, protocols, facts): (&str, [String; 2], Vec<String>),
    config: &RagConfig,
    inputs: &RagInputs,
    predictor: &Predictor<'_>,
    arms: &[JudgedArm],
    seed: Seed,
) -> Result<Rag> {
    let mut pairs = Vec::new();
    for (at, second) in arms.iter().enumerate() {
        for first in &arms[..at] {
            pairs.push(pair("em", first, second, &|judged| Some(judged.exact.em()), seed)?);
            pairs.push(pair("ex", first, second, &JudgedPrediction::ex, seed)?);
        }
    }
    Ok(Rag {
        name: name.to_owned(),
        protocols,
        facts,
        top_k: config.top_k,
        arms: arms.iter().map(|one| arm(config, inputs, predictor, one)).collect::<Result<_>>()?,
        pairs,
        questions: (0..inputs.asked.len()).map(|at| question(inputs, arms, at)).collect(),
    })
}

fn share(all: impl Iterator<Item = Option<bool>>) -> RagShare {
    let known: Vec<bool> = all.flatten().collect();
    let (right, of) = (known.iter().filter(|right| **right).count(), known.len());
    let value = if of == 0 { 0.0 } else { right as f64 / of as f64 };
    RagShare { right: right as u64, of: of as u64, value, interval: wilson(right, of, Z) }
}

fn arm(config: &RagConfig, inputs: &RagInputs, predictor: &Predictor<'_>, arm: &JudgedArm) -> Result<RagArm> {
    let of = |which: &dyn Fn(&JudgedPrediction) -> Option<bool>| share(arm.judged.iter().map(which));
    let level = |level: QueryHardness| {
        let own = || arm.judged.iter().filter(move |judged| judged.exact.hardness == Some(level));
        RagLevel {
            hardness: level.to_string(),
            em: share(own().map(|judged| Some(judged.exact.em()))),
            ex: share(own().map(JudgedPrediction::ex)),
        }
    };
    let [tables, columns] = recall(config, inputs, arm)?;
    let guarded = arm.retrieved.as_ref().map(|retrieved| retrieved.guarded).unwrap_or_default();
    Ok(RagArm {
        name: arm.name.clone(),
        retriever: arm.retrieved.as_ref().map(|retrieved| retrieved.by.clone()),
        em: of(&|judged| Some(judged.exact.em())),
        ex: of(&JudgedPrediction::ex),
        parsed: of(&|judged| Some(judged.exact.parsed)),
        valid: of(&JudgedPrediction::runs),
        levels: QueryHardness::ALL.map(level).into(),
        table_recall: tables,
        column_recall: columns,
        forms: arm.retrieved.as_ref().map(|retrieved| forms(inputs, predictor, retrieved)),
        leaks_removed: guarded.removed as u64,
        short: guarded.short as u64,
        without_prediction: arm.answered.iter().filter(|answered| answered.sql.is_empty()).count() as u64,
        cost: arm.cost.clone(),
    })
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    statistics::mean(&values.collect::<Vec<_>>())
}

/// Means over the questions whose gold query can be read.
fn recall(config: &RagConfig, inputs: &RagInputs, arm: &JudgedArm) -> Result<[f64; 2]> {
    let mut all = Vec::new();
    for (at, gold) in inputs.gold.iter().enumerate() {
        let (Some(gold), asked) = (gold, &inputs.asked[at]) else { continue };
        let catalog = inputs.catalogs.get(&asked.db_id)?;
        let predicted: Option<SqlQuery> =
            parse(&prediction_of_line(&arm.answered[at].sql, config.compat), &catalog.schema, config.compat).ok();
        // A prediction that cannot be read names nothing.
        all.push(schema_recall(gold, &predicted.unwrap_or_default(), catalog));
    }
    Ok([mean(all.iter().map(|one| one.tables)), mean(all.iter().map(|one| one.columns))])
}

fn forms(inputs: &RagInputs, predictor: &Predictor<'_>, retrieved: &Retrieved) -> RagForms {
    let matches: Vec<_> = inputs
        .gold
        .iter()
        .zip(&retrieved.rankings)
        .filter_map(|(gold, ranking)| {
            let queries: Vec<_> = ranking.hits.iter().map(|hit| predictor.query(hit.document)).collect();
            Some(skeleton_match(gold.as_ref()?, &queries))
        })
        .collect();
    let counted = |right: bool| f64::from(u8::from(right));
    RagForms {
        f1_at_1: mean(matches.iter().map(|one| one.f1_at_1)),
        f1_at_3: mean(matches.iter().map(|one| one.f1_at_3)),
        exact_at_1: mean(matches.iter().map(|one| counted(one.exact_at_1))),
        exact_at_3: mean(matches.iter().map(|one| counted(one.exact_at_3))),
    }
}

/// Two arms on the questions on which both have a verdict.
fn pair(
    metric: &str,
    first: &JudgedArm,
    second: &JudgedArm,
    of: &dyn Fn(&JudgedPrediction) -> Option<bool>,
    seed: Seed,
) -> Result<RagPair> {
    let both = first.judged.iter().zip(&second.judged).filter_map(|(a, b)| Some((of(a)?, of(b)?)));
    let (a, b): (Vec<bool>, Vec<bool>) = both.unzip();
    let test = mcnemar(&a, &b)?;
    let rate = |all: &[bool]| mean(all.iter().map(|right| f64::from(u8::from(*right))));
    Ok(RagPair {
        metric: metric.to_owned(),
        first: first.name.clone(),
        second: second.name.clone(),
        only_first: test.only_first as u64,
        only_second: test.only_second as u64,
        p_value: test.p_value,
        difference: rate(&b) - rate(&a),
        interval: bootstrap_difference(&a, &b, seed),
    })
}

fn question(inputs: &RagInputs, arms: &[JudgedArm], at: usize) -> RagQuestion {
    let asked = &inputs.asked[at];
    RagQuestion {
        index: inputs.places[at],
        db_id: asked.db_id.clone(),
        question: asked.question.clone(),
        gold: asked.gold.clone(),
        hardness: arms.first().and_then(|arm| arm.judged[at].exact.hardness).map(|hardness| hardness.to_string()),
        arms: arms.iter().map(|arm| answer(inputs, arm, at)).collect(),
    }
}

fn answer(inputs: &RagInputs, arm: &JudgedArm, at: usize) -> RagAnswer {
    let (answered, judged) = (&arm.answered[at], &arm.judged[at]);
    let hits = arm.retrieved.as_ref().map_or(&[][..], |retrieved| &retrieved.rankings[at].hits);
    let example = |hit: &wb_core::Hit| {
        let document = &inputs.examples[hit.document];
        RagExample {
            id: document.id.clone(),
            score: hit.score,
            db_id: document.db_id.clone(),
            question: document.question.clone(),
            sql: document.sql.clone(),
        }
    };
    RagAnswer {
        sql: answered.sql.clone(),
        message: answered.message.clone().or_else(|| judged.message()),
        em: judged.exact.em(),
        ex: judged.ex(),
        status: judged.status.name().to_owned(),
        examples: hits.iter().map(example).collect(),
    }
}
