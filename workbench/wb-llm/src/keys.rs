//! The names of questions in a ledger, and the seeds of their attempts.

use wb_core::{Seed, fingerprint::Fingerprint};

use crate::{ask::LlmQuestion, engine::EngineInfo};

/// Servers read this seed as "a random one".
const RANDOM: u32 = u32::MAX;

/// The name of a question: a fingerprint of all that its answer depends on: the engine and its model, the recipe with
/// its version, the item and which of its candidates, every word of the conversation, how is drawn, the schema, and the
/// run's seed.
pub fn key(question: &LlmQuestion, info: &EngineInfo, seed: Seed) -> String {
    let mut builder = Fingerprint::builder();
    builder.text("wb-llm question 1").text(&info.engine).text(&info.model_hash).number(seed.0);
    builder.text(&question.recipe).text(&question.item).number(u64::from(question.sample));
    builder.number(question.messages.len() as u64);
    for message in &question.messages {
        builder.number(message.role as u64).text(&message.content);
    }
    let sampling = &question.sampling;
    builder.floats(&[sampling.temperature, sampling.top_p]).number(u64::from(sampling.max_tokens));
    match &question.schema {
        Some(schema) => builder.number(1).text(&schema.to_string()),
        None => builder.number(0),
    };
    builder.finish().as_str().to_owned()
}

/// The seed of an attempt: 32 bits of BLAKE3 of the run's seed, the item, the sample and the attempt; never the one
/// that servers take for "random".
pub fn attempt_seed(seed: Seed, item: &str, sample: u32, attempt: u32) -> u32 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.0.to_le_bytes()).update(&sample.to_le_bytes()).update(&attempt.to_le_bytes());
    hasher.update(item.as_bytes());
    let hash = hasher.finalize();
    let mut word = [0; 4];
    word.copy_from_slice(&hash.as_bytes()[..4]);
    remapped(u32::from_le_bytes(word))
}

fn remapped(seed: u32) -> u32 {
    if seed == RANDOM { 0 } else { seed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Message, Role};

    fn info() -> EngineInfo {
        EngineInfo { engine: "http".into(), model_hash: "h".into(), ..EngineInfo::default() }
    }

    #[test]
    fn whatever_changes_an_answer_changes_the_key_and_nothing_else_does() {
        let messages = vec![Message { role: Role::User, content: "ab".into() }];
        let question = LlmQuestion { recipe: "r".into(), item: "i".into(), messages, ..LlmQuestion::default() };
        let base = key(&question, &info(), Seed(1));
        let changes: [fn(&mut LlmQuestion, &mut EngineInfo, &mut Seed); 11] = [
            |q, _, _| q.recipe.push('x'),
            |q, _, _| q.item.push('x'),
            |q, _, _| q.sample = 1,
            |q, _, _| q.messages[0].content.push('c'),
            |q, _, _| q.messages[0].role = Role::System,
            |q, _, _| q.messages.push(Message { role: Role::User, content: String::new() }),
            |q, _, _| q.sampling.temperature = 0.0,
            |q, _, _| q.sampling.max_tokens = 1,
            |q, _, _| q.schema = Some(serde_json::json!({"type": "null"})),
            |_, info, _| info.model_hash.push('x'),
            |_, _, seed| seed.0 = 2,
        ];
        let mut keys = vec![base.clone()];
        for change in changes {
            let (mut question, mut info, mut seed) = (question.clone(), info(), Seed(1));
            change(&mut question, &mut info, &mut seed);
            keys.push(key(&question, &info, seed));
        }
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 12);
        let other = EngineInfo { build: "b2".into(), parallel: 9, context: Some(1), ..info() };
        assert_eq!(key(&question, &other, Seed(1)), base);
    }

    #[test]
    fn seeds_are_fixed_and_never_the_random_one() {
        let seed = |item: &str, sample, attempt| attempt_seed(Seed(7), item, sample, attempt);
        assert_eq!(seed("a", 0, 0), seed("a", 0, 0));
        assert!(seed("a", 0, 0) != seed("a", 1, 0) && seed("a", 0, 0) != seed("a", 0, 1));
        assert_ne!(seed("a", 0, 0), seed("b", 0, 0));
        assert_eq!((remapped(RANDOM), remapped(5)), (0, 5));
    }
}
