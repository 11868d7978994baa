//! `wb export`: an encoder out to other tools.

use anyhow::Result;
use wb_encoder::ExportConfig;
use wb_pipeline::export;

use super::End;
use crate::{args, output};

/// `wb export`
pub fn export(arguments: &args::Export) -> Result<End> {
    let args::Export { encoder, out, format, merge, dtype, base, places } = arguments;
    let (format, merge, dtype) = (*format, *merge, *dtype);
    let config = ExportConfig { format, merge, dtype, base: base.clone(), ..ExportConfig::default() };
    let exported = export::export(encoder, config, out, &places.runs)?;
    for note in &exported.notes {
        output::note(format!("note: {note}"));
    }
    let parity = exported.parity;
    let rounded =
        parity.rounded.map(|cosine| format!(", {cosine:.6} to the weights before they were rounded to {dtype}"));
    output::line(format!(
        "{}: {format} in {dtype}; read back, least cosine {:.7} on {} texts{}",
        out.display(),
        parity.cosine,
        parity.texts,
        rounded.unwrap_or_default()
    ));
    Ok(End::Done)
}
