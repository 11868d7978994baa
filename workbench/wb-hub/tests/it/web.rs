//! Files at plain addresses.

use wb_fake_hub::Fault;
use wb_hub::{Hub, Settings, WebFile, Why};

use crate::Model;

fn file(model: &Model, name: &str, bytes: &[u8]) -> WebFile {
    let url = model.hub.add_web(name, bytes);
    WebFile { url, to: model.home.path().join("data").join(name), size: None, sha256: None }
}

#[test]
fn they_come_once_and_go_on_where_they_were_cut() {
    let model = Model::new();
    let files = [file(&model, "a.csv", b"a,b\n1,2\n"), file(&model, "b.zip", &model.large)];
    model.hub.fault(Fault::cut("b.zip", 12_345).times(1));
    model.client().web(&files).unwrap();
    assert_eq!(std::fs::read(&files[1].to).unwrap(), model.large);
    assert_eq!(model.hub.requests().iter().map(|request| request.from).collect::<Vec<_>>(), [None, None, Some(12_345)]);
    model.client().web(&files).unwrap();
    assert!(model.hub.requests().is_empty());
}

#[test]
fn a_hash_that_is_known_is_looked_at() {
    let model = Model::new();
    let mut known = file(&model, "b.zip", &model.large);
    known.sha256 = Some("0".repeat(64));
    let error = model.client().web(std::slice::from_ref(&known)).unwrap_err();
    assert_eq!(Why::of(&error), Some(Why::WrongBytes));
    assert!(!known.to.exists());
}

#[test]
fn refusals_and_offline_name_the_address_and_the_place() {
    let model = Model::new();
    let mut absent = file(&model, "a.csv", b"");
    absent.url += ".gone";
    let error = model.client().web(std::slice::from_ref(&absent)).unwrap_err();
    assert_eq!(error.to_string(), format!("{}: the server has no such file", absent.url));
    let hub = Hub::new(Settings { offline: Some("HF_HUB_OFFLINE"), ..model.settings() });
    let error = hub.web(std::slice::from_ref(&absent)).unwrap_err();
    assert_eq!(Why::of(&error), Some(Why::Offline));
    assert!(error.hint().unwrap().contains("data/a.csv"), "{error:?}");
}
