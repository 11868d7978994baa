//! The encoder of this workbench: a tokenizer and a model on its device, each text encoded alone.

use std::{
    path::Path,
    sync::mpsc::{Receiver, sync_channel},
    thread,
};

use ndarray::Array2;
use wb_core::{Embeddings, Encoder, Interaction, Progress, Side, encoder::EncodeError, fingerprint::Fingerprint};

use crate::{
    backbone::Backbone,
    batch::TokenBatch,
    dense::DenseLayer,
    device::OpenDevice,
    error::{Error, Result},
    folder::{Folder, MaxTokens, Prompts},
    late_interaction::{LateInteraction, TokenVectors},
    lora::{Adapter, LoraConfig},
    models::{Architecture, Model},
    pooling::Pooling,
    tokenizer::Tokenizer,
};

/// Texts that are tokenized, ordered by length and encoded together; the next ones are tokenized meanwhile.
const WINDOW: usize = 4096;
/// Tokens handed to the device at once.
const BATCH_TOKENS: usize = 16_384;

/// A bi-encoder on its device.
pub struct BiEncoder {
    name: String,
    architecture: Architecture,
    pooling: Pooling,
    lora: Option<LoraConfig>,
    adapter: Option<Adapter>,
    dense: Vec<DenseLayer>,
    late_interaction: Option<LateInteraction>,
    tokenizer: Tokenizer,
    normalize: bool,
    max_tokens: MaxTokens,
    prompts: Prompts,
    backbone: Box<dyn Backbone>,
}

impl BiEncoder {
    /// Brings an encoder to a device.
    pub fn open(folder: Folder, device: &OpenDevice) -> Result<Self> {
        folder.check_lengths("encoder")?;
        let Folder { name, model, lora, dense, late_interaction, tokenizer, normalize, max_tokens, prompts, notes: _ } =
            folder;
        let (architecture, pooling, adapter) = (model.architecture.clone(), model.pooling, model.adapter.clone());
        let backbone = device.open_backbone(model)?;
        Ok(Self {
            name,
            architecture,
            pooling,
            lora,
            adapter,
            dense,
            late_interaction,
            tokenizer,
            normalize,
            max_tokens,
            prompts,
            backbone,
        })
    }

    /// The encoder as it lies in a folder, with the weights as they are now.
    pub fn to_folder(&self) -> Folder {
        Folder {
            name: self.name.clone(),
            model: Model {
                architecture: self.architecture.clone(),
                parameters: self.backbone.parameters().clone(),
                pooling: self.pooling,
                adapter: self.adapter.clone(),
            },
            lora: self.lora.clone(),
            dense: self.dense.clone(),
            late_interaction: self.late_interaction.clone(),
            tokenizer: self.tokenizer.clone(),
            normalize: self.normalize,
            max_tokens: self.max_tokens,
            prompts: self.prompts.clone(),
            notes: Vec::new(),
        }
    }

    /// Writes a run's weights folder, which appears whole or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        self.to_folder().write(path)
    }

    /// Gives it another name in tables and files.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The model on its device.
    pub fn backbone(&self) -> &dyn Backbone {
        self.backbone.as_ref()
    }

    /// The model on its device, to train.
    pub fn backbone_mut(&mut self) -> &mut dyn Backbone {
        self.backbone.as_mut()
    }

    /// Text to token ids.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// True where embeddings get length 1.
    pub fn normalizes(&self) -> bool {
        self.normalize
    }

    /// Longer texts are cut.
    pub fn max_tokens(&self) -> MaxTokens {
        self.max_tokens
    }

    /// Put before every text.
    pub fn prompts(&self) -> &Prompts {
        &self.prompts
    }

    /// The kind of backbone, with its sizes.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// Token ids of texts of one side, prompt and special tokens included; row `i` belongs to `texts[i]`.
    pub fn tokenize(&self, texts: &[&str], side: Side) -> Result<Vec<Vec<u32>>> {
        let (prompt, most) = (self.prompts.of(side), self.max_tokens.of(side));
        let Some(late) = &self.late_interaction else { return self.tokenizer.encode_all(prompt, texts, most) };
        let mut all = self.tokenizer.encode_all(prompt, texts, most.saturating_sub(late.added_tokens()))?;
        all.iter_mut().for_each(|ids| late.mark(ids, side, most));
        Ok(all)
    }

    /// The step from token states to one vector each; none where the encoder gives one vector a text.
    pub fn token_vectors(&self) -> Option<&LateInteraction> {
        self.late_interaction.as_ref()
    }

    /// Tokenizes ahead on a thread of its own, one window at most.
    fn tokenize_ahead<'s>(
        &'s self,
        scope: &'s thread::Scope<'s, '_>,
        texts: &'s [&'s str],
        side: Side,
    ) -> Receiver<Result<Vec<Vec<u32>>>> {
        let (sender, receiver) = sync_channel(1);
        scope.spawn(move || {
            for window in texts.chunks(WINDOW) {
                if sender.send(self.tokenize(window, side)).is_err() {
                    break;
                }
            }
        });
        receiver
    }

    /// Embeddings of texts of one side: one vector a text, of length 1 where the encoder normalizes, or one a token, of
    /// length 1.
    pub fn embed(&self, texts: &[&str], side: Side, progress: &mut dyn FnMut(Progress)) -> Result<Embeddings> {
        let backbone = self.backbone.as_ref();
        if let Some(late) = &self.late_interaction {
            let mut all = TokenVectors::new(late.dim());
            self.each_window(texts, side, progress, |_, ids, each| all.append(late, backbone, ids, side, each))?;
            return all.finish();
        }
        let mut all = Array2::zeros((texts.len(), backbone.dim()));
        self.each_window(texts, side, progress, |first, ids, each| {
            for group in by_length(ids) {
                let rows = backbone.embed(&TokenBatch::new(group.iter().map(|at| ids[*at].as_slice())))?;
                let not_finite = rows.rows().into_iter().position(|row| row.iter().any(|value| !value.is_finite()));
                each(group.len(), not_finite.map(|at| group[at]))?;
                for (row, at) in rows.rows().into_iter().zip(&group) {
                    all.row_mut(first + at).assign(&row);
                }
            }
            Ok(())
        })?;
        let embeddings = Embeddings::dense(self.dense.iter().fold(all, |x, dense| dense.forward(&x)));
        Ok(if self.normalize { embeddings.normalized() } else { embeddings })
    }

    /// Tokenizes texts window by window and hands each to `embed`, with the place of its first text. `embed` tells of every
    /// group how many texts it had, and the first with a vector that is not finite, which is an error.
    fn each_window(
        &self,
        texts: &[&str],
        side: Side,
        progress: &mut dyn FnMut(Progress),
        mut embed: impl FnMut(usize, &[Vec<u32>], &mut dyn FnMut(usize, Option<usize>) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let (stage, mut done) = (side.encoding(), 0);
        progress(Progress::new(stage, 0, texts.len()));
        thread::scope(|scope| {
            for (number, ids) in self.tokenize_ahead(scope, texts, side).into_iter().enumerate() {
                let first = number * WINDOW;
                let mut each = |count, not_finite: Option<usize>| {
                    if let Some(at) = not_finite {
                        return Err(self.not_finite(texts[first + at]));
                    }
                    done += count;
                    progress(Progress::new(stage, done, texts.len()));
                    Ok(())
                };
                embed(first, &ids?, &mut each)?;
            }
            Ok(())
        })
    }

    fn not_finite(&self, text: &str) -> Error {
        let beginning: String = text.chars().take(60).collect();
        let message = format!("the embedding of {beginning:?} is not finite");
        Error::data(self.name.as_str(), message)
    }
}

/// Positions of texts in groups of similar length, longest first, each of at most [`BATCH_TOKENS`] tokens (or one text).
pub(crate) fn by_length(ids: &[Vec<u32>]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(ids[*at].len()), *at));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut tokens = 0;
    for at in order {
        let own = ids[at].len().max(1);
        match groups.last_mut() {
            Some(group) if tokens + own <= BATCH_TOKENS => group.push(at),
            _ => {
                groups.push(vec![at]);
                tokens = 0;
            }
        }
        tokens += own;
    }
    groups
}

impl Encoder for BiEncoder {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn dim(&self) -> usize {
        if let Some(late) = &self.late_interaction {
            return late.dim();
        }
        self.dense.last().map_or_else(|| self.backbone.dim(), DenseLayer::dim)
    }

    fn fingerprint(&self) -> Fingerprint {
        let mut fingerprint = Fingerprint::builder();
        let settings = (&self.architecture, self.pooling, &self.lora, self.normalize, self.max_tokens, &self.prompts);
        fingerprint.text(Fingerprint::of_json(&settings).as_str());
        // A tokenizer that cannot be written as JSON would not have been read from it.
        fingerprint.text(&self.tokenizer.to_json().unwrap_or_default());
        fingerprint.number(self.tokenizer.special_tokens() as u64);
        if let Some(late) = &self.late_interaction {
            fingerprint.text(Fingerprint::of_json(late.config()).as_str());
        }
        for dense in &self.dense {
            fingerprint.text(&format!("{:?}", dense.activation));
        }
        let of_dense: Vec<_> = self.dense.iter().flat_map(|dense| dense.parameters("dense")).collect();
        for parameter in self.backbone.parameters().iter().chain(&of_dense) {
            fingerprint.text(&parameter.name).floats(&parameter.values);
        }
        fingerprint.finish()
    }

    fn interaction(&self) -> Interaction {
        if self.late_interaction.is_some() { Interaction::MaxSim } else { Interaction::InnerProduct }
    }

    fn encode(
        &self,
        texts: &[&str],
        side: Side,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Embeddings, EncodeError> {
        Ok(self.embed(texts, side, progress)?)
    }
}
