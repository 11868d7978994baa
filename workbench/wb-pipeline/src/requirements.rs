//! Metrics that a command has to reach, as they are typed: `mrr=0.40`.

use anyhow::{Result, bail};
use wb_sql::benchmarks::SqlBenchmark;

/// A metric and its least value, of `mrr=0.40`.
pub fn requirement(text: &str) -> Result<(String, f64)> {
    let parsed =
        text.split_once('=').and_then(|(metric, value)| Some((metric.to_lowercase(), value.parse::<f64>().ok()?)));
    match parsed {
        Some((metric, value)) if (0.0..=1.0).contains(&value) => Ok((metric, value)),
        _ => bail!("--require {text}: expected a metric and a fraction, as in mrr=0.40"),
    }
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
