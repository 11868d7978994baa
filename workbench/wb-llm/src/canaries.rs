//! Questions whose answer is known, asked once at the start: what an engine claims is looked at before it is believed.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wb_core::{Seed, fingerprint::Fingerprint};

use crate::{
    Error, Failure, Result,
    engine::LlmEngine,
    neutral::neutral,
    request::{ChatRequest, Completion, Message, Role, SamplingConfig, Usage},
    retry,
};

/// The findings about an engine; part of the run's manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Canaries {
    /// Effect of a schema on what is generated.
    pub schema: Enforced,
    /// Effect of a control token in a message.
    pub control_tokens: ControlEffect,
    /// Repeatability of the answers to the same request.
    pub repeats: Repeats,
    /// Effect of the seed.
    #[serde(default)]
    pub seeds: Seeds,
    /// True where answers say what they cost.
    pub counts_tokens: bool,
}

/// The effect of a schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforced {
    /// The one answer that the schema allows came back.
    Enforced,
    /// Another one did: answers are checked on our side, and more will be rejected.
    Ignored,
    /// The request with a schema was refused, with this message.
    Refused(String),
}

/// The effect of a control token in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlEffect {
    /// Works as one: text that is not our own has to be neutral.
    Live,
    /// Text like any other.
    Text,
    /// The counts of tokens do not tell.
    Unknown,
}

/// Repeatability of the answers to the same request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeats {
    /// Twice in a row and four times at once.
    Exact,
    /// Repeats in a row, but not with others at the same time.
    BatchDependent,
    /// Differs even in a row.
    Never,
}

/// The effect of a seed at a temperature of 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seeds {
    /// Equal seeds give equal answers, other seeds other ones.
    Followed,
    /// The answer is the same whatever the seed: the candidates of a question will all be equal, and to ask again for one
    /// that does not fit helps nothing.
    Ignored,
    /// Unknown: not even the same seed gives the same answer, or an earlier version did not look.
    #[default]
    Unknown,
}

/// Tries of one question.
const TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_millis(500);

/// Asks them all: 11 short requests.
pub fn run(engine: &Arc<dyn LlmEngine>, seed: Seed, interrupt: &AtomicBool) -> Result<Canaries> {
    let ask = |request: &ChatRequest| answered(engine.as_ref(), request, interrupt);
    let failed = |failure: Failure| match interrupt.load(Ordering::Relaxed) {
        true => Error::Stopped,
        false => Error::failed(format!("asked for the first time: {failure}")),
    };
    let request = |content: &str, temperature: f32, max_tokens: u32, schema: Option<Value>| ChatRequest {
        messages: vec![Message { role: Role::User, content: content.to_owned() }],
        sampling: SamplingConfig { temperature, top_p: 1.0, max_tokens },
        seed: 1,
        schema,
    };

    let plain = ask(&request("hi", 0.0, 1, None)).map_err(failed)?;
    let counts_tokens = plain.usage.prompt.is_some() && plain.usage.completion.is_some();

    // In no message, only in the schema: an engine that repeats what it is told does not pass.
    let nonce = format!("wb-{}", &Fingerprint::of_bytes(&seed.0.to_le_bytes()).as_str()[..8]);
    let constrained = request("Write a short poem.", 0.0, 64, Some(json!({"const": nonce})));
    let schema = match ask(&constrained) {
        Ok(answer) if serde_json::from_str::<Value>(answer.text.trim()).is_ok_and(|value| value == nonce) => {
            Enforced::Enforced
        }
        Ok(_) => Enforced::Ignored,
        Err(Failure::Unusable(_)) => Enforced::Ignored,
        Err(Failure::Stop(what) | Failure::Reject(what)) => Enforced::Refused(what),
        Err(failure) => return Err(failed(failure)),
    };

    let marked = "hi <|im_end|>";
    let prompt = |content: &str| -> Result<Option<u64>> {
        Ok(ask(&request(content, 0.0, 1, None)).map_err(failed)?.usage.prompt)
    };
    let control_tokens = controls(plain.usage, prompt(marked)?, prompt(&neutral(marked))?);

    let repeated = request("Tell a story about a dog.", 1.0, 24, None);
    let first = ask(&repeated).map_err(failed)?.text;
    let in_a_row = ask(&repeated).map_err(failed)?.text == first;
    let at_once: Vec<std::result::Result<Completion, Failure>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| ask(&repeated))).collect();
        let lost = || Err(Failure::Stop("a thread that asks has died".into()));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| lost())).collect()
    });
    let mut equal_at_once = true;
    for answer in at_once {
        equal_at_once &= answer.map_err(failed)?.text == first;
    }
    let repeats = match (in_a_row, equal_at_once) {
        (false, _) => Repeats::Never,
        (true, false) => Repeats::BatchDependent,
        (true, true) => Repeats::Exact,
    };
    let other = ask(&ChatRequest { seed: 2, ..repeated }).map_err(failed)?.text;
    let seeds = match (repeats, other == first) {
        (Repeats::Never, _) => Seeds::Unknown,
        (_, true) => Seeds::Ignored,
        (_, false) => Seeds::Followed,
    };
    Ok(Canaries { schema, control_tokens, repeats, seeds, counts_tokens })
}

/// A control token is one or two tokens more; as text it is several, and broken it is at least as many.
fn controls(plain: Usage, marked: Option<u64>, broken: Option<u64>) -> ControlEffect {
    let (Some(plain), Some(marked), Some(broken)) = (plain.prompt, marked, broken) else {
        return ControlEffect::Unknown;
    };
    match (marked.saturating_sub(plain), broken.saturating_sub(plain)) {
        (1..=2, 4..) => ControlEffect::Live,
        (3.., 3..) => ControlEffect::Text,
        _ => ControlEffect::Unknown,
    }
}

fn answered(engine: &dyn LlmEngine, request: &ChatRequest, interrupt: &AtomicBool) -> Result<Completion, Failure> {
    let stop = || interrupt.load(Ordering::Relaxed);
    let mut tried = 1;
    loop {
        match engine.chat(request) {
            Err(Failure::Retry { .. }) if tried < TRIES && retry::sleep(PAUSE * tried, &stop) => tried += 1,
            end => return end,
        }
    }
}
