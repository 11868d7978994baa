//! A made-up model and made-up snippets.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};
use wb_core::{Origin, Seed, fingerprint::Fingerprint};
use wb_llm::{Answer, Ask, EngineInfo, Error, LlmQuestion, Rejection, Reply, Usage};
use wb_synth::{
    AskedModel, Dataset, Snippet, SynthConfig, Synthesis,
    dataset::{Ground, MadePairs, gather},
    review::Reviews,
    run,
    snippets::SnippetsCard,
};

/// Answers by the question's hash, remembers what it answered, and can stop on the way.
pub struct Scripted {
    /// Every how many questions it gives one up, writes another form, refuses, writes broken code; 0 for never.
    pub faults: u64,
    /// Answers in this order of the questions of a portion; 0 in order.
    pub shuffle: u64,
    /// Stops after so many new answers.
    pub stop_after: u64,
    pub memory: Mutex<BTreeMap<String, Reply>>,
    pub asked: AtomicU64,
    pub questions: Mutex<Vec<LlmQuestion>>,
}

impl Scripted {
    pub fn new(faults: u64) -> Self {
        Self {
            faults,
            shuffle: 0,
            stop_after: u64::MAX,
            memory: Mutex::default(),
            asked: AtomicU64::new(0),
            questions: Mutex::default(),
        }
    }
}

pub fn key(question: &LlmQuestion) -> String {
    let LlmQuestion { recipe, item, sample, messages, sampling, schema } = question;
    Fingerprint::of_json(&(recipe, item, sample, messages, sampling, schema)).to_string()
}

impl Ask for Scripted {
    fn ask_all(&self, questions: &[LlmQuestion], each: &mut dyn FnMut(usize, &Reply)) -> wb_llm::Result<Vec<Reply>> {
        let order = match self.shuffle {
            0 => (0..questions.len()).collect(),
            seed => Seed(seed).permutation_at("order", 0, questions.len()),
        };
        let mut replies: Vec<Option<Reply>> = vec![None; questions.len()];
        for at in order {
            let key = key(&questions[at]);
            let mut memory = self.memory.lock().unwrap();
            if !memory.contains_key(&key) {
                if self.asked.load(Ordering::Relaxed) >= self.stop_after {
                    return Err(Error::Stopped);
                }
                self.asked.fetch_add(1, Ordering::Relaxed);
                self.questions.lock().unwrap().push(questions[at].clone());
                memory.insert(key.clone(), reply(&key, &questions[at], self.faults));
            }
            let reply = memory[&key].clone();
            each(at, &reply);
            replies[at] = Some(reply);
        }
        Ok(replies.into_iter().map(Option::unwrap).collect())
    }
}

fn reply(key: &str, question: &LlmQuestion, faults: u64) -> Reply {
    let number = u64::from_str_radix(&key[..12], 16).unwrap();
    let fault = if faults > 0 && number.is_multiple_of(faults) { 1 + (number / faults) % 4 } else { 0 };
    if fault == 1 {
        let reason = format!("the answer was cut: {number} tokens");
        return Reply::Rejected(Rejection { key: key.to_owned(), reason });
    }
    let properties = question.schema.as_ref().unwrap()["properties"].as_object().unwrap().clone();
    let mut value = json!({});
    for name in properties.keys() {
        value[name.as_str()] = content(name, number, question, fault);
    }
    if fault == 2 {
        value["extra"] = json!(1);
    }
    let text = value.to_string();
    let prompt: usize = question.messages.iter().map(|message| message.content.len()).sum();
    let usage = Usage { prompt: Some(prompt as u64 / 4), cached: Some(3), completion: Some(text.len() as u64 / 4) };
    Reply::Answered(Answer {
        key: key.to_owned(),
        text,
        value: Some(value),
        attempt: number.is_multiple_of(5).into(),
        seed: number as u32 % 0xffff_fff0,
        usage,
        milliseconds: None,
    })
}

fn content(name: &str, number: u64, question: &LlmQuestion, fault: u64) -> Value {
    let words = words(number);
    let user = &question.messages.last().unwrap().content;
    match name {
        // Three of four fit.
        "label" => json!([1, 1, 1, 2, 1, 1, 1, 0][(number % 8) as usize]),
        "negatives" => {
            let count = question.schema.as_ref().unwrap()["properties"]["negatives"]["minItems"].as_u64().unwrap();
            json!((0..count).map(|at| format!("negative {at} {words}")).collect::<Vec<_>>())
        }
        "tasks" => {
            let idea = |id: String| json!({"id": id, "title": format!("Idea {words}"), "query": "a made-up query", "document": "a made-up document"});
            json!([idea(format!("idea_{}", number % 1000)), idea("web_query".into()), idea("NO ID".into())])
        }
        "instruction" => json!(format!("Given a thing, retrieve {words}.")),
        "relevance" => json!("It is the thing."),
        _ if fault == 3 => json!("I'm sorry, I cannot help with that request."),
        _ => {
            let kind = question.recipe.split('/').next().unwrap();
            let is_code = name == "note" || kind == "code2code" || (kind == "hybrid" && name == "document");
            let line = |label: &str| user.lines().find_map(|line| line.strip_prefix(label)).map(str::trim);
            let language = line("Target language: ").or_else(|| line("Programming language: ")).unwrap_or("Python");
            match (is_code, fault) {
                (false, _) => json!(format!("how to {words} without {}", self::words(number / 7))),
                (true, 4) => json!("Of course! Here it is: def ("),
                (true, _) => json!(code(language, number)),
            }
        }
    }
}

/// Four words, different for different numbers.
pub fn words(number: u64) -> String {
    let mut rng = Seed(number).number_at("words", 0);
    let mut words = Vec::new();
    for _ in 0..4 {
        let word: String = (0..3)
            .map(|_| {
                let syllable = ["ka", "lo", "mi", "ter", "sun", "vo", "ri", "pa", "zen", "du"][(rng % 10) as usize];
                rng = rng.rotate_left(7).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                syllable
            })
            .collect();
        words.push(word);
    }
    words.join(" ")
}

/// Code that parses, where there is a grammar.
pub fn code(language: &str, number: u64) -> String {
    let words = words(number);
    let names: Vec<&str> = words.split(' ').collect();
    let (f, x, y, z) = (names[0], names[1], names[2], names[3]);
    let n = number % 97;
    match language {
        "Python" => format!(
            "def {f}({x}, {y}):\n    {z} = {x} * {n}\n    for i in range({y}):\n        {z} += i % {n}1\n    return {z}\n"
        ),
        "Rust" => format!(
            "fn {f}({x}: u64, {y}: u64) -> u64 {{\n    let mut {z} = {x} * {n};\n    for i in 0..{y} {{\n        {z} += i;\n    }}\n    {z}\n}}\n"
        ),
        "Go" => format!("func {f}({x} int, {y} int) int {{\n\t{z} := {x} * {n}\n\treturn {z} + {y}\n}}\n"),
        "Ruby" => format!("def {f}({x}, {y})\n  {z} = {x} * {n}\n  {z} + {y}\nend\n"),
        "C++" | "C" | "C#" | "Java" => {
            format!("int {f}(int {x}, int {y}) {{\n    int {z} = {x} * {n};\n    return {z} + {y};\n}}\n")
        }
        other => format!("-- {other} {f} {x} {y} {z} {n}\n"),
    }
}

/// Snippets of several languages, three functions each.
pub fn snippets(count: usize) -> Vec<Snippet> {
    (0..count)
        .map(|at| {
            let (name, title) = [("python", "Python"), ("rust", "Rust"), ("go", "Go"), ("sql", "SQL")][at % 4];
            let text: String = (0..if name == "sql" { 8 } else { 3 })
                .map(|part| code(title, (at * 10 + part) as u64 + 1_000))
                .collect();
            Snippet {
                id: format!("src/{name}/{at}"),
                language: name.into(),
                text,
                context: if at % 3 == 0 { format!("About {}.", words(at as u64)) } else { String::new() },
                origin: Origin {
                    group: format!("repo-{}", at % 5),
                    path: format!("src/{at}.x"),
                    lines: [1, 9],
                    license: if at % 2 == 0 { "MIT".into() } else { String::new() },
                    ..Origin::default()
                },
            }
        })
        .collect()
}

pub fn info() -> EngineInfo {
    EngineInfo {
        engine: "scripted".into(),
        model: "made-up | 1B".into(),
        model_hash: "ab12".into(),
        parallel: 4,
        ..EngineInfo::default()
    }
}

pub fn make(config: &SynthConfig, snippets: &[Snippet], ask: &dyn Ask) -> wb_synth::Result<Synthesis> {
    let info = info();
    let model = AskedModel { ask, info: &info };
    run(config, snippets, &model, &Reviews::default(), Seed(17), &mut |_| {})
}

/// The data set of what a chain made.
pub fn gathered(config: &SynthConfig, made: &Synthesis, reviews: &Reviews) -> Dataset {
    let snippets = SnippetsCard { kept: made.counts.snippets, ..SnippetsCard::default() };
    let info = info();
    let ground = Ground { snippets: &snippets, info: Some(&info), reviews, seed: Seed(17) };
    gather(MadePairs { chain: Some((config, made)), ..MadePairs::default() }, ground).unwrap()
}

/// Everything that a run writes, as one text.
pub fn bytes(config: &SynthConfig, made: &Synthesis) -> String {
    let all = gathered(config, made, &Reviews::default());
    let lines = |text: wb_core::Result<String>| text.unwrap();
    format!(
        "{}{}{}{}{}{}",
        lines(wb_synth::provenance::to_lines(all.pairs.pairs())),
        lines(wb_synth::provenance::to_lines(&all.provenance)),
        all.card,
        all.review_html,
        serde_json::to_string(&all.account).unwrap(),
        serde_json::to_string(&made.counts).unwrap(),
    )
}
