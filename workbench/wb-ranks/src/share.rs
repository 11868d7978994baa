//! Shares of what the ranks of one host have together.

use wb_encoder::{DeviceConfig, Devices};

use crate::Placement;

/// Gives each rank of a host its share of the processor's threads, unless `RAYON_NUM_THREADS` says how many: to be called
/// before anything is computed. Results do not depend on the number of threads.
pub fn share_processor(placement: &Placement) {
    let Some((_, on_host)) = placement.local.filter(|(_, on_host)| *on_host > 1) else { return };
    if std::env::var_os("RAYON_NUM_THREADS").is_some_and(|value| !value.is_empty()) {
        return;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // Threads that are there already stay.
    rayon::ThreadPoolBuilder::new().num_threads((cores / on_host).max(1)).build_global().ok();
}

impl Placement {
    /// The devices of this rank: where several ranks of a host name one CUDA device and are not told apart by
    /// `CUDA_VISIBLE_DEVICES`, the rank's own, as PyTorch's scripts choose by `LOCAL_RANK`.
    pub fn devices(&self, devices: &Devices) -> Devices {
        let visible = std::env::var("CUDA_VISIBLE_DEVICES").ok().map(|list| list.split(',').count());
        self.devices_of(devices, visible)
    }

    fn devices_of(&self, devices: &Devices, visible: Option<usize>) -> Devices {
        match (devices.first(), devices.others(), self.local) {
            (DeviceConfig::Cuda(0, kernels), [], Some((local, on_host))) if on_host > 1 => {
                DeviceConfig::Cuda(visible.map_or(local, |visible| local % visible.max(1)), kernels).into()
            }
            _ => devices.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Launcher;

    #[test]
    fn ranks_of_a_host_take_a_gpu_each() {
        let placement = |local| Placement {
            launcher: Launcher::Hydra,
            rank: 5,
            ranks: 8,
            local: Some((local, 4)),
            host: "n1".into(),
            port: 1,
        };
        let devices = |json: &str| serde_json::from_str::<Devices>(json).unwrap();
        let of = |json: &str, visible| placement(2).devices_of(&devices(json), visible).to_string();
        assert_eq!(of("\"cuda\"", None), "cuda:2");
        assert_eq!(of("\"cuda\"", Some(4)), "cuda:2");
        assert_eq!(of("\"cuda\"", Some(1)), "cuda");
        assert_eq!(of("\"cuda:1\"", None), "cuda:1");
        assert_eq!(of("[\"cuda\", \"cuda:1\"]", None), "cuda + cuda:1");
        assert_eq!(of("\"cpu\"", None), "cpu");
        let alone = Placement { local: None, ..placement(0) };
        assert_eq!(alone.devices_of(&devices("\"cuda\""), None).to_string(), "cuda");
    }
}
