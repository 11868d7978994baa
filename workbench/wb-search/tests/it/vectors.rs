//! Vectors of units: made once, kept, found again.

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use ndarray::Array2;
use wb_core::{Embeddings, Encoder, Interaction, Progress, Side, encoder::EncodeError, fingerprint::Fingerprint};
use wb_search::{
    CodeIndex, IndexPlace, RankingWeights, SearchQuestion, UnitVectors, VectorEncoder, VectorStore, vectors::embed,
};

use crate::{PARSER, SERVER, indexed, part, project, write};

/// An encoder by hand: one axis for each group of words that mean the same, the last for everything.
pub struct ByMeaning {
    texts: AtomicUsize,
    /// Texts after which it fails.
    most: usize,
    /// Gives a vector for each word, not one for the text.
    by_token: bool,
}

const GROUPS: [&[&str]; 4] =
    [&["config", "settings"], &["log", "diary"], &["listen", "wait", "socket"], &["delete", "erase"]];

impl ByMeaning {
    pub fn new() -> Self {
        Self { texts: AtomicUsize::new(0), most: usize::MAX, by_token: false }
    }

    pub fn made_by(&self) -> VectorEncoder {
        VectorEncoder::of("by-meaning", String::new(), self)
    }
}

impl Encoder for ByMeaning {
    fn name(&self) -> String {
        "by-meaning".into()
    }

    fn dim(&self) -> usize {
        GROUPS.len() + 1
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_bytes(if self.by_token { b"by-token" } else { b"by-meaning" })
    }

    fn interaction(&self) -> Interaction {
        if self.by_token { Interaction::MaxSim } else { Interaction::InnerProduct }
    }

    fn encode(&self, texts: &[&str], _: Side, _: &mut dyn FnMut(Progress)) -> Result<Embeddings, EncodeError> {
        if self.texts.fetch_add(texts.len(), Ordering::Relaxed) + texts.len() > self.most {
            return Err("stopped".into());
        }
        let number = |text: &str, axis: usize| match GROUPS.get(axis) {
            Some(words) => words.iter().filter(|word| text.contains(*word)).count() as f32,
            None => 0.1,
        };
        let dim = self.dim();
        if self.by_token {
            let words: Vec<Vec<&str>> = texts.iter().map(|text| text.split_whitespace().collect()).collect();
            let ends = words.iter().scan(0, |end, words| {
                *end += words.len();
                Some(*end)
            });
            let offsets = std::iter::once(0).chain(ends).collect();
            let values = words.iter().flatten().flat_map(|word| (0..dim).map(move |axis| number(word, axis)));
            return Ok(Embeddings::of_values(values.collect(), dim, Some(offsets))?);
        }
        Ok(Embeddings::dense(Array2::from_shape_fn((texts.len(), dim), |(text, axis)| number(texts[text], axis))))
    }
}

fn store(folder: &Path, encoder: &ByMeaning) -> VectorStore {
    VectorStore::below(folder, encoder.made_by())
}

/// Gives an index its vectors; the number of texts that were embedded.
fn embedded(index: &mut CodeIndex, folder: &Path, encoder: &ByMeaning) -> usize {
    let (vectors, embedded) = embed(index, None, &store(folder, encoder), encoder, &mut |_| {}).unwrap();
    assert_eq!(index.set_vectors(vectors), 0);
    embedded
}

#[test]
fn a_unit_is_found_that_shares_no_word_with_the_question() {
    let folder = project(&[("src/parser.rs", PARSER), ("app/server.py", SERVER)]);
    let kept = tempfile::tempdir().unwrap();
    let (mut index, encoder) = (indexed(folder.path()), ByMeaning::new());
    let mut question = SearchQuestion::new("diary");
    let found = |index: &CodeIndex, question: &SearchQuestion| {
        let found = index.search(question, &RankingWeights::shipped().unwrap(), 5).unwrap();
        found.into_iter().map(|found| (found.path, found.signals.meaning)).collect::<Vec<_>>()
    };
    assert_eq!(found(&index, &question), []);
    assert_eq!(embedded(&mut index, kept.path(), &encoder), 2);
    assert_eq!(found(&index, &question), [], "a question without a vector is asked by its words");
    question.vector = UnitVectors::of_question(&encoder, "diary").unwrap();
    assert_eq!(found(&index, &question), [("src/parser.rs".to_owned(), 1.0)]);
    question.below = vec!["app".into()];
    assert_eq!(found(&index, &question), [], "a file that may not answer does not");
    // The vector of another encoder says nothing of these.
    question.vector = vec![1.0; 3];
    assert_eq!(found(&index, &question), []);
}

/// One vector of a text has to be about everything in it; with one for each word, a text that has a word for each of the
/// question's is the nearest.
#[test]
fn units_are_found_by_the_best_of_their_tokens() {
    let long = |name: &str, words: &str| format!("fn {name}() {{\n    {words}\n{}}}\n", "    // so\n".repeat(30));
    let folder = project(&[("a.rs", &long("one", "log listen delete config")), ("b.rs", &long("two", "log log"))]);
    let (kept, encoder) = (tempfile::tempdir().unwrap(), ByMeaning { by_token: true, ..ByMeaning::new() });
    let mut index = indexed(folder.path());
    assert_eq!(embedded(&mut index, kept.path(), &encoder), 2);
    let mut question = SearchQuestion::new("diary wait erase");
    question.vector = UnitVectors::of_question(&encoder, question.text()).unwrap();
    assert_eq!(question.vector.len(), 3 * encoder.dim());
    let found = index.search(&question, &RankingWeights::shipped().unwrap(), 5).unwrap();
    let found: Vec<(&str, f32)> = found.iter().map(|found| (found.path.as_str(), found.signals.meaning)).collect();
    // The mean of both is what counts for nothing.
    assert_eq!(found, [("a.rs", 1.0)]);
    // They are kept and found again as those of one vector a text are.
    let file = kept.path().join("written");
    let vectors = index.vectors().unwrap();
    vectors.write(&file).unwrap();
    assert_eq!(UnitVectors::read(&file).unwrap(), *vectors);
    assert_eq!(embedded(&mut indexed(folder.path()), kept.path(), &encoder), 0);
    // A question of one vector asks for the best of a unit's.
    question.vector = UnitVectors::of_question(&encoder, "erase").unwrap();
    let best = index.search(&question, &RankingWeights::shipped().unwrap(), 1).unwrap();
    assert_eq!(best[0].path, "a.rs");
}

/// `a.rs` has the unit that is nearest, and `b.rs` two that are nearly as near: what the file is about.
#[test]
fn a_file_whose_units_are_all_near_comes_before_one_of_which_one_is_nearer() {
    let long = |name: &str| format!("fn {name}() {{\n{}}}\n", "    // so\n".repeat(60));
    let two = |names: [&str; 2]| names.map(long).concat();
    let folder = project(&[("a.rs", &two(["one", "other"])), ("b.rs", &two(["first", "second"]))]);
    let mut index = indexed(folder.path());
    let made_by = VectorEncoder { dim: 2, ..ByMeaning::new().made_by() };
    let mut vectors = UnitVectors::empty(made_by);
    for (unit, at) in index.units().iter().zip(0..) {
        // Cosines to the question's [1, 0]; the mean of all is 0.
        let cosine: f32 = match index.names(at).own[0] {
            "one" => 0.75,
            "other" => -1.0,
            _ => 0.7,
        };
        vectors.push(unit.key, &[cosine, (1.0 - cosine * cosine).sqrt()]);
    }
    assert_eq!(index.set_vectors(vectors), 0);
    let mut question = SearchQuestion::new("xyz");
    question.vector = vec![1.0, 0.0];
    let mut weights = RankingWeights::shipped().unwrap();
    let mut found = |theme: f32| {
        weights.vectors.prose.file_means = theme;
        let found = index.search(&question, &weights, 5).unwrap();
        found.into_iter().map(|found| (found.names[0].clone(), found.signals.theme)).collect::<Vec<_>>()
    };
    let names = |found: &[(String, f32)]| found.iter().map(|found| found.0.clone()).collect::<Vec<_>>();
    assert_eq!(names(&found(0.0)), ["one", "first", "second"]);
    let by_theme = found(0.4);
    // A second unit of one file counts less.
    assert_eq!(names(&by_theme), ["first", "one", "second"]);
    assert_eq!(by_theme[0].1, 1.0);
    // Less the mean of all, (0.75 - 1 + 0.7 + 0.7) / 4, one has .4625 and the two .4125 each; a byte a number.
    assert!((by_theme[1].1 - 0.4625 / 0.825).abs() < 0.01, "{}", by_theme[1].1);
}

#[test]
fn what_was_embedded_once_is_not_embedded_again() {
    let folder = project(&[("src/parser.rs", PARSER), ("app/server.py", SERVER)]);
    let (kept, encoder) = (tempfile::tempdir().unwrap(), ByMeaning::new());
    assert_eq!(embedded(&mut indexed(folder.path()), kept.path(), &encoder), 2);
    // Another folder with the same files: a second worktree.
    let worktree = project(&[("src/parser.rs", PARSER), ("app/server.py", SERVER)]);
    assert_eq!(embedded(&mut indexed(worktree.path()), kept.path(), &encoder), 0);
    // One file changes: what has changed of it is embedded; and nothing when it is as it was.
    write(
        folder.path(),
        "app/server.py",
        &format!("{SERVER}\n\ndef erase(path):\n    return path.unlink()\n{}", "    # so\n".repeat(80)),
    );
    assert_eq!(embedded(&mut indexed(folder.path()), kept.path(), &encoder), 1);
    write(folder.path(), "app/server.py", SERVER);
    assert_eq!(embedded(&mut indexed(folder.path()), kept.path(), &encoder), 0);
    // Two files of the same text at the same path below different roots are one text; in one root, two paths are two.
    write(folder.path(), "app/copy.py", SERVER);
    assert_eq!(embedded(&mut indexed(folder.path()), kept.path(), &encoder), 1);
}

#[test]
fn an_index_keeps_its_vectors_beside_it() {
    let folder = project(&[("a.rs", PARSER)]);
    let (kept, encoder) = (tempfile::tempdir().unwrap(), ByMeaning::new());
    let place = IndexPlace::of(folder.path(), Some(kept.path().join("index"))).unwrap();
    let (mut update, _) = place.update(false, &mut |_| {}).unwrap();
    assert!(update.index().kept_vectors().unwrap().is_none());
    let (vectors, _) = embed(update.index(), None, &store(kept.path(), &encoder), &encoder, &mut |_| {}).unwrap();
    assert_eq!(update.embed(&store(kept.path(), &encoder), &encoder, &mut |_| {}).unwrap(), 0);
    assert!(place.read().unwrap().is_none(), "nothing is kept before all is");
    let index = update.keep().unwrap();
    assert_eq!(index.kept_vectors().unwrap().as_ref(), Some(&vectors));
    let again = place.read().unwrap().unwrap().kept_vectors().unwrap().unwrap();
    assert_eq!((&again, again.encoder()), (&vectors, &encoder.made_by()));
    // The folder goes on: what is new is found by its words until it is embedded.
    write(folder.path(), "b.py", SERVER);
    let (mut index, _) = place.bring_up(false, &mut |_| {}).unwrap();
    assert_eq!(index.set_vectors(again), 1);
    for _ in 0..2 {
        let mut update = place.update_of(place.read().unwrap().unwrap()).unwrap();
        update.forget_vectors();
        assert!(update.keep().unwrap().kept_vectors().unwrap().is_none());
    }
    // Whoever has opened it before keeps what it had.
    assert_eq!(index.kept_vectors().unwrap().unwrap().len(), vectors.len());
}

#[test]
fn damaged_vectors_are_lost_where_all_is_made_anew_and_words_alone_are_not_chosen_by_that() {
    let folder = project(&[("a.rs", PARSER)]);
    let (kept, encoder) = (tempfile::tempdir().unwrap(), ByMeaning::new());
    let place = IndexPlace::of(folder.path(), Some(kept.path().join("index"))).unwrap();
    let (mut update, _) = place.update(false, &mut |_| {}).unwrap();
    update.embed(&store(kept.path(), &encoder), &encoder, &mut |_| {}).unwrap();
    update.keep().unwrap();
    let file = part(&place, "vectors");
    let mut bytes = fs::read(&file).unwrap();
    bytes[60] ^= 1;
    fs::write(&file, bytes).unwrap();
    let (mut update, _) = place.update(true, &mut |_| {}).unwrap();
    assert!(update.index().kept_vectors().unwrap_err().to_string().contains("index.vectors-"));
    update.lose_vectors();
    update.keep().unwrap();
    let index = place.read().unwrap().unwrap();
    assert!(index.kept_vectors().unwrap().is_none() && !index.is_of_words_alone() && !file.exists());
}

/// A project of many files with a large function each.
fn large(files: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in 0..files {
        let lines: String = (0..30).map(|line| format!("    step_{file}_{line}(value)\n")).collect();
        write(folder.path(), &format!("part_{file}.py"), &format!("def part_{file}(value):\n{lines}"));
    }
    folder
}

#[test]
fn what_was_embedded_before_a_stop_is_kept() {
    let folder = large(2100);
    let kept = tempfile::tempdir().unwrap();
    let index = indexed(folder.path());
    assert_eq!(index.units().len(), 2100);
    let stops = ByMeaning { most: 2048, ..ByMeaning::new() };
    let error = embed(&index, None, &store(kept.path(), &stops), &stops, &mut |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "stopped");
    let encoder = ByMeaning::new();
    let (_, embedded) = embed(&index, None, &store(kept.path(), &encoder), &encoder, &mut |_| {}).unwrap();
    assert_eq!(embedded, 52);
}

#[test]
fn files_of_a_store_do_not_become_many() {
    let (kept, encoder) = (tempfile::tempdir().unwrap(), ByMeaning::new());
    let folder = project(&[("0.py", SERVER)]);
    for file in 0..40 {
        write(folder.path(), &format!("{file}.py"), SERVER);
        assert_eq!(embedded(&mut indexed(folder.path()), kept.path(), &encoder), 1, "{file}");
        let files = fs::read_dir(kept.path()).unwrap().next().unwrap().unwrap().path();
        let files = fs::read_dir(files).unwrap().count();
        assert!(files <= 16, "{files}");
    }
    assert_eq!(embedded(&mut indexed(folder.path()), kept.path(), &encoder), 0);
}
