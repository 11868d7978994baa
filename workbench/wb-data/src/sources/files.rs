//! Pairs in the files of a folder: which files, in which order, and what they hold all together.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Serialize;
use wb_core::{
    Progress,
    fingerprint::Fingerprint,
    paths::walk,
    remote::{self, RemoteCopy},
};

use super::{
    csv,
    fields::{Shape, config_of_records},
    gather::{Gather, stem},
    jsonl, parquet,
    record::{Mapped, Record},
    source::{PairSource, SourceRead},
};
use crate::{Error, Result};

config_of_records! {
    /// Files of one format with one record a line or row.
    FilesConfig {
        /// A file, or a folder whose files of this format are read in order of their names, subfolders too. Others
        /// there are counted.
        #[serde(deserialize_with = "wb_core::paths::typed")]
        pub path: PathBuf,
    }
}

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Jsonl,
    Parquet,
    Csv,
}

impl Format {
    const ALL: [Self; 3] = [Self::Jsonl, Self::Parquet, Self::Csv];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Parquet => "parquet",
            Self::Csv => "csv",
        }
    }

    pub(crate) fn suffixes(self) -> &'static [&'static str] {
        match self {
            Self::Jsonl => &[".jsonl", ".jsonl.gz", ".json", ".json.gz"],
            Self::Parquet => &[".parquet"],
            Self::Csv => &[".csv", ".csv.gz"],
        }
    }

    pub(crate) fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        Self::ALL.into_iter().find(|format| format.suffixes().iter().any(|suffix| name.ends_with(suffix)))
    }
}

/// A file to read, with the name that its records' ids begin with.
pub(crate) struct Input {
    pub(crate) path: Arc<Path>,
    pub(crate) stem: String,
}

impl Input {
    /// A file whose records are named without what says its format.
    pub(super) fn at(path: &Path) -> Result<Self> {
        let path = remote::local(path)?;
        Ok(Self { path: Arc::from(path.as_path()), stem: stem(&path) })
    }
}

/// The files of a path: itself, or those of its folder that have the format, and how many others lie there.
pub(crate) fn list(path: &Path, format: Format) -> Result<(Vec<Input>, u64)> {
    let RemoteCopy { path, mut others } = remote::local_of(path, &|name| Format::of(name.as_ref()) == Some(format))?;
    let path = &path;
    let meta = fs::metadata(path).map_err(Error::io("read", path))?;
    if !meta.is_dir() {
        return Ok((vec![Input { path: Arc::from(path.as_path()), stem: stem(path) }], 0));
    }
    let mut found = Vec::new();
    walk(path, &mut |file| match Format::of(&file) == Some(format) {
        true => found.push(file),
        false => others += 1,
    })?;
    if found.is_empty() {
        let message = format!("no file ends in {} ({others} others are there)", format.suffixes().join(", "));
        return Err(Error::file(path, message));
    }
    let mut inputs: Vec<Input> = found
        .into_iter()
        .map(|file| {
            let inside = file.strip_prefix(path).unwrap_or(&file);
            let folder = inside.parent().map(|folder| folder.to_string_lossy().replace('\\', "/")).unwrap_or_default();
            let stem = if folder.is_empty() { stem(&file) } else { format!("{folder}/{}", stem(&file)) };
            Input { path: Arc::from(file.as_path()), stem }
        })
        .collect();
    inputs.sort_by(|a, b| a.path.cmp(&b.path));
    // Two files that differ in their suffix only keep it, so that ids stay apart.
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    for input in &inputs {
        *times.entry(input.stem.clone()).or_default() += 1;
    }
    for input in &mut inputs {
        if times.get(&input.stem).is_some_and(|times| *times > 1) {
            let inside = input.path.strip_prefix(path).unwrap_or(&input.path);
            input.stem = inside.to_string_lossy().replace('\\', "/");
        }
    }
    Ok((inputs, others))
}

/// The files of a path in whatever format, in order of their paths, each with its format.
pub(crate) fn list_all(path: &Path) -> Result<Vec<(Input, Format)>> {
    let path = &remote::local_of(path, &|name| Format::of(name.as_ref()).is_some())?.path;
    if !fs::metadata(path).map_err(Error::io("read", path))?.is_dir() {
        let format = Format::of(path).ok_or_else(|| {
            let endings: Vec<&str> = Format::ALL.iter().flat_map(|format| format.suffixes()).copied().collect();
            Error::file(path, format!("the name says no format, expected one of {}", endings.join(", ")))
        })?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        return Ok(vec![(Input { path: Arc::from(path.as_path()), stem: name }, format)]);
    }
    let mut found = Vec::new();
    walk(path, &mut |file| found.extend(Format::of(&file).map(|format| (file, format))))?;
    found.sort_by(|a, b| a.0.cmp(&b.0));
    if found.is_empty() {
        return Err(Error::file(path, "no Parquet, JSON or CSV file is there"));
    }
    let named = found.into_iter().map(|(file, format)| {
        let inside = file.strip_prefix(path).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        (Input { path: Arc::from(file.as_path()), stem: inside }, format)
    });
    Ok(named.collect())
}

/// The fingerprint of a config and the content of files, by name and order.
pub(crate) fn fingerprint(config: &impl Serialize, inputs: &[Input]) -> Result<Fingerprint> {
    let mut fingerprint = Fingerprint::builder();
    fingerprint.text(Fingerprint::of_json(config).as_str());
    for input in inputs {
        fingerprint.text(&input.stem).text(Fingerprint::of_file(&input.path)?.as_str());
    }
    Ok(fingerprint.finish())
}

/// Files of one format.
pub(crate) struct Files<'a> {
    pub(crate) config: &'a FilesConfig,
    pub(crate) format: Format,
}

impl PairSource for Files<'_> {
    fn name(&self) -> String {
        format!("{} {}", self.format.name(), self.config.path.display())
    }

    fn kind_and_dataset(&self) -> (&'static str, &str) {
        (self.format.name(), &self.config.dataset)
    }

    fn validate(&self, key: &str) -> wb_core::Result<()> {
        if self.config.path.as_os_str().is_empty() {
            return Err(Error::value(format!("{key}.path"), "got nothing, expected a file or a folder"));
        }
        self.config.shape().validate(key)
    }

    fn fingerprint(&self) -> Result<Fingerprint> {
        fingerprint(self.config, &list(&self.config.path, self.format)?.0)
    }

    fn gather(&self, mut gather: Gather<'_>, progress: &mut dyn FnMut(Progress)) -> Result<SourceRead> {
        let (inputs, others) = list(&self.config.path, self.format)?;
        let fingerprint = fingerprint(self.config, &inputs)?;
        gather.leave_out("file of another format", others);
        let shape = self.config.shape();
        for input in &inputs {
            read_file(input, self.format, shape, &mut gather, progress)?;
        }
        gather.finish(self.name(), fingerprint)
    }
}

/// Reads one file into a source's pairs.
pub(crate) fn read_file(
    input: &Input,
    format: Format,
    shape: Shape<'_>,
    gather: &mut Gather<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<()> {
    records(input, format, &shape.roots(), &mut |item| take(item, shape, gather, &input.stem), progress)
}

/// Gives every record of a file to `sink`, in order; tables with those of their columns that are in `roots`.
pub(crate) fn records(
    input: &Input,
    format: Format,
    roots: &[String],
    sink: &mut Sink<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<()> {
    match format {
        Format::Jsonl => jsonl::records(&input.path, sink, progress),
        Format::Parquet => parquet::records(&input.path, roots, sink, progress),
        Format::Csv => csv::records(&input.path, sink, progress),
    }
}

/// A thing that a reader of records comes upon.
pub(crate) enum Item<'a> {
    /// A record.
    Record(Record<'a>),
    /// Lines with nothing on them.
    Blank(u64),
    /// Something that should have been a record.
    Bad(Error),
}

/// The taker of what readers come upon; its error ends the reading.
pub(crate) type Sink<'s> = dyn FnMut(Item<'_>) -> Result<()> + 's;

/// Takes what a reader comes upon into a source's pairs.
pub(super) fn take(item: Item<'_>, shape: Shape<'_>, gather: &mut Gather<'_>, stem: &str) -> Result<()> {
    match item {
        Item::Blank(count) => gather.leave_out("blank line", count),
        Item::Bad(error) => gather.refuse(error)?,
        Item::Record(record) => match shape.pick(&record) {
            Ok(Mapped::To(pair)) => gather.push(*pair, record.place, stem)?,
            Ok(Mapped::LeftOut(reason)) => gather.leave_out(reason, 1),
            Err(error) => gather.refuse(error)?,
        },
    }
    Ok(())
}
