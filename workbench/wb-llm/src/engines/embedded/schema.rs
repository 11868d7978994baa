//! Answers that follow a JSON schema: before every token, the tokens that could still lead to a valid answer.

use std::sync::Arc;

use llguidance::{
    Matcher, ParserFactory,
    api::{StopReason, TopLevelGrammar},
    toktrie::{ApproximateTokEnv, SimpleVob, TokEnv, TokRxInfo, TokTrie},
};
use serde_json::{Value, json};

use super::{
    guarded::guarded,
    tokens::{GgufTokenizer, vocabulary::TokenKind},
};

/// Bytes of a token at most, for it to be in answers that follow a schema; the longest in use have 128.
const LONGEST: usize = 256;

/// Grammars over the tokens of one model.
pub struct SchemaGrammars {
    factory: ParserFactory,
}

impl SchemaGrammars {
    /// Makes them for a model's tokens; one that ends answers has to be among them.
    pub fn new(tokens: &GgufTokenizer) -> Result<Self, String> {
        let vocabulary = &tokens.vocabulary;
        let end = vocabulary
            .eos
            .or_else(|| vocabulary.ends.first().copied())
            .ok_or("the vocabulary has no token that ends an answer")?;
        let words: Vec<Vec<u8>> = (0..vocabulary.len() as u32)
            .map(|id| match vocabulary.kind(id) {
                TokenKind::Normal | TokenKind::UserDefined | TokenKind::Byte => tokens.bytes(id),
                // Not text: only named with the mark before, so that no answer is spelled with it.
                TokenKind::Control | TokenKind::Unknown | TokenKind::Unused => {
                    [&[TokTrie::SPECIAL_TOKEN_MARKER][..], vocabulary.text(id).as_bytes()].concat()
                }
            })
            // No answer is spelled with them: the trie of tokens is as deep as the longest, and is walked by recursion.
            .map(|word| if word.len() > LONGEST { Vec::new() } else { word })
            .collect();
        guarded(|| {
            let trie = TokTrie::from(&TokRxInfo::new(words.len() as u32, end), &words);
            let environment: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
            let mut factory = ParserFactory::new_simple(&environment).map_err(|e| e.to_string())?;
            factory.quiet();
            Ok(Self { factory })
        })
        .map_err(|what| format!("the vocabulary cannot be used for schemas: {}", first_line(&what)))
    }

    /// An answer from its beginning. A schema with a keyword that cannot be held to is refused.
    ///
    /// Between the parts of the answer stands one space, or nothing: models that may write as much white space as they
    /// like sometimes do not stop.
    pub fn begin(&self, schema: &Value) -> Result<Follow, String> {
        let mut schema = schema.clone();
        let Some(keys) = schema.as_object_mut() else {
            return Err(format!("the schema is {schema}, an object was expected"));
        };
        if keys.contains_key("x-guidance") {
            return Err("the schema holds x-guidance, which is not a keyword of JSON Schema".into());
        }
        keys.insert(
            "x-guidance".into(),
            json!({"whitespace_flexible": false, "item_separator": ", ", "key_separator": ": ", "lenient": false}),
        );
        let parser =
            || self.factory.create_parser(TopLevelGrammar::from_json_schema(schema)).map_err(|e| e.to_string());
        let mut matcher = Matcher::new(Ok(guarded(parser).map_err(|what| first_line(&what))?));
        if let Some(error) = matcher.get_error() {
            return Err(first_line(&error));
        }
        match matcher.grammar_warnings().first() {
            Some(warning) => Err(first_line(warning)),
            None => Ok(Follow { matcher }),
        }
    }
}

/// The state of an answer within its schema.
pub struct Follow {
    matcher: Matcher,
}

impl Follow {
    /// The tokens that may come next.
    pub fn allowed(&mut self) -> Result<SimpleVob, String> {
        self.matcher.compute_mask().map_err(|e| first_line(&e.to_string()))
    }

    /// Takes the token that came.
    pub fn take(&mut self, token: u32) -> Result<(), String> {
        self.matcher.consume_token(token).map_err(|e| first_line(&e.to_string()))
    }

    /// True where the answer is whole, so that nothing may come any more.
    pub fn done(&self) -> Result<bool, String> {
        match self.matcher.stop_reason() {
            StopReason::NotStopped => Ok(false),
            StopReason::NoExtension | StopReason::NoExtensionBias | StopReason::EndOfSentence => Ok(true),
            other => Err(self
                .matcher
                .get_error()
                .map_or_else(|| format!("the schema cannot be followed further: {other}"), |e| first_line(&e))),
        }
    }
}

/// Grammars' errors go on with the state of the parser, which no reader needs.
fn first_line(error: &str) -> String {
    error.lines().next().unwrap_or_default().to_owned()
}
