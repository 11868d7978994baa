//! Statuses of a server: one sentence and a way out each; those that pass are waited for.

use wb_fake_hub::{Access, Fault};
use wb_hub::{Hub, RepoKind, RepoRef, Settings, Why};

use crate::{Model, repo, wanted};

fn with_key(model: &Model, key: &str) -> Hub {
    Hub::new(Settings { key: Some(wb_core::key::Key::new(key).unwrap()), ..model.settings() })
}

fn refused(hub: &Hub, id: &str) -> (Why, String, String) {
    let error = hub.fetch(&repo(id), &wanted).unwrap_err();
    (Why::of(&error).unwrap(), error.to_string(), error.hint().unwrap_or_default().to_owned())
}

#[test]
fn absent_private_and_gated_repositories_are_told_apart() {
    let model = Model::new();
    let (why, told, hint) = refused(&model.client(), "o/none");
    assert_eq!((why, told.as_str()), (Why::NoRepository, "o/none: no public repository has this name"));
    assert!(hint.contains("/o/none") && hint.contains("HF_TOKEN"), "{hint}");
    assert_eq!(refused(&with_key(&model, "hf_good_token"), "o/none").0, Why::NoRepository);

    model.hub.restrict("o/n", Access::Private("hf_good_token".into()));
    assert_eq!(refused(&model.client(), "o/n").0, Why::NoRepository);
    assert_eq!(refused(&with_key(&model, "hf_other_token"), "o/n").0, Why::NoRepository);
    assert_eq!(model.fetched(&with_key(&model, "hf_good_token")).unwrap(), model.large);

    let model = Model::new();
    model.hub.restrict("o/n", Access::Gated("hf_good_token".into()));
    let (why, told, hint) = refused(&model.client(), "o/n");
    assert_eq!((why, told.as_str()), (Why::Gated, "o/n: is gated: its owner lets in who has accepted the terms"));
    assert!(hint.contains("accept them at") && hint.contains("HF_TOKEN"), "{hint}");
    let (why, told, _) = refused(&with_key(&model, "hf_other_token"), "o/n");
    assert_eq!(why, Why::Gated);
    assert!(told.contains("your token has no access"), "{told}");
    assert_eq!(model.fetched(&with_key(&model, "hf_good_token")).unwrap(), model.large);
}

#[test]
fn a_token_that_is_none_is_told_and_not_shown() {
    let model = Model::new();
    model.hub.fault(Fault::status("revision", 401, &[], "Invalid credentials hf_wrong_token"));
    let (why, told, hint) = refused(&with_key(&model, "hf_wrong_token"), "o/n");
    assert_eq!(why, Why::Token);
    assert!(told.contains("Invalid credentials [key]") && !told.contains("hf_wrong_token"), "{told}");
    assert!(hint.contains("settings/tokens"), "{hint}");
}

#[test]
fn a_revision_that_is_not_there() {
    let model = Model::new();
    let branch = RepoRef::new(RepoKind::Model, "o/n", "v9", "test").unwrap();
    let error = model.client().fetch(&branch, &wanted).unwrap_err();
    assert_eq!(Why::of(&error), Some(Why::NoRevision));
    assert_eq!(error.to_string(), "o/n@v9: the repository has no such branch, tag or commit");
}

#[test]
fn a_busy_server_is_waited_for_as_it_asks() {
    let model = Model::new();
    model.hub.fault(Fault::status("revision", 429, &[("retry-after", "0")], "slow down").times(2));
    model.hub.fault(Fault::status("tree", 503, &[], "upstream").times(2));
    model.hub.fault(Fault::status("resolve", 429, &[("ratelimit", "\"resolvers\";r=0;t=1")], "").times(1));
    let begun = std::time::Instant::now();
    assert_eq!(model.fetched(&model.client()).unwrap(), model.large);
    assert!(begun.elapsed() >= std::time::Duration::from_secs(1));
    // One that asks for long is told instead.
    model.hub.fault(Fault::status("revision", 429, &[("retry-after", "3600")], ""));
    let (why, told, hint) = refused(&model.client(), "o/n");
    assert_eq!((why, told.as_str()), (Why::Busy, "o/n: asks to wait 3600 s before the next request"));
    assert!(hint.contains("HF_TOKEN"), "{hint}");
}

#[test]
fn a_server_that_stays_broken_is_given_up() {
    for (status, expected) in [(500, Why::Unreachable), (503, Why::Unreachable), (429, Why::Busy), (418, Why::Refused)]
    {
        let model = Model::new();
        model.hub.fault(Fault::status("tree", status, &[], "no tea"));
        let (why, told, hint) = refused(&model.client(), "o/n");
        assert_eq!(why, expected, "{told}");
        assert!(!hint.is_empty());
        let asked = model.hub.requests().into_iter().filter(|request| request.path.contains("tree")).count();
        assert_eq!(asked, if status == 418 { 1 } else { 4 }, "{status}");
    }
}

#[test]
fn a_page_that_is_not_the_hubs_is_no_answer() {
    let model = Model::new();
    model.hub.fault(Fault::status("revision", 200, &[], "<html>please log in to the network</html>"));
    let (why, told, hint) = refused(&model.client(), "o/n");
    assert_eq!(why, Why::Nonsense);
    assert!(told.contains("answers what is not the hub's") && hint.contains("HF_ENDPOINT"), "{told} {hint}");
    model.hub.mend();
    model.hub.fault(Fault::status("revision", 200, &[], "{\"id\": \"o/n\", \"sha\": \"main\"}"));
    assert_eq!(refused(&model.client(), "o/n").0, Why::Nonsense);
}

#[test]
fn a_list_cannot_lead_out_of_the_folder() {
    let model = Model::new();
    for path in ["../../../evil", "a/../../evil", "/etc/evil", "a//b"] {
        model.hub.add("models", "o/evil", &[(path, b"x")]);
        let (why, told, _) = refused(&model.client(), "o/evil");
        assert_eq!(why, Why::Nonsense, "{told}");
        assert!(told.contains("no path inside a repository"), "{told}");
    }
}
