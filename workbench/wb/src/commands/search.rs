//! `wb index` and `wb search`: a project's code found by words, names and meaning.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use wb_bench::benchmarks::SEARCH;
use wb_code::structure::StructureSet;
use wb_core::{Error, remote};
use wb_pipeline::{
    mine, requirements,
    search::{self, IndexEncoder, IndexWatch, ProjectSearch, SearchBench, SearchForm},
    structure::{BENCHMARK, QuestionSet, StructureBench},
    typed,
};
use wb_search::{
    AnswerRequest, IndexPlace, PartedQuestion, SearchAnswer, SearchContext, SearchQuestion, dependency, ranking::READ,
    sets::SearchSet,
};

use super::End;
use crate::{args, output};

/// `wb index`
pub fn index(arguments: args::IndexArguments) -> Result<End> {
    let Some((folder, further)) = arguments.folders.split_first() else { bail!("wb index DIR: a folder") };
    let mut place = IndexPlace::of(folder, arguments.index.clone())?;
    let full = |folder: &PathBuf| folder.canonicalize().map_err(Error::io("read", folder));
    let dependencies = arguments.dependency.iter().map(|name| dependency(&place.root, name));
    place.further = further.iter().map(full).chain(dependencies).collect::<wb_core::Result<_>>()?;
    place.alone = arguments.alone;
    place.scip.clone_from(&arguments.scip);
    place.annotations = arguments.annotations.clone().map(|file| Some(file).filter(|file| file != Path::new("none")));
    let looks = match &arguments {
        args::IndexArguments { status: true, .. } => Some(search::status(&place)?),
        args::IndexArguments { verify: true, .. } => Some(search::verify(&place)?),
        args::IndexArguments { compact: true, .. } => Some(search::compact(&place)?),
        _ => None,
    };
    if let Some(is_well) = looks {
        return Ok(if is_well { End::Done } else { End::Refused });
    }
    let encoder = match arguments.encoder {
        Some(name) => IndexEncoder::Named(name.as_str().into(), arguments.device),
        None if arguments.words => IndexEncoder::Without,
        None => IndexEncoder::Kept,
    };
    if !arguments.watch {
        output::with_bars(|progress| search::index(&place, arguments.anew, &encoder, progress))?;
        return Ok(End::Done);
    }
    let mut watch = output::with_bars(|progress| IndexWatch::of(&place, arguments.anew, &encoder, progress))?;
    loop {
        watch.wait()?;
        output::with_bars(|progress| watch.bring_up(progress))?;
    }
}

/// `wb search`
pub fn search(arguments: args::SearchArguments) -> Result<End> {
    if let Some(args::SearchCommand::Tune(arguments)) = arguments.command {
        return tune(arguments);
    }
    let place = IndexPlace::of(&arguments.project, arguments.index.clone())?;
    let text = arguments.question.join(" ");
    let mut question = SearchQuestion::new(&text);
    question.below = place.below(&arguments.below)?;
    question.roles = arguments.kind.iter().flat_map(|kind| kind.0.clone()).collect();
    question.languages.clone_from(&arguments.lang);
    if arguments.snippets.is_some() && question.roles.is_empty() {
        question.roles = SearchAnswer::OF_SNIPPETS.to_vec();
    }
    let form = SearchForm::of(arguments.json, arguments.snippets.is_some(), arguments.explain);
    let mut weights = search::weights(arguments.weights.as_deref())?;
    weights.excerpt = weights.excerpt.filter(|_| !arguments.whole && arguments.snippets.is_none());
    let issue = arguments.issue.as_deref().map(typed::text_of).transpose()?;
    let mut parted = match &issue {
        Some(text) => PartedQuestion::new(text, &question, &weights),
        None => PartedQuestion::whole(question.clone()),
    };
    let args::ContextArguments { current_file, recent_files, recent_queries: queries, task } = arguments.context;
    let files = place.context(current_file.as_deref(), &recent_files)?;
    parted.set_context(&SearchContext { files, queries, task }, &weights.context);
    parted.set_hops(arguments.hops);
    let most = search::most_answers(arguments.snippets.or(arguments.number), issue.is_some() || !text.is_empty());
    let args::SearchArguments { regexp: pattern, budget, abstain, .. } = arguments;
    let asked = ProjectSearch {
        request: AnswerRequest { question, parted, pattern, most, budget, abstain, routed: None },
        weights,
        fresh: arguments.fresh,
        words: arguments.words,
        rerank: arguments.rerank.as_deref().map(Into::into),
        form,
    };
    let found = output::with_bars(|progress| asked.ask(&place, progress))?;
    Ok(if found { End::Done } else { End::Refused })
}

/// `wb search tune`
fn tune(arguments: args::TuneArguments) -> Result<End> {
    let args::TuneArguments { sets, by: args::TunedModels { encoder, rerank, device }, weights, out } = arguments;
    let [encoder, rerank] = [encoder, rerank].map(|name| name.as_deref().map(Into::into));
    let weights = search::weights(weights.as_deref())?;
    output::with_bars(|told| search::tune(&sets, encoder, rerank, device, &weights, out.as_deref(), told))?;
    Ok(End::Done)
}

/// `wb bench search` and `wb bench structure`
pub fn bench(arguments: &args::Bench) -> Result<End> {
    let name = arguments.names.concat();
    let is_search = name == SEARCH;
    let (Some(set), Some(folder)) = (arguments.set, &arguments.dataset) else {
        let (search, structure) = (SearchSet::ALL.map(SearchSet::name), StructureSet::ALL.map(StructureSet::name));
        let names = if is_search { search.join(", ") } else { structure.join(", ") };
        bail!("wb bench {name} --set SET --dataset DIR: a set of {names}");
    };
    let folder = &remote::local(folder)?;
    let taken = if is_search { SearchBench::OPTIONS.as_slice() } else { &StructureBench::OPTIONS };
    if let Some((option, _)) = arguments.given().find(|(option, _)| !taken.contains(option)) {
        bail!("{option} is for other benchmarks, not for {name}");
    }
    let require = arguments.require.iter().map(|text| requirements::requirement(text)).collect::<Result<Vec<_>>>()?;
    let set = match set {
        QuestionSet::Search(set) if is_search => set,
        QuestionSet::Structure(set) if !is_search => {
            let bench = StructureBench { set, folder, json: arguments.json.as_deref(), require };
            return Ok(if bench.run()? { End::Done } else { End::Refused });
        }
        _ => bail!("that set is one of {0}: wb bench {0} --set ...", if is_search { BENCHMARK } else { SEARCH }),
    };
    let reranker = mine::reranker(arguments.rerank.as_deref(), arguments.device, arguments.places.folders().datasets)?;
    let bench = SearchBench {
        set,
        folder,
        encoder: arguments.encoder.as_deref().map(Into::into),
        device: arguments.device,
        rerank: reranker.as_ref().map(|it| (it as _, arguments.rerank_top.map_or(READ, |top| top as usize))),
        weights: search::weights(arguments.weights.as_deref())?,
        in_context: arguments.context,
        hops: arguments.hops,
        against: arguments.against.as_deref(),
        json: arguments.json.as_deref(),
        trec: arguments.trec.as_deref(),
        require,
    };
    let reaches = output::with_bars(|progress| bench.run(progress))?;
    Ok(if reaches { End::Done } else { End::Refused })
}
