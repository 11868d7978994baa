//! The work as it is cut for several machines: bytes that they keep in their common place, and their hours.

use wb_core::quantities::{about, about_bytes, about_duration};

use super::{estimate::StageCost, plan::Planning};
use crate::config::Experiment;

/// Bytes of a number of a vector, and of a hit in a ranking.
const NUMBER: f64 = 4.0;
const HIT: f64 = 8.0;
/// Bytes of a hard negative: its document's id, its score and its place.
const BY_ID: f64 = 40.0;
/// Bytes of a token of text.
const TOKEN: f64 = 4.0;
/// Numbers of machines that are told of.
const MACHINES: [f64; 2] = [8.0, 64.0];

/// Bytes by what they are.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Volumes {
    pairs: f64,
    texts: f64,
    /// Numbers of a vector, and bytes of both sides' vectors.
    vectors: Option<(f64, f64)>,
    /// Documents of a ranking, and bytes of all.
    rankings: Option<(f64, f64)>,
    /// Negatives of a pair, and bytes of all.
    negatives: Option<(f64, f64)>,
}

impl Volumes {
    /// Volumes of an experiment; none where the number of its pairs is not known.
    pub fn of(experiment: &Experiment, planning: &Planning) -> Option<Self> {
        let (sizes, lengths) = (planning.sizes?, planning.work.lengths?);
        let pairs = sizes.train;
        let texts = pairs * TOKEN * (lengths.query + lengths.document);
        let mut volumes = Self { pairs, texts, ..Self::default() };
        if let Some(mining) = planning.work.mining {
            let rules = experiment.negatives.clone().unwrap_or_default().rules();
            let depth = rules.depth(1, 1, mining.rescored > 0.0).1 as f64;
            volumes.rankings = Some((depth, pairs * depth * HIT));
            volumes.negatives = Some((rules.per_pair as f64, pairs * rules.per_pair as f64 * BY_ID));
            if mining.embeds && !planning.work.by_tokens {
                volumes.vectors = Some((planning.work.dim, 2.0 * pairs * planning.work.dim * NUMBER));
            }
        }
        Some(volumes)
    }

    /// Tells them in one sentence.
    pub fn told(&self) -> String {
        let mut parts = vec![format!("{} of texts", about_bytes(self.texts))];
        if let Some((dim, bytes)) = self.vectors {
            parts.push(format!("{} of vectors ({dim} numbers, both sides)", about_bytes(bytes)));
        }
        if let Some((depth, bytes)) = self.rankings {
            parts.push(format!("{} of rankings ({depth} documents a query)", about_bytes(bytes)));
        }
        if let Some((each, bytes)) = self.negatives {
            parts.push(format!("{} of hard negatives ({each} a pair)", about_bytes(bytes)));
        }
        format!("{} training pairs: {}", about(self.pairs), parts.join(", "))
    }
}

/// Hours of machines like this one: stages that are cut, on several of them, and the others on one. Start and merge are
/// beside that. None where nothing is known of a stage that is cut.
pub fn machines(stages: &[StageCost], streaming: bool) -> Option<String> {
    let is_cut = |stage: &&StageCost| stage.name == "mining" || (streaming && stage.name == "data");
    let cut = stages.iter().filter(is_cut).filter_map(|stage| Some((stage, stage.seconds?)));
    let on = |seconds: f64| MACHINES.map(|n| format!("{} on {n}", about_duration(seconds / n))).join(", ");
    let mut told: Vec<String> =
        cut.map(|(stage, seconds)| format!("{} {}, {}", stage.name, about_duration(seconds), on(seconds))).collect();
    if told.is_empty() {
        return None;
    }
    let alone = stages.iter().filter(|stage| !is_cut(stage)).filter_map(|stage| stage.seconds).sum::<f64>();
    told.push(format!("all else {}, on one", about_duration(alone)));
    Some(told.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_and_hours_by_hand() {
        // 2 million pairs of 20 and 100 tokens; 384 numbers; 100 places; 4 negatives.
        let volumes = Volumes {
            pairs: 2e6,
            texts: 2e6 * 480.0,
            vectors: Some((384.0, 2.0 * 2e6 * 384.0 * 4.0)),
            rankings: Some((100.0, 2e6 * 800.0)),
            negatives: Some((4.0, 2e6 * 4.0 * BY_ID)),
        };
        assert_eq!(
            volumes.told(),
            "2 million training pairs: 960 MB of texts, 6.1 GB of vectors (384 numbers, both sides), 1.6 GB of rankings \
             (100 documents a query), 320 MB of hard negatives (4 a pair)"
        );
        let stage = |name: &str, seconds: f64| StageCost { name: name.to_owned(), seconds: Some(seconds) };
        let stages = [stage("data", 7200.0), stage("mining", 57_600.0), stage("train", 36_000.0)];
        assert_eq!(
            machines(&stages, false).unwrap(),
            "mining about 16 hours, about 2 hours on 8, about 15 minutes on 64; all else about 12 hours, on one"
        );
        assert!(machines(&stages, true).unwrap().starts_with("data about 2 hours, about 15 minutes on 8, "));
        assert_eq!(machines(&stages[2..], true), None);
    }
}
