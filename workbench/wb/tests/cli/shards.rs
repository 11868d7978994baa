//! `wb shards`: a stage cut into parts comes to the bytes of one process, whatever happens to the parts.

use std::fs;

use crate::sandbox::{Sandbox, TRANSFORMER, has, told};

/// Vectors of pairs, planned in parts of as few rows as there may be.
fn planned(sandbox: &Sandbox, more: &[&str]) -> String {
    let plan =
        ["shards", "plan", "many.yaml", "--stage", "encode", "--encoder", "base", "--work", "work", "--device", "cpu"];
    let (out, _) = sandbox.succeeds(&[&plan[..], more].concat());
    out.lines().last().unwrap().to_owned()
}

/// A trained encoder, and the YAML of nine thousand pairs.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.succeeds(&["train", "tiny.yaml", "name=base", TRANSFORMER]);
    fs::remove_dir_all(sandbox.path("datasets")).unwrap();
    let pair = |at: usize| {
        format!(
            "{{\"anchor\": \"which function has the number {at}\", \"positive\": \"fn function_{at}() {{ let number = {at}; {} }}\"}}\n",
            "x ".repeat(at % 9)
        )
    };
    sandbox.write("pairs.jsonl", (0..9000).map(pair).collect::<String>());
    let gates = "filter: { min_positive_chars: 20 }, dedupe: { near: 0 }, split: { by: pair, test: 0, validation: 0 }";
    let data = format!("sources: [{{ jsonl: {{ path: pairs.jsonl }} }}], {gates}");
    sandbox.write("many.yaml", format!("name: many\ndata: {{ {data} }}\n"));
    sandbox
}

/// Encodes one side of the prepared pairs in one process.
fn encoded(sandbox: &Sandbox, [side, field]: [&str; 2], out: &str) {
    let table = format!("datasets/prepared/{}/train.parquet", sandbox.names("datasets/prepared")[0]);
    let encode = ["encode", "--encoder", "base", "--in", &table, "--device", "cpu"];
    sandbox.succeeds(&[&encode[..], &["--side", side, "--field", field, "--out", out]].concat());
}

/// Exit code and standard error of an attempt.
fn attempt(sandbox: &Sandbox, plan: &str, more: &[&str]) -> (Option<i32>, String) {
    let (code, _, err) = told(sandbox.run(&[&["shards", "run", plan, "--scratch", "scratch"], more].concat()));
    (code, err)
}

#[test]
fn shards_come_to_the_bytes_of_one_process() {
    let sandbox = project();
    let plan = planned(&sandbox, &["--rows-per-shard", "1"]);
    encoded(&sandbox, ["document", "positive"], "plain.npy");
    sandbox.says(&["shards", "status", &plan], &["0 of 3 shards done (0 % of the rows), 0 running, 3 waiting"]);
    sandbox.says(&["shards", "missing", &plan, "--as", "slurm"], &["0-2\n"]);
    sandbox.fails_with(&["shards", "merge", &plan, "--out", "merged"], &["3 of 3 shards", "wb shards missing"]);

    assert_eq!(attempt(&sandbox, &plan, &["--shard", "1"]).0, Some(0));
    sandbox.says(&["shards", "run", &plan, "--shard", "1", "--scratch", "scratch"], &["shard 1: done already, by "]);
    let mut by_scheduler = sandbox.command(&["shards", "run", &plan, "--scratch", "scratch"]);
    by_scheduler.env("SLURM_ARRAY_TASK_ID", "0").env("WB_SHARD_OFFSET", "2").env("WB_PROGRESS_SECONDS", "0.01");
    let (_, out, err) = told(by_scheduler.output().unwrap());
    assert_eq!(out.split(',').next(), Some("shard 2: rows 8192 to 9000"));
    let lines: Vec<serde_json::Value> = err.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert!(lines.iter().any(|line| line["stage"] == "encoding documents" && line["total"] == 808), "{err}");
    assert!(lines.iter().all(|line| line["shard"] == 2), "{err}");
    sandbox.says(&["shards", "missing", &plan], &["0\n"]);
    sandbox
        .says(&["shards", "run", &plan, "--all", "--processes", "2", "--scratch", "scratch"], &["all shards are done"]);
    let status: serde_json::Value =
        serde_json::from_str(&sandbox.succeeds(&["shards", "status", &plan, "--json"]).0).unwrap();
    assert_eq!((&status["done"], &status["rows_done"]), (&3.into(), &9000.into()));
    assert_eq!(sandbox.names("scratch"), ["encoders"], "no scratch of an attempt stays");

    sandbox.says(&["shards", "merge", &plan], &["documents.npy: "]);
    sandbox.says(
        &["shards", "merge", &plan, "--out", "merged"],
        &["merged/documents.npy: ", "merged/documents.ids.txt: "],
    );
    let same = |out: &str| {
        for (made, plain) in [("documents.npy", "plain.npy"), ("documents.ids.txt", "plain.ids.txt")] {
            let [made, plain] =
                [format!("{out}/{made}"), plain.to_owned()].map(|name| fs::read(sandbox.path(&name)).unwrap());
            assert!(made == plain, "{out}");
        }
    };
    same("merged");
    sandbox.fails_with(&["shards", "merge", &plan, "--out", "merged"], &["documents.npy: is there already"]);
    let whole = planned(&sandbox, &[]);
    sandbox.succeeds(&["shards", "run", &whole, "--shard", "0", "--scratch", "scratch"]);
    sandbox.succeeds(&["shards", "merge", &whole, "--out", "in-one"]);
    same("in-one");

    // A bit of what a shard has made.
    let manifest = sandbox.json(&format!("{plan}/shards/00001.json"));
    let object = format!("{plan}/{}", manifest["files"][0]["object"].as_str().unwrap());
    let mut bytes = fs::read(&object).unwrap();
    bytes[4000] ^= 1;
    fs::write(&object, &bytes).unwrap();
    let again = format!("hint: wb shards run {plan} --shard 1 --anew");
    sandbox.fails_with(
        &["shards", "merge", &plan, "--out", "third"],
        &["vectors.npy of shard 1 is not what was written", &again],
    );
    assert_eq!(sandbox.names("third"), [] as [&str; 0], "nothing half-written");
    assert_eq!(attempt(&sandbox, &plan, &["--shard", "1", "--anew"]).0, Some(0));
    sandbox.succeeds(&["shards", "merge", &plan, "--out", "third"]);
    same("third");
}

#[test]
fn what_no_attempt_will_do_better_is_told_apart_from_what_may_pass() {
    let sandbox = project();
    let plan = planned(&sandbox, &["--side", "query"]);
    let (code, err) = attempt(&sandbox, &plan, &["--shard", "9"]);
    assert_eq!(code, Some(2));
    has(&err, &["shard: got 9, expected a shard from 0 to 0"]);
    has(&attempt(&sandbox, &plan, &[]).1, &["no shard: none is named", "hint: --shard 0, or --all"]);
    // No room for scratch: another machine may have some.
    sandbox.write("file", "");
    let (code, _, err) = told(sandbox.run(&["shards", "run", &plan, "--shard", "0", "--scratch", "file/scratch"]));
    assert_eq!(code, Some(75), "{err}");
    // A byte of the encoder that was planned.
    let weights = fs::read_dir(sandbox.path("work/inputs")).unwrap().map(|entry| entry.unwrap().path());
    let weights = weights.max_by_key(|path| path.metadata().unwrap().len()).unwrap();
    let mut bytes = fs::read(&weights).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&weights, bytes).unwrap();
    let (code, err) = attempt(&sandbox, &plan, &["--all"]);
    assert_eq!(code, Some(2), "{err}");
    has(&err, &["shard 0 cannot be done", "are others than those that were planned"]);
    // Another build, as its plan would say.
    let file = sandbox.path(&format!("{plan}/plan.json"));
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"device\": \"cpu\"", "\"device\": \"cuda\"")).unwrap();
    has(&attempt(&sandbox, &plan, &["--shard", "0"]).1, &["plan.json: was changed"]);

    for (stage, work, more, told) in [
        ("encode", "work", &[][..], "nothing to work at: no YAML"),
        ("encod", "work", &["--in", "pairs.jsonl"], "no stage `encod`"),
        ("encode", "s3://b/x", &["--in", "pairs.jsonl"], "WB_OFFLINE forbids the network"),
        ("encode", "work", &["--in", "pairs.jsonl"], "is cut by rows, expected a file that ends in .parquet"),
        ("encode", "work", &["--in", "nothing.parquet"], "cannot read nothing.parquet"),
    ] {
        let plan = ["shards", "plan", "--stage", stage, "--encoder", "base", "--work", work];
        sandbox.fails_with(&[&plan[..], more].concat(), &[told]);
    }
    sandbox.fails_with(&["shards", "status", "work"], &["no plan `"]);
}

#[test]
fn negatives_in_any_number_of_shards_are_those_of_one_process() {
    let sandbox = project();
    sandbox.succeeds(&["data", "many.yaml"]);
    encoded(&sandbox, ["query", "anchor"], "query.npy");
    encoded(&sandbox, ["document", "positive"], "document.npy");
    let vectors = "negatives.vectors={queries: query.npy, query_ids: query.ids.txt, documents: document.npy, document_ids: document.ids.txt}";
    sandbox.succeeds(&["mine-negatives", "many.yaml", vectors]);
    let is_mined = |name: &String| name.starts_with("mined-");
    let mined = sandbox.names("datasets/prepared").into_iter().find(is_mined).unwrap();
    for shards in ["1", "4", "7"] {
        let plan = ["shards", "plan", "many.yaml", vectors, "--stage", "mine", "--work", "work", "--shards", shards];
        let (out, _) = sandbox.succeeds(&plan);
        let plan = out.lines().last().unwrap();
        let run_on = "run_on={local: {processes: 2}}";
        sandbox.succeeds(&["shards", "run", plan, "--all", run_on, "--scratch", "scratch"]);
        sandbox.succeeds(&["shards", "merge", plan, "--out", &format!("merged-{shards}"), "--scratch", "scratch"]);
        for name in ["negatives.parquet", "negatives.json"] {
            let [one, many] = [format!("datasets/prepared/{mined}/{name}"), format!("merged-{shards}/{name}")]
                .map(|name| fs::read(sandbox.path(&name)).unwrap());
            assert!(one == many, "{name} of {shards} shards");
        }
    }
    let without = ["shards", "plan", "many.yaml", "--stage", "mine", "--work", "work"];
    sandbox.fails_with(&without, &["negatives.vectors names none", "hint: --stage encode for both sides first"]);
}

#[test]
fn pairs_prepared_in_any_number_of_shards_are_those_of_one_process() {
    let sandbox = project();
    sandbox.succeeds(&["data", "many.yaml", "--datasets", "first"]);
    let table = format!("first/{}/train.parquet", sandbox.names("first")[0]);
    let sources = format!("data.sources=[{{jsonl: {{path: pairs.jsonl}}}}, {{parquet: {{path: {table}}}}}]");
    let gates = ["many.yaml", &sources, "data.dedupe={near: 0.6, exact: pair}", "data.filter.min_positive_chars=44"];
    let here = ["data.split={by: pair, test: 0.1, validation: 0.1}", "--datasets", "here"];
    let data = [&["data"], &gates[..], &here].concat();
    sandbox.succeeds(&data);
    let run_on = ["data.streaming=true", "work=work", "run_on={local: {processes: 2, shards: 3}}"];
    let there = [&data[..data.len() - 1], &["there"], &run_on].concat();
    sandbox.notes(&there, &["prepare in 2 shards: ", "prepare-match in 3 shards: ", "prepare-verify in 3 shards: "]);
    let plan = [&["shards", "plan", "--stage", "prepare", "--work", "work"], &gates[..], &here[..1]].concat();
    for (size, told) in [(["--shards", "1"], "2 parts in 1 shard "), (["--rows-per-shard", "999"], "11 parts in 11 ")] {
        let (out, _) = sandbox.succeeds(&[&plan[..], &size].concat());
        has(&out, &[told]);
        let plan = out.lines().last().unwrap();
        sandbox.fails_with(&["shards", "merge", plan], &["shards of ", " are missing"]);
        let (out, _) = sandbox.succeeds(&["shards", "run", plan, "--all", "--processes", "2", "--scratch", "scratch"]);
        sandbox.says(&["shards", "merge", plan], &["prepare-match of 256 ranges in "]);
        let last = out.trim().rsplit(' ').next().unwrap();
        sandbox.succeeds(&["shards", "merge", last, "--out", &format!("merged/{told}"), "--scratch", "scratch"]);
    }
    let [here, there, merged] = ["here", "there", "merged"].map(|folder| sandbox.files_below(folder));
    let bytes = |files: &[(String, Vec<u8>)]| files.iter().map(|(_, bytes)| bytes.clone()).collect::<Vec<_>>();
    assert!(here.len() == 5 && bytes(&here) == bytes(&there));
    assert!(bytes(&merged) == [bytes(&here), bytes(&here)].concat());
    for (change, told) in [
        ("data.on_bad=skip", "data.on_bad: got skip, expected stop"),
        ("data.balance.max_per_language=5", "data.balance: cannot be used in shards"),
        ("data.sources=[{code: {path: code}}]", "is read by one process, expected files of pairs"),
    ] {
        sandbox.fails_with(&["shards", "plan", "many.yaml", change, "--stage", "prepare", "--work", "work"], &[told]);
    }
}

#[test]
fn mining_on_other_machines_leaves_what_mining_here_leaves() {
    let sandbox = project();
    let mine = ["mine-negatives", "many.yaml", "--encoder", "base"];
    sandbox.succeeds(&[&mine[..], &["--datasets", "here"]].concat());
    let run_on = ["--datasets", "there", "work=work", "run_on={local: {processes: 2, shards: 3}}"];
    sandbox.notes(&[&mine[..], &run_on].concat(), &["encode in 3 shards: ", "mine in 3 shards: "]);
    let (here, there) = (sandbox.files_below("here"), sandbox.files_below("there"));
    assert!(here.iter().filter(|(name, _)| name.ends_with(".npy")).count() == 2 && here == there);
    sandbox.refuses_with(&[&mine[..], &["run_on={local: {}}"]].concat(), &["work: is missing", "work=FOLDER"]);
    sandbox
        .refuses_with(&[&mine[..], &["run_on={local: {processes: 0}}"]].concat(), &["run_on.local.processes: got 0"]);
    // Words, a stronger model's scores, and vectors of tokens.
    sandbox.golden_encoder("tiny-cross-encoder", "cross");
    let late = ["encoder.late_interaction={dim: 8}", "train.similarity=maxsim", "train.max_steps=2"];
    sandbox.succeeds(&[&["train", "tiny.yaml", "name=late", TRANSFORMER], &late[..]].concat());
    sandbox.write("few.jsonl", sandbox.text("pairs.jsonl").split_inclusive('\n').take(300).collect::<String>());
    for rules in ["retriever: bm25", "encoder: late, rescore: {cross_encoder: {model: cross}}"] {
        let rules = format!("negatives={{per_pair: 2, ranks: [0, 5], {rules}}}");
        let mine = ["mine-negatives", "many.yaml", "data.sources=[{jsonl: {path: few.jsonl}}]", &rules, "--datasets"];
        sandbox.succeeds(&[&mine[..], &["one"]].concat());
        sandbox.notes(&[&mine[..], &["many"], &run_on[2..]].concat(), &["mine in 3 shards: "]);
    }
    let read =
        |name: String| ["parquet", "json"].map(|kind| fs::read(sandbox.path(&format!("{name}.{kind}"))).unwrap());
    let inside = |name: &str| sandbox.names(name).into_iter().filter(|it| it.starts_with("mined-")).collect::<Vec<_>>();
    let mined = |name: &str| inside(name).iter().map(|it| read(format!("{name}/{it}/negatives"))).collect::<Vec<_>>();
    assert!(mined("one").len() == 2 && mined("one") == mined("many"));
}
