//! One device, or several that share the work of a training.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};

use super::config::{DeviceConfig, Named};

/// The devices that compute: `cuda`, or `[cuda:0, cuda:1]`. A training is the work of all of them; what only encodes is that
/// of the first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Devices {
    first: DeviceConfig,
    others: Vec<DeviceConfig>,
}

impl Devices {
    /// The first, or the only one.
    pub fn first(&self) -> DeviceConfig {
        self.first
    }

    /// Devices after the first.
    pub fn others(&self) -> &[DeviceConfig] {
        &self.others
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = DeviceConfig> {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }

    /// Puts others behind them.
    #[must_use]
    pub fn and(&self, others: impl IntoIterator<Item = DeviceConfig>) -> Self {
        Self { first: self.first, others: self.others.iter().copied().chain(others).collect() }
    }

    /// Puts another device in the place of the first.
    #[must_use]
    pub fn with_first(&self, first: DeviceConfig) -> Self {
        Self { first, others: self.others.clone() }
    }
}

impl From<DeviceConfig> for Devices {
    fn from(first: DeviceConfig) -> Self {
        Self { first, others: Vec::new() }
    }
}

impl fmt::Display for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.first.fmt(f)?;
        self.others.iter().try_for_each(|other| write!(f, " + {other}"))
    }
}

impl Serialize for Devices {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.others.is_empty() { self.first.serialize(serializer) } else { serializer.collect_seq(self.iter()) }
    }
}

impl<'de> Deserialize<'de> for Devices {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrSeveral)
    }
}

struct OneOrSeveral;

impl<'de> Visitor<'de> for OneOrSeveral {
    type Value = Devices;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a device, or a list of devices")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Devices, E> {
        Named.visit_str(name).map(Devices::from)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Devices, A::Error> {
        DeviceConfig::deserialize(MapAccessDeserializer::new(map)).map(Devices::from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Devices, A::Error> {
        let Some(first) = seq.next_element()? else { return Err(de::Error::invalid_length(0, &"at least one device")) };
        let mut devices = Devices { first, others: Vec::new() };
        while let Some(other) = seq.next_element()? {
            devices.others.push(other);
        }
        if !devices.others.is_empty() && devices.iter().any(|device| device == DeviceConfig::Auto) {
            return Err(de::Error::custom("`auto` is one device, expected each device of a list by its name"));
        }
        Ok(devices)
    }
}

impl JsonSchema for Devices {
    fn schema_name() -> Cow<'static, str> {
        "Devices".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let device = generator.subschema_for::<DeviceConfig>();
        json_schema!({
            "description": "The device, or the devices that a training is the work of: what only encodes is that of the first.",
            "anyOf": [device, { "type": "array", "items": device, "minItems": 1 }],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_and_several_go_in_and_out() {
        for (json, text, count) in [
            (r#""cpu""#, "cpu", 1),
            (r#"["cuda","cuda:1"]"#, "cuda + cuda:1", 2),
            (r#"{"vulkan":{"fusion":false}}"#, r#"{"vulkan":{"fusion":false}}"#, 1),
            (r#"[{"vulkan":{"fusion":false}},"cpu"]"#, r#"{"vulkan":{"fusion":false}} + cpu"#, 2),
        ] {
            let devices: Devices = serde_json::from_str(json).unwrap();
            assert_eq!((devices.to_string().as_str(), devices.iter().count()), (text, count));
            assert_eq!(serde_json::to_string(&devices).unwrap(), json);
        }
        // A list of one is that one.
        assert_eq!(serde_json::from_str::<Devices>(r#"["cpu"]"#).unwrap(), DeviceConfig::Cpu.into());
        for (json, expected) in [
            ("[]", "expected at least one device"),
            (r#"["auto", "cpu"]"#, "`auto` is one device"),
            (r#"["cpu", "gpu"]"#, "unknown device `gpu`"),
            ("7", "expected a device, or a list of devices"),
        ] {
            let error = serde_json::from_str::<Devices>(json).unwrap_err().to_string();
            assert!(error.contains(expected), "{json}: {error}");
        }
    }
}
