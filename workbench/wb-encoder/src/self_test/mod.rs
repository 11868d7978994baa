//! A test that a device computes what the processor computes, on the real model, before anything is trained or measured
//! there.
//!
//! A broken driver may be silently wrong, hang, or end the process. So [`probe`] runs in a process of its own, which
//! [`run_guarded`] starts, watches and, when it takes too long, ends.

#[cfg(feature = "burn")]
mod compare;
mod guard;
mod launches;

use std::{
    fmt, io,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use wb_core::Seed;

pub use guard::{DOING, end_with_parent, run_guarded};

#[cfg(feature = "burn")]
use compare::compare;

#[cfg(not(feature = "burn"))]
use crate::device::OpenDevice;
use crate::{
    batch::TokenBatch,
    device::DeviceConfig,
    error::{DeviceFailure, Result, cannot_use},
    models::{Architecture, Model},
    pooling::Pooling,
    precision::Precision,
    tokenizer::Tokenizer,
};

/// Findings of a self-test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeReport {
    /// The device, never `auto`.
    pub device: String,
    /// The device's own name.
    pub description: String,
    /// Every comparison that was made.
    pub checks: Vec<ProbeCheck>,
    /// The reason why the device must not be used; nothing where it may.
    pub failure: Option<String>,
    /// Seconds that it took.
    pub seconds: f64,
}

/// One comparison with the processor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeCheck {
    /// Name of what was compared.
    pub what: String,
    /// The figure; absent where it was not a number.
    pub figure: Option<f64>,
    /// The most that is allowed.
    pub limit: f64,
    /// True where the figure is within the limit.
    pub passed: bool,
}

impl ProbeReport {
    /// True where the process of the test died.
    pub fn crashed(&self) -> bool {
        self.failure.as_deref().is_some_and(|failure| failure.starts_with(guard::CRASHED))
    }

    /// An error where the device must not be used.
    pub fn require(&self) -> Result<()> {
        match &self.failure {
            None => Ok(()),
            Some(failure) => {
                // What goes wrong in 16 bits alone.
                let sixteen = Precision::ALL
                    .into_iter()
                    .find(|precision| *precision != Precision::Fp32 && failure.contains(precision.name()));
                let device = &self.device;
                Err(cannot_use(device, failure.clone()).with_hint(match (failure.starts_with(guard::HUNG), sixteen) {
                    (true, _) => {
                        "run with device=cpu, or give a slow device more time with WB_SELF_TEST_SECONDS=300".into()
                    }
                    (_, Some(precision)) => format!(
                        "train.precision=fp32, or no --dtype; look closer with `WB_SELF_TEST_PRECISION={} wb doctor --device {device}`",
                        precision.name()
                    ),
                    _ => format!("run with device=cpu; look closer with `wb doctor --device {device}`"),
                }))
            }
        }
    }
}

/// A sign, about once a second, that a self-test gets on; in words a line for [`run_guarded`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alive {
    /// The device was given so many kernels until now.
    Launched(u64),
    /// The processor computes, or a file is read.
    AtHome,
}

impl fmt::Display for Alive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Launched(kernels) => write!(f, "{}{kernels}", guard::LAUNCHED),
            Self::AtHome => f.write_str("at home"),
        }
    }
}

/// Somebody who hears what comes next, and that it gets on.
#[cfg_attr(not(feature = "burn"), allow(dead_code, reason = "nothing is compared"))]
struct Listener<'a> {
    doing: &'a mut dyn FnMut(&str),
    alive: fn(Alive),
}

/// Does what no driver has a part in and a large model makes long, with a sign of life each second.
pub fn at_home<T>(alive: fn(Alive), work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let (_until_the_end, end) = mpsc::channel::<()>();
        let watch = move || {
            while end.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                alive(Alive::AtHome);
            }
        };
        // Without a thread to spare, it is done in silence.
        let _: io::Result<_> = thread::Builder::new().spawn_scoped(scope, watch);
        work()
    })
}

/// Compares a device with the processor: matrix products, embeddings of the batch, and the gradients of one step
/// of adapters (or of all weights, where the architecture has no linear layers).
///
/// `doing` hears what comes next ("multiplying 16 × 16 matrices"), before the device hangs or crashes on it, and `alive`
/// that it gets on. A model that trains in less memory than all texts take at once is compared on the first half of them,
/// and so on.
/// Where `precision` is one of 16 bits, a pass and its gradients in it are compared, too.
/// `auto` where there is nothing but the processor has nothing to compare and passes. The processor itself is compared
/// with burn on it, for which the build has to have burn: every build with a device has.
///
/// Call it in a process of its own: see [`run_guarded`].
pub fn probe(
    config: DeviceConfig,
    precision: Precision,
    model: &Model,
    batch: &TokenBatch,
    doing: &mut dyn FnMut(&str),
    alive: fn(Alive),
) -> ProbeReport {
    let begin = Instant::now();
    let _watched = launches::watch(alive);
    let mut report = ProbeReport {
        device: config.to_string(),
        description: String::new(),
        checks: Vec::new(),
        failure: None,
        seconds: 0.0,
    };
    if let Err(error) = checks(config, precision, model, batch, &mut report, Listener { doing, alive }) {
        // Keep what was measured: the first failed comparison says more than the panic that followed it.
        let of_device = error.kind::<DeviceFailure>().map(|failure| failure.words.clone());
        report.failure.get_or_insert_with(|| of_device.unwrap_or_else(|| error.to_string()));
    }
    report.seconds = begin.elapsed().as_secs_f64();
    report
}

fn checks(
    config: DeviceConfig,
    precision: Precision,
    model: &Model,
    batch: &TokenBatch,
    report: &mut ProbeReport,
    listener: Listener<'_>,
) -> Result<()> {
    (listener.doing)("opening the device");
    let device = config.open()?;
    report.device = device.config.to_string();
    report.description = device.description.clone();
    if device.is_cpu() && config == DeviceConfig::Auto {
        return Ok(());
    }
    compare(&device, precision, model, batch, report, listener)
}

/// A build without burn opens the processor alone, and has nothing to compare it with.
#[cfg(not(feature = "burn"))]
fn compare(
    device: &OpenDevice,
    _precision: Precision,
    _model: &Model,
    _batch: &TokenBatch,
    _report: &mut ProbeReport,
    _listener: Listener<'_>,
) -> Result<()> {
    let message =
        "this wb was built without a device's feature (cuda, wgpu, vulkan, metal), and has nothing to compare";
    Err(cannot_use(device.config, message))
}

/// Short and long, prose and code, ASCII and not.
const TEXTS: [&str; 14] = [
    "",
    "a",
    "sort a list",
    "How do I read a file line by line without loading it into memory?",
    "Returns the index of the first element for which the predicate holds, or -1 if there is none.",
    "def add(a, b):\n    return a + b",
    "fn first<T: Clone>(items: &[T]) -> Option<T> {\n    items.first().cloned()\n}",
    "public static int max(int[] xs) { int m = xs[0]; for (int x : xs) if (x > m) m = x; return m; }",
    "SELECT name, COUNT(*) FROM singer GROUP BY name HAVING COUNT(*) > 1 ORDER BY name",
    "für jede Zeile: prüfe, ob die Länge größer als null ist",
    "文字列を逆順にする関数 🦀",
    "parseHTTPResponse2 snake_case_name __init__ 0x7f 3.14159 -> :: <= && || !",
    "This function opens a connection to the server, sends the request with the given headers and waits for the \
     answer. If the server does not answer within the time limit, the connection is closed and an error is returned \
     that holds the address, the time waited and the number of bytes received so far.",
    "import os\nimport sys\n\n\ndef walk(root, suffix):\n    for folder, _, names in os.walk(root):\n        for name in \
     sorted(names):\n            if name.endswith(suffix):\n                yield os.path.join(folder, name)\n\n\nif \
     __name__ == '__main__':\n    for path in walk(sys.argv[1], '.py'):\n        print(path)\n",
];

/// Tokens of the longest text: a few more than the 512 up to which attention is not done in blocks, as all that a large
/// model remembers of a text for its gradients has to fit.
const LONGEST: usize = 600;

/// The texts that a self-test encodes: 16 short and long ones, cut at `max_tokens`.
pub fn sample_batch(tokenizer: &Tokenizer, max_tokens: usize) -> Result<TokenBatch> {
    let long = TEXTS.concat().repeat(4);
    let texts: Vec<&str> = TEXTS.iter().copied().chain([long.as_str(), TEXTS[3]]).collect();
    let ids = tokenizer.encode_all("", &texts, max_tokens.min(LONGEST))?;
    Ok(TokenBatch::new(ids.iter().map(Vec::as_slice)))
}

/// A model to test a device with where none is at hand: a fresh BERT, MiniLM's width, two layers, and 16 texts for it, one
/// of them of 512 tokens.
pub fn made_up_model() -> (Model, TokenBatch) {
    let architecture = Architecture::Bert(crate::models::BertConfig {
        sizes: crate::models::TransformerSizes {
            vocab_size: 1000,
            hidden_size: 384,
            num_hidden_layers: 2,
            num_attention_heads: 12,
            intermediate_size: 1536,
            max_position_embeddings: 512,
        },
        type_vocab_size: 2,
        layer_norm_eps: 1e-12,
        first_position: 0,
        activation: crate::models::Activation::Gelu,
        hidden_dropout: 0.1,
        attention_dropout: 0.1,
    });
    let parameters = architecture.fresh(Seed(0));
    let lengths = (0..15).map(|i| 2 + i * 8).chain([512]);
    let text = |tokens: u32| -> Vec<u32> { (0..tokens).map(|k| (k * 37 + tokens * 11) % 1000).collect() };
    let texts: Vec<Vec<u32>> = lengths.map(text).collect();
    let batch = TokenBatch::new(texts.iter().map(Vec::as_slice));
    (Model { architecture, parameters, pooling: Pooling::Mean, adapter: None }, batch)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn long_work_at_home_gives_signs_of_life() {
        static SIGNS: AtomicUsize = AtomicUsize::new(0);
        let count = |alive| {
            assert_eq!(alive, Alive::AtHome);
            SIGNS.fetch_add(1, Ordering::Relaxed);
        };
        assert_eq!(at_home(count, || 3), 3);
        assert_eq!(SIGNS.load(Ordering::Relaxed), 0);
        at_home(count, || thread::sleep(Duration::from_millis(2500)));
        assert_eq!(SIGNS.load(Ordering::Relaxed), 2);
        assert_eq!(Alive::Launched(12).to_string(), format!("{}12", guard::LAUNCHED));
    }
}
