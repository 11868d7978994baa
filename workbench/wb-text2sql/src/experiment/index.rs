//! The examples' vectors in a folder, in FAISS's layout: made once, and read again as long as nothing that decides them
//! changed. A folder that somebody else wrote, with FAISS, is read the same way.

use std::{collections::HashMap, fs, path::Path};

use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};
use wb_core::{
    Progress,
    fingerprint::Fingerprint,
    run_dir::{read_json, write_json},
};
use wb_retrieval::faiss::FlatIp;

use crate::{
    Error, Result,
    examples::{
        ARRAY_NAME, CorpusMap, ExampleDocument, INDEX_NAME, MAP_NAME,
        corpus_array::{read_texts, write_texts},
        documents::plain,
    },
};

/// The file that says what the vectors were made of.
const MADE_OF: &str = "made-of.json";

/// Vectors of all examples.
pub struct Index {
    /// Row `i` is example `i`.
    pub vectors: Array2<f32>,
    /// Taken out of its folder, and not made.
    pub is_taken: bool,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct MadeOf {
    encoder: Fingerprint,
    examples: Fingerprint,
}

/// Function that embeds texts.
type Embed<'a> = dyn Fn(&[&str], &mut dyn FnMut(Progress)) -> Result<Array2<f32>> + 'a;

impl Index {
    /// Reads a folder that was named by the user, whatever wrote it. Rows are found by the ids in the map, and in a folder
    /// without a map by the texts in NumPy's array.
    pub fn read(folder: &Path, examples: &[ExampleDocument], texts: &[String], dim: usize) -> Result<Self> {
        let path = folder.join(INDEX_NAME);
        let index = FlatIp::read(&path)?;
        if index.dimension != dim {
            let message = format!("vectors of {}, but the encoder's have {dim}", index.dimension);
            return Err(wrong(&path, message, "name the encoder that made them as `model`"));
        }
        let (map, array) = (folder.join(MAP_NAME), folder.join(ARRAY_NAME));
        let rows = match (map.is_file(), array.is_file()) {
            (true, _) => rows_by_id(&map, &index, examples)?,
            (false, true) => rows_by_text(&array, &index, examples, texts)?,
            (false, false) => {
                let message = format!("neither {MAP_NAME} nor {ARRAY_NAME} is beside it");
                return Err(wrong(&path, message, "one of them must say which example each vector is of"));
            }
        };
        let values = rows.iter().flat_map(|row| &index.values[row * dim..(row + 1) * dim]).copied().collect();
        let vectors = Array2::from_shape_vec((examples.len(), dim), values)
            .map_err(|error| wrong(&path, error.to_string(), SAME_TRAINING))?;
        Ok(Self { vectors, is_taken: true })
    }

    /// The vectors in a folder of ours, made and written where they are not there or of something else.
    pub fn kept(
        folder: &Path,
        examples: &[ExampleDocument],
        texts: &[String],
        encoder: &Fingerprint,
        embed: &Embed<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self> {
        let mut of = Fingerprint::builder();
        for (example, text) in examples.iter().zip(texts) {
            of.text(&example.id).text(text);
        }
        let made_of = MadeOf { encoder: encoder.clone(), examples: of.finish() };
        let note = folder.join(MADE_OF);
        if note.is_file() && read_json::<MadeOf>(&note).is_ok_and(|there| there == made_of) {
            let index = FlatIp::read(&folder.join(INDEX_NAME))?;
            CorpusMap::read(&folder.join(MAP_NAME), index.len())?;
            let shape = (index.len(), index.dimension);
            if index.len() == examples.len()
                && let Ok(vectors) = Array2::from_shape_vec(shape, index.values)
            {
                return Ok(Self { vectors, is_taken: true });
            }
        }
        let vectors = distinct(texts, embed, progress)?;
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        // Gone first: while the other files change, nothing says what they are made of.
        if note.exists() {
            wb_core::atomic::remove_file(&note)?;
        }
        let index = FlatIp::new(vectors.ncols(), vectors.iter().copied().collect())?;
        index.write(&folder.join(INDEX_NAME)).map_err(|error| error.within("cannot write the index"))?;
        CorpusMap::new(examples.iter().zip(texts.iter().cloned())).write(&folder.join(MAP_NAME))?;
        write_texts(&folder.join(ARRAY_NAME), texts.iter().map(String::as_str))?;
        write_json(&note, &made_of)?;
        Ok(Self { vectors, is_taken: false })
    }
}

const SAME_TRAINING: &str = "an index of the very same `rag.training` is needed";

fn wrong(path: &Path, message: String, hint: &str) -> Error {
    Error::file(path, message).with_hint(hint)
}

/// The row of each example, by the ids of a map.
fn rows_by_id(path: &Path, index: &FlatIp, examples: &[ExampleDocument]) -> Result<Vec<usize>> {
    let map = CorpusMap::read(path, index.len())?;
    let rows: HashMap<&str, usize> = map.entries.iter().map(|entry| (entry.id.as_str(), entry.position)).collect();
    let row = |example: &ExampleDocument| {
        let message = || format!("no vector for example {} of {}", example.id, examples.len());
        rows.get(example.id.as_str()).copied().ok_or_else(|| wrong(path, message(), SAME_TRAINING))
    };
    examples.iter().map(row).collect()
}

/// The row of each example, by the texts of an array: the row with the example's own text. Where another program made
/// its texts in a form of its own, the rows must stand in the order of the examples, each with the example's query in it.
fn rows_by_text(path: &Path, index: &FlatIp, examples: &[ExampleDocument], texts: &[String]) -> Result<Vec<usize>> {
    let found = read_texts(path, index.len())?;
    let places: HashMap<&str, usize> = found.iter().enumerate().rev().map(|(row, text)| (&**text, row)).collect();
    let Some(missing) = texts.iter().position(|text| !places.contains_key(text.as_str())) else {
        return Ok(texts.iter().filter_map(|text| places.get(text.as_str()).copied()).collect());
    };
    let missing = format!("no row has the text of example {}", examples[missing].id);
    if found.len() != examples.len() {
        let message = format!("{missing}, and there are {} rows for {} examples", found.len(), examples.len());
        return Err(wrong(path, message, SAME_TRAINING));
    }
    let lacks_query = |row: &usize| !plain(&found[*row]).contains(&plain(&examples[*row].sql));
    match (0..found.len()).find(lacks_query) {
        None => Ok((0..found.len()).collect()),
        Some(row) => {
            let message = format!("{missing}, and row {row} does not have the query of example {}", examples[row].id);
            Err(wrong(path, message, "name what was embedded as `documents`; it needs the very same `rag.training`"))
        }
    }
}

/// Each distinct text is embedded once.
fn distinct(texts: &[String], embed: &Embed<'_>, progress: &mut dyn FnMut(Progress)) -> Result<Array2<f32>> {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut unique: Vec<&str> = Vec::new();
    let mut rows = Vec::with_capacity(texts.len());
    for text in texts {
        let next = unique.len();
        let number = *numbers.entry(text).or_insert(next);
        if number == next {
            unique.push(text);
        }
        rows.push(number);
    }
    let vectors = embed(&unique, progress)?;
    Ok(vectors.select(Axis(0), &rows))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn example(id: &str) -> ExampleDocument {
        ExampleDocument { id: id.into(), db_id: "d".into(), question: None, sql: "SELECT 1".into() }
    }

    /// Vectors of two numbers: the text's length, and how often something was embedded.
    fn embed(asked: &Cell<usize>) -> impl Fn(&[&str], &mut dyn FnMut(Progress)) -> Result<Array2<f32>> {
        |texts, _| {
            asked.set(asked.get() + texts.len());
            Ok(Array2::from_shape_fn((texts.len(), 2), |(row, column)| (texts[row].len() + column) as f32))
        }
    }

    #[test]
    fn vectors_are_made_once_and_made_again_when_something_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        let examples = [example("a"), example("b"), example("c")];
        let texts = ["one", "three", "one"].map(str::to_owned);
        let asked = Cell::new(0);
        let (here, other) = (Fingerprint::of_bytes(b"here"), Fingerprint::of_bytes(b"other"));
        let make = |texts: &[String], encoder: &Fingerprint| {
            Index::kept(&path, &examples, texts, encoder, &embed(&asked), &mut |_| ()).unwrap().vectors
        };
        let first = make(&texts, &here);
        assert_eq!(first.into_raw_vec_and_offset().0, [3.0, 4.0, 5.0, 6.0, 3.0, 4.0]);
        let array = read_texts(&path.join(ARRAY_NAME), 3).unwrap();
        assert!(array.iter().map(|text| &**text).eq(["one", "three", "one"]));
        assert_eq!(asked.get(), 2);
        make(&texts, &here);
        assert_eq!(asked.get(), 2);
        make(&texts, &other);
        assert_eq!(asked.get(), 4);
        make(&["one", "two", "one"].map(str::to_owned), &other);
        assert_eq!(asked.get(), 6);
    }

    #[test]
    fn an_index_of_somebody_else_is_read_by_its_ids() {
        let folder = tempfile::tempdir().unwrap();
        FlatIp::new(2, vec![1.0, 2.0, 3.0, 4.0]).unwrap().write(&folder.path().join(INDEX_NAME)).unwrap();
        let rows = [example("b"), example("a")];
        CorpusMap::new(rows.iter().map(|one| (one, String::new()))).write(&folder.path().join(MAP_NAME)).unwrap();
        let read = |ids: &[&str], dim| {
            let examples: Vec<ExampleDocument> = ids.iter().map(|id| example(id)).collect();
            Index::read(folder.path(), &examples, &vec![String::new(); ids.len()], dim)
        };
        assert_eq!(read(&["a", "b"], 2).unwrap().vectors.into_raw_vec_and_offset().0, [3.0, 4.0, 1.0, 2.0]);
        let said = |ids: &[&str], dim| read(ids, dim).err().unwrap().to_string();
        assert!(said(&["a", "c"], 2).contains("no vector for example c of 2"));
        assert!(said(&["a"], 3).contains("vectors of 2, but the encoder's have 3"));
    }

    #[test]
    fn an_index_with_an_array_alone_is_read_by_its_texts() {
        let folder = tempfile::tempdir().unwrap();
        FlatIp::new(2, vec![1.0, 2.0, 3.0, 4.0]).unwrap().write(&folder.path().join(INDEX_NAME)).unwrap();
        let examples = [("a", "SELECT 1"), ("b", "SELECT x  FROM t;")]
            .map(|(id, sql)| ExampleDocument { sql: sql.into(), ..example(id) });
        let read = |examples: &[ExampleDocument], texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
            let read = Index::read(folder.path(), examples, &texts, 2);
            read.map(|index| index.vectors.into_raw_vec_and_offset().0).map_err(|error| error.to_string())
        };
        let said = read(&examples, &["one", "two"]).unwrap_err();
        assert!(said.contains("neither sql_rag_corpus_map.json nor sql_rag_corpus_map.npy is beside it"), "{said}");

        let write = |texts: [&str; 2]| write_texts(&folder.path().join(ARRAY_NAME), texts.into_iter()).unwrap();
        write(["two", "one"]);
        assert_eq!(read(&examples, &["one", "two"]).unwrap(), [3.0, 4.0, 1.0, 2.0]);
        assert_eq!(read(&examples[..1], &["two"]).unwrap(), [1.0, 2.0]);
        let said = read(&examples, &["one", "three"]).unwrap_err();
        let expected = "no row has the text of example b, and row 0 does not have the query of example a";
        assert!(said.contains(expected), "{said}");
        let said = read(&examples[..1], &["three"]).unwrap_err();
        assert!(said.contains("no row has the text of example a, and there are 2 rows for 1 examples"), "{said}");

        // Texts in a form of their own, in the order of the examples.
        write(["CONTEXT: d\nSQL: select 1", "CONTEXT: d\nSQL: SELECT x FROM t"]);
        assert_eq!(read(&examples, &["one", "two"]).unwrap(), [1.0, 2.0, 3.0, 4.0]);
        // A map beside the array says more.
        CorpusMap::new(examples.iter().rev().map(|one| (one, String::new())))
            .write(&folder.path().join(MAP_NAME))
            .unwrap();
        assert_eq!(read(&examples, &["one", "two"]).unwrap(), [3.0, 4.0, 1.0, 2.0]);
    }
}
