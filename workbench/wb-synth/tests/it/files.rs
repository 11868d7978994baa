//! Files of the user: proposed tasks are tasks again, gold sets and examples are checked line by line.

use wb_synth::{
    SynthConfig,
    config::{BrainstormConfig, TaskChoice},
};

use crate::support::{Scripted, make, snippets};

#[test]
fn proposed_tasks_are_a_task_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = SynthConfig {
        items: Some(40),
        snippet_chars: [40, 12_000],
        brainstorm: Some(BrainstormConfig { per_kind: 1, ..BrainstormConfig::default() }),
        ..SynthConfig::default()
    };
    let made = make(&config, &snippets(60), &Scripted::new(0)).unwrap();
    assert!(!made.pairs.pairs().iter().any(|pair| pair.id.contains("/idea_")), "written down, not worked on");
    let mut names = Vec::new();
    for (name, text) in &made.proposals {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        config.task_files.push(path);
        let file: serde_json::Value = serde_json::from_str(text).unwrap();
        names.push(format!("{}/{}", file["kind"].as_str().unwrap(), file["tasks"][0]["id"].as_str().unwrap()));
    }
    assert_eq!(names.len(), 4);
    config.brainstorm = None;
    config.tasks = TaskChoice::Only(names.clone());
    let made = make(&config, &snippets(60), &Scripted::new(0)).unwrap();
    assert!(made.pairs.len() > 20);
    assert!(names.iter().all(|name| made.counts.items_by_task[name] == 10), "{:?}", made.counts.items_by_task);
}

#[test]
fn wrong_lines_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gold.jsonl");
    let mut config = SynthConfig { items: Some(8), snippet_chars: [40, 12_000], ..SynthConfig::default() };
    config.judge.as_mut().unwrap().gold = Some(path.clone());
    let run = |config: &SynthConfig| make(config, &snippets(20), &Scripted::new(0)).map(|made| made.calibration);
    for (text, words) in [
        ("{\"query\":\"q\",\"document\":\"d\",\"task\":\"t\",\"label\":3}", "gold.jsonl:1: label 3"),
        ("\n{\"query\":\"q\"}", "gold.jsonl:2:"),
        ("{\"query\":\"q\",\"document\":\"d\",\"task\":\"t\",\"label\":1,\"x\":0}", "unknown field `x`"),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = run(&config).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    std::fs::write(&path, "{\"query\":\"q\",\"document\":\"d\",\"task\":\"text2code/none\",\"label\":1}").unwrap();
    assert_eq!(run(&config).unwrap().unwrap().other_tasks, 1);
    config.few_shot.files = vec![path];
    assert!(run(&config).unwrap_err().to_string().contains("unknown field `label`"));
}
