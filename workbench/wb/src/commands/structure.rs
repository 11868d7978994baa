//! `wb def`, `wb refs`, `wb callers`, `wb calls`, `wb tests-for`, `wb related`, `wb impact`, `wb map`, `wb outline`: what is
//! defined where, who uses it, and what belongs with it.

use std::io::Read;

use anyhow::Result;
use wb_core::{Error, Progress};
use wb_pipeline::structure::{self, AnswerForm, AskedChange, SymbolRelation};
use wb_search::{IndexPlace, structure::SymbolQuestion};

use super::End;
use crate::{
    args::{self, StructureCommand},
    output,
};

type Told<'a> = &'a mut (dyn FnMut(Progress) + Send);

/// Runs one of the commands.
pub fn run(command: StructureCommand) -> Result<End> {
    match command {
        StructureCommand::Def(symbol) => ask(symbol, SymbolRelation::Definitions),
        StructureCommand::Refs(symbol) => ask(symbol, SymbolRelation::Usages),
        StructureCommand::Callers(args::CallersArguments { symbol, depth }) => {
            ask(symbol, SymbolRelation::Callers(depth.into()))
        }
        StructureCommand::Calls(symbol) => ask(symbol, SymbolRelation::Calls),
        StructureCommand::TestsFor(symbol) => ask(symbol, SymbolRelation::Tests),
        StructureCommand::Related(symbol) => ask(symbol, SymbolRelation::Related),
        StructureCommand::Impact(arguments) => impact(arguments),
        StructureCommand::Map(args::MapArguments { budget, focus, graph }) => {
            answer(graph, |form, place, told| structure::map(&focus, budget as usize, form, place, told))
        }
        StructureCommand::Outline(args::OutlineArguments { place, json }) => {
            Ok(end(structure::outline(&place, form(json))?))
        }
    }
}

fn ask(args::SymbolArguments { symbol, page }: args::SymbolArguments, relation: SymbolRelation) -> Result<End> {
    let question = question(symbol, &page);
    answer(page.graph, |form, place, told| structure::ask(&question, relation, form, place, told))
}

fn impact(args::ImpactArguments { symbol, diff, depth, page }: args::ImpactArguments) -> Result<End> {
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
