//! The two layouts of a sentence-transformers folder.

use std::path::Path;

use serde_json::{Value, json};
use wb_core::run_dir::write_json;

use super::{ExportConfig, multi_vector, static_embedding, transformer};
use crate::{
    error::Result,
    folder::Folder,
    models::{Architecture, Transformer},
    pooling::Pooling,
    similarities::SimilarityConfig,
};

/// Version 5.4 moved the classes, renamed keys and dropped `max_seq_length`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// The layout of versions 2 to 5.3.
    Legacy,
    /// The layout of version 5.4 and later.
    New,
}

/// A module of the pipeline.
#[derive(Debug, Clone, Copy)]
pub(super) enum Module {
    Transformer,
    StaticEmbedding,
    /// A module whose class is in a file that the folder brings along.
    WeightedStaticEmbedding,
    Pooling,
    Dense,
    /// The module that keeps tokens out of late interaction; of the new layout alone.
    MultiVectorMask,
    Normalize,
}

impl Layout {
    /// The first version of transformers that the layout is for: major and minor.
    pub const fn transformers(self) -> [u32; 2] {
        match self {
            Self::Legacy => [4, 41],
            Self::New => [5, 0],
        }
    }

    /// The first version of transformers that computes a folder's vectors: the layout's, or the network's where that
    /// came later.
    pub fn first_transformers(self, folder: &Folder) -> [u32; 2] {
        let of_network = folder.model.architecture.transformer().map(Transformer::transformers_version);
        self.transformers().max(of_network.unwrap_or_default())
    }

    /// Versions of libraries, as `config_sentence_transformers.json` names them: what is older may not understand the
    /// folder.
    pub fn versions(self, folder: &Folder) -> Value {
        let [major, minor] = self.first_transformers(folder);
        let (sentence_transformers, pytorch) = match self {
            Self::Legacy => ("3.0.0", "2.3.0"),
            Self::New => ("6.0.0", "2.6.0"),
        };
        json!({
            "sentence_transformers": sentence_transformers,
            "transformers": format!("{major}.{minor}.0"),
            "pytorch": pytorch,
        })
    }

    /// Writes the whole folder.
    pub fn write(self, folder: &Folder, config: &ExportConfig, to: &Path) -> Result<()> {
        match &folder.model.architecture {
            Architecture::StaticEmbedding(_) => static_embedding::write(self, folder, config, to),
            _ => {
                transformer::write_weights(folder, config.dtype, to)?;
                self.write_around(folder, config, to)
            }
        }
    }

    /// Everything of a transformer's folder but its config and weights.
    pub fn write_around(self, folder: &Folder, config: &ExportConfig, to: &Path) -> Result<()> {
        if let Some(late) = &folder.late_interaction {
            return multi_vector::write_around(folder, late, config, to);
        }
        transformer::write_tokenizer(folder, to)?;
        let settings = match self {
            Self::Legacy => json!({ "max_seq_length": folder.max_tokens.document, "do_lower_case": false }),
            Self::New => json!({
                "transformer_task": "feature-extraction",
                "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
                "module_output_name": "token_embeddings",
            }),
        };
        write_json(&to.join("sentence_bert_config.json"), &settings)?;
        write_json(&to.join("1_Pooling/config.json"), &self.pooling(folder))?;
        let mut modules = vec![(Module::Transformer, String::new()), (Module::Pooling, "1_Pooling".to_owned())];
        for dense in &folder.dense {
            let path = format!("{}_Dense", modules.len());
            dense.write(&to.join(&path), config.dtype)?;
            modules.push((Module::Dense, path));
        }
        if folder.normalize {
            modules.push((Module::Normalize, format!("{}_Normalize", modules.len())));
        }
        self.write_modules(&modules, folder, config, to)
    }

    /// `modules.json`, what normalization needs, and `config_sentence_transformers.json`.
    pub fn write_modules(
        self,
        modules: &[(Module, String)],
        folder: &Folder,
        config: &ExportConfig,
        to: &Path,
    ) -> Result<()> {
        let modules: Vec<(Module, &str)> = modules.iter().map(|(module, path)| (*module, path.as_str())).collect();
        self.write_list(&modules, to)?;
        for (_, path) in modules.iter().filter(|(module, _)| matches!(module, Module::Normalize)) {
            let keys = match self {
                // The older class has no settings; the folder is there all the same, as its own saving leaves it.
                Self::Legacy => json!({}),
                Self::New => {
                    json!({"module_input_name": "sentence_embedding", "module_output_name": "sentence_embedding"})
                }
            };
            write_json(&to.join(path).join("config.json"), &keys)?;
        }
        let similarity = match config.similarity {
            SimilarityConfig::Cosine => "cosine",
            SimilarityConfig::Dot => "dot",
            SimilarityConfig::Maxsim | SimilarityConfig::Xtr(_) => "maxsim",
        };
        let mut about = json!({
            "__version__": self.versions(folder),
            "prompts": {"query": folder.prompts.query, "document": folder.prompts.document},
            "default_prompt_name": null,
            "similarity_fn_name": similarity,
        });
        if self == Self::New {
            about["model_type"] = json!("SentenceTransformer");
        }
        write_json(&to.join("config_sentence_transformers.json"), &about)
    }

    /// `modules.json`: the modules in their order, each with its folder.
    pub fn write_list(self, modules: &[(Module, &str)], to: &Path) -> Result<()> {
        let entry = |(idx, (module, path)): (usize, &(Module, &str))| json!({"idx": idx, "name": idx.to_string(), "path": path, "type": self.class(*module)});
        write_json(&to.join("modules.json"), &modules.iter().enumerate().map(entry).collect::<Vec<Value>>())
    }

    fn class(self, module: Module) -> &'static str {
        match (self, module) {
            (_, Module::WeightedStaticEmbedding) => "weighted_static_embedding.WeightedStaticEmbedding",
            (_, Module::MultiVectorMask) => {
                "sentence_transformers.multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask"
            }
            (Self::Legacy, Module::Transformer) => "sentence_transformers.models.Transformer",
            (Self::Legacy, Module::StaticEmbedding) => "sentence_transformers.models.StaticEmbedding",
            (Self::Legacy, Module::Pooling) => "sentence_transformers.models.Pooling",
            (Self::Legacy, Module::Dense) => "sentence_transformers.models.Dense",
            (Self::Legacy, Module::Normalize) => "sentence_transformers.models.Normalize",
            (Self::New, Module::Transformer) => "sentence_transformers.base.modules.transformer.Transformer",
            (Self::New, Module::StaticEmbedding) => {
                "sentence_transformers.sentence_transformer.modules.static_embedding.StaticEmbedding"
            }
            (Self::New, Module::Pooling) => "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
            (Self::New, Module::Dense) => "sentence_transformers.base.modules.dense.Dense",
            (Self::New, Module::Normalize) => "sentence_transformers.base.modules.normalize.Normalize",
        }
    }

    fn pooling(self, folder: &Folder) -> Value {
        let (dim, pooling) = (folder.model.architecture.dim(), folder.model.pooling);
        match self {
            Self::Legacy => json!({
                "word_embedding_dimension": dim,
                "pooling_mode_cls_token": pooling == Pooling::Cls,
                "pooling_mode_mean_tokens": pooling == Pooling::Mean,
                "pooling_mode_max_tokens": false,
                "pooling_mode_mean_sqrt_len_tokens": false,
                "pooling_mode_weightedmean_tokens": pooling == Pooling::WeightedMean,
                "pooling_mode_lasttoken": pooling == Pooling::Last,
                "include_prompt": true,
            }),
            Self::New => {
                json!({"embedding_dimension": dim, "pooling_mode": pooling.hub_name(), "include_prompt": true})
            }
        }
    }
}
