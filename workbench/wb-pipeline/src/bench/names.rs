//! Names of benchmarks, as they are typed.

use anyhow::{Result, bail};
use wb_bench::benchmarks::{OF_TEXTS, SEARCH};
use wb_core::{Error, suggest};
use wb_sql::benchmarks::SqlBenchmark;

use crate::structure::BENCHMARK as STRUCTURE;

/// The benchmark of text-to-SQL that is asked for, if one is.
///
/// # Errors
///
/// If a name is none of a benchmark, or it is one of several.
pub fn benchmark_of_sql(names: &[String]) -> Result<Option<SqlBenchmark>> {
    let Some(benchmark) = names.iter().find_map(|name| SqlBenchmark::named(name)) else {
        if let Some(name) = names.iter().find(|name| !OF_TEXTS.contains(&name.as_str())) {
            let all = OF_TEXTS.into_iter().chain([SEARCH, STRUCTURE]).chain(SqlBenchmark::ALL.map(SqlBenchmark::name));
            if [SEARCH, STRUCTURE].contains(&name.as_str()) {
                bail!("{name} is measured alone: its options are its own");
            }
            let hint = suggest::hint(name, all);
            return Err(Error::unknown("benchmark", name.clone()).with_hint_if(hint).into());
        }
        return Ok(None);
    };
    if names.len() > 1 {
        bail!("{} is judged alone: predictions are those of one benchmark", benchmark.name());
    }
    Ok(Some(benchmark))
}
