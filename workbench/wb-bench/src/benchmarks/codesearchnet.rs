//! CodeSearchNet: six languages, and at least six protocols that are all called by its name.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    beir,
    benchmark::{Benchmark, BenchmarkData, BenchmarkPlan, Card},
    cosqa,
};
use crate::{
    Result,
    layouts::{
        Files, annotated,
        annotated::AnnotatedLayout,
        codesearchnet::{self as layout, CodeSearchNetSplit, Function, Functions, TextMode},
        cosqa as cosqa_layout, no_layout,
    },
    protocols::{
        PlannedProtocol,
        advtest::advtest,
        csn_1000::{self, BATCH, BatchFunction, Csn1000, batch_sizes},
        csn_clean_full::{PUBLISHED, csn_clean_full},
        csn_full::{UniqueIds, csn_full},
        csn_func1000,
        csn_ndcg::{CsnNdcg, HumanQuery},
    },
    texts::BenchmarkTexts,
};

/// Every protocol of code search that goes by CodeSearchNet's name, and its neighbours'.
pub const CARD: Card = Card {
    name: "codesearchnet",
    measures: "functions found by their documentation: MRR, NDCG",
    protocols: &[
        "csn-1000",
        "csn-func1000",
        "csn-full",
        "csn-clean-full",
        "csn-ndcg-*",
        "advtest",
        "cosqa-6267",
        "coir-*",
    ],
    version: 2,
    dataset: "CodeSearchNet: LANGUAGE/{test,valid}.jsonl, annotated/, the cleaned release, AdvTest",
    place: "codesearchnet",
    licence: "MIT (annotations and code of the challenge); functions under their repositories' permissive licences",
    paper: "Husain et al., CodeSearchNet Challenge: Evaluating the State of Semantic Code Search, 2019",
    citation: "arXiv:1909.09436",
    main: &[
        ("csn-1000", "mrr"),
        ("csn-full", "mrr"),
        ("csn-clean-full", "mrr"),
        ("csn-ndcg-within", "ndcg"),
        ("advtest", "mrr"),
        ("cosqa-6267", "mrr"),
        ("coir-", "ndcg@10"),
    ],
};

/// Languages to measure, and the text of functions to search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CodeSearchNetConfig {
    /// Languages, as in `[ruby, go]`; empty for every language that is there.
    pub languages: Vec<String>,
    /// Text that is searched: `tokens` (`code_tokens` joined by spaces), or `raw` (`code` as it was written, which may
    /// hold the query; not comparable with published numbers).
    pub text: TextMode,
}

const NAME: &str = "codesearchnet";
const EXPECTED: &str = "LANGUAGE/test.jsonl, LANGUAGE/valid.jsonl, LANGUAGE/final/jsonl/test/*.jsonl.gz, \
    annotated/corpus.jsonl, AdvTest/test.jsonl, coir-csn/corpus.jsonl";

impl Benchmark for CodeSearchNetConfig {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn validate(&self, key: &str) -> wb_core::Result<()> {
        for (index, language) in self.languages.iter().enumerate() {
            if language.is_empty() || *language != language.to_lowercase() {
                let message = format!("got `{language}`, expected a lower-case name like ruby");
                return Err(wb_core::Error::value(format!("{key}.languages[{index}]"), message));
            }
        }
        Ok(())
    }

    fn is_in(&self, folder: &Path) -> Result<bool> {
        Ok(layout::is_in(folder)?
            || annotated::is_in(folder)
            || cosqa_layout::is_in(folder)
            || !beir::find(folder)?.is_empty())
    }

    fn plan(&self, dataset: BenchmarkData<'_>) -> Result<BenchmarkPlan> {
        let folder = dataset.folder(NAME)?;
        let mut files = Files::new(folder);
        let functions = layout::read(&mut files, &self.languages)?;
        let annotated = annotated::read(&mut files, &self.languages)?;
        let cosqa = cosqa_layout::read(&mut files)?.filter(|data| !data.splits.is_empty());
        let beirs = beir::find(folder)?;
        self.check_languages(layout::available(folder)?, annotated.as_ref())?;
        if functions.is_empty() && annotated.is_none() && cosqa.is_none() && beirs.is_empty() {
            return Err(no_layout(folder, NAME, EXPECTED));
        }
        let mut plan = BenchmarkPlan::new(&CARD);
        plan.set("text", if self.text == TextMode::Raw { "raw" } else { "tokens" });
        if self.text == TextMode::Raw {
            plan.warnings.push(
                "text raw: `code` still holds the docstring where it stands inside of the function, so queries may stand \
                 in their answers; these numbers are not comparable with published ones"
                    .into(),
            );
        }
        self.add_1000(&mut plan, &functions)?;
        self.add_full(&mut plan, &functions)?;
        self.add_clean(&mut plan, &functions)?;
        add_annotated(&mut plan, annotated.as_ref(), &self.languages);
        self.add_advtest(&mut plan, &functions)?;
        match &cosqa {
            Some(data) => cosqa::add(&mut plan, data),
            None => plan.skip(
                "cosqa-6267",
                "needs code_idx_map.txt with cosqa-retrieval-{dev,test}-500.json here; or: wb bench cosqa",
            ),
        }
        add_beir(&mut plan, &mut files, beirs)?;
        plan.dataset = files.fingerprint();
        Ok(plan)
    }
}

/// The functions of a language, or all of them.
fn of<'f>(functions: &'f [Function], language: Option<&str>) -> Vec<&'f Function> {
    functions.iter().filter(|function| language.is_none_or(|language| function.language == language)).collect()
}

impl CodeSearchNetConfig {
    fn check_languages(&self, mut there: Vec<String>, annotated: Option<&AnnotatedLayout>) -> Result<()> {
        there.extend(annotated.map(|annotated| annotated.available.clone()).unwrap_or_default());
        there.sort();
        there.dedup();
        // A language's own folder given as the data folder names no language.
        if there.is_empty() {
            return Ok(());
        }
        match self.languages.iter().find(|language| !there.contains(language)) {
            Some(missing) => {
                let hint = format!("there is: {}", there.join(", "));
                Err(wb_core::Error::unknown("language", missing.clone()).with_hint(hint))
            }
            None => Ok(()),
        }
    }

    /// csn-1000 and csn-func1000 in the order of the reference: all languages, then each; test, names, validation.
    fn add_1000(&self, plan: &mut BenchmarkPlan, functions: &Functions) -> Result<()> {
        if functions.test.is_empty() && functions.valid.is_empty() {
            for id in ["csn-1000", "csn-func1000", "csn-full"] {
                plan.skip(id, "no split found: needs LANGUAGE/test.jsonl or LANGUAGE/valid.jsonl with code_tokens and docstring_tokens");
            }
            return Ok(());
        }
        let languages = functions.languages();
        let all = (languages.len() > 1).then_some(None);
        let mut evaluations = Vec::new();
        for language in all.into_iter().chain(languages.iter().map(|language| Some(language.as_str()))) {
            let [test, valid] = CodeSearchNetSplit::ALL.map(|split| of(functions.split(split), language));
            let named = if test.is_empty() { ("valid", &valid) } else { ("test", &test) };
            let mut add = |id: &'static str, split: &'static str, rows: Vec<BatchFunction>| {
                if !rows.is_empty() {
                    evaluations.push((id, language.unwrap_or("all"), split, rows));
                }
            };
            add("csn-1000", "test", self.batch_functions(plan, &test)?);
            add("csn-func1000", named.0, batch_names(plan, named.1));
            add("csn-1000", "valid", self.batch_functions(plan, &valid)?);
        }
        let sizes: Vec<usize> = evaluations.iter().map(|(_, _, _, rows)| rows.len()).collect();
        if evaluations.iter().all(|(id, ..)| *id != "csn-func1000") {
            plan.skip("csn-func1000", "needs func_name and code_tokens in the records");
        }
        let mut sized: Vec<_> = evaluations.into_iter().zip(batch_sizes(&sizes)).collect();
        // Sizes are settled in the reference's order; numbers are listed protocol by protocol.
        sized.sort_by_key(|((id, ..), _)| *id);
        for ((id, language, split, functions), batch) in sized {
            if batch < BATCH {
                let n = functions.len();
                plan.warnings.push(if n == batch {
                    format!("{id} {language} {split}: {n} functions, so the pool is that small, as in the reference")
                } else {
                    format!("{id} {language} {split}: the pool stays at {batch}, to which an earlier evaluation reduced it, as in the reference")
                });
            }
            let description = if id == "csn-1000" { csn_1000::DESCRIPTION } else { csn_func1000::DESCRIPTION };
            let (id, language, split) = (id.to_owned(), language.to_owned(), split.to_owned());
            plan.protocols.push(PlannedProtocol::Csn1000(Csn1000 {
                id,
                description,
                language,
                split,
                functions,
                batch,
            }));
        }
        Ok(())
    }

    fn batch_functions(&self, plan: &mut BenchmarkPlan, functions: &[&Function]) -> Result<Vec<BatchFunction>> {
        let mut ids = UniqueIds::default();
        let numbered = |function: &&Function| {
            let id = ids.unique(&function.url);
            Ok(batch_function(&mut plan.texts, id, &function.code(self.text)?, &function.docstring))
        };
        functions.iter().map(numbered).collect()
    }

    fn add_full(&self, plan: &mut BenchmarkPlan, functions: &Functions) -> Result<()> {
        for split in CodeSearchNetSplit::ALL {
            for language in functions.languages() {
                let chosen = of(functions.split(split), Some(&language));
                if !chosen.is_empty() {
                    let planned = csn_full(&mut plan.texts, &chosen, &language, split.name(), self.text)?;
                    plan.protocols.push(PlannedProtocol::Ranked(planned));
                }
            }
        }
        Ok(())
    }

    fn add_clean(&self, plan: &mut BenchmarkPlan, functions: &Functions) -> Result<()> {
        let languages = functions.languages();
        if languages.is_empty() {
            plan.skip(
                "csn-clean-full",
                "needs LANGUAGE/codebase.jsonl with LANGUAGE/test.jsonl, or test.jsonl and valid.jsonl",
            );
        }
        for language in languages {
            let [test, valid] = CodeSearchNetSplit::ALL.map(|split| of(functions.split(split), Some(&language)));
            let mut candidates = of(&functions.codebase, Some(&language));
            if candidates.is_empty() && !test.is_empty() && !valid.is_empty() {
                candidates = valid.iter().chain(&test).copied().collect();
            }
            if candidates.is_empty() {
                let (there, missing) = if test.is_empty() { ("valid", "test") } else { ("test", "valid") };
                plan.skip(
                    "csn-clean-full",
                    format!("{language}: only {there}.jsonl is there; needs {language}/{missing}.jsonl or {language}/codebase.jsonl, because the pool is the code of both splits"),
                );
                continue;
            }
            let published = PUBLISHED.iter().find(|(name, _)| *name == language).map(|(_, n)| *n);
            if published != Some(candidates.len()) {
                plan.warnings.push(format!(
                    "csn-clean-full {language}: {} candidates, {} in the cleaned release: not comparable with published numbers",
                    candidates.len(),
                    published.map_or("none".to_owned(), |n| n.to_string())
                ));
            }
            for (split, queries) in [("test", &test), ("valid", &valid)] {
                if !queries.is_empty() {
                    let planned = csn_clean_full(&mut plan.texts, queries, &candidates, &language, split, self.text)?;
                    plan.protocols.push(PlannedProtocol::Ranked(planned));
                }
            }
        }
        Ok(())
    }

    fn add_advtest(&self, plan: &mut BenchmarkPlan, functions: &Functions) -> Result<()> {
        let splits = [("test", &functions.advtest), ("valid", &functions.advtest_valid)];
        if splits.iter().all(|(_, functions)| functions.is_empty()) {
            plan.skip("advtest", "needs AdvTest/test.jsonl (functions with normalized identifiers, `function_tokens`)");
        }
        for (split, functions) in splits {
            let chosen = of(functions, None);
            if !chosen.is_empty() {
                plan.protocols.push(PlannedProtocol::Ranked(advtest(&mut plan.texts, &chosen, split, self.text)?));
            }
        }
        Ok(())
    }
}

/// Function names as queries; nothing where names or tokens are missing.
fn batch_names(plan: &mut BenchmarkPlan, functions: &[&Function]) -> Vec<BatchFunction> {
    if functions.iter().any(|function| function.name.is_empty() || function.tokens.is_none()) {
        return Vec::new();
    }
    let mut ids = UniqueIds::default();
    let numbered = |function: &&Function| {
        let code = csn_func1000::code(function).unwrap_or_default();
        batch_function(&mut plan.texts, ids.unique(&function.url), &code, &csn_func1000::query(function))
    };
    functions.iter().map(numbered).collect()
}

/// A function with the numbers of its texts; one that is empty has none.
fn batch_function(texts: &mut BenchmarkTexts, id: String, code: &str, query: &str) -> BatchFunction {
    BatchFunction {
        id,
        code: (!code.is_empty()).then(|| texts.documents.number(code)),
        query: (!query.is_empty()).then(|| texts.queries.number(query)),
    }
}

fn add_annotated(plan: &mut BenchmarkPlan, annotated: Option<&AnnotatedLayout>, wanted: &[String]) {
    let Some(annotated) = annotated else {
        for id in ["csn-ndcg-within", "csn-ndcg-all"] {
            plan.skip(id, "needs annotated/corpus.jsonl with annotationStore.csv or qrels.jsonl, and queries.csv");
        }
        return;
    };
    let languages = annotated.languages();
    plan.warnings.push(
        "csn-ndcg: the pool is the annotated functions of a language, not the whole language, so the values are higher \
         than published ones"
            .into(),
    );
    for language in &languages {
        let Some(judged) = annotated.relevance.get(language) else { continue };
        let documents = annotated.documents.iter().filter(|document| document.language == *language);
        let documents: Vec<(String, u32)> =
            documents.map(|document| (document.url.clone(), plan.texts.documents.number(&document.code))).collect();
        // Judged queries that the list of queries lacks are searched as they were judged.
        let listed = annotated.queries.iter().filter(|query| judged.contains_key(&query.to_lowercase())).cloned();
        let mut names: Vec<String> = listed.collect();
        let known: std::collections::HashSet<String> = names.iter().map(|query| query.to_lowercase()).collect();
        names.extend(judged.keys().filter(|query| !known.contains(*query)).cloned());
        let held: std::collections::HashSet<&str> = documents.iter().map(|(url, _)| url.as_str()).collect();
        let queries = names.into_iter().map(|text| {
            let judged = judged.get(&text.to_lowercase()).cloned().unwrap_or_default();
            let (relevance, unheld): (
                std::collections::BTreeMap<String, f64>,
                std::collections::BTreeMap<String, f64>,
            ) = judged.into_iter().partition(|(url, _)| held.contains(url.as_str()));
            HumanQuery {
                number: plan.texts.queries.number(&text),
                relevance,
                unheld: unheld.into_values().collect(),
                text,
            }
        });
        let queries = queries.collect();
        plan.protocols.push(PlannedProtocol::CsnNdcg(CsnNdcg { language: language.clone(), documents, queries }));
    }
    let is_wanted = |language: &&String| wanted.is_empty() || wanted.contains(language);
    for language in annotated.relevance.keys().filter(is_wanted).filter(|language| !languages.contains(language)) {
        for id in ["csn-ndcg-within", "csn-ndcg-all"] {
            plan.skip(id, format!("{language}: judged, but annotated/corpus.jsonl has no function of it"));
        }
    }
    for language in wanted.iter().filter(|language| !annotated.relevance.contains_key(*language)) {
        for id in ["csn-ndcg-within", "csn-ndcg-all"] {
            plan.skip(id, format!("{language}: nobody judged a query for it"));
        }
    }
}

fn add_beir(plan: &mut BenchmarkPlan, files: &mut Files, found: Vec<(String, std::path::PathBuf)>) -> Result<()> {
    for (language, folder) in found {
        // A sub-folder is a language of this data, unless its name says whose data it is.
        let own = beir::data_name(&folder);
        let named = ["coir-", "mteb-"].iter().any(|prefix| own.starts_with(prefix));
        let (language, name) = if named { ("all", own.as_str()) } else { (language.as_str(), "") };
        beir::add(plan, files, &folder, language, name, "")?;
    }
    for (id, what) in [
        ("coir-csn", "CoIR's CodeSearchNet (code searches 1,003,765 docstrings)"),
        ("coir-ccr", "CoIR's CodeSearchNet-CCR (code searches 1,005,474 continuations)"),
        ("mteb-csn", "MTEB's CodeSearchNetRetrieval (1,000 queries and functions a language)"),
    ] {
        if plan.protocols.iter().all(|planned| planned.protocol().id() != id) {
            plan.skip(id, format!("needs {what} as {id}/{{corpus.jsonl, queries.jsonl, qrels/test.tsv}}"));
        }
    }
    Ok(())
}
