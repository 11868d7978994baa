//! Mining is the same on another device: mining by the CPU's own kernels and by burn's CPU device.

use std::{path::Path, sync::atomic::AtomicBool};

use wb_core::{Pair, Seed, progress::silent};
use wb_encoder::{
    Backbone, BurnBackbone, DeviceConfig, Folder,
    train::{Moment, PromptsConfig, TokenizeRequest},
};
use wb_retrieval::mining::{MinedPairs, MiningConfig, Negative, mine};

/// Scores of two devices differ by rounding; documents whose scores are nearer than this are tied.
const TIED: f32 = 2e-5;

const WORDS: [&str; 16] = [
    "list", "file", "number", "name", "add", "sort", "read", "line", "word", "age", "singer", "function", "return",
    "text", "items", "table",
];

fn pairs() -> Vec<Pair> {
    let word = |at: usize| WORDS[at % WORDS.len()];
    let pair = |at: usize| Pair {
        id: format!("p{at}"),
        anchor: format!("{} the {} of a {} {}", word(at), word(at / 3 + 5), word(at * 7 + 1), at % 9),
        positive: format!(
            "def {}_{}({}): return {}({})",
            word(at),
            word(at / 3 + 5),
            word(at * 7 + 1),
            word(at * 5),
            at
        ),
        ..Pair::default()
    };
    (0..240).map(pair).collect()
}

/// Negatives by the kernels, and by burn.
fn mined(folder: &Folder, config: &MiningConfig) -> [MinedPairs; 2] {
    let device = DeviceConfig::Cpu.open().unwrap();
    let kernels = device.open_backbone(folder.model.clone()).unwrap();
    let burn = BurnBackbone::new(folder.model.clone(), device.burn(), "flex").unwrap();
    let late = folder.late_interaction.as_ref();
    let tokenize = |wanted: TokenizeRequest<'_>| match late {
        Some(late) => late.tokenize(&folder.tokenizer, "", wanted.text, wanted.side, 32),
        None => folder.tokenizer.encode("", wanted.text, 32),
    };
    let (pairs, stop, prompts) = (pairs(), AtomicBool::new(false), PromptsConfig::default());
    let both: [&dyn Backbone; 2] = [kernels.as_ref(), &burn];
    both.map(|backbone| {
        let moment = Moment { backbone, late_interaction: late, tokenize: &tokenize, prompts: &prompts, stop: &stop };
        mine(&pairs, &[], &moment, config, (Seed(3), 0), None, &mut silent).unwrap()
    })
}

/// Asserts the same negatives in the same order, but for ties: documents in each other's places whose scores are
/// equal up to rounding, and one more or less where a score stands at the margin. Gives how many of those there were.
fn assert_same(folder: &Folder, config: &MiningConfig) -> usize {
    let [kernels, burn] = mined(folder, config);
    let margin = config.rules().relative_margin.unwrap();
    let (mut ties, mut all) = (0, 0);
    for (a, b) in kernels.mined.pairs.iter().zip(&burn.mined.pairs) {
        assert!((a.positive_score - b.positive_score).abs() < TIED);
        let limit = (a.positive_score - a.positive_score.abs() * margin, 2.0 * TIED);
        let near = |x: f32, y: f32| (x - y).abs() < TIED;
        let documents = |of: &[Negative]| of.iter().map(|negative| negative.document).collect::<Vec<_>>();
        all += a.negatives.len();
        if documents(&a.negatives) == documents(&b.negatives) {
            let scores = a.negatives.iter().zip(&b.negatives);
            assert!(scores.into_iter().all(|(a, b)| near(a.score.unwrap(), b.score.unwrap())));
            continue;
        }
        // Past a document at the margin that one of them took, both go on alike.
        let at_margin = |of: &Negative| (of.score.unwrap() - limit.0).abs() < limit.1;
        let rest = |of: &[Negative]| of.iter().filter(|negative| !at_margin(negative)).copied().collect::<Vec<_>>();
        let (a, b) = (rest(&a.negatives), rest(&b.negatives));
        for (a, b) in a.iter().zip(&b) {
            assert!(near(a.score.unwrap(), b.score.unwrap()), "{a:?} and {b:?} are no tie");
        }
        ties += 1;
    }
    assert!(all > 250, "only {all} negatives");
    ties
}

/// One vector a text, and one a token: what is reported is the same up to ties, and those are few.
#[test]
fn mining_gives_the_same_negatives_by_kernels_and_by_burn() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wb-encoder/tests/golden");
    let config: MiningConfig = serde_json::from_str(r#"{"per_pair": 6, "relative_margin": 0.002}"#).unwrap();
    let dense = Folder::read(&golden.join("tiny-bert")).unwrap();
    let mut late = dense.clone();
    let settings = serde_json::from_str(r#"{"dim": 16, "expansion": 12, "attend": false}"#).unwrap();
    late.add_late_interaction(&settings, Seed(2), "late").unwrap();
    let t5 = Folder::read(&golden.join("tiny-t5")).unwrap();
    for (name, folder) in [("one vector a text", dense), ("one vector a token", late), ("T5", t5)] {
        let ties = assert_same(&folder, &config);
        println!("{name}: {ties} of 240 pairs differ by ties");
        assert!(ties <= 12, "{name}: {ties} of 240 pairs differ by ties");
    }
}
