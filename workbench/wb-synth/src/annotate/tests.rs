//! Annotations of a scripted model, and the texts that are embedded with them.

use std::collections::HashMap;

use serde_json::json;
use wb_llm::{LlmQuestion, Rejection, Usage};

use super::*;
use crate::{provenance::Maker, review::Reviews};

/// Answers by item, as a script says; counts what it was asked.
struct Scripted(HashMap<String, Reply>);

impl Ask for Scripted {
    fn ask_all(&self, questions: &[LlmQuestion], each: &mut dyn FnMut(usize, &Reply)) -> wb_llm::Result<Vec<Reply>> {
        let replies: Vec<Reply> = questions.iter().map(|question| self.0[&question.item].clone()).collect();
        // Replies come in another order than questions.
        replies.iter().enumerate().rev().for_each(|(at, reply)| each(at, reply));
        Ok(replies)
    }
}

fn snippet(id: &str) -> Snippet {
    Snippet {
        id: id.into(),
        language: "python".into(),
        text: format!("x_{id} = SMOTE().fit_resample(X, y)"),
        context: "Balance the classes.".into(),
        ..Snippet::default()
    }
}

fn answered(value: serde_json::Value) -> Reply {
    let usage = Usage { prompt: Some(100), cached: None, completion: Some(20) };
    let text = value.to_string();
    let key = format!("key of {text}");
    Reply::Answered(Answer { key, text, value: Some(value), seed: 1, usage, ..Answer::default() })
}

fn good() -> serde_json::Value {
    json!({
        "summary": "Oversamples  the rare class\nwith SMOTE.",
        "keywords": ["SMOTE", "smote", " ", "imblearn"],
        "queries": ["balance classes with SMOTE", "oversample a rare class", "a", "b"],
    })
}

#[test]
fn answers_become_annotations_and_the_rest_is_counted() {
    let config = AnnotateConfig::default();
    let snippets: Vec<Snippet> = ["a", "b", "c", "d", "e"].map(snippet).to_vec();
    let nonce = question(&config, &snippets[3], Seed(7)).nonce;
    let script = Scripted(HashMap::from([
        ("a".into(), answered(good())),
        ("b".into(), Reply::Rejected(Rejection { key: "k".into(), reason: "too long".into() })),
        ("c".into(), answered(json!({ "summary": 1 }))),
        ("d".into(), answered(json!({ "summary": format!("see {nonce}"), "keywords": ["a"], "queries": ["b"] }))),
        ("e".into(), answered(json!({ "summary": " ", "keywords": ["a"], "queries": ["b"] }))),
    ]));
    let mut seen = Vec::new();
    let annotated = annotate(&config, &snippets, &script, Seed(7), &mut |progress| seen.push(progress.done)).unwrap();
    assert_eq!(seen, [1, 2, 3, 4, 5]);
    assert_eq!(
        annotated.annotations.iter().map(Option::is_some).collect::<Vec<_>>(),
        [true, false, false, false, false]
    );
    assert_eq!(
        annotated.annotations[0],
        Some(Annotation {
            summary: "Oversamples the rare class with SMOTE.".into(),
            keywords: vec!["SMOTE".into(), "imblearn".into()],
            queries: vec!["balance classes with SMOTE".into(), "oversample a rare class".into(), "a".into()],
        })
    );
    let reasons: Vec<&str> = annotated.rejected.keys().map(String::as_str).collect();
    let expected = [
        "annotation without a summary",
        "answer of another shape",
        "answer that repeats the fence",
        "given up: too long",
    ];
    assert_eq!(reasons, expected);
    // Four answers of 100 and 20 tokens, one question that was given up.
    let costs = annotated.account.total();
    assert_eq!((costs.questions, costs.answered, costs.rejected), (5, 4, 1));
    assert_eq!((costs.prompt, costs.completion), (400, 80));
    assert_eq!(annotated.account.stages().keys().copied().collect::<Vec<_>>(), ["annotate"]);
}

#[test]
fn queries_become_pairs_with_where_they_came_from() {
    let mut snippet = snippet("a");
    snippet.origin = wb_core::Origin { path: "a.py".into(), lines: [3, 9], ..Default::default() };
    let script = Scripted(HashMap::from([("a".into(), answered(good()))]));
    let config = AnnotateConfig::default();
    let snippets = [snippet];
    let annotated = annotate(&config, &snippets, &script, Seed(7), &mut |_| {}).unwrap();
    let info = wb_llm::EngineInfo {
        engine: "http".into(),
        model: "m".into(),
        model_hash: "ab".into(),
        file_hash: None,
        context: None,
        build: String::new(),
        parallel: 1,
        controls: Default::default(),
    };
    let made = annotated.pairs(&snippets, &info, &Reviews::default(), Seed(7));
    assert_eq!((made.pairs.len(), made.provenance.len(), made.gate.dropped.len()), (3, 3, 0));
    for (at, (pair, from)) in made.pairs.iter().zip(&made.provenance).enumerate() {
        assert_eq!((&pair.id, pair.id.as_str()), (&from.id, format!("annotations:a#{at}").as_str()));
        assert_eq!((from.made_by, from.sample, from.seed), (Maker::Annotation, at as u32, 7));
        assert_eq!((from.source.path.as_str(), from.source.lines), ("a.py", [3, 9]));
        assert_eq!((from.model_hash.as_str(), from.asked[0].stage.as_str()), ("ab", "annotate"));
        let messages = question(&config, &snippets[0], Seed(7)).question.messages;
        assert_eq!(from.prompt_hash, Fingerprint::of_json(&messages).to_string());
    }
    assert_eq!(annotated.records(&snippets, &info, Seed(7))[0].prompt_hash, made.provenance[0].prompt_hash);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("review.jsonl");
    let pair = &made.pairs[1];
    let hash = Fingerprint::builder().text(&pair.anchor).text(&pair.positive).finish();
    let line = json!({"id": pair.id, "hash": hash.short(), "verdict": "reject"});
    std::fs::write(&path, line.to_string()).unwrap();
    let reviews = crate::review::read(&path).unwrap();
    let fewer = annotated.pairs(&snippets, &info, &reviews, Seed(7));
    assert_eq!(fewer.pairs, [made.pairs[0].clone(), made.pairs[2].clone()]);
    assert_eq!((fewer.reviewed.rejected, fewer.gate.dropped["rejected by a person"]), (1, 1));
}

#[test]
fn questions_are_fixed_and_fence_what_is_not_ours() {
    let config = AnnotateConfig { max_chars: 50, max_context_chars: 8, ..AnnotateConfig::default() };
    let one = question(&config, &snippet("a"), Seed(7));
    assert_eq!(one, question(&config, &snippet("a"), Seed(7)));
    assert_ne!(one.nonce, question(&config, &snippet("a"), Seed(8)).nonce);
    let content = &one.question.messages[1].content;
    let fenced = |text: &str| content.contains(&crate::prompts::fenced(text, &one.nonce));
    assert!(fenced("classes.") && fenced("x_a = SMOTE().fit_resample(X, y)"), "{content}");
    // The static part comes first, so that engines can keep what they made of it.
    assert!(content.starts_with(&prompt_start(&config)), "{content}");
    let long = Snippet { text: "größe ".repeat(100), context: String::new(), ..snippet("b") };
    let content = question(&config, &long, Seed(7)).question.messages[1].content.clone();
    assert!(
        !content.contains("stands before")
            && content.contains(&"größe ".repeat(8))
            && !content.contains(&"größe ".repeat(9))
    );
    let other = AnnotateConfig { queries: 4, ..config.clone() };
    assert_ne!(recipe(&config), recipe(&other));
}

fn prompt_start(config: &AnnotateConfig) -> String {
    format!(
        "Describe the code as JSON: `summary`, two or three sentences on what it does and how; `keywords`, at most {} ",
        config.keywords
    )
}

#[test]
fn the_schema_uses_portable_keywords_only() {
    const PORTABLE: [&str; 9] = [
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
    ];
    fn check(schema: &serde_json::Value) {
        let object = schema.as_object().unwrap();
        for (key, value) in object {
            assert!(PORTABLE.contains(&key.as_str()), "{key}");
            match key.as_str() {
                "properties" => value.as_object().unwrap().values().for_each(check),
                "items" => check(value),
                _ => {}
            }
        }
    }
    check(&schema(&AnnotateConfig::default()));
}

#[test]
fn one_switch_says_what_is_embedded() {
    let annotation =
        Annotation { summary: "S.".into(), keywords: vec!["k".into(), "l".into()], queries: vec!["q".into()] };
    let said = "S.\nKeywords: k, l\nq";
    let snippets = [snippet("a"), snippet("b")];
    let code = [snippets[0].text.as_str(), snippets[1].text.as_str()];
    let annotations = [Some(annotation), None];
    for (embed, texts, chunks) in [
        (EmbedText::Code, vec![code[0].to_owned(), code[1].into()], vec![0, 1]),
        (EmbedText::Annotation, vec![said.to_owned(), code[1].into()], vec![0, 1]),
        (EmbedText::Both, vec![code[0].to_owned(), said.into(), code[1].into()], vec![0, 0, 1]),
        (EmbedText::Concat, vec![format!("{said}\n\n{}", code[0]), code[1].into()], vec![0, 1]),
    ] {
        let all = embed.all(&snippets, &annotations);
        assert_eq!((all.texts, all.chunks), (texts, chunks), "{embed:?}");
    }
    assert_eq!(serde_json::from_str::<EmbedText>("\"concat\"").unwrap(), EmbedText::Concat);
}

#[test]
fn values_that_make_no_sense_are_refused() {
    let wrong = [
        AnnotateConfig { keywords: 0, ..AnnotateConfig::default() },
        AnnotateConfig { queries: 21, ..AnnotateConfig::default() },
        AnnotateConfig { max_chars: 1, ..AnnotateConfig::default() },
        AnnotateConfig {
            sampling: SamplingConfig { temperature: 6.0, ..SamplingConfig::default() },
            ..AnnotateConfig::default()
        },
        AnnotateConfig {
            sampling: SamplingConfig { max_tokens: 1, ..SamplingConfig::default() },
            ..AnnotateConfig::default()
        },
    ];
    assert!(AnnotateConfig::default().validate("annotate").is_ok());
    for config in wrong {
        assert!(config.validate("annotate").unwrap_err().to_string().starts_with("annotate."), "{config:?}");
    }
}
