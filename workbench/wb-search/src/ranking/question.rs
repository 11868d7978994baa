//! A question: what is asked, in words with weights, and which files may answer.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::{
    context::FileContext,
    files::FileRole,
    words::{says_nothing, tokenizer},
};

/// A kind of question, by its form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// A name as code writes it: `readFile`, `Parser::next`, `max_tokens`.
    Symbol,
    /// Words.
    Prose,
}

/// A question to an index.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchQuestion {
    text: String,
    intent: Intent,
    /// Words with their counts, in the order in which they first stand there.
    words: Vec<(String, f32)>,
    /// The question's vector, of length 1, or with late interaction its tokens' one after the other; empty where no encoder
    /// is asked.
    pub vector: Vec<f32>,
    /// Answers are in files below this path, with `/`; in all, where it is empty.
    pub below: Vec<String>,
    /// Roles of files that may answer; all, where none is named.
    pub roles: Vec<FileRole>,
    /// Languages of files that may answer; all, where none is named.
    pub languages: Vec<String>,
    /// Units that may answer, by their positions in the index; all, where nothing is said.
    pub units: Option<HashSet<usize>>,
    /// Files that whoever asks has to do with.
    pub context: FileContext,
}

impl SearchQuestion {
    /// A question to all files.
    pub fn new(text: &str) -> Self {
        let intent = intent(text);
        let mut words: Vec<(String, f32)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        tokenizer().each_word(text, |word| match places.get(word) {
            Some(at) => words[*at].1 += 1.0,
            None => {
                places.insert(word.to_owned(), words.len());
                words.push((word.to_owned(), 1.0));
            }
        });
        // Where nothing but such words is asked, they are the question.
        if intent == Intent::Prose && words.iter().any(|(word, _)| !says_nothing(word)) {
            words.retain(|(word, _)| !says_nothing(word));
        }
        Self {
            text: text.to_owned(),
            intent,
            words,
            vector: Vec::new(),
            below: Vec::new(),
            roles: Vec::new(),
            languages: Vec::new(),
            units: None,
            context: FileContext::default(),
        }
    }

    /// Another text to the files that this one asks.
    #[must_use]
    pub fn asking(&self, text: &str) -> Self {
        let Self { below, roles, languages, units, context, .. } = self.clone();
        Self { below, roles, languages, units, context, ..Self::new(text) }
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its kind.
    pub fn intent(&self) -> Intent {
        self.intent
    }

    /// Its words with their counts.
    pub fn words(&self) -> &[(String, f32)] {
        &self.words
    }

    /// Words that stand next to each other and both say something, of which names may be made, in lower case; each pair once.
    pub(crate) fn neighbors(&self) -> Vec<[String; 2]> {
        let lower = self.text.to_lowercase();
        let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let pairs = words.windows(2).filter(|pair| !pair.iter().any(|word| says_nothing(word)));
        let mut found: Vec<[String; 2]> = pairs.map(|pair| [pair[0].to_owned(), pair[1].to_owned()]).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// True where the question is about files of a role, by its words: those are not held to be worth less.
    pub(crate) fn asks_for(&self, role: FileRole) -> bool {
        let words: &[&str] = match role {
            FileRole::Source | FileRole::Generated | FileRole::Other => return false,
            FileRole::Test => &["test", "assert", "fixtur", "mock"],
            FileRole::Example => &["exampl", "benchmark", "bench", "demo", "sampl"],
            FileRole::Declaration => &["declar", "typ"],
            FileRole::Docs => &["doc", "documentation", "readm", "changelog", "guid"],
            FileRole::Config => &["config", "configuration", "manifest", "yaml", "toml", "json", "dependency"],
        };
        self.roles.contains(&role) || self.words.iter().any(|(word, _)| words.contains(&word.as_str()))
    }

    /// True where a file may answer.
    pub(crate) fn allows(&self, path: &str, role: FileRole, language: &str) -> bool {
        let is_below = |folder: &String| {
            path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        (self.below.is_empty() || self.below.iter().any(is_below))
            && (self.roles.is_empty() || self.roles.contains(&role))
            && (self.languages.is_empty() || self.languages.iter().any(|wanted| wanted == language))
    }
}

/// The kind of a question: a name, where it is one word that a text would not have, or is written with a path.
pub(crate) fn intent(text: &str) -> Intent {
    let text = text.trim();
    let is_one = !text.contains(char::is_whitespace);
    let inner_upper = text.chars().skip(1).any(char::is_uppercase) && text.chars().any(char::is_lowercase);
    let written = text.contains(['_', '.', '(']) || text.contains("::") || text.contains("->") || inner_upper;
    if is_one && written { Intent::Symbol } else { Intent::Prose }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_words() {
        for (text, expected) in [
            ("readFile", Intent::Symbol),
            ("Parser::next", Intent::Symbol),
            ("max_tokens", Intent::Symbol),
            ("app.listen", Intent::Symbol),
            ("parser", Intent::Prose),
            ("where is readFile defined?", Intent::Prose),
        ] {
            assert_eq!(intent(text), expected, "{text}");
        }
    }

    #[test]
    fn words_that_say_something_are_neighbors() {
        let question = SearchQuestion::new("How is the Content-Type detected? content type of form_data");
        let pairs: Vec<String> = question.neighbors().iter().map(|pair| pair.join(" ")).collect();
        assert_eq!(pairs, ["content type", "detected content", "form data", "type detected"]);
        assert!(SearchQuestion::new("parser").neighbors().is_empty());
    }

    #[test]
    fn words_are_counted_and_files_are_chosen() {
        let mut question = SearchQuestion::new("the cache of the cached files");
        assert_eq!(question.words(), [("cach".to_owned(), 2.0), ("fil".to_owned(), 1.0)]);
        assert_eq!(SearchQuestion::new("what is this").words().len(), 3);
        question.below = vec!["src".into()];
        question.languages = vec!["rust".into()];
        assert!(question.allows("src/a.rs", FileRole::Source, "rust"));
        assert!(!question.allows("srcs/a.rs", FileRole::Source, "rust"));
        assert!(!question.allows("src/a.py", FileRole::Source, "python"));
    }
}
