//! The comparison of a device with the processor: matrix products, embeddings, the gradients of one step, and the step.

use burn::tensor::{Tensor, TensorData};
use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;
use wb_core::Seed;

use super::{Listener, ProbeCheck, ProbeReport, at_home};
use crate::{
    backbone::Backbone,
    batch::TokenBatch,
    device::{DeviceConfig, OpenDevice, guarded},
    error::{Result, cannot_use, is_out_of_memory},
    lora::{self, LoraConfig, Targets},
    models::{Architecture, Model},
    on_device::BurnBackbone,
    parameters::{Gradients, Parameters},
    precision::Precision,
    resident::AdamwStep,
};

/// Products `[m, k] · [k, n]`. Many: for each shape a device times several kernels and takes the quickest, so that one
/// that is wrong is met today at one shape and tomorrow at another.
///
/// Then what layers really are, where devices were wrong that had all small ones right: rows from 500 on (burn issues 4966,
/// 5351), and inner sizes that are odd (cubecl issue 1636).
const SHAPES: [[usize; 3]; 9] = [
    [16, 16, 16],
    [32, 32, 32],
    [64, 64, 64],
    [128, 128, 128],
    [256, 256, 256],
    [37, 51, 29],
    [700, 33, 45],
    [512, 384, 1536],
    [1024, 1536, 384],
];
/// Largest relative error of a matrix product: what a device with 10-bit mantissas (TF32) still keeps.
const MATRIX_LIMIT: f64 = 5e-3;
/// A device whose products are all nearer than this computes in 32-bit floats.
const FULL_PRODUCTS: f64 = 2e-5;

/// The most that the rest may differ by.
struct Limits {
    /// 1 - cosine of an embedding.
    cosine: f64,
    /// Difference of an embedding's element, embeddings of length 1.
    element: f64,
    /// Relative error of a weight's gradient (Euclidean norms).
    gradient: f64,
}

/// Limits of a device that computes products in 32-bit floats. Gradients of seven architectures, 2 to 28 layers deep, were
/// at most 9e-6 off where all was right, and 2e-4 with a GELU of another form.
const FULL: Limits = Limits { cosine: 1e-9, element: 2e-5, gradient: 3e-5 };
/// Limits of a device that rounds what it multiplies.
const ROUNDED: Limits = Limits { cosine: 1e-4, element: 5e-3, gradient: 3e-2 };
/// Limits of products in 16 bits, whose rounding adds up over layers: a kernel that is wrong is further off than that.
const SIXTEEN: Limits = Limits { cosine: 1e-2, element: 1e-1, gradient: 3e-1 };

/// Makes every comparison, up to the first that fails among those of matrix products and of embeddings.
pub(super) fn compare(
    device: &OpenDevice,
    precision: Precision,
    model: &Model,
    batch: &TokenBatch,
    report: &mut ProbeReport,
    Listener { doing, alive }: Listener<'_>,
) -> Result<()> {
    for shape in SHAPES {
        doing(&format!("multiplying {} matrices", written(shape)));
        for transposed in [false, true] {
            matrix_product(device, shape, transposed, report)?;
            if report.failure.is_some() {
                return Ok(());
            }
        }
    }
    let is_full = report.checks.iter().all(|check| check.figure.is_some_and(|figure| figure <= FULL_PRODUCTS));
    let limits = if is_full { FULL } else { ROUNDED };
    let (model, training) = probe_model(model)?;
    // Burn's way on the CPU too, where it tests the CPU's own kernels.
    doing("encoding texts and computing the gradients of one step");
    let mut other = BurnBackbone::new(model.clone(), device.burn(), &report.device)?;
    let (fitting, found) = step_of_many(&other, batch)?;
    let what = match fitting.len() {
        all if all == batch.len() => "embeddings".to_owned(),
        some => format!("embeddings of {some} texts, as there is no memory for {}", batch.len()),
    };
    let batch = &fitting;
    doing("computing on the processor what the device has to give");
    let mut cpu = DeviceConfig::Cpu.open()?.open_backbone(model.clone())?;
    let expected = at_home(alive, || step(cpu.as_ref(), batch))?;
    if !report.embeddings(&what, &limits, expected.0.view(), found.0.view()) {
        return Ok(());
    }
    let (error, name) = gradient_error(&model, &expected.1, &found.1);
    let what = format!("gradients of {training}: relative error");
    if !report.check(&what, error, limits.gradient, |figure| {
        format!("gradients are wrong: that of `{name}` is off by {:.2} % of the cpu's", figure * 100.0)
    }) {
        return Ok(());
    }
    if precision != Precision::Fp32 {
        let name = precision.name();
        doing(&format!("the same with products in {name}"));
        if !other.has(precision) {
            report.failure = Some(format!("it has no {name} numbers"));
            return Ok(());
        }
        other.set_precision(precision)?;
        let found = step(&other, batch)?;
        other.set_precision(Precision::Fp32)?;
        if !report.embeddings(&format!("embeddings in {name}"), &SIXTEEN, expected.0.view(), found.0.view()) {
            return Ok(());
        }
        let (error, weight) = gradient_error(&model, &expected.1, &found.1);
        if !report.check(&format!("gradients in {name}: relative error"), error, SIXTEEN.gradient, |figure| {
            format!("gradients in {name} are wrong: that of `{weight}` is off by {:.0} % of the cpu's", figure * 100.0)
        }) {
            return Ok(());
        }
    }
    doing("taking a step of the optimizer on the device");
    let of_gradients = optimizer_step(&mut *cpu, &mut other, batch, expected.1)?;
    let (expected, found) = (at_home(alive, || cpu.embed(batch))?, other.embed(batch)?);
    if !report.check("norm of the gradients: relative error", of_gradients, limits.gradient, |figure| {
        format!("the norm of the gradients is off by {:.2} %", figure * 100.0)
    }) || !report.embeddings("embeddings after a step there", &limits, expected.view(), found.view())
    {
        return Ok(());
    }
    // What is copied later, after much was computed, has to arrive as well (cubecl issue 1120).
    doing("encoding texts with weights that were changed");
    other.update(&mut change)?;
    cpu.update(&mut change)?;
    let (expected, found) = (at_home(alive, || cpu.embed(batch))?, other.embed(batch)?);
    report.embeddings("embeddings after weights changed", &limits, expected.view(), found.view());
    Ok(())
}

/// Takes one step of AdamW with each, the device's all there, and gives the relative error of its gradients' norm. ε is as
/// great as a gradient is on average: with a small one, rounding would decide where gradients are nearly zero.
fn optimizer_step(
    cpu: &mut dyn Backbone,
    other: &mut dyn Backbone,
    batch: &TokenBatch,
    mut gradients: Gradients,
) -> Result<f64> {
    let squares: f64 = gradients.iter().flatten().map(|g| f64::from(*g).powi(2)).sum();
    let numbers = gradients.iter().map(Vec::len).sum::<usize>().max(1);
    let eps = (numbers as f32).sqrt().recip();
    let step = AdamwStep {
        keep: 0.99,
        gradient_factor: squares.sqrt().max(f64::MIN_POSITIVE).recip() as f32,
        follow1: 0.1,
        beta2: 0.9,
        follow2: 0.1,
        root_correction: 0.1f32.sqrt().recip(),
        eps,
        step: 0.1,
    };
    let zeros = || gradients.iter().map(|gradient| vec![0.0; gradient.len()]).collect::<Vec<_>>();
    let (mut first, mut second) = (zeros(), zeros());
    let Some(resident) = other.resident() else { return Ok(0.0) };
    resident.settle(&|_, _| true, &first, &second, None)?;
    let (embeddings, tape) = other.embed_tracked(batch, None)?;
    other.backward(tape, made_up(embeddings.dim()).view(), &mut Gradients::default())?;
    let Some(resident) = other.resident() else { return Ok(0.0) };
    let found = resident.gradient_squares()?;
    resident.step(&vec![step; first.len()], None)?;
    resident.bring_home(&mut first.clone(), &mut second.clone(), None)?;
    resident.leave()?;
    cpu.update(&mut |parameters| {
        let moments = first.iter_mut().zip(&mut second);
        for ((parameter, gradient), (first, second)) in parameters.iter_mut().zip(gradients.iter_mut()).zip(moments) {
            if parameter.trainable {
                step.run(parameter.values.floats_mut(), gradient, first, second);
            }
        }
    })?;
    Ok((found.sqrt() - squares.sqrt()).abs() / squares.sqrt().max(f64::MIN_POSITIVE))
}

/// Another value for every fifth number of every second weight, whether it trains or not.
fn change(parameters: &mut Parameters) {
    for parameter in parameters.iter_mut().step_by(2) {
        parameter.values.floats_mut().iter_mut().step_by(5).for_each(|value| *value = *value * 0.5 + 0.01);
    }
}

/// A product's shape: `16 × 16` of two square matrices, else `[m, k] · [k, n]` as `m × k × n`.
fn written([m, k, n]: [usize; 3]) -> String {
    if m == k && k == n { format!("{m} × {n}") } else { format!("{m} × {k} × {n}") }
}

impl ProbeReport {
    fn check(&mut self, what: &str, figure: f64, limit: f64, failure: impl FnOnce(f64) -> String) -> bool {
        let passed = figure <= limit;
        self.checks.push(ProbeCheck {
            what: what.to_owned(),
            figure: figure.is_finite().then_some(figure),
            limit,
            passed,
        });
        if !passed && self.failure.is_none() {
            self.failure = Some(match figure.is_finite() {
                true => failure(figure),
                false => format!("{what} is not a number"),
            });
        }
        passed
    }

    /// Compares embeddings of the processor and of the device.
    fn embeddings(
        &mut self,
        what: &str,
        limits: &Limits,
        expected: ArrayView2<'_, f32>,
        found: ArrayView2<'_, f32>,
    ) -> bool {
        let (cosine, element) = embedding_errors(expected, found);
        self.check(&format!("{what}: 1 - cosine"), cosine, limits.cosine, |figure| {
            format!(
                "{what} are wrong: 1 - cosine with the cpu's is {figure:.1e}, expected at most {:.0e}",
                limits.cosine
            )
        }) && self.check(&format!("{what}: largest difference"), element, limits.element, |figure| {
            format!("{what} are wrong: an element differs by {figure:.2e} from the cpu's")
        })
    }
}

/// The model with adapters that already do something, so that both of their halves have gradients; on all linear layers,
/// whose names differ among architectures.
fn probe_model(model: &Model) -> Result<(Model, &'static str)> {
    let mut model = model.clone();
    let has_adapters = model.parameters.iter().any(|p| lora::is_adapter(&p.name));
    if matches!(model.architecture, Architecture::StaticEmbedding(_)) {
        return Ok((model, "one step"));
    }
    if !has_adapters {
        let rank = 4.min(model.architecture.dim());
        let config = LoraConfig { rank, targets: Targets::AllLinear, ..LoraConfig::default() };
        let adapter = lora::attach(&mut model.parameters, &model.architecture, &config, Seed(0), "the model")?;
        model.adapter = Some(adapter);
    }
    for parameter in model.parameters.iter_mut().filter(|p| p.name.ends_with(".lora_B.weight")) {
        for (at, value) in parameter.values.floats_mut().iter_mut().enumerate() {
            *value += 0.02 * ((at as f32) * 0.7).sin();
        }
    }
    Ok((model, "one LoRA step"))
}

/// A [`step`] on as many of the texts as there is memory for, of all and their first half and so on: those that train on
/// a device or encode there go in parts.
fn step_of_many(backbone: &BurnBackbone, batch: &TokenBatch) -> Result<(TokenBatch, (Array2<f32>, Gradients))> {
    let mut texts = batch.len();
    loop {
        let part = batch.part(0..texts);
        match step(backbone, &part) {
            Err(error) if is_out_of_memory(&error) && texts > 2 => texts /= 2,
            done => return Ok((part, done?)),
        }
    }
}

/// Embeddings, and gradients of a made-up loss: Σ over texts and elements of embedding · sin(position).
fn step(backbone: &dyn Backbone, batch: &TokenBatch) -> Result<(Array2<f32>, Gradients)> {
    let plain = backbone.embed(batch)?;
    let (tracked, tape) = backbone.embed_tracked(batch, None)?;
    let at = made_up(tracked.dim());
    let mut gradients = Gradients::zeros(backbone.parameters());
    backbone.backward(tape, at.view(), &mut gradients)?;
    Ok((plain, gradients))
}

/// The made-up loss's gradient at the embeddings.
fn made_up(shape: (usize, usize)) -> Array2<f32> {
    Array2::from_shape_fn(shape, |(i, j)| ((i * 31 + j * 7) as f32 * 0.37).sin())
}

/// Largest 1 - cosine, and largest difference of an element of the normalized rows.
fn embedding_errors(expected: ArrayView2<'_, f32>, found: ArrayView2<'_, f32>) -> (f64, f64) {
    let (mut cosine, mut element) = (0f64, 0f64);
    for (a, b) in expected.rows().into_iter().zip(found.rows()) {
        let norm = |row: ndarray::ArrayView1<'_, f32>| row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        let (la, lb) = (norm(a), norm(b));
        if la == 0.0 && lb == 0.0 {
            continue;
        }
        let pairs = || a.iter().zip(b.iter()).map(|(x, y)| (f64::from(*x) / la, f64::from(*y) / lb));
        let keep = |worst: &mut f64, value: f64| {
            if is_worse(value, *worst) {
                *worst = value;
            }
        };
        keep(&mut cosine, 1.0 - pairs().map(|(x, y)| x * y).sum::<f64>());
        pairs().for_each(|(x, y)| keep(&mut element, (x - y).abs()));
    }
    (cosine, element)
}

/// True where an error is larger than another; one that is not a number is the largest.
fn is_worse(error: f64, than: f64) -> bool {
    !than.is_nan() && (error > than || error.is_nan())
}

/// The largest relative error among the weights' gradients, and that weight's name.
/// A gradient near zero beside the others counts against the largest one.
fn gradient_error(model: &Model, expected: &Gradients, found: &Gradients) -> (f64, String) {
    let norm = |values: &[f32]| values.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    let largest = expected.iter().map(|g| norm(g)).fold(0.0, f64::max);
    let mut worst = (0.0, String::new());
    for (at, parameter) in model.parameters.iter().enumerate().filter(|(_, p)| p.trainable) {
        let difference: Vec<f32> = expected.at(at).iter().zip(found.at(at)).map(|(a, b)| a - b).collect();
        let error = norm(&difference) / norm(expected.at(at)).max(1e-3 * largest).max(f64::MIN_POSITIVE);
        if is_worse(error, worst.0) {
            worst = (error, parameter.name.clone());
        }
    }
    worst
}

/// A product of two matrices, the right one as it lies or transposed, against the same in double precision.
fn matrix_product(device: &OpenDevice, shape: [usize; 3], transposed: bool, report: &mut ProbeReport) -> Result<()> {
    let [m, k, n] = shape;
    let draw = |count: usize, shift: usize| -> Vec<f32> {
        (0..count).map(|i| ((i * 7919 + shift) % 1000) as f32 / 1000.0).collect()
    };
    let (a, b) = (draw(m * k, 0), draw(k * n, 421));
    let found = guarded(&report.device, || {
        let upload = |values: &[f32], shape: [usize; 2]| {
            Tensor::<2>::from_data(TensorData::new(values.to_vec(), shape), device.burn())
        };
        let right = if transposed { upload(&b, [n, k]).transpose() } else { upload(&b, [k, n]) };
        upload(&a, [m, k])
            .matmul(right)
            .try_into_vec_as::<f32>()
            .map_err(|error| cannot_use(device.config, format!("reading a matrix product back failed: {error}")))
    })?;
    // The right matrix by columns, so that both are read in order.
    let columns: Vec<f64> = match transposed {
        true => b.iter().map(|x| f64::from(*x)).collect(),
        false => (0..n).flat_map(|column| b.iter().skip(column).step_by(n).map(|x| f64::from(*x))).collect(),
    };
    let worst_of_row = |row: usize| {
        let left: Vec<f64> = a[row * k..][..k].iter().map(|x| f64::from(*x)).collect();
        let error = |column: usize| {
            let right: f64 = left.iter().zip(&columns[column * k..][..k]).map(|(a, b)| a * b).sum();
            let value = f64::from(found[row * n + column]);
            ((value - right).abs() / right.abs().max(1.0), value, right)
        };
        (0..n).map(error).fold((0.0, 0.0, 0.0), worse)
    };
    // In the order of the rows, whatever threads there are.
    let of_rows: Vec<(f64, f64, f64)> = (0..m).into_par_iter().map(worst_of_row).collect();
    let (error, value, right) = of_rows.into_iter().fold((0.0, 0.0, 0.0), worse);
    let (kind, shape) = (if transposed { ", transposed" } else { "" }, written(shape));
    report.check(&format!("matrix product {shape}{kind}: relative error"), error, MATRIX_LIMIT, |_| {
        format!("its matrix product is wrong: {shape} gave {value:.3} where {right:.3} is right")
    });
    Ok(())
}

/// The larger error of two, each with the value and what is right.
fn worse(one: (f64, f64, f64), other: (f64, f64, f64)) -> (f64, f64, f64) {
    if is_worse(other.0, one.0) { other } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::self_test::made_up_model;

    fn report() -> ProbeReport {
        let (device, description) = ("vulkan".to_owned(), String::new());
        ProbeReport { device, description, checks: Vec::new(), failure: None, seconds: 0.0 }
    }

    #[test]
    fn wrong_figures_fail_and_the_first_failure_is_told() {
        let mut report = report();
        assert!(report.check("a", 0.5, 1.0, |_| "a is wrong".into()));
        assert!(!report.check("b", 1.5, 1.0, |figure| format!("b is wrong: {figure}")));
        assert!(!report.check("c", f64::NAN, 1.0, |_| "c is wrong".into()));
        let error = report.require().unwrap_err();
        assert_eq!(error.to_string(), "cannot use device `vulkan`: b is wrong: 1.5");
        assert_eq!(report.checks.iter().map(|c| c.passed).collect::<Vec<_>>(), [true, false, false]);
        assert_eq!(report.checks[2].figure, None);
        let line = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<ProbeReport>(&line).unwrap(), report);
    }

    #[test]
    fn what_is_not_a_number_is_the_worst_error() {
        let right = ndarray::array![[3.0f32, 4.0], [1.0, 0.0]];
        assert_eq!(embedding_errors(right.view(), right.view()), (0.0, 0.0));
        let turned = ndarray::array![[3.0f32, 4.0], [0.0, 1.0]];
        assert_eq!(embedding_errors(right.view(), turned.view()), (1.0, 1.0));
        let broken = ndarray::array![[f32::NAN, 4.0], [1.0, 0.0]];
        let (cosine, element) = embedding_errors(right.view(), broken.view());
        assert!(cosine.is_nan() && element.is_nan());
        let zero = ndarray::array![[0.0f32, 0.0], [1.0, 0.0]];
        assert!(embedding_errors(right.view(), zero.view()).0.is_nan());
    }

    #[test]
    fn a_wrong_gradient_is_named() {
        let (model, batch) = made_up_model();
        let (model, training) = probe_model(&model).unwrap();
        assert_eq!(training, "one LoRA step");
        let cpu = DeviceConfig::Cpu.open().unwrap().open_backbone(model.clone()).unwrap();
        let (_, right) = step(cpu.as_ref(), &batch).unwrap();
        assert_eq!(gradient_error(&model, &right, &right), (0.0, String::new()));
        let mut wrong = right.clone();
        let at = model.parameters.position("encoder.layer.1.attention.self.query.lora_A.weight").unwrap();
        wrong.at_mut(at).iter_mut().for_each(|g| *g *= -1.0);
        let (error, name) = gradient_error(&model, &right, &wrong);
        assert!((error - 2.0).abs() < 1e-6 && name.contains("layer.1.attention.self.query.lora_A"), "{error} {name}");
        wrong.at_mut(at)[0] = f32::NAN;
        assert!(gradient_error(&model, &right, &wrong).0.is_nan());
    }
}
