//! Which model a server has: the hash of its file where the server says where it lies, else known to be unknown.

use std::path::Path;

use serde_json::{Value, json};
use wb_llm::{
    EngineInfo, LlmEngine,
    engines::http::{HttpConfig, HttpEngine},
};

use crate::{server::FaultServer, support::config};

/// What is known of a server that says this of its model.
fn known(path: &str, size: Value, owner: &str) -> EngineInfo {
    let model = json!({"id": "m.gguf", "owned_by": owner, "meta": {"n_ctx": 512, "size": size}});
    let props = json!({"total_slots": 2, "model_path": path, "chat_template": "{{ messages }}", "build_info": "b1",
        "default_generation_settings": {"n_ctx": 512}});
    let server = FaultServer::start_with_routes(vec![("/v1/models", json!({"data": [model]})), ("/props", props)]);
    HttpEngine::open(&config(&server.url()), &HttpConfig::default()).unwrap().info().clone()
}

#[test]
fn the_file_of_a_servers_model_is_hashed_where_it_is_at_hand_and_unknown_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let (bytes, other) = (vec![7; 5000], vec![8; 5000]);
    let first = write("m.gguf", &bytes);
    let hash = |bytes: &[u8]| Some(blake3::hash(bytes).to_hex().to_string());
    let found = known(&first, json!(4000), "llamacpp");
    assert_eq!((found.file_hash.clone(), found.build.as_str(), found.context), (hash(&bytes), "b1", Some(512)));
    // Another file of the same name and size is another model; the same file elsewhere is not.
    let moved = known(&write("n.gguf", &bytes), json!(4000), "llamacpp");
    assert_eq!((&moved.model_hash, &moved.file_hash), (&found.model_hash, &found.file_hash));
    write("m.gguf", &other);
    let changed = known(&first, json!(4000), "llamacpp");
    assert_eq!(changed.file_hash, hash(&other));
    assert_ne!(changed.model_hash, found.model_hash);

    // Not here, not a file, not the file that was loaded, or not said.
    let relative = Path::new(&first).file_name().unwrap().to_str().unwrap();
    let unknown = [
        known("/no/such/m.gguf", json!(4000), "llamacpp"),
        known(folder.path().to_str().unwrap(), json!(4000), "llamacpp"),
        known(&first, json!(5001), "llamacpp"),
        known(&first, Value::Null, "llamacpp"),
        known(relative, json!(4000), "llamacpp"),
        known("", json!(4000), "llamacpp"),
        known(&first, json!(4000), "vllm"),
    ];
    for info in &unknown {
        assert_eq!(info.file_hash, None);
        assert_eq!(info.model_hash.len(), 64);
        assert_eq!(serde_json::to_value(info).unwrap()["file_hash"], Value::Null);
    }
    // What a ledger of an earlier version says is read, as unknown.
    let mut old = serde_json::to_value(&found).unwrap();
    old.as_object_mut().unwrap().remove("file_hash");
    assert_eq!(serde_json::from_value::<EngineInfo>(old).unwrap().file_hash, None);
}
