//! A person's machine: the home folder, the variables of agents, and the program that they are to start.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use wb_core::{Error, Result};

/// Surroundings that decide where configurations lie.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The home folder.
    pub home: PathBuf,
    /// Variables of the environment.
    pub variables: BTreeMap<String, OsString>,
    /// Program that serves, as an absolute path: this one.
    pub command: String,
}

impl Machine {
    /// The surroundings of this process.
    pub fn of_process() -> Result<Self> {
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        let home = home.ok_or_else(|| Error::failed("no home folder is known").with_hint("set HOME"))?;
        let program = std::env::current_exe().map_err(Error::io("find", "wb"))?;
        let command = utf8(&program)?;
        let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        Ok(Self { home, variables: variables.collect(), command })
    }

    /// A folder that a variable names, if it is set.
    pub(crate) fn folder(&self, variable: &str) -> Option<PathBuf> {
        let value = self.variables.get(variable).filter(|value| !value.is_empty())?;
        Some(PathBuf::from(value))
    }

    /// The folder of configurations that follow XDG.
    pub(crate) fn xdg(&self) -> PathBuf {
        self.folder("XDG_CONFIG_HOME")
            .filter(|folder| folder.is_absolute())
            .unwrap_or_else(|| self.home.join(".config"))
    }

    /// The place of a program on the PATH.
    pub(crate) fn program(&self, name: &str) -> Option<PathBuf> {
        let path = self.variables.get("PATH")?;
        let names = [name.to_owned(), format!("{name}.exe"), format!("{name}.cmd")];
        let names = if cfg!(windows) { &names[1..] } else { &names[..1] };
        let in_folder = |folder: PathBuf| names.iter().map(move |name| folder.join(name)).collect::<Vec<_>>();
        std::env::split_paths(path).flat_map(in_folder).find(|program| program.is_file())
    }

    /// A path as a person reads it, with `~` for the home folder.
    pub(crate) fn shown(&self, path: &Path) -> String {
        let shown = match path.strip_prefix(&self.home) {
            Ok(below) => Path::new("~").join(below).display().to_string(),
            Err(_) => path.display().to_string(),
        };
        wb_core::untrusted::clean(&shown)
    }
}

/// A path as text, which configurations need.
pub(crate) fn utf8(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| Error::file(path, "a path in UTF-8 was expected"))
}
