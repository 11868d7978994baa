//! The cost of a run's questions, summed where answers are written down, so that it is what the ledger says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    ledger::{LedgerRecord, SERVER},
    request::Usage,
};

/// Tokens that were counted, and answers whose engine did not count: unknown is not 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TokenTotals {
    /// Tokens of prompts.
    pub prompt: u64,
    /// Tokens of prompts that were taken from a cache.
    pub cached: u64,
    /// Tokens of answers.
    pub completion: u64,
    /// Answers without a count.
    pub uncounted: u64,
}

impl TokenTotals {
    /// Adds one answer.
    pub fn add(&mut self, usage: &Usage) {
        self.prompt += usage.prompt.unwrap_or(0);
        self.cached += usage.cached.unwrap_or(0);
        self.completion += usage.completion.unwrap_or(0);
        self.uncounted += u64::from(usage.prompt.is_none() || usage.completion.is_none());
    }

    /// Adds a sum.
    pub fn add_all(&mut self, other: &Self) {
        self.prompt += other.prompt;
        self.cached += other.cached;
        self.completion += other.completion;
        self.uncounted += other.uncounted;
    }
}

/// The account of one recipe.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RecipeAccount {
    /// Questions with an answer.
    pub answered: u64,
    /// Questions that were given up.
    pub rejected: u64,
    /// Number of given up questions by the reason's class.
    pub reasons: BTreeMap<String, u64>,
    /// Requests that failed and were sent again.
    pub retries: u64,
    /// Answers that did not fit and were asked for again, or given up.
    pub wasted_answers: u64,
    /// Tokens of the answers that count.
    pub tokens: TokenTotals,
    /// Tokens of the answers that did not fit.
    pub wasted: TokenTotals,
}

/// The account of a ledger, by recipe.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LedgerAccount(pub BTreeMap<String, RecipeAccount>);

impl LedgerAccount {
    /// Adds a record.
    pub fn add(&mut self, record: &LedgerRecord) {
        let Some(question) = record.question() else { return };
        let account = self.0.entry(question.recipe.clone()).or_default();
        let cost = match record {
            LedgerRecord::Opened(_) => return,
            LedgerRecord::Answered(answered) => {
                account.answered += 1;
                account.tokens.add(&answered.usage);
                &answered.cost
            }
            LedgerRecord::Rejected(rejected) => {
                account.rejected += 1;
                *account.reasons.entry(rejected.class.clone()).or_default() += 1;
                &rejected.cost
            }
        };
        account.retries += u64::from(cost.retries);
        account.wasted_answers += u64::from(cost.wasted_answers);
        account.wasted.add_all(&cost.wasted);
    }

    /// Takes back that the server failed at a question, which now has this record. What that cost stays.
    pub(crate) fn reopen(&mut self, record: &LedgerRecord) {
        let Some(account) = record.question().and_then(|question| self.0.get_mut(&question.recipe)) else { return };
        account.rejected = account.rejected.saturating_sub(1);
        if let Some(n) = account.reasons.get_mut(SERVER) {
            *n -= 1;
            if *n == 0 {
                account.reasons.remove(SERVER);
            }
        }
    }

    /// All recipes together.
    pub fn total(&self) -> RecipeAccount {
        let mut total = RecipeAccount::default();
        for account in self.0.values() {
            total.answered += account.answered;
            total.rejected += account.rejected;
            for (reason, n) in &account.reasons {
                *total.reasons.entry(reason.clone()).or_default() += n;
            }
            total.retries += account.retries;
            total.wasted_answers += account.wasted_answers;
            total.tokens.add_all(&account.tokens);
            total.wasted.add_all(&account.wasted);
        }
        total
    }
}
