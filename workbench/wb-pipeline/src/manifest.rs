//! The manifest: all that is needed to make a run again, written when it starts.

use std::{collections::BTreeMap, sync::OnceLock};

use wb_core::{Result, RunDir, manifest::Manifest, run_dir::write_json};
use wb_encoder::OpenDevice;
use wb_hub::Hub;

use crate::config::Experiment;

/// Features of this build.
pub fn features() -> Vec<String> {
    let all = [
        ("hub", cfg!(feature = "hub")),
        ("report", cfg!(feature = "report")),
        ("embedded", cfg!(feature = "embedded")),
        ("cuda", cfg!(feature = "cuda")),
        ("wgpu", cfg!(feature = "wgpu")),
        ("vulkan", cfg!(feature = "vulkan")),
        ("metal", cfg!(feature = "metal")),
        ("autotune", cfg!(feature = "autotune")),
        ("fusion", cfg!(feature = "fusion")),
        ("kernel-cache", cfg!(feature = "kernel-cache")),
    ];
    all.iter().filter(|(_, on)| *on).map(|(name, _)| (*name).to_owned()).collect()
}

/// A version and the commit that it was built from, in words; the version alone where there was no git.
pub fn build(version: &str, commit: &str) -> String {
    if commit.is_empty() { version.to_owned() } else { format!("{version} ({commit})") }
}

/// The commit that the program was built from and a hash of its source, both empty where they are not known. Handed in by
/// the program, so that the library is not built again for each commit.
static BUILT_FROM: OnceLock<[&str; 2]> = OnceLock::new();

/// Takes the commit that the program was built from and a hash of its source, once in a process; empty where there was no
/// git, or no source to look at.
pub fn built_from(commit: &'static str, source: &'static str) {
    BUILT_FROM.get_or_init(|| [commit, source]);
}

fn commit() -> &'static str {
    BUILT_FROM.get().map_or("", |[commit, _]| commit)
}

/// A hash of this program's source.
pub fn source() -> &'static str {
    BUILT_FROM.get().map_or("", |[_, source]| source)
}

/// The version and the source of this program, which decide the bytes that it makes, and the instructions where
/// `WB_ISA` lowers them. Commits that change no code share it.
pub fn this_code() -> String {
    let code = format!("{} {}", env!("CARGO_PKG_VERSION"), source());
    match std::env::var("WB_ISA") {
        Ok(level) => format!("{code} {level}"),
        Err(_) => code,
    }
}

/// The version and the commit of this build.
pub fn this_build() -> String {
    build(env!("CARGO_PKG_VERSION"), commit())
}

/// Writes the manifest of a run.
pub fn write(
    run: &RunDir,
    experiment: &Experiment,
    device: &OpenDevice,
    fingerprints: BTreeMap<String, String>,
) -> Result<()> {
    let command: Vec<String> = std::env::args().map(quoted).collect();
    let manifest = Manifest {
        run: run.id().to_owned(),
        command: command.join(" "),
        started: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: commit().to_owned(),
        source: source().to_owned(),
        features: features(),
        device: device.descriptions(),
        same_bytes: device.same_bytes(),
        products: device.products(experiment.train.precision),
        kernels: device.kernels(),
        machine: machine(),
        seed: experiment.seed.0,
        config: fingerprints.get("config").cloned().unwrap_or_default(),
        repositories: Hub::session().used().into_iter().collect(),
        fingerprints,
    };
    write_json(&run.manifest(), &manifest)
}

/// The command can be pasted into a shell.
pub fn quoted(argument: String) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument
    } else {
        format!("'{}'", argument.replace('\'', "'\\''"))
    }
}

/// Operating system, processor kind and threads.
pub fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim().to_owned()));
    let name = name.map(|name| format!(", {name}")).unwrap_or_default();
    format!("{} {}, {} threads{name}", std::env::consts::OS, std::env::consts::ARCH, rayon::current_num_threads())
}
