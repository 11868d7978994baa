//! Checks of a YAML: the values of each section that is there, and sections that do not suit each other.

use wb_bench::BenchmarkConfig;
use wb_core::{Error, Result};
use wb_encoder::train::interpolate::refused_with_dora;
use wb_retrieval::mining::MiningConfig;
use wb_synth::annotate::EmbedText;

use super::{BenchEntry, Experiment, GeneratorChoice, ModelChoice};

impl Experiment {
    pub(super) fn validate(&self) -> Result<()> {
        check_name(&self.name)?;
        self.validate_synthesis()?;
        self.validate_language_model()?;
        self.data.as_ref().map_or(Ok(()), |data| data.validate("data"))?;
        self.negatives.as_ref().map_or(Ok(()), |negatives| self.validate_negatives(negatives))?;
        self.encoder.as_ref().map_or(Ok(()), |encoder| encoder.validate("encoder"))?;
        self.train.validate("train")?;
        self.validate_similarity()?;
        self.validate_pair_reading()?;
        self.validate_refresh()?;
        self.validate_interpolation()?;
        if let Some(names) = self.data.as_ref().and_then(|data| data.dataset_names()) {
            self.train.check_datasets(&names)?;
        }
        self.bench.validate("bench")?;
        self.validate_shards()?;
        self.sweep.as_ref().map_or(Ok(()), |sweep| sweep.validate("sweep"))?;
        self.validate_search()
    }

    /// Refuses shards without a place to keep them in.
    fn validate_shards(&self) -> Result<()> {
        let Some(run_on) = &self.run_on else { return Ok(()) };
        run_on.validate("run_on")?;
        if self.work.as_deref().is_none_or(|work| work.trim().is_empty()) {
            let message = "is missing, the place where `run_on` keeps plans and what shards make";
            return Err(Error::value("work", message)
                .with_hint("work=FOLDER, which all machines see, or work=s3://BUCKET/PREFIX"));
        }
        Ok(())
    }

    /// Refuses to measure a run by `search` where the ranking cannot take its vectors, or what was trained on cannot be told.
    fn validate_search(&self) -> Result<()> {
        let is_search = |entry: &&BenchEntry| matches!(entry.benchmark, BenchmarkConfig::Search(_));
        let Some(entry) = self.bench.benchmarks.iter().find(is_search) else { return Ok(()) };
        let Some(encoder) = &self.encoder else { return Ok(()) };
        if encoder.cross_encoder.is_some() {
            let message = "has `search`, whose ranking takes vectors, and a cross-encoder gives none";
            return Err(Error::value("bench.benchmarks", message).with_hint("measure on `pairs`"));
        }
        match (&entry.dataset, &self.data) {
            (None, Some(data)) => data.repository().map(|_| ()),
            _ => Ok(()),
        }
    }

    /// The sections that pairs and annotations are made by, and those that measure with them.
    fn validate_synthesis(&self) -> Result<()> {
        self.llm.as_ref().map_or(Ok(()), |llm| llm.validate("llm"))?;
        self.snippets.as_ref().map_or(Ok(()), |snippets| snippets.validate("snippets"))?;
        self.rules.as_ref().map_or(Ok(()), |rules| rules.validate("rules"))?;
        self.synth.as_ref().map_or(Ok(()), |synth| synth.validate("synth"))?;
        self.annotate.as_ref().map_or(Ok(()), |annotate| annotate.validate("annotate"))?;
        if let Some(ab) = &self.ab {
            ab.validate("ab")?;
            if self.annotate.is_none() && ab.arms.iter().any(|arm| *arm != EmbedText::Code) {
                return Err(Error::value("annotate", "is missing, and an arm of `ab` embeds annotations")
                    .with_hint("annotate: {}"));
            }
        }
        self.rag.as_ref().map_or(Ok(()), |rag| rag.validate("rag"))
    }

    /// Refuses sections that ask a language model where the file names none.
    fn validate_language_model(&self) -> Result<()> {
        let by_model = |generator: &GeneratorChoice| matches!(generator, GeneratorChoice::Model(_));
        let asking = [
            ("synth", self.synth.is_some()),
            ("annotate", self.annotate.is_some()),
            ("rag.generator", self.rag.as_ref().is_some_and(|rag| by_model(&rag.generator))),
        ];
        match asking.iter().find(|(_, asks)| *asks) {
            Some((name, _)) if self.llm.is_none() => {
                Err(Error::value("llm", format!("is missing, and `{name}` asks a language model"))
                    .with_hint("llm: { model: path/to/model.gguf }, or llm: { base_url: http://127.0.0.1:8080 }"))
            }
            _ => Ok(()),
        }
    }

    fn validate_negatives(&self, negatives: &MiningConfig) -> Result<()> {
        negatives.validate("negatives")?;
        if self.data.as_ref().is_some_and(|data| data.streaming) {
            let message = "pairs are mined in memory, and `data.streaming` keeps them on the disk";
            return Err(Error::value("negatives", message).with_hint(
                "mine first, by `wb mine-negatives` with data.streaming=false --out mined.parquet, and name mined.parquet as the source",
            ));
        }
        if self.encoder.is_some() { self.check_encoder_to_mine_with(negatives) } else { Ok(()) }
    }

    /// Refuses a mining that ranks by the encoder of this file, where that is yet to be trained or is not there.
    pub fn check_encoder_to_mine_with(&self, negatives: &MiningConfig) -> Result<()> {
        if negatives.mined.is_some() {
            return Ok(());
        }
        if negatives.ranks_by_own_encoder() && self.reads_pairs() {
            let message = "is missing: a cross-encoder cannot rank a corpus";
            return Err(Error::value("negatives.encoder", message)
                .with_hint("negatives.retriever=bm25, or name an encoder: negatives.encoder=sentence-transformers/all-MiniLM-L6-v2"));
        }
        if !negatives.ranks_by_own_encoder() || matches!(self.encoder()?.model, ModelChoice::Pretrained(_)) {
            return Ok(());
        }
        let message = "is missing: the encoder of this file begins from scratch and has nothing to mine with";
        Err(Error::value("negatives.encoder", message)
            .with_hint("name a folder or a run (negatives.encoder=latest), or mine by words: negatives.retriever=bm25"))
    }

    /// Refuses what does not train a cross-encoder, and losses that train nothing else.
    fn validate_pair_reading(&self) -> Result<()> {
        let Some(encoder) = &self.encoder else { return Ok(()) };
        let reads_pairs = encoder.cross_encoder.is_some();
        self.train.loss.check_pair_reading("train.loss", reads_pairs)?;
        let of_vectors = [
            ("train.objectives", !self.train.objectives.weights().is_empty()),
            ("train.refresh", self.train.refresh.is_some()),
            ("train.similarity", self.train.similarity.of_tokens().is_some()),
        ];
        match of_vectors.iter().find(|(_, is_there)| reads_pairs && *is_there) {
            None => Ok(()),
            Some((key, _)) => {
                let message = "is of encoders, and `encoder.cross_encoder` gives no vectors";
                Err(Error::value(*key, message).with_hint("take it away"))
            }
        }
    }

    /// Refuses a similarity that does not suit the encoder, as far as this file alone tells; a pretrained one may
    /// bring its own late interaction.
    fn validate_similarity(&self) -> Result<()> {
        let by_tokens = self.train.similarity.of_tokens().is_some();
        let Some(encoder) = &self.encoder else { return Ok(()) };
        match &encoder.late_interaction {
            Some(_) => self.check_similarity(true),
            None if by_tokens && !self.has_pretrained() => self.check_similarity(false),
            None => Ok(()),
        }
    }

    /// Refuses a similarity that does not compare what the encoder gives.
    pub fn check_similarity(&self, one_vector_a_token: bool) -> Result<()> {
        let (message, hint) = match (one_vector_a_token, self.train.similarity.of_tokens().is_some()) {
            (true, false) => (
                "compares one vector a text, and the encoder gives one a token",
                "train.similarity=maxsim, or train.similarity={xtr: {}}",
            ),
            (false, true) => (
                "compares texts token by token, and the encoder gives one vector a text",
                "encoder.late_interaction={}, or train.similarity=cosine",
            ),
            _ => return Ok(()),
        };
        Err(Error::value("train.similarity", message).with_hint(hint))
    }

    /// Refuses a share of weights whose rows' lengths are learned.
    fn validate_interpolation(&self) -> Result<()> {
        let lora = self.encoder.as_ref().and_then(|encoder| encoder.lora.as_ref());
        match self.train.interpolate {
            share if share < 1.0 && lora.is_some_and(|lora| lora.use_dora) => {
                Err(refused_with_dora(share, "encoder.lora.use_dora"))
            }
            _ => Ok(()),
        }
    }

    /// Hard negatives can be mined again only of pairs in memory, by the encoder's own vectors.
    fn validate_refresh(&self) -> Result<()> {
        if self.train.refresh.is_none() {
            return Ok(());
        }
        let refuse = |message: &str| Err(Error::value("train.refresh", message).with_hint("train.refresh=null"));
        if self.data.as_ref().is_some_and(|data| data.streaming) {
            return refuse("pairs are mined in memory, and `data.streaming` keeps them on the disk");
        }
        match &self.negatives {
            Some(config) if config.vectors.is_some() => {
                refuse("`negatives.vectors` are those of other weights, and cannot be mined with again")
            }
            Some(config) if config.include_positives => {
                refuse("`negatives.include_positives` makes rankings with positives in them, which are no negatives")
            }
            _ => Ok(()),
        }
    }
}

/// Refuses a name that cannot be part of a folder's.
pub fn check_name(name: &str) -> Result<()> {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(fine) {
        let message = format!("`{name}`, expected letters, digits, `-` and `_`: it becomes part of a folder's name");
        return Err(Error::value("name", message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dora_and_a_share_of_its_weights_are_refused_where_both_are_read() {
        let of = |lora: &str, share: &str| {
            let json = format!(
                r#"{{"name": "x", "encoder": {{"model": {{"pretrained": "bert"}}, "lora": {lora}}}, "train": {{"interpolate": {share}}}}}"#
            );
            serde_json::from_str::<Experiment>(&json).unwrap().validate()
        };
        let error = of(r#"{"use_dora": true}"#, "0.5").unwrap_err();
        let expected = "train.interpolate: got 0.5, expected 1 with DoRA: the rows that `encoder.lora.use_dora` scales";
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.hint().unwrap().starts_with("train.interpolate=1"));
        of(r#"{"use_dora": true}"#, "1.0").unwrap();
        of("{}", "0.5").unwrap();
    }
}
