//! Encoders and rankers by name: a folder, a run, `latest`, `bag`, or an id of the hub; the one form for YAML and command line.

use std::{
    borrow::Cow,
    convert::Infallible,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
    ser::SerializeStruct,
};

use crate::{
    Error, Result, RunDir,
    paths::{caches, expand_home},
    remote, run_dir,
};

/// An encoder as a person names it. In YAML a text, or a map with more to say:
/// `sentence-transformers/all-MiniLM-L6-v2` or `{ id: ..., revision: ..., adapter: ..., lowercase: ... }`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct EncoderRef {
    /// A folder (a leading `~` is the home folder), a run, `latest`, `bag`, or `owner/name` on the hub.
    pub id: String,
    /// Revision of an id of the hub: a commit, a branch or a tag; empty for the main branch.
    pub revision: String,
    /// Adapters that PEFT saved over this encoder: a folder with `adapter_config.json`.
    pub adapter: Option<PathBuf>,
    /// Makes texts lower case before the tokenizer sees them, where the folder does not say so itself.
    pub lowercase: bool,
}

/// The name of this machine's own encoder, see [`EncoderRef::bag_folder`].
pub const BAG: &str = "bag";

/// The place that a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EncoderPlace {
    /// A folder on this disk.
    Folder(PathBuf),
    /// The encoder of a run.
    Run(RunDir),
    /// A repository of the hub, and its revision or nothing.
    Hub {
        /// `owner/name`.
        id: String,
        /// A commit, a branch, a tag; empty for the main branch.
        revision: String,
    },
}

impl EncoderRef {
    /// Refuses nothing at all; `key` is its config path.
    pub fn validate(&self, key: &str) -> Result<()> {
        if !self.id.trim().is_empty() {
            return Ok(());
        }
        let message = "is empty, expected an encoder: a folder, a run, or `owner/name` of the hub";
        Err(Error::value(key, message).with_hint(format!("{key}: sentence-transformers/all-MiniLM-L6-v2")))
    }

    /// The folder of this machine's own encoder, `bag`, whether it was trained yet or not: a bag of token vectors out of code that
    /// is installed here, which indexes take where no other is named.
    pub fn bag_folder() -> Result<PathBuf> {
        Ok(caches()?.join("wb/bag/encoder"))
    }

    /// True for the name of this machine's own encoder, where neither a folder nor a run is called so.
    pub fn is_bag(&self, runs: &Path) -> Result<bool> {
        if self.id != BAG || Path::new(BAG).is_dir() || runs.join(BAG).is_dir() {
            return Ok(false);
        }
        Ok(!run_dir::list(runs)?.iter().any(|run| run.name() == Some(BAG)))
    }

    /// The place that is meant: this machine's own encoder by its name, a folder that is there, else by the name's form.
    pub fn place(&self, runs: &Path) -> Result<EncoderPlace> {
        if self.is_bag(runs)? {
            let folder = Self::bag_folder()?;
            let hint = "`wb index --encoder bag` trains it on this machine";
            let untrained = || Error::unknown("encoder", BAG).with_hint(hint);
            return folder.is_dir().then_some(EncoderPlace::Folder(folder)).ok_or_else(untrained);
        }
        let typed = self.name();
        let folder = remote::local(&expand_home(Path::new(&typed)))?;
        if folder.is_dir() {
            return Ok(match folder.join("manifest.json").is_file() {
                true => EncoderPlace::Run(RunDir::open(runs, &folder.display().to_string())?),
                false => EncoderPlace::Folder(folder),
            });
        }
        if is_hub_id(&self.id) {
            return Ok(EncoderPlace::Hub { id: self.id.clone(), revision: self.revision.clone() });
        }
        if self.id.contains('/') || self.id.starts_with(['.', '~']) {
            let hint = "name a folder with config.json, model.safetensors and tokenizer.json, a run (`wb ls`), or an id of \
                        the hub, owner/name";
            // With `~` taken for the home folder: the place that was looked at.
            return Err(Error::unknown("folder", folder.display().to_string()).with_hint(hint));
        }
        let run = RunDir::open(runs, &self.id).map_err(|error| match error {
            Error::Unknown { name, hint, .. } => {
                // A near run's name is the best help; a list of runs is none for who meant a folder.
                let near = hint.filter(|hint| hint.starts_with("did you mean") || name == "latest");
                let hint =
                    near.unwrap_or_else(|| "name a folder, a run (`wb ls`), or an id of the hub, owner/name".into());
                Error::unknown("folder or run", name).with_hint(hint)
            }
            other => other,
        })?;
        Ok(EncoderPlace::Run(run))
    }

    /// The name alone, as it is typed: `owner/name@revision`.
    pub fn name(&self) -> String {
        match self.revision.as_str() {
            "" => self.id.clone(),
            revision => format!("{}@{revision}", self.id),
        }
    }

    /// True where the name says all there is to say.
    fn is_plain(&self) -> bool {
        self.adapter.is_none() && !self.lowercase && (self.revision.is_empty() || is_hub_id(&self.id))
    }
}

/// `owner/name`, which may also be a folder that is not there.
fn is_hub_id(id: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    id.split_once('/').is_some_and(|(owner, name)| part(owner) && part(name))
}

impl fmt::Display for EncoderRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())?;
        self.adapter.as_ref().map_or(Ok(()), |adapter| write!(f, " with adapters {}", adapter.display()))
    }
}

impl From<&str> for EncoderRef {
    fn from(text: &str) -> Self {
        let (id, revision) = match text.rsplit_once('@') {
            Some((id, revision)) if is_hub_id(id) && !revision.is_empty() => (id, revision),
            _ => (text, ""),
        };
        Self { id: id.to_owned(), revision: revision.to_owned(), ..Self::default() }
    }
}

impl FromStr for EncoderRef {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.into())
    }
}

impl Serialize for EncoderRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_plain() {
            return serializer.serialize_str(&self.name());
        }
        let mut map = serializer.serialize_struct("EncoderRef", 4)?;
        map.serialize_field("id", &self.id)?;
        map.serialize_field("revision", &self.revision)?;
        map.serialize_field("adapter", &self.adapter)?;
        map.serialize_field("lowercase", &self.lowercase)?;
        map.end()
    }
}

/// An encoder by name, with more to say.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AsMap {
    /// The name: a folder (a leading `~` is the home folder), a run, `latest`, `bag`, or `owner/name` on the hub; all that is
    /// to be said where it stands alone.
    id: String,
    /// A commit, a branch or a tag of a repository of the hub, as in `id@revision`; empty for its main branch.
    #[serde(default)]
    revision: String,
    /// Adapters that PEFT saved over this encoder: a folder with `adapter_config.json`. Of a `pretrained` encoder they
    /// train further, so `lora` has to be left out.
    #[serde(default, deserialize_with = "crate::paths::typed")]
    adapter: Option<PathBuf>,
    /// Makes texts lower case before the tokenizer sees them. A folder that says so itself (`do_lower_case` in
    /// `sentence_bert_config.json`), and XTR's, need no key.
    #[serde(default)]
    lowercase: bool,
}

impl JsonSchema for EncoderRef {
    fn schema_name() -> Cow<'static, str> {
        "EncoderRef".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An encoder: a folder, a run, `latest`, `bag`, `owner/name` of the hub, or a map with `id`.",
            "anyOf": [{ "type": "string" }, AsMap::json_schema(generator)],
        })
    }
}

impl<'de> Deserialize<'de> for EncoderRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OfEither)
    }
}

/// A text or a map; both keep their position in the file.
struct OfEither;

impl<'de> Visitor<'de> for OfEither {
    type Value = EncoderRef;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an encoder: a folder, a run, `owner/name` of the hub, or a map with `id`")
    }

    fn visit_str<E>(self, text: &str) -> Result<EncoderRef, E> {
        Ok(text.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<EncoderRef, A::Error> {
        let AsMap { id, revision, adapter, lowercase } = AsMap::deserialize(MapAccessDeserializer::new(map))?;
        let named = EncoderRef::from(id.as_str());
        let revision = if revision.is_empty() { named.revision } else { revision };
        Ok(EncoderRef { id: named.id, revision, adapter, lowercase })
    }
}

/// A ranker of documents for queries: words, or an encoder. In YAML and on the command line `bm25`, or an encoder's
/// name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Ranker {
    /// Words that query and document share.
    #[default]
    Bm25,
    /// Cosines of embeddings, or MaxSim.
    Encoder(EncoderRef),
}

/// The name that is no encoder's.
const BM25: &str = "bm25";

impl Ranker {
    /// Refuses an encoder without a name; `key` is its config path.
    pub fn validate(&self, key: &str) -> Result<()> {
        self.encoder().map_or(Ok(()), |encoder| encoder.validate(key))
    }

    /// The encoder, where it is one.
    pub fn encoder(&self) -> Option<&EncoderRef> {
        match self {
            Self::Bm25 => None,
            Self::Encoder(encoder) => Some(encoder),
        }
    }
}

impl fmt::Display for Ranker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bm25 => f.write_str(BM25),
            Self::Encoder(encoder) => encoder.fmt(f),
        }
    }
}

impl From<EncoderRef> for Ranker {
    fn from(encoder: EncoderRef) -> Self {
        if encoder == EncoderRef::from(BM25) { Self::Bm25 } else { Self::Encoder(encoder) }
    }
}

impl FromStr for Ranker {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(EncoderRef::from(text).into())
    }
}

impl Serialize for Ranker {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bm25 => serializer.serialize_str(BM25),
            Self::Encoder(encoder) => encoder.serialize(serializer),
        }
    }
}

impl JsonSchema for Ranker {
    fn schema_name() -> Cow<'static, str> {
        "Ranker".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Words (`bm25`), or an encoder.",
            "anyOf": [{ "const": BM25 }, generator.subschema_for::<EncoderRef>()],
        })
    }
}

impl<'de> Deserialize<'de> for Ranker {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        EncoderRef::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Holder {
        of: EncoderRef,
        by: Ranker,
    }

    fn read(yaml: &str) -> Result<Holder> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.yaml");
        fs::write(&path, yaml).unwrap();
        crate::config::load(&path, &[])
    }

    #[test]
    fn a_text_and_a_map_say_the_same() {
        let short = read(&format!("of: o/n@{COMMIT}\nby: bm25\n")).unwrap();
        let long = read(&format!("of: {{ id: o/n, revision: {COMMIT} }}\nby: {{ id: bm25 }}\n")).unwrap();
        assert_eq!(short, long);
        assert_eq!((short.of.id.as_str(), short.of.revision.as_str()), ("o/n", COMMIT));
        assert_eq!(short.by, Ranker::Bm25);
        let more = read("of: { id: ~/m, adapter: a, lowercase: true }\nby: latest\n").unwrap();
        assert_eq!(more.by.encoder().unwrap().id, "latest");
        for holder in [short, more] {
            assert_eq!(read(&crate::config::to_text(&holder).unwrap()).unwrap(), holder);
        }
    }

    #[test]
    fn errors_keep_their_position() {
        let error = read("by: bm25\nof: { id: o/n, revison: main }\n").unwrap_err();
        assert!(error.to_string().contains("x.yaml:2:"), "{error}");
        assert_eq!(error.hint(), Some("did you mean `revision`?"));
        let error = read("by: bm25\nof: [o/n]\n").unwrap_err();
        assert!(error.to_string().contains("expected an encoder: a folder, a run"), "{error}");
    }

    #[test]
    fn names_are_places() {
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path().join("runs");
        let run = runs.join("2026-01-01-quick-00000000");
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("manifest.json"), "{}").unwrap();
        fs::write(runs.join("latest"), "2026-01-01-quick-00000000").unwrap();
        let place = |name: &str| EncoderRef::from(name).place(&runs);
        assert_eq!(place(runs.to_str().unwrap()).unwrap(), EncoderPlace::Folder(runs.clone()));
        for name in ["latest", "quick", run.to_str().unwrap()] {
            assert!(matches!(place(name).unwrap(), EncoderPlace::Run(found) if found.folder() == run), "{name}");
        }
        let of_hub = |id: &str, revision: &str| EncoderPlace::Hub { id: id.into(), revision: revision.into() };
        assert_eq!(place("o/n").unwrap(), of_hub("o/n", ""));
        assert_eq!(place("o/n@v1").unwrap(), of_hub("o/n", "v1"));
        for (name, expected) in [
            ("./models/x", "no folder `./models/x`"),
            ("~/no/such/folder", &format!("no folder `{}`", expand_home(Path::new("~/no/such/folder")).display())),
            ("a/b/c", "no folder `a/b/c`"),
            ("slow", "no folder or run `slow`"),
        ] {
            let error = place(name).unwrap_err();
            assert_eq!(error.to_string(), expected);
            assert!(error.hint().is_some_and(|hint| hint.contains("owner/name")), "{error:?}");
        }
    }

    #[test]
    fn a_run_that_is_called_bag_is_one_and_others_with_that_word_in_their_name_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let is_bag = |name: &str| EncoderRef::from(name).is_bag(folder.path()).unwrap();
        for (run, expected) in [("2026-11-29-code-bag-014d8c46", true), ("2026-11-29-bag-014d8c46", false)] {
            fs::create_dir_all(folder.path().join(run)).unwrap();
            fs::write(folder.path().join(run).join("manifest.json"), "{}").unwrap();
            assert_eq!(is_bag("bag"), expected, "{run}");
        }
        assert!(!is_bag("code-bag") && !is_bag("latest"));
    }
}
