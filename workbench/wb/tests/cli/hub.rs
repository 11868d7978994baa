//! Models by name: fetched once from a server on the loopback that speaks the hub's interface, kept at their commit.

use std::{fs, io::Write};

use wb_fake_hub::{Access, FakeHub, Fault};

use crate::sandbox::{Sandbox, TRANSFORMER, has, told};

/// A project, and a hub that has an encoder of two layers as `o/base`.
struct Project {
    sandbox: Sandbox,
    hub: FakeHub,
    commit: String,
}

const OF_HUB: &str = "encoder.model={pretrained: o/base}";
const LORA: &str = "encoder.lora={rank: 2, targets: all-linear}";

impl Project {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.succeeds(&["train", "tiny.yaml", "name=base", TRANSFORMER, "--runs", "made"]);
        sandbox.succeeds(&["export", "base", "--out", "base", "--runs", "made"]);
        let hub = FakeHub::start().unwrap();
        let commit = hub.add_folder("models", "o/base", &sandbox.path("base")).unwrap();
        for folder in ["base", "made"] {
            fs::remove_dir_all(sandbox.path(folder)).unwrap();
        }
        Self { sandbox, hub, commit }
    }

    /// Exit code, standard output, standard error.
    fn wb(&self, arguments: &[&str], more: &[(&str, &str)]) -> (Option<i32>, String, String) {
        let mut command = self.sandbox.online(arguments, &self.hub.endpoint());
        told(command.envs(more.iter().copied()).output().unwrap())
    }

    fn succeeds(&self, arguments: &[&str]) -> (String, String) {
        self.succeeds_in(arguments, &[])
    }

    /// Runs what has to work in an environment with these variables.
    fn succeeds_in(&self, arguments: &[&str], more: &[(&str, &str)]) -> (String, String) {
        let (code, out, err) = self.wb(arguments, more);
        assert_eq!(code, Some(0), "{out}\n{err}");
        (out, err)
    }

    /// Runs what has to end with an error that says all of this.
    fn fails(&self, arguments: &[&str], more: &[(&str, &str)], said: &[&str]) {
        let (code, _, err) = self.wb(arguments, more);
        assert_eq!(code, Some(2), "{err}");
        has(&err, said);
    }

    /// Paths of files that were asked for, without their commit.
    fn fetched(&self) -> Vec<String> {
        let requests = self.hub.requests().into_iter().filter(|request| request.path.contains("/resolve/"));
        requests.filter_map(|request| Some(request.path.split_once("/resolve/")?.1.get(41..)?.to_owned())).collect()
    }
}

#[test]
fn a_name_is_fetched_once_and_stays_its_commit() {
    let project = Project::new();
    let (out, _) = project.succeeds(&["check", "tiny.yaml", OF_HUB, LORA, "--no-probe"]);
    assert!(out.starts_with("tiny.yaml: fine, once "), "{out}");
    let row = out.lines().find(|line| line.starts_with("encoder.model.pretrained")).unwrap();
    assert!(row.contains("o/base") && row.contains("fetched when it runs: ") && row.contains("127.0.0.1"), "{row}");
    assert!(out.contains("\nencoder   o/base, bert 2 × 16, 2 heads: "), "its sizes come of its small files: {out}");
    let fetched = project.fetched();
    assert!(fetched.contains(&"config.json".to_owned()), "{fetched:?}");
    assert!(!fetched.contains(&"model.safetensors".to_owned()), "{fetched:?}");
    assert!(!project.sandbox.path("runs").exists(), "a check keeps no commit");

    let locked = ["train", "tiny.yaml", OF_HUB, LORA, "--locked", "--runs", "other"];
    project.fails(&locked, &[], &["other/hub.lock does not know its commit"]);

    let (_, err) = project.succeeds(&["train", "tiny.yaml", OF_HUB, LORA]);
    assert!(err.contains("fetching 1 file, ") && err.contains("of o/base@"), "{err}");
    assert_eq!(project.fetched(), ["model.safetensors"]);
    let lock = project.sandbox.json("runs/hub.lock");
    assert_eq!(lock["repositories"]["models/o/base@main"]["commit"], project.commit.as_str());
    let run = project.sandbox.only_run("runs");
    let manifest = project.sandbox.json(&run.join("manifest.json"));
    assert_eq!(manifest["repositories"]["models/o/base"], project.commit.as_str());

    // The name means another commit by now; here it stays what it was, and nobody is asked.
    project.hub.add("models", "o/base", &[("config.json", b"{}")]);
    let (_, err) = project.succeeds(&["train", "tiny.yaml", OF_HUB, LORA, "--locked"]);
    assert!(err.contains("training: unchanged"), "{err}");
    assert!(project.hub.requests().is_empty());
    for variable in ["WB_OFFLINE", "HF_HUB_OFFLINE"] {
        let (out, _) = project.succeeds_in(&["check", "tiny.yaml", OF_HUB, LORA, "--no-probe"], &[(variable, "1")]);
        assert!(out.starts_with("tiny.yaml: fine\n"), "{out}");
    }
    // The run's own config names the same, and goes on with it.
    let config = run.join("config.yaml");
    let (_, err) = project.succeeds(&["train", config.to_str().unwrap(), "--resume", "latest"]);
    assert!(err.contains("training: unchanged"), "{err}");
    assert!(project.hub.requests().is_empty());
}

#[test]
fn every_place_that_names_an_encoder_takes_one_of_the_hub() {
    let project = Project::new();
    let named = format!("o/base@{}", project.commit);
    project.succeeds(&["run", "tiny.yaml"]);
    project.succeeds(&["bench", "pairs", "--encoder", &named]);
    project.succeeds(&["mine-negatives", "tiny.yaml", "--encoder", "o/base"]);
    project.succeeds(&["data", "tiny.yaml", "data.consistency={by: o/base, top: 50}"]);
    project.succeeds(&["train", "tiny.yaml", "name=guided", "train.loss={gist: {guide: o/base}}"]);
    project.succeeds(&["export", &named, "--out", "models/again"]);
    let of_weights = project.fetched().into_iter().filter(|file| file == "model.safetensors").count();
    assert_eq!(of_weights, 1, "once for all of them");
}

#[test]
fn without_a_network_everything_that_is_missing_is_told_at_once() {
    let project = Project::new();
    let offline = [("WB_OFFLINE", "1")];
    let guided = "train.loss={gist: {guide: o/guide}}";
    let arguments = ["check", "tiny.yaml", OF_HUB, LORA, guided, "negatives={corpus: datasets/external/cosqa/c.jsonl}"];
    let (code, out, err) = project.wb(&[&arguments[..], &["--no-probe"]].concat(), &offline);
    assert_eq!(code, Some(2), "{out}\n{err}");
    assert!(out.starts_with("tiny.yaml: 3 of 4 things that it needs are missing\n"), "{out}");
    let states: Vec<&str> = out.lines().filter(|line| line.contains("missing: ")).collect();
    assert_eq!(states.len(), 3, "{out}");
    for (key, how) in
        [("negatives.corpus", "wb data get cosqa, without WB_OFFLINE"), ("train.loss.guide", "WB_OFFLINE forbids")]
    {
        assert!(states.iter().any(|line| line.starts_with(key) && line.contains(how)), "{out}");
    }
    assert!(out.contains("\nlint") || out.contains("\ndata "), "the rest is told too: {out}");
    // A hub that is not there is told with everything that it would have brought.
    let nobody = [("HF_ENDPOINT", "http://127.0.0.1:1")];
    let corpus = "negatives={corpus: datasets/external/cosqa/c.jsonl, retriever: bm25}";
    let told = [
        "missing: encoder.model.pretrained o/base: http://127.0.0.1:1 cannot be reached",
        "missing: negatives.corpus ",
        "wb data get cosqa, with a network",
        "error: tiny.yaml: 2 of 3 things that it needs are missing",
    ];
    project.fails(&["train", "tiny.yaml", OF_HUB, LORA, corpus], &nobody, &told);
    let told = ["WB_OFFLINE forbids to ask for it", "hint: give the command once without"];
    project.fails(&["train", "tiny.yaml", OF_HUB, LORA], &offline, &told);
}

#[test]
fn what_a_hub_refuses_is_one_sentence_and_a_way_out() {
    let project = Project::new();
    let train = ["train", "tiny.yaml", OF_HUB, LORA];
    project.hub.restrict("o/base", Access::Gated("hf_a_good_token".into()));
    let gated = "cause: o/base: is gated: its owner lets in who has accepted the terms";
    project.fails(&train, &[], &[gated, "hint: accept them at http://127.0.0.1:"]);
    let (_, _, err) = project.wb(&train, &[("HF_TOKEN", "hf_a_wrong_token")]);
    assert!(err.contains("your token has no access") && !err.contains("hf_a_wrong_token"), "{err}");
    project.succeeds_in(&train, &[("HF_TOKEN", "hf_a_good_token")]);

    let told = [
        "there is no folder models/nowhere here, and it cannot be had from the hub",
        "cause: models/nowhere: no public repository has this name",
    ];
    project.fails(&["bench", "pairs", "--encoder", "models/nowhere"], &[], &told);
}

#[test]
fn a_download_that_is_cut_or_wrong_leaves_nothing_that_counts() {
    let project = Project::new();
    project.hub.fault(Fault::cut("/content/", 5_000).times(1));
    project.hub.fault(Fault::wrong_byte("/content/", 10_000));
    project.fails(&["train", "tiny.yaml", OF_HUB, LORA], &[], &["wrong bytes came: their hash is "]);
    assert!(!project.sandbox.path("runs").join("latest").exists());
    project.hub.mend();
    project.succeeds(&["train", "tiny.yaml", OF_HUB, LORA]);
}

#[test]
fn proxies_of_the_environment_are_taken() {
    let project = Project::new();
    let train = ["train", "tiny.yaml", OF_HUB, LORA];
    // Nobody listens there, so that a client which asks the proxy fails.
    let proxy = [("HTTP_PROXY", "http://127.0.0.1:1"), ("http_proxy", "http://127.0.0.1:1")];
    project.fails(&train, &proxy, &["cannot be reached"]);
    assert!(project.hub.requests().is_empty());
    project.succeeds_in(&train, &[("HTTP_PROXY", "http://127.0.0.1:1"), ("NO_PROXY", "127.0.0.1,localhost")]);
}

/// The interface of the hub as Python's client speaks it: what one of the two has fetched, the other finds.
#[test]
#[ignore = "slow: asks Python's client"]
fn python_finds_what_wb_fetched_and_the_other_way_round() {
    let Some(python) = std::env::var_os("WB_PYTHON") else {
        let test = "python_finds_what_wb_fetched_and_the_other_way_round";
        let _ = writeln!(std::io::stderr(), "SKIPPED {test}: WB_PYTHON names no Python");
        return;
    };
    let program = "import sys\nfrom huggingface_hub import snapshot_download\nprint(snapshot_download('o/base'))";
    let snapshot = |project: &Project, offline: &str| {
        let mut command = std::process::Command::new(&python);
        command.args(["-c", program]).env("HF_ENDPOINT", project.hub.endpoint()).env("HF_HUB_DISABLE_XET", "1");
        command.env("HF_HOME", project.sandbox.path("hf")).env("HF_HUB_OFFLINE", offline).env_remove("HF_TOKEN");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    // Python first: wb offline finds all of it.
    let project = Project::new();
    let folder = snapshot(&project, "0");
    assert!(folder.ends_with(&project.commit), "{folder}");
    project.succeeds_in(&["train", "tiny.yaml", OF_HUB, LORA], &[("WB_OFFLINE", "1")]);
    // wb first: Python offline finds the folder, and in it the same weights.
    let project = Project::new();
    project.succeeds(&["train", "tiny.yaml", OF_HUB, LORA]);
    let folder = snapshot(&project, "1");
    assert!(folder.ends_with(&project.commit), "{folder}");
    assert!(std::path::Path::new(&folder).join("model.safetensors").is_file());
}
