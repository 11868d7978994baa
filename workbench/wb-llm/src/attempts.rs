//! One question to its end: requests that fail are sent again, answers that do not fit are asked for again.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Instant,
};

use wb_core::Seed;

use crate::{
    Error, Failure,
    ask::{Answer, Rejection, Reply},
    client::Job,
    config::{RetriesConfig, duration},
    engine::LlmEngine,
    keys::attempt_seed,
    ledger::{AnswerCost, AnsweredRecord, LedgerRecord, RecordedQuestion, Rejected, SERVER},
    request::{ChatRequest, Completion, FinishReason, Message, Role, SamplingConfig, Usage},
    retry::{self, Breaker},
    schema::Schema,
};

/// Asks an engine.
pub(crate) struct Asker {
    engine: Arc<dyn LlmEngine>,
    retries: RetriesConfig,
    seed: Seed,
    interrupt: Arc<AtomicBool>,
    breaker: Breaker,
    /// Waits so far: each is drawn by its number.
    waits: AtomicU64,
}

/// The end of a question.
pub(crate) enum Ended {
    /// Answered, or given up.
    Record(LedgerRecord),
    /// Somebody asked to stop.
    Stopped,
    /// Failure after which no question can be answered.
    Failed(String),
}

/// The reason for which an answer is not taken, with a class to count by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unfit {
    pub class: &'static str,
    pub reason: String,
}

enum Requested {
    /// An answer with the milliseconds that it took.
    Answer(Completion, u32),
    /// A lost answer; another draw may be taken.
    Lost(Unfit),
    Unfit(Unfit),
    Stopped,
    Failed(String),
}

impl Asker {
    pub fn new(engine: Arc<dyn LlmEngine>, retries: RetriesConfig, seed: Seed, interrupt: Arc<AtomicBool>) -> Self {
        Self { engine, retries, seed, interrupt, breaker: Breaker::default(), waits: AtomicU64::new(0) }
    }

    pub fn engine(&self) -> &Arc<dyn LlmEngine> {
        &self.engine
    }

    pub fn interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Asks until an answer fits. The likeliest answer (temperature 0) does not change with the seed and is asked for
    /// once; one that was cut at its length is asked for once more with twice the tokens.
    pub fn ask(&self, job: &Job, stop: &dyn Fn() -> bool) -> Ended {
        let question = &job.question;
        let mut cost = AnswerCost::default();
        let attempts = if question.sampling.temperature == 0.0 { 1 } else { self.retries.answers };
        let mut last = Unfit { class: "other", reason: "never asked".into() };
        let mut harmless = None;
        let (mut attempt, mut longer) = (0, false);
        while attempt < attempts {
            let mut sampling = question.sampling.clone();
            if longer {
                sampling.max_tokens = sampling.max_tokens.saturating_mul(2);
            }
            let seed = attempt_seed(self.seed, &question.item, question.sample, attempt);
            let mut send = || {
                if harmless.is_none() {
                    harmless = Some(self.harmless(&question.messages)?);
                }
                let messages = harmless.clone().unwrap_or_default();
                let schema = question.schema.clone();
                self.engine.chat(&ChatRequest { messages, sampling: sampling.clone(), seed, schema })
            };
            let (unfit, usage) = match self.request(&mut send, &mut cost, stop) {
                Requested::Answer(completion, took) => match fits(&completion, job.schema.as_deref()) {
                    Ok(()) => return answered(job, (attempt, seed), completion, took, cost),
                    Err(unfit) => (unfit, completion.usage),
                },
                Requested::Lost(unfit) => (unfit, Usage::default()),
                Requested::Unfit(unfit) => return rejected(job, unfit, cost),
                Requested::Stopped => return Ended::Stopped,
                Requested::Failed(what) => return Ended::Failed(what),
            };
            cost.wasted_answers += 1;
            cost.wasted.add(&usage);
            if unfit.class != "length" {
                attempt += 1;
            } else if longer {
                return rejected(job, unfit, cost);
            } else {
                longer = true;
            }
            last = unfit;
        }
        if attempts > 1 {
            last.reason = format!("{} (the last of {attempts} attempts)", last.reason);
        }
        rejected(job, last, cost)
    }

    /// Messages without control tokens of the model, whoever wrote them.
    fn harmless(&self, messages: &[Message]) -> Result<Vec<Message>, Failure> {
        let broken = |message: &Message| {
            self.engine.harmless(&message.content).map(|content| Message { role: message.role, content })
        };
        messages.iter().map(broken).collect()
    }

    /// One request, sent again while the server fails.
    fn request(
        &self,
        send: &mut dyn FnMut() -> Result<Completion, Failure>,
        cost: &mut AnswerCost,
        stop: &dyn Fn() -> bool,
    ) -> Requested {
        let begin = Instant::now();
        let mut tried = 0;
        loop {
            if stop() {
                return Requested::Stopped;
            }
            let asked = Instant::now();
            let (mut what, after) = match send() {
                Ok(completion) => {
                    self.breaker.count(false);
                    let took = u32::try_from(asked.elapsed().as_millis()).unwrap_or(u32::MAX);
                    return Requested::Answer(completion, took);
                }
                Err(Failure::Reject(reason)) => {
                    self.breaker.count(false);
                    return Requested::Unfit(Unfit { class: "prompt", reason });
                }
                Err(Failure::Unusable(reason)) => {
                    self.breaker.count(false);
                    return Requested::Lost(Unfit { class: "unusable", reason });
                }
                Err(Failure::Stop(what)) => return self.failed(&what),
                Err(Failure::Retry { what, after }) => (what, after),
            };
            if self.breaker.count(true) {
                return self.failed(&format!("more than half of the last 50 requests failed, the last with: {what}"));
            }
            let number = self.waits.fetch_add(1, Ordering::Relaxed);
            let pause = retry::wait(&self.retries, tried, after, self.seed, number);
            tried += 1;
            let late = begin.elapsed() + pause > duration(self.retries.deadline_s);
            if let (true, Some(after)) = (late, after) {
                let (asked, deadline) = (after.as_secs_f64(), self.retries.deadline_s);
                what = format!("{what}; it asks to wait {asked:.0} s, and llm.retries.deadline_s is {deadline:.0}");
            }
            if tried >= self.retries.tries || late {
                return self.given_up(&what, tried, begin);
            }
            cost.retries += 1;
            if !retry::sleep(pause, stop) {
                return Requested::Stopped;
            }
        }
    }

    /// After the last try: whether it is this question, or the server. One that still answers others cannot answer this
    /// one now, which is written down as such and asked again by the next run; else nothing is, and the run ends.
    fn given_up(&self, what: &str, tried: u32, begin: Instant) -> Requested {
        let seconds = begin.elapsed().as_secs_f64();
        let content = "Say yes.".to_owned();
        let alive = self.engine.chat(&ChatRequest {
            messages: vec![Message { role: Role::User, content }],
            sampling: SamplingConfig { temperature: 0.0, top_p: 1.0, max_tokens: 1 },
            seed: 0,
            schema: None,
        });
        let what = format!("no answer in {tried} tries and {seconds:.0} s, the last: {what}");
        match alive {
            Ok(_) => Requested::Unfit(Unfit { class: SERVER, reason: what }),
            Err(_) => self.failed(&what),
        }
    }

    /// The end of the run, with where to look.
    fn failed(&self, what: &str) -> Requested {
        let place = self.engine.place();
        Requested::Failed(format!(
            "{what}; asked: {place}; see that it runs and what its own log says, the same command then goes on from here"
        ))
    }
}

fn answered(job: &Job, (attempt, seed): (u32, u32), completion: Completion, took: u32, cost: AnswerCost) -> Ended {
    let Completion { text, usage, .. } = completion;
    Ended::Record(LedgerRecord::Answered(Box::new(AnsweredRecord {
        question: RecordedQuestion::of(job.key.clone(), &job.question),
        attempt,
        seed,
        text,
        usage,
        cost,
        milliseconds: Some(took),
    })))
}

fn rejected(job: &Job, unfit: Unfit, cost: AnswerCost) -> Ended {
    Ended::Record(LedgerRecord::Rejected(Box::new(Rejected {
        question: RecordedQuestion::of(job.key.clone(), &job.question),
        class: unfit.class.into(),
        reason: unfit.reason,
        cost,
    })))
}

fn fits(completion: &Completion, schema: Option<&Schema>) -> Result<(), Unfit> {
    let unfit = |class, reason: String| Err(Unfit { class, reason });
    match &completion.finish {
        FinishReason::Stop => {}
        FinishReason::Length => return unfit("length", "cut at the number of tokens allowed".into()),
        FinishReason::Other(word) => return unfit("other", format!("ended for the reason `{word}`, expected `stop`")),
    }
    if completion.truncated {
        return unfit("prompt", "the engine cut the prompt".into());
    }
    if completion.text.trim().is_empty() {
        return unfit("empty", "an empty answer".into());
    }
    read_value(&completion.text, schema).map(|_| ())
}

/// The error of a run that answered all questions but some that the server failed at.
pub(crate) fn unanswered(first: &Rejected, (open, all): (usize, usize)) -> String {
    let Rejected { question: RecordedQuestion { recipe, item, sample, .. }, reason, .. } = first;
    format!(
        "the server failed at {open} of the last {all} questions, and what it answered is kept; the first is {recipe} of \
         {item}, sample {sample}: {reason}; mend the server, and the same command asks these again and nothing that is \
         answered; llm.retries.leave_out=true makes the data set without them"
    )
}

/// Makes the reply to a question out of its record. An answer that does not fit its schema cannot be in a ledger.
pub(crate) fn reply(record: LedgerRecord, schema: Option<&Schema>) -> crate::Result<Reply> {
    match record {
        LedgerRecord::Answered(answered) => {
            let AnsweredRecord { question, text, attempt, seed, usage, milliseconds, .. } = *answered;
            let key = question.key;
            let value = read_value(&text, schema).map_err(|unfit| {
                Error::failed(format!("the recorded answer to {key} does not fit: {}", unfit.reason))
            })?;
            Ok(Reply::Answered(Answer { key, text, value, attempt, seed, usage, milliseconds }))
        }
        LedgerRecord::Rejected(rejected) => {
            Ok(Reply::Rejected(Rejection { key: rejected.question.key, reason: rejected.reason }))
        }
        LedgerRecord::Opened(_) => Err(Error::failed("a record of a question is none")),
    }
}

/// The text as JSON, where there is a schema, and checked against it. Servers that do not enforce schemas like to put
/// JSON into a block of Markdown, which is taken off.
fn read_value(text: &str, schema: Option<&Schema>) -> Result<Option<serde_json::Value>, Unfit> {
    let Some(schema) = schema else { return Ok(None) };
    let value = serde_json::from_str(unfenced(text.trim()))
        .map_err(|error| Unfit { class: "not_json", reason: format!("not JSON: {error}") })?;
    schema.check(&value).map_err(|reason| Unfit { class: "schema", reason })?;
    Ok(Some(value))
}

fn unfenced(text: &str) -> &str {
    let inside = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    inside.and_then(|inside| inside.strip_suffix("```")).map_or(text, str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_read_out_of_a_block_and_nothing_else_is_forgiven() {
        let schema = Schema::parse(&serde_json::json!({"type": "integer"})).unwrap();
        for text in ["3", " 3\n", "```json\n3\n```", "```\n3```"] {
            assert_eq!(read_value(text, Some(&schema)).unwrap(), Some(3.into()), "{text}");
        }
        for (text, class) in [("3 4", "not_json"), ("Here: 3", "not_json"), ("\"3\"", "schema"), ("```3", "not_json")] {
            assert_eq!(read_value(text, Some(&schema)).unwrap_err().class, class, "{text}");
        }
    }
}
