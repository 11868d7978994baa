//! Cost of a language model for an arm.

use wb_core::records::rag::RagCost;
use wb_llm::{Reply, Usage};

/// Sums over an arm's replies, those out of the ledger too.
#[derive(Debug, Default)]
pub struct ReplyCosts {
    record: RagCost,
    uncounted: bool,
    milliseconds: Vec<f64>,
}

impl ReplyCosts {
    /// Counts a reply.
    pub fn add(&mut self, reply: &Reply) {
        self.record.asked += 1;
        match reply {
            Reply::Rejected(_) => self.record.rejected += 1,
            Reply::Answered(answer) => {
                self.usage(answer.usage);
                self.milliseconds.extend(answer.milliseconds.map(f64::from));
            }
        }
    }

    fn usage(&mut self, usage: Usage) {
        let (Some(prompt), Some(completion)) = (usage.prompt, usage.completion) else {
            self.uncounted = true;
            return;
        };
        *self.record.prompt_tokens.get_or_insert(0) += prompt;
        *self.record.completion_tokens.get_or_insert(0) += completion;
    }

    /// Counts a query that was asked for again.
    pub fn repair(&mut self, runs: bool) {
        self.record.repairs += 1;
        self.record.repaired += u64::from(runs);
    }

    /// The sums.
    pub fn record(mut self) -> RagCost {
        if self.uncounted {
            (self.record.prompt_tokens, self.record.completion_tokens) = (None, None);
        }
        self.milliseconds.sort_by(f64::total_cmp);
        let last = self.milliseconds.len().saturating_sub(1) as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in the list")]
        let at = |share: f64| self.milliseconds.get((share * last).round() as usize).copied();
        (self.record.latency_median_ms, self.record.latency_p95_ms) = (at(0.5), at(0.95));
        self.record
    }
}

#[cfg(test)]
mod tests {
    use wb_llm::{Answer, Rejection};

    use super::*;

    fn answered(prompt: Option<u64>, milliseconds: u32) -> Reply {
        Reply::Answered(Answer {
            key: String::new(),
            text: String::new(),
            value: None,
            attempt: 0,
            seed: 0,
            usage: Usage { prompt, cached: None, completion: Some(2) },
            milliseconds: Some(milliseconds),
        })
    }

    #[test]
    fn tokens_and_times_are_those_of_all_replies() {
        let mut costs = ReplyCosts::default();
        for milliseconds in [30, 10, 20] {
            costs.add(&answered(Some(5), milliseconds));
        }
        costs.add(&Reply::Rejected(Rejection { key: String::new(), reason: String::new() }));
        costs.repair(true);
        costs.repair(false);
        let record = costs.record();
        assert_eq!((record.asked, record.rejected, record.repairs, record.repaired), (4, 1, 2, 1));
        assert_eq!((record.prompt_tokens, record.completion_tokens), (Some(15), Some(6)));
        assert_eq!((record.latency_median_ms, record.latency_p95_ms), (Some(20.0), Some(30.0)));
        let mut costs = ReplyCosts::default();
        costs.add(&answered(None, 1));
        costs.add(&answered(Some(1), 1));
        assert_eq!(costs.record().prompt_tokens, None);
        assert_eq!(ReplyCosts::default().record(), RagCost::default());
    }
}
