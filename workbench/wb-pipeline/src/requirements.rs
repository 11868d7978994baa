//! Metrics that a command has to reach, as they are typed: `mrr=0.40`.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use wb_sql::benchmarks::SqlBenchmark;

use crate::output;

/// A metric and its least value, of `mrr=0.40`.
pub fn requirement(text: &str) -> Result<(String, f64)> {
    let parsed =
        text.split_once('=').and_then(|(metric, value)| Some((metric.to_lowercase(), value.parse::<f64>().ok()?)));
    match parsed {
        Some((metric, value)) if (0.0..=1.0).contains(&value) => Ok((metric, value)),
        _ => bail!("--require {text}: expected a metric and a fraction, as in mrr=0.40"),
    }
}

/// True where each metric of a set reaches what is required of it; tells of those that do not.
pub fn reached(metrics: &BTreeMap<String, f64>, require: &[(String, f64)], set: &str) -> Result<bool> {
    let mut all = true;
    for (metric, least) in require {
        let Some(value) = metrics.get(metric) else {
            let known: Vec<&str> = metrics.keys().map(String::as_str).collect();
            bail!("--require {metric}={least}: {set} has no metric `{metric}`, but {}", known.join(", "));
        };
        if value < least {
            output::note(format!("{metric} is {value:.4}, required is {least}"));
            all = false;
        }
    }
    Ok(all)
}

/// Requirements, each of a metric that the benchmark has.
pub fn of_sql(typed: &[String], benchmark: SqlBenchmark) -> Result<Vec<(String, f64)>> {
    let requirements = typed.iter().map(|text| requirement(text)).collect::<Result<Vec<_>>>()?;
    for (metric, least) in &requirements {
        if !benchmark.metrics().contains(&metric.as_str()) {
            let known = benchmark.metrics().join(", ");
            bail!("--require {metric}={least}: {} has no metric `{metric}`, but {known}", benchmark.name());
        }
    }
    Ok(requirements)
}
