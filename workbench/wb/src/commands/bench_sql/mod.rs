//! `wb bench spider`, `bird` and `synthetic-sql`: predicted SQL judged, beside gold queries, in real databases.

mod bird;
mod databases;
mod entries;
mod exact;
mod files;
pub mod generate;
mod judged;
mod kind;
mod levels;
mod measured;
mod options;
mod predictions;
mod protocols;
mod spider;
mod spider_questions;
mod status;
mod synthetic_sql;

pub use self::{kind::Kind, options::first_option};

use std::io;

use anyhow::{Result, bail};
use wb_bench::benchmarks::NAMES;
use wb_core::{Error, run_dir::write_json, suggest};

use super::{End, bench::requirement};
use crate::{args, interrupt, output::Bars};

/// Which benchmark of text-to-SQL is asked for, if one is.
///
/// # Errors
///
/// If it is one of several, or options do not go with what is asked for.
pub fn asked(arguments: &args::Bench) -> Result<Option<Kind>> {
    let names = &arguments.names;
    let Some(kind) = names.iter().find_map(|name| Kind::named(name)) else {
        let all = || NAMES.into_iter().chain(Kind::ALL.map(Kind::name));
        if let Some(name) = names.iter().find(|name| !NAMES.contains(&name.as_str())) {
            return Err(
                Error::Unknown { kind: "benchmark", name: name.clone(), hint: suggest::hint(name, all()) }.into()
            );
        }
        options::refuse_for_retrieval(arguments)?;
        return Ok(None);
    };
    let rest = names.iter().skip(1).any(|name| arguments.sql.generate.is_none() || !name.contains('='));
    if rest || names.first().is_none_or(|first| first != kind.name()) {
        bail!("{} is judged alone: predictions are those of one benchmark", kind.name());
    }
    options::refuse_for(kind, arguments)?;
    Ok(Some(kind))
}

/// Judges predictions, prints and writes what came out, and looks at what is required of it.
pub fn bench(kind: Kind, arguments: &args::Bench) -> Result<End> {
    let requirements = arguments.require.iter().map(|text| requirement(text)).collect::<Result<Vec<_>>>()?;
    measured::check(&requirements, kind)?;
    if let Some(path) = &arguments.json {
        files::writable(path)?;
    }
    if arguments.sql.generate.is_some() {
        return generate::generate(arguments, &requirements);
    }
    interrupt::ends_at_once()?;
    let mut bars = Bars::new();
    let measured = match kind {
        Kind::Spider => spider::measure(arguments, &mut bars)?,
        Kind::Bird => bird::measure(arguments, &mut bars)?,
        Kind::SyntheticSql => synthetic_sql::measure(arguments, &mut bars)?,
    };
    bars.finish();
    measured.print();
    if let Some(path) = &arguments.json {
        write_json(path, &measured.json)?;
    }
    measured.gate(&requirements)
}

/// `wb sql-worker`: serves statements to the `wb` that started it, and writes nothing but their results.
pub fn worker() -> Result<End> {
    wb_sql::execute::serve(io::stdin(), io::stdout())?;
    Ok(End::Done)
}
