//! Vectors of texts as a Parquet file: `id` text, `embedding` list of 32-bit floats, or list of such lists where a text
//! has a vector for each token.

use std::{fs::File, path::Path, sync::Arc};

use arrow_array::{
    ArrayRef, RecordBatch, StringArray,
    builder::{Float32Builder, ListBuilder},
};
use parquet::{arrow::ArrowWriter, errors::ParquetError};
use wb_core::Embeddings;

use crate::{
    Error, Result,
    store::{not_written, properties},
};

/// Writes a table of `texts`, block by block: ids and vectors, row `i` of both the same text. All blocks have one vector
/// a text, or all have one a token; there is at least one. The file is written over, and whole when this returns.
pub fn write_vectors(path: &Path, blocks: impl IntoIterator<Item = Result<(Vec<String>, Embeddings)>>) -> Result<()> {
    let not_written = |error| not_written(path, error);
    let mut file = Some(File::create(path).map_err(Error::io("create", path))?);
    let mut writer: Option<ArrowWriter<File>> = None;
    for block in blocks {
        let (ids, vectors) = block?;
        let batch = batch(&ids, &vectors).map_err(not_written)?;
        if let Some(file) = file.take() {
            let begun = properties().and_then(|how| ArrowWriter::try_new(file, batch.schema(), Some(how)));
            writer = Some(begun.map_err(not_written)?);
        }
        // A row group each, so that no more than a block is in memory.
        if let Some(writer) = &mut writer {
            writer.write(&batch).and_then(|()| writer.flush()).map_err(not_written)?;
        }
    }
    let writer = writer.ok_or_else(|| Error::file(path, "no vectors to write"))?;
    writer.into_inner().map_err(not_written)?.sync_all().map_err(Error::io("write", path))
}

fn batch(ids: &[String], vectors: &Embeddings) -> std::result::Result<RecordBatch, ParquetError> {
    let ids: ArrayRef = Arc::new(StringArray::from_iter_values(ids));
    let embeddings: ArrayRef = match vectors.offsets() {
        None => {
            let mut texts = ListBuilder::new(Float32Builder::new());
            append(&mut texts, vectors, 0..vectors.texts());
            Arc::new(texts.finish())
        }
        Some(_) => {
            let mut texts = ListBuilder::new(ListBuilder::new(Float32Builder::new()));
            for text in 0..vectors.texts() {
                append(texts.values(), vectors, vectors.rows(text..text + 1));
                texts.append(true);
            }
            Arc::new(texts.finish())
        }
    };
    Ok(RecordBatch::try_from_iter([("id", ids), ("embedding", embeddings)])?)
}

fn append(lists: &mut ListBuilder<Float32Builder>, vectors: &Embeddings, rows: std::ops::Range<usize>) {
    for row in rows {
        vectors.row(row).iter().for_each(|number| lists.values().append_value(*number));
        lists.append(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parquet_rows;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn vectors_of_texts_and_of_tokens_come_back_row_by_row() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors.parquet");
        let first = Embeddings::of_values(vec![0.5, -1.0, 2.0, 0.25], 2, None).unwrap();
        let second = Embeddings::of_values(vec![8.0, 9.0], 2, None).unwrap();
        write_vectors(&path, [Ok((names(&["a", "b"]), first)), Ok((names(&["c"]), second))]).unwrap();
        let rows = parquet_rows(&path, &["id", "embedding"]).unwrap();
        assert_eq!(
            serde_json::Value::from(rows),
            serde_json::json!([
                { "id": "a", "embedding": [0.5, -1.0] },
                { "id": "b", "embedding": [2.0, 0.25] },
                { "id": "c", "embedding": [8.0, 9.0] },
            ])
        );

        let tokens = Embeddings::of_values(vec![1.0, 0.0, 0.0, 1.0, 0.5, 0.5], 2, Some(vec![0, 2, 2, 3])).unwrap();
        write_vectors(&path, [Ok((names(&["a", "b", "c"]), tokens))]).unwrap();
        let rows = parquet_rows(&path, &["id", "embedding"]).unwrap();
        assert_eq!(
            serde_json::Value::from(rows),
            serde_json::json!([
                { "id": "a", "embedding": [[1.0, 0.0], [0.0, 1.0]] },
                { "id": "b", "embedding": [] },
                { "id": "c", "embedding": [[0.5, 0.5]] },
            ])
        );
    }
}
