//! A project's index, opened once and brought up to date in the background when files have changed.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use wb_core::{Encoder, Error, Progress, Result};
use wb_search::{
    Changes, CodeIndex, IndexPlace, RankingWeights, UnitVectors, VectorEncoder, VectorStore, head_commit,
    structure::ProjectGraph,
};

use crate::runtime::STACK;

/// Longest wait of a question for an index that is up to date.
const WAIT: Duration = Duration::from_secs(10);
/// Times that a question looks whether what is new is what it waits for.
const MOST_NEWS: usize = 8;

/// An encoder that is open, and the store of its vectors.
pub type OpenedEncoder = (VectorStore, Arc<dyn Encoder + Send + Sync>);

/// Opens the encoder of vectors that an index has; another fingerprint says that it has changed since. Of an index without
/// vectors, the one that is to make some, if any is.
pub type EncoderOpener = Box<dyn Fn(Option<&UnitVectors>, &CodeIndex) -> Result<Option<OpenedEncoder>> + Send + Sync>;

/// A project whose index is kept open between questions.
pub struct LiveProject {
    place: IndexPlace,
    weights: RankingWeights,
    opener: EncoderOpener,
    wait: Duration,
    encoder: Mutex<Option<OpenedEncoder>>,
    kept: Mutex<Kept>,
    told: Condvar,
}

/// Parts of an index that a question needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Words.
    Words,
    /// Structures, too.
    Graph,
}

/// State of the index.
#[derive(Default)]
struct Kept {
    index: Option<Arc<KeptIndex>>,
    is_at_work: bool,
    /// Number of times that an index was kept or a bringing up has ended.
    news: u64,
    /// The reason that the last one failed.
    failed: Option<String>,
    /// State of the one that is at work.
    progress: Option<Progress>,
}

/// An index in memory, with what was opened for it.
pub(crate) struct KeptIndex {
    /// The index; with vectors, where its encoder is open.
    pub index: CodeIndex,
    /// Remarks on every answer.
    notes: Vec<String>,
    /// The graph, with the changes of files that it has seen.
    graph: Mutex<Option<(Changes, Arc<ProjectGraph>)>>,
}

/// A project as a question finds it.
pub(crate) struct ProjectNow {
    kept: Arc<KeptIndex>,
    /// Files that differ from those of the index.
    changes: Changes,
    /// Remarks for whoever asks.
    pub notes: Vec<String>,
}

impl LiveProject {
    /// A project that is opened, or indexed, with the first question or with [`LiveProject::begin`].
    pub fn new(place: IndexPlace, opener: EncoderOpener) -> Result<Arc<Self>> {
        Self::waiting(place, opener, WAIT)
    }

    /// A project whose questions wait no longer than that for an index that is up to date, then answer from the one before.
    pub fn waiting(place: IndexPlace, opener: EncoderOpener, wait: Duration) -> Result<Arc<Self>> {
        let (encoder, kept, told) = (Mutex::default(), Mutex::default(), Condvar::new());
        Ok(Arc::new(Self { place, weights: RankingWeights::shipped()?, opener, wait, encoder, kept, told }))
    }

    /// Begins to bring the index up to date, unless that is going on.
    pub fn begin(self: &Arc<Self>) {
        let mut kept = locked(&self.kept);
        if kept.is_at_work {
            return;
        }
        let project = Arc::clone(self);
        let work = move || {
            // A panic would leave every question waiting for what does not come.
            let ended = catch_unwind(AssertUnwindSafe(|| project.bring_up()));
            let ended = ended.unwrap_or_else(|_| Err(Error::failed("a fault of this server")));
            let mut kept = locked(&project.kept);
            kept.failed = ended.err().map(|error| error.in_one_line());
            (kept.is_at_work, kept.progress) = (false, None);
            kept.news += 1;
            project.told.notify_all();
        };
        match thread::Builder::new().name("index".into()).stack_size(STACK).spawn(work) {
            Ok(_) => kept.is_at_work = true,
            Err(error) => kept.failed = Some(format!("no thread for the index: {error}")),
        }
    }

    /// The weights of the ranking.
    pub(crate) fn weights(&self) -> &RankingWeights {
        &self.weights
    }

    /// The project as it is now: an index that is up to date, where that does not take too long, else the one before.
    pub(crate) fn now(self: &Arc<Self>, wants: Wanted) -> Result<ProjectNow> {
        let end = Instant::now() + self.wait;
        // Files that change all the time are not waited for.
        for _ in 0..MOST_NEWS {
            let (index, news) = {
                let kept = locked(&self.kept);
                (kept.index.clone(), kept.news)
            };
            if let Some(kept) = index.filter(|kept| kept.has(wants)) {
                let changes = kept.index.stale()?;
                if changes.is_empty() && kept.index.commit() == head_commit(kept.index.root()).as_deref() {
                    return Ok(ProjectNow { notes: kept.notes.clone(), kept, changes });
                }
            }
            self.begin();
            if !self.has_news(news, end) {
                break;
            }
        }
        let kept = locked(&self.kept);
        let Some(index) = kept.index.clone().filter(|kept| kept.has(wants)) else { return Err(not_indexed(&kept)) };
        let mut notes = index.notes.clone();
        notes.push(match &kept.failed {
            Some(error) => format!("the index could not be brought up to date: {error}"),
            None => "the index is being brought up to date; ask again in a moment".to_owned(),
        });
        drop(kept);
        Ok(ProjectNow { changes: index.index.stale()?, kept: index, notes })
    }

    /// Waits until something is new after `known`; false where no time is left before, or what was at work has failed.
    fn has_news(&self, known: u64, end: Instant) -> bool {
        let mut kept = locked(&self.kept);
        while kept.news <= known {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || !kept.is_at_work {
                return false;
            }
            kept = self.told.wait_timeout(kept, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        kept.failed.is_none()
    }

    /// Brings the index, its structures and its vectors up to date; its words are answered from as soon as they are there, where
    /// there was none or where vectors take their time.
    fn bring_up(&self) -> Result<()> {
        let mut told = |progress: Progress| locked(&self.kept).progress = Some(progress);
        let is_first = locked(&self.kept).index.is_none();
        if is_first && let Some(mut index) = self.place.read()? {
            let (_, notes) = self.with_vectors(&mut index)?;
            self.keep(index, notes);
        }
        // Where another process is at it, this is an index in memory.
        let mut update = self.place.update_unless_busy(&mut told)?;
        let (missing, mut notes) = self.with_vectors(update.index_mut())?;
        let has_structures = locked(&self.kept).index.as_ref().is_some_and(|kept| kept.index.has_structures());
        if missing > 0 || !has_structures {
            let waits = (missing > 0).then(|| format!("{missing} units have no vectors yet, and are found by words"));
            self.keep(update.index().clone(), notes.iter().cloned().chain(waits).collect());
        }
        if let Err(error) = update.structures(&mut told) {
            notes.push(format!("structures are not of all that is new: {}", error.in_one_line()));
        }
        let encoder = locked(&self.encoder).clone();
        if let Some((store, encoder)) = encoder.filter(|_| missing > 0)
            && let Err(error) = update.embed(&store, encoder.as_ref(), &mut told)
        {
            notes.push(format!("what is new is found by words alone: {}", error.in_one_line()));
        }
        let (index, kept) = update.try_to_keep();
        if let Err(error) = kept {
            notes.push(format!("the index is in memory alone: {}", error.in_one_line()));
        }
        self.keep(index, notes);
        Ok(())
    }

    /// Gives an index its vectors, where it has some and their encoder can be asked: the number of units without, and
    /// remarks.
    fn with_vectors(&self, index: &mut CodeIndex) -> Result<(usize, Vec<String>)> {
        let vectors = index.kept_vectors()?;
        let words_alone = |why: String| Ok((0, vec![format!("found by words alone: {why}")]));
        match (self.open_encoder(vectors.as_ref(), index), vectors) {
            (Err(error), _) => words_alone(error.in_one_line()),
            (Ok(None), _) => Ok((0, Vec::new())),
            (Ok(Some(_)), None) => Ok((index.units().len(), Vec::new())),
            (Ok(Some(made_by)), Some(vectors)) if made_by.fingerprint != vectors.encoder().fingerprint => words_alone(
                format!("{} has changed since it made this index's vectors; `wb index` asks it", made_by.opens),
            ),
            (Ok(Some(_)), Some(vectors)) => Ok((index.set_vectors(vectors), Vec::new())),
        }
    }

    /// Opens the encoder of vectors, or the one that is to make some, unless it is open.
    fn open_encoder(&self, vectors: Option<&UnitVectors>, index: &CodeIndex) -> Result<Option<VectorEncoder>> {
        let mut open = locked(&self.encoder);
        match (open.as_mut(), vectors) {
            // The name and the place by which the index knows it stay there.
            (Some((store, _)), Some(kept)) if is_same(kept, store) => *store = store.renamed(kept.encoder().clone()),
            _ => *open = (self.opener)(vectors, index)?,
        }
        Ok(open.as_ref().map(|(store, _)| store.encoder().clone()))
    }

    fn keep(&self, index: CodeIndex, notes: Vec<String>) {
        let graph = Mutex::default();
        let mut kept = locked(&self.kept);
        kept.index = Some(Arc::new(KeptIndex { index, notes, graph }));
        kept.news += 1;
        self.told.notify_all();
    }

    /// The encoder that questions are asked by, where the index has vectors.
    pub(crate) fn encoder(&self, now: &ProjectNow) -> Option<Arc<dyn Encoder + Send + Sync>> {
        let vectors = now.index().vectors()?;
        let open = locked(&self.encoder);
        open.as_ref().filter(|(store, _)| is_same(vectors, store)).map(|(_, encoder)| Arc::clone(encoder))
    }

    /// The graph of the project as a question finds it.
    pub(crate) fn graph(&self, now: &ProjectNow) -> Result<Arc<ProjectGraph>> {
        let mut graph = locked(&now.kept.graph);
        if let Some((_, known)) = graph.as_ref().filter(|(changes, _)| *changes == now.changes && changes.is_empty()) {
            return Ok(Arc::clone(known));
        }
        let opened = Arc::new(ProjectGraph::open(now.index().without_vectors())?);
        *graph = Some((now.changes.clone(), Arc::clone(&opened)));
        Ok(opened)
    }
}

impl KeptIndex {
    fn has(&self, wants: Wanted) -> bool {
        self.index.has_structures() || wants == Wanted::Words
    }
}

impl ProjectNow {
    /// The index.
    pub fn index(&self) -> &CodeIndex {
        &self.kept.index
    }

    /// Paths of files that have changed or gone since they were indexed.
    pub fn stale(&self) -> impl Iterator<Item = &String> {
        self.changes.changed.iter().chain(&self.changes.gone)
    }
}

/// True for vectors of a store's encoder, wherever that was opened from.
fn is_same(vectors: &UnitVectors, store: &VectorStore) -> bool {
    vectors.encoder().fingerprint == store.encoder().fingerprint
}

/// Reason that there is no index yet.
fn not_indexed(kept: &Kept) -> Error {
    match (&kept.failed, &kept.progress) {
        (Some(error), _) => Error::failed(format!("the project could not be indexed: {error}")),
        (None, progress) => {
            let told = |it: &Progress| format!(": {}, {} of {}", it.stage, it.done, it.total);
            let how_far = progress.as_ref().filter(|it| it.total > 0).map(told).unwrap_or_default();
            Error::failed(format!("the project is being indexed for the first time{how_far}"))
                .with_hint("ask the same again in a minute")
        }
    }
}

/// A lock that a panic elsewhere does not close.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
