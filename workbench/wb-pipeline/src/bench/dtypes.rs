//! An encoder with its weights in other types, measured beside itself.

use std::path::Path;

use anyhow::Result;
use wb_bench::{BenchContestant, BenchmarkPlan, Cosines, Options, OutcomeComparison, Scorer, compare, cosines};
use wb_core::{
    Encoder as _, Progress,
    records::outcome::{CONTESTANT_SETTING, ContestantOutcome},
};
use wb_encoder::{BiEncoder, DeviceConfig, MemoryType, dense::DenseLayer};

use crate::{device, encoder::note_products, output};

/// An encoder with its own weights, and its numbers on a benchmark.
pub struct OwnWeights<'a> {
    pub encoder: &'a BiEncoder,
    pub plan: &'a BenchmarkPlan,
    pub scorer: &'a Scorer<'a>,
    pub settings: &'a [(String, String)],
    pub options: Options<'a>,
    pub outcome: &'a ContestantOutcome,
    /// Protocols and metrics that count first.
    pub main: &'static [(&'static str, &'static str)],
    pub device: DeviceConfig,
    /// The encoder's folder, for the device's self-test.
    pub place: Option<&'a Path>,
}

/// The cost and the gain of weights in another type.
pub struct ComparedDtype {
    /// Benchmark, and the encoder's name.
    title: String,
    dtype: MemoryType,
    /// Bytes of the weights as they were and as they are.
    memory: [usize; 2],
    cosines: Cosines,
    comparison: OutcomeComparison,
}

impl OwnWeights<'_> {
    /// Measures the encoder with its weights in a type.
    pub fn beside(
        &self,
        dtype: MemoryType,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(ContestantOutcome, ComparedDtype)> {
        let name = format!("{} in {dtype}", self.encoder.name());
        let device = device::open_for(self.device, self.place, dtype.precision().unwrap_or_default())?;
        let encoder = BiEncoder::open_kept_as(self.encoder.to_folder(), dtype, &device)?.named(name);
        let mut scorer = BenchContestant::Encoder(&encoder).prepare(&self.plan.texts, progress)?;
        scorer = scorer.known_as(self.scorer.role(), self.scorer.base().map(str::to_owned));
        let mut settings = self.settings.to_vec();
        settings.push((format!("{CONTESTANT_SETTING}weights in memory"), dtype.to_string()));
        let outcome = wb_bench::run(self.plan, &scorer, &settings, self.options, progress)?;
        let compared = ComparedDtype {
            title: format!("{}, {}", outcome.benchmark, self.encoder.name()),
            dtype,
            memory: [self.encoder, &encoder].map(memory),
            cosines: cosines(self.scorer, &scorer)?,
            comparison: compare(self.outcome, &outcome, self.main, self.options.seed)?,
        };
        Ok((outcome, compared))
    }
}

/// Refuses types that the encoder's weights cannot be kept in.
pub fn check(encoder: &BiEncoder, device: DeviceConfig, dtypes: &[MemoryType]) -> Result<()> {
    if dtypes.is_empty() {
        return Ok(());
    }
    let folder = encoder.to_folder();
    note_products(device, dtypes)?;
    Ok(dtypes.iter().try_for_each(|dtype| folder.check_memory_type(*dtype))?)
}

/// Bytes that an encoder's weights take, layers after the pooling among them.
fn memory(encoder: &BiEncoder) -> usize {
    let of_backbone = encoder.backbone().parameters().iter().map(|parameter| parameter.values.memory());
    of_backbone.chain(encoder.settings().dense.iter().map(DenseLayer::memory)).sum()
}

/// Prints what each type costs and saves.
pub fn print(all: &[ComparedDtype]) {
    for same in all.chunk_by(|a, b| a.title == b.title) {
        let metric = same[0].comparison.rows.get(same[0].comparison.main).map_or("", |row| row.metric.as_str());
        output::line(format!("\n{}: weights in other types against its own", same[0].title));
        let rows: Vec<Vec<String>> = same.iter().map(ComparedDtype::row).collect();
        let columns =
            ["weights", "MB", "of MB", "cosine, mean", "least", "protocol", metric, "change", "95 % interval"];
        output::table(&columns, &rows);
    }
}

impl ComparedDtype {
    fn row(&self) -> Vec<String> {
        let [of, mb] = self.memory.map(|bytes| format!("{:.1}", bytes as f64 / 1e6));
        let Cosines { mean, least, .. } = self.cosines;
        let mut row = vec![self.dtype.to_string(), mb, of, format!("{mean:.6}"), format!("{least:.6}")];
        if let Some(test) = self.comparison.rows.get(self.comparison.main) {
            let interval = test.comparison.interval;
            row.extend([
                format!("{} {}", test.protocol, test.language),
                format!("{:.4}", test.candidate_value),
                format!("{:+.4}", test.comparison.difference),
                format!("{:+.4} to {:+.4}", interval.low, interval.high),
            ]);
        }
        row
    }
}
