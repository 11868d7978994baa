//! `wb def`, `wb refs`, `wb callers`, `wb calls`, `wb outline`: what is defined where, and who uses it.

use anyhow::Result;
use wb_core::Progress;
use wb_pipeline::structure::{self, SymbolQuestion};
use wb_search::IndexPlace;

use super::End;
use crate::{args, output};

/// A question about a symbol, asked by one of the commands.
pub fn ask(
    arguments: args::SymbolArguments,
    by: impl FnOnce(&SymbolQuestion, &IndexPlace, &mut (dyn FnMut(Progress) + Send)) -> Result<bool>,
) -> Result<End> {
    let args::SymbolArguments { symbol, project, index, number, skip, json } = arguments;
    let place = IndexPlace::of(&project, index)?;
    let question = SymbolQuestion { symbol, most: number as usize, skip: skip as usize, json };
    let found = output::with_bars(|progress| by(&question, &place, progress))?;
    Ok(if found { End::Done } else { End::Refused })
}

/// `wb outline`
pub fn outline(arguments: args::OutlineArguments) -> Result<End> {
    Ok(if structure::outline(&arguments.place, arguments.json)? { End::Done } else { End::Refused })
}
