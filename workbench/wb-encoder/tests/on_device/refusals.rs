//! Weights that a refused product has marked as missing, which happens on Hopper where memory runs out.

#[cfg(not(feature = "refusals"))]
#[test]
fn passes_and_steps_go_on_after_weights_were_marked_as_missing() {
    let why = "a build without the feature refusals";
    crate::own_process::skipped("passes_and_steps_go_on_after_weights_were_marked_as_missing", why);
}

#[cfg(feature = "refusals")]
#[test]
fn passes_and_steps_go_on_after_weights_were_marked_as_missing() {
    use wb_encoder::{
        Backbone, BurnBackbone, Pooling,
        train::{TrainConfig, state::TrainState},
    };

    use crate::{
        passes::{batch, bert, model},
        resident::step,
        test_device,
    };

    let mut backbone =
        BurnBackbone::new(model(bert(), Pooling::Mean, true), test_device().burn(), "test device").unwrap();
    let batch = batch(&[9, 16, 3, 12]);
    let of_all = backbone.traffic().uploaded;
    let expected = backbone.embed(&batch).unwrap();
    let of_pass = backbone.traffic().uploaded - of_all;
    backbone.mark_as_missing(false);
    assert_eq!(backbone.embed(&batch).unwrap(), expected);
    // The first pass was refused, all weights crossed again, and the pass was done again.
    assert_eq!(backbone.traffic().uploaded, 2 * of_all + 3 * of_pass);

    // Weights that live on the device have changed there, and are nowhere else.
    let mut state = TrainState::new(&TrainConfig::default(), backbone.parameters()).unwrap();
    state.settle(&mut backbone).unwrap();
    step(&mut backbone, &mut state, &batch, 1);
    let after = backbone.embed(&batch).unwrap();
    assert!(after != expected);
    backbone.mark_as_missing(false);
    assert_eq!(backbone.embed(&batch).unwrap(), after);
    // Marked by a pass that nothing was read of.
    backbone.mark_as_missing(false);
    backbone.resident().unwrap().verify().unwrap();
    backbone.mark_as_missing(false);
    state.bring_home(&mut backbone).unwrap();
    assert_eq!(backbone.embed(&batch).unwrap(), after);

    // An update that was itself refused is told, and its weights are not trusted.
    backbone.mark_as_missing(true);
    state.gradient_norm(&mut backbone).unwrap();
    state.update(&mut backbone, 1e-3, 1.0, 2).unwrap();
    let error = backbone.resident().unwrap().verify().unwrap_err();
    assert!(error.to_string().contains("its memory ran out"), "{error}");
    assert!(backbone.embed(&batch).is_err());
}
