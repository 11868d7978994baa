//! The desk where questions are asked: in portions, so that memory holds one portion of prompts, each into the account.

use rayon::prelude::*;
use wb_core::Progress;
use wb_llm::{LlmQuestion, Reply};

use super::AskedModel;
use crate::{Result, SynthesisAccount};

/// Questions that are held at once: enough that the end of a portion, where slots fall idle, does not count.
pub const PORTION: usize = 2048;

/// Asks, adds up, and tells how far it is.
pub(crate) struct Desk<'a> {
    model: AskedModel<'a>,
    progress: &'a mut dyn FnMut(Progress),
    /// The costs so far.
    pub(crate) account: SynthesisAccount,
}

impl<'a> Desk<'a> {
    pub(crate) fn new(model: &AskedModel<'a>, progress: &'a mut dyn FnMut(Progress)) -> Self {
        Self { model: *model, progress, account: SynthesisAccount::default() }
    }

    /// The replies to `total` questions, in their order.
    pub(crate) fn ask(
        &mut self,
        stage: &'static str,
        total: usize,
        question: &(dyn Fn(usize) -> Result<LlmQuestion> + Sync),
    ) -> Result<Vec<Reply>> {
        let mut replies = Vec::with_capacity(total);
        for from in (0..total).step_by(PORTION) {
            let to = total.min(from + PORTION);
            let questions = (from..to).into_par_iter().map(question).collect::<Result<Vec<LlmQuestion>>>()?;
            let mut done = from;
            let progress = &mut *self.progress;
            let portion = self.model.ask.ask_all(&questions, &mut |_, _| {
                done += 1;
                progress(Progress::new(stage, done, total));
            })?;
            if portion.len() != questions.len() {
                let what = format!("{} replies to {} questions", portion.len(), questions.len());
                return Err(wb_core::Error::failed(what));
            }
            for (question, reply) in questions.iter().zip(&portion) {
                self.account.add(question, reply);
            }
            replies.extend(portion);
        }
        self.model.ask.settle()?;
        Ok(replies)
    }
}

/// A rejection's reason without its particulars, to count by.
pub(crate) fn reason(reason: &str) -> String {
    let head = reason.split([':', '(', '\n']).next().unwrap_or_default().trim();
    let head = if head.is_empty() { "no reason given" } else { head };
    format!("given up: {}", wb_data::text::shorten(head, 60))
}
