//! Places in which the data of benchmarks is looked for that nobody named, and whether their readers would find it there.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use anyhow::Result;
use wb_bench::{BenchmarkConfig, benchmarks::SEARCH, layouts::files::entries};
use wb_code::structure::StructureSet;
use wb_core::{Error, run_dir};
use wb_data::external::that_brings;
use wb_hub::Hub;
use wb_sql::benchmarks::SqlBenchmark;

use crate::{output, session::Folders, structure::BENCHMARK as STRUCTURE, test_pairs};

/// Fetches data sets by their names into the folder with data of others.
pub type Fetch<'a> = &'a dyn Fn(&[String], &Path) -> Result<()>;

/// A benchmark, and what there is of its data.
pub struct Listed {
    /// The name on the command line.
    pub name: &'static str,
    /// The state of its data.
    pub state: DataState,
    /// The measure in a few words.
    pub measures: &'static str,
    /// The ids of its protocols.
    pub protocols: String,
}

/// The state of a benchmark's data.
pub enum DataState {
    /// The place, or the option that names one.
    There(String),
    /// The command that brings it.
    Missing(String),
}

impl fmt::Display for DataState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::There(place) => write!(f, "there: {place}"),
            Self::Missing(command) => write!(f, "missing: {command}"),
        }
    }
}

/// The benchmarks of text-to-SQL with what they measure and under which protocols.
const OF_SQL: [(&str, &str, &str); SqlBenchmark::ALL.len()] = [
    ("spider", "predicted SQL: exact match, execution", "spider-em-*, spider-ex-*, spider-ts-*"),
    ("bird", "predicted SQL: execution, its speed, its rows", "bird-ex, bird-r-ves, bird-soft-f1"),
    ("synthetic-sql", "predicted SQL: execution", "synthetic-sql-ex"),
];

/// A collection in BEIR's layout that can be fetched.
const COLLECTION: &str = "coir-cosqa";

/// All benchmarks and what there is of their data.
pub fn all(external: &Path, places: Folders<'_>) -> Result<Vec<Listed>> {
    let of_retrieval = BenchmarkConfig::all().map(|one| one.benchmark().card());
    let of_retrieval = of_retrieval.iter().map(|card| (card.name, card.measures, card.protocols.join(", ")));
    let of_sql = OF_SQL.iter().map(|(name, measures, protocols)| (*name, *measures, (*protocols).to_owned()));
    let listed =
        |(name, measures, protocols)| Ok(Listed { name, state: state(name, external, places)?, measures, protocols });
    let mut all = of_retrieval.chain(of_sql).map(listed).collect::<Result<Vec<Listed>>>()?;
    all.push(Listed {
        name: STRUCTURE,
        state: DataState::There("--set SET --dataset DIR, an unpacked archive".to_owned()),
        measures: "where names are defined, and what is called: assertions that hold, precision and recall of calls",
        protocols: StructureSet::ALL.map(StructureSet::name).join(", "),
    });
    Ok(all)
}

/// Prints them as a table.
pub fn print(external: &Path, places: Folders<'_>) -> Result<()> {
    let row = |one: Listed| vec![one.name.to_owned(), one.state.to_string(), one.measures.to_owned(), one.protocols];
    let rows: Vec<Vec<String>> = all(external, places)?.into_iter().map(row).collect();
    output::table(&["benchmark", "data", "measures", "protocols"], &rows);
    Ok(())
}

fn state(name: &str, external: &Path, places: Folders<'_>) -> Result<DataState> {
    let folder = external.join(place(name));
    let found = match (SqlBenchmark::named(name), name) {
        (Some(kind), _) => kind.data_in(&folder)?,
        (None, "pairs") => {
            return Ok(match run_dir::latest(places.runs) {
                Ok(Some(run)) if test_pairs::folder(&run, places.datasets).is_ok() => {
                    DataState::There(format!("test pairs of {}", run.id()))
                }
                _ => DataState::Missing("wb run configs/quickstart.yaml".to_owned()),
            });
        }
        (None, SEARCH) => return Ok(DataState::There("--set own --dataset DIR, any repository".to_owned())),
        (None, "beir") => {
            let there = beir_folders(external)?;
            return Ok(match there.is_empty() {
                true => DataState::Missing(format!("wb data get {COLLECTION}")),
                false => DataState::There(format!("--dataset {}", there.join(" or "))),
            });
        }
        (None, _) => BenchmarkConfig::named(name)?.benchmark().is_in(&folder)?.then_some(folder),
    };
    Ok(match found {
        Some(place) => DataState::There(place.display().to_string()),
        None => DataState::Missing(format!("wb data get {}", data_set(name))),
    })
}

/// The place of a benchmark's data below the folder of data of others.
fn place(name: &str) -> &str {
    BenchmarkConfig::named(name).map_or(name, |one| one.benchmark().card().place)
}

/// The name of a benchmark's data for `wb data get`.
fn data_set(name: &str) -> String {
    that_brings(place(name)).unwrap_or_else(|| name.to_owned())
}

/// The folder of each benchmark's data that no `--dataset` names; none for `pairs`, which are a run's.
///
/// # Errors
///
/// If data is missing, with all of what is missing; if `beir` is among them, which is any collection.
pub fn folders(benchmarks: &[BenchmarkConfig], external: &Path, fetch: Fetch<'_>) -> Result<Vec<Option<PathBuf>>> {
    let (mut folders, mut missing) = (Vec::new(), Vec::new());
    for benchmark in benchmarks {
        let card = benchmark.benchmark().card();
        folders.push(match benchmark {
            BenchmarkConfig::Pairs(_) | BenchmarkConfig::Search(_) => None,
            BenchmarkConfig::Beir(_) => return Err(which_collection(external)?.into()),
            _ => Some(external.join(card.place)),
        });
        // A folder with other files than expected is told by the reader, which knows what it expects.
        if folders.last().is_some_and(|folder| folder.as_ref().is_some_and(|folder| !folder.is_dir())) {
            missing.push(card.name);
        }
    }
    if !missing.is_empty() && !fetched(&missing, external, fetch)? {
        return Err(not_there(&missing, external, "--dataset names another place")?.into());
    }
    Ok(folders)
}

/// The data of a benchmark of text-to-SQL that no `--dataset` names.
///
/// # Errors
///
/// If it is not there.
pub fn of_sql(kind: SqlBenchmark, external: &Path, fetch: Fetch<'_>) -> Result<PathBuf> {
    let folder = external.join(kind.name());
    if !folder.is_dir() {
        fetched(&[kind.name()], external, fetch)?;
    }
    match sql_in(kind, &folder)? {
        Some(data) => Ok(data),
        None => Err(not_there(&[kind.name()], external, "--dataset names another place")?.into()),
    }
}

/// True where the data of a benchmark of text-to-SQL is where it is looked for.
pub fn has_sql(kind: SqlBenchmark, external: &Path) -> Result<bool> {
    Ok(sql_in(kind, &external.join(kind.name()))?.is_some())
}

/// The place of the data, if it is there. A folder without it is one, too: its reader knows which file is missing.
fn sql_in(kind: SqlBenchmark, folder: &Path) -> Result<Option<PathBuf>> {
    let is_read = folder.is_dir() && kind != SqlBenchmark::SyntheticSql;
    Ok(kind.data_in(folder)?.or_else(|| is_read.then(|| folder.to_owned())))
}

/// Fetches data that is missing, as `wb data get` does; not where nobody may be asked.
fn fetched(names: &[&str], external: &Path, fetch: Fetch<'_>) -> Result<bool> {
    if Hub::session().settings().offline.is_some() {
        return Ok(false);
    }
    let names: Vec<String> = names.iter().map(|name| data_set(name)).collect();
    fetch(&names, external)?;
    Ok(true)
}

/// The error where data is missing: all of it, how to get it, and what there is instead.
fn not_there(names: &[&str], external: &Path, elsewhere: &str) -> Result<Error> {
    let places: Vec<String> = names.iter().map(|name| external.join(place(name)).display().to_string()).collect();
    let sets: Vec<String> = names.iter().map(|name| data_set(name)).collect();
    let message = format!("no data of {} is there", names.join(" and "));
    let hint =
        format!("wb data get {}; {elsewhere}; {}", sets.join(" "), instead(external, &external_folders(external)?));
    Ok(Error::data(places.join(", "), message).with_hint(hint))
}

/// `beir` is a layout: which collection is meant has to be said.
fn which_collection(external: &Path) -> Result<Error> {
    let there = beir_folders(external)?;
    let hint = match there.first() {
        Some(first) => format!("wb bench beir --dataset {first}; in BEIR's layout there is: {}", there.join(", ")),
        None => format!(
            "wb data get {COLLECTION} --external {0} && wb bench beir --dataset {0}/coir/cosqa; any folder with \
             corpus.jsonl, queries.jsonl and qrels/test.tsv will do; {1}",
            external.display(),
            instead(external, &external_folders(external)?)
        ),
    };
    Ok(Error::data("beir", "a collection expected, as it measures on any").with_hint(hint))
}

fn instead(external: &Path, there: &[String]) -> String {
    match there.is_empty() {
        true => format!("{} has no data yet", external.display()),
        false => format!("in {} there is: {}", external.display(), there.join(", ")),
    }
}

/// The names of the folders with data of others.
fn external_folders(external: &Path) -> Result<Vec<String>> {
    let folders = entries(external)?.into_iter().filter(|path| path.is_dir());
    let names = folders.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    // What `wb data get` has begun is hidden.
    Ok(names.filter(|name| !name.starts_with('.')).collect())
}

/// Folders in BEIR's layout among them.
fn beir_folders(external: &Path) -> Result<Vec<String>> {
    let beir = BenchmarkConfig::named("beir")?;
    let mut found = Vec::new();
    for folder in entries(external)?.into_iter().filter(|path| path.is_dir()) {
        if beir.benchmark().is_in(&folder)? {
            found.push(folder.display().to_string());
        }
    }
    Ok(found)
}

/// Both ways to predicted SQL; and that its data is missing too, which would be the next thing to be told.
pub fn without_predictions(benchmark: SqlBenchmark, is_missing: bool) -> Error {
    let name = benchmark.name();
    let mut hint = format!("wb bench {name} --predictions FILE");
    hint += match benchmark {
        SqlBenchmark::Spider => " judges a file; wb text2sql configs/spider-rag.yaml makes them",
        _ => " judges a file; `wb ls --benchmarks` tells what stands in it",
    };
    if is_missing {
        hint += &format!("; its data is not there either: wb data get {name}");
    }
    Error::Value { key: name.to_owned(), message: "predicted SQL expected".to_owned(), hint: Some(hint) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_every_benchmark_has_a_name_and_is_put_where_it_is_looked_for() {
        let of_retrieval = BenchmarkConfig::all().map(|one| one.benchmark().card());
        for (name, place) in
            of_retrieval.map(|card| (card.name, card.place)).into_iter().filter(|(_, at)| !at.is_empty())
        {
            assert!(that_brings(place).is_some(), "{name}: nothing brings {place}");
        }
        assert_eq!(["codesearchnet", "cosqa", "spider"].map(data_set), ["codesearchnet", "cosqa", "spider"]);
    }

    #[test]
    fn every_benchmark_of_sql_is_listed_once() {
        assert_eq!(OF_SQL.map(|(name, ..)| name), SqlBenchmark::ALL.map(SqlBenchmark::name));
    }
}
