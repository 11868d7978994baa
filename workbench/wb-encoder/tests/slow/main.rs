//! Exports and journals opened by the libraries that they are meant for: PEFT, sentence-transformers, tensorboard;
//! and a model of a real one's shapes.
//!
//! `cargo test --release -p wb-encoder --test slow -- --ignored --nocapture`
//!
//! Needs a Python with them: `WB_PYTHON`, or the environment that `scripts/python.sh` makes in the cache folder.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

mod xtr;

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Map, Value, json};
use wb_core::{Seed, Side, progress::silent};
use wb_encoder::{
    Architecture, BiEncoder, DeviceConfig, ExportConfig, ExportFormat, Folder, LateInteractionConfig, LoraConfig,
    Pooling, TokenizerConfig, WeightType, export,
    folder::MaxTokens,
    journals::{JournalFormat, Journals},
    models::StaticConfig,
    similarities::{TokenSimilarity, TokenTexts},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn say(text: &str) {
    // Past the capture of test output: the numbers are the point.
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn cache() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from).join("wb")
}

/// A Python that has a module, or a counted skip.
fn python(test: &str, module: &str) -> Option<PathBuf> {
    let python = std::env::var_os("WB_PYTHON").map_or_else(|| cache().join("peers/bin/python"), PathBuf::from);
    let has = |argument: &str| Command::new(&python).args(["-c", argument]).output().is_ok_and(|o| o.status.success());
    // Looked for and not imported: that takes seconds.
    let found = format!("import importlib.util as u, sys; sys.exit(u.find_spec('{module}') is None)");
    if has(&found) {
        return Some(python);
    }
    say(&format!("SKIPPED {test}: no Python with {module} at {}: scripts/python.sh makes one", python.display()));
    None
}

fn run(python: &Path, script: &str, arguments: &[&str]) {
    let output = Command::new(python)
        .arg(root().join("scripts").join(script))
        .args(arguments)
        .envs([("HF_HUB_OFFLINE", "1"), ("TRANSFORMERS_VERBOSITY", "error"), ("OMP_NUM_THREADS", "1")])
        .envs([("PYTHONDONTWRITEBYTECODE", "1"), ("CUDA_VISIBLE_DEVICES", "")])
        .output()
        .unwrap();
    say(&String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Prose and code, in several languages, from one token to more than a model takes.
const TEXTS: [&str; 32] = [
    "sort a list of numbers",
    "How do I read a file line by line?",
    "def add(a, b):\n    return a + b",
    "SELECT name FROM singer WHERE age > 30",
    "Größe und Straße: 文字列を逆順にする関数 🦀",
    "   SHOUTING_CONSTANT camelCase snake_case   ",
    "!!! ??? ...",
    "word word word word word word word word word word word word word word word word word word word word word word word word word word",
    "x",
    "Return the sum.",
    "Сортировка списка чисел по возрастанию",
    "如何在 Python 中读取文件的每一行？",
    "リストを逆順にして、重複を取り除く",
    "목록에서 가장 큰 수를 찾는 함수",
    "كيف أقرأ ملفًا سطرًا سطرًا؟",
    "איך ממיינים רשימה של מספרים",
    "Comment trier une liste de nombres décimaux sans la modifier ?",
    "¿Cómo elimino los duplicados de un vector en C++?",
    "Zeile für Zeile aus einer Datei lesen, ohne sie ganz zu laden",
    "İstanbul'da ILIK bir gün: ß, ﬁ, Å, e\u{301} and a zero\u{200b}width space",
    "fn largest(numbers: &[i64]) -> Option<i64> {\n    numbers.iter().copied().max()\n}",
    "func ReadLines(path string) ([]string, error) {\n\tfile, err := os.Open(path)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n\tdefer file.Close()\n\treturn scan(file), nil\n}",
    "public static int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); }",
    "const debounce = (f, ms) => { let t; return (...args) => { clearTimeout(t); t = setTimeout(() => f(...args), ms); }; };",
    "<?php function slug(string $title): string { return strtolower(preg_replace('/[^a-z0-9]+/i', '-', $title)); }",
    "def each_pair(hash)\n  hash.each { |key, value| yield key, value }\nend",
    "#include <vector>\ntemplate <typename T> T sum(const std::vector<T>& v) { T s{}; for (const auto& x : v) s += x; return s; }",
    "class Stack(object):\n    def __init__(self):\n        self.items = []\n    def push(self, item):\n        self.items.append(item)\n    def pop(self):\n        if not self.items:\n            raise IndexError('pop from an empty stack')\n        return self.items.pop()\n    def __len__(self):\n        return len(self.items)\n",
    "SELECT c.name, COUNT(*) AS n FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.placed >= DATE '2020-01-01' GROUP BY c.name HAVING COUNT(*) > 3 ORDER BY n DESC LIMIT 10;",
    "for i in $(seq 1 10); do curl -fsS \"https://example.org/page/$i\" | jq '.items[].name' >> names.txt; done",
    "0x1F600 3.14159e-10 192.168.0.1 2024-02-29T23:59:60Z v1.2.3-rc.4+build.5",
    "Reads a comma separated file, skips the header, converts the second column to floating point numbers, ignores the rows in which that fails, computes the mean and the standard deviation of the others, and prints both with two digits after the point; a file that does not exist is an error that names it, and an empty one gives no numbers at all. Reads a comma separated file, skips the header, converts the second column to floating point numbers, ignores the rows in which that fails, computes the mean and the standard deviation of the others, and prints both with two digits after the point; a file that does not exist is an error that names it, and an empty one gives no numbers at all. Reads a comma separated file again, and again, and again, until there is nothing more to read from it, whatever that may have been.",
];

/// Decoders and newer encoders, pooled as their folders say.
const OTHERS: [&str; 5] = ["tiny-qwen2", "tiny-qwen3", "tiny-modernbert", "tiny-nomic", "tiny-gemma"];

/// Writes an encoder, and the job to open it with embeddings of what was read back.
fn job(kind: &str, name: &str, source: &Folder, config: &ExportConfig, to: &Path, base: &Path) -> Value {
    export(source, config, &|_| String::new(), to).unwrap_or_else(|error| panic!("{name}: {error}"));
    let folder = Folder::read(to).unwrap();
    let encoder = BiEncoder::open(folder, &DeviceConfig::Cpu.open().unwrap()).unwrap();
    let embed = |side| {
        let embeddings = encoder.embed(&TEXTS, side, &mut silent).unwrap();
        embeddings.view().rows().into_iter().map(|row| row.to_vec()).collect::<Vec<_>>()
    };
    json!({"kind": kind, "name": name, "folder": to, "base": base, "texts": TEXTS, "query": embed(Side::Query), "document": embed(Side::Document)})
}

/// Adapters over a base model, in PEFT's layout.
fn peft(base: &Path) -> ExportConfig {
    ExportConfig { format: ExportFormat::Peft, base: Some(base.display().to_string()), ..ExportConfig::default() }
}

fn adapted(mut folder: Folder, config: &str) -> Folder {
    folder.attach(&serde_json::from_str::<LoraConfig>(config).unwrap(), Seed(4)).unwrap();
    for (at, p) in folder.model.parameters.iter_mut().enumerate().filter(|(_, p)| p.trainable) {
        p.values.floats_mut().iter_mut().enumerate().for_each(|(i, v)| *v += ((i * 3 + at) as f32 * 0.7).sin() * 0.05);
    }
    folder
}

/// The real MiniLM, or a counted skip.
fn minilm(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("WB_MINILM").map_or_else(|| cache().join("models/all-MiniLM-L6-v2"), PathBuf::from);
    if folder.join("model.safetensors").is_file() {
        return Some(folder);
    }
    say(&format!("SKIPPED {test}: no all-MiniLM-L6-v2 at {}", folder.display()));
    None
}

#[test]
#[ignore = "slow: half a minute, needs PEFT"]
fn adapters_are_equal_in_peft() {
    let test = "adapters_are_equal_in_peft";
    let Some(python) = python(test, "peft") else { return };
    let place = tempfile::tempdir().unwrap();
    let configs = [
        r#"{"rank": 4, "alpha": 8, "targets": ["query", "value"]}"#,
        r#"{"rank": 4, "alpha": 6.5, "targets": "all-linear", "use_rslora": true}"#,
        r#"{"rank": 3, "targets": ".*\\.(key|dense)", "rank_pattern": {"layer\\.0\\..*": 2}, "alpha_pattern": {"attention.output.dense": 3}}"#,
        r#"{"rank": 2, "targets": ["dense"], "modules_to_save": ["embeddings.LayerNorm", "1.output.dense"]}"#,
        r#"{"rank": 2, "targets": ["key"], "modules_to_save": ["attention.output"]}"#,
    ];
    let of_t5 = [
        r#"{"rank": 2, "alpha": 3, "targets": ["q", "k", "v", "o", "wi_0", "wi_1", "wo"]}"#,
        r#"{"rank": 4, "alpha": 6.5, "targets": "all-linear", "use_rslora": true}"#,
        r#"{"rank": 3, "targets": ".*SelfAttention\\.[qv]", "rank_pattern": {"block\\.0\\..*": 2}, "modules_to_save": ["1.layer_norm"]}"#,
    ];
    let mut jobs = Vec::new();
    let all = [r#"{"rank": 4, "alpha": 6.5, "targets": "all-linear"}"#];
    let of_others = OTHERS.map(|model| (model, &all[..]));
    let of_first = [("tiny-bert", &configs[..]), ("tiny-roberta", &configs), ("tiny-t5", &of_t5)];
    for (model, configs) in of_first.into_iter().chain(of_others) {
        for (number, config) in configs.iter().enumerate() {
            let base = golden().join(model);
            let source = adapted(Folder::read(&base).unwrap(), config);
            for kind in ["peft", "sentence-transformers"] {
                let name = format!("{model}-{number}");
                let to = place.path().join(format!("{name}-{kind}"));
                jobs.push(job(kind, &name, &source, &peft(&base), &to, &base));
            }
        }
    }
    if let Some(base) = minilm(test) {
        for (name, config) in [
            ("minilm-r8", r#"{"rank": 8, "alpha": 16, "targets": ["query", "value"]}"#),
            ("minilm-r32", r#"{"rank": 32, "alpha": 64, "targets": "all-linear"}"#),
        ] {
            let source = adapted(Folder::read(&base).unwrap(), config);
            jobs.push(job("peft", name, &source, &peft(&base), &place.path().join(name), &base));
        }
    }
    check(&python, &jobs, place.path());
}

#[test]
#[ignore = "slow: half a minute, needs sentence-transformers"]
fn folders_are_equal_in_sentence_transformers() {
    let test = "folders_are_equal_in_sentence_transformers";
    let Some(python) = python(test, "sentence_transformers") else { return };
    let place = tempfile::tempdir().unwrap();
    let mut jobs = Vec::new();
    let mut push = |name: &str, source: &Folder, config: ExportConfig| {
        let to = place.path().join(name);
        jobs.push(job("sentence-transformers", name, source, &config, &to, &to));
    };
    for format in [ExportFormat::St, ExportFormat::St6] {
        let config = |dtype| ExportConfig { format, dtype, ..ExportConfig::default() };
        for model in ["tiny-bert", "tiny-roberta", "tiny-t5"] {
            for pooling in Pooling::ALL {
                let mut source = Folder::read(&golden().join(model)).unwrap();
                source.model.pooling = pooling;
                push(&format!("{format}-{model}-{pooling:?}"), &source, config(WeightType::F32));
            }
        }
        for model in OTHERS {
            let source = Folder::read(&golden().join(model)).unwrap();
            push(&format!("{format}-{model}"), &source, config(WeightType::F32));
        }
        for (name, weighted, positions, special) in [
            ("bag", false, 0, false),
            ("weighted-bag", true, 0, false),
            ("placed-bag", false, 9, false),
            ("weighted-placed-bag", true, 9, false),
            ("special-bag", true, 48, true),
        ] {
            push(&format!("{format}-{name}"), &bag(weighted, positions, special), config(WeightType::F32));
        }
        push(&format!("{format}-dense"), &dense(place.path()), config(WeightType::F32));
        let scratch = scratch();
        push(&format!("{format}-scratch"), &scratch, config(WeightType::F32));
        if let Some(minilm) = minilm(test) {
            let source = adapted(Folder::read(&minilm).unwrap(), r#"{"rank": 8}"#);
            for dtype in [WeightType::F32, WeightType::F16, WeightType::Bf16] {
                push(&format!("{format}-minilm-{dtype}"), &source, config(dtype));
            }
        }
    }
    check(&python, &jobs, place.path());
}

/// The job to open an encoder of one vector a token, with its vectors and MaxSim scores.
fn token_job(name: &str, source: &Folder, config: &ExportConfig, to: &Path) -> Value {
    export(source, config, &|_| String::new(), to).unwrap_or_else(|error| panic!("{name}: {error}"));
    let encoder = BiEncoder::open(Folder::read(to).unwrap(), &DeviceConfig::Cpu.open().unwrap()).unwrap();
    let embed = |side| encoder.embed(&TEXTS, side, &mut silent).unwrap();
    let (queries, documents) = (embed(Side::Query), embed(Side::Document));
    let (scores, _) =
        TokenSimilarity::Maxsim.scores(TokenTexts::new(&queries).unwrap(), TokenTexts::new(&documents).unwrap());
    let rows = |of: &wb_core::Embeddings| {
        let text = |at| of.of(at).rows().into_iter().map(|row| row.to_vec()).collect::<Vec<_>>();
        (0..of.texts()).map(text).collect::<Vec<_>>()
    };
    let scores: Vec<Vec<f32>> = scores.rows().into_iter().map(|row| row.to_vec()).collect();
    json!({"kind": "multi-vector", "name": name, "folder": to, "texts": TEXTS, "query": rows(&queries),
        "document": rows(&documents), "scores": scores})
}

#[test]
#[ignore = "slow: half a minute, needs sentence-transformers 6"]
fn late_interaction_is_equal_in_sentence_transformers() {
    let test = "late_interaction_is_equal_in_sentence_transformers";
    let Some(python) = python(test, "sentence_transformers.multi_vector_encoder") else { return };
    let place = tempfile::tempdir().unwrap();
    let late = |mut folder: Folder, config: &str| {
        let config = serde_json::from_str::<LateInteractionConfig>(config).unwrap();
        folder.add_late_interaction(&config, Seed(3), "late").unwrap();
        folder
    };
    let configs = [
        r#"{"dim": 16}"#,
        r#"{"dim": 16, "markers": {"query": "[MASK]", "document": "[UNK]"}, "skip_punctuation": true}"#,
        r#"{"dim": 16, "expansion": 14, "skip_punctuation": true}"#,
        r#"{"dim": 16, "expansion": 14, "attend": false}"#,
        r#"{"dim": 16, "markers": {"query": "[MASK]", "document": "[UNK]"}, "expansion": 16, "attend": false}"#,
    ];
    let mut jobs = Vec::new();
    for (number, config) in configs.iter().enumerate() {
        for model in ["tiny-bert", "tiny-roberta"] {
            let mut source = Folder::read(&golden().join(model)).unwrap();
            source.max_tokens = MaxTokens { query: 16, document: 24 };
            let roberta = config.replace("[MASK]", "<mask>").replace("[UNK]", "<unk>");
            let source = late(source, if model == "tiny-bert" { config } else { &roberta });
            let (name, to) = (format!("{model}-{number}"), place.path().join(format!("{model}-{number}")));
            jobs.push(token_job(&name, &source, &ExportConfig::default(), &to));
            let config = peft(&golden().join(model));
            let source = adapted(source, r#"{"rank": 2}"#);
            jobs.push(token_job(&format!("{name}-peft"), &source, &config, &place.path().join(format!("{name}-peft"))));
        }
    }
    let mut source = Folder::read(&golden().join("tiny-t5")).unwrap();
    source.max_tokens = MaxTokens { query: 16, document: 24 };
    source.tokenizer = source.tokenizer.lowercased().unwrap();
    let source = late(source, configs[0]);
    jobs.push(token_job("tiny-t5", &source, &ExportConfig::default(), &place.path().join("tiny-t5")));
    let config = peft(&golden().join("tiny-t5"));
    let source = adapted(source, r#"{"rank": 2, "targets": ["q", "v", "wi_1", "wo"]}"#);
    jobs.push(token_job("tiny-t5-peft", &source, &config, &place.path().join("tiny-t5-peft")));
    // Laid out as google/xtr-base-en is, with adapters on all seven kinds of layers.
    let layout = xtr_layout(place.path());
    let all = r#"{"rank": 4, "alpha": 8, "targets": ["q", "k", "v", "o", "wi_0", "wi_1", "wo"]}"#;
    for (format, name) in [(ExportFormat::St, "xtr"), (ExportFormat::St6, "xtr-6"), (ExportFormat::Peft, "xtr-peft")] {
        let mut source = Folder::read(&layout).unwrap();
        source.max_tokens = MaxTokens { query: 16, document: 24 };
        let config = ExportConfig { format, ..peft(&layout) };
        jobs.push(token_job(name, &adapted(source, all), &config, &place.path().join(name)));
    }
    if let Some(minilm) = minilm(test) {
        let mut source = Folder::read(&minilm).unwrap();
        source.max_tokens = MaxTokens { query: 32, document: 180 };
        let colbert = r#"{"markers": {"query": "[unused0]", "document": "[unused1]"}, "expansion": 32, "skip_punctuation": true}"#;
        for (name, config) in [
            ("minilm-expanded", colbert.to_owned()),
            ("minilm-colbert", colbert.replace("32", "32, \"attend\": false")),
        ] {
            let source = adapted(late(source.clone(), &config), r#"{"rank": 8}"#);
            jobs.push(token_job(name, &source, &ExportConfig::default(), &place.path().join(name)));
        }
    }
    check(&python, &jobs, place.path());
}

/// The tiny T5 with a projection as torch saves it, and without modules.
fn xtr_layout(place: &Path) -> PathBuf {
    let to = place.join("xtr-layout");
    fs::create_dir_all(to.join("2_Dense")).unwrap();
    for name in ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"] {
        fs::copy(golden().join("tiny-t5").join(name), to.join(name)).unwrap();
    }
    for name in ["2_Dense/config.json", "2_Dense/pytorch_model.bin"] {
        fs::copy(golden().join("xtr").join(name), to.join(name)).unwrap();
    }
    to
}

fn tokenizer(special_tokens: bool) -> wb_encoder::Tokenizer {
    let config = TokenizerConfig { vocab_size: 330, special_tokens, ..TokenizerConfig::default() };
    let texts: Vec<&str> = TEXTS.into_iter().cycle().take(80).collect();
    config.train(&texts, Path::new("tokenizer.json")).unwrap()
}

/// A bag of token vectors from scratch, with weights that matter.
fn bag(weighted: bool, positions: usize, special_tokens: bool) -> Folder {
    let tokenizer = tokenizer(special_tokens);
    let shape = StaticConfig { vocab_size: tokenizer.vocab_size(), dim: 16, weighted, positions };
    let architecture = Architecture::StaticEmbedding(shape);
    let mut folder = Folder::fresh("bag", architecture, tokenizer, MaxTokens::both(20), Seed(3)).unwrap();
    for p in folder.model.parameters.iter_mut().filter(|p| p.name.ends_with("_weights")) {
        p.values.floats_mut().iter_mut().enumerate().for_each(|(i, v)| *v = (i as f32 * 0.9).sin());
    }
    folder
}

/// The tiny BERT with two dense layers behind it.
fn dense(place: &Path) -> Folder {
    let to = place.join("dense");
    fs::create_dir_all(&to).unwrap();
    for (from, nested) in [("tiny-bert", "1_Pooling"), ("dense", "2_Dense"), ("dense", "3_Dense")] {
        let from = golden().join(from);
        for folder in ["", nested] {
            fs::create_dir_all(to.join(folder)).unwrap();
            for entry in fs::read_dir(from.join(folder)).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_file() {
                    fs::copy(&entry, to.join(folder).join(entry.file_name().unwrap())).unwrap();
                }
            }
        }
    }
    Folder::read(&to).unwrap()
}

/// A small transformer with a tokenizer of ours, which splits identifiers and lower-cases what it split.
fn scratch() -> Folder {
    let tokenizer = tokenizer(true);
    let shape = json!({
        "vocab_size": tokenizer.vocab_size(), "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 32, "max_position_embeddings": 24, "type_vocab_size": 1, "layer_norm_eps": 1e-12,
        "first_position": 0, "activation": "relu", "hidden_dropout": 0.1, "attention_dropout": 0.1,
    });
    let architecture = Architecture::Bert(serde_json::from_value(shape).unwrap());
    let mut folder = Folder::fresh("scratch", architecture, tokenizer, MaxTokens::both(24), Seed(3)).unwrap();
    for p in folder.model.parameters.iter_mut().filter(|p| p.shape.len() == 2) {
        p.values.floats_mut().iter_mut().for_each(|v| *v *= 12.0);
    }
    folder.prompts.query = "find: ".into();
    folder
}

fn check(python: &Path, jobs: &[Value], place: &Path) {
    let file = place.join("jobs.json");
    fs::write(&file, Value::from(jobs.to_vec()).to_string()).unwrap();
    run(python, "check-exports.py", &[file.to_str().unwrap()]);
}

#[test]
#[ignore = "slow: seconds, needs tensorboard"]
fn event_files_are_read_by_tensorboard() {
    let Some(python) = python("event_files_are_read_by_tensorboard", "tensorboard") else { return };
    let place = tempfile::tempdir().unwrap();
    let (metrics, validation) = (place.path().join("metrics.jsonl"), place.path().join("validation.jsonl"));
    let steps: String = (1..=500u32)
        .map(|step| format!("{}\n", json!({"step": step, "loss": 3.0 / f64::from(step), "grad_norm": 1e-9 * f64::from(step), "tokens": 4000 + step})))
        .collect();
    fs::write(&metrics, steps).unwrap();
    fs::write(&validation, "{\"step\":0,\"mrr\":0.25,\"best\":true}\n{\"step\":500,\"mrr\":0.75,\"best\":true}\n")
        .unwrap();
    let journals =
        Journals { metrics: &metrics, validation: &validation, started: 1_763_769_600.0, config: &Map::new() };
    journals.write(&[JournalFormat::Tensorboard], place.path()).unwrap();
    run(&python, "golden-journals.py", &["check", place.path().to_str().unwrap()]);
}
