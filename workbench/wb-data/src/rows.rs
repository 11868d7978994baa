//! Rows of Parquet files as JSON, for who reads records that are no pairs.

use std::{path::Path, sync::Arc};

use serde_json::Value;
use wb_core::progress::silent;

use crate::{
    Result,
    sources::{Item, parquet_records},
};

/// Reads all rows of a Parquet file, in order, as objects of those of the `wanted` columns that it has.
///
/// # Errors
///
/// If the file cannot be read, is no whole Parquet file, has none of the columns, or a cell is neither text, number,
/// truth value, list nor struct of those.
pub fn parquet_rows(path: &Path, wanted: &[&str]) -> Result<Vec<Value>> {
    let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
    let mut rows = Vec::new();
    let mut take = |item: Item<'_>| match item {
        Item::Record(record) => {
            rows.push(Value::Object(record.fields));
            Ok(())
        }
        Item::Bad(error) => Err(error),
        Item::Blank(_) => Ok(()),
    };
    parquet_records(&Arc::from(path), &wanted, &mut take, &mut silent)?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use std::{fs::File, sync::Arc};

    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    use parquet::arrow::ArrowWriter;

    use super::*;

    #[test]
    fn rows_have_the_wanted_columns_and_nulls_in_the_order_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.parquet");
        let ids: ArrayRef = Arc::new(Int64Array::from(vec![7, 8]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("SELECT 1"), None]));
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("id", ids.clone(), false),
            ("other", ids, false),
            ("sql", texts, true),
        ])
        .unwrap();
        let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let rows = parquet_rows(&path, &["id", "sql", "absent"]).unwrap();
        let expected = [serde_json::json!({ "id": 7, "sql": "SELECT 1" }), serde_json::json!({ "id": 8, "sql": null })];
        assert_eq!(rows, expected);
        let said = parquet_rows(&path, &["absent"]).unwrap_err().to_string();
        assert!(said.contains("`other`"), "{said}");
        std::fs::write(&path, "PAR1").unwrap();
        assert!(parquet_rows(&path, &["id"]).unwrap_err().to_string().contains("not a whole Parquet file"));
    }
}
