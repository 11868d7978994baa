//! `wb bench spider --generate`: text-to-SQL without retrieved examples and with those of each retriever, on the same
//! questions with the same seeds.

mod answers;
pub mod check;
mod cost;
mod index;
mod inputs;
mod model;
mod nearest;
mod print;
mod record;
mod retrieve;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use wb_core::{
    Seed, atomic,
    records::rag::{Rag, RagShare},
    run_dir::write_json,
};
use wb_llm::Client;
use wb_sql::{
    Compat,
    benchmarks::{
        SqlBenchmark,
        judged::{self, JudgedPrediction, PredictedQuery, statuses},
        protocols::protocols,
        scores::JUDGED,
        status,
    },
    execute::{Judge, JudgeOptions},
    rag::{DEFAULT_PROMPT, Prompt},
};

use self::{
    answers::Answered,
    inputs::Inputs,
    record::{Arm, record},
    retrieve::{Places, Retrieved, retrieve},
};
use super::options;
use crate::{
    args,
    commands::{End, experiment::of_file, external, unless_stopped},
    config::{EncoderArm, Experiment, GeneratorChoice, RagConfig, ReadBy, RetrieverChoice, WITHOUT, WordsArm},
    interrupt::Interrupt,
    output::{self, Bars},
    pipeline::{encoder, environment, synth},
};

/// The command, for messages.
const GENERATE: &str = "wb bench spider --generate";

/// Runs the experiment, prints and writes what came out, and looks at what is required of it.
pub fn generate(arguments: &args::Bench, requirements: &[(String, f64)]) -> Result<End> {
    let mut end = End::Done;
    let stopped = unless_stopped(run(arguments, requirements, &mut end))?;
    Ok(if stopped == End::Done { end } else { stopped })
}

fn run(arguments: &args::Bench, requirements: &[(String, f64)], end: &mut End) -> Result<()> {
    let file = file(arguments)?;
    let config = file.rag()?;
    let out = arguments.sql.out.clone().unwrap_or_else(|| Path::new("reports").join(&file.name));
    let asks = matches!(config.generator, GeneratorChoice::Model(_));
    if arguments.sql.replay.is_some() && !asks {
        bail!("--replay takes the answers of a language model, and `rag.generator` asks none");
    }
    if arguments.sql.replay.is_none() && asks {
        environment::complete(file.llm.as_ref())?;
    }
    check::data(config)?;
    if let Some((name, error)) = check::encoders(config, &arguments.places.runs).into_iter().next() {
        return Err(error.context(format!("retriever {name}")));
    }
    let template = template(config)?;
    let prompt = Prompt::new(&template)?;
    let interrupt = Interrupt::listen()?;
    let mut bars = Bars::new();
    let pool = options::pool(&arguments.sql, 20.0)?;
    // Before anything is embedded: a model that is not there is known at once.
    let client = match &file.llm {
        Some(llm) if asks => Some(
            interrupt
                .while_asking(|stop| synth::open_model(llm, file.seed, &out, arguments.sql.replay.as_deref(), stop))?,
        ),
        _ => None,
    };
    let inputs = Inputs::read(config, arguments.sql.databases.as_deref(), &pool, file.seed, &mut bars)?;
    let predictor = inputs.predictor()?;
    std::fs::create_dir_all(&out).map_err(wb_core::Error::io("make", &out))?;
    let places = Places { runs: &arguments.places.runs, device: file.device, out: &out, seed: file.seed };
    let options = JudgeOptions { compat: config.compat, ..JudgeOptions::default() };
    let judges = Judge::new(pool.clone(), options);
    let mut arms: Vec<Arm> = Vec::new();
    for retriever in std::iter::once(None).chain(config.retrievers.iter().map(Some)) {
        let name = retriever.map_or_else(|| WITHOUT.to_owned(), RetrieverChoice::name);
        let retrieved = match retriever {
            Some(retriever) => {
                let found = retrieve(retriever, config, &inputs, &places, &mut |progress| bars.report(progress));
                Some(found.with_context(|| format!("retriever {name}"))?)
            }
            None => None,
        };
        let rankings = retrieved.as_ref().map(|retrieved: &Retrieved| retrieved.rankings.as_slice());
        let (answered, cost) = match (&client, &config.generator) {
            (Some(client), GeneratorChoice::Model(model)) => {
                let model = model::Model {
                    client,
                    prompt: &prompt,
                    template: &template,
                    config: model,
                    questions: &config.questions,
                    inputs: &inputs,
                    pool: &pool,
                    seed: file.seed,
                };
                let (answered, cost) = interrupt.while_asking(|_| model.answers(rankings, &mut bars))?;
                (answered, Some(cost))
            }
            (_, GeneratorChoice::Nearest(nearest)) => {
                (nearest::answers((config, nearest), &inputs, &predictor, rankings, &pool, &mut bars)?, None)
            }
            (None, GeneratorChoice::Model(_)) => bail!("`rag.generator` asks a language model, and there is none"),
        };
        let judged = judge(&inputs, &answered, &judges, config.compat, &mut bars)?;
        write_predictions(&out.join(format!("predictions-{name}.sql")), &inputs, &answered)?;
        arms.push(Arm { name, retrieved, answered, judged, cost });
    }
    bars.finish();
    let facts = facts(config, file.seed, &inputs, client.as_ref());
    let rag = record(
        (&file.name, protocols(options, inputs.databases.is_suite()), facts),
        config,
        &inputs,
        &arms,
        file.seed,
    )?;
    print::print(&rag);
    for arm in &arms {
        output::line(format!("{:12} {}", arm.name, status::line(&statuses(&arm.judged))));
    }
    write(&rag, &out, arguments.json.as_deref())?;
    *end = gate(&rag, requirements);
    Ok(())
}

/// What names another place of the data, where no predictions are read.
const OTHER_DATA: &str = "--dataset DIR, or --generate FILE with `rag.dataset`, names another place";

/// The YAML that was named; without one the defaults over the data that is named or found, by rules.
fn file(arguments: &args::Bench) -> Result<Experiment> {
    let overrides = &arguments.names[1..];
    let Some(Some(path)) = &arguments.sql.generate else {
        if let Some(first) = overrides.first() {
            bail!("{first}: values are set in a file, and --generate names none: --generate FILE");
        }
        let dataset = match &arguments.dataset {
            Some(dataset) => dataset.clone(),
            None => external::of_sql(SqlBenchmark::Spider, &arguments.external, OTHER_DATA)?,
        };
        if let Some(name) = &arguments.retriever {
            encoder::check_retriever(name)?;
        }
        let retriever = match &arguments.encoder {
            Some(model) => RetrieverChoice::Encoder(EncoderArm {
                model: model.as_str().into(),
                name: None,
                documents: None,
                max_tokens: arguments.max_tokens,
                index: None,
            }),
            None => RetrieverChoice::Bm25(WordsArm::default()),
        };
        let mut rag = RagConfig::over(dataset, vec![retriever]);
        rag.compat = arguments.sql.compat.unwrap_or_default();
        rag.validate("rag")?;
        let read_by = ReadBy { command: GENERATE, ..ReadBy::default() };
        let (name, device) = ("spider".to_owned(), arguments.device);
        return Ok(Experiment { name, device, rag: Some(rag), read_by, ..Experiment::default() });
    };
    let mut file = of_file(GENERATE, path, overrides)?;
    let mut rag = file.rag()?.clone();
    if let Some(dataset) = &arguments.dataset {
        rag.dataset.clone_from(dataset);
    }
    if let Some(compat) = arguments.sql.compat {
        rag.compat = compat;
    }
    file.rag = Some(rag);
    Ok(file)
}

fn template(config: &RagConfig) -> Result<String> {
    let GeneratorChoice::Model(model) = &config.generator else { return Ok(DEFAULT_PROMPT.to_owned()) };
    let Some(path) = &model.prompt else { return Ok(DEFAULT_PROMPT.to_owned()) };
    Ok(std::fs::read_to_string(path).map_err(wb_core::Error::io("read", path))?)
}

/// `SQL TAB db_id` lines, which `wb bench spider --predictions` reads.
fn write_predictions(path: &Path, inputs: &Inputs, answered: &[Answered]) -> Result<()> {
    let line = |(asked, answered): (&wb_sql::rag::Asked, &Answered)| format!("{}\t{}\n", answered.sql, asked.db_id);
    let lines: String = inputs.asked.iter().zip(answered).map(line).collect();
    Ok(atomic::write(path, lines.as_bytes())?)
}

/// Verdicts on an arm's queries.
fn judge(
    inputs: &Inputs,
    answered: &[Answered],
    judge: &Judge,
    compat: Compat,
    bars: &mut Bars,
) -> Result<Vec<JudgedPrediction>> {
    let predicted = inputs.asked.iter().zip(answered).map(|(asked, answered)| {
        let schema = &inputs.catalogs.get(&asked.db_id)?.schema;
        let sources = inputs.databases.sources(&asked.db_id);
        Ok(PredictedQuery { gold: &asked.gold, sql: &answered.sql, schema, sources })
    });
    let predicted = predicted.collect::<Result<Vec<_>>>()?;
    Ok(judged::judge(&predicted, judge, compat, &mut |progress| bars.report(progress))?)
}

/// What was measured, in sentences.
fn facts(config: &RagConfig, seed: Seed, inputs: &Inputs, client: Option<&Client>) -> Vec<String> {
    let by = match (&config.generator, client) {
        (GeneratorChoice::Model(model), Some(client)) => {
            let info = client.info();
            format!(
                "queries by {} on {}, temperature {}, {} a question, {} repairs at most, seed {}",
                info.model, info.engine, model.temperature, model.samples, model.repair, seed.0
            )
        }
        _ => "queries by rules that fit the nearest examples' to the question's database: no language model".to_owned(),
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

fn write(rag: &Rag, out: &Path, json: Option<&Path>) -> Result<()> {
    let record: PathBuf = out.join("rag.json");
    write_json(&record, rag)?;
    if let Some(json) = json {
        write_json(json, rag)?;
    }
    output::line(format!("record  {}", record.display()));
    #[cfg(feature = "report")]
    {
        let files = wb_report::rag(rag, &record.with_extension("html"))?;
        output::line(format!("page    {}", files.html.display()));
        output::line(format!("chart   {}", files.png.display()));
    }
    Ok(())
}

/// What is required holds for the last retriever's arm.
fn gate(rag: &Rag, requirements: &[(String, f64)]) -> End {
    let Some(arm) = rag.arms.last() else { return End::Refused };
    let mut end = End::Done;
    let all = rag.questions.len() as u64;
    // Where a share of the questions is enough, it is required, too.
    let share_is_required = requirements.iter().any(|(metric, _)| metric == JUDGED);
    for (metric, least) in requirements {
        let share = match metric.as_str() {
            "em" => arm.em,
            "ex" => arm.ex,
            #[expect(clippy::cast_precision_loss, reason = "counts of questions")]
            JUDGED => RagShare { value: arm.ex.of as f64 / all.max(1) as f64, of: all, ..arm.ex },
            _ => arm.parsed,
        };
        if (share.of < all && !share_is_required) || share.value < *least {
            let (name, value, of) = (&arm.name, share.value, share.of);
            let known = if of < all { format!(" of {of} of {all} questions") } else { String::new() };
            output::note(format!("refused: {name} {metric} is {value:.4}{known}, required {least:.4}"));
            end = End::Refused;
        }
    }
    end
}
