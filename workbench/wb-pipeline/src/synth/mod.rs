//! Synthesis: snippets read, pairs made of them by a model and by rules, annotated, all of it written to one folder.
//!
//! `pairs.jsonl` is what `data.sources` names; `synthesis.json` is written last and says what made it.

mod print;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
};

use anyhow::{Context, Result};
use serde::Serialize;
use wb_core::{Progress, Seed, atomic, fingerprint::Fingerprint, run_dir::write_json};
use wb_llm::{Canaries, Client, EngineConfig, EngineInfo, LlmConfig, canaries::Seeds};
use wb_synth::{
    AskedModel, Dataset, Estimate, Snippet, Spent,
    annotate::{self, AnnotateConfig, AnnotateEstimate, AnnotatedSnippets, AnnotationPairs},
    dataset::{self, Ground, gather},
    dry_run,
    provenance::to_lines,
    review::{self, Reviews},
    rules, run,
    snippets::{self, SnippetSet, WordsAndMarks},
};

pub use self::print::{print, print_annotated, print_estimates};
use crate::{config::Experiment, manifest, model_file, output};

/// The file of pairs in a synthesis's folder.
pub const PAIRS: &str = "pairs.jsonl";
/// The file of annotations.
pub const ANNOTATIONS: &str = "annotations.jsonl";
/// The file that says what made a folder; written last.
pub const RECORD: &str = "synthesis.json";
/// The file of answers.
pub const LEDGER: &str = "ledger.jsonl";

/// The pairs and annotations that a synthesis made.
pub struct SynthesisOutcome {
    /// The snippets' account.
    pub snippets: snippets::SnippetsCard,
    /// Pairs of the model, and what became of the other candidates.
    pub chain: Option<wb_synth::Synthesis>,
    /// Annotations: what the model said of the snippets.
    pub annotated: Option<AnnotatedSnippets>,
    /// Pairs of the rules, with their account.
    pub rules: Option<rules::RulesOutput>,
    /// All pairs together, with what is told of them.
    pub dataset: Dataset,
}

/// The record of what made a folder; written last.
#[derive(Serialize)]
struct Record<'a> {
    version: &'static str,
    command: String,
    machine: String,
    seed: u64,
    config: Fingerprint,
    snippets: Fingerprint,
    pairs: Fingerprint,
    n_pairs: usize,
    by_task: BTreeMap<String, u64>,
    /// Fingerprint of the file with a person's word.
    review: Option<Fingerprint>,
    engine: Option<&'a EngineInfo>,
    canaries: Option<&'a Canaries>,
}

/// The snippets of a file.
pub fn read(file: &Experiment, progress: &mut dyn FnMut(Progress)) -> Result<SnippetSet> {
    snippets::read(file.snippets()?, &WordsAndMarks, file.seed, progress).context("cannot read snippets")
}

/// Opens the model, where a file asks one; with `replay`, a ledger in its place.
pub fn open(file: &Experiment, out: &Path, replay: Option<&Path>, stop: Arc<AtomicBool>) -> Result<Option<Client>> {
    let asks = file.synth.is_some() || file.annotate.is_some();
    let (Some(llm), true) = (&file.llm, asks) else { return Ok(None) };
    let client = open_model(llm, file.seed, out, replay, stop)?;
    let ignores = client.canaries().is_some_and(|canaries| canaries.seeds == Seeds::Ignored);
    if ignores && file.synth.as_ref().is_some_and(|synth| synth.candidates > 1) {
        output::note(
            "warning: this engine gives the same answer for every seed: the candidates of an item are all alike",
        );
    }
    Ok(Some(client))
}

/// Opens a language model with its ledger in a folder; with `replay`, a ledger in its place.
pub fn open_model(
    llm: &LlmConfig,
    seed: Seed,
    out: &Path,
    replay: Option<&Path>,
    stop: Arc<AtomicBool>,
) -> Result<Client> {
    let client = match replay {
        // A ledger answers for the model, which need not be there.
        Some(ledger) => {
            let config = LlmConfig { engine: EngineConfig::Replay, ..llm.clone() };
            Client::open(&config, seed, ledger, stop)
        }
        None => Client::open(&model_file::located(llm)?, seed, &out.join(LEDGER), stop),
    };
    let client = client.context("cannot open the language model")?;
    if client.dropped() > 0 {
        output::note("the ledger's last line was cut short: it is dropped, and its question asked again");
    }
    Ok(client)
}

/// The folder that a file's pairs, annotations and answers are kept in.
pub fn folder(name: &str) -> PathBuf {
    Path::new("datasets/synthetic").join(name)
}

/// Asks probes and scales them up: pairs, and annotations.
pub fn estimates(
    file: &Experiment,
    client: &Client,
    snippets: &SnippetSet,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Option<Estimate>, Option<AnnotateEstimate>)> {
    let spent = || spent(client);
    let (mut pairs, mut annotations) = (None, None);
    if let Some(synth) = &file.synth {
        let model = AskedModel { ask: client, info: client.info() };
        pairs = Some(dry_run(synth, &snippets.snippets, &model, file.seed, &spent, progress)?);
    }
    if let Some(config) = &file.annotate {
        annotations = Some(annotate::estimate(config, &snippets.snippets, client, file.seed, &spent, progress)?);
    }
    Ok((pairs, annotations))
}

/// Totals of a client's ledger. Tokens are unknown where an answer's were not counted.
fn spent(client: &Client) -> Spent {
    let total = client.account().total();
    let is_counted = total.tokens.uncounted + total.wasted.uncounted == 0;
    let known = |tokens: u64| is_counted.then_some(tokens);
    Spent {
        questions: total.answered + total.rejected,
        prompt: known(total.tokens.prompt + total.wasted.prompt),
        completion: known(total.tokens.completion + total.wasted.completion),
        bytes: std::fs::metadata(client.ledger().path()).map_or(0, |file| file.len()),
    }
}

/// Annotates the snippets of a file, and writes what was said of them.
pub fn annotated(
    (file, config): (&Experiment, &AnnotateConfig),
    client: &Client,
    snippets: &[Snippet],
    out: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<AnnotatedSnippets> {
    let annotated = annotate::annotate(config, snippets, client, file.seed, progress)?;
    let lines = to_lines(&annotated.records(snippets, client.info(), file.seed))?;
    atomic::write(&out.join(ANNOTATIONS), lines.as_bytes())?;
    Ok(annotated)
}

/// A person's word, where a file names one.
pub fn reviews(file: &Experiment) -> Result<Reviews> {
    let Some(path) = &file.review else { return Ok(Reviews::default()) };
    review::read(path).context("cannot read the review")
}

/// Makes all pairs of a file and writes them.
pub fn synthesize(
    file: &Experiment,
    client: Option<&Client>,
    snippets: SnippetSet,
    reviews: &Reviews,
    out: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<SynthesisOutcome> {
    let of_snippets = snippets.fingerprint();
    atomic::create_folders(out)?;
    let SnippetSet { snippets, card } = snippets;
    let chain = match (&file.synth, client) {
        (Some(synth), Some(client)) => {
            let model = AskedModel { ask: client, info: client.info() };
            Some(run(synth, &snippets, &model, reviews, file.seed, progress)?)
        }
        _ => None,
    };
    let said = match (&file.annotate, client) {
        (Some(config), Some(client)) => {
            let said = annotated((file, config), client, &snippets, out, progress)?;
            let pairs = match config.pairs {
                true => said.pairs(&snippets, client.info(), reviews, file.seed),
                false => AnnotationPairs::default(),
            };
            Some((said, pairs))
        }
        _ => None,
    };
    let rules = file.rules.as_ref().map(|config| {
        progress(Progress::new("applying rules", 0, 0));
        rules::make_pairs(config, &snippets, reviews, file.seed)
    });
    let parts = dataset::MadePairs {
        chain: file.synth.as_ref().zip(chain.as_ref()),
        annotated: said.as_ref().map(|(said, pairs)| (said, pairs)),
        rules: file.rules.as_ref().zip(rules.as_ref()),
    };
    let ground = Ground { snippets: &card, info: client.map(Client::info), reviews, seed: file.seed };
    let dataset = gather(parts, ground)?;
    let made = SynthesisOutcome { snippets: card, chain, annotated: said.map(|(said, _)| said), rules, dataset };
    write(file, client, &made, of_snippets, out)?;
    Ok(made)
}

fn write(
    file: &Experiment,
    client: Option<&Client>,
    made: &SynthesisOutcome,
    snippets: Fingerprint,
    out: &Path,
) -> Result<()> {
    let text = |name: &str, text: &str| atomic::write(&out.join(name), text.as_bytes());
    // Gone first: while the other files change, nothing says that they belong together.
    let record = out.join(RECORD);
    if record.exists() {
        atomic::remove_file(&record)?;
    }
    let config = wb_core::config::to_text(file)?;
    text("config.yaml", &config)?;
    write_json(&out.join("snippets.json"), &made.snippets)?;
    let dataset = &made.dataset;
    text("provenance.jsonl", &to_lines(&dataset.provenance)?)?;
    text("card.md", &dataset.card)?;
    text("review.html", &dataset.review_html)?;
    write_json(&out.join("account.json"), &dataset.account)?;
    if let Some(chain) = &made.chain {
        write_json(&out.join("counts.json"), &chain.counts)?;
        if let Some(calibration) = &chain.calibration {
            write_json(&out.join("calibration.json"), calibration)?;
        }
        for (name, tasks) in &chain.proposals {
            text(name, tasks)?;
        }
    }
    if let Some(rules) = &made.rules {
        write_json(&out.join("rules.json"), &rules.account)?;
    }
    let pairs = &dataset.pairs;
    let lines = to_lines(pairs.pairs())?;
    text(PAIRS, &lines)?;
    let mut by_task = BTreeMap::new();
    for pair in pairs.pairs() {
        *by_task.entry(pair.task.as_str().to_owned()).or_default() += 1;
    }
    let of = Record {
        version: env!("CARGO_PKG_VERSION"),
        command: std::env::args().map(manifest::quoted).collect::<Vec<_>>().join(" "),
        machine: manifest::machine(),
        seed: file.seed.0,
        config: Fingerprint::of_bytes(config.as_bytes()),
        snippets,
        pairs: Fingerprint::of_bytes(lines.as_bytes()),
        n_pairs: pairs.len(),
        by_task,
        review: file.review.as_deref().map(Fingerprint::of_file).transpose()?,
        engine: client.map(Client::info),
        canaries: client.and_then(Client::canaries),
    };
    write_json(&record, &of)?;
    Ok(())
}
