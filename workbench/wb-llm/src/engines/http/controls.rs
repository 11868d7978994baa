//! The control tokens of a server's model: out of its file where that is at hand, else out of what the server says.
//!
//! - llama-server on this machine: the file that it names, if it is the one it has loaded.
//! - llama-server elsewhere: each message is tokenized twice, with control tokens read and with all of it read as text.
//!   Where the two differ, the tokens that only the first has are what is broken, and it is asked again. (Pieces of text
//!   that a file would call user-defined are the same in both, and are left as they are.)
//! - vLLM has no second reading: each text between angle or square brackets in a message is tokenized alone, once in a
//!   run, and is broken where it is one token. A control token of another shape is not found.
//! - Ollama lists its vocabulary.
//! - Of other servers nothing is known: what is common among models is broken.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    path::Path,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    replies::{Shown, TokenPieces, TokenizeReply},
    transport::Transport,
};
use crate::{
    Error, Failure, Result,
    controls::{ControlSource, ControlTokens, KnownControls, is_mark},
    gguf,
};

/// A whole vocabulary with its merges takes about 16 MiB.
const VOCABULARY: (Duration, u64) = (Duration::from_secs(60), 64 << 20);
/// Times that a message is asked about before it is given up: each may uncover what stood within another.
const ROUNDS: usize = 4;
/// Messages that are known to be harmless, at most.
const REMEMBERED: usize = 1 << 14;
/// Characters of a bracketed text that is asked about.
const LONGEST: usize = 64;

/// The control tokens that are known, and the way to find out others.
#[derive(Debug)]
pub struct ServerControls {
    known: KnownControls,
    tokens: ControlTokens,
    asking: Asking,
}

#[derive(Debug)]
enum Asking {
    /// Asks nothing: all that can be known is.
    Nothing,
    /// llama-server, of a whole message; hashes of those in which it found nothing: most messages of a conversation are those
    /// of the one before.
    Message(Mutex<HashSet<[u8; 32]>>),
    /// vLLM, of each bracketed text: what was answered so far, and the model's name.
    Marks(Mutex<HashMap<String, bool>>, String),
}

impl ServerControls {
    /// Only those of common models, for this reason.
    pub fn unknown(why: &str) -> Self {
        let known = KnownControls { note: why.to_owned(), ..KnownControls::default() };
        Self { known, tokens: ControlTokens::default(), asking: Asking::Nothing }
    }

    fn all(tokens: ControlTokens, source: ControlSource) -> Self {
        Self { known: tokens.known(source), tokens, asking: Asking::Nothing }
    }

    fn asked(asking: Asking, note: String) -> Self {
        let known = KnownControls { source: ControlSource::Asked, note, ..KnownControls::default() };
        Self { known, tokens: ControlTokens::default(), asking }
    }

    /// Takes those in a file; where there is none or it cannot be read, the server is asked of each message.
    pub fn of_llama_server(transport: &Transport, file: Option<&Path>) -> Result<Self> {
        let read = file.map(|file| gguf::metadata(file).and_then(|metadata| ControlTokens::of_metadata(&metadata)));
        let why = match read {
            Some(Ok(tokens)) => return Ok(Self::all(tokens, ControlSource::File)),
            Some(Err(why)) => format!("the model's file cannot be read: {why}"),
            None => "the model's file is not at hand".to_owned(),
        };
        let controls = Self::asked(Asking::Message(Mutex::default()), why.clone());
        answers(controls.broken(transport, "hi"), why, controls)
    }

    /// vLLM is asked of what looks like a mark.
    pub fn of_vllm(transport: &Transport, model: &str) -> Result<Self> {
        let note = "only bracketed texts are asked about".to_owned();
        let controls = Self::asked(Asking::Marks(Mutex::default(), model.to_owned()), note.clone());
        answers(controls.broken(transport, "<probe>"), note, controls)
    }

    /// Ollama says what the model's file says.
    pub fn of_ollama(transport: &Transport, model: &str) -> Self {
        let body = json!({"model": model, "verbose": true});
        let shown = match transport.post_large::<Shown>("/api/show", &body, VOCABULARY) {
            Ok(shown) => shown.model_info,
            Err(failure) => return Self::unknown(&format!("the server does not list its vocabulary: {failure}")),
        };
        match (shown.tokens, shown.kinds) {
            (Some(tokens), kinds) if !tokens.is_empty() => {
                let tokens = ControlTokens::of_vocabulary(&tokens, &kinds.unwrap_or_default());
                Self::all(tokens, ControlSource::Server)
            }
            _ => Self::unknown("the server lists no vocabulary"),
        }
    }

    /// Tells what is known, for the manifest.
    pub fn known(&self) -> &KnownControls {
        &self.known
    }

    /// A message that may be sent.
    pub fn broken(&self, transport: &Transport, message: &str) -> Result<String, Failure> {
        let message = self.tokens.broken(message);
        match &self.asking {
            Asking::Nothing => Ok(message),
            Asking::Message(clean) => {
                let hash = *blake3::hash(message.as_bytes()).as_bytes();
                if clean.lock().unwrap_or_else(PoisonError::into_inner).contains(&hash) {
                    return Ok(message);
                }
                let broken = whole(transport, message.clone())?;
                let mut clean = clean.lock().unwrap_or_else(PoisonError::into_inner);
                if clean.len() >= REMEMBERED {
                    clean.clear();
                }
                if broken == message {
                    clean.insert(hash);
                }
                Ok(broken)
            }
            Asking::Marks(known, model) => marks(transport, message, known, model),
        }
    }
}

/// Looks if the server can be asked at all. One that cannot has no such route; one that fails is an error, so that the same
/// run does not break less the next time.
fn answers(tried: Result<String, Failure>, note: String, controls: ServerControls) -> Result<ServerControls> {
    match tried {
        Ok(_) => Ok(controls),
        Err(Failure::Retry { what, .. }) => Err(Error::failed(format!("its tokenizer cannot be asked: {what}"))),
        Err(failure) => Ok(ServerControls::unknown(&format!("{note}, and its tokenizer cannot be asked: {failure}"))),
    }
}

fn llama<T: serde::de::DeserializeOwned>(
    transport: &Transport,
    text: &str,
    control: bool,
    pieces: bool,
) -> Result<T, Failure> {
    let body = json!({"content": text, "add_special": false, "parse_special": control, "with_pieces": pieces});
    transport.post("/tokenize", &body)
}

fn plain(transport: &Transport, text: &str) -> Result<Vec<u32>, Failure> {
    llama::<TokenizeReply>(transport, text, false, false).map(|found| found.tokens.unwrap_or_default())
}

/// A message in which a llama-server finds no control token.
fn whole(transport: &Transport, mut message: String) -> Result<String, Failure> {
    for _ in 0..ROUNDS {
        let as_text = plain(transport, &message)?;
        let read: TokenPieces = llama(transport, &message, true, true)?;
        if read.tokens.iter().map(|token| token.id).eq(as_text.iter().copied()) {
            return Ok(message);
        }
        // A control token changes how what is around it is cut, so not all that differs is one.
        let known: BTreeSet<u32> = as_text.into_iter().collect();
        let mut found = BTreeSet::new();
        for token in read.tokens.iter().filter(|token| !known.contains(&token.id)) {
            let Value::String(text) = &token.piece else { continue };
            if !found.contains(text) && message.contains(text.as_str()) && plain(transport, text)? != [token.id] {
                found.insert(text.clone());
            }
        }
        let broken = ControlTokens::new(found).broken(&message);
        if broken == message {
            break;
        }
        message = broken;
    }
    Err(Failure::Reject("the server reads a control token out of this prompt that cannot be broken".into()))
}

/// A message in which no bracketed text is a single token.
fn marks(
    transport: &Transport,
    message: String,
    known: &Mutex<HashMap<String, bool>>,
    model: &str,
) -> Result<String, Failure> {
    let mut found = Vec::new();
    for mark in bracketed(&message) {
        let before = known.lock().unwrap_or_else(PoisonError::into_inner).get(mark).copied();
        let is_token = match before {
            Some(is_token) => is_token,
            None => {
                let body = json!({"model": model, "prompt": mark, "add_special_tokens": false});
                let is_token =
                    transport.post::<TokenizeReply>("/tokenize", &body)?.tokens.is_some_and(|all| all.len() == 1);
                known.lock().unwrap_or_else(PoisonError::into_inner).insert(mark.to_owned(), is_token);
                is_token
            }
        };
        if is_token {
            found.push(mark.to_owned());
        }
    }
    Ok(ControlTokens::new(found).broken(&message))
}

/// All texts between brackets that could be a token, also those within others, once each.
fn bracketed(message: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for (at, open) in message.char_indices().filter(|(_, c)| ['<', '['].contains(c)) {
        let close = if open == '<' { '>' } else { ']' };
        let near = message[at..].char_indices().take(LONGEST).take_while(|(_, c)| !c.is_whitespace());
        for (end, _) in near.filter(|(_, c)| *c == close) {
            let text = &message[at..=at + end];
            if is_mark(text) {
                found.insert(text);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_brackets_is_asked_about_and_code_without_a_word_in_them_is_not() {
        let found = bracketed("a <b <<weird>> [INST] v[] x<y> <div> <two words> [/X]] <|é|>");
        let expected = ["<<weird>", "<<weird>>", "<weird>", "<weird>>", "<y>", "<|é|>", "[/X]", "[/X]]", "[INST]"];
        assert_eq!(Vec::from_iter(found), expected);
    }
}
