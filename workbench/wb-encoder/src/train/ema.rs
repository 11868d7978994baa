//! A moving average of the weights, which is often better than the weights themselves, and steadier.

use rayon::prelude::*;

use crate::parameters::{Parameter, Parameters};

/// Numbers that one thread averages at a time.
const CHUNK: usize = 64 * 1024;

/// The exponential moving average of all weights that train, e ← d·e + (1 − d)·w after each step t, from 1 on,
/// with d = min(decay, (1 + t)/(10 + t)); before the first step e = w.
///
/// The smaller d of the first steps is that of TensorFlow's `ExponentialMovingAverage` with `num_updates`:
/// without it, weights from before training would be in the average of a short run (Polyak and Juditsky 1992;
/// Tarvainen and Valpola 2017, "Mean teachers are better role models").
#[derive(Debug, Clone, PartialEq)]
pub struct Ema {
    decay: f64,
    /// Averages in the parameters' order; empty for a weight that does not train.
    pub values: Vec<Vec<f32>>,
}

impl Ema {
    /// Before the first step; none for a decay of 0.
    pub fn new(decay: f64, parameters: &Parameters) -> Option<Self> {
        let values = |p: &Parameter| if p.trainable { p.values.floats().into_owned() } else { Vec::new() };
        (decay > 0.0).then(|| Self { decay, values: parameters.iter().map(values).collect() })
    }

    /// 1 − d after a step, from 1.
    pub fn share(&self, step: u64) -> f32 {
        let step = step as f64;
        (1.0 - self.decay.min((1.0 + step) / (10.0 + step))) as f32
    }

    /// Follows the weights, but for those that are away, by [`Ema::share`].
    pub fn follow(&mut self, parameters: &Parameters, away: &[bool], follow: f32) {
        for ((average, parameter), away) in self.values.iter_mut().zip(parameters.iter()).zip(away) {
            if parameter.trainable && !away {
                let values = parameter.values.floats();
                let chunks = average.par_chunks_mut(CHUNK).zip(values.par_chunks(CHUNK));
                chunks.for_each(|(e, w)| e.iter_mut().zip(w).for_each(|(e, w)| *e += (w - *e) * follow));
            }
        }
    }

    /// Exchanges the average and the weights, but for those that are away; done twice, everything is as it was.
    pub fn swap(&mut self, parameters: &mut Parameters, away: &[bool]) {
        for ((average, parameter), away) in self.values.iter_mut().zip(parameters.iter_mut()).zip(away) {
            if parameter.trainable && !away {
                std::mem::swap(average, parameter.values.floats_mut());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(value: f32) -> Parameters {
        let mut parameters = Parameters::default();
        for (name, trainable) in [("a", true), ("b", false)] {
            parameters.insert(Parameter {
                name: name.into(),
                shape: vec![2],
                values: vec![value; 2].into(),
                trainable,
            });
        }
        parameters
    }

    fn follow(ema: &mut Ema, value: f32, step: u64) {
        ema.follow(&parameters(value), &[false; 2], ema.share(step));
    }

    #[test]
    fn averages_by_hand() {
        let mut ema = Ema::new(0.5, &parameters(0.0)).unwrap();
        // d = 2/11 after the first step, 3/12 after the second, then 4/13, ..., and 0.5 from step 8 on: 9/18.
        follow(&mut ema, 1.0, 1);
        assert!((ema.values[0][0] - 9.0 / 11.0).abs() < 1e-7);
        follow(&mut ema, 2.0, 2);
        let second = 0.25 * 9.0 / 11.0 + 0.75 * 2.0;
        assert!((ema.values[0][1] - second).abs() < 1e-6);
        follow(&mut ema, 4.0, 8);
        assert!((ema.values[0][1] - (0.5 * second + 2.0)).abs() < 1e-6);
        assert!(ema.values[1].is_empty());
        let before = ema.clone();
        ema.follow(&parameters(9.0), &[true, false], 0.5);
        assert_eq!(ema, before, "weights that are away are averaged there");
        assert_eq!(Ema::new(0.0, &parameters(0.0)), None);
    }

    #[test]
    fn swapped_twice_is_as_it_was() {
        let (mut weights, mut ema) = (parameters(3.0), Ema::new(0.9, &parameters(1.0)).unwrap());
        ema.swap(&mut weights, &[false; 2]);
        assert_eq!((weights.at(0).values.floats()[0], weights.at(1).values.floats()[0]), (1.0, 3.0));
        ema.swap(&mut weights, &[false; 2]);
        assert_eq!((weights, ema), (parameters(3.0), Ema::new(0.9, &parameters(1.0)).unwrap()));
    }
}
