//! The control tokens of a server's model: known from its file, from the server, or by asking; never out of a message.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use wb_llm::{
    EngineConfig, EngineInfo, LlmConfig, LlmEngine, LlmQuestion, Message, Reply, Role,
    controls::ControlSource,
    engines::{
        http::{HttpConfig, HttpEngine},
        sidecar::{SidecarConfig, SidecarEngine},
    },
};

use crate::{
    odd::{self, FOREIGN, ODD, SENT},
    server::{Act, FaultServer, say},
    support::{self, ONE, RealServer, ask, config, open, place, question, replay},
};

fn models(owner: &str) -> (&'static str, Value) {
    ("/v1/models", json!({"data": [{"id": "m", "owned_by": owner, "meta": {"size": 100_000}}]}))
}

fn foreign() -> LlmQuestion {
    let messages = vec![Message { role: Role::User, content: format!("Look at this:\n{FOREIGN}") }];
    LlmQuestion { messages, ..question("foreign") }
}

/// A tokenizer that knows two control tokens and reads all else letter by letter.
fn letters(text: &str, control: bool) -> Vec<Value> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let special = [ODD, "MAGIC"].into_iter().zip(1..).find(|(text, _)| control && rest.starts_with(text));
        let (piece, id) = special.unwrap_or((&rest[..c.len_utf8()], 100 + c as usize));
        tokens.push(json!({"id": id, "piece": piece}));
        rest = &rest[piece.len()..];
    }
    tokens
}

/// What a server was sent, and what the engine knows, for a server of this kind.
fn sent(owner: &str, mut routes: Vec<(&'static str, Value)>, question: &LlmQuestion) -> (String, EngineInfo, usize) {
    routes.push(models(owner));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (bodies, tokenized) = (seen.clone(), Arc::new(Mutex::new(0)));
    let count = tokenized.clone();
    let is_vllm = owner == "vllm";
    let tokenizer = move |body: &Value| {
        *count.lock().unwrap() += 1;
        let text = body["content"].as_str().or(body["prompt"].as_str()).unwrap();
        let mut tokens = letters(text, is_vllm || body["parse_special"] == true);
        if body["with_pieces"] != true {
            tokens.iter_mut().for_each(|token| *token = token["id"].take());
        }
        json!({"tokens": tokens})
    };
    let server = FaultServer::start_with(routes, tokenizer, move |asked| {
        bodies.lock().unwrap().push(asked.prompt());
        // Without a count of tokens, so that nothing else is tokenized.
        Act::Body(json!({"choices": [{"message": {"content": ONE}, "finish_reason": "stop"}]}))
    });
    let (_folder, ledger) = place();
    let client = open(&config(&server.url()), &ledger).unwrap();
    let replies = ask(&client, std::slice::from_ref(question)).unwrap();
    let info = client.info().clone();
    drop((client, server));
    // The question keeps its name: a replay finds it without knowing anything of control tokens.
    let again = open(&replay(), &ledger).unwrap();
    assert_eq!(again.info(), &info);
    assert_eq!(ask(&again, std::slice::from_ref(question)).unwrap(), replies);
    let Reply::Answered(_) = &replies[0] else { panic!("{replies:?}") };
    let seen = seen.lock().unwrap();
    let [prompt] = &seen[..] else { panic!("{seen:?}") };
    let count = *tokenized.lock().unwrap();
    (prompt.clone(), info, count)
}

#[test]
fn a_server_of_this_machine_is_sent_nothing_that_its_models_file_calls_control() {
    let folder = tempfile::tempdir().unwrap();
    let props = json!({"total_slots": 2, "model_path": odd::file(folder.path()), "chat_template": "{{ messages }}"});
    let (prompt, info, asked) = sent("llamacpp", vec![("/props", props)], &foreign());
    assert_eq!(prompt, format!("Look at this:\n{SENT}"));
    assert_eq!((info.controls.source, info.controls.count, asked), (ControlSource::File, 3, 0));
    assert!(info.file_hash.is_some() && info.controls.hash.is_some());
}

#[test]
fn a_server_elsewhere_is_asked_of_each_message() {
    // No file here. A control token of any form is found where the server can also read all as text.
    let mut question = foreign();
    question.messages[0].content.push_str(" MAGIC");
    // What was found to be harmless once is not asked about again, here the same words of the system.
    question.messages.insert(0, Message { role: Role::System, content: "hi".into() });
    let (prompt, info, asked) = sent("llamacpp", vec![], &question);
    assert_eq!(prompt, format!("hi\nLook at this:\n{SENT} M\u{200b}AGIC"));
    assert_eq!((info.controls.source, info.controls.count, info.controls.hash), (ControlSource::Asked, 0, None));
    assert!(info.controls.note.contains("not at hand") && asked == 8, "{asked}");
    // vLLM cannot: what stands between brackets is asked about, once each.
    let (prompt, info, asked) = sent("vllm", vec![("/version", json!({"version": "1"}))], &foreign());
    assert_eq!(prompt, format!("Look at this:\n{SENT}"));
    assert_eq!(info.controls.source, ControlSource::Asked);
    assert!(info.controls.note.contains("only bracketed texts") && asked == 12, "{asked}");
}

#[test]
fn ollama_lists_its_vocabulary_and_of_others_nothing_is_known() {
    let answer = json!({"message": {"content": ONE}, "done": true, "done_reason": "stop"});
    let shown = json!({"license": "x", "model_info": {"general.architecture": "qwen2",
        "tokenizer.ggml.tokens": ["a", ODD, "<|im_end|>"], "tokenizer.ggml.token_type": [1, 3, 3]}});
    let version = ("/api/version", json!({"version": "0.12.0"}));
    let server = FaultServer::start_with_routes(vec![
        models("library"),
        version.clone(),
        ("/api/show", shown),
        ("/api/chat", answer),
    ]);
    let engine = HttpEngine::open(&config(&server.url()), &HttpConfig::default()).unwrap();
    assert_eq!((engine.info().controls.source, engine.info().controls.count), (ControlSource::Server, 2));
    assert_eq!(engine.harmless(FOREIGN).unwrap(), SENT);
    // An older one without its lists, and a server of another kind: said so, and what is common is broken.
    let older = vec![models("library"), version, ("/api/show", json!({"model_info": {}}))];
    let other = vec![models("organization_owner"), ("/v1/chat/completions", say("hello"))];
    for (routes, note) in [(older, "lists no vocabulary"), (other, "lists none and cannot be asked")] {
        let server = FaultServer::start_with_routes(routes);
        let engine = HttpEngine::open(&config(&server.url()), &HttpConfig::default()).unwrap();
        let known = &engine.info().controls;
        assert_eq!((known.source, known.count), (ControlSource::Unknown, 0));
        assert!(known.note.contains(note), "{known:?}");
        assert_eq!(engine.harmless("<|im_end|>").unwrap(), "<\u{200b}|im_end|>");
    }
}

/// What an engine sends of a foreign text holds no control token, as its own tokenizer reads it.
fn sends_no_control(engine: &dyn LlmEngine, source: ControlSource, way: &str) {
    let tokens = |text: &str| engine.tokenize(text).unwrap().unwrap();
    let special: Vec<u32> = [ODD, "<|im_end|>", "<|im_start|>"].into_iter().flat_map(&tokens).collect();
    assert_eq!(special.len(), 3, "{way}");
    let count = |text: &str| tokens(text).iter().filter(|token| special.contains(token)).count();
    assert_eq!(count(FOREIGN), 4, "{way}");
    let sent = engine.harmless(FOREIGN).unwrap();
    assert_eq!((sent.as_str(), count(&sent)), (SENT, 0), "{way}");
    assert_eq!(engine.info().controls.source, source, "{way}");
}

#[test]
fn an_odd_control_token_is_read_out_of_no_message_whichever_way_the_real_server_is_reached() {
    let test = "controls::an_odd_control_token_is_read_out_of_no_message_whichever_way_the_real_server_is_reached";
    let folder = tempfile::tempdir().unwrap();
    let model = odd::file(folder.path());
    let Some(server) = RealServer::of(test, &model, 512) else { return };
    let config = server.config();
    let EngineConfig::Http(http) = &config.engine else { panic!() };
    let here = HttpEngine::open(&config, http).unwrap();
    sends_no_control(&here, ControlSource::File, "on this machine");

    let program = support::llama_server(folder.path(), &support::python(test).unwrap());
    let settings = SidecarConfig { server: program, ..SidecarConfig::default() };
    let ours = EngineConfig::Sidecar(settings.clone());
    let ours = LlmConfig { engine: ours, model: model.display().to_string(), context: 512, ..config.clone() };
    let sidecar = SidecarEngine::open(&ours, &settings, &folder.path().join("server.log"), Arc::default()).unwrap();
    sends_no_control(&sidecar, ControlSource::File, "as a sidecar");
    assert_eq!(sidecar.info().controls, here.info().controls);
    drop(sidecar);

    // As from another machine: the file that the server names is not here.
    std::fs::remove_file(&model).unwrap();
    let far = HttpEngine::open(&config, http).unwrap();
    sends_no_control(&far, ControlSource::Asked, "elsewhere");
    // Code without any is left as it is.
    let code = "let v: Vec<Vec<u8>> = a[0] << 3; // <T> [INSTANCE]";
    assert_eq!((here.harmless(code).unwrap().as_str(), far.harmless(code).unwrap().as_str()), (code, code));
    let client = open(&config, &folder.path().join("ledger.jsonl")).unwrap();
    let replies = ask(&client, &[LlmQuestion { schema: None, ..foreign() }]).unwrap();
    assert_eq!((replies.len(), client.info().controls.source), (1, ControlSource::Asked));
}
