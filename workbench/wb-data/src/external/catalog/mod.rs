//! The catalog: every data set that can be fetched by its name, and how a person's names are understood.
//!
//! Commits, names of files, sizes and hashes were taken from the repositories' own pages and from programs of others that
//! pin the same; what could not be seen is said in the entry's `note`.

mod codesearchnet;
mod coir;
mod pairs;
mod text_to_sql;

use wb_core::suggest;

use super::entry::Entry;
use crate::Result;

/// All data sets, in the order in which they are listed and fetched.
pub fn catalog() -> Vec<Entry> {
    let mut all = codesearchnet::entries();
    all.extend(pairs::cosqa());
    all.extend(coir::entries());
    all.extend(text_to_sql::entries());
    all.extend(pairs::entries());
    all
}

/// Names of data sets that are listed under their benchmark's.
const OTHER_NAMES: [(&str, &str); 1] = [("synthetic_text_to_sql", "synthetic-sql")];

/// The data sets that these names mean, in the catalog's order; `coir` is all of its tasks. Of data sets with languages
/// only the named ones are kept, where any are named.
pub fn find(names: &[String], languages: &[String]) -> Result<Vec<Entry>> {
    let all = catalog();
    let known = || all.iter().map(|entry| entry.name.as_str()).chain([coir::ALL]);
    let means = |name: &str, entry: &Entry| {
        let is_other_name = OTHER_NAMES.iter().any(|(other, own)| *other == name && *own == entry.name);
        entry.name == name || is_other_name || (name == coir::ALL && coir::is_task(&entry.name))
    };
    if let Some(name) = names.iter().find(|name| !all.iter().any(|entry| means(name, entry))) {
        let hint = suggest::nearest(name, known())
            .map_or_else(|| "`wb data get` lists all".to_owned(), |near| format!("did you mean `{near}`?"));
        return Err(wb_core::Error::unknown("data set", name).with_hint(hint));
    }
    let chosen: Vec<Entry> = all.iter().filter(|entry| names.iter().any(|name| means(name, entry))).cloned().collect();
    for language in languages {
        let of_chosen: Vec<&str> = chosen.iter().flat_map(Entry::languages).collect();
        if !of_chosen.contains(&language.as_str()) {
            let hint = match of_chosen.is_empty() {
                true => Some("what is named is not told apart by languages; leave --languages out".to_owned()),
                false => suggest::hint(language, codesearchnet::LANGUAGES),
            };
            return Err(wb_core::Error::unknown("language", language).with_hint_if(hint));
        }
    }
    Ok(chosen.into_iter().map(|entry| entry.in_languages(languages)).collect())
}

/// Records of everything that the catalog puts at a place under `datasets/external` or inside of it; none where it puts
/// nothing there, or their number is not known.
pub fn records_at(place: &str) -> Option<u64> {
    let inside = |part: &&super::entry::DataSetFolder| {
        part.place.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let all = catalog();
    let parts: Vec<_> = all.iter().flat_map(|entry| &entry.parts).filter(inside).collect();
    if parts.is_empty() { None } else { parts.iter().map(|part| part.records).sum() }
}

/// The name of the data set that brings a file or folder, by its place under `datasets/external`: the one with the folder
/// around it, else one that has a folder inside of it.
pub fn that_brings(place: &str) -> Option<String> {
    let all = catalog();
    let is_within = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let parts = || all.iter().flat_map(|entry| entry.parts.iter().map(move |part| (entry, part.place.as_str())));
    let around = parts().filter(|(_, own)| is_within(place, own)).max_by_key(|(_, own)| own.len());
    around.or_else(|| parts().find(|(_, own)| is_within(own, place))).map(|(entry, _)| entry.name.clone())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use wb_hub::{Digest, RepoKind, RepoRef};

    use super::*;
    use crate::external::Server;

    fn names(entries: &[Entry]) -> Vec<&str> {
        entries.iter().map(|entry| entry.name.as_str()).collect()
    }

    fn named(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn records_are_those_of_the_publishers() {
        let train = |language: &str| records_at(&format!("codesearchnet/{language}/final/jsonl/train"));
        assert_eq!(train("python"), Some(412_178));
        let all: u64 = codesearchnet::LANGUAGES.into_iter().filter_map(train).sum();
        assert_eq!(all, 1_880_853);
        assert_eq!((records_at("cosqa"), records_at("nothing")), (None, None));
    }

    #[test]
    fn a_place_is_brought_by_the_data_set_around_it() {
        for (place, expected) in [
            ("cosqa/cosqa-dev.json", Some("cosqa")),
            ("codesearchnet", Some("codesearchnet")),
            ("spider/train/train_gold.sql", Some("spider")),
            ("text-pairs", None),
        ] {
            assert_eq!(that_brings(place).as_deref(), expected, "{place}");
        }
    }

    #[test]
    fn names_mean_entries_in_the_order_of_the_catalog() {
        let found = find(&named("spider codesearchnet-annotations codesearchnet spider"), &[]).unwrap();
        assert_eq!(names(&found), ["codesearchnet", "codesearchnet-annotations", "spider"]);
        let tasks = find(&named("coir"), &[]).unwrap();
        assert_eq!(tasks.len(), 10);
        assert!(tasks.iter().all(|entry| entry.name.starts_with("coir-")));
    }

    #[test]
    fn a_name_that_is_nearly_right_is_offered() {
        let error = find(&named("spyder"), &[]).unwrap_err();
        assert_eq!(error.hint(), Some("did you mean `spider`?"));
        let error = find(&named("codesearchnet"), &named("rubi")).unwrap_err();
        assert_eq!(error.hint(), Some("did you mean `ruby`?"));
        assert!(find(&named("spider"), &named("ruby")).unwrap_err().hint().unwrap().contains("leave --languages out"));
    }

    #[test]
    fn languages_choose_parts() {
        let found = find(&named("codesearchnet cosqa"), &named("ruby go")).unwrap();
        let places: Vec<&str> = found[0].parts.iter().map(|part| part.place.as_str()).collect();
        let expected = [
            "codesearchnet/go/final/jsonl/test",
            "codesearchnet/go/final/jsonl/valid",
            "codesearchnet/ruby/final/jsonl/test",
            "codesearchnet/ruby/final/jsonl/valid",
        ];
        assert_eq!(places, expected);
        assert_eq!(found[1].parts.len(), 1);
    }

    #[test]
    fn the_page_about_data_names_every_entry() {
        let page = include_str!("../../../../../datasets/README.md");
        for entry in catalog() {
            let (before, task) = entry.name.split_once("coir-").unwrap_or(("", &entry.name));
            assert!(before.is_empty() && page.contains(&format!("`{task}`")), "{} is not there", entry.name);
        }
    }

    #[test]
    fn every_entry_can_be_asked_for() {
        let all = catalog();
        let places: BTreeSet<&str> =
            all.iter().flat_map(|entry| &entry.parts).map(|part| part.place.as_str()).collect();
        assert_eq!(places.len(), all.iter().map(|entry| entry.parts.len()).sum::<usize>(), "two parts at one place");
        for entry in &all {
            assert!(
                !entry.license.is_empty() && !entry.used_by.is_empty() && !entry.title.is_empty(),
                "{}",
                entry.name
            );
            for origin in entry.parts.iter().flat_map(|part| &part.origins) {
                match &origin.server {
                    Server::Hub { id, commit } => {
                        let repo = RepoRef::new(RepoKind::Dataset, id, commit, "catalog").unwrap();
                        assert!(repo.commit().is_some(), "{}: {commit} is no commit", entry.name);
                    }
                    Server::Github { commit, .. } => assert_eq!(commit.len(), 40, "{}", entry.name),
                    Server::Web { address } => assert!(address.starts_with("https://"), "{}", entry.name),
                }
                for file in &origin.files {
                    let of_hub = matches!(origin.server, Server::Hub { .. });
                    assert!(of_hub || !file.path.contains('*'), "{}: {}", entry.name, file.path);
                    match &file.digest {
                        Some(Digest::Sha256(hex)) => assert_eq!(hex.len(), 64, "{}", file.path),
                        Some(Digest::Git(hex)) => assert_eq!(hex.len(), 40, "{}", file.path),
                        None => assert!(of_hub, "{}: {} is not checked", entry.name, file.path),
                    }
                }
            }
        }
    }
}
