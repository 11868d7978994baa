//! The A/B experiment: one corpus of snippets, embedded in two ways, asked the same queries.
//!
//! Judgements are a person's: what nobody judged yet is written down to be judged, in the form in which it is read.

mod through_index;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::Path,
};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use wb_bench::{AbArm, AbExperiment, AbQuery, ArmTexts, BenchContestant};
use wb_core::{
    Error, Progress, Qrels, Seed, atomic, json_lines,
    records::{
        ab::{AbRecord, ErrorClass},
        annotation::Annotation,
    },
    run_dir::write_json,
    suggest,
};
use wb_llm::EngineInfo;
use wb_synth::{
    Snippet,
    annotate::{AnnotatedSnippets, EmbedText},
    provenance::to_lines,
};

use crate::{
    config::AbConfig,
    output,
    pages::{self, PageFiles},
    synth,
};

/// File of what nobody judged, in an experiment's folder.
pub const TO_JUDGE: &str = "to-judge.jsonl";

/// A judgement, as it is read and as it is asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Judgement {
    query: String,
    document: String,
    /// Above 0: of use. Null: not judged yet.
    grade: Option<f64>,
    /// Class of the mistake, where a person says so.
    #[serde(default)]
    class: Option<ErrorClass>,
    /// Text of the query for the person who judges; not read.
    #[serde(default)]
    query_text: String,
    #[serde(default)]
    document_text: String,
}

/// Queries and judgements: all that the experiment reads beside the snippets.
pub struct AbQuestions {
    queries: Vec<AbQuery>,
    qrels: Qrels,
    classes: BTreeMap<(String, String), ErrorClass>,
}

/// Reads queries and judgements: mistakes in them are told before a model is asked.
pub fn asked(config: &AbConfig) -> Result<AbQuestions> {
    let path = &config.queries;
    let mut queries: Vec<AbQuery> = Vec::new();
    for (line, query) in json_lines::read::<AbQuery>(path).context("cannot read the queries")? {
        let place = || format!("{}:{line}", path.display());
        for (name, value) in [("id", &query.id), ("text", &query.text)] {
            if value.trim().is_empty() {
                return Err(Error::data(place(), format!("`{name}` is missing or empty")).into());
            }
        }
        if queries.iter().any(|before| before.id == query.id) {
            let message = format!("query `{}` stands there twice, expected unique ids", query.id);
            return Err(Error::data(place(), message).into());
        }
        queries.push(query);
    }
    if queries.is_empty() {
        return Err(Error::data(path.display().to_string(), "holds no query, expected one JSON object a line").into());
    }
    let (mut qrels, mut classes) = (Qrels::default(), BTreeMap::new());
    let Some(path) = &config.judgements else { return Ok(AbQuestions { queries, qrels, classes }) };
    for (line, judged) in json_lines::read::<Judgement>(path).context("cannot read the judgements")? {
        if !queries.iter().any(|query| query.id == judged.query) {
            let message = format!("no query is called `{}`", judged.query);
            let hint = suggest::hint(&judged.query, queries.iter().map(|query| query.id.as_str()));
            return Err(Error::at(path, line, message).with_hint_if(hint).into());
        }
        let Some(grade) = judged.grade else { continue };
        if let Some(class) = judged.class {
            classes.insert((judged.query.clone(), judged.document.clone()), class);
        }
        qrels.set(judged.query, judged.document, grade);
    }
    Ok(AbQuestions { queries, qrels, classes })
}

/// Both arms' rankings.
pub fn search(
    config: &AbConfig,
    asked: &AbQuestions,
    contestant: &BenchContestant<'_>,
    snippets: &[Snippet],
    annotations: &[Option<Annotation>],
    progress: &mut dyn FnMut(Progress),
) -> Result<[AbArm; 2]> {
    if config.index {
        let search = |arm: EmbedText| {
            let annotations = if arm == EmbedText::Code { &[] } else { annotations };
            through_index::search(arm.as_str(), contestant, &asked.queries, snippets, annotations, progress)
        };
        let [baseline, candidate] = config.arms.map(search);
        return Ok([baseline?, candidate?]);
    }
    let ids: Vec<String> = snippets.iter().map(|snippet| snippet.id.clone()).collect();
    let mut arm = |embed: EmbedText| -> Result<AbArm> {
        let all = embed.all(snippets, annotations);
        let corpus = ArmTexts { ids: &ids, texts: &all.texts, documents: &all.chunks };
        Ok(AbArm::search(embed.as_str(), contestant, &asked.queries, corpus, progress)?)
    };
    Ok([arm(config.arms[0])?, arm(config.arms[1])?])
}

/// Facts of an experiment for its page, and the folder of its files.
pub struct AbReport<'a> {
    /// Its name.
    pub name: &'a str,
    /// Seed of its intervals.
    pub seed: Seed,
    /// Name of the encoder or of BM25.
    pub searched_by: &'a str,
    /// Annotations, and the model that made them; none where no model is asked.
    pub annotated: Option<(&'a AnnotatedSnippets, &'a EngineInfo)>,
    /// Its folder.
    pub out: &'a Path,
}

impl AbReport<'_> {
    /// Measures both arms, writes the files and prints what came out.
    pub fn measure_and_print(&self, asked: &AbQuestions, arms: &[AbArm; 2], snippets: &[Snippet]) -> Result<AbRecord> {
        output::line(format!("{:>9} snippets", snippets.len()));
        let mut facts = vec![format!("{} snippets, searched by {}.", snippets.len(), self.searched_by)];
        if let Some((annotated, info)) = self.annotated {
            synth::print_annotated(annotated);
            let said = annotated.annotations.iter().flatten().count();
            let rest = if said < snippets.len() { "; the others stand as code in both arms" } else { "" };
            facts.push(format!("{said} of them annotated by {} ({}){rest}.", info.model, info.engine));
        }
        let strangers = strangers(asked, snippets);
        if strangers > 0 {
            output::note(format!("{strangers} judgements speak of documents that the snippets do not have"));
        }
        let (ab, files) = measure(asked, arms, snippets, (self.name, facts), self.seed, self.out)?;
        print(&ab, self.out);
        if let Some(files) = files {
            output::line(format!("page    {}", files.html.display()));
            output::line(format!("chart   {}", files.png.display()));
        }
        Ok(ab)
    }
}

/// Measures both arms and writes `ab.json`, the page with its chart, and what is to be judged.
fn measure(
    asked: &AbQuestions,
    [baseline, candidate]: &[AbArm; 2],
    snippets: &[Snippet],
    (title, facts): (&str, Vec<String>),
    seed: Seed,
    out: &Path,
) -> Result<(AbRecord, Option<PageFiles>)> {
    let texts: HashMap<&str, &str> =
        snippets.iter().map(|snippet| (snippet.id.as_str(), snippet.text.as_str())).collect();
    let file = out.join(TO_JUDGE);
    // What a person graded in this file stays in it, whether it is named as judgements or not yet.
    let mut lines_of_file: Vec<Judgement> = match file.is_file() {
        true => json_lines::read(&file)?.into_iter().map(|(_, judged)| judged).collect(),
        false => Vec::new(),
    };
    lines_of_file.retain(|judged| judged.grade.is_some());
    let open = to_judge(asked, [baseline, candidate], &texts);
    let is_graded = |one: &Judgement| {
        lines_of_file.iter().any(|judged| judged.query == one.query && judged.document == one.document)
    };
    let (graded, open): (Vec<_>, Vec<_>) = open.into_iter().partition(is_graded);
    if !graded.is_empty() {
        output::note(format!(
            "{} grades in {} are not among the judgements: name it as ab.judgements",
            graded.len(),
            file.display()
        ));
    }
    lines_of_file.extend(open);
    atomic::write(&file, to_lines(&lines_of_file)?.as_bytes())?;
    if let Some(query) = asked.queries.iter().find(|query| asked.qrels.of(&query.id).is_none()) {
        let message = format!("nobody judged a document for query `{}` yet", query.id);
        let hint = format!(
            "set `grade` in each line of {0} (1: of use, 0: not), and name it: ab.judgements={0}",
            file.display()
        );
        return Err(Error::data("ab", message).with_hint(hint).into());
    }
    let experiment = AbExperiment {
        queries: &asked.queries,
        qrels: &asked.qrels,
        baseline,
        candidate,
        text: &|id| texts.get(id).copied(),
        classes: &asked.classes,
    };
    let ab = experiment.run(seed)?;
    write_json(&out.join("ab.json"), &ab)?;
    let text = |id: &str| texts.get(id).map(|text| (*text).to_owned());
    let files = pages::ab(&ab, title, facts, &text, &out.join("ab.html"))?;
    Ok((ab, files))
}

/// Judgements of documents that the corpus does not have.
fn strangers(asked: &AbQuestions, snippets: &[Snippet]) -> usize {
    let known: BTreeSet<&str> = snippets.iter().map(|snippet| snippet.id.as_str()).collect();
    let judged = asked.qrels.iter().flat_map(|(_, grades)| grades.keys());
    judged.filter(|document| !known.contains(document.as_str())).count()
}

/// Results that nobody judged, query by query, the baseline's first.
fn to_judge(asked: &AbQuestions, arms: [&AbArm; 2], texts: &HashMap<&str, &str>) -> Vec<Judgement> {
    let mut open = Vec::new();
    for query in &asked.queries {
        let grades = asked.qrels.of(&query.id);
        let mut seen = BTreeSet::new();
        for id in arms.iter().filter_map(|arm| arm.rankings.get(&query.id)).flatten() {
            if grades.is_none_or(|grades| !grades.contains_key(id)) && seen.insert(id) {
                open.push(Judgement {
                    query: query.id.clone(),
                    document: id.clone(),
                    grade: None,
                    class: None,
                    query_text: query.text.clone(),
                    document_text: texts.get(id.as_str()).copied().unwrap_or_default().to_owned(),
                });
            }
        }
    }
    open
}

/// Prints both arms' numbers and errors, and what of the first results nobody judged.
fn print(ab: &AbRecord, out: &Path) {
    let rows: Vec<Vec<String>> = ab
        .metrics
        .iter()
        .map(|metric| {
            let [wins, ties, losses] = metric.wins_ties_losses;
            vec![
                metric.name.clone(),
                format!("{:.4}", metric.means[0]),
                format!("{:.4}", metric.means[1]),
                format!("{:+.4}", metric.difference),
                format!("{:+.4}", metric.interval),
                format!("{:.4}", metric.p_value),
                format!("{wins}/{ties}/{losses}"),
            ]
        })
        .collect();
    let [a, b] = &ab.arms;
    output::table(&["metric", a, b, "difference", "95 % interval", "p", "better/equal/worse"], &rows);
    let rows: Vec<Vec<String>> = ab
        .errors
        .iter()
        .map(|row| {
            let name = serde_json::to_value(row.class).unwrap_or_default();
            vec![
                name.as_str().unwrap_or_default().replace('_', " "),
                row.results[0].to_string(),
                row.results[1].to_string(),
            ]
        })
        .collect();
    output::line("");
    output::table(&["of no use among the first three", a, b], &rows);
    if ab.unjudged != [0, 0] {
        let file = out.join(TO_JUDGE);
        output::note(format!(
            "nobody judged {} of the first five results of {} and {} of {}, which count as of no use: {}",
            ab.unjudged[0],
            ab.arms[0],
            ab.unjudged[1],
            ab.arms[1],
            file.display()
        ));
    }
}
