//! NVIDIA's toolkit, of which kernels for its GPUs need a file when they are made.

use std::path::PathBuf;

use crate::error::{Result, cannot_use};

/// NVIDIA's mathematical functions (exp, tanh, erf, ...), from a toolkit's folder.
const LIBDEVICE: &str = "nvvm/libdevice/libdevice.10.bc";
/// Folders in which CubeCL looks for a toolkit where `CUDA_PATH` says nothing.
#[cfg(feature = "cuda")]
pub(crate) const ROOTS: [&str; 4] = ["/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda", "/usr"];

/// Refuses a machine without libdevice before any kernel is made: softmax and GELU would fail in the middle of a model.
/// `cuda_path` is the variable `CUDA_PATH`.
pub(crate) fn require(device: &str, cuda_path: Option<PathBuf>, roots: &[&str]) -> Result<()> {
    let folders: Vec<PathBuf> = match cuda_path {
        Some(folder) => vec![folder],
        None => roots.iter().map(PathBuf::from).collect(),
    };
    if folders.iter().any(|folder| folder.join(LIBDEVICE).is_file()) {
        return Ok(());
    }
    let searched = folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ");
    let message = format!("its kernels need NVIDIA's {LIBDEVICE}, which is in none of {searched}");
    Err(cannot_use(device, message).with_hint(
        "pip download --no-deps nvidia-cuda-nvcc-cu12 && unzip nvidia_cuda_nvcc_cu12-*.whl, then \
         CUDA_PATH=$PWD/nvidia/cuda_nvcc; or the CUDA toolkit's folder in CUDA_PATH",
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn libdevice_is_looked_for_where_cubecl_does() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_str().unwrap();
        let error = require("cuda", None, &[root]).unwrap_err();
        assert!(error.to_string().contains(&format!("which is in none of {root}")), "{error}");
        assert!(error.hint().unwrap().contains("nvidia-cuda-nvcc-cu12"));
        let file = folder.path().join(LIBDEVICE);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
        assert!(require("cuda", None, &["/nowhere", root]).is_ok());
        assert!(require("cuda", Some(root.into()), &[]).is_ok());
        // What the variable says is all that counts.
        assert!(require("cuda", Some("/nowhere".into()), &[root]).is_err());
    }
}
