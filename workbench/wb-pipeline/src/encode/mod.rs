//! Texts of a file, or of a pipe, into vectors in a file: in blocks, each on the disk when it is done, so that memory is
//! bounded and what was stopped goes on.

mod blocks;
mod output;
mod texts;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Result;
use wb_core::{
    Embeddings, Encoder, Error, Interaction, Progress, Side, atomic, fingerprint::Fingerprint, lock::FileLock,
    remote::Outgoing,
};
use wb_encoder::BiEncoder;

pub(crate) use self::texts::fields;
use self::{blocks::EncodedBlocks, texts::TextBlock};
pub use self::{
    output::OutputFormat,
    texts::{InputFormat, TextInput},
};

/// Texts that are encoded and kept together, where each has one vector: what an encoder orders by length at once.
pub(crate) const BLOCK: usize = 4096;
/// Texts of a block where each has a vector for each token, a few hundred of them.
const TOKEN_BLOCK: usize = 512;

/// Texts to encode, and the file to write.
#[derive(Debug, Clone)]
pub struct EncodeTask {
    /// The texts.
    pub input: TextInput,
    /// Side of a search that they stand on.
    pub side: Side,
    /// Numbers to keep of each vector, from its first on; all of them without it. The vectors are brought to length 1
    /// again where the encoder's own have it. (`truncate_dim` of sentence-transformers leaves them shorter.)
    pub dim: Option<usize>,
    /// The file to write, which must not be there; its name says the format.
    pub out: PathBuf,
}

/// Vectors that were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedFile {
    /// Number of texts.
    pub texts: usize,
    /// Number of vectors: one a text, or one a token.
    pub vectors: usize,
    /// Length of a vector.
    pub dim: usize,
    /// Texts whose vectors an earlier process had made.
    pub resumed: usize,
    /// Files beside the one that was asked for.
    pub beside: Vec<PathBuf>,
}

impl EncodeTask {
    /// Refuses what can be seen without an encoder: an output that is there, names that say no format.
    pub fn check(&self) -> Result<OutputFormat> {
        let format = OutputFormat::of(&self.out)?;
        // What an unfinished encoding has put beside its file is its own.
        let beside = if self.blocks().is_dir() { Vec::new() } else { format.beside(&self.out) };
        Outgoing::to(&self.out)?.absent()?;
        if let Some(there) = std::iter::once(&self.out).chain(&beside).find(|path| path.exists()) {
            return Err(Error::is_there(there).into());
        }
        self.input.check()?;
        Ok(format)
    }

    /// Encodes the texts and writes their vectors, in the order of the texts. Vectors that a stopped process made of the
    /// same texts with the same encoder are taken; the file is the same, byte for byte.
    ///
    /// # Errors
    ///
    /// If the file is there already, a text cannot be read, or more numbers are asked for than a vector has.
    pub fn encode(&self, encoder: &BiEncoder, progress: &mut dyn FnMut(Progress)) -> Result<EncodedFile> {
        let format = self.check()?;
        let out = Outgoing::to(&self.out)?;
        let here = Self { out: out.local().to_owned(), ..self.clone() };
        here.encode_here(encoder, format, out, progress)
    }

    /// Encodes to a file of this disk, which is sent to where it belongs.
    fn encode_here(
        &self,
        encoder: &BiEncoder,
        format: OutputFormat,
        out: Outgoing,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<EncodedFile> {
        let dim = self.dim.unwrap_or_else(|| encoder.dim());
        if dim == 0 || dim > encoder.dim() {
            let message =
                format!("got {dim}, expected 1 to {}, the numbers of a vector of {}", encoder.dim(), encoder.name());
            return Err(Error::value("--dim", message).into());
        }
        let folder = self.blocks();
        let above = &atomic::parent(&self.out);
        atomic::create_folders(above)?;
        let lock = hidden(&self.out);
        let held = FileLock::take(&lock, &self.out)?;
        let done = self.encode_alone(encoder, dim, format, &folder, progress).and_then(|mut done| {
            // Blocks stay until it is where it belongs: sending is cut more often than renaming.
            let beside = std::mem::take(&mut done.beside);
            done.beside = beside.iter().map(|file| out.beside(file)).collect();
            out.send(&beside)?;
            Ok(done)
        });
        // Whoever began nothing leaves nothing: a file that cannot be read, an empty pipe.
        if folder.is_dir() && (done.is_ok() || !EncodedBlocks::any(&folder)) {
            atomic::remove_folder(&folder)?;
        }
        drop(held);
        let _ = fs::remove_file(&lock);
        done
    }

    /// The folder of what is done.
    fn blocks(&self) -> PathBuf {
        with_suffix(&self.out, ".blocks")
    }

    /// Encodes while no other process writes the same file.
    fn encode_alone(
        &self,
        encoder: &BiEncoder,
        dim: usize,
        format: OutputFormat,
        folder: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<EncodedFile> {
        let size = if encoder.interaction() == Interaction::MaxSim { TOKEN_BLOCK } else { BLOCK };
        let input = self.input.spooled(folder)?;
        let survey = input.survey(progress)?;
        if survey.texts == 0 {
            return Err(Error::data(self.input.to_string(), "no texts in it").into());
        }
        let mut key = Fingerprint::builder();
        key.text(encoder.fingerprint().as_str()).text(survey.fingerprint.as_str()).text(self.side.as_str());
        key.number(dim as u64).number(size as u64);
        let blocks = EncodedBlocks::open(folder, &key.finish(), survey.texts, size)?;

        let mut resumed = 0;
        let mut each = |block: &TextBlock| -> Result<()> {
            if blocks.has(block.at) {
                resumed += block.texts.len();
                return Ok(());
            }
            let texts: Vec<&str> = block.texts.iter().map(String::as_str).collect();
            let mut within = |now: Progress| {
                let done = block.at * size + (now.done as usize).min(texts.len());
                progress(Progress::new(self.side.encoding(), done, survey.texts).note(now.note));
            };
            let vectors = encoder.embed(&texts, self.side, &mut within)?;
            Ok(blocks.put(block.at, &block.ids, &shortened(vectors, dim, encoder))?)
        };
        input.blocks(size, &mut each)?;

        let (vectors, beside) = format.write(&blocks, dim, &folder.join("whole"), &self.out)?;
        atomic::rename(&folder.join("whole"), &self.out)?;
        Ok(EncodedFile { texts: survey.texts, vectors, dim, resumed, beside })
    }
}

/// The first numbers of each vector, of length 1 where the encoder's vectors are.
fn shortened(vectors: Embeddings, dim: usize, encoder: &BiEncoder) -> Embeddings {
    if dim == vectors.dim() {
        return vectors;
    }
    let of_length_one = encoder.settings().normalize || encoder.interaction() == Interaction::MaxSim;
    let cut = vectors.truncated(dim);
    if of_length_one { cut.normalized() } else { cut }
}

/// The lock of whoever writes a file.
fn hidden(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.lock"))
}

/// A path beside another one, whose name is that one's and more.
fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}
