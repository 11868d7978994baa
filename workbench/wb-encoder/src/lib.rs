//! Text to vectors, and how the weights learn.
//!
//! No tensor leaves this crate: [`wb_core::Embeddings`] does.

pub mod backbone;
pub mod batch;
pub mod bi_encoder;
#[cfg(feature = "burn")]
mod burn_backbone;
pub mod cross_encoder;
pub mod dense;
pub mod device;
#[cfg(feature = "burn")]
mod device_weights;
pub mod dropout;
pub mod error;
pub mod export;
pub mod folder;
pub mod journals;
pub mod kernels;
pub mod late_interaction;
pub mod lora;
pub mod losses;
pub mod models;
pub mod native;
#[cfg(feature = "burn")]
mod padded;
pub mod parameters;
pub mod pooling;
pub mod self_test;
pub mod similarities;
pub mod static_from_teacher;
pub mod stop;
pub mod text_vectors;
pub mod tokenizer;
pub mod tokenizer_training;
pub mod train;
pub mod values;
pub mod weights;
mod word_splitter;

pub use backbone::{Backbone, Dropout, Upstream};
pub use batch::TokenBatch;
pub use bi_encoder::BiEncoder;
#[cfg(feature = "burn")]
pub use burn_backbone::BurnBackbone;
pub use cross_encoder::{CrossEncoder, PairReading, PairReadingConfig, ScoreActivation};
pub use device::{DeviceConfig, OpenDevice};
pub use error::training_stopped;
pub use export::{ExportConfig, ExportFormat, Exported, export};
pub use folder::Folder;
pub use late_interaction::{LateInteraction, LateInteractionConfig};
pub use lora::LoraConfig;
pub use models::{Architecture, Model};
pub use parameters::{Gradients, Parameter, Parameters};
pub use pooling::Pooling;
pub use static_from_teacher::BagFromTeacher;
pub use stop::Stop;
pub use tokenizer::Tokenizer;
pub use tokenizer_training::TokenizerConfig;
pub use values::Values;
pub use wb_core::{Error, Result};
pub use weights::{MemoryType, WeightType};
