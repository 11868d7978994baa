//! The cost of an experiment in lines for people.

use wb_core::quantities::{DAY, about, about_bytes, about_duration, count};

use super::{
    ExperimentCost,
    estimate::{self, BenchWork, MiningWork, Reading, StageCost, TrainingWork},
    lengths::Lengths,
    memory::MemoryCost,
    probe::Rates,
    sizes::PairCounts,
    volumes,
};

/// Beginning of each line.
const HEAD: &str = "cost      ";
/// Seconds from which on it is told what several machines would make of it.
const LONG: f64 = 3600.0;
/// The hint for who has a day or more to wait.
const GPU: &str = "a GPU build: cargo install --path workbench/wb --features cuda";

/// All lines: memory, speeds, each stage, all together.
pub fn lines(cost: &ExperimentCost) -> Vec<String> {
    let mut lines = vec![line("memory", &memory(&cost.memory, cost.texts()))];
    let Some(rates) = &cost.rates else {
        lines.push(line("time", &format!("not measured: {}", cost.unmeasured)));
        return lines;
    };
    if let Some(why) = &cost.instead {
        lines.push(line("device", &format!("times are those of the processor: {why}")));
    }
    lines.push(line("speed", &speed(rates)));
    let stages = cost.stages();
    // Benchmarks are the last stages, and several may have one name.
    let first = stages.len().saturating_sub(cost.planning.work.benches.len());
    let bench = |at: usize| at.checked_sub(first).and_then(|at| cost.planning.work.benches.get(at));
    lines.extend(stages.iter().enumerate().map(|(at, stage)| line(&stage.name, &of_stage(stage, bench(at), cost))));
    if cost.in_shards || estimate::total(&stages) > LONG {
        lines.extend(cost.volumes.as_ref().map(|volumes| line("volumes", &volumes.told())));
        lines.extend(volumes::machines(&stages, cost.streaming).map(|told| line("machines", &told)));
        let on_gpu = cost.operations.filter(|_| rates.is_cpu);
        let on_gpu = on_gpu.and_then(|operations| operations.told(&cost.planning.work, rates));
        lines.extend(on_gpu.map(|told| line("on a GPU", &told)));
    }
    lines.push(line("in all", &in_all(&stages, rates, cost.by_tokens())));
    lines
}

/// Time in all, in one sentence: `about 40 seconds here`. From a day on a processor it names a quicker way.
pub fn in_all(stages: &[StageCost], rates: &Rates, by_tokens: bool) -> String {
    let total = estimate::total(stages);
    let known = if stages.iter().all(|stage| stage.seconds.is_some()) { "" } else { ", as far as it is known" };
    let mut told = format!("{} here{known}", about_duration(total));
    if total > DAY && rates.is_cpu {
        let (recipe, time) =
            if by_tokens { ("configs/xtr-tiny.yaml", "2 minutes") } else { ("configs/quickstart.yaml", "a minute") };
        told += &format!("; {recipe} shows the path in {time}; {GPU}");
    }
    told
}

/// The speeds in one sentence.
pub fn speed(rates: &Rates) -> String {
    format!(
        "{} tokens/s embedded, {} tokens/s trained, by {}, measured in {:.1} s",
        about(rates.embed),
        about(rates.train),
        rates.device,
        rates.took
    )
}

fn line(name: &str, text: &str) -> String {
    format!("{HEAD}{name:<11} {text}")
}

fn memory(memory: &MemoryCost, texts: f64) -> String {
    let activations = format!("activations of {} tokens", about(memory.part_tokens));
    let of_passes = |copies: &'static str, buffers: &'static str| {
        [(memory.copies, copies), (memory.kept, activations.as_str()), (memory.buffers, buffers)]
    };
    let of_batch = [(memory.batch, "vectors and scores of a batch"), (texts, "texts of pairs")];
    if !memory.on_device {
        let of_weights = [(memory.weights, "weights, gradients and optimizer")];
        let of_passes = of_passes("weights as they are computed with", "buffers");
        return format!("about {}", parts("while training", &[&of_weights[..], &of_passes, &of_batch].concat()));
    }
    let there = of_passes("weights, gradients and optimizer", "a layer that is computed again");
    let here = [&[(memory.weights, "weights, gradients and optimizer")][..], &of_batch].concat();
    format!("about {}; {}", parts("of the device while training", &there), parts("beside it", &here))
}

/// A sum, and what it is made of.
fn parts(of: &str, parts: &[(f64, &str)]) -> String {
    let told = parts.iter().filter(|(size, _)| *size >= 1e3);
    let told: Vec<String> = told.map(|(size, what)| format!("{} {what}", about_bytes(*size))).collect();
    let sum = parts.iter().map(|(size, _)| size).sum::<f64>();
    format!("{} {of}: {}", about_bytes(sum), told.join(", "))
}

fn of_stage(stage: &StageCost, bench: Option<&BenchWork>, cost: &ExperimentCost) -> String {
    let work = &cost.planning.work;
    let what =
        match stage.name.as_str() {
            "data" => work.data.map(reading),
            "mining" => work.mining.map(mining),
            "train" => work.training.as_ref().zip(work.lengths).map(|(train, lengths)| {
                format!("{}{}", training(train, lengths), assumed(cost.planning.sizes, lengths))
            }),
            _ => bench.and_then(|bench| {
                let (queries, documents) = bench.texts?;
                let (queries, documents) = (about(queries), about(documents));
                Some(format!("{queries} queries, {documents} documents, embedded by {} encoders", bench.encoders))
            }),
        };
    match (stage.seconds, what) {
        (Some(seconds), Some(what)) => format!("{} ({what})", about_duration(seconds)),
        (Some(seconds), None) => about_duration(seconds),
        (None, Some(what)) if stage.name == "mining" => what,
        (None, _) => "unknown until its data is there".to_owned(),
    }
}

fn reading(reading: Reading) -> String {
    format!("assumed, from {} of files", about_bytes(reading.code + reading.records))
}

fn mining(mining: MiningWork) -> String {
    let mut told = match (mining.embeds, mining.by_own) {
        (false, _) => "not reckoned: no encoder ranks".to_owned(),
        (true, true) => format!("{} pairs embedded and searched", about(mining.pairs)),
        (true, false) => format!("not reckoned: another encoder ranks {} pairs", about(mining.pairs)),
    };
    if mining.rescored > 0.0 {
        told += &format!("; {} documents a query read by a cross-encoder", mining.rescored);
    }
    if mining.times != 1.0 {
        told += &format!("; {} times", mining.times);
    }
    told
}

fn training(training: &TrainingWork, lengths: Lengths) -> String {
    let a_step = training.pairs * training.accumulate;
    format!("{} steps of {} pairs, {} tokens", count(training.steps()), count(a_step), count(training.tokens(lengths)))
}

/// Sizes of a training that are not known but taken for granted.
fn assumed(sizes: Option<PairCounts>, lengths: Lengths) -> String {
    let mut told = Vec::new();
    if let Some(sizes) = sizes.filter(|sizes| sizes.assumed) {
        told.push(format!("{} pairs by the sizes of their files, before any gate", about(sizes.train)));
    }
    if lengths.assumed {
        told.push(format!("{} tokens a query and {} a document", lengths.query, lengths.document));
    }
    if told.is_empty() { String::new() } else { format!("; assumed: {}", told.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::estimate::tests::{lengths, rates};

    fn stage(name: &str, seconds: Option<f64>) -> StageCost {
        StageCost { name: name.to_owned(), seconds }
    }

    #[test]
    fn who_waits_for_a_day_is_told_of_a_quicker_way() {
        let stages = [stage("train", Some(90.0 * DAY))];
        assert_eq!(
            in_all(&stages, &rates(), true),
            "about 90 days here; configs/xtr-tiny.yaml shows the path in 2 minutes; a GPU build: cargo install \
             --path workbench/wb --features cuda"
        );
        assert!(in_all(&stages, &rates(), false).contains("configs/quickstart.yaml shows the path in a minute"));
        let device = Rates { is_cpu: false, ..rates() };
        assert_eq!(in_all(&stages, &device, true), "about 90 days here");
        let stages = [stage("train", Some(60.0)), stage("bench cosqa", None)];
        assert_eq!(in_all(&stages, &rates(), true), "about 60 seconds here, as far as it is known");
    }

    #[test]
    fn speeds_and_memory_are_one_line_each() {
        assert_eq!(
            speed(&rates()),
            "1,000 tokens/s embedded, 400 tokens/s trained, by cpu (2 threads), measured in 4.0 s"
        );
        let memory = MemoryCost { weights: 5e8, kept: 6e8, batch: 2e7, part_tokens: 8192.0, ..MemoryCost::default() };
        assert_eq!(
            super::memory(&memory, 8e7),
            "about 1.2 GB while training: 500 MB weights, gradients and optimizer, 600 MB activations of 8,200 tokens, \
             20 MB vectors and scores of a batch, 80 MB texts of pairs"
        );
        let on_device = MemoryCost { copies: 4e8, on_device: true, ..memory };
        assert_eq!(
            super::memory(&on_device, 8e7),
            "about 1 GB of the device while training: 400 MB weights, gradients and optimizer, 600 MB activations of \
             8,200 tokens; 600 MB beside it: 500 MB weights, gradients and optimizer, 20 MB vectors and scores of a \
             batch, 80 MB texts of pairs"
        );
    }

    #[test]
    fn what_is_assumed_is_said() {
        let train =
            TrainingWork { stages: vec![(22_000.0, 7.0)], pairs: 64.0, accumulate: 4.0, ..TrainingWork::default() };
        // 22,000 · 256 · (20 + 8 · 100)
        assert_eq!(training(&train, lengths()), "22,000 steps of 256 pairs, 4.6 billion tokens");
        assert_eq!(assumed(None, lengths()), "");
        let sizes = PairCounts { train: 1.9e6, assumed: true, ..PairCounts::default() };
        let unknown = Lengths { assumed: true, ..lengths() };
        assert_eq!(
            assumed(Some(sizes), unknown),
            "; assumed: 1.9 million pairs by the sizes of their files, before any gate, 20 tokens a query and 100 a document"
        );
    }

    #[test]
    fn mining_says_who_ranks() {
        let own = MiningWork { pairs: 12_345.0, embeds: true, by_own: true, rescored: 0.0, times: 1.0 };
        assert_eq!(mining(own), "12,000 pairs embedded and searched");
        assert_eq!(
            mining(MiningWork { by_own: false, rescored: 101.0, times: 2.0, ..own }),
            "not reckoned: another encoder ranks 12,000 pairs; 101 documents a query read by a cross-encoder; 2 times"
        );
        assert_eq!(mining(MiningWork { embeds: false, ..own }), "not reckoned: no encoder ranks");
    }
}
