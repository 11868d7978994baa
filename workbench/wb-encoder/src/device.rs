//! The device that computes, opened here and nowhere else.
//!
//! A device is a value of the config. One that this build or this machine lacks is an error that says what to do;
//! nothing falls back to another device.

#[cfg(feature = "burn")]
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{borrow::Cow, fmt, str::FromStr};

#[cfg(feature = "burn")]
use burn::tensor::Device;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
use burn::tensor::DeviceType;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use wb_core::suggest;

#[cfg(feature = "burn")]
use crate::burn_backbone::BurnBackbone;
use crate::{
    backbone::Backbone,
    error::{Error, Result, cannot_use},
    models::Model,
    native,
};

/// The device asked for: `auto`, `cpu`, `cuda`, `cuda:1`, `metal`, `vulkan`, `wgpu`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum DeviceConfig {
    /// The first that is compiled in and present of: cuda, metal, vulkan, wgpu, cpu. It says which.
    #[default]
    Auto,
    /// The processor, always there.
    Cpu,
    /// An NVIDIA GPU by its number.
    Cuda(usize),
    /// An Apple GPU.
    Metal,
    /// A GPU through Vulkan.
    Vulkan,
    /// A GPU through whatever this machine offers.
    Wgpu,
}

/// Names that can be written, for messages.
const NAMES: [&str; 6] = ["auto", "cpu", "cuda", "metal", "vulkan", "wgpu"];

impl fmt::Display for DeviceConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(0) => f.write_str("cuda"),
            Self::Cuda(number) => write!(f, "cuda:{number}"),
            Self::Metal => f.write_str("metal"),
            Self::Vulkan => f.write_str("vulkan"),
            Self::Wgpu => f.write_str("wgpu"),
        }
    }
}

impl FromStr for DeviceConfig {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let by_name = [Self::Auto, Self::Cpu, Self::Cuda(0), Self::Metal, Self::Vulkan, Self::Wgpu];
        if let Some(device) = by_name.into_iter().find(|device| device.to_string() == text) {
            return Ok(device);
        }
        if let Some(number) = text.strip_prefix("cuda:").and_then(|number| number.parse().ok()) {
            return Ok(Self::Cuda(number));
        }
        Err(cannot_use(text, "no device has this name, expected auto, cpu, cuda, cuda:1, metal, vulkan or wgpu")
            .with_hint_if(suggest::nearest(text, NAMES).map(|near| format!("did you mean `{near}`?"))))
    }
}

impl JsonSchema for DeviceConfig {
    fn schema_name() -> Cow<'static, str> {
        "DeviceConfig".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The device: `auto` is the first that is compiled in and present of cuda, metal, vulkan, wgpu, cpu.",
            "anyOf": [{ "type": "string", "enum": NAMES }, { "type": "string", "pattern": "^cuda:[0-9]+$" }],
        })
    }
}

impl TryFrom<String> for DeviceConfig {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse::<Self>().map_err(|_| {
            format!("unknown device `{text}`, expected one of auto, cpu, cuda, cuda:1, metal, vulkan, wgpu")
        })
    }
}

impl From<DeviceConfig> for String {
    fn from(device: DeviceConfig) -> Self {
        device.to_string()
    }
}

/// A device that is there.
#[derive(Debug, Clone)]
pub struct OpenDevice {
    /// The device itself: never `auto`.
    pub config: DeviceConfig,
    /// Name for people: `cpu (2 threads)`, or the name that the driver gives.
    pub description: String,
    #[cfg(feature = "burn")]
    burn: Device,
}

impl DeviceConfig {
    /// Devices that this build can open, best first.
    pub fn compiled() -> Vec<Self> {
        let all = [Self::Cuda(0), Self::Metal, Self::Vulkan, Self::Wgpu, Self::Cpu];
        all.into_iter().filter(|device| device.is_compiled()).collect()
    }

    /// True where this may be a device whose driver has to be tried in a process of its own first
    /// ([`crate::self_test::run_guarded`]). One that is not compiled in has no driver to try.
    pub fn needs_self_test(self) -> bool {
        match self {
            Self::Auto => Self::compiled() != [Self::Cpu],
            Self::Cpu => false,
            _ => self.is_compiled(),
        }
    }

    /// An error where this build cannot open the device on any machine. This touches no driver.
    pub fn require_compiled(self) -> Result<()> {
        if self.is_compiled() { Ok(()) } else { Err(self.not_compiled()) }
    }

    fn not_compiled(self) -> Error {
        let feature = match self {
            Self::Cuda(_) => "cuda",
            Self::Metal => "metal",
            Self::Vulkan => "vulkan",
            _ => "wgpu",
        };
        cannot_use(self, format!("this wb was built without the feature `{feature}`"))
            .with_hint(format!("cargo install --path workbench/wb --features {feature}, or run with device=cpu"))
    }

    fn is_compiled(self) -> bool {
        match self {
            Self::Auto | Self::Cpu => true,
            Self::Cuda(_) => cfg!(feature = "cuda"),
            Self::Metal => cfg!(feature = "metal"),
            Self::Vulkan => cfg!(feature = "vulkan"),
            Self::Wgpu => cfg!(feature = "wgpu"),
        }
    }

    /// Opens the device. This runs its driver: a broken one may hang or end the process.
    pub fn open(self) -> Result<OpenDevice> {
        match self {
            Self::Auto => {
                let mut passed_over = String::new();
                for device in Self::compiled().into_iter().filter(|device| *device != Self::Cpu) {
                    match device.count(true) {
                        Ok(0) => passed_over += &format!("; no {device} here"),
                        Ok(_) => return device.open(),
                        // A machine without the driver's library is a machine without the device.
                        Err(error) => passed_over += &format!("; {error}"),
                    }
                }
                let mut cpu = Self::Cpu.open()?;
                cpu.description += &passed_over;
                Ok(cpu)
            }
            Self::Cpu => {
                let threads = rayon::current_num_threads();
                let plural = if threads == 1 { "" } else { "s" };
                Ok(OpenDevice {
                    config: self,
                    description: format!("cpu ({threads} thread{plural})"),
                    #[cfg(feature = "burn")]
                    burn: Device::flex(),
                })
            }
            _ => self.open_gpu(),
        }
    }
}

// Without burn there is no device but the processor.
#[cfg(not(feature = "burn"))]
impl DeviceConfig {
    fn open_gpu(self) -> Result<OpenDevice> {
        Err(self.not_compiled())
    }

    fn count(self, _hardware: bool) -> Result<usize> {
        Ok(0)
    }
}

#[cfg(feature = "burn")]
impl DeviceConfig {
    fn open_gpu(self) -> Result<OpenDevice> {
        self.require_compiled()?;
        let count = self.count(false)?;
        let wanted = if let Self::Cuda(number) = self { number + 1 } else { 1 };
        if count < wanted {
            let message = match count {
                0 if matches!(self, Self::Cuda(_)) => "this machine has no CUDA device, or no driver for it".to_owned(),
                0 => format!("this machine has no device that {self} can use, or no driver for it"),
                _ => format!(
                    "this machine has {count} CUDA device{}, numbered from 0",
                    if count == 1 { "" } else { "s" }
                ),
            };
            return Err(
                cannot_use(self, message).with_hint("see what there is with `wb doctor`, or run with device=cpu")
            );
        }
        let (burn, name) = guarded(&self.to_string(), || {
            let burn = self.burn();
            let name = name(&burn);
            Ok((burn, name))
        })?;
        Ok(OpenDevice { config: self, description: format!("{self} ({name})"), burn })
    }

    /// Number of such devices; `hardware` leaves out those that are programs on the processor.
    fn count(self, hardware: bool) -> Result<usize> {
        guarded(&self.to_string(), || {
            let devices = self.enumerate();
            Ok(devices.iter().filter(|device| !hardware || is_hardware(device)).count())
        })
    }

    fn enumerate(self) -> Vec<Device> {
        match self {
            #[cfg(feature = "cuda")]
            Self::Cuda(_) => Device::enumerate(DeviceType::Cuda).into_vec(),
            #[cfg(feature = "metal")]
            Self::Metal => Device::enumerate(DeviceType::Metal).into_vec(),
            #[cfg(feature = "vulkan")]
            Self::Vulkan => Device::enumerate(DeviceType::Vulkan).into_vec(),
            #[cfg(feature = "wgpu")]
            Self::Wgpu => Device::enumerate(DeviceType::Wgpu).into_vec(),
            _ => Vec::new(),
        }
    }

    fn burn(self) -> Device {
        match self {
            #[cfg(feature = "cuda")]
            Self::Cuda(number) => Device::cuda(number),
            #[cfg(feature = "metal")]
            Self::Metal => Device::metal(burn::tensor::DeviceKind::DefaultDevice),
            #[cfg(feature = "vulkan")]
            Self::Vulkan => Device::vulkan(burn::tensor::DeviceKind::DefaultDevice),
            #[cfg(feature = "wgpu")]
            Self::Wgpu => Device::wgpu(burn::tensor::DeviceKind::DefaultDevice),
            _ => Device::flex(),
        }
    }
}

/// True for a device of its own, false for a program that plays one on the processor.
#[cfg(feature = "burn")]
fn is_hardware(device: &Device) -> bool {
    // Burn tells a device's kind nowhere else: `Device<Cube(Wgpu(WgpuDevice { kind: Cpu, .. }))>`.
    !format!("{device:?}").contains("Cpu")
}

/// Opens a device and reads its own name.
#[cfg(any(feature = "cuda", feature = "wgpu"))]
fn name(device: &Device) -> String {
    device.identity().map_or_else(|| format!("{device:?}"), |identity| identity.name)
}

#[cfg(all(feature = "burn", not(any(feature = "cuda", feature = "wgpu"))))]
fn name(device: &Device) -> String {
    format!("{device:?}")
}

impl OpenDevice {
    /// The burn device.
    #[cfg(feature = "burn")]
    pub fn burn(&self) -> &Device {
        &self.burn
    }

    /// True for the processor.
    pub fn is_cpu(&self) -> bool {
        self.config == DeviceConfig::Cpu
    }

    /// Brings a model to this device.
    pub fn open_backbone(&self, model: Model) -> Result<Box<dyn Backbone>> {
        #[cfg(feature = "burn")]
        if !self.is_cpu() {
            return Ok(Box::new(BurnBackbone::new(model, &self.burn, &self.config.to_string())?));
        }
        native::open(model)
    }
}

/// Runs what a driver may panic in, and turns the panic into an error.
#[cfg(feature = "burn")]
pub(crate) fn guarded<T>(device: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(cannot_use(device, format!("it failed: {}", text.as_deref().unwrap_or("for an unknown reason").trim()))
            .with_hint("run with device=cpu"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_device_that_is_not_compiled_in_says_what_to_do() {
        for device in [DeviceConfig::Cuda(0), DeviceConfig::Metal, DeviceConfig::Vulkan, DeviceConfig::Wgpu] {
            if device.is_compiled() {
                continue;
            }
            assert!(!device.needs_self_test());
            assert!(device.require_compiled().is_err());
            let error = device.open().unwrap_err();
            assert!(error.to_string().contains("this wb was built without the feature"), "{error}");
            assert!(error.hint().unwrap().contains("cargo install --path workbench/wb --features"));
        }
        assert!(DeviceConfig::Cpu.open().unwrap().is_cpu());
    }

    #[cfg(feature = "wgpu")]
    #[test]
    fn a_program_on_the_processor_is_told_from_a_card() {
        use burn::tensor::DeviceKind;
        assert!(!is_hardware(&Device::wgpu(DeviceKind::Cpu)));
        for kind in [DeviceKind::DiscreteGpu(0), DeviceKind::IntegratedGpu(1), DeviceKind::VirtualGpu(0)] {
            assert!(is_hardware(&Device::wgpu(kind)));
        }
    }

    #[test]
    fn a_panic_becomes_an_error() {
        let error = guarded::<()>("vulkan", || panic!("no adapter {}", 7)).unwrap_err();
        assert_eq!(error.to_string(), "cannot use device `vulkan`: it failed: no adapter 7");
    }
}
