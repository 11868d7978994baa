//! An amount of memory as people write it: `512MB`, `2GB`, `1.5GiB`, or a plain number of bytes.

use std::{borrow::Cow, fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Bytes. kB, MB, GB are powers of 1000, KiB, MiB, GiB of 1024.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

/// Units in the order in which they are tried for writing.
const UNITS: [(&str, u64); 9] = [
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("kB", 1000),
    ("KB", 1000),
    ("B", 1),
];

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || format!("`{text}` is no amount of memory, expected one such as 512MB or 2GB");
        let unit = UNITS.iter().find_map(|(name, bytes)| Some((text.strip_suffix(name)?, *bytes)));
        let (number, unit) = unit.unwrap_or((text, 1));
        let number: f64 = number.trim().replace('_', "").parse().map_err(|_| refuse())?;
        let bytes = number * unit as f64;
        if bytes.is_finite() && (0.0..9e18).contains(&bytes) { Ok(Self(bytes as u64)) } else { Err(refuse()) }
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A unit that gives a whole number, so that what is written is read as the same.
        let fits = |bytes: u64| self.0 > 0 && self.0.is_multiple_of(bytes);
        let (name, bytes) = UNITS.iter().find(|(_, bytes)| fits(*bytes)).unwrap_or(&("B", 1));
        write!(f, "{}{name}", self.0 / bytes)
    }
}

impl Serialize for ByteSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for ByteSize {
    fn schema_name() -> Cow<'static, str> {
        "ByteSize".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Bytes: a number, or a text such as 512MB or 2GiB. kB, MB, GB are powers of 1000, KiB, MiB, GiB of 1024.",
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string", "pattern": "^[0-9][0-9_.eE]* *([kKMGT]?B|[KMG]iB)?$" },
            ],
        })
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl de::Visitor<'_> for Either {
            type Value = ByteSize;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an amount of memory such as 512MB or 2GB")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ByteSize, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<ByteSize, E> {
                Ok(ByteSize(bytes))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_and_written() {
        for (text, bytes, again) in [
            ("512MB", 512_000_000, "512MB"),
            ("2 GB", 2_000_000_000, "2GB"),
            ("1.5GiB", 3 << 29, "1536MiB"),
            ("4096", 4096, "4KiB"),
            ("1_000kB", 1_000_000, "1MB"),
            ("0", 0, "0B"),
            ("12345B", 12_345, "12345B"),
        ] {
            let size: ByteSize = text.parse().unwrap();
            assert_eq!((size.0, size.to_string().as_str()), (bytes, again), "{text}");
            assert_eq!(size.to_string().parse(), Ok(size), "{text}");
        }
        for text in ["", "GB", "-1MB", "lots", "1e30GB", "NaN", "2 parsecs"] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
        assert_eq!(serde_json::from_str::<ByteSize>("77").unwrap(), ByteSize(77));
        assert_eq!(serde_json::from_str::<ByteSize>("\"77MB\"").unwrap(), ByteSize(77_000_000));
        assert!(serde_json::from_str::<ByteSize>("[]").is_err());
    }
}
