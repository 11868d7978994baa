//! Texts to encode: of a file, a folder, or standard input.

use std::{
    collections::BTreeMap,
    fmt,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    str::FromStr,
};

use anyhow::Result;
use wb_core::{Error, Progress, fingerprint::Fingerprint, progress::silent, suggest};
use wb_data::sources::{
    Mapped,
    texts::{TextFields, TextFiles, TextRecord, each_text},
};

/// The name of standard input.
const STANDARD_INPUT: &str = "-";

/// Form of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputFormat {
    /// Records of JSON lines, Parquet or CSV, as the file's name says; of standard input, JSON lines.
    Records,
    /// One text a line.
    Lines,
}

impl FromStr for InputFormat {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "records" => Ok(Self::Records),
            "lines" => Ok(Self::Lines),
            _ => Err(Error::unknown("format", name).with_hint_if(suggest::hint(name, ["records", "lines"]))),
        }
    }
}

/// Texts to encode.
#[derive(Debug, Clone)]
pub struct TextInput {
    /// A file, a folder of files of records, or `-` for standard input.
    pub path: PathBuf,
    /// Form of the texts; without it, a file whose name ends in `.txt` or `.txt.gz` has lines, and others have records.
    pub format: Option<InputFormat>,
    /// Field of a record that holds the text: a name, a dotted path, `a|b` or `a+b`.
    pub field: String,
}

/// Number and content of texts.
pub struct Survey {
    /// Number of texts.
    pub texts: usize,
    /// Fingerprint of the texts and their names, in order.
    pub fingerprint: Fingerprint,
}

/// Texts that are encoded together.
#[derive(Debug, Default)]
pub struct TextBlock {
    /// Number of the block, from 0.
    pub at: usize,
    /// Names of the texts.
    pub ids: Vec<String>,
    /// The texts.
    pub texts: Vec<String>,
}

/// Texts that can be read again.
pub struct Spooled {
    path: PathBuf,
    format: InputFormat,
    fields: TextFields,
}

impl fmt::Display for TextInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_standard_input() { f.write_str("standard input") } else { write!(f, "{}", self.path.display()) }
    }
}

impl TextInput {
    /// Refuses what can be seen without reading: a name that says no format, a field without a name.
    pub fn check(&self) -> Result<(), Error> {
        if self.is_standard_input() && self.format.is_none() {
            return Err(Error::data("standard input", "has no name that says its format")
                .with_hint("--in-format lines for a text a line, --in-format records for JSON lines"));
        }
        self.fields().validate(&BTreeMap::new(), "--field")
    }

    /// The texts where they can be read twice: those of standard input are kept in a folder, which is made.
    pub fn spooled(&self, folder: &Path) -> Result<Spooled> {
        let (format, fields) = (self.format(), self.fields());
        if !self.is_standard_input() {
            return Ok(Spooled { path: self.path.clone(), format, fields });
        }
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        let name = if format == InputFormat::Lines { "stdin.txt" } else { "stdin.jsonl" };
        let path = folder.join(name);
        let mut file = File::create(&path).map_err(Error::io("create", &path))?;
        io::copy(&mut io::stdin().lock(), &mut file).map_err(Error::io("write", &path))?;
        Ok(Spooled { path, format, fields })
    }

    fn is_standard_input(&self) -> bool {
        self.path == Path::new(STANDARD_INPUT)
    }

    fn format(&self) -> InputFormat {
        let name = self.path.to_string_lossy();
        let lines = name.ends_with(".txt") || name.ends_with(".txt.gz");
        self.format.unwrap_or(if lines { InputFormat::Lines } else { InputFormat::Records })
    }

    fn fields(&self) -> TextFields {
        fields(&self.field)
    }
}

/// Fields of a record: its text, and its name where it has one.
pub(crate) fn fields(text: &str) -> TextFields {
    TextFields { text: text.to_owned(), id: Some("id".into()), ..TextFields::default() }
}

impl Spooled {
    /// Reads everything once: what is wrong with a text is told before any is encoded.
    pub fn survey(&self, progress: &mut dyn FnMut(Progress)) -> Result<Survey> {
        let (mut texts, mut all) = (0, Fingerprint::builder());
        let mut take = |record: TextRecord| {
            texts += 1;
            all.text(&record.id).text(&record.text);
            Ok(())
        };
        self.each(&mut take, &mut |now| progress(Progress { stage: "reading texts", ..now }))?;
        Ok(Survey { texts, fingerprint: all.finish() })
    }

    /// Gives the texts to `take`, so many at a time.
    pub fn blocks(&self, size: usize, take: &mut dyn FnMut(&TextBlock) -> Result<()>) -> Result<()> {
        let mut block = TextBlock::default();
        let mut each = |record: TextRecord| -> Result<()> {
            block.ids.push(record.id);
            block.texts.push(record.text);
            if block.texts.len() == size {
                take(&block)?;
                block = TextBlock { at: block.at + 1, ..TextBlock::default() };
            }
            Ok(())
        };
        self.each(&mut each, &mut silent)?;
        if block.texts.is_empty() { Ok(()) } else { take(&block) }
    }

    /// Gives every text to `take`. Each record has one: a vector without its text, or the other way round, would move
    /// all rows behind it.
    fn each(&self, take: &mut dyn FnMut(TextRecord) -> Result<()>, progress: &mut dyn FnMut(Progress)) -> Result<()> {
        let files = match self.format {
            InputFormat::Records => TextFiles::Path(&self.path),
            InputFormat::Lines => TextFiles::Lines(&self.path),
        };
        let (mut records, mut failed) = (0, None);
        let mut sink = |item: wb_core::Result<Mapped<TextRecord>>| {
            records += 1;
            match item? {
                Mapped::To(record) => take(*record).map_err(|error| {
                    failed = Some(error);
                    Error::Stopped
                }),
                Mapped::LeftOut(reason) if reason == "blank line" => Ok(()),
                Mapped::LeftOut(reason) => {
                    Err(Error::at(&self.path, format!("record {records}"), format!("{reason}, expected a text")))
                }
            }
        };
        let read = each_text(files, &self.fields, &BTreeMap::new(), &mut sink, progress);
        match failed {
            Some(error) => Err(error),
            None => Ok(read.map(|_| ())?),
        }
    }
}
