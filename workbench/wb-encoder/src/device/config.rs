//! The device that is asked for, as it is written: a name, or a name and settings.

use std::{borrow::Cow, fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, Visitor},
};
use wb_core::suggest;

use crate::{
    error::{Error, Result, cannot_use},
    kernel_settings::KernelSettings,
    precision::Precision,
};

/// The device asked for: `auto`, `cpu`, `cuda`, `cuda:1`, `metal`, `vulkan`, `wgpu`; or one of them with settings,
/// `{vulkan: {fusion: false}}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DeviceConfig {
    /// The first that is compiled in and present of: cuda, metal, vulkan, wgpu, cpu. It says which.
    #[default]
    Auto,
    /// The processor, always there.
    Cpu,
    /// An NVIDIA GPU by its number.
    Cuda(usize, KernelSettings),
    /// An Apple GPU.
    Metal(KernelSettings),
    /// A GPU through Vulkan.
    Vulkan(KernelSettings),
    /// A GPU through whatever this machine offers.
    Wgpu(KernelSettings),
    /// GPUs' kernels on the processor, as a device of tests: known by name to builds with the feature `cubecl` alone.
    Cubecl,
}

/// Names that can be written, for messages.
const NAMES: [&str; 6] = ["auto", "cpu", "cuda", "metal", "vulkan", "wgpu"];
const EXPECTED: &str = "auto, cpu, cuda, cuda:1, metal, vulkan or wgpu";

impl DeviceConfig {
    /// Its name without settings.
    pub fn name(self) -> Cow<'static, str> {
        match self {
            Self::Auto => "auto".into(),
            Self::Cpu => "cpu".into(),
            Self::Cuda(0, _) => "cuda".into(),
            Self::Cuda(number, _) => format!("cuda:{number}").into(),
            Self::Metal(_) => "metal".into(),
            Self::Vulkan(_) => "vulkan".into(),
            Self::Wgpu(_) => "wgpu".into(),
            Self::Cubecl => "cubecl".into(),
        }
    }

    /// Settings of its kernels; none where it has no such kernels.
    pub fn kernels(self) -> Option<KernelSettings> {
        match self {
            Self::Auto | Self::Cpu | Self::Cubecl => None,
            Self::Cuda(_, kernels) | Self::Metal(kernels) | Self::Vulkan(kernels) | Self::Wgpu(kernels) => {
                Some(kernels)
            }
        }
    }

    /// Gives the same device other settings, where it has any.
    pub fn with_kernels(self, settings: KernelSettings) -> Self {
        match self {
            Self::Auto | Self::Cpu | Self::Cubecl => self,
            Self::Cuda(number, _) => Self::Cuda(number, settings),
            Self::Metal(_) => Self::Metal(settings),
            Self::Vulkan(_) => Self::Vulkan(settings),
            Self::Wgpu(_) => Self::Wgpu(settings),
        }
    }

    /// True where the same seed and the same build give the same bytes again. Which kernels are quickest is found by timing,
    /// where a build has `autotune`, and each adds up in its own order; on CUDA nobody has looked.
    pub fn same_bytes(self) -> bool {
        match self {
            Self::Cpu => true,
            Self::Auto | Self::Cuda(..) => false,
            Self::Metal(_) | Self::Vulkan(_) | Self::Wgpu(_) | Self::Cubecl => !cfg!(feature = "autotune"),
        }
    }

    /// Numbers in which a training multiplies matrices.
    pub fn products(self, precision: Precision) -> &'static str {
        match (self, precision) {
            // Tensor cores round to 10 bits of mantissa, where a kernel with them is the quickest.
            (Self::Cuda(..), Precision::Fp32) => "tf32 or fp32",
            (_, precision) => precision.name(),
        }
    }

    /// Settings that differ from the usual, which are written beside the name.
    fn unusual(self) -> Option<KernelSettings> {
        self.kernels().filter(|kernels| *kernels != KernelSettings::default())
    }

    fn named(name: &str) -> Result<Self> {
        let usual = KernelSettings::default();
        let by_name =
            [Self::Auto, Self::Cpu, Self::Cuda(0, usual), Self::Metal(usual), Self::Vulkan(usual), Self::Wgpu(usual)];
        if cfg!(feature = "cubecl") && name == "cubecl" {
            return Ok(Self::Cubecl);
        }
        if let Some(device) = by_name.into_iter().find(|device| device.name() == name) {
            return Ok(device);
        }
        if let Some(number) = name.strip_prefix("cuda:").and_then(|number| number.parse().ok()) {
            return Ok(Self::Cuda(number, usual));
        }
        Err(cannot_use(name, format!("no device has this name, expected {EXPECTED}"))
            .with_hint_if(suggest::nearest(name, NAMES).map(|near| format!("did you mean `{near}`?"))))
    }
}

/// The name, or where settings differ from the usual what can be written on a command line: `{"vulkan":{"fusion":false}}`.
impl fmt::Display for DeviceConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unusual() {
            None => f.write_str(&self.name()),
            Some(kernels) => write!(f, "{}", serde_json::json!({ &*self.name(): kernels.changed() })),
        }
    }
}

impl FromStr for DeviceConfig {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if !text.trim_start().starts_with('{') {
            return Self::named(text);
        }
        serde_json::from_str(text).map_err(|error| {
            cannot_use(text, format!("these are no settings of a device: {error}"))
                .with_hint(r#"{"vulkan":{"fusion":false}}, or {"cuda":{"autotune":"minimal"}}"#)
        })
    }
}

impl JsonSchema for DeviceConfig {
    fn schema_name() -> Cow<'static, str> {
        "DeviceConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let kernels = generator.subschema_for::<KernelSettings>();
        json_schema!({
            "description": "The device: `auto` is the first that is compiled in and present of cuda, metal, vulkan, wgpu, cpu. Or a device and how its kernels are made.",
            "anyOf": [
                { "type": "string", "enum": NAMES },
                { "type": "string", "pattern": "^cuda:[0-9]+$" },
                {
                    "type": "object",
                    "properties": { "cuda": kernels, "metal": kernels, "vulkan": kernels, "wgpu": kernels },
                    "patternProperties": { "^cuda:[0-9]+$": kernels },
                    "additionalProperties": false,
                    "minProperties": 1,
                    "maxProperties": 1,
                },
            ],
        })
    }
}

impl Serialize for DeviceConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.unusual() {
            None => serializer.serialize_str(&self.name()),
            Some(kernels) => serializer.collect_map([(self.name(), kernels.changed())]),
        }
    }
}

impl<'de> Deserialize<'de> for DeviceConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Named)
    }
}

/// A name, or a map of one name to settings.
pub(super) struct Named;

impl<'de> Visitor<'de> for Named {
    type Value = DeviceConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a device's name, or its name and settings")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<DeviceConfig, E> {
        DeviceConfig::named(name).map_err(|_| unknown(name))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<DeviceConfig, A::Error> {
        let Some(name) = map.next_key::<String>()? else { return Err(de::Error::invalid_length(0, &self)) };
        let device = DeviceConfig::named(&name).map_err(|_| unknown(&name))?;
        if device.kernels().is_none() {
            return Err(de::Error::custom(format_args!("`{name}` has no settings, expected `device: {name}`")));
        }
        let device = device.with_kernels(map.next_value()?);
        match map.next_key::<String>()? {
            None => Ok(device),
            Some(other) => Err(de::Error::custom(format_args!("`{name}` and `{other}`, expected one device"))),
        }
    }
}

fn unknown<E: de::Error>(name: &str) -> E {
    E::custom(format_args!("unknown device `{name}`, expected one of auto, cpu, cuda, cuda:1, metal, vulkan, wgpu"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_says_what_a_device_promises() {
        assert!(DeviceConfig::Cpu.same_bytes() && !"cuda".parse::<DeviceConfig>().unwrap().same_bytes());
        assert_eq!("cuda".parse::<DeviceConfig>().unwrap().products(Precision::Fp32), "tf32 or fp32");
        assert_eq!("vulkan".parse::<DeviceConfig>().unwrap().products(Precision::F16), "f16");
        assert_eq!(DeviceConfig::Cpu.products(Precision::Fp32), "fp32");
    }

    #[test]
    fn names_go_in_and_out() {
        for name in ["auto", "cpu", "cuda", "cuda:1", "metal", "vulkan", "wgpu"] {
            assert_eq!(name.parse::<DeviceConfig>().unwrap().to_string(), name);
            let json = format!("\"{name}\"");
            let device: DeviceConfig = serde_json::from_str(&json).unwrap();
            assert_eq!(serde_json::to_string(&device).unwrap(), json);
        }
        let error = "vulcan".parse::<DeviceConfig>().unwrap_err();
        assert_eq!(error.hint(), Some("did you mean `vulkan`?"));
        assert!(
            serde_json::from_str::<DeviceConfig>("\"gpu\"").unwrap_err().to_string().contains("expected one of auto")
        );
    }

    #[test]
    fn settings_go_in_and_out() {
        for text in [r#"{"vulkan":{"fusion":false}}"#, r#"{"cuda:1":{"fusion":false,"autotune":"minimal"}}"#] {
            let device: DeviceConfig = text.parse().unwrap();
            assert_eq!((device.to_string().as_str(), serde_json::to_string(&device).unwrap().as_str()), (text, text));
        }
        let usual: DeviceConfig = r#"{"metal": {"fusion": true}}"#.parse().unwrap();
        assert_eq!(serde_json::to_string(&usual).unwrap(), r#""metal""#);
        for (text, expected) in [
            (r#"{"cpu": {}}"#, "`cpu` has no settings"),
            (r#"{"vulkan": {"fuse": false}}"#, "unknown field `fuse`"),
            (r#"{"vulkan": {}, "metal": {}}"#, "`vulkan` and `metal`, expected one device"),
            (r#"{"vulkan": {"autotune": "off"}}"#, "unknown variant `off`"),
            ("{}", "invalid length 0"),
        ] {
            let error = text.parse::<DeviceConfig>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
