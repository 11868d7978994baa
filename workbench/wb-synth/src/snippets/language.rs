//! Names of languages as people write them, to those of this workbench.

use wb_code::Language;

/// `py`, `Python3`, `c++`, `golang` as `python`, `cpp`, `go`; a name that is not known in lower case as it is.
pub(super) fn named(name: &str) -> String {
    let lower = name.trim().to_lowercase();
    match lower.as_str() {
        "c++" => return "cpp".into(),
        "golang" => return "go".into(),
        "ipython" | "ipython2" | "ipython3" | "python2" | "python3" | "pycon" | "pycon3" => return "python".into(),
        "bash" | "sh" | "zsh" | "console" | "shell-session" => return "shell".into(),
        "c#" | "cs" => return "csharp".into(),
        _ => {}
    }
    match Language::from_name(&lower).ok().or_else(|| Language::from_extension(&lower)) {
        Some(language) => language.name().to_owned(),
        None => lower,
    }
}

/// The language for parsing, where it is one that can be parsed.
pub(super) fn parsed(name: &str) -> Option<Language> {
    Language::from_name(name).ok()
}
