//! Text to vectors, and how the weights learn.
//!
//! No tensor leaves this crate: [`wb_core::Embeddings`] does.

pub mod backbone;
pub mod batch;
pub mod bi_encoder;
pub mod cross_encoder;
#[cfg(any(feature = "cuda", test))]
mod cuda_toolkit;
pub mod dense;
pub mod device;
pub mod dropout;
pub mod error;
pub mod export;
pub mod folder;
pub mod journals;
pub mod kernel_settings;
pub mod kernels;
pub mod late_interaction;
pub mod lora;
pub mod losses;
pub mod models;
pub mod native;
#[cfg(feature = "burn")]
mod on_device;
pub mod parameters;
pub mod pooling;
pub mod precision;
pub mod resident;
pub mod self_test;
pub mod several;
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

pub use backbone::{Backbone, Dropout, Padding, Upstream};
pub use batch::{BATCH_TOKENS, TokenBatch};
pub use bi_encoder::BiEncoder;
pub use cross_encoder::{CrossEncoder, PairReading, PairReadingConfig, ScoreActivation};
pub use device::{DeviceConfig, Devices, FarDevice, OpenDevice, give_back_memory};
pub use error::{DeviceFailure, LostRank, is_lost_rank, training_stopped};
pub use export::{ExportConfig, ExportFormat, Exported, export};
pub use folder::Folder;
pub use kernel_settings::{Autotune, KernelSettings, kernel_cache};
pub use late_interaction::{LateInteraction, LateInteractionConfig};
pub use lora::LoraConfig;
pub use models::{Architecture, Model};
#[cfg(feature = "burn")]
pub use on_device::{BurnBackbone, DeviceMaxima, Traffic};
pub use parameters::{Gradients, Parameter, Parameters};
pub use pooling::Pooling;
pub use precision::Precision;
pub use several::SeveralBackbones;
pub use static_from_teacher::BagFromTeacher;
pub use stop::Stop;
pub use tokenizer::Tokenizer;
pub use tokenizer_training::TokenizerConfig;
pub use values::Values;
pub use wb_core::{Error, Result};
pub use weights::{MemoryType, WeightType};
