//! A language model's file by name: a path, or `owner/name/FILE.gguf` of the hub.

use std::path::Path;

use anyhow::{Context, Result};
use wb_hub::{Hub, RepoKind, RepoRef};
use wb_llm::LlmConfig;

/// A file of a repository.
pub struct HubFile {
    /// The repository.
    pub repo: RepoRef,
    /// Its path there.
    pub path: String,
}

/// The file of the hub that a config names; none where it names a file that is here, a path, or a server's model.
pub fn of_hub(llm: &LlmConfig) -> Option<HubFile> {
    if !llm.base_url.is_empty() || !llm.model.ends_with(".gguf") || Path::new(&llm.model).is_file() {
        return None;
    }
    // `owner/name@revision/folder/file.gguf`
    let (owner, rest) = llm.model.split_once('/')?;
    let (name, path) = rest.split_once('/')?;
    let (name, revision) = name.split_once('@').unwrap_or((name, ""));
    let repo = RepoRef::new(RepoKind::Model, &format!("{owner}/{name}"), revision, "llm.model").ok()?;
    Some(HubFile { repo, path: path.to_owned() })
}

/// The config with its model's file on this disk, fetched where it is one of the hub.
pub fn located(llm: &LlmConfig) -> Result<LlmConfig> {
    let Some(HubFile { repo, path }) = of_hub(llm) else { return Ok(llm.clone()) };
    let found = Hub::session().file(&repo, &path);
    let found = found.with_context(|| format!("llm.model: there is no file {} here", llm.model))?;
    Ok(LlmConfig { model: found.display().to_string(), ..llm.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(model: &str, base_url: &str) -> Option<(String, String)> {
        let llm = LlmConfig { model: model.into(), base_url: base_url.into(), ..LlmConfig::default() };
        of_hub(&llm).map(|file| (file.repo.to_string(), file.path))
    }

    #[test]
    fn files_of_the_hub_are_told_from_paths_and_names_of_servers() {
        let some = |repo: &str, path: &str| Some((repo.to_owned(), path.to_owned()));
        assert_eq!(named("Qwen/Q-GGUF/q4.gguf", ""), some("Qwen/Q-GGUF", "q4.gguf"));
        assert_eq!(named("Qwen/Q-GGUF@v1/a/q4.gguf", ""), some("Qwen/Q-GGUF@v1", "a/q4.gguf"));
        for model in ["models/q4.gguf", "./a/b/q4.gguf", "~/a/b/q4.gguf", "/a/b/q4.gguf", "Qwen/Q-GGUF"] {
            assert_eq!(named(model, ""), None, "{model}");
        }
        assert_eq!(named("Qwen/Q-GGUF/q4.gguf", "http://127.0.0.1:8080"), None);
    }
}
