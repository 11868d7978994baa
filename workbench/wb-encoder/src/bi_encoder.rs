//! The encoder of this workbench: a tokenizer and a model on its device, each text encoded alone.

use std::{path::Path, sync::mpsc::sync_channel, thread};

use wb_core::{
    Embeddings, Encoder, GroupMaxima, Interaction, Progress, Side, encoder::EncodeError, fingerprint::Fingerprint,
};

use crate::{
    backbone::Backbone,
    dense::DenseLayer,
    device::OpenDevice,
    error::{Error, Result},
    folder::Folder,
    late_interaction::LateInteraction,
    models::Model,
    precision::Precision,
    text_vectors::TextVectors,
    weights::MemoryType,
};

/// Texts that are tokenized, ordered by length and encoded together; the next ones are tokenized meanwhile.
const WINDOW: usize = 4096;

/// A bi-encoder on its device.
pub struct BiEncoder {
    /// All but the weights, which the backbone has.
    folder: Folder,
    backbone: Box<dyn Backbone>,
    /// Numbers of a device's products, where it was opened to encode in them.
    products: Precision,
}

impl BiEncoder {
    /// Brings an encoder to a device to encode with it alone: it needs less memory than one that may train.
    pub fn open_frozen(mut folder: Folder, device: &OpenDevice) -> Result<Self> {
        folder.expect_encoder("encoder")?;
        folder.model.parameters.freeze();
        Self::open(folder, device)
    }

    /// [`BiEncoder::open_frozen`] with the weights kept in a type, which on a device is that of its products.
    ///
    /// # Errors
    ///
    /// As [`Folder::check_memory_type`], and where the device has not these numbers.
    pub fn open_kept_as(mut folder: Folder, kind: MemoryType, device: &OpenDevice) -> Result<Self> {
        kind.check_on(device.is_cpu(), "--dtype")?;
        let Some(products) = kind.precision().filter(|_| !device.is_cpu()) else {
            folder.keep_as(kind)?;
            return Self::open_frozen(folder, device);
        };
        folder.check_memory_type(kind)?;
        // What the processor's kernels read is of no use to a device.
        folder.keep_as(kind.float().map_or(kind, MemoryType::Float))?;
        folder.expect_encoder("encoder")?;
        folder.model.parameters.freeze();
        Self::with(folder, products, |model| device.open_alone(model, products))
    }

    /// Brings an encoder to a device.
    pub fn open(folder: Folder, device: &OpenDevice) -> Result<Self> {
        Self::open_to_train(folder, device, Precision::Fp32)
    }

    /// Brings an encoder to a device on which it is to train with products in a precision: see
    /// [`OpenDevice::open_to_train`].
    pub fn open_to_train(folder: Folder, device: &OpenDevice, precision: Precision) -> Result<Self> {
        Self::with(folder, Precision::Fp32, |model| device.open_to_train(model, precision))
    }

    fn with(
        mut folder: Folder,
        products: Precision,
        open: impl FnOnce(Model) -> Result<Box<dyn Backbone>>,
    ) -> Result<Self> {
        folder.check_lengths("encoder")?;
        let parameters = std::mem::take(&mut folder.model.parameters);
        let backbone = open(Model { parameters, ..folder.model.clone() })?;
        folder.notes.clear();
        Ok(Self { folder, backbone, products })
    }

    /// The encoder as it lies in a folder, with the weights as they are now.
    pub fn to_folder(&self) -> Folder {
        let mut folder = self.folder.clone();
        folder.model.parameters = self.backbone.parameters().clone();
        folder
    }

    /// Writes a run's weights folder, which appears whole or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        self.to_folder().write(path)
    }

    /// Gives it another name in tables and files.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.folder.name = name.into();
        self
    }

    /// Puts a layer after the pooling and the layers that are there, before what brings embeddings to length 1.
    #[must_use]
    pub fn followed_by(mut self, layer: DenseLayer) -> Self {
        self.folder.dense.push(layer);
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

    /// Settings, tokenizer and layers after the pooling: all but the weights, which the model on its device has, and
    /// which [`BiEncoder::to_folder`] puts beside them.
    pub fn settings(&self) -> &Folder {
        &self.folder
    }

    /// Token ids of texts of one side, prompt and special tokens included; row `i` belongs to `texts[i]`.
    pub fn tokenize(&self, texts: &[&str], side: Side) -> Result<Vec<Vec<u32>>> {
        let Folder { late_interaction, tokenizer, max_tokens, prompts, .. } = &self.folder;
        let (prompt, most) = (prompts.of(side), max_tokens.of(side));
        let Some(late) = late_interaction else { return tokenizer.encode_all(prompt, texts, most) };
        let mut all = tokenizer.encode_all(prompt, texts, most.saturating_sub(late.added_tokens()))?;
        all.iter_mut().for_each(|ids| late.mark(ids, side, most));
        Ok(all)
    }

    /// The step from token states to one vector each; none where the encoder gives one vector a text.
    pub fn token_vectors(&self) -> Option<&LateInteraction> {
        self.folder.late_interaction.as_ref()
    }

    /// Embeddings of texts of one side: one vector a text, of length 1 where the encoder normalizes, or one a token, of
    /// length 1.
    pub fn embed(&self, texts: &[&str], side: Side, progress: &mut dyn FnMut(Progress)) -> Result<Embeddings> {
        let Folder { dense, late_interaction, normalize, .. } = &self.folder;
        let (backbone, stage, mut done) = (self.backbone.as_ref(), side.encoding(), 0);
        let mut all = TextVectors::new(late_interaction.as_ref(), backbone, texts.len());
        progress(Progress::new(stage, 0, texts.len()));
        thread::scope(|scope| {
            // Tokenized ahead on a thread of its own, one window at most.
            let (sender, receiver) = sync_channel(1);
            scope.spawn(move || {
                for window in texts.chunks(WINDOW) {
                    if sender.send(self.tokenize(window, side)).is_err() {
                        break;
                    }
                }
            });
            for (number, ids) in receiver.into_iter().enumerate() {
                let mut each = |count, not_finite: Option<usize>| {
                    if let Some(at) = not_finite {
                        return Err(self.not_finite(texts[number * WINDOW + at]));
                    }
                    done += count;
                    progress(Progress::new(stage, done, texts.len()));
                    Ok(())
                };
                all.append(backbone, &ids?, side, &mut each)?;
            }
            Ok::<(), Error>(())
        })?;
        let all = all.finish()?;
        if late_interaction.is_some() {
            return Ok(all);
        }
        let embeddings = Embeddings::dense(dense.iter().fold(all.into_inner(), |x, dense| dense.forward(&x)));
        Ok(if *normalize { embeddings.normalized() } else { embeddings })
    }

    fn not_finite(&self, text: &str) -> Error {
        let beginning: String = text.chars().take(60).collect();
        let message = format!("the embedding of {beginning:?} is not finite");
        Error::data(self.folder.name.as_str(), message)
    }
}

impl Encoder for BiEncoder {
    fn name(&self) -> String {
        self.folder.name.clone()
    }

    fn dim(&self) -> usize {
        self.folder.dim()
    }

    fn fingerprint(&self) -> Fingerprint {
        let Folder { model, lora, dense, late_interaction, tokenizer, normalize, max_tokens, prompts, .. } =
            &self.folder;
        let mut fingerprint = Fingerprint::builder();
        let settings = (&model.architecture, model.pooling, lora, normalize, max_tokens, prompts);
        fingerprint.text(Fingerprint::of_json(&settings).as_str());
        // A tokenizer that cannot be written as JSON would not have been read from it.
        fingerprint.text(&tokenizer.to_json().unwrap_or_default());
        fingerprint.number(tokenizer.special_tokens() as u64);
        if self.products != Precision::Fp32 {
            fingerprint.text("products in").text(self.products.name());
        }
        if let Some(late) = late_interaction {
            fingerprint.text(Fingerprint::of_json(late.config()).as_str());
        }
        for dense in dense {
            fingerprint.text(&format!("{:?}", dense.activation));
        }
        let of_dense: Vec<_> = dense.iter().flat_map(|dense| dense.parameters("dense")).collect();
        for parameter in self.backbone.parameters().iter().chain(&of_dense) {
            parameter.values.add_to(fingerprint.text(&parameter.name));
        }
        fingerprint.finish()
    }

    fn interaction(&self) -> Interaction {
        if self.folder.late_interaction.is_some() { Interaction::MaxSim } else { Interaction::InnerProduct }
    }

    fn group_maxima(&self) -> Option<Box<dyn GroupMaxima>> {
        self.backbone.group_maxima()
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
