//! Every key of a YAML that holds a path takes `~` for the home folder.

use std::path::Path;

use wb_core::paths::expand_home;

use super::Experiment;

/// Keys with the shortest sections that hold them; `PATH` stands where the path does.
const KEYS: [(&str, &str); 34] = [
    ("review", "review: PATH"),
    ("ab.queries", "ab: { queries: PATH, encoder: bm25 }"),
    ("ab.judgements", "ab: { queries: q.jsonl, encoder: bm25, judgements: PATH }"),
    ("llm.model", "llm: { model: PATH }"),
    ("llm.engine.http.key.file", "llm: { engine: { http: { key: { file: PATH } } } }"),
    ("llm.engine.sidecar.server", "llm: { engine: { sidecar: { server: PATH } } }"),
    ("snippets.sources.tree.files.path", "snippets: { sources: [{ tree: { files: { path: PATH } } }] }"),
    ("snippets.sources.files.path", "snippets: { sources: [{ files: { path: PATH } }] }"),
    ("snippets.sources.records.path", "snippets: { sources: [{ records: { path: PATH } }] }"),
    ("snippets.sources.sqlite.path", "snippets: { sources: [{ sqlite: { path: PATH } }] }"),
    ("snippets.sources.html.path", "snippets: { sources: [{ html: { path: PATH } }] }"),
    ("snippets.sources.markdown.path", "snippets: { sources: [{ markdown: { path: PATH } }] }"),
    ("snippets.sources.notebooks.path", "snippets: { sources: [{ notebooks: { path: PATH } }] }"),
    ("snippets.sources.notebooks.votes.path", "snippets: { sources: [{ notebooks: { votes: { path: PATH } } }] }"),
    ("synth.task_files", "synth: { task_files: [PATH] }"),
    ("synth.few_shot.files", "synth: { few_shot: { files: [PATH] } }"),
    ("synth.judge.gold", "synth: { judge: { gold: PATH } }"),
    ("data.sources.code.path", "data: { sources: [{ code: { path: PATH } }] }"),
    ("data.sources.jsonl.path", "data: { sources: [{ jsonl: { path: PATH } }] }"),
    ("data.sources.parallel_lines", "data: { sources: [{ parallel_lines: { anchors: PATH, positives: PATH } }] }"),
    (
        "data.sources.joined",
        "data: { sources: [{ joined: { left: { path: PATH, text: t, key: k }, right: { path: PATH, text: t, key: k } } }] }",
    ),
    ("data.sources.code_map.path", "data: { sources: [{ code_map: { path: PATH } }] }"),
    ("data.sources.text_to_sql.path", "data: { sources: [{ text_to_sql: { path: PATH } }] }"),
    ("bench.benchmarks.dataset", "bench: { benchmarks: [{ benchmark: { cosqa: {} }, dataset: PATH }] }"),
    (
        "bench.benchmarks.sources",
        "bench: { benchmarks: [{ benchmark: { pairs: {} }, sources: [{ csv: { path: PATH } }] }] }",
    ),
    ("bench.documents.annotations", "bench: { documents: { embed: both, annotations: PATH } }"),
    ("negatives.corpus", "negatives: { corpus: PATH }"),
    ("negatives.mined", "negatives: { mined: PATH }"),
    (
        "negatives.vectors",
        "negatives: { vectors: { queries: PATH, query_ids: PATH, documents: PATH, document_ids: PATH } }",
    ),
    ("negatives.rescore.file", "negatives: { rescore: { file: PATH } }"),
    ("encoder.model.pretrained.adapter", "encoder: { model: { pretrained: { id: o/n, adapter: PATH } } }"),
    ("rag.dataset", "rag: { dataset: PATH }"),
    ("rag.questions", "rag: { dataset: spider, questions: PATH }"),
    ("rag.generator.model.prompt", "rag: { dataset: spider, generator: { model: { prompt: PATH } } }"),
];

#[test]
fn every_path_may_begin_with_the_home_folder() {
    let home = expand_home(Path::new("~/of/mine")).display().to_string();
    assert_ne!(home, "~/of/mine", "this test needs a home folder");
    for (key, section) in KEYS {
        let text = format!("name: x\n{}\n", section.replace("PATH", "~/of/mine"));
        let typed: Experiment =
            wb_core::config::from_text(&text, Path::new("x.yaml")).unwrap_or_else(|error| panic!("{key}: {error}"));
        let resolved = wb_core::config::to_text(&typed).unwrap();
        assert!(!resolved.contains("~/") && resolved.contains(&home), "{key}:\n{resolved}");
    }
}
