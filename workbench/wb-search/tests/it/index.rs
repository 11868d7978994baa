//! An index that follows its folder.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use proptest::prelude::*;
use wb_search::{
    CodeIndex, FolderFiles, IndexPlace, LinePattern, PartedQuestion, RankingWeights, SearchAnswer, SearchQuestion,
    UnitVectors, VectorStore, answer::Extent, build, structure::ProjectGraph,
};

use crate::{PARSER, SERVER, bytes, indexed, part, project, request, vectors::ByMeaning, write};

#[test]
fn what_was_written_is_read_again() {
    let folder = project(&[("src/parser.rs", PARSER), ("app/server.py", SERVER), ("README.md", "# Title\n\nWords.\n")]);
    let index = indexed(folder.path());
    let place = IndexPlace::of(folder.path(), Some(folder.path().join(".wb/index"))).unwrap();
    index.write(&place.file).unwrap();
    let again = CodeIndex::read(&place.file, &place.root).unwrap();
    assert_eq!((again.files(), again.units()), (index.files(), index.units()));
    let paths: Vec<&str> = again.files().iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["README.md", "app/server.py", "src/parser.rs"]);
    assert!(again.stale().unwrap().is_empty());
    assert!(IndexPlace::of(folder.path(), Some(folder.path().join("../index-of-this"))).is_ok());
    let error = IndexPlace::of(folder.path(), Some(folder.path().join("src/index"))).unwrap_err();
    assert!(error.to_string().ends_with("src/index would be one of the files that it indexes"), "{error}");
    assert_eq!(wb_core::error::hint(&error), Some("a hidden place: --index .wb/index"));
}

#[test]
fn an_index_is_of_one_moment_for_whoever_reads_it() {
    let folder = project(&[("a.rs", PARSER), ("b.py", SERVER)]);
    let (kept, encoder) = (tempfile::tempdir().unwrap(), ByMeaning::new());
    let place = IndexPlace::of(folder.path(), Some(kept.path().join("index"))).unwrap();
    let bring_up = |text: &str| {
        write(folder.path(), "c.py", text);
        let (mut update, _) = place.update(false, &mut |_| {}).unwrap();
        update.structures(&mut |_| {}).unwrap();
        update.embed(&VectorStore::below(kept.path(), encoder.made_by()), &encoder, &mut |_| {}).unwrap();
        update.keep().unwrap();
    };
    bring_up("def zebra(): pass\n");
    let done = AtomicBool::new(false);
    let (reads, moments) = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut reads, mut moments) = (0, BTreeSet::new());
            while !done.load(Ordering::Relaxed) {
                let mut index = place.read().unwrap().unwrap();
                let name = index.names(index.units().len() - 1).own[0].to_owned();
                let graph = ProjectGraph::open(index.clone()).unwrap();
                assert_eq!(graph.definitions("Server").unwrap().len(), 1);
                let [_, _, structures] = index.verify().unwrap();
                let vectors = index.kept_vectors().unwrap().unwrap();
                assert_eq!((vectors.len(), structures), (index.units().len(), 3), "{name}");
                assert_eq!(index.set_vectors(vectors), 0, "{name}");
                reads += 1;
                moments.insert(name);
            }
            (reads, moments)
        });
        for at in 0..40 {
            bring_up(&format!("def zebra_{at}(): pass\n").repeat(1 + at % 3));
        }
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap()
    });
    assert!(reads > 5 && moments.len() > 2, "{reads} reads, {moments:?}");
}

#[test]
fn one_at_a_time_changes_an_index_and_others_answer_meanwhile() {
    let folder = project(&[("a.rs", PARSER)]);
    let (kept, encoder) = (tempfile::tempdir().unwrap(), ByMeaning::new());
    let place = IndexPlace::of(folder.path(), Some(kept.path().join("index"))).unwrap();
    let store = VectorStore::below(kept.path(), encoder.made_by());
    let (mut first, _) = place.update(false, &mut |_| {}).unwrap();
    first.embed(&store, &encoder, &mut |_| {}).unwrap();
    write(folder.path(), "b.py", SERVER);
    // Of another moment, for its own answer: what the first is about to keep is not lost by it.
    let mut other = place.update_unless_busy(&mut |_| {}).unwrap();
    other.structures(&mut |_| {}).unwrap();
    let other = other.keep().unwrap();
    assert_eq!((other.files().len(), other.has_structures()), (2, true));
    assert_eq!(ProjectGraph::open(other).unwrap().definitions("Server").unwrap().len(), 1);
    assert!(place.read().unwrap().is_none());
    let first = first.keep().unwrap();
    assert!(place.read().unwrap().unwrap().kept_vectors().unwrap().is_some());
    // Made for units that are not the ones that are kept by now.
    place.bring_up(false, &mut |_| {}).unwrap();
    let mut late = place.update_of(first).unwrap();
    late.forget_vectors();
    late.keep().unwrap();
    let now = place.read().unwrap().unwrap();
    assert_eq!((now.files().len(), now.is_of_words_alone()), (2, false));
    assert!(now.kept_vectors().unwrap().is_some());
    // Who waits has what the one before has kept.
    let (update, _) = place.update(false, &mut |_| {}).unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| place.bring_up(false, &mut |_| {}).unwrap().0.is_of_words_alone());
        thread::sleep(std::time::Duration::from_millis(50));
        assert!(!waiting.is_finished());
        let mut update = update;
        update.forget_vectors();
        update.keep().unwrap();
        assert!(waiting.join().unwrap());
    });
}

#[test]
fn a_lock_that_is_somebody_s_own_file_is_left_alone() {
    let folder = project(&[("a.rs", PARSER)]);
    let kept = tempfile::tempdir().unwrap();
    let place = IndexPlace::of(folder.path(), Some(kept.path().join("index"))).unwrap();
    let lock = kept.path().join("index.wb-lock");
    fs::write(&lock, "my notes").unwrap();
    let refused = |place: &IndexPlace| {
        let errors = [place.bring_up(false, &mut |_| {}).map(drop), place.update_unless_busy(&mut |_| {}).map(drop)];
        errors.into_iter().for_each(|error| {
            let error = error.unwrap_err();
            assert!(error.to_string().ends_with("index.wb-lock is there and is no lock of this program"), "{error}");
        });
    };
    refused(&place);
    assert_eq!(fs::read_to_string(&lock).unwrap(), "my notes");
    #[cfg(unix)]
    {
        fs::remove_file(&lock).unwrap();
        fs::write(kept.path().join("notes"), "").unwrap();
        std::os::unix::fs::symlink("notes", &lock).unwrap();
        refused(&place);
        assert_eq!(fs::read_to_string(kept.path().join("notes")).unwrap(), "");
    }
    fs::remove_file(&lock).unwrap();
    place.bring_up(false, &mut |_| {}).unwrap();
    // A file that is called as a part is, and is none.
    let mine = kept.path().join("index.units-0123456789abcdef");
    fs::write(&mine, "mine").unwrap();
    place.bring_up(true, &mut |_| {}).unwrap();
    assert_eq!(fs::read_to_string(&mine).unwrap(), "mine");
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_text_are_kept_in_order_too() {
    use std::os::unix::ffi::OsStrExt;
    let folder = project(&[("a.rs", PARSER)]);
    let kept = tempfile::tempdir().unwrap();
    let file = kept.path().join(std::ffi::OsStr::from_bytes(b"\xffindex"));
    let place = IndexPlace::of(folder.path(), Some(file)).unwrap();
    for round in 0..3 {
        write(folder.path(), "b.py", &format!("def f_{round}(): pass\n"));
        place.bring_up(false, &mut |_| {}).unwrap();
    }
    assert_eq!(fs::read_dir(kept.path()).unwrap().count(), 3);
}

#[test]
fn damage_of_the_names_alone_loses_no_part() {
    let folder = project(&[("a.rs", PARSER)]);
    let (kept, encoder) = (tempfile::tempdir().unwrap(), ByMeaning::new());
    let place = IndexPlace::of(folder.path(), Some(kept.path().join("index"))).unwrap();
    let (mut update, _) = place.update(false, &mut |_| {}).unwrap();
    update.embed(&VectorStore::below(kept.path(), encoder.made_by()), &encoder, &mut |_| {}).unwrap();
    update.keep().unwrap();
    let bytes = fs::read(&place.file).unwrap();
    fs::write(&place.file, &bytes[..bytes.len() - 7]).unwrap();
    assert!(place.bring_up(false, &mut |_| {}).is_err());
    place.bring_up(true, &mut |_| {}).unwrap();
    assert_eq!(fs::read(&place.file).unwrap(), bytes);
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let folder = project(&[("a.rs", PARSER)]);
    let kept = tempfile::tempdir().unwrap();
    let place = IndexPlace::of(folder.path(), Some(kept.path().join("index"))).unwrap();
    place.bring_up(false, &mut |_| {}).unwrap();
    let units = part(&place, "units");
    let before = fs::read(&units).unwrap();
    write(folder.path(), "b.py", SERVER);
    place.bring_up(false, &mut |_| {}).unwrap();
    let units = part(&place, "units");
    let now = fs::read(&units).unwrap();
    let told = |place: &IndexPlace| {
        let error = place.read().unwrap_err();
        let hint = wb_core::error::hint(&error).unwrap().to_owned();
        (format!("{error}: {}", std::error::Error::source(&error).unwrap()), hint)
    };
    // Another one under its name; none.
    fs::write(&units, &before).unwrap();
    let (error, hint) = told(&place);
    assert!(error.contains(".units-") && error.ends_with("is damaged: it is another one"), "{error}");
    assert_eq!(hint, "make it again: wb index --anew");
    fs::remove_file(&units).unwrap();
    let (error, hint) = told(&place);
    assert!(error.contains("kept/index names") || error.contains("index names: cannot read"), "{error}");
    assert!(hint.contains("copy them together"), "{hint}");
    assert!(place.bring_up(false, &mut |_| {}).is_err());
    place.bring_up(true, &mut |_| {}).unwrap();
    assert_eq!(fs::read(&units).unwrap(), now);
    // All together are an index, under whatever name.
    let other = tempfile::tempdir().unwrap();
    for path in [&place.file, &units] {
        let name = path.file_name().unwrap().to_str().unwrap().replace("index", "moved");
        fs::copy(path, other.path().join(name)).unwrap();
    }
    let moved = IndexPlace::of(folder.path(), Some(other.path().join("moved"))).unwrap();
    assert_eq!(moved.read().unwrap().unwrap().files().len(), 2);
}

#[test]
fn what_has_changed_is_told_and_brought_in() {
    let folder = project(&[("a.rs", PARSER), ("b.py", SERVER), ("c.rs", "fn c() {}\n")]);
    let index = indexed(folder.path());
    write(folder.path(), "b.py", "def another():\n    return 1\n");
    write(folder.path(), "d.rs", "fn d() {}\n");
    fs::remove_file(folder.path().join("c.rs")).unwrap();
    let stale = index.stale().unwrap();
    assert_eq!((stale.changed, stale.gone), (vec!["b.py".to_owned(), "d.rs".to_owned()], vec!["c.rs".to_owned()]));
    let updated = index.update(&FolderFiles::of(folder.path()).unwrap(), &mut |_| {}).unwrap();
    assert_eq!(bytes(&updated), bytes(&indexed(folder.path())));
    assert!(updated.stale().unwrap().is_empty());
}

#[test]
fn what_has_no_text_is_not_new_each_time() {
    let folder = project(&[("a.rs", PARSER), ("empty.rs", "")]);
    fs::write(folder.path().join("binary.rs"), b"\0").unwrap();
    let index = indexed(folder.path());
    assert!(index.stale().unwrap().is_empty());
    assert_eq!((index.files().len(), index.n_readable()), (3, 2));
}

#[test]
fn an_index_of_another_version_is_made_anew() {
    let folder = project(&[("a.rs", PARSER)]);
    let place = IndexPlace::of(folder.path(), Some(folder.path().join(".wb/index"))).unwrap();
    write(folder.path(), ".wb/index", "wbcode\0\u{1}and more");
    // Vectors of that version were beside it, and are taken; a SCIP of its own that is called so stays.
    let encoder = ByMeaning::new();
    let mut vectors = UnitVectors::empty(encoder.made_by());
    vectors.push([1, 2], &vec![1.0; encoder.made_by().dim]);
    vectors.write(&folder.path().join(".wb/index.vectors")).unwrap();
    write(folder.path(), ".wb/index.structures", "wbstru\0\x01and more");
    write(folder.path(), ".wb/index.scip", "of an indexer");
    assert!(place.read().unwrap().is_none());
    assert_eq!(place.bring_up(false, &mut |_| {}).unwrap().0.files().len(), 1);
    let index = place.read().unwrap().unwrap();
    assert_eq!(index.kept_vectors().unwrap(), Some(vectors));
    let gone = [".vectors", ".structures", ".scip"].map(|end| !folder.path().join(format!(".wb/index{end}")).exists());
    assert_eq!(gone, [true, true, false]);
}

#[test]
fn several_processes_may_index_one_project_at_once() {
    let folder = project(&[("a.rs", PARSER), ("b.py", SERVER)]);
    let kept = tempfile::tempdir().unwrap();
    let place = IndexPlace::of(folder.path(), Some(kept.path().join("deep/index"))).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..10).for_each(|_| drop(place.bring_up(true, &mut |_| {}).unwrap())));
        }
        for _ in 0..50 {
            // Whole or not there, at any moment.
            place.read().unwrap();
        }
    });
    assert_eq!(place.read().unwrap().unwrap().files().len(), 2);
    // The index, its one part, and the lock.
    assert_eq!(fs::read_dir(kept.path().join("deep")).unwrap().count(), 3, "nothing unfinished is left");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// An index that went through changes is that of the folder as it is, to the last byte.
    #[test]
    fn an_updated_index_is_one_made_anew(
        before in prop::collection::btree_map("[a-d]{1,2}/[a-c]", "(fn [a-c]\\(\\) \\{ [a-e]{1,3} \\}\n){0,4}", 0..6),
        after in prop::collection::btree_map("[a-d]{1,2}/[a-c]", "(fn [a-c]\\(\\) \\{ [a-e]{1,3}x \\}\n){0,4}", 0..6),
        kept in any::<u64>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in &before {
            write(folder.path(), &format!("{path}.rs"), text);
        }
        let index = indexed(folder.path());
        let mut now: BTreeMap<&String, &String> =
            before.iter().zip(0..).filter(|(_, at)| kept >> at & 1 == 1).map(|(file, _)| file).collect();
        now.extend(after.iter());
        for path in before.keys().filter(|path| !now.contains_key(path)) {
            fs::remove_file(folder.path().join(format!("{path}.rs"))).unwrap();
        }
        for (path, text) in &after {
            write(folder.path(), &format!("{path}.rs"), text);
        }
        let found = FolderFiles::of(folder.path()).unwrap();
        let updated = index.update(&found, &mut |_| {}).unwrap();
        prop_assert_eq!(bytes(&updated), bytes(&build(found, &mut |_| {}).unwrap().0));
    }
}

#[test]
fn further_folders_are_searched_until_they_are_forgotten() {
    let folder = project(&[
        ("app/src/a.rs", "fn zebra() {\n    stripes()\n}\n"),
        ("app/.gitignore", "node_modules\n"),
        ("app/node_modules/mane/lion.js", "function lion() {\n  return mane()\n}\n"),
        ("tests/lib-1.0/src/zoo.rs", "fn giraffe() {\n    neck()\n}\n"),
    ]);
    let root = folder.path().canonicalize().unwrap();
    let mut place = IndexPlace::of(&root.join("app"), Some(root.join("index"))).unwrap();
    let found = |place: &IndexPlace, text: &str| {
        let (index, _) = place.bring_up(false, &mut |_| {}).unwrap();
        let found = index.search(&SearchQuestion::new(text), &RankingWeights::shipped().unwrap(), 10).unwrap();
        found.into_iter().map(|found| (found.path, found.signals.role)).collect::<Vec<_>>()
    };
    assert_eq!(found(&place, "giraffe"), []);
    let (lib, package) = (root.join("tests/lib-1.0"), root.join("app/node_modules/mane"));
    place.further = vec![lib.clone(), package.clone(), root.join("app/src")];
    // What is above a further folder does not count: its files are no tests.
    let zoo = lib.join("src/zoo.rs").display().to_string();
    assert_eq!(found(&place, "giraffe"), [(zoo.clone(), 1.0)]);
    assert_eq!(found(&place, "lion"), [(package.join("lion.js").display().to_string(), 1.0)]);
    assert_eq!(found(&place, "zebra"), [("src/a.rs".to_owned(), 1.0)], "a file of two folders is there once");
    // A folder of the project that is ignored and searched as a dependency, as it is typed.
    let index = place.read().unwrap().unwrap();
    let mut below = SearchQuestion::new("lion");
    below.below = place.below("node_modules/mane").unwrap();
    let mut only = request("lion", None);
    only.parted = PartedQuestion::whole(below.clone());
    only.question = below;
    let answer = SearchAnswer::of(&index, &only, &RankingWeights::shipped().unwrap()).unwrap();
    assert_eq!(answer.answers.len(), 1, "{answer:?}");
    // Kept from then on; a text of it is read from where it lies.
    place.further = Vec::new();
    write(&lib, "src/zoo.rs", "fn giraffe() {\n    long_neck()\n}\n");
    assert_eq!(found(&place, "long neck"), [(zoo.clone(), 1.0)]);
    let index = place.read().unwrap().unwrap();
    let told = SearchAnswer::of(&index, &request("giraffe", None), &RankingWeights::shipped().unwrap()).unwrap();
    assert!(told.text(false).contains("    long_neck()"), "{}", told.text(false));
    let lines = index
        .matching_lines(&index.walk().unwrap(), &LinePattern::new("neck").unwrap(), &SearchQuestion::new(""))
        .unwrap();
    assert_eq!(lines.lines.iter().map(|line| line.path.as_str()).collect::<Vec<_>>(), [zoo.as_str()]);
    // A folder that is gone takes nothing else with it, and is there again when it is.
    fs::rename(&lib, root.join("away")).unwrap();
    assert_eq!(found(&place, "giraffe"), []);
    assert_eq!(found(&place, "zebra"), [("src/a.rs".to_owned(), 1.0)]);
    assert_eq!(place.bring_up(false, &mut |_| {}).unwrap().1.skipped, [("further folder that is gone", 1)].into());
    fs::rename(root.join("away"), &lib).unwrap();
    assert_eq!(found(&place, "giraffe"), [(zoo.clone(), 1.0)]);
    // One that has the project in it brings what it has beside that.
    place.further = vec![root.clone()];
    assert_eq!(found(&place, "zebra"), [("src/a.rs".to_owned(), 1.0)]);
    assert_eq!(found(&place, "giraffe"), [(zoo, 1.0)]);
    place.further = vec![root.join("app/src/a.rs")];
    assert!(place.bring_up(false, &mut |_| {}).unwrap_err().to_string().contains("a.rs is not a folder"));
    (place.further, place.alone) = (Vec::new(), true);
    assert_eq!(found(&place, "giraffe"), []);
}

#[test]
#[cfg(unix)]
fn what_became_a_pipe_or_a_device_is_stale_and_not_read() {
    let folder = project(&[("a.rs", "fn zebra() {}\n"), ("sub/b.rs", "fn zebra_too() {}\n")]);
    let index = indexed(folder.path());
    let [file, sub] = ["a.rs", "sub"].map(|name| folder.path().join(name));
    fs::remove_file(&file).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
    let elsewhere = project(&[("b.rs", "fn zebra_too() {}\n")]);
    fs::remove_dir_all(&sub).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), &sub).unwrap();
    let asked = |index: &CodeIndex| {
        let answer = SearchAnswer::of(index, &request("zebra", None), &RankingWeights::shipped().unwrap()).unwrap();
        assert_eq!(answer.stale, ["a.rs", "sub/b.rs"]);
        answer.answers.iter().map(|one| one.extent).collect::<Vec<_>>()
    };
    assert_eq!(asked(&index), [Extent::Stale, Extent::Stale]);
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
    assert_eq!(asked(&index), [Extent::Stale, Extent::Stale]);
}

#[test]
fn a_file_that_is_no_index_is_nobody_else_s() {
    let (folder, elsewhere) = (project(&[("a.rs", "fn a() {}\n")]), project(&[("notes.txt", "my notes\n")]));
    let file = elsewhere.path().join("notes.txt");
    let place = IndexPlace::of(folder.path(), Some(file.clone())).unwrap();
    let error = place.bring_up(true, &mut |_| {}).unwrap_err();
    assert!(error.to_string().ends_with("is there and is no index, expected one or a name that is free"), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "my notes\n");
    // A damaged index is one.
    fs::remove_file(&file).unwrap();
    place.bring_up(false, &mut |_| {}).unwrap();
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 9]).unwrap();
    place.bring_up(true, &mut |_| {}).unwrap();
    assert_eq!(fs::read(&file).unwrap(), bytes);
}

#[test]
fn answers_below_a_path_are_asked_for_as_it_is_typed() {
    let folder = project(&[("src/a.rs", "fn a() {}\n")]);
    let place = IndexPlace::of(folder.path(), None).unwrap();
    let both = |path: &str| vec![path.to_owned(), place.root.join(path).display().to_string()];
    for (typed, expected) in [("src", "src"), ("./src/", "src"), ("src/../src/a.rs", "src/a.rs")] {
        assert_eq!(place.below(typed).unwrap(), both(expected), "{typed}");
    }
    for all in ["", ".", "..", "/"] {
        assert_eq!(place.below(all).unwrap(), Vec::<String>::new(), "{all}");
    }
    assert_eq!(place.below(&place.root.join("src").to_string_lossy()).unwrap(), both("src"));
    let error = place.below("nowhere").unwrap_err();
    assert!(error.to_string().starts_with("cannot look below"), "{error}");
    let error = IndexPlace::of(std::path::Path::new("verify"), None).unwrap_err();
    assert_eq!(wb_core::error::hint(&error), Some("wb index --verify"));
}
