//! Tables as others publish them.

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;

/// A table as the bytes of a Parquet file.
pub fn parquet_bytes(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}
