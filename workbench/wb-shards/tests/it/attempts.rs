//! Attempts in processes of their own: killed at any moment, raced by twins, in any number of shards, on a folder and on S3.
#![cfg(unix)]

use std::{
    env, fs,
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use wb_core::{Error, RangeReader as _, progress::silent};
use wb_shards::{AttemptEnd, MergedFile, OpenPlan, ShardOutput, Store};

use crate::{ROWS, line, moto::Moto, plan};

/// Variables of a child: the plan, its shard, and the folder for scratch.
const CHILD: [&str; 3] = ["WB_TEST_PLAN", "WB_TEST_SHARD", "WB_TEST_SCRATCH"];

/// The work of the tests: hashes of lines, out of the part of the input that has them.
fn work(plan: &OpenPlan, shard: u32, scratch: &Path) -> AttemptEnd {
    let end = plan.attempt(shard, scratch, &mut silent, |rows, folder, _| {
        let input = &plan.plan().inputs["lines"];
        let reader = input.reader(plan.work());
        let begin: u64 = (0..rows.start).map(|row| line(row).len() as u64).sum();
        let length: u64 = rows.clone().map(|row| line(row).len() as u64).sum();
        let text = reader.read(begin..begin + length)?;
        let path = folder.join("hashes");
        let mut to = BufWriter::new(fs::File::create(&path).unwrap());
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            writeln!(to, "{}", blake3(line)).unwrap();
        }
        to.into_inner().unwrap().sync_all().unwrap();
        Ok::<_, Error>(ShardOutput { files: vec![("hashes".into(), path)], account: length.into() })
    });
    end.unwrap()
}

fn blake3(line: &[u8]) -> String {
    wb_core::fingerprint::Fingerprint::of_bytes(line).as_str().to_owned()
}

/// An attempt in a process of its own.
#[test]
#[ignore = "part of other tests"]
fn child() {
    let [Some(place), Some(shard), Some(scratch)] = CHILD.map(env::var_os) else { return };
    let plan = OpenPlan::open(place.to_str().unwrap()).unwrap();
    work(&plan, shard.to_str().unwrap().parse().unwrap(), Path::new(&scratch));
}

fn attempt(place: &str, shard: u32, scratch: &Path, variables: &[(String, String)]) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "attempts::child", "--ignored", "--nocapture"]);
    command.env(CHILD[0], place).env(CHILD[1], shard.to_string()).env(CHILD[2], scratch);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Merged bytes of a plan, and their hash.
fn merged(plan: &OpenPlan, out: &Path) -> (Vec<u8>, String) {
    let manifests = plan.all_manifests().unwrap();
    let mut file = MergedFile::create(Some(out), "hashes").unwrap();
    for manifest in &manifests {
        plan.read(manifest, "hashes", |piece| file.write(piece)).unwrap();
    }
    let files = vec![file.finish().unwrap()];
    plan.sweep(&manifests).unwrap();
    let record = plan.finish(&manifests, files).unwrap();
    (fs::read(out.join("hashes")).unwrap(), record.files[0].2.clone())
}

/// The bytes that one process makes of all rows.
fn plain() -> Vec<u8> {
    (0..ROWS).flat_map(|row| format!("{}\n", blake3(line(row).as_bytes())).into_bytes()).collect()
}

/// Numbers that nobody chose, and the same each time.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Every shard is attempted twice at once, and each attempt killed with probability one half at a random moment, until
/// nothing is missing.
fn killed_and_raced(
    work: &Store,
    place: &dyn Fn(&OpenPlan) -> String,
    variables: &[(String, String)],
    shards: u64,
) -> OpenPlan {
    let plan = OpenPlan::write(work, plan(work, shards)).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let place = place(&plan);
    let (mut draws, mut kills, mut rounds) = (Draws(shards), 0, 0);
    loop {
        let missing = plan.missing().unwrap();
        if missing.is_empty() {
            break;
        }
        rounds += 1;
        assert!(rounds < 60, "{missing:?} do not come to an end");
        for shard in missing {
            let mut twins: Vec<Child> = (0..2).map(|_| attempt(&place, shard, scratch.path(), variables)).collect();
            // The last rounds are left in peace, should a machine be slow.
            for twin in &mut twins {
                if draws.below(2) == 0 || rounds >= 30 {
                    continue;
                }
                thread::sleep(Duration::from_millis(draws.below(60)));
                kills += u32::from(twin.try_wait().unwrap().is_none());
                twin.kill().unwrap();
            }
            for mut twin in twins {
                let ended = twin.wait().unwrap();
                assert!(ended.success() || ended.code().is_none(), "an attempt failed by itself");
            }
        }
    }
    assert!(kills > 0, "nothing was killed");
    plan
}

#[test]
fn any_number_of_shards_killed_and_raced_comes_to_the_same_bytes_on_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("work").display().to_string()).unwrap();
    let plain = plain();
    for shards in [1, 4, 7] {
        let plan = killed_and_raced(&store, &OpenPlan::place, &[], shards);
        let (bytes, hash) = merged(&plan, &folder.path().join(format!("out-{shards}")));
        assert!(bytes == plain, "{shards} shards");
        assert_eq!(hash, blake3(&plain));
        let left = store.at(&plan.plan().id()).list("data").unwrap();
        assert_eq!(left.len() as u64, shards, "what came to nothing is swept away");
    }
}

#[test]
fn any_number_of_shards_killed_and_raced_comes_to_the_same_bytes_on_s3_and_nothing_is_written_over() {
    let Some(moto) = Moto::start("shards_killed_and_raced_on_s3") else { return };
    let (store, plain) = (moto.store("work"), plain());
    for shards in [1, 4, 7] {
        let folder = tempfile::tempdir().unwrap();
        let plan = killed_and_raced(&store, &OpenPlan::place, &moto.variables(), shards);
        assert!(merged(&plan, &folder.path().join("out")).0 == plain, "{shards} shards");
    }
    // A version is made whenever something is written over: each of these has one.
    let versions = "all = s3.list_object_versions(Bucket='code', Prefix='work/').get('Versions', [])\n\
                    keys = [v['Key'] for v in all if '/data/' in v['Key'] or '/shards/' in v['Key'] or v['Key'].endswith('plan.json')]\n\
                    print(len(keys) > 24, len(keys) == len(set(keys)))";
    assert_eq!(moto.python(versions).trim(), "True True");
}

#[test]
fn of_attempts_at_once_one_commits_and_the_others_know() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("work").display().to_string()).unwrap();
    let plan = OpenPlan::write(&store, plan(&store, 2)).unwrap();
    let ends: Vec<AttemptEnd> = thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(|| work(&plan, 1, folder.path()))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let committed: Vec<&AttemptEnd> = ends.iter().filter(|end| matches!(end, AttemptEnd::Committed(_))).collect();
    let [AttemptEnd::Committed(manifest)] = committed[..] else { panic!("{ends:?}") };
    for end in &ends {
        let (AttemptEnd::Committed(told) | AttemptEnd::There(told) | AttemptEnd::Lost(told)) = end;
        assert_eq!(told, manifest);
    }
    assert!(matches!(work(&plan, 1, folder.path()), AttemptEnd::There(_)));
    assert_eq!(plan.missing().unwrap(), [0]);
    let status = plan.status().unwrap();
    assert_eq!((status.shards, status.done, status.waiting, status.rows_done), (2, 1, 1, ROWS / 2));
    assert!(status.running.is_empty() && status.rows_per_second.is_some_and(|rate| rate > 0.0));
}

#[test]
fn attempts_at_work_silent_ones_and_stragglers_are_seen() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("work").display().to_string()).unwrap();
    let plan = OpenPlan::write(&store, plan(&store, 5)).unwrap();
    work(&plan, 0, folder.path());
    let own = store.at(&plan.plan().id());
    let now = jiff_now();
    let word = |shard: u32, at: i64, seconds: f64| {
        let json = format!(
            "{{\"shard\": {shard}, \"attempt\": \"host.1.{shard}\", \"doing\": \"encoding\", \"done\": [5, 10], \
             \"seconds\": {seconds:?}, \"at\": {at}}}"
        );
        own.put(&format!("progress/{shard:05}-host.1.{shard}.json"), json.into_bytes()).unwrap();
    };
    word(1, now, 0.0);
    word(2, now - 500, 1.0);
    word(0, now, 0.0);
    own.put("progress/00003-half.json", b"{".to_vec()).unwrap();
    let status = plan.status().unwrap();
    let seen: Vec<(u32, bool)> = status.running.iter().map(|state| (state.shard, state.is_silent)).collect();
    assert_eq!(seen, [(1, false), (2, true)], "one that is done is not at work, whatever it said");
    assert!(status.running[1].is_straggler && status.running[1].seconds > 500.0);
    assert_eq!((status.done, status.waiting), (1, 2));
}

fn jiff_now() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64
}

/// The folder of scratch of attempts that were killed is no concern of others.
#[test]
fn scratch_of_the_dead_does_not_disturb() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("work").display().to_string()).unwrap();
    let plan = OpenPlan::write(&store, plan(&store, 1)).unwrap();
    let scratch: PathBuf = folder.path().join("scratch");
    let mut child = attempt(&plan.place(), 0, &scratch, &[]);
    while !scratch.is_dir() && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    work(&plan, 0, &scratch);
    assert!(plan.missing().unwrap().is_empty());
}

#[test]
fn parts_that_attempts_keep_are_there_for_the_next_one_and_gone_after_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().to_str().unwrap()).unwrap();
    let plan = OpenPlan::write(&store, plan(&store, 2)).unwrap();
    let parts = |shard: u32| {
        let mut parts = plan.kept(shard).read().unwrap();
        parts.sort();
        parts
    };
    assert_eq!(parts(0), Vec::<Vec<u8>>::new());
    let (mut first, mut twin) = (plan.kept(0), plan.kept(0));
    for (attempt, text) in [(&mut first, "a"), (&mut twin, "b")] {
        attempt.add(text.into()).unwrap();
        attempt.add(text.repeat(2).into()).unwrap();
    }
    plan.kept(1).add("c".into()).unwrap();
    assert_eq!(parts(0), ["a", "aa", "b", "bb"].map(|text| text.as_bytes().to_vec()));
    assert_eq!(parts(1), [b"c"]);
    let scratch = folder.path().join("scratch");
    (0..2).for_each(|shard| drop(work(&plan, shard, &scratch)));
    let (_, _) = merged(&plan, &folder.path().join("out"));
    assert!(parts(0).is_empty() && parts(1).is_empty());
}
