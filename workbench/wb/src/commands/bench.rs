//! `wb bench`: an encoder, a run or BM25 under every protocol that the data can give.

use anyhow::{Result, bail};
use wb_bench::{
    BenchmarkConfig, Reranking,
    benchmarks::{OF_TEXTS, SEARCH},
};
use wb_core::Error;
use wb_pipeline::{
    bench::{NamedBenchmarks, benchmark_of_sql},
    contestants::{Contestants, WantedContestants},
    device,
    documents::Documents,
    encoder, external, manifest, mine, requirements,
    structure::BENCHMARK as STRUCTURE,
};
use wb_retrieval::token_index::TokenIndexConfig;

use super::{End, data_get, judge_sql, search};
use crate::{
    args, interrupt,
    output::{self, Bars},
};

/// Documents of each query that a cross-encoder orders, where nothing else is asked for.
const RERANKED: u32 = 100;

/// `wb bench`
pub fn bench(arguments: &args::Bench) -> Result<End> {
    if arguments.names.is_empty() {
        return list(arguments);
    }
    if arguments.names == [SEARCH] || arguments.names == [STRUCTURE] {
        return search::bench(arguments);
    }
    let of_sql = benchmark_of_sql(&arguments.names)?;
    refuse_options(arguments)?;
    if let Some(benchmark) = of_sql {
        return judge_sql::judge(benchmark, arguments);
    }
    // Everything typed is checked before anything is computed.
    let benchmarks = arguments.names.iter().map(|name| named(name, arguments)).collect::<Result<Vec<_>>>()?;
    let requirements =
        arguments.require.iter().map(|text| requirements::requirement(text)).collect::<Result<Vec<_>>>()?;
    if let Some(retriever) = &arguments.retriever {
        encoder::check_retriever(retriever)?;
    }
    let token_index = arguments.token_index.map(|bits| TokenIndexConfig { bits, ..TokenIndexConfig::default() });
    if let Some(config) = &token_index {
        config.validate("--token-index")?;
    }
    device::check_dtypes(arguments.device, &arguments.compare_dtype, "--compare-dtype")?;
    let documents = Documents::of_options(arguments.embed.as_deref(), arguments.annotations.as_deref())?;
    let datasets = arguments.places.folders().datasets;
    let reranker = mine::reranker(arguments.rerank.as_deref(), arguments.device, datasets)?;
    let top = arguments.rerank_top.unwrap_or(RERANKED) as usize;
    let folders = match &arguments.dataset {
        Some(dataset) => vec![Some(dataset.clone()); benchmarks.len()],
        None => external::folders(&benchmarks, &arguments.external, &data_get::bring)?,
    };
    interrupt::listen()?;
    let mut bars = Bars::new();
    let contestants = Contestants::open(wanted(arguments), &mut |p| bars.report(p))?;
    if let Some(line) = &contestants.line {
        output::line(line);
    }
    let named = NamedBenchmarks {
        benchmarks: &benchmarks,
        folders: &folders,
        contestants: &contestants,
        documents: documents.as_ref(),
        pairs: arguments.dataset.as_deref(),
        trec: arguments.trec.as_deref(),
        token_index: token_index.as_ref(),
        dtypes: &arguments.compare_dtype,
        device: arguments.device,
        reranking: reranker.as_ref().map(|reranker| Reranking { reranker, top }),
        places: arguments.places.folders(),
    };
    let measured = named.measure(&mut |p| bars.report(p))?;
    bars.finish();
    if let Some(path) = &arguments.json {
        measured.write(path)?;
    }
    measured.print();
    Ok(if measured.meet(&requirements)? { End::Done } else { End::Refused })
}

/// The contestants that the command line asks for.
fn wanted(arguments: &args::Bench) -> WantedContestants<'_> {
    WantedContestants {
        bm25: arguments.retriever.is_some(),
        encoder: arguments.encoder.as_deref(),
        // Files of one contestant, and what is asked of an encoder alone.
        encoder_alone: arguments.trec.is_some()
            || arguments.token_index.is_some()
            || arguments.embed.is_some()
            || !arguments.compare_dtype.is_empty(),
        max_tokens: arguments.max_tokens,
        device: arguments.device,
        folders: arguments.places.folders(),
    }
}

/// Refuses options that a benchmark does not take.
fn refuse_options(arguments: &args::Bench) -> Result<()> {
    for name in &arguments.names {
        let refused = arguments.given().find(|(_, takers)| !takers.contains(&name.as_str()));
        match refused {
            None => {}
            Some((option, takers)) if takers == OF_TEXTS => {
                bail!("{option} is for benchmarks of retrieval: {name} judges the SQL of --predictions")
            }
            Some((option, [most @ .., last])) if !most.is_empty() => {
                bail!("{option} is for {} and {last}, not for {name}", most.join(", "))
            }
            Some((option, takers)) => bail!("{option} is for {}, not for {name}", takers.concat()),
        }
    }
    Ok(())
}

/// `wb bench` alone: the benchmarks and what there is of their data.
fn list(arguments: &args::Bench) -> Result<End> {
    if let Some((option, _)) = arguments.given().next() {
        let hint = format!("names stand first: wb bench codesearchnet {option} ...; `wb bench` alone lists them");
        return Err(Error::data("wb bench", format!("{option} is given, and no benchmark")).with_hint(hint).into());
    }
    external::print(&arguments.external, arguments.places.folders())?;
    output::line("\nwb bench NAME measures BM25 and the latest run's encoder; --encoder and --retriever name another");
    Ok(End::Done)
}

fn named(name: &str, arguments: &args::Bench) -> Result<BenchmarkConfig> {
    let mut benchmark = BenchmarkConfig::named(name)?;
    if let BenchmarkConfig::Codesearchnet(config) = &mut benchmark {
        config.languages.clone_from(&arguments.languages);
        if arguments.text == "raw" {
            config.text = wb_bench::layouts::codesearchnet::TextMode::Raw;
        }
    }
    benchmark.validate("bench")?;
    Ok(benchmark)
}

/// Version and features of this build, for `wb doctor`.
pub fn build() -> String {
    format!("wb {} with {}", env!("CARGO_PKG_VERSION"), manifest::features().join(", "))
}
