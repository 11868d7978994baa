//! An event file of TensorBoard: TFRecord framing around `Event` messages (tensorflow's `event.proto` and `summary.proto`).
//!
//! Each number is a `simple_value`, a 32-bit float: the journal's number, rounded. 64-bit tensors would keep every digit,
//! but TensorBoard's fast loader, its default, does not show them. Texts and lists of the journal are no scalars;
//! they stand in the JSON lines only.

use std::path::Path;

use serde_json::Value;
use wb_core::{Result, atomic};

use super::{crc32c::masked, protobuf::Message, rows::Rows};

/// Writes the event file, the only one in its folder.
pub(super) fn write(rows: &Rows, started: f64, folder: &Path) -> Result<()> {
    // TensorBoard looks for `tfevents` in a name, and takes the names' order for that of time.
    let name = format!("events.out.tfevents.{:010}.wb", started.max(0.0) as u64);
    let mut file = record(Message::default().double(1, started).text(3, "brain.Event:2"));
    for row in &rows.0 {
        let scalars = row.values.iter().filter_map(|(tag, value)| Some((tag, number(value)?)));
        let summary = scalars.fold(Message::default(), |summary, (tag, value)| summary.message(1, scalar(tag, value)));
        file.extend(record(Message::default().double(1, started).integer(2, row.step).message(5, summary)));
    }
    atomic::write(&folder.join(name), &file)
}

/// A `Summary.Value`.
fn scalar(tag: &str, value: f64) -> Message {
    Message::default().text(1, tag).float(2, value as f32)
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(yes) => Some(f64::from(u8::from(*yes))),
        other => other.as_f64(),
    }
}

/// A TFRecord: length, masked checksum of the length, data, masked checksum of the data.
fn record(event: Message) -> Vec<u8> {
    let data = event.into_bytes();
    let length = (data.len() as u64).to_le_bytes();
    [&length[..], &masked(&length).to_le_bytes(), &data, &masked(&data).to_le_bytes()].concat()
}
