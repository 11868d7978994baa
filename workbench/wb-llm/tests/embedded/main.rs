//! The embedded engine against llama.cpp's server: kept answers, and a live server where `WB_PYTHON` names a Python with
//! `xllamacpp` (scripts/golden-llm.py says which).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use wb_llm::{
    ChatRequest, FinishReason, LlmEngine, Message, SamplingConfig,
    engines::embedded::{EmbeddedConfig, EmbeddedEngine, header::Header, tokens::GgufTokenizer},
};

mod controls;
mod damaged;
mod limits;
mod live;
#[path = "../odd/mod.rs"]
mod odd;

const GREEDY: SamplingConfig = SamplingConfig { temperature: 0.0, top_p: 1.0, max_tokens: 80 };

#[derive(Deserialize)]
struct Golden {
    greedy: std::collections::BTreeMap<String, Vec<Greedy>>,
    tokens: std::collections::BTreeMap<String, Vec<Tokenized>>,
    chats: std::collections::BTreeMap<String, Vec<Chat>>,
    splits: std::collections::BTreeMap<String, Vec<Tokenized>>,
    chat_greedy: std::collections::BTreeMap<String, Vec<ChatGreedy>>,
    default_greedy: String,
}

#[derive(Deserialize)]
struct Greedy {
    prompt: String,
    text: String,
    finish: String,
    usage: [u64; 2],
}

#[derive(Deserialize)]
struct Tokenized {
    text: String,
    parsed: Vec<u32>,
    begun: Vec<u32>,
    plain: Vec<u32>,
}

#[derive(Deserialize)]
struct Chat {
    messages: Vec<Message>,
    prompt: String,
}

#[derive(Deserialize)]
struct ChatGreedy {
    messages: Vec<Message>,
    text: String,
    usage: [u64; 2],
}

fn golden_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn golden() -> Golden {
    serde_json::from_slice(&std::fs::read(golden_folder().join("llm.json")).unwrap()).unwrap()
}

fn skipped(test: &str, why: &str) {
    // Past the capture of test output, so that skipped tests are seen and counted.
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {why}");
}

/// The file of a model of the golden values; counted as skipped where it is not there.
fn model(name: &str, test: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let models = std::env::var_os("WB_SHARED").map_or_else(beside, PathBuf::from).join("models");
    let path = match name {
        "stories" => models.join("stories260K.gguf"),
        "qwen2" => models.join("wb-tiny-random-qwen2-v4096.gguf"),
        other => golden_folder().join(format!("tiny-{other}.gguf")),
    };
    if path.is_file() {
        return Some(path);
    }
    skipped(test, &format!("no model at {}", path.display()));
    None
}

fn opened(path: &Path, context: u32) -> Result<EmbeddedEngine, wb_llm::Error> {
    EmbeddedEngine::open(&EmbeddedConfig { model: path.into(), context, ..Default::default() })
}

fn open(path: &Path) -> EmbeddedEngine {
    opened(path, 512).unwrap()
}

#[test]
fn greedy_texts_are_the_servers() {
    for (name, cases) in golden().greedy {
        let Some(path) = model(&name, "greedy_texts_are_the_servers") else { continue };
        let engine = open(&path);
        for case in cases {
            match engine.complete(&case.prompt, &GREEDY, 1) {
                Ok(answer) => {
                    let (usage, what) = ([answer.usage.prompt, answer.usage.completion], &case.prompt);
                    assert_eq!(answer.text, case.text, "{name}: {what:?}");
                    assert_eq!(usage, case.usage.map(Some), "{name}: {what:?}");
                    assert_eq!(answer.finish == FinishReason::Stop, case.finish == "stop", "{name}: {what:?}");
                }
                Err(e) => panic!("{name}: {:?}: {e}", case.prompt),
            }
        }
    }
}

#[test]
fn a_story_is_the_servers_as_it_comes() {
    let Some(path) = model("stories", "a_story_is_the_servers_as_it_comes") else { return };
    assert_eq!(open(&path).complete("Once upon a time", &GREEDY, 1).unwrap().text, golden().default_greedy);
}

#[test]
fn answers_in_a_conversation_are_the_servers() {
    for (name, cases) in golden().chat_greedy {
        let Some(path) = model(&name, "answers_in_a_conversation_are_the_servers") else { continue };
        let engine = open(&path);
        for case in cases {
            let request = ChatRequest {
                messages: case.messages,
                sampling: SamplingConfig { max_tokens: 40, ..GREEDY },
                seed: 1,
                schema: None,
            };
            let answer = engine.chat(&request).unwrap();
            assert_eq!(answer.text, case.text, "{name}");
            assert_eq!([answer.usage.prompt, answer.usage.completion], case.usage.map(Some), "{name}");
        }
    }
}

fn same(name: &str, tokens: &GgufTokenizer, cases: &[Tokenized]) {
    for case in cases {
        assert_eq!(tokens.encode(&case.text, false, true, None), case.parsed, "{name}: {:?}", case.text);
        assert_eq!(tokens.encode(&case.text, true, true, None), case.begun, "{name}: {:?}", case.text);
        assert_eq!(tokens.encode(&case.text, false, false, None), case.plain, "{name}: {:?}", case.text);
    }
}

#[test]
fn tokens_are_the_servers() {
    for (name, cases) in golden().tokens {
        let Some(path) = model(&name, "tokens_are_the_servers") else { continue };
        same(&name, open(&path).tokens(), &cases);
    }
}

#[test]
fn words_are_split_as_the_server_splits_them() {
    let Some(path) = model("qwen2", "words_are_split_as_the_server_splits_them") else { return };
    let mut header = Header::read(&mut std::fs::File::open(path).unwrap()).unwrap();
    for (kind, cases) in golden().splits {
        header
            .metadata
            .insert("tokenizer.ggml.pre".into(), wb_llm::engines::embedded::header::GgufValue::Text(kind.clone()));
        same(&kind, &GgufTokenizer::of(&header, 1 << 20).unwrap(), &cases);
    }
}

#[test]
fn tokens_say_what_was_said() {
    for name in ["stories", "qwen2", "qwen3"] {
        let Some(path) = model(name, "tokens_say_what_was_said") else { continue };
        let engine = open(&path);
        for case in &golden().tokens[name] {
            let bytes: Vec<u8> = case.plain.iter().flat_map(|id| engine.tokens().bytes(*id)).collect();
            let said = String::from_utf8_lossy(&bytes).into_owned();
            // SentencePiece puts a space before a text, and writes U+2581 for every space.
            let spaced = format!(" {}", case.text).replace('\u{2581}', " ");
            let wanted = if name == "stories" && !case.text.is_empty() { &spaced } else { &case.text };
            assert_eq!(&said, wanted, "{name}");
        }
    }
}

#[test]
fn templates_are_written_as_the_server_writes_them() {
    for (name, cases) in golden().chats {
        let Some(path) = model(&name, "templates_are_written_as_the_server_writes_them") else { continue };
        let engine = open(&path);
        for case in cases {
            assert_eq!(engine.prompt(&case.messages).unwrap(), case.prompt, "{name}");
        }
    }
}

#[test]
fn forty_answers_of_a_babbler_follow_their_schema() {
    let schema = serde_json::json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 5, "maxLength": 60},
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 12}, "minItems": 1, "maxItems": 3},
            "kind": {"enum": ["one", "two \"quoted\"", "drei ü"]},
            "ok": {"type": "boolean"},
            "n": {"type": "integer", "minimum": 1, "maximum": 5},
        },
        "required": ["query", "tags", "kind", "ok", "n"],
        "additionalProperties": false,
    });
    for name in ["qwen2", "qwen3", "stories"] {
        let Some(path) = model(name, "forty_answers_of_a_babbler_follow_their_schema") else { continue };
        let engine = open(&path);
        let mut different = std::collections::BTreeSet::new();
        for seed in 0..40 {
            let messages = vec![Message { role: wb_llm::Role::User, content: "Once upon a time".into() }];
            let sampling = SamplingConfig { temperature: 1.0, top_p: 1.0, max_tokens: 400 };
            let answer = engine.chat(&ChatRequest { messages, sampling, seed, schema: Some(schema.clone()) }).unwrap();
            assert_eq!(answer.finish, FinishReason::Stop, "{name} {seed}: {}", answer.text);
            let value: serde_json::Value = serde_json::from_str(&answer.text).unwrap();
            let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
            assert_eq!(keys, ["query", "tags", "kind", "ok", "n"], "{name} {seed}");
            let letters = |v: &serde_json::Value| v.as_str().unwrap().chars().count();
            assert!((5..=60).contains(&letters(&value["query"])), "{name} {seed}: {}", answer.text);
            let tags = value["tags"].as_array().unwrap();
            let (fits, text) = (tags.iter().all(|t| letters(t) <= 12), &answer.text);
            assert!((1..=3).contains(&tags.len()) && fits, "{name} {seed}: {text}");
            assert!(["one", "two \"quoted\"", "drei ü"].contains(&value["kind"].as_str().unwrap()), "{name} {seed}");
            let n = value["n"].as_i64().unwrap();
            assert!(value["ok"].is_boolean() && (1..=5).contains(&n), "{name} {seed}: {text}");
            different.insert(answer.text);
        }
        assert_eq!(different.len(), 40, "{name}");
    }
}

#[test]
fn a_nonce_comes_back_through_its_schema() {
    let Some(path) = model("qwen3", "a_nonce_comes_back_through_its_schema") else { return };
    let messages = vec![Message { role: wb_llm::Role::User, content: "Say it.".into() }];
    let schema = Some(serde_json::json!({"const": "wb-3f9a"}));
    let answer = open(&path).chat(&ChatRequest { messages, sampling: GREEDY, seed: 1, schema }).unwrap();
    assert_eq!((answer.text.as_str(), answer.finish), ("\"wb-3f9a\"", FinishReason::Stop));
}
