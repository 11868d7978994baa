//! Time on a GPU that is not here: a model, by the operations that the encoder takes, and told as one.

use wb_core::quantities::about_duration;
use wb_encoder::Folder;

use super::{
    estimate::{Work, total},
    lengths::Lengths,
    memory::linear,
    probe::Rates,
};

/// The GPU.
const NAME: &str = "an H200";
/// Operations a second: what MiniLM reached on it in bf16, 256 texts of 128 tokens at a time. Wider encoders reach more.
const RATE: f64 = 41e12;
/// Bytes a second of its memory.
const MEMORY: f64 = 4.8e12;
/// Bytes that an update of a weight reads and writes: weight, gradient and two moments, of which three are written.
const UPDATE: f64 = 28.0;

/// Operations of an encoder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Operations {
    /// Operations of a token forward: two for each weight of a linear layer; of attention four for each number of a query and
    /// each token of the text.
    forward: f64,
    /// Operations of a token forward and backward, in units of forward: twice, and once more for weights that train.
    learning: f64,
    /// Numbers that train.
    trainable: f64,
}

impl Operations {
    /// Operations of an encoder on texts of these lengths; none for one without layers, which needs no GPU.
    pub fn of(folder: &Folder, lengths: Lengths) -> Option<Self> {
        let stack = folder.model.architecture.stack()?;
        let linear = linear(&folder.model.architecture);
        let numbers = |only_trainable: bool| -> f64 {
            let counted = folder.model.parameters.iter().filter(|p| linear.contains(&p.name));
            counted.filter(|p| p.trainable || !only_trainable).map(|p| p.shape.iter().product::<usize>() as f64).sum()
        };
        let (all, training) = (numbers(false), numbers(true));
        let (query, document) = (lengths.query, lengths.document);
        // The mean over tokens of a pair.
        let length = (query * query + document * document) / (query + document).max(1.0);
        let attention = 4.0 * (stack.layers.len() * stack.heads.widths().0) as f64 * length;
        Some(Self {
            forward: 2.0 * all + attention,
            learning: 2.0 + training / all.max(1.0),
            trainable: folder.model.parameters.counts().1 as f64,
        })
    }

    /// Speeds of the GPU. Other encoders are as much faster there than here as this one.
    fn rates(&self, dim: f64, here: &Rates) -> Rates {
        let embed = RATE / self.forward;
        let faster = |rate: f64| rate * embed / here.embed;
        Rates {
            device: NAME.to_owned(),
            is_cpu: false,
            took: 0.0,
            embed,
            train: embed / self.learning,
            update: self.trainable * UPDATE / MEMORY,
            // A product forward and two backward.
            loss: 6.0 * dim / RATE,
            search: RATE / 2.0,
            rerank: here.rerank.map(faster),
            guide: here.guide.map(faster),
        }
    }

    /// Tells hours of the GPU by stage; nothing where no stage's time is known.
    pub fn told(&self, work: &Work, here: &Rates) -> Option<String> {
        let mut stages = work.stages(&self.rates(work.dim, here));
        // What the GPU has nothing to do with.
        stages.retain(|stage| stage.name != "data" && stage.seconds.is_some());
        let named =
            stages.iter().filter_map(|stage| Some(format!("{} {}", stage.name, about_duration(stage.seconds?))));
        let named: Vec<String> = named.collect();
        (!named.is_empty()).then(|| {
            format!(
                "{} of {NAME} ({}), reckoned by operations at {:.0} TFLOP/s; beside it, data and tokens come from processors",
                about_duration(total(&stages)),
                named.join(", "),
                RATE / 1e12
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::{
        estimate::{MiningWork, tests::rates},
        memory::tests::{bert, folder},
    };

    #[test]
    fn minilm_takes_the_operations_that_were_counted() {
        let lengths = Lengths { query: 128.0, document: 128.0, assumed: false };
        let all = Operations::of(&folder(bert()), lengths).unwrap();
        // 6 · (4 · 384² + 2 · 384 · 1,536) weights, and 4 · 6 · 384 · 128 of attention.
        assert_eq!(all.forward, 2.0 * 10_616_832.0 + 1_179_648.0);
        assert_eq!(all.learning, 3.0);
        // 256 texts of 128 tokens were 0.73 TFLOP, 18 ms.
        let pass = 256.0 * 128.0 / all.rates(384.0, &rates()).embed;
        assert!((0.0175..0.0185).contains(&pass), "{pass}");
    }

    #[test]
    fn stages_are_told_by_hand() {
        let operations = Operations { forward: 41e6, learning: 3.0, trainable: 0.0 };
        // A million tokens a second: 12 million pairs of 120 tokens are 24 minutes, their products another.
        let lengths = Some(Lengths { query: 20.0, document: 100.0, assumed: false });
        let mining = MiningWork { pairs: 1.2e7, embeds: true, by_own: true, rescored: 0.0, times: 1.0 };
        let work = Work { lengths, mining: Some(mining), dim: 10.0, ..Work::default() };
        let told = operations.told(&work, &rates()).unwrap();
        assert!(told.starts_with("about 25 minutes of an H200 (mining about 25 minutes), reckoned by"), "{told}");
        assert_eq!(operations.told(&Work::default(), &rates()), None);
    }
}
