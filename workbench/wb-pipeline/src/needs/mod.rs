//! Everything that a file needs from elsewhere: models, data, judgements; there, to be fetched, or missing with the
//! command that brings it.

mod collect;
mod print;

use std::path::{Path, PathBuf};

use wb_core::{EncoderPlace, EncoderRef, quantities::bytes, remote};
use wb_data::external::that_brings;
use wb_encoder::Folder;
use wb_hub::{Hub, RepoKind, RepoRef, Why};

pub use self::{
    collect::{Asset, AssetKind, assets, of_experiment},
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
    /// The state of the thing.
    pub state: NeedState,
}

/// The state of a thing: there, to be fetched, or missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NeedState {
    /// There.
    There,
    /// Fetched when it is asked for: so many bytes.
    Fetched(u64),
    /// A data set of the catalog that will be fetched when it is asked for: its name.
    DataSet(String),
    /// Missing, and the server that has it cannot be reached; the server.
    Unreachable(String),
    /// Missing; the command that brings it, or the reason.
    Missing(String),
}

impl Need {
    /// True where it is there.
    pub fn is_there(&self) -> bool {
        self.state == NeedState::There
    }

    /// True where it is not there, and nothing fetches it.
    pub fn is_missing(&self) -> bool {
        self.state.missing().is_some()
    }

    /// True for the encoder that the experiment itself begins with, or makes its token vectors from.
    pub fn is_own_encoder(&self) -> bool {
        self.key.starts_with(OWN_ENCODER) || self.key.starts_with(TEACHER)
    }

    /// True where pairs cannot be read or judged without it.
    pub fn is_of_data(&self) -> bool {
        self.key.starts_with("data.")
    }
}

impl NeedState {
    /// The way to it or the reason, where it is not there and nothing fetches it.
    pub fn missing(&self) -> Option<String> {
        match self {
            Self::Missing(how) => Some(how.clone()),
            Self::Unreachable(server) => Some(format!("{server} cannot be reached: see whether there is a network")),
            Self::There | Self::Fetched(_) | Self::DataSet(_) => None,
        }
    }
}

/// Takes data sets for missing where one server cannot be reached: that is told with all the rest.
fn without_network(needs: &mut [Need]) {
    if !needs.iter().any(|need| matches!(need.state, NeedState::Unreachable(_))) {
        return;
    }
    for need in needs {
        if let NeedState::DataSet(name) = &need.state {
            need.state = NeedState::Missing(format!("wb data get {name}, with a network"));
        }
    }
}

/// Tells everything that is missing at once, where that is more than one thing or a command brings it; one thing alone
/// is told by who reads it.
pub fn require(needs: &[Need], config: &Path) -> wb_core::Result<()> {
    let missing: Vec<(&Need, String)> = needs.iter().filter_map(|need| Some((need, need.state.missing()?))).collect();
    let is_told = missing.len() > 1 || missing.iter().any(|(_, how)| how.starts_with("wb data get "));
    if !is_told {
        return Ok(());
    }
    for (need, how) in &missing {
        output::note(format!("missing: {} {}: {how}", need.key, need.what));
    }
    Err(wb_core::Error::data(config.display().to_string(), verdict(needs))
        .with_hint(format!("wb check {} lists all that it needs", config.display())))
}

/// The names of data sets that are to be fetched, each once.
pub fn data_sets(needs: &[Need]) -> Vec<String> {
    let names =
        needs.iter().filter_map(|need| if let NeedState::DataSet(name) = &need.state { Some(name) } else { None });
    names.cloned().collect::<std::collections::BTreeSet<String>>().into_iter().collect()
}

/// The config path of the encoder that an experiment begins with.
const OWN_ENCODER: &str = "encoder.model.pretrained";

/// The config path of the encoder that a bag of token vectors is made from.
const TEACHER: &str = "encoder.model.static_embedding.from";

/// An encoder by name.
fn encoder(key: &str, reference: &EncoderRef) -> Need {
    if remote::is_remote(Path::new(&reference.id)) {
        return path(key, Path::new(&reference.id), Path::new(""));
    }
    let state = match reference.place(session::runs()) {
        Ok(EncoderPlace::Folder(folder)) if Folder::is_encoder(&folder) => NeedState::There,
        Ok(EncoderPlace::Folder(_)) => NeedState::Missing("the folder holds no encoder".to_owned()),
        Ok(EncoderPlace::Run(run)) if run.encoder().is_dir() => NeedState::There,
        Ok(EncoderPlace::Run(run)) => {
            NeedState::Missing(format!("wb train {} --resume {}", run.config().display(), run.id()))
        }
        Ok(EncoderPlace::Hub { id, revision }) => match RepoRef::new(RepoKind::Model, &id, &revision, key) {
            Ok(repo) => of_hub(&repo, &Folder::files_among),
            Err(error) => NeedState::Missing(error.to_string()),
        },
        // A run that is not there yet is named like the recipe that makes it.
        Err(error) => NeedState::Missing(match recipe_of(&reference.name()) {
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
fn of_hub(repo: &RepoRef, choose: &dyn Fn(&[&str]) -> Vec<String>) -> NeedState {
    let look = Hub::session().look(repo, choose);
    match look.unknown {
        Some(error) => match (Why::of(&error), Hub::session().settings().offline) {
            (Some(Why::Unreachable), _) => NeedState::Unreachable(Hub::session().settings().endpoint.clone()),
            (Some(Why::Offline), Some(variable)) => NeedState::Missing(format!("{variable} forbids to fetch it")),
            _ => NeedState::Missing(output::in_one_line(&error.into())),
        },
        None if look.missing.is_empty() => NeedState::There,
        None => match Hub::session().settings().offline {
            Some(variable) => NeedState::Missing(format!("{}; {variable} forbids to fetch them", bytes(look.bytes()))),
            None => NeedState::Fetched(look.bytes()),
        },
    }
}

/// A file or folder.
fn path(key: &str, path: &Path, config: &Path) -> Need {
    let state = match remote::missing(path) {
        Ok(Some(0)) => NeedState::There,
        Ok(Some(bytes)) => NeedState::Fetched(bytes),
        Ok(None) if remote::is_remote(path) => NeedState::Missing("no object has this key, or one below it".to_owned()),
        Ok(None) => brought(path, config),
        Err(error) => NeedState::Missing(output::in_one_line(&error.into())),
    };
    Need { key: key.to_owned(), what: path.display().to_string(), state }
}

/// The way to a path that is not there.
fn brought(path: &Path, config: &Path) -> NeedState {
    let parts: Vec<String> = path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let of_catalog = match parts.as_slice() {
        ["datasets", "external", rest @ ..] => that_brings(&rest.join("/")),
        _ => None,
    };
    if let Some(name) = of_catalog {
        return match Hub::session().settings().offline {
            Some(variable) => NeedState::Missing(format!("wb data get {name}, without {variable}")),
            None => NeedState::DataSet(name),
        };
    }
    NeedState::Missing(match parts.as_slice() {
        ["datasets", "synthetic", _, ..] => format!("wb synth {}", config.display()),
        _ => "no such file or folder; paths begin where wb is started".to_owned(),
    })
}

/// Cargo's sources on this machine, which the source `code` reads where it names no folder.
fn registry(key: &str) -> Need {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let is_there = home.is_some_and(|home| home.join("registry").join("src").is_dir());
    let missing = || NeedState::Missing("cargo fetch, in any Rust project".to_owned());
    let state = if is_there { NeedState::There } else { missing() };
    Need { key: key.to_owned(), what: "the crates of Cargo's registry".to_owned(), state }
}
