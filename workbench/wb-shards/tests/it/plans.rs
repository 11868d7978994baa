//! Plans: written once, opened by their place, refused where something else is there than was planned.

use std::fs;

use wb_core::{RangeReader, progress::silent};
use wb_shards::{OpenPlan, PlannedBuild, ShardOutput, Store, may_pass};

use crate::{ROWS, build, line, plan};

fn folder_and_store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("work").display().to_string()).unwrap();
    (folder, store)
}

#[test]
fn a_plan_is_named_by_its_content_and_opened_by_its_place() {
    let (_folder, store) = folder_and_store();
    let first = OpenPlan::write(&store, plan(&store, 7)).unwrap();
    let again = OpenPlan::write(&store, plan(&store, 7)).unwrap();
    assert_eq!(first.place(), again.place());
    assert_ne!(first.place(), OpenPlan::write(&store, plan(&store, 4)).unwrap().place());
    assert_eq!(store.list("inputs").unwrap().len(), 1, "plans share their inputs");
    for place in [first.place(), format!("{}/", first.place()), format!("{}/plan.json", first.place())] {
        assert_eq!(OpenPlan::open(&place).unwrap().plan(), first.plan(), "{place}");
    }
    let ranges: Vec<u64> =
        (0..7).map(|shard| first.plan().range(shard).unwrap()).map(|rows| rows.end - rows.start).collect();
    assert_eq!(ranges.iter().sum::<u64>(), ROWS);
    assert_eq!(first.plan().range(7).unwrap_err().to_string(), "shard: got 7, expected a shard from 0 to 6");
    for place in ["nowhere", "./nowhere/plan", &format!("{}x", first.place())] {
        assert!(OpenPlan::open(place).unwrap_err().to_string().starts_with("no plan `"), "{place}");
    }
}

#[test]
fn a_plan_that_was_edited_is_none() {
    let (_folder, store) = folder_and_store();
    let open = OpenPlan::write(&store, plan(&store, 7)).unwrap();
    let file = format!("{}/plan.json", open.place());
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"salt\": 7", "\"salt\": 8")).unwrap();
    let told = OpenPlan::open(&open.place()).unwrap_err();
    assert!(told.to_string().contains("plan.json: was changed: its content is that of hash-"), "{told}");
    fs::write(&file, "{").unwrap();
    assert!(OpenPlan::open(&open.place()).unwrap_err().to_string().contains("plan.json:1:1: "));
}

#[test]
fn another_build_is_told_with_what_differs() {
    let (_folder, store) = folder_and_store();
    let planned = plan(&store, 4);
    planned.check_build(&build()).unwrap();
    for (other, what) in [
        (PlannedBuild { code: "0.1.0 xyz".into(), ..build() }, "the code here: 0.1.0 xyz; of the plan: 0.1.0 abc"),
        (PlannedBuild { features: vec![], ..build() }, "the features here: ; of the plan: hub"),
        (PlannedBuild { device: "cuda".into(), ..build() }, "the device here: cuda; of the plan: cpu"),
    ] {
        let error = planned.check_build(&other).unwrap_err();
        assert!(error.to_string().ends_with(what) && !may_pass(&error), "{error}");
    }
}

#[test]
fn a_byte_that_was_changed_in_an_input_is_seen_by_whoever_reads_it() {
    let (folder, store) = folder_and_store();
    // Larger than a piece.
    let file = folder.path().join("large");
    let bytes: Vec<u8> = (0..9_000_000_u32).map(|at| (at * 31 % 251) as u8).collect();
    fs::write(&file, &bytes).unwrap();
    let input = wb_shards::PlannedInput::of_file(&store, &file).unwrap();
    assert_eq!((input.bytes, input.pieces.len()), (9_000_000, 3));
    let reader = input.reader(&store);
    for range in [0..10, 4_194_300..4_194_310, 8_388_600..9_000_000, 0..9_000_000, 5..5] {
        assert_eq!(reader.read(range.clone()).unwrap(), bytes[range.start as usize..range.end as usize], "{range:?}");
    }
    let copy = folder.path().join("copy");
    input.fetch(&store, &copy).unwrap();
    assert_eq!(fs::read(&copy).unwrap(), bytes);

    let object = format!("{}/{}", store.place(), store.list("inputs").unwrap()[0].0);
    let mut changed = bytes;
    changed[5_000_000] ^= 1;
    fs::write(&object, &changed).unwrap();
    let reader = input.reader(&store);
    reader.read(0..10).unwrap();
    let error = reader.read(4_194_300..4_194_310).unwrap_err();
    assert!(error.to_string().ends_with("bytes 4194304 to 8388608 are others than those that were planned"), "{error}");
    assert!(!may_pass(&error));
    let other = folder.path().join("other");
    assert!(input.fetch(&store, &other).is_err() && !other.exists(), "nothing half-written");
}

#[test]
fn what_a_shard_has_made_is_looked_at_to_the_last_bit() {
    let (folder, store) = folder_and_store();
    let open = OpenPlan::write(&store, plan(&store, 3)).unwrap();
    let made = |shard: u32| {
        open.attempt(shard, folder.path(), &mut silent, |rows, inside, _| {
            let file = inside.join("lines");
            fs::write(&file, rows.map(line).collect::<String>()).unwrap();
            Ok::<_, wb_core::Error>(ShardOutput { files: vec![("lines".into(), file)], account: 1.into() })
        })
        .unwrap()
    };
    made(0);
    made(2);
    let error = open.all_manifests().unwrap_err();
    assert!(error.to_string().starts_with("1 of 3 shards of "), "{error}");
    assert_eq!(error.hint().unwrap(), format!("wb shards missing {}", open.place()));
    assert_eq!(open.missing().unwrap(), [1]);
    made(1);
    let manifests = open.all_manifests().unwrap();
    let object = format!("{}/{}", open.place(), manifests[1].files[0].object);
    let whole = fs::read(&object).unwrap();
    let mut read = Vec::new();
    let mut take = |piece: &[u8]| -> Result<(), wb_core::Error> {
        read.extend_from_slice(piece);
        Ok(())
    };
    open.read(&manifests[1], "lines", &mut take).unwrap();
    assert_eq!(read, whole);

    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 4;
    fs::write(&object, &flipped).unwrap();
    let error = open.read(&manifests[1], "lines", |_| Ok::<_, wb_core::Error>(())).unwrap_err();
    assert!(error.to_string().contains("lines of shard 1 is not what was written"), "{error}");
    assert_eq!(error.hint().unwrap(), format!("wb shards run {} --shard 1 --anew", open.place()));
    fs::write(&object, &whole[..10]).unwrap();
    let error = open.all_manifests().unwrap_err();
    assert!(error.to_string().contains(&format!("has 10 bytes, expected {} bytes", whole.len())), "{error}");
    fs::remove_file(&object).unwrap();
    assert!(open.all_manifests().unwrap_err().to_string().contains("is not there"));

    assert!(open.forget(1).unwrap() && !open.forget(1).unwrap());
    made(1);
    let manifests = open.all_manifests().unwrap();
    let files = || vec![("lines".to_owned(), 3, "abc".to_owned())];
    let record = open.finish(&manifests, files()).unwrap();
    assert_eq!(open.finish(&manifests, files()).unwrap(), record, "the same may be said again");
    let error = open.finish(&manifests, vec![("lines".to_owned(), 3, "abd".to_owned())]).unwrap_err();
    assert!(error.to_string().contains("came to something else before"), "{error}");
    assert!(folder.path().read_dir().unwrap().all(|entry| entry.unwrap().file_name() == "work"), "no scratch is left");
}
