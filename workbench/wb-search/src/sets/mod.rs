//! Questions of others over real repositories, with their gold answers, and what a ranking is worth on them.
//!
//! Each set is laid out as its authors publish it, with its repositories below `corpora/` (cqs: `corpus/`).

mod against;
mod at_commit;
mod context_bench;
mod cqs;
mod intents;
mod measure;
mod no_answer;
mod own;
mod semble;
mod swe_qa;
mod tune;
mod values;

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

pub use measure::{Measured, MetricValue, QuestionValues, measure, seconds};
pub use own::{OWN_QUESTIONS, own_questions};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tempfile::TempDir;
pub use tune::{IndexedSet, main_metrics, tune, tune_reading, worth, worth_of_reading};
use wb_core::{Encoder, Progress, Reranker, fingerprint::Fingerprint, json_lines};

use crate::{
    CodeIndex, Error, IssueWeights, PartedQuestion, RankingWeights, Result, SearchContext, SearchQuestion, UnitVectors,
    ranking::ReadAnswers,
};

/// A set of questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchSet {
    /// semble's benchmark (MinishLab, 2026): 19 languages, gold are files; nDCG@10, P@1.
    Semble,
    /// SWE-QA (arXiv 2509.14635): gold are the files and lines that reference answers name.
    SweQa,
    /// cqs' questions about itself: gold is one function, class or section.
    Cqs,
    /// ContextBench (arXiv 2602.05892): issues, gold are the files and lines that people found to be needed.
    #[serde(rename = "contextbench")]
    ContextBench,
    /// Agent Retrieval Bench's questions without an answer (arXiv 2607.24882) among others that have one; AUROC.
    NoAnswer,
    /// Questions about symbols by their intent: definition, usage, implementation, similar, change.
    Intents,
    /// Questions made out of a repository itself.
    Own,
}

impl SearchSet {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Semble, Self::SweQa, Self::Cqs, Self::ContextBench, Self::NoAnswer, Self::Intents, Self::Own];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Semble => "semble",
            Self::SweQa => "swe-qa",
            Self::Cqs => "cqs",
            Self::ContextBench => "contextbench",
            Self::NoAnswer => "no-answer",
            Self::Intents => "intents",
            Self::Own => "own",
        }
    }

    /// True where a question is an issue or alike, which is asked in parts.
    pub(crate) fn asks_in_parts(self) -> bool {
        matches!(self, Self::ContextBench | Self::NoAnswer)
    }

    /// Reads questions and the places of their repositories.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or nothing of it can be asked.
    pub fn load(self, folder: &Path) -> Result<LoadedSet> {
        let mut set = match self {
            Self::Semble => semble::load(folder),
            Self::SweQa => swe_qa::load(folder),
            Self::Cqs => cqs::load(folder),
            Self::ContextBench => context_bench::load(folder),
            Self::NoAnswer => no_answer::load(folder),
            Self::Intents => intents::load(folder),
            Self::Own => own_questions(folder, OWN_QUESTIONS, &|_| true),
        }?;
        if set.questions.is_empty() {
            let (place, n) = (folder.display(), set.left_out);
            let (what, hint) = match n {
                0 => (format!("{place} has no questions of {self}"), "`--dataset` is the folder of the set itself"),
                _ => (
                    format!("none of the {n} questions of {place} can be asked: what they ask about is not there"),
                    "unpack the set's repositories beside its questions: corpora/NAME, of sets with commits corpora/ID or \
                     corpora/OWNER__NAME@COMMIT",
                ),
            };
            return Err(Error::failed(what).with_hint(hint));
        }
        set.name_each_once();
        Ok(set)
    }
}

impl fmt::Display for SearchSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SearchSet {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        let names = || Self::ALL.map(Self::name).join(", ");
        Self::ALL.into_iter().find(|set| set.name() == name).ok_or_else(|| format!("expected one of {}", names()))
    }
}

/// A set's questions and repositories.
#[derive(Debug, Clone)]
pub struct LoadedSet {
    /// Its name.
    pub set: SearchSet,
    /// Repositories.
    pub repositories: Vec<Repository>,
    /// Questions in the order of their files.
    pub questions: Vec<SetQuestion>,
    /// Questions that are not asked: their repository is not there, or none of their gold is in it.
    pub left_out: usize,
    /// A copy of the repository that is searched, where the set makes one.
    pub copy: Option<Arc<TempDir>>,
    /// True to ask in the context that a question has.
    pub in_context: bool,
    /// Hops of every question, see [`PartedQuestion::set_hops`].
    pub hops: u8,
}

impl LoadedSet {
    fn empty(set: SearchSet) -> Self {
        let (repositories, questions) = (Vec::new(), Vec::new());
        Self { set, repositories, questions, left_out: 0, copy: None, in_context: false, hops: 1 }
    }

    /// Gives a question whose name another one has a name of its own.
    fn name_each_once(&mut self) {
        let mut met: HashMap<String, usize> = HashMap::new();
        for question in &mut self.questions {
            let times = met.entry(question.id.clone()).or_default();
            *times += 1;
            if *times > 1 {
                question.id += &format!("#{times}");
            }
        }
    }

    /// Gives every question the vectors of its parts, as it is asked by any weights that take issues apart as these do.
    pub fn embed(&mut self, encoder: &dyn Encoder, weights: &RankingWeights) -> Result<()> {
        self.set_vectors(&|text| UnitVectors::of_question(encoder, text), weights)
    }

    /// Gives every question the vectors of its parts, each of length 1, by the texts of the parts.
    pub fn set_vectors(&mut self, of: &dyn Fn(&str) -> Result<Vec<f32>>, weights: &RankingWeights) -> Result<()> {
        let issue = weights.issue.as_ref().map(IssueWeights::every_part);
        let weights = RankingWeights { issue, ..weights.clone() };
        let of_question = |question: &SetQuestion| {
            let asked = self.asked(question, &weights)?;
            asked.texts().map(|text| Ok((text.to_owned(), of(text)?))).collect::<Result<HashMap<String, Vec<f32>>>>()
        };
        let vectors = self.questions.iter().map(of_question).collect::<Result<Vec<_>>>()?;
        self.questions.iter_mut().zip(vectors).for_each(|(question, vectors)| question.vectors = vectors);
        Ok(())
    }

    /// Lets a cross-encoder read the first `n` answers to every question, see [`PartedQuestion::read`].
    pub fn read(
        &mut self,
        indexes: &[CodeIndex],
        weights: &RankingWeights,
        (reranker, n): (&dyn Reranker, usize),
        progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        self.questions.iter_mut().for_each(|question| question.read = ReadAnswers::default());
        let asked = self.questions.iter().map(|question| {
            let texts = indexes[question.repository].first_texts(&self.asked(question, weights)?, weights, n)?;
            Ok((question.text.as_str(), texts))
        });
        let read = ReadAnswers::of_all(reranker, asked.collect::<Result<_>>()?, n, progress)?;
        self.questions.iter_mut().zip(read).for_each(|(question, read)| question.read = read);
        Ok(())
    }

    /// A question as a whole or, of issues, in parts; with its vectors, where it has some.
    pub(crate) fn asked(&self, question: &SetQuestion, weights: &RankingWeights) -> Result<PartedQuestion> {
        let like = SearchQuestion::new("");
        let mut asked = match self.set.asks_in_parts() {
            true => PartedQuestion::new(&question.text, &like, weights),
            false => PartedQuestion::whole(like.asking(&question.text)),
        };
        if self.in_context {
            asked.set_context(&question.context, &weights.context);
        }
        asked.set_hops(self.hops);
        asked.set_read(question.read.clone());
        asked.set_vectors(&|text| Ok(question.vectors.get(text).cloned().unwrap_or_default()))?;
        Ok(asked)
    }
}

/// A repository that is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Name in the set.
    pub name: String,
    /// Language, where the set has one.
    pub language: String,
    /// The folder that is searched.
    pub root: PathBuf,
}

/// A question with its gold.
#[derive(Debug, Clone, PartialEq)]
pub struct SetQuestion {
    /// Name of the question.
    pub id: String,
    /// The question.
    pub text: String,
    /// The file that is open, where the set says so.
    pub context: SearchContext,
    /// Vectors by the texts of its parts, where an encoder is asked.
    pub vectors: HashMap<String, Vec<f32>>,
    /// Position of its repository.
    pub repository: usize,
    /// Kind of question, as the set has it.
    pub category: String,
    /// Gold.
    pub targets: Vec<Target>,
    /// Number of targets, from the first, that are the answer; the others are good too.
    pub primary: usize,
    /// Name that the answer defines, where the set says it.
    pub symbol: Option<String>,
    /// Scores of a cross-encoder, where one was asked.
    pub read: ReadAnswers,
    /// Units that the structure of the repository has for it, which come first.
    pub first: Vec<usize>,
}

impl SetQuestion {
    /// Key of its text, its repository and its gold. Of a set that is made of a repository, the repository's name and lines do
    /// not count: it is asked in another folder, and after a change.
    fn key(&self, set: SearchSet, repository: &Repository) -> String {
        let mut key = Fingerprint::builder();
        let is_made = set == SearchSet::Own;
        key.text(if is_made { "" } else { &repository.name }).text(&self.category).text(&self.text);
        key.number(self.primary as u64).text(self.symbol.as_deref().unwrap_or_default());
        for Target { path, lines } in &self.targets {
            let lines = lines.filter(|_| !is_made);
            key.text(path).text(&format!("{lines:?}"));
        }
        key.finish().short().to_owned()
    }

    /// A question to a repository, by its position; all targets are the answer.
    fn new(id: String, text: String, repository: usize, category: String, targets: Vec<Target>) -> Self {
        let (primary, context) = (targets.len(), SearchContext::default());
        let (vectors, read, symbol, first) = (HashMap::new(), ReadAnswers::default(), None, Vec::new());
        Self { id, text, context, vectors, read, repository, category, targets, primary, symbol, first }
    }
}

/// A place that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Path of the file.
    pub path: String,
    /// Lines, where they are known.
    pub lines: Option<[u32; 2]>,
}

impl Target {
    /// A place by a path as people write it: `./a.py`, `src\\a.py`.
    fn of(path: &str, lines: Option<[u32; 2]>) -> Self {
        let path = path.replace('\\', "/");
        Self { path: path.trim_start_matches("./").to_owned(), lines }
    }
}

/// Lines of a file as sets of JSON lines write them.
#[derive(Deserialize)]
struct CitedLines {
    file: String,
    start: Option<u32>,
    end: Option<u32>,
}

impl From<CitedLines> for Target {
    fn from(CitedLines { file, start, end }: CitedLines) -> Self {
        Self::of(&file, start.map(|start| [start, end.unwrap_or(start)]))
    }
}

/// Reads JSON of a known shape.
fn json_of<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    serde_json::from_slice(bytes).map_err(|error| Error::json(path, &error))
}

/// Reads JSON of a set.
fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    json_of(path).map_err(|error| error.with_hint("`--dataset` is the folder of the set itself"))
}

/// Reads the lines of a file, each JSON of a known shape.
fn read_json_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    Ok(json_lines::read(path)?.into_iter().map(|(_, line)| line).collect())
}

/// A repository's folder, which has to be there.
fn repository(name: &str, language: &str, root: PathBuf) -> Result<Repository> {
    if !root.is_dir() {
        let what = format!("{} is not there, expected the repository `{name}`", root.display());
        return Err(Error::failed(what).with_hint("unpack the set's archive of repositories beside its questions"));
    }
    Ok(Repository { name: name.to_owned(), language: language.to_owned(), root })
}
