//! Files that cannot be written: at every place in turn, once or from then on.

use wb_core::faults;

use super::*;

/// A short training with everything that is written: journals, checkpoints, the best one, an average, mined negatives,
/// a curriculum.
fn short() -> Run {
    Run::new(config(|c| {
        (c.max_steps, c.ema) = (7, 0.9);
        c.validate.every = Every::Steps(3);
        c.refresh = Some(RefreshConfig { every: Every::Steps(4), at_start: false });
        c.curriculum = serde_json::from_str(
            r#"[{"name": "easy", "until": {"steps": 2}, "negatives": 0}, {"name": "hard", "temperature": 0.1}]"#,
        )
        .unwrap();
    }))
}

/// Checks that every checkpoint whose folder is there loads.
fn check_whole(run: &Run, found: &str) {
    for name in run.checkpoints().iter().filter(|name| name.starts_with("step-")) {
        let folder = run.path("checkpoints").join(name);
        let manifest: serde_json::Value =
            serde_json::from_slice(&fs::read(folder.join("MANIFEST.json")).unwrap()).unwrap();
        for (file, hash) in manifest["files"].as_object().unwrap() {
            let of_file = Fingerprint::of_file(&folder.join(file)).unwrap();
            assert_eq!(hash.as_str(), Some(of_file.as_str()), "{name}/{file} after {found}");
        }
    }
}

#[test]
fn a_write_that_fails_leaves_whole_checkpoints_and_the_same_result_after_a_resume() {
    let reference = short().finish(false).0;
    for for_good in [false, true] {
        let mut faults_seen = 0;
        for n in 1.. {
            let run = short();
            faults::fail_at(n, for_good);
            let result = run.train(&mut Bag::new(), false, &mut silent);
            if !faults::clear() {
                assert!(result.is_ok());
                break;
            }
            faults_seen += 1;
            let error = result.expect_err("a write failed, and nobody said so").to_string();
            assert!(error.starts_with("cannot "), "{error}");
            check_whole(&run, &error);
            let (finished, outcome) = run.finish(true);
            assert_eq!(finished, reference, "fault {n}: {error}");
            assert!(outcome.warnings.is_empty(), "fault {n}: {:?}", outcome.warnings);
        }
        assert!(faults_seen > 80, "{faults_seen}");
    }
}

#[test]
fn a_resume_survives_faults_too() {
    let reference = short().finish(false).0;
    for n in (1..).step_by(3) {
        let run = short();
        run.train_until(4, false);
        faults::fail_at(n, true);
        let result = run.train(&mut Bag::new(), true, &mut silent);
        if !faults::clear() {
            assert!(result.is_ok() && n > 30);
            break;
        }
        assert!(result.is_err());
        check_whole(&run, "a fault while resuming");
        let (finished, outcome) = run.finish(true);
        assert_eq!(finished, reference, "fault {n}");
        assert!(outcome.warnings.is_empty(), "fault {n}: {:?}", outcome.warnings);
    }
}

#[test]
fn a_full_disk_is_told_with_the_file_and_its_size() {
    let run = short();
    let mut told = Vec::new();
    for n in 1..40 {
        let run = Run { folder: Folder::new(), ..short() };
        faults::fail_at(n, true);
        let error = run.train(&mut Bag::new(), false, &mut silent).unwrap_err();
        faults::clear();
        if let Error::DiskFull { .. } = &error {
            told.push(error.to_string());
            assert!(error.hint().unwrap().starts_with("free some space"));
        }
    }
    let weights = format!("weights.safetensors: the disk is full, {} bytes were needed", weights_bytes(&run));
    assert!(told.iter().any(|error| error.ends_with(&weights)), "{weights}: {told:?}");
}

fn weights_bytes(run: &Run) -> u64 {
    run.train_until(1, false);
    fs::metadata(run.path("checkpoints/step-000001/weights.safetensors")).unwrap().len()
}
