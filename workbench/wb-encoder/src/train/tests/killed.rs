//! Training killed at any moment and resumed: nothing of the result tells of it.

use super::*;

/// Variable that tells a child of the next test, which is killed, where it trains, and the file for the batches that it
/// sees.
const KILLED: &str = "WB_TEST_KILLED";
const LOG: &str = "WB_TEST_KILLED_LOG";

/// Two data sets, a curriculum with a switch of data sets and one in the middle of an epoch, accumulation,
/// hard negatives that are mined again, and an average of the weights.
fn eventful() -> Run {
    let mut run = Run::new(config(|c| {
        c.batch.accumulate = 2;
        c.batch.pairs = 4;
        c.max_steps = 40;
        c.ema = 0.9;
        c.token_dropout = 0.1;
        c.refresh = Some(RefreshConfig { every: Every::Steps(7), at_start: false });
        c.mix = MixConfig::Temperature(2.0);
        c.curriculum = serde_json::from_str(
            r#"[{"name": "easy", "until": {"steps": 9}, "datasets": ["a"], "negatives": 0, "temperature": 0.1},
                {"name": "medium", "until": {"share": 0.5}, "negatives": 1, "temperature": 0.07},
                {"name": "hard", "negatives": 3, "temperature": 0.05, "learning_rate_factor": 0.5}]"#,
        )
        .unwrap();
    }));
    let mut pairs = apart().pairs().to_vec();
    for (at, pair) in pairs.iter_mut().enumerate() {
        pair.origin.dataset = if at < 40 { "a" } else { "b" }.to_owned();
    }
    run.pairs = PairSet::new(pairs).unwrap();
    run
}

/// A bag that writes down every batch.
fn logging(path: &Path) -> Bag {
    Bag { log: Some(fs::File::create(path).unwrap().into()), ..Bag::new() }
}

/// The bytes of the last checkpoint: weights, average, moments and state.
fn last_checkpoint(run: &Run) -> Vec<(String, Vec<u8>)> {
    let last = run.checkpoints().into_iter().rfind(|name| name.starts_with("step-")).unwrap();
    let folder = run.path("checkpoints").join(last);
    let mut files: Vec<String> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    files.into_iter().map(|name| (name.clone(), fs::read(folder.join(name)).unwrap())).collect()
}

/// The work of the next test's child processes, and not a test.
#[test]
#[ignore = "run by killed_at_any_moment_and_resumed_equals_not_stopped in processes of its own"]
fn train_to_be_killed() {
    let Ok(folder) = std::env::var(KILLED) else { return };
    let run = Run { folder: Folder::Given(folder.into()), ..eventful() };
    let mut slowly = |_: Progress| std::thread::sleep(std::time::Duration::from_millis(2));
    let mut bag = logging(Path::new(&std::env::var(LOG).unwrap()));
    run.train(&mut bag, true, &mut slowly).unwrap();
}

#[test]
fn killed_at_any_moment_and_resumed_equals_not_stopped() {
    let whole = eventful();
    let log = whole.path("log");
    whole.train(&mut logging(&log), false, &mut silent).unwrap();
    let reference = whole.finish(true).0;
    let checkpoint = last_checkpoint(&whole);
    let names: Vec<&str> = checkpoint.iter().map(|(name, _)| name.as_str()).collect();
    let all = ["MANIFEST.json", "average.safetensors", "optimizer.safetensors", "state.json", "weights.safetensors"];
    assert_eq!(names, all);
    let stages: Vec<u32> = records::<StepRecord>(&reference.metrics).iter().map(|step| step.stage).collect();
    assert_eq!([0, 1, 2].map(|stage| stages.iter().filter(|s| **s == stage).count()), [9, 11, 20]);
    // Each batch once, in the order in which it is trained on.
    let order = fs::read_to_string(&log).unwrap();
    let order: Vec<&str> = order.lines().collect();
    assert!(order.len() > 40);

    let (mut kills, mut resumed_at) = (0, Vec::new());
    let mut delays = Seed(11).stream("kills");
    while kills < 20 {
        let run = eventful();
        loop {
            let log = run.path("log");
            let mut child = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "train::tests::killed::train_to_be_killed", "--ignored", "--quiet"])
                .env(KILLED, run.folder.path())
                .env(LOG, &log)
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(std::time::Duration::from_millis(delays.random_range(5..200)));
            let ended = child.try_wait().unwrap();
            if ended.is_none() {
                child.kill().unwrap();
                child.wait().unwrap();
                kills += 1;
            }
            // What it saw is a piece of the reference's order, not only the same batches.
            let seen = fs::read_to_string(&log).unwrap_or_default();
            let seen: Vec<&str> = seen.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).collect();
            if let Some(first) = seen.first() {
                let from = order.iter().position(|line| line == first).unwrap();
                assert_eq!(seen, order[from..from + seen.len()]);
                resumed_at.push(from);
            }
            if let Some(status) = ended {
                assert!(status.success());
                break;
            }
        }
        assert_eq!(run.finish(true).0, reference);
        assert_eq!(last_checkpoint(&run), checkpoint);
        assert_eq!(fs::read(run.path("curriculum.json")).unwrap(), fs::read(whole.path("curriculum.json")).unwrap());
    }
    resumed_at.sort_unstable();
    resumed_at.dedup();
    assert!(resumed_at.len() > 3, "killed too early to resume in different places: {resumed_at:?}");
}

#[test]
fn eventful_training_stopped_anywhere_equals_not_stopped() {
    let reference = eventful().finish(false).0;
    // Before, at and after switches of stages (9, 20) and refreshes (7, 14, 21, 28, 35).
    for stops in [&[6][..], &[7], &[8], &[9], &[10, 20], &[21, 22], &[1, 14, 28, 35, 39]] {
        let run = eventful();
        for (at, stop) in stops.iter().enumerate() {
            run.train_until(*stop, at > 0);
        }
        assert_eq!(run.finish(true).0, reference, "stopped at {stops:?}");
    }
}

#[test]
fn negatives_of_a_refresh_are_checked_before_training_goes_on() {
    let reference = eventful().finish(false).0;
    let run = eventful();
    run.train_until(18, false);
    let negatives = run.path("checkpoints/negatives-000014.json");
    fs::write(&negatives, "{}").unwrap();
    let (finished, outcome) = run.finish(true);
    assert_eq!(finished, reference);
    // Both checkpoints after step 14 go on with these negatives; the one of step 12 does not.
    assert!(outcome.warnings[0].contains("step-000018 is damaged"), "{:?}", outcome.warnings);
    assert!(outcome.warnings[0].contains("negatives-000014.json"), "{:?}", outcome.warnings);
    let left: Vec<String> = run.checkpoints().into_iter().filter(|name| name.starts_with("negatives")).collect();
    assert!(left.len() <= 3 && left.contains(&"negatives-000035.json".to_owned()), "{left:?}");
}

#[test]
fn killed_between_a_checkpoint_and_its_clearing_up_leaves_nothing_behind() {
    let run = eventful();
    run.train_until(30, false);
    let (folder, aside) = (run.path("checkpoints"), run.path("aside"));
    let before = run.checkpoints();
    before.iter().for_each(|name| copy(&folder.join(name), &aside.join(name)));
    run.finish(true);
    let (after, best) = (run.checkpoints(), fs::read_to_string(folder.join("best")).unwrap());
    // What a kill right after the last checkpoint was written leaves: all that was there before it, and the old `best`.
    let gone: Vec<&String> = before.iter().filter(|name| !after.contains(name)).collect();
    assert!(gone.iter().any(|name| name.starts_with("step-")), "{before:?} {after:?}");
    gone.iter().for_each(|name| copy(&aside.join(name), &folder.join(name)));
    fs::write(folder.join("best"), "step-000002\n").unwrap();
    run.finish(true);
    assert_eq!(run.checkpoints(), after);
    assert_eq!(fs::read_to_string(folder.join("best")).unwrap(), best);
}

/// Copies a file, or a folder of files.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    if from.is_file() {
        fs::copy(from, to).unwrap();
        return;
    }
    for file in fs::read_dir(from).unwrap().map(Result::unwrap) {
        copy(&file.path(), &to.join(file.file_name()));
    }
}
