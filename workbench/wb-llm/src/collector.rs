//! Questions that nobody has answered yet, collected in place of being asked.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use wb_core::Seed;

use crate::{
    Client, EngineInfo, Error, Result,
    ask::{Ask, LlmQuestion, Rejection, Reply},
    keys,
};

/// Kind of the error of a stage whose questions are not all answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unanswered;

/// Answers what a ledger knows, and gives the other questions to whoever collects them, each once. A stage with such
/// questions ends in an error of the kind [`Unanswered`] after the last of them: a further run of the same work, by a ledger
/// with their answers, comes to its next stage.
pub struct Collector<'a> {
    known: Option<&'a Client>,
    /// Names questions while nothing is known of who will answer.
    nobody: EngineInfo,
    seed: Seed,
    collected: Mutex<Collected<'a>>,
}

struct Collected<'a> {
    keys: HashSet<String>,
    take: &'a mut (dyn FnMut(&LlmQuestion) -> Result<()> + Send),
}

impl<'a> Collector<'a> {
    /// Collects what a replay does not know; without one, everything.
    pub fn new(
        known: Option<&'a Client>,
        seed: Seed,
        take: &'a mut (dyn FnMut(&LlmQuestion) -> Result<()> + Send),
    ) -> Self {
        let collected = Mutex::new(Collected { keys: HashSet::new(), take });
        Self { known, nobody: EngineInfo::default(), seed, collected }
    }
}

impl Ask for Collector<'_> {
    fn ask_all(&self, questions: &[LlmQuestion], each: &mut dyn FnMut(usize, &Reply)) -> Result<Vec<Reply>> {
        let mut known = Vec::new();
        let mut is_known = Vec::with_capacity(questions.len());
        for question in questions {
            let knows = self.known.is_some_and(|client| client.knows(question));
            is_known.push(knows);
            if knows {
                known.push(question.clone());
            }
        }
        let known = match self.known {
            Some(client) => client.ask_all(&known, &mut |_, _| {})?,
            None => Vec::new(),
        };
        let mut known = known.into_iter();
        let mut collected = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        let Collected { keys, take } = &mut *collected;
        let mut replies = Vec::with_capacity(questions.len());
        for (place, question) in questions.iter().enumerate() {
            let reply = match is_known[place].then(|| known.next()).flatten() {
                Some(reply) => reply,
                None => {
                    let key = keys::key(question, &self.nobody, self.seed);
                    if !keys.contains(&key) {
                        take(question)?;
                        keys.insert(key.clone());
                    }
                    Reply::Rejected(Rejection { key, reason: "not asked yet".into() })
                }
            };
            each(place, &reply);
            replies.push(reply);
        }
        Ok(replies)
    }

    fn settle(&self) -> Result<()> {
        match self.collected.lock().unwrap_or_else(PoisonError::into_inner).keys.len() {
            0 => Ok(()),
            n => Err(Error::failed(format!("{n} questions are not answered")).of_kind(Unanswered)),
        }
    }
}
