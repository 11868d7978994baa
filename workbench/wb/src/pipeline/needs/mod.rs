//! Everything that a file needs from elsewhere: models, data, judgements; there, to be fetched, or missing with the
//! command that brings it.

mod collect;
mod print;

use std::path::{Path, PathBuf};

use wb_core::{EncoderRef, Place};
use wb_data::external::{Entry, catalog};
use wb_encoder::Folder;
use wb_hub::{Hub, RepoKind, RepoRef, bytes};

pub use self::{
    collect::{of_experiment, of_text_to_sql},
    print::{print, verdict},
};
use crate::{output, session};

/// One thing that a file needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The config path that names it.
    pub key: String,
    /// The name as it stands there.
    pub what: String,
    /// Whether it is there.
    pub state: State,
}

/// Whether a thing is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It is.
    There,
    /// It will be fetched when it is asked for: so many bytes.
    Fetched(u64),
    /// It is not; the command that brings it, or the reason.
    Missing(String),
}

impl Need {
    /// Whether it is there.
    pub fn is_there(&self) -> bool {
        self.state == State::There
    }

    /// Whether it is not, and nothing fetches it.
    pub fn is_missing(&self) -> bool {
        matches!(self.state, State::Missing(_))
    }

    /// Whether it is an encoder that the experiment itself begins with.
    pub fn is_own_encoder(&self) -> bool {
        self.key.starts_with(OWN_ENCODER)
    }

    /// Whether pairs cannot be read or judged without it.
    pub fn is_of_data(&self) -> bool {
        self.key.starts_with("data.")
    }
}

/// The config path of the encoder that an experiment begins with.
const OWN_ENCODER: &str = "encoder.model.pretrained";

/// An encoder by name.
fn encoder(key: &str, reference: &EncoderRef) -> Need {
    let state = match reference.place(session::runs()) {
        Ok(Place::Folder(folder)) if Folder::is_encoder(&folder) => State::There,
        Ok(Place::Folder(_)) => State::Missing("the folder holds no encoder".to_owned()),
        Ok(Place::Run(run)) if run.encoder().is_dir() => State::There,
        Ok(Place::Run(run)) => State::Missing(format!("wb train {} --resume {}", run.config().display(), run.id())),
        Ok(Place::Hub { id, revision }) => match RepoRef::new(RepoKind::Model, &id, &revision, key) {
            Ok(repo) => of_hub(&repo, &Folder::files_among),
            Err(error) => State::Missing(error.to_string()),
        },
        // A run that is not there yet is named like the recipe that makes it.
        Err(error) => State::Missing(match recipe_of(&reference.name()) {
            Some(recipe) => format!("wb train {recipe}"),
            None => output::in_one_line(&error.into()),
        }),
    };
    Need { key: key.to_owned(), what: reference.to_string(), state }
}

/// The recipe in `configs` that makes runs of this name.
fn recipe_of(run: &str) -> Option<String> {
    let recipe = format!("configs/{run}.yaml");
    (!run.contains('/') && Path::new(&recipe).is_file()).then_some(recipe)
}

/// Files of a repository.
fn of_hub(repo: &RepoRef, choose: &dyn Fn(&[&str]) -> Vec<String>) -> State {
    let look = Hub::session().look(repo, choose);
    match look.unknown {
        Some(error) => State::Missing(output::in_one_line(&error.into())),
        None if look.missing.is_empty() => State::There,
        None => match Hub::session().settings().offline {
            Some(variable) => State::Missing(format!("{}; {variable} forbids to fetch them", bytes(look.bytes()))),
            None => State::Fetched(look.bytes()),
        },
    }
}

/// A file or folder.
fn path(key: &str, path: &Path, config: &Path) -> Need {
    let state = if path.exists() { State::There } else { State::Missing(brings(path, config)) };
    Need { key: key.to_owned(), what: path.display().to_string(), state }
}

/// The command that brings a path, or the plain truth.
fn brings(path: &Path, config: &Path) -> String {
    let parts: Vec<String> = path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["datasets", "external", place @ ..] => match data_set_of(&place.join("/")) {
            Some(name) => format!("wb data get {name}"),
            None => "data of your own, no data set that `wb data get` knows".to_owned(),
        },
        ["datasets", "synthetic", _, ..] => format!("wb synth {}", config.display()),
        _ => "no such file or folder; paths begin where wb is started".to_owned(),
    }
}

/// The data set whose folder this is, or lies in it or around it: the first in the catalog's order.
fn data_set_of(place: &str) -> Option<String> {
    let is_in = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let catalog = catalog();
    let holding = |holds: &dyn Fn(&str) -> bool| {
        let has = |entry: &&Entry| entry.parts.iter().any(|part| holds(&part.place));
        catalog.iter().find(has).map(|entry| entry.name.clone())
    };
    holding(&|part| is_in(place, part)).or_else(|| holding(&|part| is_in(part, place)))
}

/// Cargo's sources on this machine, which the source `code` reads where it names no folder.
fn registry(key: &str) -> Need {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let is_there = home.is_some_and(|home| home.join("registry").join("src").is_dir());
    let missing = || State::Missing("cargo fetch, in any Rust project".to_owned());
    let state = if is_there { State::There } else { missing() };
    Need { key: key.to_owned(), what: "the crates of Cargo's registry".to_owned(), state }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_the_data_set_that_fills_it() {
        for (place, name) in [
            ("conala/conala-train.json", Some("conala")),
            ("codesearchnet", Some("codesearchnet")),
            ("codesearchnet/ruby/final/jsonl/valid", Some("codesearchnet")),
            ("codesearchnet/php/final/jsonl/train", Some("codesearchnet-train")),
            ("codesearchnet/annotated", Some("codesearchnet-annotations")),
            ("code_docstring_corpus", Some("code_docstring_corpus")),
            ("text-pairs", None),
            ("con", None),
        ] {
            assert_eq!(data_set_of(place).as_deref(), name, "{place}");
        }
    }
}
