//! The benchmarks of text-to-SQL, by their names.

use std::path::{Path, PathBuf};

use super::{SendProgress, SqlScores, SqlSubmission, bird, scores::JUDGED, spider, synthetic_sql};
use crate::Result;

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlBenchmark {
    /// Spider: exact match and execution.
    Spider,
    /// BIRD: execution, its rewards and Soft-F1.
    Bird,
    /// Gretel's synthetic_text_to_sql: execution in a database made for each row.
    SyntheticSql,
}

impl SqlBenchmark {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Spider, Self::Bird, Self::SyntheticSql];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Spider => "spider",
            Self::Bird => "bird",
            Self::SyntheticSql => "synthetic-sql",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|benchmark| benchmark.name() == name)
    }

    /// Metrics that can be required of it, as in `--require ex=0.5`.
    pub fn metrics(self) -> &'static [&'static str] {
        match self {
            Self::Spider => &["em", "ex", "parse_rate", JUDGED],
            Self::Bird => &["ex", "soft_f1", "r_ves", JUDGED],
            Self::SyntheticSql => &["ex", JUDGED],
        }
    }

    /// Seconds that a statement may take, as in the published evaluators.
    pub fn timeout_seconds(self) -> f64 {
        match self {
            Self::Bird => 30.0,
            Self::Spider | Self::SyntheticSql => 20.0,
        }
    }

    /// Judges predictions.
    ///
    /// # Errors
    ///
    /// If data or predictions cannot be read or do not belong together, or no worker can be started.
    pub fn measure(self, submission: &SqlSubmission<'_>, progress: &mut SendProgress<'_>) -> Result<SqlScores> {
        match self {
            Self::Spider => spider::measure(submission, progress),
            Self::Bird => bird::measure(submission, progress),
            Self::SyntheticSql => synthetic_sql::measure(submission, progress),
        }
    }

    /// Its data in a folder, where its reader would find it: the folder itself, or a file in it.
    pub fn data_in(self, folder: &Path) -> Result<Option<PathBuf>> {
        let itself = |is_there: bool| is_there.then(|| folder.to_owned());
        match self {
            Self::Spider => Ok(itself(spider::is_in(folder))),
            Self::Bird => Ok(itself(bird::is_in(folder))),
            Self::SyntheticSql => synthetic_sql::rows_in(folder),
        }
    }

    /// Card of what it reads and where that comes from, for `wb ls --benchmarks`.
    pub fn card(self) -> &'static str {
        match self {
            Self::Spider => {
                "spider (protocols spider-em-*, spider-ex-*, spider-ts-*; official or strict)
  data     a folder with dev.json, tables.json, database/ID/*.sqlite (https://yale-lily.github.io/spider); --predictions: one query a line
  licence  CC BY-SA 4.0
  paper    Yu et al. 2018, https://arxiv.org/abs/1809.08887; judged as by Zhong et al. 2020, https://arxiv.org/abs/2010.02840"
            }
            Self::Bird => {
                "bird (protocols bird-ex, bird-r-ves, bird-soft-f1)
  data     a folder with mini_dev_sqlite.json or dev.json, dev_databases/ID/ID.sqlite (https://bird-bench.github.io); --predictions: its JSON
  licence  CC BY-SA 4.0
  paper    Li et al. 2023, https://arxiv.org/abs/2305.03111"
            }
            Self::SyntheticSql => {
                "synthetic-sql (protocol synthetic-sql-ex)
  data     JSON lines or Parquet with sql_context and sql (https://huggingface.co/datasets/gretelai/synthetic_text_to_sql); --predictions: one query a line
  licence  Apache-2.0
  paper    Meyer et al. 2024, https://huggingface.co/datasets/gretelai/synthetic_text_to_sql"
            }
        }
    }
}
