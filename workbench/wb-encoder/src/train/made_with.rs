//! The origin of a training: fingerprints of everything that decides its bytes.

use std::collections::BTreeMap;

use wb_core::fingerprint::Fingerprint;

use super::{Meeting, TrainJob, objectives::Objectives};
use crate::{error::Result, parameters::Parameters};

fn meeting(meeting: Meeting<'_>) -> String {
    match meeting {
        Meeting::Vectors => String::new(),
        Meeting::Tokens(late) => format!("{:?}", late.config()),
        Meeting::Together(reading, max_tokens) => Fingerprint::of_json(&(reading, max_tokens)).to_string(),
    }
}

/// Everything that must be the same to go on from a checkpoint.
pub(super) fn made_with(
    job: &TrainJob<'_>,
    parameters: &Parameters,
    objectives: Option<&Objectives<'_>>,
) -> Result<BTreeMap<String, String>> {
    let mut names = Fingerprint::builder();
    let mut frozen = Fingerprint::builder();
    for parameter in parameters.iter() {
        names.text(&parameter.name).number(u64::from(parameter.trainable));
        parameter.shape.iter().for_each(|side| {
            names.number(*side as u64);
        });
        if !parameter.trainable {
            parameter.values.add_to(&mut frozen);
        }
    }
    let entries = [
        ("config", Fingerprint::of_json(&job.config.as_begun()).to_string()),
        ("frozen weights", frozen.finish().to_string()),
        ("meeting", meeting(job.meeting)),
        ("guide", job.guide.map(|guide| guide.fingerprint().to_string()).unwrap_or_default()),
        ("names and shapes of weights", names.finish().to_string()),
        ("pairs", job.pairs.fingerprint()?.to_string()),
        ("seed", job.seed.0.to_string()),
        ("validation pairs", job.validation.fingerprint().to_string()),
        ("code", job.build.to_owned()),
    ];
    let classes = objectives.map(|objectives| ("classes of objectives", objectives.fingerprint().to_string()));
    Ok(entries.into_iter().chain(classes).map(|(key, value)| (key.to_owned(), value)).collect())
}
