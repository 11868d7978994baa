//! The device that computes, opened here and nowhere else.
//!
//! A device is a value of the config. One that this build or this machine lacks is an error that says what to do;
//! nothing falls back to another device.

mod config;
mod devices;
mod far;

use std::sync::Arc;
#[cfg(feature = "burn")]
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, PoisonError},
};

#[cfg(feature = "burn")]
use burn::tensor::Device;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
use burn::tensor::DeviceType;

pub use config::DeviceConfig;
pub use devices::Devices;
pub use far::FarDevice;

#[cfg(feature = "burn")]
use crate::on_device::BurnBackbone;
use crate::{
    backbone::Backbone,
    error::{Error, Result, cannot_use},
    kernel_settings::KernelSettings,
    models::Model,
    native,
    precision::Precision,
    several::SeveralBackbones,
};

/// A device that is there, and those that stand beside it.
#[derive(Debug, Clone)]
pub struct OpenDevice {
    /// The device itself: never `auto`.
    pub config: DeviceConfig,
    /// Name for people: `cpu (2 threads)`, or the name that the driver gives.
    pub description: String,
    #[cfg(feature = "burn")]
    burn: Device,
    /// The devices of this process that train the same model with this one.
    others: Vec<OpenDevice>,
    /// Devices of other processes that do.
    far: Vec<Arc<dyn FarDevice>>,
}

impl DeviceConfig {
    /// Devices that this build can open, best first.
    pub fn compiled() -> Vec<Self> {
        let usual = KernelSettings::default();
        let all = [Self::Cuda(0, usual), Self::Metal(usual), Self::Vulkan(usual), Self::Wgpu(usual), Self::Cpu];
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
            Self::Cuda(..) => "cuda",
            Self::Metal(_) => "metal",
            Self::Vulkan(_) => "vulkan",
            _ => "wgpu",
        };
        cannot_use(self, format!("this wb was built without the feature `{feature}`"))
            .with_hint(format!("cargo install --path workbench/wb --features {feature}, or run with device=cpu"))
    }

    fn is_compiled(self) -> bool {
        match self {
            Self::Auto | Self::Cpu => true,
            Self::Cubecl => cfg!(feature = "cubecl"),
            Self::Cuda(..) => cfg!(feature = "cuda"),
            Self::Metal(_) => cfg!(feature = "metal"),
            Self::Vulkan(_) => cfg!(feature = "vulkan"),
            Self::Wgpu(_) => cfg!(feature = "wgpu"),
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
                    others: Vec::new(),
                    far: Vec::new(),
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
        let wanted = if let Self::Cuda(number, _) = self { number + 1 } else { 1 };
        if count < wanted {
            let message = match count {
                0 if matches!(self, Self::Cuda(..)) => {
                    "this machine has no CUDA device, or no driver for it".to_owned()
                }
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
        #[cfg(feature = "cuda")]
        if matches!(self, Self::Cuda(..)) {
            let cuda_path = std::env::var_os("CUDA_PATH").map(Into::into);
            crate::cuda_toolkit::require(&self.to_string(), cuda_path, &crate::cuda_toolkit::ROOTS)?;
        }
        let (burn, name) = guarded(&self.to_string(), || {
            let burn = self.burn();
            let name = name(&burn);
            Ok((burn, name))
        })?;
        OPENED.lock().unwrap_or_else(PoisonError::into_inner).insert(self.to_string(), burn.clone());
        Ok(OpenDevice {
            config: self,
            description: format!("{self} ({name})"),
            burn,
            others: Vec::new(),
            far: Vec::new(),
        })
    }

    /// Number of such devices; `hardware` leaves out those that are programs on the processor.
    fn count(self, hardware: bool) -> Result<usize> {
        // Before anything reads what there is to set.
        #[cfg(any(feature = "cuda", feature = "wgpu"))]
        crate::kernel_settings::apply(self.kernels().unwrap_or_default(), &self.to_string())?;
        guarded(&self.to_string(), || {
            let devices = self.enumerate();
            Ok(devices.iter().filter(|device| !hardware || is_hardware(device)).count())
        })
    }

    fn enumerate(self) -> Vec<Device> {
        match self {
            #[cfg(feature = "cuda")]
            Self::Cuda(..) => Device::enumerate(DeviceType::Cuda).into_vec(),
            #[cfg(feature = "metal")]
            Self::Metal(_) => Device::enumerate(DeviceType::Metal).into_vec(),
            #[cfg(feature = "vulkan")]
            Self::Vulkan(_) => Device::enumerate(DeviceType::Vulkan).into_vec(),
            #[cfg(feature = "wgpu")]
            Self::Wgpu(_) => Device::enumerate(DeviceType::Wgpu).into_vec(),
            #[cfg(feature = "cubecl")]
            Self::Cubecl => vec![Device::cpu()],
            _ => Vec::new(),
        }
    }

    fn burn(self) -> Device {
        match self {
            #[cfg(feature = "cuda")]
            Self::Cuda(number, _) => Device::cuda(number),
            #[cfg(feature = "metal")]
            Self::Metal(_) => Device::metal(burn::tensor::DeviceKind::DefaultDevice),
            #[cfg(feature = "vulkan")]
            Self::Vulkan(_) => Device::vulkan(burn::tensor::DeviceKind::DefaultDevice),
            #[cfg(feature = "wgpu")]
            Self::Wgpu(_) => Device::wgpu(burn::tensor::DeviceKind::DefaultDevice),
            #[cfg(feature = "cubecl")]
            Self::Cubecl => Device::cpu(),
            _ => Device::flex(),
        }
    }
}

/// Devices that this process has opened, by their names.
#[cfg(feature = "burn")]
static OPENED: Mutex<BTreeMap<String, Device>> = Mutex::new(BTreeMap::new());

/// Gives memory of devices back that this process keeps for later, for another process to compute there.
pub fn give_back_memory() {
    #[cfg(feature = "burn")]
    for (name, device) in OPENED.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        // A driver that fails at that fails at the next thing, too, and is told of there.
        drop(guarded(name, || {
            device.memory_cleanup();
            Ok(())
        }));
    }
}

/// True for a device of its own, false for a program that plays one on the processor.
#[cfg(feature = "burn")]
fn is_hardware(device: &Device) -> bool {
    // Burn tells a device's kind nowhere else: `Device<Cube(Wgpu(WgpuDevice { kind: Cpu, .. }))>`.
    !format!("{device:?}").contains("Cpu")
}

/// Opens a device and reads its own name.
#[cfg(any(feature = "cuda", feature = "wgpu", feature = "cubecl"))]
fn name(device: &Device) -> String {
    device.identity().map_or_else(|| format!("{device:?}"), |identity| identity.name)
}

#[cfg(all(feature = "burn", not(any(feature = "cuda", feature = "wgpu", feature = "cubecl"))))]
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

    /// Puts others beside this device: they train a model together.
    #[must_use]
    pub fn beside(self, others: Vec<OpenDevice>) -> Self {
        Self { others, ..self }
    }

    /// Puts devices of other processes beside this one and those of this process.
    #[must_use]
    pub fn with_far(self, far: Vec<Arc<dyn FarDevice>>) -> Self {
        Self { far, ..self }
    }

    /// The names of all of them, as a config has them.
    fn configs(&self) -> impl Iterator<Item = DeviceConfig> {
        let here = self.others.iter().map(|other| other.config);
        std::iter::once(self.config).chain(here).chain(self.far.iter().map(|far| far.config()))
    }

    /// True where all of them give the same bytes again; see [`DeviceConfig::same_bytes`].
    pub fn same_bytes(&self) -> bool {
        self.configs().all(DeviceConfig::same_bytes)
    }

    /// Numbers in which they multiply; see [`DeviceConfig::products`].
    pub fn products(&self, precision: Precision) -> String {
        let mut names: Vec<&str> = self.configs().map(|device| device.products(precision)).collect();
        names.dedup();
        names.join(" + ")
    }

    /// Settings of their kernels in words, which are the same for all of a process; empty where the processor is alone.
    pub fn kernels(&self) -> String {
        let mut settings = self.configs().filter_map(DeviceConfig::kernels);
        settings.next().map(KernelSettings::in_words).unwrap_or_default()
    }

    /// Names of this device and of those beside it.
    pub fn descriptions(&self) -> String {
        let others = self.others.iter().map(|other| other.description.as_str());
        let far = self.far.iter().map(|far| far.description());
        std::iter::once(self.description.as_str()).chain(others).chain(far).collect::<Vec<_>>().join(" + ")
    }

    /// Brings a model to this device, and to those beside it.
    pub fn open_backbone(&self, model: Model) -> Result<Box<dyn Backbone>> {
        self.open_to_train(model, Precision::Fp32)
    }

    /// Brings a model to this device, and to those beside it, of which GPUs have layers that do not train in the numbers of
    /// their products alone. The processor, and devices of other processes, are told of these numbers where training begins.
    pub fn open_to_train(&self, model: Model, precision: Precision) -> Result<Box<dyn Backbone>> {
        let alone = |device: &Self, model: Model| {
            device.open_alone(model, if device.is_cpu() { Precision::Fp32 } else { precision })
        };
        if self.others.is_empty() && self.far.is_empty() {
            return alone(self, model);
        }
        let alone = |device: &Self| alone(device, model.clone());
        let here = std::iter::once(self).chain(&self.others).map(alone);
        let far = self.far.iter().map(|far| Arc::clone(far).open(model.clone()));
        Ok(Box::new(SeveralBackbones::new(here.chain(far).collect::<Result<_>>()?)?))
    }

    /// Brings a model to this device alone, with products in a precision.
    pub(crate) fn open_alone(&self, model: Model, precision: Precision) -> Result<Box<dyn Backbone>> {
        #[cfg(feature = "burn")]
        if !self.is_cpu() {
            let name = self.config.to_string();
            return Ok(Box::new(BurnBackbone::with_precision(model, &self.burn, &name, precision)?));
        }
        precision.only_32_bits("the processor", "its kernels train in 32 bits")?;
        native::open(model)
    }
}

/// Runs what a driver may panic in, and turns the panic into an error.
#[cfg(feature = "burn")]
pub(crate) fn guarded<T>(device: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(crate::error::failed_on(device, "it failed", text.as_deref().unwrap_or("for an unknown reason")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_compiled_in_says_what_to_do() {
        for name in ["cuda", "metal", "vulkan", "wgpu"] {
            let device: DeviceConfig = name.parse().unwrap();
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
