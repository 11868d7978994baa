//! Cross-encoders on the device: scores of pairs and gradients, with the types of tokens and the layers above the model.

use std::path::Path;

use wb_encoder::{BurnBackbone, CrossEncoder, DeviceConfig, Dropout, Folder};

use crate::{
    passes::{GRADIENTS, Loss, STATES, apart, norm, step},
    test_device,
};

#[test]
fn scores_and_gradients_of_pairs_are_those_of_the_processor() {
    let texts = [
        ("sort a list", "def sort(xs):\n    return sorted(xs)"),
        ("read a file", "with open(path) as file:\n    return file.read()"),
        ("what is this?", "x"),
    ];
    for name in ["tiny-cross-encoder", "tiny-cross-encoder-modernbert"] {
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
        let mut folder = Folder::read_cross_encoder(&place).unwrap();
        let pairs = CrossEncoder::read(&place).unwrap().tokenize(&texts).unwrap();
        assert_eq!(pairs.iter().any(|pair| pair.types.contains(&1)), name == "tiny-cross-encoder");
        let batch = folder.pair_reading.as_ref().unwrap().batch(&pairs);
        folder.model.parameters.iter_mut().for_each(|one| one.trainable = true);
        let cpu = DeviceConfig::Cpu.open().unwrap().open_backbone(folder.model.clone()).unwrap();
        let other = BurnBackbone::new(folder.model.clone(), test_device().burn(), "test device").unwrap();
        let run = |backbone| step(backbone, &batch, Some(Dropout { seed: 3 }), Loss::Embeddings);
        let (expected, found) = (run(&*cpu), run(&other));
        let error = apart(&found.embeddings, &expected.embeddings);
        assert!(error <= STATES, "{name}: scores {error:.2e} apart");
        let size = |gradient: &[f32]| norm(gradient.iter().map(|g| f64::from(*g)));
        let largest = expected.gradients.iter().map(|gradient| size(gradient)).fold(0.0, f64::max);
        let mut worst = (0.0, "");
        for ((a, b), weight) in
            found.gradients.iter().zip(expected.gradients.iter()).zip(folder.model.parameters.iter())
        {
            let error = norm(a.iter().zip(b).map(|(a, b)| f64::from(a - b))) / size(b).max(1e-3 * largest);
            // That of a key's bias is zero but for rounding.
            if error > worst.0 && !weight.name.ends_with("key.bias") {
                worst = (error, weight.name.as_str());
            }
        }
        eprintln!(
            "{}: {name}: scores {error:.1e}, gradients {:.1e} apart ({})",
            test_device().description,
            worst.0,
            worst.1
        );
        assert!(worst.0 <= GRADIENTS, "{name}: {worst:?}");
    }
}
