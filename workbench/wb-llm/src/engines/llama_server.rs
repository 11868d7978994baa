//! Finds llama-server: the one given, the one that the environment names, or the one on the path.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{Error, Result};

/// The variable that names the program.
const VARIABLE: &str = "WB_LLAMA_SERVER";

/// True where the environment names a server, be it there or not.
pub fn is_named() -> bool {
    named().is_some()
}

fn named() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).map(PathBuf::from).filter(|path| !path.as_os_str().is_empty())
}

/// The program to start: the one given, the one that `WB_LLAMA_SERVER` names, or `llama-server` on `PATH`.
pub fn find(given: &Path) -> Result<PathBuf> {
    let named = named();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = || std::env::split_paths(&path).map(|folder| folder.join("llama-server")).find(|file| file.is_file());
    let found = match (given.as_os_str().is_empty(), named) {
        (false, _) => Some(given.to_path_buf()),
        (true, Some(named)) => Some(named),
        (true, None) => on_path(),
    };
    let Some(found) = found else {
        return Err(Error::failed(format!("no llama-server on PATH, and {VARIABLE} names none"))
            .with_hint(format!("install llama.cpp, or: export {VARIABLE}=/path/to/llama-server")));
    };
    // Absolute, so that it is the same whatever folder is current.
    fs::canonicalize(&found).map_err(Error::io("read", &found))
}
