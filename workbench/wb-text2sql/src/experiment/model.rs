//! Queries by a language model: one prompt a question, with examples or without; several queries vote by their results,
//! and one that does not run is asked for again with what the database said.
//!
//! Everything is a function of the replies, and these are in the ledger: a run that was stopped goes on by asking the
//! same questions again.

use std::path::Path;

use serde_json::{Value as Json, json};
use wb_core::{Progress, Ranking, Seed, fingerprint::Fingerprint, records::rag::RagCost};
use wb_llm::{
    Answer, Ask, EngineInfo, LlmQuestion, Message, Reply, Role,
    neutral::{self, between},
};
use wb_sql::{
    benchmarks::SendProgress,
    execute::{Execution, Seat, StatementOutcome, WorkerPool},
};

use super::{answers::AnsweredQuery, cost::ReplyCosts, inputs::RagInputs};
use crate::{Prompt, Result, answer::on_one_line, config::ModelConfig, examples::ExampleDocument, sql_of_answer, vote};

/// Rows of a result that are looked at for a vote.
const ROWS: u64 = 100_000;
/// Characters around the query in a JSON answer, reckoned as tokens.
const AROUND: u32 = 16;

/// A language model that answers questions.
#[derive(Clone, Copy)]
pub struct LanguageModel<'a> {
    /// Answers questions.
    pub ask: &'a dyn Ask,
    /// The model and its engine, in words.
    pub info: &'a EngineInfo,
}

/// A language model, and how it is asked.
pub(super) struct Model<'a> {
    /// Answers questions.
    pub ask: &'a dyn Ask,
    /// The template.
    pub prompt: &'a Prompt,
    /// Settings.
    pub config: &'a ModelConfig,
    /// The file of the questions, by which they are called.
    pub questions: &'a Path,
    /// Questions, and databases that their queries run on.
    pub inputs: &'a RagInputs,
    /// Pool that runs queries.
    pub pool: &'a WorkerPool,
    /// The run's.
    pub seed: Seed,
}

/// One question's state: what was asked last, what came, and what came of running it.
struct Turn {
    messages: Vec<Message>,
    answer: Option<Answer>,
    sql: Option<String>,
    why_not: Option<String>,
    execution: Option<Execution>,
}

impl Model<'_> {
    /// A query for each question, with these examples or without any, and what it took.
    pub fn answers(
        &self,
        rankings: Option<&[Ranking]>,
        progress: &mut SendProgress<'_>,
    ) -> Result<(Vec<AnsweredQuery>, RagCost)> {
        let mut costs = ReplyCosts::default();
        let all: Vec<usize> = (0..self.inputs.asked.len()).collect();
        let prompts = all.iter().map(|&at| self.messages(at, rankings)).collect::<Result<Vec<_>>>()?;
        let samples = self.config.samples;
        let questions: Vec<LlmQuestion> = all
            .iter()
            .flat_map(|&at| (0..samples).map(move |sample| (at, sample)))
            .map(|(at, sample)| self.question(at, sample, "", prompts[at].clone()))
            .collect();
        let mut turns = self.ask(&questions, &mut costs, progress)?;
        if samples > 1 || self.config.repair > 0 {
            let places: Vec<usize> = (0..turns.len()).map(|place| place / samples as usize).collect();
            self.execute(&mut turns, &places, progress)?;
        }
        let mut chosen: Vec<Turn> = Vec::with_capacity(all.len());
        let mut turns = turns.into_iter();
        for _ in &all {
            let mut of_question: Vec<Turn> = turns.by_ref().take(samples as usize).collect();
            let executions: Vec<Option<Execution>> = of_question.iter_mut().map(|turn| turn.execution.take()).collect();
            // Without a vote the first that has a query at all.
            let voted = vote(&executions).filter(|vote| vote.agree > 0).map(|vote| vote.chosen);
            let place = voted.or_else(|| of_question.iter().position(|turn| turn.sql.is_some())).unwrap_or(0);
            let mut turn = of_question.swap_remove(place);
            turn.execution = executions.into_iter().nth(place).flatten();
            chosen.push(turn);
        }
        for round in 1..=self.config.repair {
            self.repair(round, &mut chosen, &mut costs, progress)?;
        }
        let answered = chosen.into_iter().map(|turn| match turn.sql {
            Some(sql) => AnsweredQuery { sql, message: None },
            None => AnsweredQuery::none(turn.why_not.unwrap_or_default()),
        });
        Ok((answered.collect(), costs.record()))
    }

    /// The conversation that asks a question.
    fn messages(&self, at: usize, rankings: Option<&[Ranking]>) -> Result<Vec<Message>> {
        let inputs = self.inputs;
        let asked = &inputs.asked[at];
        let context = inputs.catalogs.get(&asked.db_id)?.context();
        let hits = rankings.map_or(&[][..], |rankings| &rankings[at].hits);
        let examples: Vec<(&ExampleDocument, String)> = hits
            .iter()
            .map(|hit| {
                let example = &inputs.examples[hit.document];
                Ok((example, inputs.catalogs.get(&example.db_id)?.context()))
            })
            .collect::<Result<_>>()?;
        let foreign = examples.iter().flat_map(|(example, context)| {
            [example.question.as_deref().unwrap_or_default(), &example.sql, context.as_str()]
        });
        let nonce = nonce(
            self.seed,
            &[asked.question.as_str(), context.as_str()].into_iter().chain(foreign).collect::<Vec<_>>(),
        );
        let fence = |text: &str| between(text, &nonce);
        let filled = self.prompt.fill(&asked.question, &context, &examples, &fence)?;
        let json = if self.config.json { "\n\nAnswer as JSON: {\"sql\": \"the query\"}" } else { "" };
        let content = format!("{}\n\n{filled}{json}", neutral::RULE);
        Ok(vec![Message { role: Role::User, content }])
    }

    fn question(&self, at: usize, sample: u32, round: &str, messages: Vec<Message>) -> LlmQuestion {
        let of = Fingerprint::of_json(&(self.prompt.text(), self.config.json));
        let file = self.questions.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        LlmQuestion {
            recipe: format!("text-to-sql@{}{round}", &of.as_str()[..8]),
            item: format!("{file}-{:05}", self.inputs.places[at]),
            sample,
            messages,
            sampling: self.config.sampling(),
            schema: self.config.json.then(|| schema(self.config.max_tokens)),
        }
    }

    fn ask(
        &self,
        questions: &[LlmQuestion],
        costs: &mut ReplyCosts,
        progress: &mut SendProgress<'_>,
    ) -> Result<Vec<Turn>> {
        let mut done = 0;
        let mut each = |_: usize, _: &Reply| {
            done += 1;
            progress(Progress::new("asking", done, questions.len()));
        };
        let replies = self.ask.ask_all(questions, &mut each)?;
        let turn = |(question, reply): (&LlmQuestion, Reply)| {
            costs.add(&reply);
            let messages = question.messages.clone();
            match reply {
                Reply::Answered(answer) => {
                    let sql = self.sql(&answer);
                    let why_not = sql.is_none().then(|| "there is no query in the answer".to_owned());
                    Turn { messages, answer: Some(answer), sql, why_not, execution: None }
                }
                Reply::Rejected(rejection) => {
                    Turn { messages, answer: None, sql: None, why_not: Some(rejection.reason), execution: None }
                }
            }
        };
        Ok(questions.iter().zip(replies).map(turn).collect())
    }

    /// The query in an answer, without the marks that it copied from texts that were made harmless.
    fn sql(&self, answer: &Answer) -> Option<String> {
        if !self.config.json {
            return sql_of_answer(&answer.text.replace(neutral::BREAK, ""));
        }
        let sql = answer.value.as_ref()?.get("sql")?.as_str()?.replace(neutral::BREAK, "");
        let sql = on_one_line(&sql);
        (!sql.is_empty()).then_some(sql)
    }

    /// Asks again for what does not run.
    fn repair(
        &self,
        round: u32,
        chosen: &mut [Turn],
        costs: &mut ReplyCosts,
        progress: &mut SendProgress<'_>,
    ) -> Result<()> {
        let broken: Vec<usize> = (0..chosen.len()).filter(|&at| fault(&chosen[at]).is_some()).collect();
        let questions: Vec<LlmQuestion> = broken
            .iter()
            .map(|&at| {
                let turn = &chosen[at];
                let mut messages = turn.messages.clone();
                let said = turn.answer.as_ref().map(|answer| answer.text.as_str()).unwrap_or_default();
                let fault = fault(turn).unwrap_or_default();
                messages.push(Message { role: Role::Assistant, content: neutral::neutral(said) });
                let fault = between(&fault, &nonce(self.seed, &[&fault, said]));
                let content = format!(
                    "This query does not run. The database says:\n{fault}\nWrite a query that runs, in the same form."
                );
                messages.push(Message { role: Role::User, content });
                self.question(at, 0, &format!("/repair-{round}"), messages)
            })
            .collect();
        let mut turns = self.ask(&questions, costs, progress)?;
        self.execute(&mut turns, &broken, progress)?;
        for (at, turn) in broken.into_iter().zip(turns) {
            costs.repair(turn.execution.as_ref().is_some_and(|execution| execution.outcome == StatementOutcome::Done));
            if turn.sql.is_some() {
                chosen[at] = turn;
            }
        }
        Ok(())
    }

    /// Runs the queries of turns, each in the database of the question at its place.
    fn execute(&self, turns: &mut [Turn], questions: &[usize], progress: &mut SendProgress<'_>) -> Result<()> {
        let work = |seat: &mut Seat<'_>, (): &mut (), at: &usize| match (
            &turns[*at].sql,
            self.inputs.source(questions[*at]),
        ) {
            (Some(sql), Some(source)) => seat.execute(&source, sql, ROWS).map(Some),
            _ => Ok(None),
        };
        let numbers: Vec<usize> = (0..turns.len()).collect();
        let mut done = |done| progress(Progress::new("running queries", done, numbers.len()));
        let executions = self.pool.each(&numbers, work, &mut done)?;
        for (turn, execution) in turns.iter_mut().zip(executions) {
            turn.execution = execution;
        }
        Ok(())
    }
}

/// Words of the database on a query that it does not run; none where it runs, or where there is none to run.
fn fault(turn: &Turn) -> Option<String> {
    turn.answer.as_ref()?;
    match (&turn.sql, turn.execution.as_ref().map(|execution| &execution.outcome)) {
        (None, _) => Some("there is no query in the answer".to_owned()),
        (_, None | Some(StatementOutcome::Done)) => None,
        (_, Some(StatementOutcome::Timeout)) => Some("the query takes too long".to_owned()),
        (_, Some(StatementOutcome::SqlError(message) | StatementOutcome::Refused(message))) => Some(message.clone()),
        (_, Some(StatementOutcome::SetupFailed(_))) => None,
    }
}

/// The code of the lines around foreign texts: the same for the same texts, and in none of them.
fn nonce(seed: Seed, texts: &[&str]) -> String {
    let nonce = |n: u64| {
        let mut of = Fingerprint::builder();
        of.text("text-to-sql").number(seed.0).number(n);
        for text in texts {
            of.text(text);
        }
        of.finish().as_str()[..16].to_owned()
    };
    (0..).map(nonce).find(|nonce| !texts.iter().any(|text| text.contains(nonce.as_str()))).unwrap_or_default()
}

/// A query in JSON that ends before the tokens do, as long as a character is no more than one.
fn schema(max_tokens: u32) -> Json {
    json!({
        "type": "object",
        "properties": { "sql": { "type": "string", "minLength": 1, "maxLength": max_tokens.saturating_sub(AROUND).max(1) } },
        "required": ["sql"],
        "additionalProperties": false,
    })
}
