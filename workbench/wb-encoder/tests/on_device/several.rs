//! The device beside the processor: together they compute what the processor does alone.

use wb_encoder::{BurnBackbone, DeviceConfig, Dropout, Pooling, SeveralBackbones};

use crate::{
    passes::{GRADIENTS, Loss, STATES, apart, batch, bert, model, norm, step},
    test_device,
};

#[test]
fn a_device_and_the_processor_share_a_batch() {
    let cpu = || DeviceConfig::Cpu.open().unwrap().open_backbone(model(bert(), Pooling::Mean, true)).unwrap();
    let other = BurnBackbone::new(model(bert(), Pooling::Mean, true), test_device().burn(), "test device").unwrap();
    let both = SeveralBackbones::new(vec![Box::new(other), cpu()]).unwrap();
    let batch = batch(&[9, 16, 3, 12, 5, 14]);
    for loss in [Loss::Embeddings, Loss::States] {
        let expected = step(&*cpu(), &batch, Some(Dropout { seed: 3 }), loss);
        let found = step(&both, &batch, Some(Dropout { seed: 3 }), loss);
        assert!(apart(&found.embeddings, &expected.embeddings) <= STATES);
        assert!(apart(&found.states, &expected.states) <= STATES);
        for (a, b) in found.gradients.iter().zip(expected.gradients.iter()).filter(|(a, _)| !a.is_empty()) {
            let size = norm(b.iter().map(|b| f64::from(*b)));
            let error = norm(a.iter().zip(b).map(|(a, b)| f64::from(a - b))) / size;
            assert!(error <= GRADIENTS, "{error:.2e} of {size:.2e}");
        }
    }
}
