//! `wb def`, `wb refs`, `wb callers`, `wb calls`, `wb tests-for`, `wb related`, `wb impact`, `wb map`, `wb outline`: what is
//! defined where, who uses it, and what belongs with it.

use std::io::Read;

use anyhow::Result;
use wb_core::{Error, Progress};
use wb_pipeline::structure::{self, AnswerForm, AskedChange, SymbolRelation};
use wb_search::{IndexPlace, structure::SymbolQuestion};

use super::End;
use crate::{args, output};

type Told<'a> = &'a mut (dyn FnMut(Progress) + Send);

/// A relation of a symbol, asked for by one of the commands.
pub fn ask(args::SymbolArguments { symbol, page }: args::SymbolArguments, relation: SymbolRelation) -> Result<End> {
    let question = question(symbol, &page);
    answer(page.graph, |form, place, told| structure::ask(&question, relation, form, place, told))
}

/// `wb impact`
pub fn impact(args::ImpactArguments { symbol, diff, depth, page }: args::ImpactArguments) -> Result<End> {
    let depth = usize::from(depth);
    if let Some(symbol) = symbol {
        return ask(args::SymbolArguments { symbol, page }, SymbolRelation::Impact(depth));
    }
    let question = question(diff.clone(), &page);
    let change = match diff.as_str() {
        "-" => {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).map_err(Error::io("read", "standard input"))?;
            AskedChange::Diff(String::from_utf8_lossy(&bytes).into_owned())
        }
        _ => AskedChange::Since(diff),
    };
    answer(page.graph, |form, place, told| structure::impact(&question, &change, depth, form, place, told))
}

/// `wb map`
pub fn map(args::MapArguments { budget, focus, graph }: args::MapArguments) -> Result<End> {
    answer(graph, |form, place, told| structure::map(&focus, budget as usize, form, place, told))
}

/// `wb outline`
pub fn outline(arguments: args::OutlineArguments) -> Result<End> {
    Ok(end(structure::outline(&arguments.place, form(arguments.json))?))
}

fn question(symbol: String, page: &args::PageArguments) -> SymbolQuestion {
    SymbolQuestion { symbol, most: page.number as usize, skip: page.skip as usize }
}

fn answer(
    args::GraphArguments { project, index, json }: args::GraphArguments,
    by: impl FnOnce(AnswerForm, &IndexPlace, Told<'_>) -> Result<bool>,
) -> Result<End> {
    let place = IndexPlace::of(&project, index)?;
    Ok(end(output::with_bars(|told| by(form(json), &place, told))?))
}

fn form(json: bool) -> AnswerForm {
    if json { AnswerForm::Json } else { AnswerForm::Lines }
}

fn end(is_found: bool) -> End {
    if is_found { End::Done } else { End::Refused }
}
