//! The files that make a folder an encoder: which are read, which a repository has to give, and the hash of all of them.

use std::{collections::BTreeSet, fs, path::Path};

use wb_core::{Error, fingerprint::Fingerprint};

use super::{Folder, own, peft, peft_config};
use crate::error::Result;

/// Settings, tokenizers and vocabularies; in the folder itself, or in one of its modules' folders.
const SETTINGS: [&str; 12] = [
    "encoder.json",
    "config.json",
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    peft_config::FILE,
];

/// Weights, each list from the preferred name to the last: of two only the first that is there is read.
const WEIGHTS: [&[&str]; 5] = [
    &["model.safetensors", "pytorch_model.bin"],
    &["adapter_model.safetensors", "adapter_model.bin"],
    &["adapter.safetensors"],
    &["late_interaction.safetensors"],
    &["score_head.safetensors"],
];

/// Index of weights that are in several files, where they are not in one.
pub(super) const INDEX: &str = "model.safetensors.index.json";

/// One of these makes a folder an encoder's.
const MARKS: [&str; 4] = ["config.json", own::FILE, "modules.json", peft_config::FILE];

impl Folder {
    /// True where a folder is an encoder's, by its files' names.
    pub fn is_encoder(path: &Path) -> bool {
        MARKS.iter().any(|file| path.join(file).is_file())
    }

    /// Picks the files of a repository that [`Folder::read`] and a cross-encoder's reader look at; paths have slashes.
    /// Weights in other formats, and folders of other tools (`onnx/`, `openvino/`), are none of them.
    pub fn files_among(paths: &[&str]) -> Vec<String> {
        let folders: BTreeSet<&str> =
            paths.iter().map(|path| split(path).0).filter(|folder| is_module(folder)).collect();
        let has = |folder: &str, name: &str| paths.iter().any(|path| split(path) == (folder, name));
        let mut found = Vec::new();
        for folder in folders {
            let settings = SETTINGS.iter().filter(|name| has(folder, name));
            let weights = WEIGHTS.iter().filter_map(|names| names.iter().find(|name| has(folder, name)));
            found.extend(settings.chain(weights).map(|name| joined(folder, name)));
            if has(folder, INDEX) && !has(folder, WEIGHTS[0][0]) {
                let parts = paths.iter().filter(|path| split(path).0 == folder && is_part(split(path).1));
                found.extend(parts.map(|path| (*path).to_owned()).chain([joined(folder, INDEX)]));
            }
        }
        found
    }

    /// The files of a folder that decide what its encoder computes, in order.
    pub fn files_in(path: &Path) -> Result<Vec<String>> {
        let names = names_in(path)?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut files = Self::files_among(&names);
        files.sort();
        Ok(files)
    }

    /// Picks those of [`Folder::files_among`] that [`Folder::sized_like`] reads: all but the network's weights.
    pub fn small_files_among(paths: &[&str]) -> Vec<String> {
        let is_network = |file: &String| {
            WEIGHTS[0].contains(&file.as_str()) || is_part(file) || file == INDEX || file.starts_with("0_")
        };
        Self::files_among(paths).into_iter().filter(|file| !is_network(file)).collect()
    }

    /// The hash of every file that decides what an encoder in a folder computes, with its name: weights, sizes,
    /// tokenizer, pooling, prompts; of adapters alone also their base model's.
    pub fn fingerprint(path: &Path) -> Result<Fingerprint> {
        let files = Self::files_in(path)?;
        let mut all = Fingerprint::builder();
        for file in &files {
            all.text(file).text(Fingerprint::of_file(&path.join(file))?.as_str());
        }
        let is_adapter_alone = files.iter().any(|file| file == peft_config::FILE)
            && !files.iter().any(|file| file == "config.json" || file == "modules.json");
        if is_adapter_alone {
            all.text(Self::fingerprint(&peft::base_of(path)?)?.as_str());
        }
        Ok(all.finish())
    }
}

/// Folder and name; the folder is empty at the top.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// One of several files of weights: `model-00001-of-00004.safetensors`.
fn is_part(name: &str) -> bool {
    let numbers = name.strip_prefix("model-").and_then(|rest| rest.strip_suffix(".safetensors"));
    numbers.is_some_and(|numbers| numbers.contains("-of-"))
}

/// The top, or the folder of a module: `1_Pooling`, `0_Transformer`.
fn is_module(folder: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    folder.is_empty() || (!folder.contains('/') && folder.split_once('_').is_some_and(|(number, _)| is_number(number)))
}

/// Files of a folder and of those in it.
fn names_in(path: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let entries = |folder: &Path| -> Result<Vec<fs::DirEntry>> {
        let read = || Error::io("read", folder);
        let entries = fs::read_dir(folder).map_err(read())?;
        entries.collect::<std::io::Result<_>>().map_err(read())
    };
    for entry in entries(path)? {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Entries of the hub's cache are links: it is what they lead to that counts.
        if entry.path().is_dir() && is_module(&name) {
            let inner = entries(&entry.path())?;
            names.extend(inner.iter().map(|inner| format!("{name}/{}", inner.file_name().to_string_lossy())));
        } else if entry.path().is_file() {
            names.push(name);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_gives_what_is_read_and_no_more() {
        // As sentence-transformers/all-MiniLM-L6-v2 has them.
        let paths = [
            ".gitattributes",
            "1_Pooling/config.json",
            "README.md",
            "config.json",
            "config_sentence_transformers.json",
            "data_config.json",
            "model.safetensors",
            "modules.json",
            "onnx/config.json",
            "onnx/model.onnx",
            "openvino/openvino_model.bin",
            "pytorch_model.bin",
            "rust_model.ot",
            "sentence_bert_config.json",
            "special_tokens_map.json",
            "tf_model.h5",
            "tokenizer.json",
            "tokenizer_config.json",
            "train_script.py",
            "vocab.txt",
        ];
        let mut found = Folder::files_among(&paths);
        found.sort();
        let expected = [
            "1_Pooling/config.json",
            "config.json",
            "config_sentence_transformers.json",
            "model.safetensors",
            "modules.json",
            "sentence_bert_config.json",
            "special_tokens_map.json",
            "tokenizer.json",
            "tokenizer_config.json",
            "vocab.txt",
        ];
        assert_eq!(found, expected);
        // As microsoft/unixcoder-base and google/xtr-base-en have them.
        let found = Folder::files_among(&["config.json", "merges.txt", "pytorch_model.bin", "vocab.json", "README.md"]);
        assert_eq!(found, ["config.json", "vocab.json", "merges.txt", "pytorch_model.bin"]);
        // As Qwen/Qwen3-Embedding-4B has them; what is in one file is not read in parts too.
        let parts = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
        let sharded = [parts[0], parts[1], INDEX, "config.json"];
        assert_eq!(Folder::files_among(&sharded), ["config.json", parts[0], parts[1], INDEX]);
        assert_eq!(Folder::small_files_among(&sharded), ["config.json"]);
        let both = [parts[0], INDEX, "config.json", "model.safetensors"];
        assert_eq!(Folder::files_among(&both), ["config.json", "model.safetensors"]);
        let xtr =
            ["2_Dense/config.json", "2_Dense/pytorch_model.bin", "config.json", "model.safetensors", "spiece.model"];
        let expected = ["config.json", "model.safetensors", "2_Dense/config.json", "2_Dense/pytorch_model.bin"];
        assert_eq!(Folder::files_among(&xtr), expected);
    }

    #[test]
    fn every_file_that_decides_a_vector_decides_the_hash() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["config.json", "model.safetensors", "tokenizer.json", "modules.json", "1_Pooling/config.json"];
        fs::create_dir(folder.path().join("1_Pooling")).unwrap();
        for file in files {
            fs::write(folder.path().join(file), file).unwrap();
        }
        let first = Folder::fingerprint(folder.path()).unwrap();
        for file in files {
            fs::write(folder.path().join(file), "other").unwrap();
            assert_ne!(Folder::fingerprint(folder.path()).unwrap(), first, "{file}");
            fs::write(folder.path().join(file), file).unwrap();
        }
        fs::write(folder.path().join("README.md"), "for people").unwrap();
        assert_eq!(Folder::fingerprint(folder.path()).unwrap(), first);
        // Weights that are there in another format are hashed, and none are no error.
        fs::rename(folder.path().join("model.safetensors"), folder.path().join("pytorch_model.bin")).unwrap();
        assert_ne!(Folder::fingerprint(folder.path()).unwrap(), first);
    }
}
