//! Rankers of documents for a mining: an encoder's vectors, vectors of another program, or words.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use wb_core::{Encoder, Error, Progress, Side, fingerprint::Fingerprint, publish, remote};
use wb_encoder::BiEncoder;
use wb_retrieval::{
    Bm25Config,
    mining::{
        Blocks, CandidateSource, LexicalSearch, MiningConfig, MiningRetriever, MiningTexts, Picked, TokenSearch,
        VectorFile, VectorSearch, Vectors, VectorsConfig, beside_a_device, encode_to_file,
    },
};

use super::Search;
use crate::{
    config::Experiment,
    device,
    encoder::{self, Opening},
    manifest::this_code,
    shards,
};

/// A ranker of documents, and what else may judge.
pub enum MiningRanker {
    /// Cosines of this encoder's embeddings, or MaxSim of its tokens'.
    Encoder(Box<BiEncoder>),
    /// Cosines of vectors in files.
    Vectors(VectorsConfig),
    /// Words; an encoder, if there is one, judges a sample.
    Words(Bm25Config, Option<Box<BiEncoder>>),
}

impl MiningRanker {
    /// Opens what a config asks for.
    pub fn open(experiment: &Experiment, config: &MiningConfig, runs: &Path) -> Result<Self> {
        if let Some(vectors) = &config.vectors {
            return Ok(Self::Vectors(vectors.clone()));
        }
        match config.retriever {
            MiningRetriever::Bm25 => {
                // A cross-encoder that is to be trained gives no vectors to judge by.
                let gives_vectors = experiment.encoder.as_ref().is_some_and(|own| own.cross_encoder.is_none());
                let own = experiment.has_pretrained() && gives_vectors;
                let judges = config.sample > 0 && (config.encoder.is_some() || own);
                let encoder = if judges { Some(Box::new(open_encoder(experiment, config, runs)?)) } else { None };
                Ok(Self::Words(experiment.bench.bm25, encoder))
            }
            MiningRetriever::Encoder => Ok(Self::Encoder(Box::new(open_encoder(experiment, config, runs)?))),
        }
    }

    /// The name in tables.
    pub fn name(&self) -> String {
        match self {
            Self::Encoder(encoder) => encoder.name(),
            Self::Vectors(vectors) => format!("vectors in {}", vectors.documents.display()),
            Self::Words(..) => "bm25".to_owned(),
        }
    }

    /// Fingerprint of all that decides the scores, and the judgment of the sample.
    pub fn fingerprint(&self, experiment: &Experiment) -> Result<Fingerprint> {
        let mut all = Fingerprint::builder();
        match self {
            Self::Encoder(encoder) => {
                // Devices agree up to rounding, and rounding decides ties.
                let device = device::resolved(experiment.device.first())?.to_string();
                all.text("encoder").text(encoder.fingerprint().as_str()).text(&device);
                all.text(Fingerprint::of_json(&experiment.bench.bm25).as_str());
            }
            Self::Vectors(vectors) => {
                all.text("vectors");
                for file in [&vectors.queries, &vectors.query_ids, &vectors.documents, &vectors.document_ids] {
                    all.text(Fingerprint::of_file(file)?.as_str());
                }
                all.text(Fingerprint::of_json(&experiment.bench.bm25).as_str());
            }
            Self::Words(config, encoder) => {
                all.text("bm25").text(Fingerprint::of_json(config).as_str());
                if let Some(encoder) = encoder {
                    all.text(encoder.fingerprint().as_str());
                }
            }
        }
        Ok(all.finish())
    }

    /// Hands a source of candidates to `then`.
    pub fn with_source<T>(
        &mut self,
        search: &Search<'_>,
        depth: usize,
        datasets: &Path,
        progress: &mut dyn FnMut(Progress),
        then: impl FnOnce(&mut dyn CandidateSource, &mut dyn FnMut(Progress)) -> Result<T>,
    ) -> Result<T> {
        let (texts, ram) = (search.texts, search.config.ram);
        let sizes = |dim| [texts.queries().len(), texts.documents().len(), dim];
        match self {
            Self::Encoder(encoder) if encoder.token_vectors().is_some() => match TokenSearch::new(&**encoder, ram) {
                Some(source) => {
                    let device = device::resolved(search.experiment.device.first())?;
                    let folder = datasets.join("rankings").join(rankings(&**encoder, texts, &device.to_string()));
                    remote::bring(&folder)?;
                    then(&mut source.keeping(folder), progress)
                }
                None => bail!("{} gives one vector a text", encoder.name()),
            },
            Self::Encoder(encoder) => {
                let whole = &**encoder;
                let encoder: &dyn Encoder = whole;
                let helper = encoder.group_maxima();
                let taken = search.taken + helper.as_ref().map_or(0, |_| beside_a_device(encoder.dim()));
                let blocks = Blocks::within(ram, taken, sizes(encoder.dim()), depth)?;
                let [queries, documents] = vector_files(whole, search, datasets, progress)?;
                let (queries, documents) = (VectorFile::open(&queries)?, VectorFile::open(&documents)?);
                then(&mut VectorSearch::new(texts, queries, documents, blocks)?.with(helper), progress)
            }
            Self::Vectors(files) => {
                let (queries, documents) = given(texts, files)?;
                let blocks = Blocks::within(ram, search.taken, sizes(documents.dim()), depth)?;
                then(&mut VectorSearch::new(texts, queries, documents, blocks)?, progress)
            }
            Self::Words(config, _) => {
                let index = config.init(texts.documents(), progress)?;
                then(&mut LexicalSearch::new(&index, ram), progress)
            }
        }
    }
}

fn open_encoder(experiment: &Experiment, config: &MiningConfig, runs: &Path) -> Result<BiEncoder> {
    if let Some(name) = &config.encoder {
        return Ok(encoder::open(name, runs, Opening { device: experiment.device.first(), ..Opening::default() })?.0);
    }
    let (folder, place) = encoder::pretrained(experiment)?.context("there is no encoder to mine with")?;
    let device = device::open(experiment.device.first(), place.is_dir().then_some(place.as_path()))?;
    Ok(BiEncoder::open_frozen(folder, &device)?)
}

/// The name of all that decides an encoder's ranking of texts token by token.
fn rankings(encoder: &dyn Encoder, texts: &MiningTexts<'_>, device: &str) -> String {
    let mut all = Fingerprint::builder();
    all.text(&this_code()).text(device).text(encoder.fingerprint().as_str());
    for (query, text) in texts.queries().iter().enumerate() {
        all.text(text).number(texts.positives(query).len() as u64);
        texts.positives(query).iter().for_each(|document| {
            all.number(u64::from(*document));
        });
    }
    texts.documents().iter().for_each(|text| {
        all.text(text);
    });
    all.finish().short().to_owned()
}

/// The files of an encoder's vectors of all queries and of all documents, made where they are not there: here, or on the
/// machines of the experiment.
pub(super) fn vector_files(
    encoder: &BiEncoder,
    search: &Search<'_>,
    datasets: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<[PathBuf; 2]> {
    // Devices agree up to rounding, so each has vectors of its own.
    let device = device::resolved(search.experiment.device.first())?.to_string();
    let (folder, of_encoder) = (datasets.join("vectors"), encoder.fingerprint());
    let mut file = |texts: &[&str], side: Side| -> Result<PathBuf> {
        let mut all = Fingerprint::builder();
        all.text(&this_code()).text(&device).text(of_encoder.as_str()).number(side as u64);
        texts.iter().for_each(|text| {
            all.text(text);
        });
        let path = folder.join(format!("{}.npy", all.finish().short()));
        remote::bring(&path)?;
        match &search.experiment.run_on {
            None => encode_to_file(encoder, texts, side, &path, progress)?,
            Some(run_on) => {
                fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
                publish::file(&path, progress, |part, progress| {
                    shards::encode_texts(search.experiment, run_on, encoder, (texts, side), part, progress)
                })?;
            }
        }
        Ok(path)
    };
    Ok([file(search.texts.queries(), Side::Query)?, file(search.texts.documents(), Side::Document)?])
}

/// Vectors of another program, brought into the order of the texts by their ids.
fn given(texts: &MiningTexts<'_>, files: &VectorsConfig) -> Result<(Picked<VectorFile>, Picked<VectorFile>)> {
    let (queries, query_rows) = with_ids(&files.queries, &files.query_ids)?;
    let (documents, document_rows) = with_ids(&files.documents, &files.document_ids)?;
    let pairs = texts.pairs();
    let mut of_queries = vec![None; texts.queries().len()];
    let known = texts.document_ids().iter().map(|id| document_rows.get(*id).copied());
    let mut of_documents: Vec<Option<u32>> = known.collect();
    for (at, pair) in pairs.iter().enumerate() {
        let query = &mut of_queries[texts.query_of(at)];
        *query = query.or_else(|| query_rows.get(&pair.id).copied());
        let document = &mut of_documents[texts.positive_of(at) as usize];
        *document = document.or_else(|| document_rows.get(&pair.id).copied());
    }
    let missing = |file: &Path, id: &str| Error::data(file.display().to_string(), format!("no vector for `{id}`"));
    let all = |rows: Vec<Option<u32>>, file: &Path, id: &dyn Fn(usize) -> String| {
        rows.into_iter().enumerate().map(|(at, row)| row.ok_or_else(|| missing(file, &id(at)))).collect()
    };
    let of_queries: Result<Vec<u32>, Error> =
        all(of_queries, &files.query_ids, &|query| pairs[texts.first_pair_of(query)].id.clone());
    let of_documents: Result<Vec<u32>, Error> =
        all(of_documents, &files.document_ids, &|document| texts.document_ids()[document].to_owned());
    Ok((Picked::new(queries, of_queries?), Picked::new(documents, of_documents?)))
}

fn with_ids(vectors: &Path, ids: &Path) -> Result<(VectorFile, HashMap<String, u32>)> {
    let file = VectorFile::open(vectors)?;
    let text = fs::read_to_string(remote::local(ids)?).map_err(Error::io("read", ids))?;
    let mut rows = HashMap::new();
    for (row, id) in text.lines().enumerate() {
        if let Some(before) = rows.insert(id.to_owned(), row as u32) {
            let message = format!("`{id}` stands in lines {} and {}, expected unique ids", before + 1, row + 1);
            return Err(Error::data(ids.display().to_string(), message).into());
        }
    }
    if rows.len() != file.len() {
        let message = format!("{} ids for the {} vectors of {}", rows.len(), file.len(), vectors.display());
        return Err(Error::data(ids.display().to_string(), message).into());
    }
    Ok((file, rows))
}
