//! Probing of a server: its dialect, its model, its window and its slots, by asking it.

use std::{
    fs::File,
    io::{ErrorKind, Read},
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use wb_core::fingerprint::Fingerprint;

use super::{
    controls::ServerControls,
    dialect::{Dialect, SelfDescription},
    replies::{Models, ServedModel},
    transport::Transport,
};
use crate::{Error, Failure, Result};

/// A server as it was found.
#[derive(Debug)]
pub struct ProbedServer {
    pub dialect: Dialect,
    pub model: String,
    pub model_hash: String,
    pub file_hash: Option<String>,
    pub context: Option<u32>,
    pub slots: Option<usize>,
    pub build: String,
    /// The model's control tokens.
    pub controls: ServerControls,
}

/// One of the small questions below.
const ONE: Duration = Duration::from_secs(5);
/// Times that one of them is asked before its answer is given up.
const TRIES: u32 = 3;
/// Between two looks at a server that is loading.
const PAUSE: Duration = Duration::from_millis(200);
/// Time for which a server may refuse connections before it is taken to be absent.
const ABSENT: Duration = Duration::from_secs(5);

/// Waits until the server has its model, at most `start`; `alive` is asked between two looks, and its error ends it.
pub fn wait(transport: &Transport, start: Duration, alive: &mut dyn FnMut() -> Result<bool>) -> Result<Option<Models>> {
    let begin = Instant::now();
    loop {
        alive()?;
        let loading = match transport.get::<Models>("/v1/models", ONE) {
            Ok(models) => return Ok(Some(models)),
            Err(Failure::Stop(what)) if what.contains(" answered 404") || what.contains(" answered 405") => {
                return Ok(None);
            }
            Err(Failure::Retry { what, .. }) => what,
            Err(failure) => return Err(Error::failed(failure.to_string())),
        };
        let starting = alive()?;
        // One that takes the connection and says nothing is there.
        let there = loading.contains(" answered ") || loading.contains("timeout: global");
        let absent = !starting && !there && begin.elapsed() >= ABSENT;
        if absent || begin.elapsed() >= start {
            let waited = begin.elapsed().as_secs_f64();
            let hint = absent.then_some("start it there, or give the address of another one in llm.base_url");
            let what = format!("no language model at {} after {waited:.0} s: {loading}", transport.address().root());
            return Err(Error::failed(what).with_hint_if(hint));
        }
        std::thread::sleep(PAUSE);
    }
}

/// Asks for all that is to be known. `dialect` and `model` are the configuration's; `alive` ends it as in [`wait`].
pub fn find(
    transport: &Transport,
    models: Option<Models>,
    (dialect, model): (Dialect, &str),
    alive: &mut dyn FnMut() -> Result<bool>,
) -> Result<ProbedServer> {
    let models = models.unwrap_or_default().data;
    let dialect = match dialect {
        Dialect::Probe => probe(transport, &models),
        set => set,
    };
    let entry = choose(&models, model, transport)?;
    let mut found = ProbedServer {
        dialect,
        model: entry.id.clone(),
        model_hash: String::new(),
        file_hash: None,
        context: entry.max_model_len,
        slots: None,
        build: String::new(),
        controls: ServerControls::unknown("this kind of server lists none and cannot be asked"),
    };
    let mut said = json!({"dialect": dialect, "model": file_name(&entry.id)});
    let about = dialect.self_description();
    let facts = match about.model {
        _ if about.route.is_empty() => None,
        Some(_) => answer(transport, about.route, alive)?,
        // The model is the same without.
        None => transport.get::<Value>(about.route, ONE).ok(),
    };
    if let Some(facts) = &facts {
        let number = |pointer| facts.pointer(pointer).and_then(Value::as_u64);
        found.slots = number(about.slots).and_then(|slots| usize::try_from(slots).ok());
        found.context = number(about.context).and_then(|context| u32::try_from(context).ok()).or(found.context);
        found.build = facts.pointer(about.build).and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Some((name, pointer)) = about.model {
            said[name] = facts.pointer(pointer).cloned().unwrap_or_default();
        }
    }
    match dialect {
        Dialect::LlamaServer => {
            let mut file = None;
            let mut meta = entry.meta.unwrap_or_default();
            let path = facts.as_ref().and_then(|facts| facts["model_path"].as_str()).map(Path::new);
            if let (true, Some(path)) = (transport.address().is_loopback(), path) {
                found.file_hash = weights(path, meta["size"].as_u64(), alive)?;
                file = found.file_hash.is_some().then_some(path);
            }
            found.controls = ServerControls::of_llama_server(transport, file)?;
            match &found.file_hash {
                // It says all about the model, whatever the file is called.
                Some(hash) => said = json!({"dialect": dialect, "file": hash, "template": said["template"]}),
                None => {
                    // Sizes of the model; the window of a slot is the server's setting, not the model's.
                    if let Some(meta) = meta.as_object_mut() {
                        meta.remove("n_ctx");
                    }
                    said["meta"] = meta;
                }
            }
        }
        Dialect::Vllm => found.controls = ServerControls::of_vllm(transport, &entry.id)?,
        Dialect::Ollama => {
            found.controls = ServerControls::of_ollama(transport, &entry.id);
            said["digest"] = json!(ollama_digest(transport, &entry.id));
        }
        _ => {}
    }
    found.model_hash = Fingerprint::of_json(&said).as_str().to_owned();
    Ok(found)
}

/// Asks a route; none where the server does not have it. One that fails is asked again and then an error: a model
/// that is told by less than the last time would be taken for another one, and all of its answers be asked again.
fn answer(transport: &Transport, path: &str, alive: &mut dyn FnMut() -> Result<bool>) -> Result<Option<Value>> {
    let mut tried = 1;
    loop {
        alive()?;
        match transport.get::<Value>(path, ONE) {
            Ok(answer) => return Ok(Some(answer)),
            Err(Failure::Stop(_) | Failure::Reject(_) | Failure::Unusable(_)) => return Ok(None),
            Err(Failure::Retry { what, .. }) if tried == TRIES => {
                return Err(Error::failed(format!("{} does not say what it is: {what}", transport.address().root())));
            }
            Err(Failure::Retry { .. }) => std::thread::sleep(PAUSE * tried),
        }
        tried += 1;
    }
}

/// Bytes of a GGUF file beside its tensors at most.
const HEADER: u64 = 256 << 20;

/// The hash of the file that a server on this machine names; none where there is no such file here, or one that cannot
/// hold the `size` bytes of tensors that the server says it has loaded: the server may be in a container, or behind a
/// tunnel.
fn weights(path: &Path, size: Option<u64>, alive: &mut dyn FnMut() -> Result<bool>) -> Result<Option<String>> {
    let Some(size) = size.filter(|_| path.is_absolute()) else { return Ok(None) };
    let Ok(mut file) = File::open(path) else { return Ok(None) };
    let fits = |length: u64| (size..=size.saturating_add(HEADER)).contains(&length);
    if !file.metadata().is_ok_and(|metadata| metadata.is_file() && fits(metadata.len())) {
        return Ok(None);
    }
    let (mut hasher, mut piece) = (blake3::Hasher::new(), vec![0; 1 << 20]);
    loop {
        // A large file takes a while, and somebody may want to stop meanwhile.
        alive()?;
        match file.read(&mut piece) {
            Ok(0) => return Ok(Some(hasher.finalize().to_hex().to_string())),
            Ok(n) => drop(hasher.update(&piece[..n])),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Ok(None),
        }
    }
}

/// The kind that the owner of the models names, else the first that has what only it has.
fn probe(transport: &Transport, models: &[ServedModel]) -> Dialect {
    let owner = models.first().and_then(|model| model.owned_by.as_deref()).unwrap_or_default();
    let is_named = |dialect: &Dialect| !owner.is_empty() && dialect.self_description().owner == owner;
    let has_sign = |dialect: &Dialect| {
        let SelfDescription { route, sign, .. } = dialect.self_description();
        let has = |facts: Value| facts.pointer(sign).is_some_and(|value| !value.is_null());
        !sign.is_empty() && transport.get::<Value>(route, ONE).is_ok_and(has)
    };
    let known = || Dialect::KNOWN.into_iter();
    known().find(is_named).or_else(|| known().find(has_sign)).unwrap_or(Dialect::Generic)
}

/// The model of that name, or the only one.
fn choose(models: &[ServedModel], name: &str, transport: &Transport) -> Result<ServedModel> {
    let named = |model: &&ServedModel| model.id == name || file_name(&model.id) == file_name(name);
    match (name, models) {
        ("", [only]) => Ok(only.clone()),
        (name, []) if !name.is_empty() => Ok(ServedModel { id: name.to_owned(), ..ServedModel::default() }),
        (name, models) => models.iter().find(named).filter(|_| !name.is_empty()).cloned().ok_or_else(|| {
            let ids: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
            let what = if name.is_empty() { "empty".to_owned() } else { format!("no model `{name}`") };
            let root = transport.address().root();
            Error::value(
                "llm.model",
                format!("{what}, expected one of the {} that {root} has: {}", ids.len(), ids.join(", ")),
            )
        }),
    }
}

/// Servers name a model by its whole path, which is another one on the next machine.
fn file_name(id: &str) -> &str {
    if !id.ends_with(".gguf") {
        return id;
    }
    Path::new(id).file_name().and_then(|name| name.to_str()).unwrap_or(id)
}

fn ollama_digest(transport: &Transport, model: &str) -> Option<String> {
    let tags: Value = transport.get("/api/tags", ONE).ok()?;
    let entry =
        tags.get("models")?.as_array()?.iter().find(|entry| entry["model"] == model || entry["name"] == model)?;
    Some(entry.get("digest")?.as_str()?.to_owned())
}
