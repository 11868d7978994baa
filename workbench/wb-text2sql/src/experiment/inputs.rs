//! Inputs of an experiment: schemas, examples, questions, databases, and the texts that stand in these.

use std::{
    collections::{BTreeSet, HashMap},
    path::Path,
};

use wb_core::{Progress, Seed, remote};
use wb_sql::{
    benchmarks::{
        SendProgress,
        databases::{DatabaseFiles, QuestionDatabases},
    },
    execute::{DatabaseSource, Seat, WorkerPool},
    spider::{SqlQuery, parse},
};

use crate::{
    Error, RagConfig, Result,
    examples::{self, DatabaseQuestion, ExampleDocument},
    predict::Predictor,
    schema::{Catalogs, Cells},
};

/// Everything that was read. Questions are in the order of the file.
pub struct RagInputs {
    /// Schemas.
    pub catalogs: Catalogs,
    /// Examples that are retrieved.
    pub examples: Vec<ExampleDocument>,
    /// Queries of the second file that the lists have too.
    pub repeated: usize,
    /// Questions that are asked.
    pub asked: Vec<DatabaseQuestion>,
    /// Each question's place in the file.
    pub places: Vec<usize>,
    /// The right queries; none where the grammar does not read one.
    pub gold: Vec<Option<SqlQuery>>,
    /// Databases that queries run on.
    pub databases: QuestionDatabases,
    /// Texts of the databases, by id.
    pub cells: HashMap<String, Cells>,
    /// Columns of the databases that could not be read, so that their texts are not known as values.
    pub unread: usize,
}

impl RagInputs {
    /// Reads all of it.
    pub fn read(
        config: &RagConfig,
        databases: Option<&Path>,
        pool: &WorkerPool,
        seed: Seed,
        progress: &mut SendProgress<'_>,
    ) -> Result<Self> {
        let folder = &remote::local(&config.dataset)?;
        let mut catalogs = Catalogs::load(&folder.join("tables.json"))?;
        let read = config.training.read(folder, &mut catalogs);
        let read = read.map_err(|error| error.within("cannot read the examples: `rag.training`"))?;
        if read.documents.is_empty() {
            return Err(Error::file(folder, "its training split has no example to retrieve"));
        }
        let all = examples::asked(&folder.join(&config.questions), &catalogs)?;
        if all.is_empty() {
            return Err(Error::file(&folder.join(&config.questions), "there are no questions"));
        }
        let places = places(config.sample, all.len(), seed);
        let asked: Vec<DatabaseQuestion> = places.iter().map(|&at| all[at].clone()).collect();
        let gold_of =
            |one: &DatabaseQuestion| Ok(parse(&one.gold, &catalogs.get(&one.db_id)?.schema, config.compat).ok());
        let gold = asked.iter().map(gold_of).collect::<Result<Vec<_>>>()?;
        let root = databases.map_or_else(|| folder.join("database"), Path::to_path_buf);
        let ids = asked.iter().map(|one| one.db_id.as_str());
        let databases = QuestionDatabases::open(&root, ids, DatabaseFiles::All, progress)?;
        let cells = cells(&asked, &catalogs, &databases, pool, progress)?;
        let unread = cells.values().map(|one| one.unread).sum();
        let (examples, repeated) = (read.documents, read.repeated);
        Ok(Self { catalogs, examples, repeated, asked, places, gold, databases, cells, unread })
    }

    /// The database that a question's queries are tried on; its first, where there are several.
    pub fn source(&self, question: usize) -> Option<DatabaseSource> {
        self.databases.sources(&self.asked[question].db_id).into_iter().next()
    }

    /// The examples' queries, read.
    pub fn predictor(&self) -> Result<Predictor<'_>> {
        Predictor::new(&self.catalogs, &self.examples)
    }
}

/// The places of the questions that are asked, in order.
fn places(sample: usize, all: usize, seed: Seed) -> Vec<usize> {
    if sample == 0 || sample >= all {
        return (0..all).collect();
    }
    let mut places = seed.permutation_at("rag questions", 0, all);
    places.truncate(sample);
    places.sort_unstable();
    places
}

fn cells(
    asked: &[DatabaseQuestion],
    catalogs: &Catalogs,
    databases: &QuestionDatabases,
    pool: &WorkerPool,
    progress: &mut SendProgress<'_>,
) -> Result<HashMap<String, Cells>> {
    let ids: BTreeSet<&str> = asked.iter().map(|one| one.db_id.as_str()).collect();
    let ids: Vec<&str> = ids.into_iter().collect();
    let catalog = ids.iter().map(|id| catalogs.get(id)).collect::<Result<Vec<_>>>()?;
    let work = |seat: &mut Seat<'_>, (): &mut (), at: &usize| match databases.sources(ids[*at]).first() {
        Some(source) => Cells::load(catalog[*at], seat, source),
        None => Ok(Cells::default()),
    };
    let numbers: Vec<usize> = (0..ids.len()).collect();
    let mut done = |done| progress(Progress::new("reading databases", done, ids.len()));
    let all = pool.each(&numbers, work, &mut done)?;
    Ok(ids.into_iter().map(str::to_owned).zip(all).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_drawn_by_the_seed_and_stays_in_order() {
        let some = places(5, 100, Seed(1));
        assert!(some.len() == 5 && some.is_sorted() && some == places(5, 100, Seed(1)));
        assert_ne!(some, places(5, 100, Seed(2)));
        assert_eq!((places(0, 3, Seed(1)), places(7, 3, Seed(1))), (vec![0, 1, 2], vec![0, 1, 2]));
    }
}
