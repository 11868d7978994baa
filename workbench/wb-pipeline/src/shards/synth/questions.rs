//! The work at a shard: its questions asked, and the answers kept where the next attempt finds them.

use std::{
    fs::{self, File},
    io::{Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Result;
use serde_json::json;
use wb_core::{Error, Progress};
use wb_data::sources::row_ranges::RowRanges;
use wb_llm::{
    Ask, Client, Ledger, LlmQuestion, Reply, keys,
    ledger::{FORMAT, LedgerRecord, Opened},
};
use wb_shards::{AttemptEnd, KeptParts, OpenPlan, ShardOutput, passing};
use wb_synth::chain::PORTION;

use super::{ANSWERS, AnsweredShard, AskedEngine, QUESTIONS, QuestionShards};
use crate::{
    encode::fields, environment, interrupt::Interrupt, model_file, session, shards::inputs::input, synth::LEDGER,
};

/// Asks the questions of a shard.
pub(in crate::shards) fn run(
    plan: &OpenPlan,
    shard: u32,
    scratch: &Path,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> Result<AttemptEnd> {
    let task: QuestionShards = plan.plan().typed_task()?;
    let llm = task.experiment.llm.as_ref().ok_or_else(|| Error::failed("the plan names no language model"))?;
    environment::complete(Some(llm))?;
    let seed = task.experiment.seed;
    plan.attempt(shard, scratch, progress, |rows, folder, progress| {
        let (path, total) = (folder.join(LEDGER), (rows.end - rows.start) as usize);
        let every = session::keeps_every()?;
        let mut kept = KeptAnswers::begin(plan.kept(shard), path.clone())?;
        let opened = model_file::located(llm).and_then(|llm| {
            interrupt.while_asking(|stop| Client::open(&llm, seed, &path, stop).map_err(|e| asked(e).into()))
        });
        let client = opened?;
        let model = AskedEngine::of(client.info());
        if let Some(planned) = task.model.as_ref().filter(|planned| !planned.is(&model)) {
            let what = format!("the model here is {}; of the plan: {}", model.shown(), planned.shown());
            return Err(Error::failed(what)
                .with_hint("llm: in the YAML says which is asked; plan again with it")
                .into());
        }
        let (mut done, mut rejected, mut keys) = (0, 0, Vec::with_capacity(total));
        let mut ask = |questions: &mut Vec<LlmQuestion>| -> wb_core::Result<()> {
            keys.extend(questions.iter().map(|question| keys::key(question, client.info(), seed)));
            let mut failed = None;
            let mut each = |_: usize, reply: &Reply| {
                done += 1;
                rejected += usize::from(matches!(reply, Reply::Rejected(_)));
                progress(Progress::new("asking", done, total));
                if failed.is_none() {
                    failed = kept.keep_by(every).err();
                }
            };
            let replies = interrupt.while_asking(|_| client.ask_all(questions, &mut each));
            // Whatever has come is kept, however this ends.
            let last = if replies.is_ok() { Ok(()) } else { kept.keep_by(Duration::ZERO) };
            questions.clear();
            replies.map_err(asked)?;
            failed.map_or(last, Err)
        };
        let reader = input(plan, QUESTIONS)?.reader(plan.work());
        let table = RowRanges::new(QUESTIONS, Arc::new(reader));
        let mut portion = Vec::with_capacity(PORTION.min(total));
        table.each_text(
            rows,
            &fields("text"),
            &mut |text| {
                let question = serde_json::from_str(&text.text).map_err(|error| Error::json(QUESTIONS, &error))?;
                portion.push(question);
                if portion.len() == PORTION { ask(&mut portion) } else { Ok(()) }
            },
            &mut |_| {},
        )?;
        ask(&mut portion)?;
        let found = kept.found;
        let answers = folder.join(ANSWERS);
        in_order(&client, &keys, task.experiment.seed.0, &answers)?;
        let account = AnsweredShard { model, questions: keys.len(), rejected, found };
        Ok(ShardOutput { files: vec![(ANSWERS.to_owned(), answers)], account: json!(account) })
    })
}

/// An error of a model as one that may pass, unless it says what is wrong here.
fn asked(error: Error) -> Error {
    let is_own =
        matches!(error, Error::Stopped | Error::Value { .. } | Error::Data { .. }) || wb_shards::may_pass(&error);
    if is_own { error } else { passing(error) }
}

/// Writes a ledger of the questions in their order.
fn in_order(client: &Client, keys: &[String], seed: u64, path: &Path) -> Result<()> {
    let ledger = Ledger::open(path)?;
    let opened = Opened { format: FORMAT, engine: client.info().clone(), seed, canaries: client.canaries().cloned() };
    ledger.append(&LedgerRecord::Opened(Box::new(opened)))?;
    for key in keys {
        // Two questions of one key are one.
        if let Some(record) = client.ledger().get(key)?.filter(|_| !ledger.has(key)) {
            ledger.append(&record)?;
        }
    }
    ledger.sync()?;
    Ok(())
}

/// A ledger whose lines are kept in the store, too.
struct KeptAnswers {
    parts: KeptParts,
    path: PathBuf,
    /// Bytes that are in the store, or came from there.
    sent: u64,
    last: Instant,
    /// Answers that earlier attempts had kept.
    found: usize,
}

impl KeptAnswers {
    /// Begins with what earlier attempts have kept.
    fn begin(parts: KeptParts, path: PathBuf) -> Result<Self> {
        let ledger = Ledger::open(&path)?;
        let (part, mut found) = (path.with_extension("part"), 0);
        for bytes in parts.read()? {
            fs::write(&part, bytes).map_err(Error::io("write", &part))?;
            found += ledger.take_in(&part)?;
        }
        drop(ledger);
        let sent = path.metadata().map_err(Error::io("read", &path))?.len();
        Ok(Self { parts, path, sent, last: Instant::now(), found })
    }

    /// Keeps the whole lines that are new, if so long has passed since the last ones.
    fn keep_by(&mut self, after: Duration) -> wb_core::Result<()> {
        if self.last.elapsed() < after {
            return Ok(());
        }
        self.last = Instant::now();
        let mut new = Vec::new();
        let read = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.sent))?;
            file.read_to_end(&mut new)
        });
        read.map_err(Error::io("read", &self.path))?;
        let whole = new.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        new.truncate(whole);
        if !new.is_empty() {
            self.parts.add(new)?;
            self.sent += whole as u64;
        }
        Ok(())
    }
}
