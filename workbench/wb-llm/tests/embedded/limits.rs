//! What an answer may take, what files may lie about, and on how many threads it is reckoned.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use wb_core::Seed;
use wb_llm::{
    Client, EngineConfig, Failure, LlmConfig, LlmEngine, LlmQuestion, Message, Reply, Role, SamplingConfig,
    ask::Ask,
    engines::embedded::{EmbeddedConfig, EmbeddedEngine, header::Header},
};

use super::{
    GREEDY,
    damaged::{changed, golden, numbers, text, texts},
    golden_folder, model, opened,
};

fn limited(path: &Path, context: u32, limit_s: f64) -> EmbeddedEngine {
    EmbeddedEngine::open(&EmbeddedConfig { model: path.into(), context, limit_s, ..Default::default() }).unwrap()
}

/// In the middle of the prompt, and in the middle of the answer.
#[test]
fn a_question_that_takes_too_long_ends_near_its_deadline() {
    let Some(path) = model("stories", "a_question_that_takes_too_long_ends_near_its_deadline") else { return };
    let usual = limited(&path, 512, 600.0);
    let (begun, whole) =
        (Instant::now(), usual.complete("Once", &SamplingConfig { max_tokens: 500, ..GREEDY }, 1).unwrap());
    let time = begun.elapsed();
    assert!(whole.usage.completion > Some(100));
    // A quarter of what it takes.
    let limit = time / 4;
    let engine = limited(&path, 512, limit.as_secs_f64());
    let begun = Instant::now();
    let failure = engine.complete("Once", &SamplingConfig { max_tokens: 500, ..GREEDY }, 1).unwrap_err();
    let took = begun.elapsed();
    let Failure::Reject(what) = &failure else { panic!("{failure:?}") };
    assert!(
        what.contains("2 of 2 tokens of the prompt were read") && what.contains("of at most 500 written"),
        "{what}"
    );
    assert!(what.contains("llm.timeouts.request_s"), "{what}");
    assert!(took >= limit && took < limit + time / 2 + Duration::from_millis(200), "{took:?} of {limit:?}");
    // What it could not end does not stay with it.
    let short = SamplingConfig { max_tokens: 3, ..GREEDY };
    assert_eq!(engine.complete("Once", &short, 1).unwrap(), usual.complete("Once", &short, 1).unwrap());

    let engine = limited(&path, 512, 1e-9);
    let Err(Failure::Reject(what)) = engine.complete(&"once upon a time ".repeat(80), &GREEDY, 1) else { panic!() };
    assert!(what.contains("0 of ") && what.contains("and 0 of at most 80 written"), "{what}");
    assert!(EmbeddedEngine::open(&EmbeddedConfig { model: path, limit_s: 0.0, ..Default::default() }).is_err());
}

/// As a run sees it: a question that is too long is given up with its numbers, and the next one is answered.
#[test]
fn a_prompt_beyond_the_context_is_given_up_with_its_numbers() {
    let Some(path) = model("qwen2", "a_prompt_beyond_the_context_is_given_up_with_its_numbers") else { return };
    let folder = tempfile::tempdir().unwrap();
    let engine: EngineConfig = serde_json::from_value(serde_json::json!({"embedded": {"threads": 2}})).unwrap();
    let config =
        LlmConfig { engine, model: path.display().to_string(), context: 256, canaries: false, ..LlmConfig::default() };
    let client = Client::open(&config, Seed(1), &folder.path().join("ledger.jsonl"), Default::default()).unwrap();
    let question = |item: &str, content: String| LlmQuestion {
        recipe: "r@1".into(),
        item: item.into(),
        sample: 0,
        messages: vec![Message { role: Role::User, content }],
        sampling: SamplingConfig { temperature: 1.0, top_p: 1.0, max_tokens: 40 },
        schema: Some(serde_json::json!({"enum": ["yes", "no"]})),
    };
    let all = [question("long", "let x = 1;\n".repeat(400)), question("short", "let x = 1;".into())];
    let replies = client.ask_all(&all, &mut |_, _| {}).unwrap();
    let Reply::Rejected(rejection) = &replies[0] else { panic!("{replies:?}") };
    assert!(rejection.reason.contains("leaves no room for an answer in a context of 256"), "{}", rejection.reason);
    let count: u32 = rejection.reason.split_whitespace().find_map(|word| word.parse().ok()).unwrap();
    assert!(count > 1000, "{}", rejection.reason);
    let Reply::Answered(answer) = &replies[1] else { panic!("{replies:?}") };
    assert!(["\"yes\"", "\"no\""].contains(&answer.text.as_str()), "{answer:?}");
    let info = client.info();
    assert_eq!((info.file_hash.as_ref(), client.account().total().reasons["prompt"]), (Some(&info.model_hash), 1));
}

#[test]
fn the_number_of_threads_changes_no_answer() {
    for name in ["stories", "qwen2", "qwen3"] {
        let Some(path) = model(name, "the_number_of_threads_changes_no_answer") else { continue };
        let said = |threads: usize| {
            let config = EmbeddedConfig { model: path.clone(), context: 512, threads, ..Default::default() };
            let engine = EmbeddedEngine::open(&config).unwrap();
            let sampling = SamplingConfig { temperature: 1.0, top_p: 0.9, max_tokens: 60 };
            let long = "Once upon a time ".repeat(30);
            [("Once", 1), (long.as_str(), 2)].map(|(prompt, seed)| {
                (engine.complete(prompt, &GREEDY, seed).unwrap(), engine.complete(prompt, &sampling, seed).unwrap())
            })
        };
        let one = said(1);
        for threads in [0, 2, 5] {
            assert_eq!(said(threads), one, "{name}, {threads} threads");
        }
    }
    let many = EmbeddedConfig { model: golden("tiny-qwen3.gguf"), threads: 2000, ..Default::default() };
    assert!(EmbeddedEngine::open(&many).err().unwrap().to_string().contains("threads: got 2000"));
}

/// Refused with a word, or usable: never a panic, never a hang.
fn refused_or_usable(what: &str, opened: Result<EmbeddedEngine, String>) -> bool {
    let begun = Instant::now();
    let refused = match opened {
        Err(error) => {
            assert!(!error.is_empty() && error.len() < 2000, "{what}: {error}");
            true
        }
        Ok(engine) => {
            let sampling = SamplingConfig { temperature: 1.0, top_p: 1.0, max_tokens: 6 };
            drop(engine.tokenize("def f(x):\n    return <|im_end|> ü"));
            drop(engine.complete("abc def", &sampling, 1));
            for schema in [serde_json::json!({"const": "wb"}), serde_json::json!({"type": "string", "maxLength": 9})] {
                let messages = vec![Message { role: Role::User, content: "say it <|im_start|>".into() }];
                let request =
                    wb_llm::ChatRequest { messages, sampling: sampling.clone(), seed: 1, schema: Some(schema) };
                drop(engine.chat(&request));
            }
            false
        }
    };
    assert!(begun.elapsed() < Duration::from_secs(10), "{what}: {:?}", begun.elapsed());
    refused
}

#[test]
fn a_tokenizer_that_lies_is_refused_or_harmless() {
    let engine = super::open(&golden("tiny-qwen3.gguf"));
    let real = engine.tokens().vocabulary.texts.clone();
    let n = real.len();
    let with = |edit: &dyn Fn(&mut Vec<String>)| {
        let mut all = real.clone();
        edit(&mut all);
        texts(&all)
    };
    let cases: Vec<(&str, &str, Vec<u8>, Option<bool>)> = vec![
        ("a token as long as a book", "tokens", with(&|all| all[300] = "a".repeat(1 << 20)), Some(false)),
        ("all tokens long", "tokens", with(&|all| all.iter_mut().for_each(|t| *t = t.repeat(400))), None),
        (
            "tokens of 256 and 257 bytes",
            "tokens",
            with(&|all| {
                all[300] = "b".repeat(256);
                all[301] = "b".repeat(257);
            }),
            Some(false),
        ),
        ("all tokens equal", "tokens", with(&|all| all.iter_mut().for_each(|t| "a".clone_into(t))), None),
        ("all tokens empty", "tokens", with(&|all| all.iter_mut().for_each(String::clear)), None),
        ("no token", "tokens", texts(&[]), Some(true)),
        ("one token", "tokens", texts(&["a".into()]), None),
        ("one token too many", "tokens", with(&|all| all.extend((0..4000).map(|i| format!("x{i}")))), Some(true)),
        (
            "tokens of zeros and marks",
            "tokens",
            with(&|all| all[40] = "\0\u{FFFD}\u{FDD0}\u{10FFFF}\u{FF}".into()),
            None,
        ),
        ("one token fewer than kinds", "tokens", with(&|all| drop(all.pop())), Some(true)),
        ("kinds of nothing", "token_type", numbers(&vec![99; n]), Some(true)),
        ("negative kinds", "token_type", numbers(&vec![-1; n]), Some(true)),
        ("all control", "token_type", numbers(&vec![3; n]), None),
        ("all bytes", "token_type", numbers(&vec![6; n]), None),
        ("all unknown", "token_type", numbers(&vec![2; n]), None),
        ("all unused", "token_type", numbers(&vec![5; n]), None),
        ("too few kinds", "token_type", numbers(&[1; 3]), Some(true)),
        ("merges of one piece", "merges", texts(&["abc".into()]), Some(true)),
        ("merges of three pieces", "merges", texts(&["a b c".into()]), Some(true)),
        ("merges of nothing", "merges", texts(&[" ".into(), " ".into()]), None),
        (
            "merges to what is no token",
            "merges",
            texts(&["a b".into(), "ab c".into(), "\u{1F600} z".into()]),
            Some(false),
        ),
        ("no merges", "merges", texts(&[]), Some(false)),
        ("an end that is text", "eos_token_id", numbers(&[1]), Some(true)),
        // The charsmap of a tokenizer that is not this one: not read, whatever it is.
        (
            "a charsmap of noise",
            "precompiled_charsmap",
            {
                let noise: Vec<u8> = (0..5000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
                [0u32.to_le_bytes().as_slice(), &5000u64.to_le_bytes(), &noise].concat()
            },
            Some(false),
        ),
    ];
    for (what, key, value, expected) in cases {
        let refused = refused_or_usable(what, changed(&format!("tokenizer.ggml.{key}"), 9, &value));
        assert!(expected.is_none_or(|expected| expected == refused), "{what}: {refused}");
    }
    let charsmap = changed("tokenizer.ggml.precompiled_charsmap", 8, &text("\u{0}\u{1}garbage")).unwrap();
    assert_eq!(charsmap.tokenize("abc").unwrap(), engine.tokenize("abc").unwrap());
}

/// Every size that the file names, at values that no model has.
#[test]
fn absurd_sizes_are_refused() {
    let keys = ["context_length", "embedding_length", "block_count", "feed_forward_length", "attention.head_count"];
    let more = ["attention.head_count_kv", "attention.key_length", "attention.value_length", "rope.dimension_count"];
    let begun = Instant::now();
    for key in keys.into_iter().chain(more) {
        for value in [0u32, 1, 7, 1 << 16, 1 << 31, u32::MAX] {
            let refused = refused_or_usable(key, changed(&format!("qwen3.{key}"), 4, &value.to_le_bytes()));
            // A context may be longer than is used, and as short as one likes.
            assert!(refused || (key == "context_length" && value > 0), "{key}: {value}");
        }
        let long = changed(&format!("qwen3.{key}"), 10, &u64::MAX.to_le_bytes());
        assert!(refused_or_usable(key, long), "{key}");
    }
    assert!(begun.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_tensor_of_another_size_is_refused_by_its_name() {
    let whole = std::fs::read(golden_folder().join("tiny-qwen3.gguf")).unwrap();
    let header = Header::read(&mut std::io::Cursor::new(&whole)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("changed.gguf");
    for name in header.tensors.keys() {
        let key = text(name);
        let at = whole.windows(key.len()).position(|window| window == key).unwrap() + key.len() + 4;
        let rows = u64::from_le_bytes(whole[at..at + 8].try_into().unwrap());
        for rows in [rows - 1, rows + 1, rows / 2, 2 * rows, 0, 1 << 40, u64::MAX] {
            let mut bytes = whole.clone();
            bytes[at..at + 8].copy_from_slice(&rows.to_le_bytes());
            std::fs::write(&path, bytes).unwrap();
            let error = opened(&path, 64).err().unwrap_or_else(|| panic!("{name} of {rows} was taken")).to_string();
            // A table of embeddings of another length is another vocabulary, and that is what does not fit then; and one
            // that reaches into its neighbors takes more than the file has.
            let named = error.contains(name.as_str()) || name == "token_embd.weight" || error.contains("overlap");
            assert!(named, "{name} of {rows}: {error}");
        }
    }
}

/// Answers of llama.cpp's server to prompts of thousands of tokens.
#[derive(serde::Deserialize)]
struct LongContext {
    context: u32,
    cases: Vec<LongCase>,
}

#[derive(serde::Deserialize)]
struct LongCase {
    sentence: String,
    times: usize,
    text: String,
    prompt_tokens: u64,
    completion_tokens: usize,
}

#[test]
fn a_llama_reads_prompts_of_more_than_4096_tokens_as_the_server_does() {
    let Some(path) = model("stories", "a_llama_reads_prompts_of_more_than_4096_tokens_as_the_server_does") else {
        return;
    };
    let golden: LongContext =
        serde_json::from_slice(&std::fs::read(super::golden_folder().join("long-context.json")).unwrap()).unwrap();
    // The file says that the model was trained for 512 tokens; a copy says more, as in scripts/golden-long-context.py.
    let mut bytes = std::fs::read(path).unwrap();
    let key = b"llama.context_length";
    let value = bytes.windows(key.len()).position(|window| window == key).unwrap() + key.len() + 4;
    bytes[value..value + 4].copy_from_slice(&golden.context.to_le_bytes());
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("long.gguf");
    std::fs::write(&copy, bytes).unwrap();
    let engine = limited(&copy, golden.context, 600.0);
    for case in golden.cases {
        let sampling = SamplingConfig { temperature: 0.0, top_p: 1.0, max_tokens: case.completion_tokens as u32 };
        let answer = engine.complete(&case.sentence.repeat(case.times), &sampling, 1).unwrap();
        assert_eq!(answer.usage.prompt, Some(case.prompt_tokens));
        assert!(case.prompt_tokens > 4096);
        assert_eq!(answer.text, case.text);
    }
}
