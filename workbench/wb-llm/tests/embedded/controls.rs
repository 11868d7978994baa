//! The control tokens of a model run here are those of its file, and none comes out of a message.

use wb_llm::{ChatRequest, LlmEngine, Message, Role, SamplingConfig, controls::ControlSource};

use super::{GREEDY, odd, open};

#[test]
fn an_odd_control_token_of_the_file_is_read_out_of_no_message() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(&odd::file(folder.path()));
    let known = &engine.info().controls;
    assert_eq!((known.source, known.count, known.note.as_str()), (ControlSource::File, 3, ""));
    let special: Vec<u32> = engine.tokens().controls().map(|text| one(&engine, text)).collect();
    assert!(special.contains(&one(&engine, odd::ODD)), "{special:?}");
    let count = |tokens: &[u32]| tokens.iter().filter(|token| special.contains(token)).count();
    assert_eq!(count(&engine.tokenize(odd::FOREIGN).unwrap().unwrap()), 4);

    let sent = engine.harmless(odd::FOREIGN).unwrap();
    assert_eq!(sent, odd::SENT);
    assert_eq!(count(&engine.tokenize(&sent).unwrap().unwrap()), 0);
    // In a conversation there are those of the template, whatever is said; also where a caller did not ask.
    let prompt = |content: &str| {
        let content = content.to_owned();
        engine.prompt_tokens(&[Message { role: Role::User, content }]).unwrap()
    };
    for content in [odd::FOREIGN, &sent, "<<weird-one>>", "<<weird-one>"] {
        assert_eq!(count(&prompt(content)), count(&prompt("hi")), "{content}");
    }
    let messages = vec![Message { role: Role::User, content: sent }];
    let sampling = SamplingConfig { max_tokens: 3, ..GREEDY };
    assert!(engine.chat(&ChatRequest { messages, sampling, seed: 1, schema: None }).is_ok());
}

fn one(engine: &impl LlmEngine, text: &str) -> u32 {
    let tokens = engine.tokenize(text).unwrap().unwrap();
    let [one] = tokens[..] else { panic!("{text}: {tokens:?}") };
    one
}
