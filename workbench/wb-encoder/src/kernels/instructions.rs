//! The instructions that kernels are compiled for and run with: the best of this processor, or those that `WB_ISA` names.

use std::{env, sync::LazyLock};

use pulp::Arch;
#[cfg(target_arch = "x86_64")]
use pulp::x86::V3;
use wb_core::Error;

/// Level at which kernels run.
pub(super) static ARCH: LazyLock<Arch> = LazyLock::new(|| named().ok().flatten().unwrap_or_default());

/// True where `WB_ISA` names a level: general products leave the `gemm` crate then, which finds its level by itself.
pub(super) static IS_LOWERED: LazyLock<bool> = LazyLock::new(|| matches!(named(), Ok(Some(_))));

/// Name of the level at which kernels run: `avx512`, `avx2`, `scalar`, or `simd` on other processors.
///
/// `WB_ISA` lowers it, so that a machine with AVX-512 can test and time what one with AVX2 runs.
///
/// # Errors
///
/// If `WB_ISA` names a level that does not exist, or one that this processor lacks.
pub fn instruction_set() -> Result<&'static str, Error> {
    Ok(match named()?.unwrap_or_default() {
        Arch::Scalar => "scalar",
        #[cfg(target_arch = "x86_64")]
        Arch::V3(_) => "avx2",
        #[cfg(target_arch = "x86_64")]
        Arch::V4(_) => "avx512",
        _ => "simd",
    })
}

/// True where this processor multiplies 16-bit brain floats by itself (AVX512-BF16), and `WB_ISA` does not forbid it.
pub fn has_bf16_products() -> bool {
    #[cfg(target_arch = "x86_64")]
    return !*IS_LOWERED && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bf16");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Level that `WB_ISA` names.
fn named() -> Result<Option<Arch>, Error> {
    let Ok(name) = env::var("WB_ISA") else { return Ok(None) };
    level(&name).map(Some)
}

fn level(name: &str) -> Result<Arch, Error> {
    match name {
        "scalar" => Ok(Arch::Scalar),
        #[cfg(target_arch = "x86_64")]
        "avx2" => V3::try_new().map(Arch::V3).ok_or_else(|| {
            Error::value("WB_ISA", "`avx2`, which this processor does not have").with_hint("unset WB_ISA")
        }),
        _ => {
            let hint = "unset WB_ISA to run with all instructions of this processor";
            Err(Error::value("WB_ISA", format!("`{name}`, expected `avx2` or `scalar`")).with_hint(hint))
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The levels that this processor can run.
    pub fn levels() -> Vec<Arch> {
        let lowered = ["scalar", "avx2"].into_iter().filter_map(|name| level(name).ok());
        lowered.chain([Arch::default()]).collect()
    }

    #[test]
    fn a_level_is_one_that_there_is() {
        assert!(matches!(level("scalar"), Ok(Arch::Scalar)));
        let error = level("avx3").unwrap_err();
        assert_eq!(error.to_string(), "WB_ISA: `avx3`, expected `avx2` or `scalar`");
        assert!(error.hint().is_some_and(|hint| hint.starts_with("unset WB_ISA")));
    }
}
