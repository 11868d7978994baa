//! Names that people type: benchmarks, runs, encoders, retrievers, devices.

use crate::sandbox::Sandbox;

#[test]
fn unknown_names_get_a_hint() {
    let sandbox = Sandbox::new();
    let told = sandbox.refusals(&[
        &["bench", "codesearchnt", "--dataset", "code"],
        &["bench", "cosqa", "--retriever", "bm52", "--dataset", "code"],
        &["bench", "cosqa", "--encoder", "nothing", "--dataset", "code"],
        &["bench", "cosqa", "--encoder", "owner/name", "--dataset", "code"],
        &["bench", "cosqa", "--encoder", "code", "--dataset", "code"],
        &["bench", "cosqa", "--retriever", "bm25"],
        &["bench", "cosqa", "--retriever", "bm25", "--dataset", "code"],
        &["bench", "codesearchnet", "--retriever", "bm25", "--dataset", "nowhere"],
        &["bench", "pairs", "--retriever", "bm25"],
        &["bench", "cosqa", "--retriever", "bm25", "--dataset", "code", "--require", "mrr=40"],
        &["report", "nothing"],
        &["report"],
        &["compare", "one", "two"],
    ]);
    insta::assert_snapshot!(told, @r"
    err: error: no benchmark `codesearchnt`
    err:   hint: did you mean `codesearchnet`?
    err: error: no retriever `bm52`
    err:   hint: did you mean `bm25`?
    err: error: no folder or run `nothing`
    err:   hint: name a folder, a run (`wb ls`), or an id of the hub, owner/name
    err: error: there is no folder owner/name here, and it cannot be had from the hub
    err:   cause: owner/name: [project]/.cache/huggingface/hub does not have which commit it is, and WB_OFFLINE forbids to ask for it
    err:   hint: give the command once without WB_OFFLINE, or name a folder with config.json, model.safetensors and tokenizer.json
    err: error: code: is a folder without an encoder: it has neither `config.json` nor `encoder.json`
    err:   hint: name a folder with config.json, model.safetensors and tokenizer.json, or a run (`wb ls`)
    err: error: datasets/external/cosqa: no data of cosqa is there
    err:   hint: wb data get cosqa; --dataset names another place; datasets/external has no data yet
    err: error: code: no data of benchmark cosqa found
    err:   hint: expected one of: code_idx_map.txt with cosqa-retrieval-test-500.json or cosqa-retrieval-dev-500.json
    err: error: cannot read nowhere
    err:   cause: no such folder
    err: error: no run `latest`
    err:   hint: runs has no run yet: wb run configs/quickstart.yaml
    err: error: --require mrr=40: expected a metric and a fraction, as in mrr=0.40
    err: error: no run `nothing`
    err:   hint: `wb ls` shows what there is
    err: error: no run `latest`
    err:   hint: runs has no run yet: wb run configs/quickstart.yaml
    err: error: no run `one`
    err:   hint: `wb ls` shows what there is
    ");
}

#[test]
fn a_device_that_this_build_lacks_is_an_error_that_says_what_to_do() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.wb(&["run", "tiny.yaml", "--device", "gpu"]), @r"
    exit 2
    err: error: invalid value 'gpu' for '--device <DEVICE>': cannot use device `gpu`: no device has this name, expected auto, cpu, cuda, cuda:1, metal, vulkan or wgpu; did you mean `cpu`?
    err:
    err: For more information, try '--help'.
    ");
    if cfg!(feature = "cuda") {
        return;
    }
    let told = sandbox.refusals(&[&["run", "tiny.yaml", "--device", "cuda"], &["doctor", "--device", "cuda"]]);
    insta::assert_snapshot!(told, @r"
    err: error: cannot use device `cuda`: this wb was built without the feature `cuda`
    err:   hint: cargo install --path workbench/wb --features cuda, or run with device=cpu
    err: error: cannot use device `cuda`: this wb was built without the feature `cuda`
    err:   hint: cargo install --path workbench/wb --features cuda, or run with device=cpu
    ");
    // A file for another machine can be checked on this one.
    let (out, _) = sandbox.succeeds(&["check", "tiny.yaml", "device=cuda:1"]);
    insta::assert_snapshot!(out.lines().find(|line| line.starts_with("lint: device")).unwrap(), @"lint: device: cannot use device `cuda:1`: this wb was built without the feature `cuda`: cargo install --path workbench/wb --features cuda, or run with device=cpu");
}

#[test]
fn a_hub_id_is_refused_offline() {
    let sandbox = Sandbox::new();
    let revision = "0123456789012345678901234567890123456789";
    let model = format!("encoder.model={{pretrained: {{id: owner/name, revision: \"{revision}\"}}}}");
    let told = sandbox.refusals(&[
        &["run", "tiny.yaml", &model],
        &["run", "tiny.yaml", "encoder.model={pretrained: {id: models/minilm/v2}}"],
        &["run", "tiny.yaml", "encoder.model={pretrained: {id: owner/name}}"],
    ]);
    insta::assert_snapshot!(told, @r"
    err: error: there is no folder owner/name here, and it cannot be had from the hub
    err:   cause: owner/name@0123456789012345678901234567890123456789: [project]/.cache/huggingface/hub does not have its files, and WB_OFFLINE forbids to ask for it
    err:   hint: give the command once without WB_OFFLINE, or name a folder with config.json, model.safetensors and tokenizer.json
    err: error: no folder `models/minilm/v2`
    err:   hint: name a folder with config.json, model.safetensors and tokenizer.json, a run (`wb ls`), or an id of the hub, owner/name
    err: error: there is no folder owner/name here, and it cannot be had from the hub
    err:   cause: owner/name: [project]/.cache/huggingface/hub does not have which commit it is, and WB_OFFLINE forbids to ask for it
    err:   hint: give the command once without WB_OFFLINE, or name a folder with config.json, model.safetensors and tokenizer.json
    ");
}
