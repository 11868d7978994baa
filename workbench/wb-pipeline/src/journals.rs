//! The journals of a run in the formats of other tools, where the YAML asks for them.

use anyhow::Result;
use serde_json::{Map, Value};
use wb_core::{Error, RunDir};
use wb_encoder::journals::Journals;

use crate::config::Experiment;

/// Writes them anew from the run's own journals.
pub fn write(experiment: &Experiment, run: &RunDir) -> Result<()> {
    if experiment.journals.is_empty() {
        return Ok(());
    }
    let config = match serde_json::to_value(experiment) {
        Ok(Value::Object(map)) => map,
        Ok(_) => Map::new(),
        Err(error) => return Err(Error::data("configuration", error.to_string()).into()),
    };
    let (metrics, validation) = (run.metrics(), run.validation());
    let journals = Journals { metrics: &metrics, validation: &validation, started: day_of(run.id()), config: &config };
    Ok(journals.write(&experiment.journals, run.folder())?)
}

/// Midnight of the day in a run's id, in seconds since 1970: the same however often the run was resumed.
fn day_of(id: &str) -> f64 {
    let day = id.get(..10).and_then(|day| day.parse::<jiff::civil::Date>().ok());
    let midnight = day.and_then(|day| day.to_zoned(jiff::tz::TimeZone::UTC).ok());
    midnight.map_or(0.0, |midnight| midnight.timestamp().as_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_s_day_is_in_its_id() {
        // `date -u -d 2026-11-22 +%s`
        assert_eq!(day_of("2026-11-22-tiny-1a2b3c4d"), 1_795_305_600.0);
        assert_eq!(day_of("elsewhere"), 0.0);
    }
}
