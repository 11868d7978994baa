//! The different texts of training pairs: in memory, or in a file that is read text by text.

use std::{
    borrow::Cow,
    fs::File,
    io::{BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use wb_core::{Error, Result};

/// Texts by number.
#[derive(Debug)]
pub enum TextStore<'a> {
    /// All texts in memory.
    Memory(Vec<Cow<'a, str>>),
    /// A file of texts, and in memory those that came later.
    Disk(TextFile, Vec<String>),
}

impl TextStore<'_> {
    /// A text by its number.
    pub fn get(&self, number: u32) -> Result<Cow<'_, str>> {
        let at = number as usize;
        match self {
            Self::Memory(texts) => Ok(Cow::Borrowed(&texts[at])),
            Self::Disk(file, _) if at < file.len() => Ok(Cow::Owned(file.read(at)?)),
            Self::Disk(file, later) => Ok(Cow::Borrowed(&later[at - file.len()])),
        }
    }

    /// Number of texts.
    pub fn len(&self) -> usize {
        match self {
            Self::Memory(texts) => texts.len(),
            Self::Disk(file, later) => file.len() + later.len(),
        }
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a text, which is kept in memory.
    pub fn push(&mut self, text: String) {
        match self {
            Self::Memory(texts) => texts.push(Cow::Owned(text)),
            Self::Disk(_, later) => later.push(text),
        }
    }
}

/// Texts one after the other in a file, with where each begins: 8 bytes of memory a text.
#[derive(Debug)]
pub struct TextFile {
    path: PathBuf,
    file: Mutex<File>,
    /// Beginnings of the texts in the file, and the end.
    places: Vec<u64>,
}

impl TextFile {
    /// Number of texts.
    pub fn len(&self) -> usize {
        self.places.len() - 1
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One text.
    pub fn read(&self, at: usize) -> Result<String> {
        let mut bytes = vec![0; (self.places[at + 1] - self.places[at]) as usize];
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.places[at]))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(Error::io("read", &self.path))?;
        drop(file);
        String::from_utf8(bytes).map_err(|_| {
            let message = format!("text {at} is not UTF-8: the file was changed while it was used");
            Error::data(self.path.display().to_string(), message)
        })
    }
}

impl Drop for TextFile {
    fn drop(&mut self) {
        // It is made again whenever it is needed; what cannot be removed does no harm.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Writes a [`TextFile`].
#[derive(Debug)]
pub struct TextWriter {
    path: PathBuf,
    file: BufWriter<File>,
    places: Vec<u64>,
}

impl TextWriter {
    /// A new file; one that is there is written over.
    pub fn create(path: &Path) -> Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        }
        let open = File::options().read(true).write(true).create(true).truncate(true).open(path);
        let file = BufWriter::with_capacity(1 << 20, open.map_err(Error::io("create", path))?);
        Ok(Self { path: path.to_owned(), file, places: vec![0] })
    }

    /// Adds a text.
    pub fn write(&mut self, text: &str) -> Result<()> {
        self.file.write_all(text.as_bytes()).map_err(Error::io("write", &self.path))?;
        self.places.push(self.places[self.places.len() - 1] + text.len() as u64);
        Ok(())
    }

    /// The texts, ready to read.
    pub fn finish(self) -> Result<TextFile> {
        let mut places = self.places;
        places.shrink_to_fit();
        let file = self.file.into_inner().map_err(|error| Error::io("write", &self.path)(error.into_error()))?;
        Ok(TextFile { path: self.path, file: Mutex::new(file), places })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_from_memory_and_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run/texts");
        let all = ["", "λx.x", "fn main() {}", "a\nb"];
        let mut writer = TextWriter::create(&path).unwrap();
        all.iter().for_each(|text| writer.write(text).unwrap());
        let mut disk = TextStore::Disk(writer.finish().unwrap(), Vec::new());
        let mut memory = TextStore::Memory(all.iter().map(|text| Cow::Borrowed(*text)).collect());
        for texts in [&mut disk, &mut memory] {
            texts.push("later".into());
            assert_eq!(texts.len(), 5);
            let found: Vec<String> = [4, 1, 0, 3, 2, 1].map(|at| texts.get(at).unwrap().into_owned()).into();
            assert_eq!(found, ["later", "λx.x", "", "a\nb", "fn main() {}", "λx.x"]);
        }
        assert!(path.is_file());
        drop(disk);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_that_was_changed_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("texts");
        let mut writer = TextWriter::create(&path).unwrap();
        writer.write("some text").unwrap();
        let texts = writer.finish().unwrap();
        std::fs::write(&path, [255; 9]).unwrap();
        assert!(
            texts
                .read(0)
                .unwrap_err()
                .to_string()
                .ends_with("text 0 is not UTF-8: the file was changed while it was used")
        );
        std::fs::write(&path, "some").unwrap();
        assert!(texts.read(0).unwrap_err().to_string().contains("texts"));
    }
}
