//! Devices: tried in a process of their own before they are trusted.

use std::{
    collections::BTreeSet,
    path::Path,
    process::Command,
    sync::{Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use anyhow::{Context, Result};
use wb_core::EncoderRef;
use wb_encoder::{
    DeviceConfig, Devices, Folder, KernelSettings, MemoryType, OpenDevice, Precision,
    self_test::{self, Alive, ProbeReport},
};

use super::encoder;
use crate::{config::Experiment, environment::this_program, output};

/// Time within which a device that shows whether it computes rightly has to get on: a minute, or `WB_SELF_TEST_SECONDS`.
pub fn limit() -> Result<Duration> {
    let Some(text) = std::env::var_os("WB_SELF_TEST_SECONDS").filter(|text| !text.is_empty()) else {
        return Ok(Duration::from_secs(60));
    };
    let seconds = text.to_str().and_then(|text| text.parse().ok()).filter(|seconds| (1..=86_400).contains(seconds));
    let seconds = seconds.with_context(|| {
        format!("WB_SELF_TEST_SECONDS is {}, expected a number of seconds from 1 to 86400", text.display())
    })?;
    Ok(Duration::from_secs(seconds))
}

/// The device that `auto` stands for on this machine, looked for once; any other is itself. Names of what was
/// computed hold this one: vectors of a processor and of a GPU differ in rounding, and `auto` is the one here and the
/// other there.
pub fn resolved(device: DeviceConfig) -> Result<DeviceConfig> {
    static FOUND: Mutex<Option<DeviceConfig>> = Mutex::new(None);
    if let Some(known) = without_test(device) {
        return Ok(known);
    }
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = *found {
        return Ok(found);
    }
    // In a process of its own: a driver that hangs or dies takes nothing with it.
    let report = guarded(device, None, limit()?)?;
    report.require()?;
    Ok(*found.insert(report.device.parse()?))
}

/// The device that a name stands for, where no self-test has to find that out: every one but an `auto` that may be a
/// GPU.
pub fn without_test(device: DeviceConfig) -> Option<DeviceConfig> {
    known(device, device.needs_self_test())
}

fn known(device: DeviceConfig, needs_self_test: bool) -> Option<DeviceConfig> {
    match device {
        DeviceConfig::Auto if needs_self_test => None,
        DeviceConfig::Auto => Some(DeviceConfig::Cpu),
        named => Some(named),
    }
}

/// Refuses types of weights in memory that a device does not keep them in. `option` is what the message calls them by.
pub fn check_dtypes(device: DeviceConfig, dtypes: &[MemoryType], option: &str) -> Result<()> {
    if dtypes.is_empty() {
        return Ok(());
    }
    let is_cpu = resolved(device)? == DeviceConfig::Cpu;
    Ok(dtypes.iter().try_for_each(|dtype| dtype.check_on(is_cpu, option))?)
}

/// Opens a device; one that is not the processor is compared with it first, on this model.
pub fn open(device: DeviceConfig, model: Option<&Path>) -> Result<OpenDevice> {
    open_for(device, model, Precision::Fp32)
}

/// [`open`], compared in the precision that it is to compute in, too. What passed is not compared again by this process.
pub fn open_for(device: DeviceConfig, model: Option<&Path>, precision: Precision) -> Result<OpenDevice> {
    let is_auto = device == DeviceConfig::Auto && device.needs_self_test();
    let device = resolved(device)?;
    if device == DeviceConfig::Cpu && is_auto {
        let open = device.open()?;
        output::note(format!("device: {}; found no other that this wb can use", open.description));
        return Ok(open);
    }
    if !device.needs_self_test() {
        return Ok(device.open()?);
    }
    static PASSED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let tried = format!("{device} {} {model:?}", precision.name());
    if PASSED.lock().unwrap_or_else(PoisonError::into_inner).contains(&tried) {
        return Ok(device.open()?);
    }
    let report = guarded_in(device, model, Some(precision), limit()?)?;
    report.require()?;
    PASSED.lock().unwrap_or_else(PoisonError::into_inner).insert(tried);
    let more =
        if report.seconds > LONG.as_secs_f64() { "; the first texts and steps have more kernels made" } else { "" };
    output::note(format!("device: {} passed its self-test in {:.1} s{more}", report.description, report.seconds));
    Ok(device.open()?)
}

/// The devices of an experiment, with the one that `auto` stands for ([`resolved`]).
pub fn all_resolved(devices: &Devices) -> Result<Devices> {
    Ok(devices.with_first(resolved(devices.first())?))
}

/// Opens the devices of an experiment, each tried with the models that it computes there. To be asked for before anything
/// is computed or written.
pub fn of_experiment(experiment: &Experiment) -> Result<OpenDevice> {
    all(&experiment.device, experiment)
}

/// Opens devices that stand side by side, each tried with what the experiment begins with, in the precision that it trains
/// in, and with its teachers, in 32 bits.
pub fn all(devices: &Devices, experiment: &Experiment) -> Result<OpenDevice> {
    tried(devices, experiment, |_| Ok(true))
}

/// [`of_experiment`], to measure them: no model is fetched for that.
pub fn to_measure(experiment: &Experiment) -> Result<OpenDevice> {
    tried(&experiment.device, experiment, encoder::is_here)
}

fn tried(
    devices: &Devices,
    experiment: &Experiment,
    is_tried: impl Fn(&EncoderRef) -> Result<bool>,
) -> Result<OpenDevice> {
    let precision = experiment.train.precision;
    devices.iter().try_for_each(DeviceConfig::require_compiled)?;
    let needs_model = devices.iter().any(DeviceConfig::needs_self_test);
    let locate = |model: &EncoderRef| match needs_model && is_tried(model)? {
        true => encoder::locate(model).map(Some),
        false => Ok(None),
    };
    let model = experiment.pretrained().map(locate).transpose()?.flatten();
    for teacher in experiment.teachers() {
        let Some(teacher) = locate(teacher)? else { continue };
        devices.iter().try_for_each(|device| open(device, Some(&teacher)).map(drop))?;
    }
    let mut all = devices
        .iter()
        .map(|device| open_for(device, model.as_deref(), precision))
        .collect::<Result<Vec<_>>>()?
        .into_iter();
    let first = all.next().context("the list of devices is empty")?;
    Ok(first.beside(all.collect()))
}

/// Time after which who waits for a self-test is told why it takes so long.
const LONG: Duration = Duration::from_secs(10);

/// The reason why a self-test may take long.
fn waiting(device: DeviceConfig) -> String {
    let kept = match wb_encoder::kernel_cache() {
        Some(folder) => format!("once: they are kept in {}", folder.display()),
        None => "in each process: this build keeps none".to_owned(),
    };
    format!("device: trying {device}; its kernels are made first, which may take minutes, {kept}")
}

/// Variable that says a precision of 16 bits which a self-test compares, too.
const PRECISION: &str = "WB_SELF_TEST_PRECISION";

/// The precision that the environment names for a self-test, else 32 bits.
fn named_precision() -> Result<Precision> {
    let named = std::env::var_os(PRECISION).filter(|name| !name.is_empty());
    let Some(name) = named else { return Ok(Precision::Fp32) };
    let known = Precision::ALL.into_iter().find(|precision| name == precision.name());
    known.with_context(|| format!("{PRECISION} is {}, expected fp32, bf16 or f16", name.display()))
}

/// Runs the self-test in a child process, which may hang or die; in the precision that the environment names, too.
pub fn guarded(device: DeviceConfig, model: Option<&Path>, limit: Duration) -> Result<ProbeReport> {
    guarded_in(device, model, None, limit)
}

fn guarded_in(
    device: DeviceConfig,
    model: Option<&Path>,
    precision: Option<Precision>,
    limit: Duration,
) -> Result<ProbeReport> {
    // What is kept for later is the other process's to take.
    wb_encoder::give_back_memory();
    let program = this_program().context("cannot run the self-test in a process of its own")?;
    let mut command = Command::new(program);
    command.arg("probe").arg("--device").arg(device.to_string());
    if let Some(model) = model {
        command.arg("--encoder").arg(model);
    }
    if let Some(precision) = precision {
        command.env(PRECISION, precision.name());
    }
    thread::scope(|scope| {
        let (_until_the_end, end) = mpsc::channel::<()>();
        scope.spawn(move || {
            if end.recv_timeout(LONG) == Err(mpsc::RecvTimeoutError::Timeout) {
                output::note(waiting(device));
            }
        });
        Ok(self_test::run_guarded(&device.to_string(), command, limit)?)
    })
}

/// The self-test itself, in this process; the report goes to standard output as one line of JSON.
/// Ends when standard input does: see [`self_test::end_with_parent`].
pub fn probe(device: DeviceConfig, model: Option<&Path>) -> Result<()> {
    self_test::end_with_parent();
    let told = |alive: Alive| output::line(alive.to_string());
    let (model, batch) = match model {
        None => self_test::made_up_model(),
        Some(path) => {
            output::line(format!("{}reading the model", self_test::DOING));
            let folder = self_test::at_home(told, || Folder::read(path))?;
            let batch = self_test::sample_batch(&folder.tokenizer, folder.max_tokens.document)?;
            (folder.model, batch)
        }
    };
    let report = self_test::probe(
        device,
        named_precision()?,
        &model,
        &batch,
        &mut |what| output::line(format!("{}{what}", self_test::DOING)),
        told,
    );
    output::line(serde_json::to_string(&report)?);
    Ok(())
}

/// The settings with which a device that failed its self-test passes it, tried one after the other.
fn passes_with(
    device: DeviceConfig,
    settings: impl Iterator<Item = KernelSettings>,
    mut passes: impl FnMut(DeviceConfig) -> Result<bool>,
) -> Result<Option<DeviceConfig>> {
    let Some(kernels) = device.kernels() else { return Ok(None) };
    for settings in settings.filter(|settings| *settings != kernels) {
        let other = device.with_kernels(settings);
        output::note(format!("trying {other}"));
        if passes(other)? {
            return Ok(Some(other));
        }
    }
    Ok(None)
}

/// Words on what to do about a device that failed, and the settings that it passes with, where there are any.
fn hint(passes_with: Option<DeviceConfig>) -> String {
    match passes_with {
        Some(other) => format!("  hint: it passes with other kernels: device='{other}' (--device '{other}')"),
        None => "  hint: run with device=cpu".to_owned(),
    }
}

/// Tests a device and prints what was found; where it fails, the settings with which it does not. True where it passed.
pub fn test(device: DeviceConfig, model: Option<&Path>, limit: Duration) -> Result<bool> {
    let model = model.map(|model| encoder::locate(&EncoderRef::from(&*model.to_string_lossy()))).transpose()?;
    let model = model.as_deref();
    // What cannot be read is no fault of the device.
    model.map(Folder::read).transpose()?;
    let report = guarded(device, model, limit)?;
    print(&report);
    let Some(failure) = &report.failure else {
        output::line(format!("{}: fine, {:.1} s", report.description, report.seconds));
        return Ok(true);
    };
    let name = if report.description.is_empty() { &report.device } else { &report.description };
    output::line(format!("refused: {name}: {failure}"));
    // A machine that has no such device has none with other settings, and one that hangs has taken its time.
    let other = match !report.checks.is_empty() || report.crashed() {
        true => {
            let passes = |other| Ok(guarded(other, model, limit)?.failure.is_none());
            passes_with(device, KernelSettings::others(), passes)?
        }
        false => None,
    };
    output::note(hint(other));
    Ok(false)
}

/// Lines about the devices of this build.
pub fn about() -> Vec<String> {
    let compiled: Vec<String> = DeviceConfig::compiled().iter().map(ToString::to_string).collect();
    let best = compiled.first().map_or("cpu", String::as_str);
    let mut lines =
        vec![format!("devices  {} (compiled in; test one with `wb doctor --device {best}`)", compiled.join(", "))];
    if DeviceConfig::compiled() != [DeviceConfig::Cpu] {
        lines.push(match wb_encoder::kernel_cache() {
            Some(folder) => format!("kernels  compiled and timed once, and kept in {}", folder.display()),
            None => "kernels  compiled and timed anew by each process; none is kept on disk".to_owned(),
        });
    }
    lines
}

/// Prints the checks of a self-test, if it came to any.
fn print(report: &ProbeReport) {
    let rows: Vec<Vec<String>> = report
        .checks
        .iter()
        .map(|check| {
            let figure = check.figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.2e}"));
            vec![
                check.what.clone(),
                figure,
                format!("{:.0e}", check.limit),
                if check.passed { "passed" } else { "FAILED" }.to_owned(),
            ]
        })
        .collect();
    if !rows.is_empty() {
        output::table(&["check", "figure", "limit", ""], &rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_fails_is_tried_with_other_kernels_until_it_passes() {
        let vulkan: DeviceConfig = "vulkan".parse().unwrap();
        let named = |settings: &str| format!(r#"{{"vulkan":{settings}}}"#).parse::<DeviceConfig>().unwrap();
        let all = [r#"{"fusion":false}"#, r#"{"autotune":"minimal"}"#, r#"{"fusion":false,"autotune":"minimal"}"#];
        let settings = || all.map(named).into_iter().filter_map(DeviceConfig::kernels);
        let mut tried = Vec::new();
        let mut until = |device: DeviceConfig, good: Option<DeviceConfig>| {
            tried.clear();
            let found = passes_with(device, settings(), |other| {
                tried.push(other);
                Ok(Some(other) == good)
            });
            (found.unwrap(), tried.clone())
        };
        let [no_fusion, minimal, neither] = all.map(named);
        assert_eq!(until(vulkan, Some(minimal)), (Some(minimal), vec![no_fusion, minimal]));
        assert_eq!(until(vulkan, None), (None, vec![no_fusion, minimal, neither]));
        // What failed is not tried again.
        assert_eq!(until(no_fusion, Some(neither)), (Some(neither), vec![minimal, neither]));
        assert_eq!(until(DeviceConfig::Cpu, None), (None, vec![]));
        let told = r#"  hint: it passes with other kernels: device='{"vulkan":{"fusion":false}}' (--device '{"vulkan":{"fusion":false}}')"#;
        assert_eq!(hint(Some(no_fusion)), told);
        assert_eq!(hint(None), "  hint: run with device=cpu");
    }

    #[test]
    fn a_model_that_is_not_there_is_no_fault_of_the_device() {
        let model = Some(Path::new("no/such/model/here"));
        let error = test(DeviceConfig::Cpu, model, Duration::from_secs(5)).unwrap_err().to_string();
        assert!(error.contains("no/such/model/here"), "{error}");
    }

    #[test]
    fn what_a_build_can_compute_on_is_told_and_where_it_keeps_kernels() {
        let lines = about();
        let all: Vec<String> = DeviceConfig::compiled().iter().map(ToString::to_string).collect();
        assert!(lines[0].starts_with(&format!("devices  {} (compiled in;", all.join(", "))), "{lines:?}");
        let kept = match wb_encoder::kernel_cache() {
            Some(folder) => vec![format!("kernels  compiled and timed once, and kept in {}", folder.display())],
            None if all.len() > 1 => {
                vec!["kernels  compiled and timed anew by each process; none is kept on disk".into()]
            }
            None => vec![],
        };
        assert_eq!(lines[1..], kept);
    }

    #[test]
    fn only_an_auto_that_may_be_a_gpu_has_to_be_tried() {
        let cuda = "cuda:1".parse().unwrap();
        for (device, needs_self_test, expected) in [
            (DeviceConfig::Auto, true, None),
            (DeviceConfig::Auto, false, Some(DeviceConfig::Cpu)),
            (cuda, true, Some(cuda)),
            (DeviceConfig::Cpu, false, Some(DeviceConfig::Cpu)),
        ] {
            assert_eq!(known(device, needs_self_test), expected, "{device}");
        }
    }
}
