//! Hints of errors, and an error in one line.

use std::{borrow::Cow, io::ErrorKind, path::Path};

use wb_core::{Error, suggest, untrusted::clean};

/// An error with its causes and its hint in one line.
pub fn in_one_line(error: &anyhow::Error) -> String {
    match hint(error) {
        Some(hint) => format!("{error:#}; {hint}"),
        None => format!("{error:#}"),
    }
}

/// The hint of an error: the first in the chain of its causes; else what is in place of a file that is not there.
pub fn hint(error: &anyhow::Error) -> Option<Cow<'_, str>> {
    let own = wb_core::error::hint(error.as_ref()).map(Cow::Borrowed);
    own.or_else(|| error.chain().find_map(|cause| instead(cause.downcast_ref()?)).map(Cow::Owned))
}

/// The nearest name in the folder of a file that is not there, or the folder that is not there either.
fn instead(error: &Error) -> Option<String> {
    let Error::Io { action: "read", path, source } = error else { return None };
    let (folder, name) = (path.parent()?, path.file_name()?.to_str()?);
    if source.kind() != ErrorKind::NotFound {
        return None;
    }
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let listing = match std::fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Some(format!("there is no folder {}", clean(&folder.display().to_string())));
        }
        Err(_) => return None,
    };
    let names: Vec<String> = listing.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    // A link to nothing has the name that was typed.
    let others = names.iter().map(String::as_str).filter(|other| *other != name);
    let near = path.with_file_name(suggest::nearest(name, others)?);
    Some(format!("did you mean {}?", clean(&near.display().to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    /// Errors with a hint, one of each crate that has some, and words of the hint.
    fn told() -> Vec<(&'static str, Error, &'static str)> {
        let tree = wb_code::tree::TreeConfig { path: Some("no/such/folder".into()), ..Default::default() };
        let llm = wb_llm::LlmConfig { base_url: "http://203.0.113.7:80".into(), ..Default::default() };
        let synth = wb_synth::SynthConfig { review: Some("review.jsonl".into()), ..Default::default() };
        let rows = wb_data::Error::record("a:1:1", "not JSON", "not JSON").with_hint("on_bad: skip");
        let repo = wb_hub::RepoRef::new(wb_hub::RepoKind::Model, "o/n", "..", "encoder.model");
        let catalogs = std::env::temp_dir().join("wb-no-such-folder");
        vec![
            ("core", wb_core::RunDir::open(&catalogs, "none").unwrap_err(), "wb ls"),
            ("code", wb_code::tree::tree_fingerprint(&tree).unwrap_err(), "cargo fetch"),
            ("data", rows, "on_bad: skip"),
            ("hub", repo.unwrap_err(), "the main branch"),
            ("encoder", "vulcan".parse::<wb_encoder::DeviceConfig>().unwrap_err(), "vulkan"),
            ("retrieval", "ndgc@10".parse::<wb_retrieval::Metric>().unwrap_err(), "ndcg"),
            ("bench", wb_bench::BenchmarkConfig::named("codesearchnt").unwrap_err(), "codesearchnet"),
            ("llm", llm.validate("llm").unwrap_err(), "allow_remote"),
            ("sql", wb_sql::no_schema("shop", ["shops"].into_iter()), "shops"),
            ("synth", synth.validate("synth").unwrap_err(), "review=review.jsonl"),
            ("text2sql", wb_text2sql::Error::failed("none").with_hint("name one"), "name one"),
            #[cfg(feature = "report")]
            (
                "report",
                wb_report::report(Path::new("no/such/run"), Path::new("out"), &mut |_| {}).unwrap_err(),
                "wb ls",
            ),
        ]
    }

    #[test]
    fn a_file_that_is_not_there_has_the_nearest_name_as_its_hint() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("weights.yaml"), "").unwrap();
        let hint_of = |name: &str| {
            let path = folder.path().join(name);
            let error = std::fs::read(&path).map_err(Error::io("read", &path)).context("reading").unwrap_err();
            hint(&error).map(|hint| hint.replace(&folder.path().display().to_string(), "F"))
        };
        assert_eq!(hint_of("wieghts.yaml").as_deref(), Some("did you mean F/weights.yaml?"));
        assert_eq!(hint_of("other.json"), None);
        assert_eq!(hint_of("none/weights.yaml").as_deref(), Some("there is no folder F/none"));
    }

    #[test]
    fn hints_of_all_crates_are_found_below_what_was_being_done() {
        for (name, error, expected) in told() {
            assert!(error.hint().is_some_and(|hint| hint.contains(expected)), "{name}: {error:?}");
            let within = error.within("inside");
            let wrapped = Err::<(), _>(within).context("reading").context("running").unwrap_err();
            assert!(hint(&wrapped).is_some_and(|hint| hint.contains(expected)), "{name}: {wrapped:#}");
        }
    }
}
