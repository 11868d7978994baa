//! Worth of retrieval: queries without retrieved examples and with those of each retriever, on the same questions
//! with the same seeds, judged and compared.
//!
//! [`RagInputs`] are read once; [`RagExperiment::arm`] answers and judges all questions by one retriever, or without;
//! [`RagExperiment::record`] puts the arms beside each other.

mod answers;
mod check;
mod cost;
mod index;
mod inputs;
mod model;
mod nearest;
mod record;
mod requirements;
mod retrieve;

use std::path::Path;

use wb_core::{Seed, atomic, records::rag::Rag};
use wb_sql::{
    benchmarks::{
        SendProgress,
        judged::{self, JudgedPrediction, PredictedQuery},
        protocols::protocols,
    },
    execute::{ExecutionJudge, JudgeOptions, WorkerPool},
};

pub use self::{
    answers::AnsweredQuery,
    check::check_files,
    inputs::RagInputs,
    model::LanguageModel,
    record::JudgedArm,
    requirements::refusals,
    retrieve::{OpenEncoder, Retrieved},
};
use self::{model::Model, record::record, retrieve::Retrieval};
use crate::{
    Prompt, RagConfig, Result,
    config::{GeneratorChoice, RetrieverChoice, WITHOUT},
    predict::Predictor,
};

/// An experiment with everything that its arms share.
pub struct RagExperiment<'a> {
    /// Its name, for the record.
    pub name: &'a str,
    /// Settings of the experiment.
    pub config: &'a RagConfig,
    /// Draws the sample, random examples, and answers of the language model.
    pub seed: Seed,
    /// The folder of predictions and indexes, which is there.
    pub out: &'a Path,
    /// Questions, examples and databases.
    pub inputs: &'a RagInputs,
    /// The examples' queries, read.
    pub predictor: &'a Predictor<'a>,
    /// Runs queries.
    pub pool: &'a WorkerPool,
    /// The template of the language model's prompt.
    pub prompt: &'a Prompt,
    /// The language model, for a generator that asks one.
    pub model: Option<LanguageModel<'a>>,
}

impl RagExperiment<'_> {
    /// Answers and judges all questions with the examples of a retriever, or without any; writes the predictions.
    ///
    /// `encoder` is that of a retriever that embeds.
    ///
    /// # Errors
    ///
    /// If an index cannot be read or written, the encoder or the language model fails, or no worker can be started.
    pub fn arm(
        &self,
        retriever: Option<&RetrieverChoice>,
        encoder: Option<OpenEncoder<'_>>,
        progress: &mut SendProgress<'_>,
    ) -> Result<JudgedArm> {
        let name = retriever.map_or_else(|| WITHOUT.to_owned(), RetrieverChoice::name);
        let retrieved = match retriever {
            Some(retriever) => {
                let Self { config, inputs, predictor, out, seed, .. } = *self;
                let retrieval = Retrieval { retriever, config, inputs, predictor, encoder, out, seed };
                Some(retrieval.retrieve(progress).map_err(|error| error.within(format!("retriever {name}")))?)
            }
            None => None,
        };
        let rankings = retrieved.as_ref().map(|retrieved| retrieved.rankings.as_slice());
        let (answered, cost) = match &self.config.generator {
            GeneratorChoice::Nearest(nearest) => {
                let by = (self.config, nearest);
                (nearest::answers(by, self.inputs, self.predictor, rankings, self.pool, progress)?, None)
            }
            GeneratorChoice::Model(config) => {
                let Some(LanguageModel { ask, .. }) = self.model else {
                    let message = "asks a language model, and there is none";
                    return Err(wb_core::Error::value("rag.generator", message));
                };
                let Self { prompt, inputs, pool, seed, .. } = *self;
                let questions = &self.config.questions;
                let model = Model { ask, prompt, config, questions, inputs, pool, seed };
                let (answered, cost) = model.answers(rankings, progress)?;
                (answered, Some(cost))
            }
        };
        let judged = self.judge(&answered, progress)?;
        self.write_predictions(&name, &answered)?;
        Ok(JudgedArm { name, retrieved, answered, judged, cost })
    }

    /// The arms beside each other.
    ///
    /// # Errors
    ///
    /// If an example's database has no schema.
    pub fn record(&self, arms: &[JudgedArm]) -> Result<Rag> {
        let protocols = protocols(self.judge_options(), self.inputs.databases.is_suite());
        record((self.name, protocols, self.facts()), self.config, self.inputs, self.predictor, arms, self.seed)
    }

    fn judge_options(&self) -> JudgeOptions {
        JudgeOptions { compat: self.config.compat, ..JudgeOptions::default() }
    }

    /// Verdicts on an arm's queries.
    fn judge(&self, answered: &[AnsweredQuery], progress: &mut SendProgress<'_>) -> Result<Vec<JudgedPrediction>> {
        let inputs = self.inputs;
        let predicted = inputs.asked.iter().zip(answered).map(|(asked, answered)| {
            let schema = &inputs.catalogs.get(&asked.db_id)?.schema;
            let sources = inputs.databases.sources(&asked.db_id);
            Ok(PredictedQuery { gold: &asked.gold, line: &answered.sql, schema, sources })
        });
        let predicted = predicted.collect::<Result<Vec<_>>>()?;
        let judge = ExecutionJudge::new(self.pool.clone(), self.judge_options());
        judged::judge(&predicted, &judge, self.config.compat, progress)
    }

    /// `SQL TAB db_id` lines, which `wb bench spider --predictions` reads.
    fn write_predictions(&self, arm: &str, answered: &[AnsweredQuery]) -> Result<()> {
        let asked = self.inputs.asked.iter().zip(answered);
        let lines: String = asked.map(|(asked, answered)| format!("{}\t{}\n", answered.sql, asked.db_id)).collect();
        atomic::write(&self.out.join(format!("predictions-{arm}.sql")), lines.as_bytes())
    }

    /// Sentences on what is measured.
    fn facts(&self) -> Vec<String> {
        let (config, inputs) = (self.config, self.inputs);
        let by = match (&config.generator, &self.model) {
            (GeneratorChoice::Model(model), Some(LanguageModel { info, .. })) => format!(
                "queries by {} on {}, temperature {}, {} a question, {} repairs at most, seed {}",
                info.model, info.engine, model.temperature, model.samples, model.repair, self.seed.0
            ),
            _ => "queries by rules that fit the nearest examples' to the question's database: no language model"
                .to_owned(),
        };
        let guard = match config.own_database {
            true => "also of the question's own database",
            false => "none of the question's own database",
        };
        let with = inputs.examples.iter().filter(|example| example.question.is_some()).count();
        vec![
            by,
            format!(
                "{} examples, {with} of them with a question ({} queries stood in both files); {} a question, {guard}",
                inputs.examples.len(),
                inputs.repeated,
                config.top_k
            ),
            inputs.databases.line((0..inputs.asked.len()).filter(|&at| inputs.source(at).is_none()).count()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use wb_core::records::sql::SqlVerdict;
    use wb_sql::{
        benchmarks::{SqlBenchmark, SqlSubmission},
        execute::{StatementLimits, WorkerCommand},
    };

    use super::*;
    use crate::config::WordsArm;

    const TABLES: &str = r#"[{"db_id": "shops", "table_names_original": ["shop"],
        "column_names_original": [[-1, "*"], [0, "name"], [0, "city"]], "column_types": ["text", "text", "text"]}]"#;
    const QUESTIONS: &str = r#"[{"db_id": "shops", "question": "Which shop?",
        "query": "SELECT name FROM shop WHERE city = 'Ulm'"}]"#;

    const ROWS: &str = r#"{"sql_prompt": "Shops?", "sql_context": "CREATE TABLE shop (town TEXT)", "sql": "SELECT town FROM shop"}
{"sql_prompt": "How long?", "sql_context": "CREATE TABLE boat (length INT)", "sql": "SELECT max(length) FROM boat"}
{"sql_prompt": "When?", "sql_context": "CREATE TABLE train (departure INT)", "sql": "SELECT departure FROM train"}"#;

    /// Hands over an experiment with examples of a file, and without databases, so that no worker is started.
    fn with_experiment(training: &str, check: impl FnOnce(&RagExperiment<'_>)) {
        let folder = tempfile::tempdir().unwrap();
        let dataset = folder.path();
        for (file, text) in
            [("tables.json", TABLES), ("dev.json", QUESTIONS), ("train.json", QUESTIONS), ("rows.jsonl", ROWS)]
        {
            fs::write(dataset.join(file), text).unwrap();
        }
        let config = serde_json::json!({ "dataset": dataset, "training": { "questions": [training] } });
        let config: RagConfig = serde_json::from_value(config).unwrap();
        let pool = WorkerPool::new(
            WorkerCommand { program: "none".into(), arguments: Vec::new() },
            StatementLimits::default(),
            1,
        );
        let inputs = RagInputs::read(&config, None, &pool, Seed(1), &mut |_| ()).unwrap();
        check(&RagExperiment {
            name: "made",
            config: &config,
            seed: Seed(1),
            out: dataset,
            inputs: &inputs,
            predictor: &inputs.predictor().unwrap(),
            pool: &pool,
            prompt: &Prompt::new(crate::DEFAULT_PROMPT).unwrap(),
            model: None,
        });
    }

    /// Models that predict no values write `value`; the published evaluator reads a number there.
    #[test]
    fn a_prediction_is_judged_as_the_benchmark_judges_its_file() {
        with_experiment("train.json", |experiment| {
            let sql = "SELECT name FROM shop WHERE city = value".to_owned();
            let answered = [AnsweredQuery { sql, message: None }];
            let judged = experiment.judge(&answered, &mut |_| ()).unwrap();
            experiment.write_predictions("made", &answered).unwrap();
            let submission = SqlSubmission {
                dataset: experiment.out,
                rows: None,
                predictions: &experiment.out.join("predictions-made.sql"),
                questions: None,
                databases: None,
                options: experiment.judge_options(),
                iterations: 0,
                pool: experiment.pool.clone(),
            };
            let scores = SqlBenchmark::Spider.measure(&submission, &mut |_| ()).unwrap();
            let SqlVerdict::Spider(of_file) = &scores.record.questions[0] else { panic!("{:?}", scores.record) };
            assert_eq!((judged[0].exact.em(), judged[0].exact.parsed), (of_file.em, of_file.parsed));
            assert!(judged[0].exact.em());
            let retrieved = None;
            let arm = JudgedArm { name: "made".into(), retrieved, answered: answered.into(), judged, cost: None };
            let record = experiment.record(&[arm]).unwrap();
            assert_eq!((record.arms[0].table_recall, record.arms[0].column_recall), (1.0, 1.0));
        });
    }

    #[test]
    fn rows_of_synthetic_text_to_sql_are_retrieved() {
        with_experiment("rows.jsonl", |experiment| {
            let words = RetrieverChoice::Bm25(WordsArm::default());
            let arm = experiment.arm(Some(&words), None, &mut |_| ()).unwrap();
            let hits = &arm.retrieved.as_ref().unwrap().rankings[0].hits;
            assert_eq!(hits[0].document, 0);
            let record = experiment.record(&[arm]).unwrap();
            let example = &record.questions[0].arms[0].examples[0];
            assert_eq!((example.id.as_str(), example.sql.as_str()), ("train-00000", "SELECT town FROM shop"));
            assert!(experiment.predictor.query(0).is_some());
        });
    }
}
