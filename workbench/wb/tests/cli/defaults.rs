//! Commands typed as they stand: recipes and benchmarks that are listed, and the latest run where nothing is named.

use std::{fs, path::Path};

use crate::sandbox::{Sandbox, TINY, has};

const HEAD: &str = "# A small encoder out of the code at hand. No network.\n#\n# Cost: about a second. Not more.\n";

/// A project with recipes: one that trains, one without a head, one that asks a model, one whose pairs are yet to be made.
fn with_recipes() -> Sandbox {
    let sandbox = Sandbox::new();
    let named = |name: &str| TINY.replace("name: tiny", &format!("name: {name}"));
    sandbox.write("configs/quickstart.yaml", format!("{HEAD}{}", named("quickstart")));
    sandbox.write("configs/bare.yaml", named("bare"));
    sandbox.write("configs/asked.yaml", "# Text-to-SQL\n# by rules.\nname: asked\nrag: { dataset: data }\n");
    let sources = "    - jsonl: { path: datasets/synthetic/made/pairs.jsonl }";
    let made = named("made").replace("    - code: { path: code }", sources);
    sandbox.write(
        "configs/made.yaml",
        format!("snippets: {{ sources: [{{ tree: {{ files: {{ path: code }} }} }}] }}\nrules: {{}}\n{made}"),
    );
    sandbox.write("configs/README.md", "no recipe");
    sandbox
}

#[test]
fn without_a_file_recipes_are_listed_with_their_cost_and_command() {
    let sandbox = with_recipes();
    insta::assert_snapshot!(sandbox.wb(&["train"]), @r"
    exit 0
    out: recipes in configs: the command to paste, what the file is, what it costs
    out:
    out: wb train configs/quickstart.yaml
    out:   A small encoder out of the code at hand
    out:   Cost: about a second
    out:
    out: wb text2sql configs/asked.yaml
    out:   Text-to-SQL by rules
    out:   Cost: its head does not say (a line `# Cost: ...`)
    out:
    out: wb train configs/bare.yaml
    out:   Cost: its head does not say (a line `# Cost: ...`)
    out:
    out: wb synth configs/made.yaml && wb train configs/made.yaml
    out:   Cost: its head does not say (a line `# Cost: ...`)
    ");
    for command in ["run", "check", "data"] {
        sandbox.says(&[command], &[&format!("\nwb {command} configs/quickstart.yaml\n")]);
    }
    sandbox.says(&["check"], &["\nwb check configs/asked.yaml\n", "\nwb check configs/made.yaml\n"]);
    assert!(!sandbox.path("runs").exists() && !sandbox.path("datasets").exists(), "nothing is done");
}

#[test]
fn values_need_a_file_and_a_file_has_a_near_name() {
    let sandbox = with_recipes();
    insta::assert_snapshot!(sandbox.refuses(&["train", "train.epochs=1", "data.sources=[{code: {}}]"]), @r"
    exit 2
    err: error: wb train: train.epochs=1 data.sources=[{code: {}}] has no file that it could be set in
    err:   hint: wb train configs/quickstart.yaml train.epochs=1 'data.sources=[{code: {}}]'
    ");
    for typed in ["configs/quickstrat.yaml", "configs/quickstart.yml", "quickstart", "quickstart.yaml"] {
        for command in ["run", "train", "check", "data", "synth", "ab", "mine-negatives"] {
            let near = "hint: did you mean `configs/quickstart.yaml`?";
            sandbox.refuses_with(&[command, typed], &[&format!("no file `{typed}`"), near]);
        }
    }
    insta::assert_snapshot!(sandbox.refuses(&["run", "of-mine.yaml"]), @r"
    exit 2
    err: error: no file `of-mine.yaml`
    err:   hint: `wb check` lists the recipes in configs
    ");
    // Values may stand before the file.
    let (before, _) = sandbox.succeeds(&["check", "seed=7", "configs/bare.yaml", "--resolved"]);
    assert_eq!(before, sandbox.succeeds(&["check", "configs/bare.yaml", "seed=7", "--resolved"]).0);
    assert!(before.contains("seed: 7"), "{before}");
}

#[test]
fn a_run_that_is_gone_on_with_has_a_file_that_is_told() {
    let sandbox = Sandbox::new();
    sandbox.succeeds(&["train", "tiny.yaml"]);
    insta::assert_snapshot!(sandbox.refuses(&["train", "--resume", "latest"]), @r"
    exit 2
    err: error: wb train: a run is gone on with by its file, and none is named beside --resume latest
    err:   hint: wb train runs/[date]-tiny-[hash]/config.yaml --resume latest
    ");
}

fn first_line(out: &str) -> &str {
    out.lines().next().unwrap_or_default()
}

#[test]
fn mining_takes_the_latest_run_and_says_so() {
    let sandbox = Sandbox::new();
    sandbox.succeeds(&["train", "tiny.yaml"]);
    let (out, err) = sandbox.succeeds(&["mine-negatives"]);
    insta::assert_snapshot!(first_line(&out), @"mining for [date]-tiny-[hash]: its config runs/[date]-tiny-[hash]/config.yaml, its encoder");
    assert!(out.contains("for 195 pairs") && !out.contains("ranked by bm25"), "{out}");
    assert!(err.contains("data: unchanged"), "the pairs are those of the run: {err}");

    let (out, _) = sandbox.succeeds(&["mine-negatives", "negatives.per_pair=2", "--out", "mined.jsonl"]);
    assert!(first_line(&out).ends_with("config.yaml, its encoder"), "{out}");
    for pair in sandbox.lines("mined.jsonl") {
        assert!(pair["negatives"].as_array().is_none_or(|negatives| negatives.len() <= 2), "{pair}");
    }
    // What is said of the ranking stays as it is.
    for (said, by) in [
        (&["--retriever", "bm25"][..], "ranked by bm25"),
        (&["negatives.retriever=bm25"], "ranked by bm25"),
        (&["--encoder", "tiny"], "ranked by tiny"),
    ] {
        let (out, _) = sandbox.succeeds(&[&["mine-negatives"], said].concat());
        assert!(first_line(&out).ends_with(&format!("config.yaml, {by}")), "{said:?}: {out}");
    }
    // A file that is named needs no sentence.
    let (out, _) = sandbox.succeeds(&["mine-negatives", "tiny.yaml", "--retriever", "bm25"]);
    assert!(!out.contains("mining for"), "{out}");

    fs::remove_dir_all(sandbox.only_run("runs").join("encoder")).unwrap();
    let (out, _) = sandbox.succeeds(&["mine-negatives"]);
    insta::assert_snapshot!(first_line(&out), @"mining for [date]-tiny-[hash]: its config runs/[date]-tiny-[hash]/config.yaml, ranked by bm25, as it has no trained encoder yet");
    assert!(out.contains("ranked by bm25\n"), "{out}");
}

#[test]
fn without_a_run_mining_takes_the_quickstart_and_words() {
    let sandbox = with_recipes();
    let (out, _) = sandbox.succeeds(&["mine-negatives", "negatives.per_pair=2"]);
    insta::assert_snapshot!(first_line(&out), @"mining for configs/quickstart.yaml, as there is no run in runs: ranked by bm25, as its encoder begins from scratch");
    assert!(out.contains("ranked by bm25\n"), "{out}");
    let bare = Sandbox::new();
    insta::assert_snapshot!(bare.refuses(&["mine-negatives"]), @r"
    exit 2
    err: error: wb mine-negatives: no file is named, and there is neither a run in runs nor configs/quickstart.yaml
    err:   hint: wb mine-negatives FILE names one; after `wb run FILE` the latest run is taken; `wb init` begins a file of your own
    ");
}

#[test]
fn a_benchmark_measures_bm25_and_the_latest_run() {
    let sandbox = Sandbox::new();
    sandbox.succeeds(&["train", "tiny.yaml"]);
    let (out, _) = sandbox.succeeds(&["bench", "pairs", "--json", "both.json"]);
    insta::assert_snapshot!(first_line(&out), @"measuring bm25 and [date]-tiny-[hash] (the latest run); --encoder names another");
    let rows = |name: &str| out.lines().filter(|line| line.starts_with(&format!("{name} "))).count();
    let run = sandbox.only_run("runs").file_name().unwrap().to_str().unwrap().to_owned();
    assert!(rows("bm25") > 0 && rows("bm25") == rows(&run), "{out}");

    let both = sandbox.json("both.json");
    let names: Vec<&str> = both.as_array().unwrap().iter().map(|one| one["contestant"].as_str().unwrap()).collect();
    assert_eq!(names, ["bm25", run.as_str()]);
    let value = |at: usize| {
        let protocols = both[at]["protocols"].as_array().unwrap();
        let main = protocols.iter().find(|one| one["id"] == "pairs-full" && one["metric"] == "mrr").unwrap();
        main["value"].as_f64().unwrap()
    };
    let (bm25, tiny) = (value(0), value(1));
    assert!(bm25 - tiny > 0.01, "words find more than two epochs do: {bm25} {tiny}");
    // What is required is required of the encoder, where there is one.
    let between = format!("mrr={}", (bm25 + tiny) / 2.0);
    let refused = sandbox.run(&["bench", "pairs", "--require", &between]);
    assert_eq!(refused.status.code(), Some(1));
    sandbox.succeeds(&["bench", "pairs", "--retriever", "bm25", "--require", &between]);

    // The encoder is compared, and not the words beside it.
    sandbox.succeeds(&["bench", "pairs", "--encoder", "latest", "--json", "alone.json"]);
    let (out, err) = sandbox.succeeds(&["compare", "both.json", "alone.json"]);
    assert!(out.contains("VERDICT: MARGINAL") && err.contains("bm25 is not compared"), "{out}{err}");

    // A file of rankings is one contestant's.
    let (out, _) = sandbox.succeeds(&["bench", "pairs", "--trec", "run.trec", "--json", "one.json"]);
    assert!(!out.contains("measuring") && !out.contains("bm25"), "{out}");
    assert_eq!(sandbox.json("one.json")["contestant"], run.as_str());

    fs::remove_dir_all(sandbox.only_run("runs").join("encoder")).unwrap();
    let (out, _) = sandbox.succeeds(&["bench", "pairs"]);
    insta::assert_snapshot!(first_line(&out), @"measuring bm25 alone, as [date]-tiny-[hash] (the latest run) has no trained encoder yet; --encoder names one");
}

/// CoSQA's search task with three functions, and a collection in BEIR's layout.
fn put_external(sandbox: &Sandbox, folder: &str) {
    let pool = r#"{"def apples(weight): return sorted(weight)": 0, "def pears(bowl): return len(bowl)": 1, "def plums(): return 1": 2}"#;
    sandbox.write(&format!("{folder}/cosqa/code_idx_map.txt"), pool);
    let query = r#"[{"idx": "dev-0", "doc": "count pears in a bowl", "retrieval_idx": 1}]"#;
    sandbox.write(&format!("{folder}/cosqa/cosqa-retrieval-dev-500.json"), query);
    sandbox.write(
        &format!("{folder}/fruit/corpus.jsonl"),
        "{\"_id\": \"d\", \"title\": \"\", \"text\": \"pears in a bowl\"}\n",
    );
    sandbox.write(&format!("{folder}/fruit/queries.jsonl"), "{\"_id\": \"q\", \"text\": \"pears\"}\n");
    sandbox.write(&format!("{folder}/fruit/qrels/test.tsv"), "query-id\tcorpus-id\tscore\nq\td\t1\n");
    // A folder of the right name is no data.
    sandbox.write(&format!("{folder}/codesearchnet/README.md"), "to be put here");
}

#[test]
fn data_is_looked_for_where_it_is_put() {
    let sandbox = Sandbox::new();
    put_external(&sandbox, "datasets/external");
    let (out, _) = sandbox.succeeds(&["bench", "cosqa"]);
    assert_eq!(first_line(&out), "measuring bm25 alone, as runs has no run with an encoder yet; --encoder names one");
    assert!(out.contains("cosqa-6267"), "{out}");
    let (named, _) = sandbox.succeeds(&["bench", "cosqa", "--dataset", "datasets/external/cosqa"]);
    assert_eq!(out, named);
    insta::assert_snapshot!(sandbox.refuses(&["bench", "codesearchnet"]), @r"
    exit 2
    out: measuring bm25 alone, as runs has no run with an encoder yet; --encoder names one
    err: error: datasets/external/codesearchnet: no data of benchmark codesearchnet found
    err:   hint: expected one of: LANGUAGE/test.jsonl, LANGUAGE/valid.jsonl, LANGUAGE/final/jsonl/test/*.jsonl.gz, annotated/corpus.jsonl, AdvTest/test.jsonl, coir-csn/corpus.jsonl
    ");
    fs::remove_dir_all(sandbox.path("datasets/external/codesearchnet")).unwrap();
    let told = sandbox.refusals(&[
        &["bench", "cosqa", "codesearchnet"],
        &["bench", "cosqa", "codesearchnet", "--external", "mine"],
        &["bench", "beir"],
    ]);
    insta::assert_snapshot!(told, @r"
    err: error: datasets/external/codesearchnet: no data of codesearchnet is there
    err:   hint: wb data get codesearchnet; --dataset names another place; in datasets/external there is: cosqa, fruit
    err: error: mine/cosqa, mine/codesearchnet: no data of cosqa and codesearchnet is there
    err:   hint: wb data get cosqa codesearchnet; --dataset names another place; mine has no data yet
    err: error: beir: a collection expected, as it measures on any
    err:   hint: wb bench beir --dataset datasets/external/fruit; in BEIR's layout there is: datasets/external/fruit
    ");
    let fetched = "hint: wb data get coir-cosqa --external mine && wb bench beir --dataset mine/coir/cosqa";
    sandbox.refuses_with(&["bench", "beir", "--external", "mine"], &[fetched]);
    sandbox.says(&["bench", "beir", "--dataset", "datasets/external/fruit"], &["coir-fruit"]);
}

#[test]
fn benchmarks_are_listed_with_what_is_there() {
    let sandbox = Sandbox::new();
    put_external(&sandbox, "mine");
    let (out, _) = sandbox.succeeds(&["bench", "--external", "mine"]);
    let (cards, _) = sandbox.succeeds(&["ls", "--benchmarks", "--external", "mine"]);
    for (name, state, protocol) in [
        ("codesearchnet", "missing: wb data get codesearchnet", "csn-1000"),
        ("cosqa", "there: mine/cosqa", "cosqa-6267"),
        ("beir", "there: --dataset mine/fruit", "coir-*"),
        ("pairs", "missing: wb run configs/quickstart.yaml", "pairs-full"),
        ("spider", "missing: wb data get spider", "spider-ex-*"),
        ("bird", "missing: wb data get bird", "bird-ex"),
        ("synthetic-sql", "missing: wb data get synthetic-sql", "synthetic-sql-ex"),
    ] {
        let line = out.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap_or_default();
        assert!(line.contains(state) && line.contains(protocol), "{name}: {out}");
        let (_, card) = cards.split_once(&format!("{name} (")).unwrap_or_else(|| panic!("{name}: {cards}"));
        let said = card.lines().find_map(|line| line.strip_prefix("  state    "));
        assert_eq!(said, Some(state), "{cards}");
    }
    sandbox.succeeds(&["train", "tiny.yaml"]);
    let (out, _) = sandbox.succeeds(&["bench"]);
    let line = out.lines().find(|line| line.starts_with("pairs ")).unwrap_or_default();
    assert!(line.contains("there: test pairs of ") && line.contains("-tiny-"), "{out}");

    // An option that measures something is not passed over in silence: `--require` takes all that stands behind it.
    insta::assert_snapshot!(sandbox.refuses(&["bench", "--require", "mrr=0.4", "pairs"]), @r"
    exit 2
    err: error: wb bench: --require is given, and no benchmark
    err:   hint: names stand first: wb bench codesearchnet --require ...; `wb bench` alone lists them
    ");
}

/// `wb report --open` with this program as the browser; no display unless one is named.
fn open(sandbox: &Sandbox, browser: Option<&str>) -> String {
    let mut command = sandbox.command(&["report", "--open"]);
    command.env_remove("BROWSER").env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    let output = command.envs(browser.map(|program| ("BROWSER", program))).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "no browser is no error");
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(sandbox.path(page.trim()).is_file(), "{page}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.trim_end().ends_with(page.trim()), "the page is told: {said}");
    said
}

#[test]
fn a_report_is_opened_by_the_browser_of_the_environment() {
    let sandbox = Sandbox::new();
    sandbox.succeeds(&["run", "tiny.yaml"]);
    sandbox.write("browser.sh", "printf '%s %s' \"$1\" \"$2\" > opened\n");
    let said = open(&sandbox, Some("sh browser.sh --new-window"));
    assert!(said.contains("opened ") && !said.contains("not opened"), "{said}");
    let opened = sandbox.text("opened");
    let (option, page) = opened.split_once(' ').unwrap();
    assert_eq!(option, "--new-window");
    assert!(Path::new(page).is_absolute() && Path::new(page).is_file() && page.ends_with(".html"), "{page}");

    let not_opened = |browser, why: &str| has(&open(&sandbox, browser), &[&format!("not opened: {why}")]);
    not_opened(Some("no-such-browser"), "`no-such-browser` cannot be started");
    not_opened(Some("sh -c false"), "`sh -c false` ended with exit status: 1");
    if cfg!(not(target_os = "macos")) {
        not_opened(None, "there is no display, and BROWSER names no program");
    }
}
