//! Writes that fail on purpose: the N-th, once and for good; what is there then is whole, and the next call finishes.

use wb_core::faults;
use wb_hub::Why;

use crate::{Model, repo, wanted};

#[test]
fn after_any_failed_write_the_next_call_finishes() {
    let model = Model::new();
    for for_good in [false, true] {
        let mut places = 0;
        loop {
            let _ = std::fs::remove_dir_all(model.home.path().join("hub"));
            faults::fail_at(places + 1, for_good);
            let result = model.client().fetch(&repo("o/n"), &wanted);
            if !faults::clear() {
                assert!(result.is_ok());
                break;
            }
            let error = result.unwrap_err();
            assert!(error.hint().is_some() || Why::of(&error).is_none(), "{error:?}");
            assert_eq!(model.fetched(&model.client()).unwrap(), model.large, "after a fault at {places}");
            places += 1;
        }
        assert!(places >= 12, "{places} places");
    }
}

#[test]
fn a_full_disk_is_told_and_what_came_is_kept() {
    let model = Model::new();
    // Past the lists and the small files, in the middle of the large one or before it.
    let mut told = Vec::new();
    for place in 1..40 {
        let _ = std::fs::remove_dir_all(model.home.path().join("hub"));
        faults::fail_at(place, true);
        let result = model.client().fetch(&repo("o/n"), &wanted);
        faults::clear();
        if let Err(error) = result
            && Why::of(&error) == Some(Why::DiskFull)
        {
            told.push((error.to_string(), error.hint().unwrap().to_owned()));
        }
    }
    assert!(told.iter().any(|(told, hint)| told.contains("the disk of") && hint.contains("HF_HOME")), "{told:?}");
}
