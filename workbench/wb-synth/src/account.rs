//! The token account: what each recipe and stage cost, added up in the order of the questions.
//!
//! Every key is counted once, as in the ledger, so that the sums here are the ledger's sums over the same answers.
//! What failed attempts cost is known to the ledger alone.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};
use wb_llm::{LlmQuestion, Reply};

/// Counts and tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QuestionCosts {
    /// Questions with different keys.
    pub questions: u64,
    /// Questions with an answer.
    pub answered: u64,
    /// Questions that were given up.
    pub rejected: u64,
    /// Answers that needed more than one attempt.
    pub retried: u64,
    /// Tokens of prompts, where the engine said how many.
    pub prompt: u64,
    /// Tokens of prompts that were taken from a cache.
    pub cached: u64,
    /// Tokens of answers, where the engine said how many.
    pub completion: u64,
    /// Answers whose tokens the engine did not say: their cost is in none of the sums.
    pub unknown: u64,
}

impl QuestionCosts {
    fn add(&mut self, other: &Self) {
        self.questions += other.questions;
        self.answered += other.answered;
        self.rejected += other.rejected;
        self.retried += other.retried;
        self.prompt += other.prompt;
        self.cached += other.cached;
        self.completion += other.completion;
        self.unknown += other.unknown;
    }
}

/// The costs of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SynthesisAccount {
    /// Pairs that stayed, by who made them: `model`, `annotation`, `rules`.
    pub pairs: BTreeMap<String, u64>,
    /// Costs by recipe, whose last part is the stage. Rules ask nothing.
    pub recipes: BTreeMap<String, QuestionCosts>,
    #[serde(skip)]
    seen: HashSet<String>,
}

impl SynthesisAccount {
    /// Adds one question with its reply.
    pub fn add(&mut self, question: &LlmQuestion, reply: &Reply) {
        let key = match reply {
            Reply::Answered(answer) => &answer.key,
            Reply::Rejected(rejection) => &rejection.key,
        };
        if !self.seen.insert(key.clone()) {
            return;
        }
        let costs = self.recipes.entry(question.recipe.clone()).or_default();
        costs.questions += 1;
        match reply {
            Reply::Rejected(_) => costs.rejected += 1,
            Reply::Answered(answer) => {
                costs.answered += 1;
                costs.retried += u64::from(answer.attempt > 0);
                costs.prompt += answer.usage.prompt.unwrap_or(0);
                costs.cached += answer.usage.cached.unwrap_or(0);
                costs.completion += answer.usage.completion.unwrap_or(0);
                costs.unknown += u64::from(answer.usage.prompt.is_none() || answer.usage.completion.is_none());
            }
        }
    }

    /// Adds what was asked elsewhere; the questions of both must be different ones.
    pub fn join(&mut self, other: Self) {
        for (recipe, costs) in other.recipes {
            self.recipes.entry(recipe).or_default().add(&costs);
        }
        for (maker, pairs) in other.pairs {
            *self.pairs.entry(maker).or_default() += pairs;
        }
        self.seen.extend(other.seen);
    }

    /// All recipes together.
    pub fn total(&self) -> QuestionCosts {
        sum(self.recipes.values())
    }

    /// Costs by stage: `generate`, `judge`.
    pub fn stages(&self) -> BTreeMap<&str, QuestionCosts> {
        let mut stages: BTreeMap<&str, QuestionCosts> = BTreeMap::new();
        for (recipe, costs) in &self.recipes {
            // `text2code/web_query@3f2a/generate`, and `annotate@3f2a`, which is a stage by itself.
            let stage = recipe.rsplit('/').next().unwrap_or(recipe);
            let stage = stage.split('@').next().unwrap_or(stage);
            stages.entry(stage).or_default().add(costs);
        }
        stages
    }
}

fn sum<'a>(all: impl Iterator<Item = &'a QuestionCosts>) -> QuestionCosts {
    all.fold(QuestionCosts::default(), |mut total, costs| {
        total.add(costs);
        total
    })
}

#[cfg(test)]
mod tests {
    use wb_llm::{Answer, Rejection, Usage};

    use super::*;

    #[test]
    fn every_key_is_counted_once_and_unknown_is_not_zero() {
        let question = |recipe: &str| LlmQuestion { recipe: recipe.into(), item: "a".into(), ..LlmQuestion::default() };
        let answer = |key: &str, prompt: Option<u64>| {
            let usage = Usage { prompt, cached: Some(3), completion: Some(5) };
            Reply::Answered(Answer { key: key.into(), attempt: 1, usage, ..Answer::default() })
        };
        let mut account = SynthesisAccount::default();
        account.add(&question("a@1/generate"), &answer("k1", Some(10)));
        account.add(&question("a@1/generate"), &answer("k1", Some(10)));
        account.add(&question("b@1/generate"), &answer("k2", None));
        let rejected = Reply::Rejected(Rejection { key: "k3".into(), reason: "length".into() });
        account.add(&question("a@1/judge"), &rejected);
        let total = account.total();
        assert_eq!((total.questions, total.answered, total.rejected, total.retried), (3, 2, 1, 2));
        assert_eq!((total.prompt, total.cached, total.completion, total.unknown), (10, 6, 10, 1));
        assert_eq!(account.stages()["generate"].questions, 2);
        assert_eq!(account.stages()["judge"].rejected, 1);
        let mut said = SynthesisAccount::default();
        said.add(&question("annotate@2"), &answer("k4", Some(1)));
        account.join(said);
        assert_eq!((account.stages()["annotate"].answered, account.total().prompt), (1, 11));
    }
}
