//! The size of a batch's parts for gradient caching: a number, or found while training.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Visitor},
};

use super::prefetch::TrainBatch;

/// Most tokens of a part of a batch, written as `auto` or as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MicroTokens {
    /// The whole batch, and half of that whenever a device's memory runs out.
    Auto,
    /// A limit that stays; 0 for none.
    Most(usize),
}

impl MicroTokens {
    /// The limit of the first step; 0 for none.
    pub fn at_first(self) -> usize {
        match self {
            Self::Auto => 0,
            Self::Most(most) => most,
        }
    }
}

/// The limit after a device's memory ran out on batches with the limit `most`, 0 for none: half as much. None where the
/// longest text by itself was too much.
pub(super) fn halved(most: usize, batches: &[TrainBatch]) -> Option<usize> {
    let longest = batches.iter().map(|batch| batch.tokens.longest()).max().unwrap_or(0);
    let largest = batches.iter().map(|batch| batch.tokens.ids().len()).max().unwrap_or(0);
    let tried = if most == 0 { largest } else { most.min(largest) };
    (tried > longest).then(|| tried.div_ceil(2))
}

const WORD: &str = "auto";

impl Serialize for MicroTokens {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str(WORD),
            Self::Most(most) => serializer.serialize_u64(*most as u64),
        }
    }
}

impl<'de> Deserialize<'de> for MicroTokens {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberOrWord)
    }
}

struct NumberOrWord;

impl Visitor<'_> for NumberOrWord {
    type Value = MicroTokens;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of tokens, 0 for no limit, or `auto`")
    }

    fn visit_u64<E: de::Error>(self, most: u64) -> Result<MicroTokens, E> {
        usize::try_from(most)
            .map(MicroTokens::Most)
            .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(most), &self))
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<MicroTokens, E> {
        match word {
            WORD => Ok(MicroTokens::Auto),
            _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
        }
    }
}

impl JsonSchema for MicroTokens {
    fn schema_name() -> Cow<'static, str> {
        "MicroTokens".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "const": WORD }] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{batch::TokenBatch, losses::Labels};

    #[test]
    fn is_written_as_a_number_or_a_word() {
        for (written, found) in [("512", MicroTokens::Most(512)), (r#""auto""#, MicroTokens::Auto)] {
            assert_eq!(serde_json::from_str::<MicroTokens>(written).unwrap(), found);
            assert_eq!(serde_json::to_string(&found).unwrap(), written);
        }
        for (wrong, told) in [("-3", "-3"), (r#""automatic""#, "automatic"), ("1.5", "1.5")] {
            let error = serde_json::from_str::<MicroTokens>(wrong).unwrap_err().to_string();
            assert!(error.contains(told) && error.contains("0 for no limit, or `auto`"), "{error}");
        }
    }

    #[test]
    fn halves_until_one_text_is_alone() {
        let batch = |lengths: &[usize]| TrainBatch {
            pairs: vec![0],
            tokens: TokenBatch::of_lengths(lengths),
            labels: Labels::distinct(1, lengths.len() - 2),
        };
        let batches = [batch(&[10, 30, 25]), batch(&[5, 5])];
        assert_eq!(halved(0, &batches), Some(33));
        assert_eq!(halved(1000, &batches), Some(33));
        assert_eq!(halved(33, &batches), Some(17));
        assert_eq!(halved(17, &batches), None);
        assert_eq!(halved(0, &[batch(&[7, 0])]), None);
    }
}
