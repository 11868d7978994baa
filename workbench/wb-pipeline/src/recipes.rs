//! Recipes: the YAML files in `configs/`, and the one that may be meant by a file that is not there.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Result;
use wb_core::{Error, suggest};

/// The folder of recipes, in the folder in which a program is started.
pub const FOLDER: &str = "configs";

/// The recipe that needs nothing but what is on every machine that has built `wb`.
pub const QUICKSTART: &str = "configs/quickstart.yaml";

/// Refuses a file that is not there, with the recipe that may have been meant.
pub fn there(config: &Path) -> Result<()> {
    if config.exists() {
        return Ok(());
    }
    let all = all()?;
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let stems: Vec<String> = all.iter().map(|path| stem(path)).collect();
    let near = suggest::nearest(&stem(config), stems.iter().map(String::as_str));
    let near = near.and_then(|near| all.iter().find(|path| stem(path) == near));
    let hint = match near {
        Some(near) => format!("did you mean `{}`?", near.display()),
        None if all.is_empty() => "paths are relative to the folder in which wb is started".to_owned(),
        None => format!("`wb check` lists the recipes in {FOLDER}"),
    };
    Err(Error::Unknown { kind: "file", name: config.display().to_string(), hint: Some(hint) }.into())
}

/// All YAML files of the folder by their names, where to begin first; none where there is no such folder.
pub fn all() -> Result<Vec<PathBuf>> {
    let folder = Path::new(FOLDER);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let found = fs::read_dir(folder).map_err(Error::io("read", folder))?;
    let mut all = found
        .map(|entry| Ok(entry.map_err(Error::io("read", folder))?.path()))
        .collect::<Result<Vec<PathBuf>, Error>>()?;
    all.retain(|path| path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml"));
    all.sort_by_key(|path| (path != Path::new(QUICKSTART), path.clone()));
    Ok(all)
}
