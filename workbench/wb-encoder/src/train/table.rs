//! Training pairs as numbers: which texts each has, equal numbers for equal texts, and which data set it belongs to.

use std::{
    borrow::Cow,
    collections::{HashMap, hash_map::Entry},
    path::Path,
};

use wb_core::{
    Pair, PairSet, Result, Task,
    fingerprint::{Fingerprint, text_key},
};

use super::{
    config::TrainConfig,
    curriculum::fewest_negatives,
    refresh::RefreshedNegatives,
    texts::{TextFile, TextStore, TextWriter},
};
use crate::losses::{Labels, Needs, PairLabels};

/// Training pairs: in memory, or gone through once where they lie, for sets that are larger than memory.
#[derive(Clone, Copy)]
pub enum TrainPairs<'a> {
    /// Pairs in memory.
    Memory(&'a PairSet),
    /// Elsewhere.
    Stream(&'a dyn PairStream),
}

/// Pairs that can be gone through, always in the same order, and that need not fit into memory.
pub trait PairStream {
    /// Changes whenever [`PairStream::each`] would give something else.
    fn fingerprint(&self) -> Result<Fingerprint>;

    /// Gives every pair to `take`, in order; an error of `take` ends it.
    fn each(&self, take: &mut dyn FnMut(Pair) -> Result<()>) -> Result<()>;
}

impl<'a> From<&'a PairSet> for TrainPairs<'a> {
    fn from(pairs: &'a PairSet) -> Self {
        Self::Memory(pairs)
    }
}

impl TrainPairs<'_> {
    /// Fingerprint of all that training sees of the pairs.
    pub fn fingerprint(&self) -> Result<Fingerprint> {
        match self {
            Self::Memory(pairs) => Ok(pairs.fingerprint()),
            Self::Stream(pairs) => pairs.fingerprint(),
        }
    }
}

/// Numbers of the texts that each pair's anchor, positive and hard negatives are.
///
/// Costs about 33 bytes a pair, 4 a hard negative and 50 a different text, besides the texts themselves;
/// where those lie in a file, 8 more bytes a text.
#[derive(Debug)]
pub struct PairTable<'a> {
    texts: TextStore<'a>,
    ids: Ids<'a>,
    numbers: HashMap<[u64; 2], u32>,
    anchors: Vec<u32>,
    /// The positive, then the hard negatives that are used, pair after pair.
    documents: Vec<u32>,
    ends: Vec<usize>,
    datasets: Vec<String>,
    dataset: Vec<u32>,
    languages: Vec<String>,
    /// Position among the languages, and task.
    code: Vec<(u32, Task)>,
    /// Scores of the documents, pair after pair, and where each pair's end; both empty where no pair has any.
    scores: Vec<f32>,
    score_ends: Vec<usize>,
}

#[derive(Debug)]
enum Ids<'a> {
    Memory(&'a [Pair]),
    Disk(TextFile),
}

impl<'a> PairTable<'a> {
    /// Numbers the texts of pairs, with at most `negatives` hard negatives of each. The texts of pairs that do not lie
    /// in memory are written to files in `folder`, which go when the table goes.
    pub fn new(pairs: TrainPairs<'a>, negatives: usize, folder: &Path) -> Result<Self> {
        match pairs {
            TrainPairs::Memory(pairs) => Ok(Self::in_memory(pairs.pairs(), negatives)),
            TrainPairs::Stream(pairs) => Self::on_disk(pairs, negatives, folder),
        }
    }

    /// Numbers the texts of pairs in memory.
    pub fn in_memory(pairs: &'a [Pair], negatives: usize) -> Self {
        let mut table = Self::empty(Ids::Memory(pairs));
        let mut texts = Vec::new();
        for pair in pairs {
            let mut add = |text: &'a str| {
                texts.push(Cow::Borrowed(text));
                Ok(())
            };
            // Nothing can go wrong in memory.
            let _ = table.push(pair, negatives, &mut add);
        }
        table.texts = TextStore::Memory(texts);
        table
    }

    /// Numbers the texts of pairs and keeps none of them: enough to plan a training.
    pub fn for_planning(pairs: TrainPairs<'_>, negatives: usize) -> Result<PairTable<'static>> {
        let mut table = PairTable::empty(Ids::Memory(&[]));
        match pairs {
            TrainPairs::Memory(pairs) => {
                pairs.pairs().iter().try_for_each(|pair| table.push(pair, negatives, &mut |_| Ok(())))?;
            }
            TrainPairs::Stream(pairs) => pairs.each(&mut |pair| table.push(&pair, negatives, &mut |_| Ok(())))?,
        }
        table.freeze();
        Ok(table)
    }

    fn on_disk(pairs: &'a dyn PairStream, negatives: usize, folder: &Path) -> Result<Self> {
        let mut texts = TextWriter::create(&folder.join("training-texts"))?;
        let mut ids = TextWriter::create(&folder.join("training-ids"))?;
        let mut table = Self::empty(Ids::Memory(&[]));
        pairs.each(&mut |pair| {
            ids.write(&pair.id)?;
            table.push(&pair, negatives, &mut |text| texts.write(text))
        })?;
        (table.texts, table.ids) = (TextStore::Disk(texts.finish()?, Vec::new()), Ids::Disk(ids.finish()?));
        Ok(table)
    }

    fn empty(ids: Ids<'a>) -> Self {
        Self {
            texts: TextStore::Memory(Vec::new()),
            ids,
            numbers: HashMap::new(),
            anchors: Vec::new(),
            documents: Vec::new(),
            ends: vec![0],
            datasets: Vec::new(),
            dataset: Vec::new(),
            languages: Vec::new(),
            code: Vec::new(),
            scores: Vec::new(),
            score_ends: Vec::new(),
        }
    }

    /// Adds a pair; new texts are given to `add`, in the order of their numbers.
    fn push<'p>(&mut self, pair: &'p Pair, negatives: usize, add: &mut dyn FnMut(&'p str) -> Result<()>) -> Result<()> {
        let mut number = |text: &'p str| -> Result<u32> {
            let next = self.numbers.len() as u32;
            match self.numbers.entry(text_key(text)) {
                Entry::Occupied(known) => Ok(*known.get()),
                Entry::Vacant(free) => {
                    add(text)?;
                    Ok(*free.insert(next))
                }
            }
        };
        self.anchors.push(number(&pair.anchor)?);
        // A text without a label has no documents.
        if !pair.is_text() {
            self.documents.push(number(&pair.positive)?);
            for negative in pair.negatives.iter().take(negatives) {
                self.documents.push(number(negative)?);
            }
        }
        self.ends.push(self.documents.len());
        self.dataset.push(position(&mut self.datasets, &pair.origin.dataset));
        self.code.push((position(&mut self.languages, &pair.language), pair.task));
        if !pair.scores.is_empty() || !self.score_ends.is_empty() {
            // Pairs before the first one with scores have none.
            self.score_ends.resize(self.len(), 0);
            self.scores.extend(pair.scores.iter().take(1 + negatives));
            self.score_ends.push(self.scores.len());
        }
        Ok(())
    }

    /// Puts other hard negatives in the place of those at hand, at most `most` of each pair. Numbers of texts stay;
    /// texts that were not known get new ones. Positives keep their scores; nobody has scored the new ones.
    pub fn set_negatives(&mut self, mined: RefreshedNegatives, most: usize) -> Result<()> {
        mined.check(self.len())?;
        let mut numbers = Vec::with_capacity(mined.texts.len());
        for text in mined.texts {
            let next = self.numbers.len() as u32;
            numbers.push(match self.numbers.entry(text_key(&text)) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(free) => {
                    self.texts.push(text);
                    *free.insert(next)
                }
            });
        }
        let mut documents = Vec::with_capacity(self.len() * (1 + most));
        let mut ends = Vec::with_capacity(self.ends.len());
        ends.push(0);
        for (pair, negatives) in mined.negatives.iter().enumerate() {
            if let Some(positive) = self.documents(pair as u32).first() {
                documents.push(*positive);
                documents.extend(negatives.iter().take(most).map(|at| numbers[*at as usize]));
            }
            ends.push(documents.len());
        }
        if !self.score_ends.is_empty() {
            let mut scores = Vec::new();
            let of_positives = (0..self.len() as u32).map(|pair| {
                scores.extend(self.scores(pair).first());
                scores.len()
            });
            let score_ends = std::iter::once(0).chain(of_positives).collect();
            (self.scores, self.score_ends) = (scores, score_ends);
        }
        (self.documents, self.ends) = (documents, ends);
        Ok(())
    }

    /// Lets go of what only [`PairTable::set_negatives`] needs.
    pub fn freeze(&mut self) {
        self.numbers = HashMap::new();
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.anchors.len()
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.anchors.is_empty()
    }

    /// A pair's id.
    pub fn id(&self, pair: u32) -> Result<String> {
        match &self.ids {
            Ids::Memory(pairs) => Ok(pairs[pair as usize].id.clone()),
            Ids::Disk(file) => file.read(pair as usize),
        }
    }

    /// A text by its number.
    pub fn text(&self, number: u32) -> Result<Cow<'_, str>> {
        self.texts.get(number)
    }

    /// Number of different texts.
    pub fn texts(&self) -> usize {
        self.texts.len()
    }

    /// A pair's anchor.
    pub fn anchor(&self, pair: u32) -> u32 {
        self.anchors[pair as usize]
    }

    /// A pair's positive, then its hard negatives; none of a text without a label.
    pub fn documents(&self, pair: u32) -> &[u32] {
        &self.documents[self.ends[pair as usize]..self.ends[pair as usize + 1]]
    }

    /// A pair's scores: of its positive, then of its hard negatives, as far as there are any.
    pub fn scores(&self, pair: u32) -> &[f32] {
        match self.score_ends.is_empty() {
            true => &[],
            false => &self.scores[self.score_ends[pair as usize]..self.score_ends[pair as usize + 1]],
        }
    }

    /// A pair's document: the positive, or the text without a label itself.
    pub fn document(&self, pair: u32) -> u32 {
        self.documents(pair).first().copied().unwrap_or_else(|| self.anchor(pair))
    }

    /// Number of hard negatives of a pair.
    fn negatives(&self, pair: u32) -> usize {
        self.documents(pair).len().saturating_sub(1)
    }

    /// Refuses texts without a label where a loss needs pairs.
    fn check_labels(&self, needs: Needs) -> Result<()> {
        let texts = || (0..self.len() as u32).filter(|pair| self.documents(*pair).is_empty());
        let Some(first) = texts().next().filter(|_| !needs.texts) else { return Ok(()) };
        let message = format!(
            "is a text without a label, as {} of {} are, and `{}` needs pairs",
            texts().count(),
            self.len(),
            needs.loss
        );
        let hint = "`loss: { distill_embeddings: { teacher: NAME } }` learns from texts alone";
        Err(wb_core::Error::data(format!("pair {}", self.id(first)?), message).with_hint(hint))
    }

    /// Refuses pairs that lack what a loss needs.
    pub fn check(&self, needs: Needs, config: &TrainConfig) -> Result<()> {
        self.check_labels(needs)?;
        if config.refresh.is_some() && needs.scores {
            let message = format!("new hard negatives have no scores, and `{}` needs them", needs.loss);
            return Err(wb_core::Error::value("train.refresh", message));
        }
        let id = |pair: usize| self.id(pair as u32);
        let counts = |pair: usize| (self.negatives(pair as u32), self.scores(pair as u32).len());
        // Scores have to reach as far as the stage that uses most, and hard negatives into every stage.
        Needs { negatives: false, ..needs }.check_counts(self.len(), &counts, &id)?;
        if config.refresh.is_some() {
            // What is mined while training is not here yet.
            return Ok(());
        }
        let fewest = fewest_negatives(config);
        let in_every_stage = |pair: usize| (counts(pair).0.min(fewest), 0);
        Needs { scores: false, ..needs }.check_counts(self.len(), &in_every_stage, &id)
    }

    /// The names of the data sets, in the order of their first pairs.
    pub fn datasets(&self) -> &[String] {
        &self.datasets
    }

    /// A pair's data set, as a position in [`PairTable::datasets`].
    pub fn dataset(&self, pair: u32) -> usize {
        self.dataset[pair as usize] as usize
    }

    /// The programming language of a pair's code, empty where it is not known.
    pub fn language(&self, pair: u32) -> &str {
        &self.languages[self.code[pair as usize].0 as usize]
    }

    /// Task of a pair: the kinds of text that it goes from and to.
    pub fn task(&self, pair: u32) -> Task {
        self.code[pair as usize].1
    }

    /// Number of pairs of each data set.
    pub fn dataset_sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.datasets.len()];
        self.dataset.iter().for_each(|set| sizes[*set as usize] += 1);
        sizes
    }

    /// The most hard negatives that a pair has.
    pub fn most_negatives(&self) -> usize {
        (0..self.len() as u32).map(|pair| self.negatives(pair)).max().unwrap_or(0)
    }

    /// Pairs with fewer hard negatives than those that have most.
    pub fn short_of_negatives(&self) -> usize {
        let most = self.most_negatives();
        let pairs = (0..self.len() as u32).filter(|pair| !self.documents(*pair).is_empty());
        pairs.filter(|pair| self.negatives(*pair) < most).count()
    }

    /// Anchors and documents of a batch in their order, with what a loss knows of them: at most `negatives` hard
    /// negatives of each pair.
    pub fn labels(&self, pairs: &[u32], negatives: usize) -> Labels {
        let of_pair = |pair: &u32| {
            let documents = self.documents(*pair);
            let documents = &documents[..documents.len().min(negatives + 1)];
            PairLabels { anchor: self.anchor(*pair), documents, scores: self.scores(*pair) }
        };
        Labels::by_column(&pairs.iter().map(of_pair).collect::<Vec<_>>())
    }
}

/// A name's position in a list of different names; a new one comes to its end.
fn position(names: &mut Vec<String>, name: &str) -> u32 {
    // The last ones first: pairs of a data set, or in a language, mostly stand together.
    let known = names.iter().rposition(|known| known == name);
    known.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    }) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(id: &str, anchor: &str, positive: &str, negatives: &[&str]) -> Pair {
        let negatives = negatives.iter().map(|n| (*n).into()).collect();
        Pair { id: id.into(), anchor: anchor.into(), positive: positive.into(), negatives, ..Pair::default() }
    }

    fn three() -> Vec<Pair> {
        vec![pair("a", "q", "p", &["x", "y", "z"]), pair("b", "r", "q", &[]), pair("c", "q", "s", &["p"])]
    }

    impl PairStream for PairSet {
        fn fingerprint(&self) -> Result<Fingerprint> {
            Ok(PairSet::fingerprint(self))
        }

        fn each(&self, take: &mut dyn FnMut(Pair) -> Result<()>) -> Result<()> {
            self.pairs().iter().cloned().try_for_each(take)
        }
    }

    /// Looks at the table of pairs in memory, and at that of the same pairs on the disk.
    fn each_table(pairs: Vec<Pair>, look: impl Fn(PairTable<'_>)) {
        let (pairs, folder) = (PairSet::new(pairs).unwrap(), tempfile::tempdir().unwrap());
        look(PairTable::in_memory(pairs.pairs(), 2));
        look(PairTable::new(TrainPairs::Stream(&pairs), 2, folder.path()).unwrap());
    }

    fn texts(table: &PairTable<'_>, negatives: usize) -> Vec<String> {
        let labels = table.labels(&[0, 1, 2], negatives);
        labels.documents().iter().map(|number| table.text(*number).unwrap().into_owned()).collect()
    }

    #[test]
    fn columns_are_positives_then_negatives_by_rank() {
        each_table(three(), |table| {
            assert_eq!(texts(&table, 2), ["p", "q", "s", "x", "p", "y"]);
            assert_eq!(texts(&table, 1), ["p", "q", "s", "x", "p"]);
            assert_eq!(texts(&table, 0), ["p", "q", "s"]);
            let labels = table.labels(&[2, 1, 0], 9);
            assert_eq!(labels.owners(), [0, 1, 2, 0, 2, 2]);
            assert!(labels.scores().iter().all(Option::is_none));
            assert_eq!(table.anchor(0), table.anchor(2));
            assert_eq!((table.texts(), table.short_of_negatives()), (7 - 1, 2));
            assert_eq!((table.id(0).unwrap(), table.id(2).unwrap()), ("a".into(), "c".into()));
        });
    }

    #[test]
    fn data_sets_are_numbered_as_they_come() {
        let mut pairs = three();
        pairs[0].origin.dataset = "csn".into();
        pairs[2].origin.dataset = "csn".into();
        let table = PairTable::in_memory(&pairs, 2);
        assert_eq!(table.datasets(), ["csn", ""]);
        assert_eq!((0..3).map(|pair| table.dataset(pair)).collect::<Vec<_>>(), [0, 1, 0]);
        assert_eq!(table.dataset_sizes(), [2, 1]);
        pairs[1].language = "rust".into();
        pairs[1].task = Task::Code2text;
        let table = PairTable::in_memory(&pairs, 2);
        let code = |pair| (table.language(pair), table.task(pair));
        assert_eq!(
            [code(0), code(1), code(2)],
            [("", Task::Text2code), ("rust", Task::Code2text), ("", Task::Text2code)]
        );
    }

    /// Pairs that are made as they are asked for, `WB_STREAM_GB` gigabytes of them.
    struct Endless(u32);

    impl PairStream for Endless {
        fn fingerprint(&self) -> Result<Fingerprint> {
            Ok(Fingerprint::of_bytes(&self.0.to_le_bytes()))
        }

        fn each(&self, take: &mut dyn FnMut(Pair) -> Result<()>) -> Result<()> {
            (0..self.0).try_for_each(|i| {
                let (anchor, positive) = (format!("what does number {i} do?"), format!("fn f{i}() {{}} ").repeat(150));
                take(Pair { id: i.to_string(), anchor, positive, ..Pair::default() })
            })
        }
    }

    /// `WB_STREAM_GB=2 cargo test --release -p wb-encoder --lib -- --ignored gigabytes_of_texts`
    #[test]
    #[ignore = "writes and reads gigabytes"]
    fn gigabytes_of_texts_need_little_memory() {
        let peak = || -> u64 {
            let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
        };
        let gigabytes: f64 = std::env::var("WB_STREAM_GB").map_or(2.0, |text| text.parse().unwrap());
        let pairs = Endless((gigabytes * 1e9 / 2100.0) as u32);
        let folder = tempfile::tempdir().unwrap();
        let (before, started) = (peak(), std::time::Instant::now());
        let table = PairTable::new(TrainPairs::Stream(&pairs), 0, folder.path()).unwrap();
        let bytes = std::fs::metadata(folder.path().join("training-texts")).unwrap().len();
        let seconds = started.elapsed().as_secs_f64();
        eprintln!(
            "{} pairs, {bytes} bytes: {seconds:.0} s, peak {} MB, before {} MB",
            table.len(),
            peak() / 1000,
            before / 1000
        );
        assert!(bytes as f64 > 0.9e9 * gigabytes);
        // Any batch is read from the disk.
        let started = std::time::Instant::now();
        for first in (0..table.len() as u32 - 64).step_by(table.len() / 100) {
            let batch: Vec<u32> = (first..first + 64).collect();
            for pair in batch {
                let text = table.text(table.documents(pair)[0]).unwrap();
                assert!(text.starts_with(&format!("fn f{pair}() {{}} ")));
            }
        }
        eprintln!("{:.0} texts per second", 6400.0 / started.elapsed().as_secs_f64());
        assert!(peak() < before + 400_000, "{} kB", peak());
    }

    #[test]
    fn scores_stay_with_their_documents() {
        let mut pairs = three();
        pairs[1].scores = vec![0.5];
        pairs[2].scores = vec![0.25, -1.0];
        each_table(pairs, |mut table| {
            assert_eq!((table.scores(0), table.scores(1), table.scores(2)), (&[][..], &[0.5][..], &[0.25, -1.0][..]));
            let labels = table.labels(&[2, 0], 1);
            assert_eq!(labels.scores(), [Some(0.25), None, Some(-1.0), None]);
            let texts = vec!["new".to_owned()];
            table.set_negatives(RefreshedNegatives { texts, negatives: vec![vec![0]; 3] }, 2).unwrap();
            assert_eq!((table.scores(0), table.scores(1), table.scores(2)), (&[][..], &[0.5][..], &[0.25][..]));
        });
    }

    #[test]
    fn a_text_without_a_label_has_no_documents() {
        let mut pairs = three();
        pairs[0].positive.clear();
        pairs[0].negatives = vec!["n".into()];
        each_table(pairs, |mut table| {
            assert!(table.documents(0).is_empty());
            assert_eq!(table.document(0), table.anchor(0));
            let labels = table.labels(&[0, 2], 1);
            assert_eq!((labels.pairs(), labels.owners()), (2, &[1, 1][..]));
            let texts = vec!["new".to_owned()];
            table.set_negatives(RefreshedNegatives { texts, negatives: vec![vec![0]; 3] }, 2).unwrap();
            assert_eq!([0, 1].map(|pair| table.documents(pair).len()), [0, 2]);
        });
    }

    #[test]
    fn pairs_that_lack_what_a_loss_needs_are_named() {
        let mut pairs = three();
        let check = |pairs: &[Pair], json: &str, change: fn(&mut TrainConfig)| {
            let mut config = TrainConfig { loss: serde_json::from_str(json).unwrap(), ..TrainConfig::default() };
            change(&mut config);
            let table = PairTable::in_memory(pairs, config.negatives);
            table.check(config.loss.needs(), &config).map_err(|error| error.to_string())
        };
        check(&pairs, r#"{"mnrl": {}}"#, |_| {}).unwrap();
        let found = check(&pairs, r#"{"triplet": {}}"#, |_| {}).unwrap_err();
        assert!(found.starts_with("pair b: has no hard negative, as 1 of 3 pairs"), "{found}");
        let found = check(&pairs, r#"{"cosent": {}}"#, |c| c.negatives = 0).unwrap_err();
        assert!(found.starts_with("pair a: has 0 scores, expected 1"), "{found}");
        pairs[1].negatives = vec!["n".into()];
        check(&pairs, r#"{"triplet": {}}"#, |_| {}).unwrap();
        let last_without = |c: &mut TrainConfig| {
            c.curriculum = serde_json::from_str(r#"[{"name": "a"}, {"name": "b", "negatives": 0}]"#).unwrap();
        };
        let found = check(&pairs, r#"{"triplet": {}}"#, last_without).unwrap_err();
        assert!(found.starts_with("pair a: has no hard negative, as 3 of 3 pairs"), "{found}");
    }

    #[test]
    fn other_negatives_keep_the_numbers_of_known_texts() {
        let pairs = three();
        let mut table = PairTable::in_memory(&pairs, 3);
        let (before, n) = (table.documents(0)[0], table.texts());
        let mined = |first: u32| RefreshedNegatives {
            texts: ["s", "new", "q"].map(str::to_owned).into(),
            negatives: vec![vec![first, 0, 2], vec![0], vec![]],
        };
        table.set_negatives(mined(1), 2).unwrap();
        assert_eq!(texts(&table, 9), ["p", "q", "s", "new", "s", "s"]);
        assert_eq!((table.documents(0)[0], table.texts()), (before, n + 1));
        table.set_negatives(mined(1), 1).unwrap();
        assert_eq!((texts(&table, 9).len(), table.texts()), (5, n + 1));
        assert!(table.set_negatives(mined(3), 1).unwrap_err().to_string().contains("pair 0"), "position 3 of 3 texts");
        let short = RefreshedNegatives { texts: Vec::new(), negatives: Vec::new() };
        assert!(table.set_negatives(short, 1).unwrap_err().to_string().contains("0 pairs, expected 3"));
    }
}
