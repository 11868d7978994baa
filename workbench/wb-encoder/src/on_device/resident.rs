//! Trained weights on a device, with their moments, average and gradients, in few tensors that are updated at once.

use std::sync::{Mutex, PoisonError};

use burn::tensor::Tensor;

#[cfg(feature = "fused")]
use super::fused;
use super::{
    backbone::{BurnBackbone, unlocked},
    gradients::Sums,
    traffic::{Link, Reading},
    weights::{Weight, Weights},
};
use crate::{
    backbone::Backbone,
    error::Result,
    parameters::{Gradients, Parameters},
    resident::{AdamwStep, Resident},
};

/// Numbers that are updated at once, but for a weight that has more: 16 MiB of each, so that what an update needs in
/// between is small beside what is kept.
const BUCKET: usize = 4 << 20;

/// Numbers of a bucket that are summed up one after the other. A sum of all at once would add parts in the order in which
/// they happen to be done.
const ROW: usize = 1024;

/// Weights that change by the same numbers, one after the other, filled up with zeros to whole rows.
struct Bucket {
    members: Vec<Member>,
    /// Zeros at the end.
    rest: usize,
    weights: Tensor<1>,
    first: Tensor<1>,
    second: Tensor<1>,
    average: Option<Tensor<1>>,
    /// Gradients that were found elsewhere.
    added: Option<Tensor<1>>,
    /// Their gradients, once they were measured.
    gradients: Option<Tensor<1>>,
}

/// A weight in a bucket.
struct Member {
    /// Its place among the parameters.
    at: usize,
    shape: Vec<usize>,
    numbers: usize,
}

/// Numbers of weights one after the other on a device, and so many zeros.
fn joined(members: &[Member], rest: usize, link: &Link, values: &dyn Fn(usize) -> Vec<f32>) -> Tensor<1> {
    let mut all: Vec<f32> = members.iter().flat_map(|member| values(member.at)).collect();
    all.resize(all.len() + rest, 0.0);
    let numbers = all.len();
    link.floats(all, [numbers])
}

/// Everything on a device that a step changes.
pub(super) struct Residence {
    buckets: Vec<Bucket>,
    /// Gradients that were found since they were measured last.
    sums: Mutex<Sums>,
}

impl Residence {
    /// Brings there what trains, as far as the network reads it.
    pub(super) fn new(
        parameters: &Parameters,
        weights: &Weights,
        link: &Link,
        alike: &dyn Fn(usize, usize) -> bool,
        [first, second]: [&[Vec<f32>]; 2],
        average: Option<&[Vec<f32>]>,
    ) -> Self {
        let mut groups: Vec<Vec<Member>> = Vec::new();
        for (at, parameter) in parameters.iter().enumerate().filter(|(at, p)| p.trainable && weights.has(*at)) {
            let member = Member { at, shape: parameter.shape.clone(), numbers: parameter.values.len() };
            let room = |group: &&mut Vec<Member>| {
                let numbers: usize = group.iter().map(|member| member.numbers).sum();
                alike(group[0].at, at) && numbers + member.numbers <= BUCKET
            };
            match groups.iter_mut().find(room) {
                Some(group) => group.push(member),
                None => groups.push(vec![member]),
            }
        }
        let bucket = |members: Vec<Member>| {
            let numbers = members.iter().map(|member| member.numbers).sum::<usize>();
            let rest = numbers.next_multiple_of(ROW) - numbers;
            let of_state = |values: &[Vec<f32>]| joined(&members, rest, link, &|at| values[at].clone());
            let weights = joined(&members, rest, link, &|at| parameters.at(at).values.floats().into_owned());
            let (first, second, average) = (of_state(first), of_state(second), average.map(of_state));
            Bucket { members, rest, weights, first, second, average, added: None, gradients: None }
        };
        Self { buckets: groups.into_iter().map(bucket).collect(), sums: Mutex::default() }
    }

    /// True for each of so many parameters that lives there.
    pub(super) fn lives(&self, parameters: usize) -> Vec<bool> {
        let mut lives = vec![false; parameters];
        self.buckets.iter().flat_map(|bucket| &bucket.members).for_each(|member| lives[member.at] = true);
        lives
    }

    /// Puts the weights as they are into the network.
    pub(super) fn show(&self, weights: &mut Weights) {
        self.buckets.iter().for_each(|bucket| bucket.show(weights));
    }

    /// Adds gradients.
    pub(super) fn add(&self, found: Sums) {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner).add(found);
    }

    /// Adds gradients of host memory.
    fn add_gradients(&mut self, gradients: &Gradients, link: &Link) {
        for bucket in &mut self.buckets {
            let found = joined(&bucket.members, bucket.rest, link, &|at| gradients.at(at).to_vec());
            bucket.added = Some(match bucket.added.take() {
                Some(there) => there + found,
                None => found,
            });
        }
    }

    /// Measures the gradients; they are then those of the next update.
    pub(super) fn gradient_squares(&mut self, link: &Link) -> Result<f64> {
        let mut sums = std::mem::take(self.sums.get_mut().unwrap_or_else(PoisonError::into_inner));
        let (mut reading, mut averages) = (Reading::default(), Vec::new());
        for bucket in &mut self.buckets {
            let zeros = |numbers: usize| Tensor::zeros([numbers], link.device());
            let of_member = |member: &Member| sums.take(member.at).unwrap_or_else(|| zeros(member.numbers));
            let mut all: Vec<Tensor<1>> = bucket.members.iter().map(of_member).collect();
            if bucket.rest > 0 {
                all.push(zeros(bucket.rest));
            }
            let mut found = link.join(all, 0);
            if let Some(added) = bucket.added.take() {
                found = found + added;
            }
            let rows = found.dims()[0] / ROW;
            let squares = (found.clone() * found.clone()).reshape([rows, ROW]).sum_dim(1);
            reading.add(squares.reshape([1, rows]).sum_dim(1));
            // An average that could not be computed would be told by the next validation alone.
            averages.extend(bucket.average.as_ref().map(|average| average.clone().narrow(0, 0, 1)));
            bucket.gradients = Some(found);
        }
        averages.into_iter().for_each(|one| reading.add(one));
        Ok(link.read(reading)?.iter().take(self.buckets.len()).flatten().map(|squares| f64::from(*squares)).sum())
    }

    /// One step for all of them; see [`AdamwStep`].
    pub(super) fn update(&mut self, steps: &[AdamwStep], follow: Option<f32>, link: &Link, weights: &mut Weights) {
        for bucket in &mut self.buckets {
            bucket.update(steps[bucket.members[0].at], follow, link);
            bucket.show(weights);
        }
    }

    /// Reads one number of each of what an update computes.
    pub(super) fn verify(&self, link: &Link) -> Result<()> {
        are_there(
            self.buckets.iter().flat_map(|bucket| bucket.kept().into_iter().flatten().chain([&bucket.weights])),
            link,
        )
    }

    /// Has the weights taken for such as could be computed, where they are: an update computes them with their moments in
    /// one launch, and nothing but an update can have marked those as missing.
    #[cfg(feature = "fused")]
    pub(super) fn vouch(&self, link: &Link) -> Result<()> {
        // In several launches, as they are without our own kernels, one of them alone may have been refused.
        match link.fuses() && are_there(self.moments(), link).is_ok() {
            true => self.buckets.iter().try_for_each(|bucket| link.vouch(&bucket.weights)),
            false => Ok(()),
        }
    }

    /// All moments.
    #[cfg(feature = "fused")]
    pub(super) fn moments(&self) -> impl Iterator<Item = &Tensor<1>> {
        self.buckets.iter().flat_map(|bucket| [&bucket.first, &bucket.second])
    }

    /// Drops all gradients.
    pub(super) fn forget_gradients(&mut self) {
        self.sums = Mutex::default();
        self.buckets.iter_mut().for_each(|bucket| (bucket.added, bucket.gradients) = (None, None));
    }

    /// Exchanges weights and average, where there is one that could be computed.
    pub(super) fn swap_average(&mut self, link: &Link, weights: &mut Weights) -> Result<()> {
        are_there(self.buckets.iter().filter_map(|bucket| bucket.average.as_ref()), link)?;
        for bucket in &mut self.buckets {
            if let Some(average) = &mut bucket.average {
                std::mem::swap(average, &mut bucket.weights);
                bucket.show(weights);
            }
        }
        Ok(())
    }

    /// Reads the weights back in one wait, and of moments and average what there is a place for, and puts it there.
    pub(super) fn read(
        &self,
        link: &Link,
        parameters: &mut Parameters,
        mut state: [Option<&mut [Vec<f32>]>; 3],
    ) -> Result<()> {
        let mut reading = Reading::default();
        for bucket in &self.buckets {
            reading.add(bucket.weights.clone());
            let kept = bucket.kept().into_iter().zip(&state).filter(|(_, into)| into.is_some());
            kept.for_each(|(kept, _)| kept.into_iter().for_each(|kept| reading.add(kept.clone())));
        }
        let mut found = link.read(reading)?.into_iter();
        let mut places: Vec<Option<&mut [f32]>> = Vec::new();
        places.extend(parameters.iter_mut().map(|p| p.trainable.then(|| p.values.floats_mut().as_mut_slice())));
        for bucket in &self.buckets {
            let weights = found.next().unwrap_or_default();
            for (member, values) in bucket.split(&weights) {
                if let Some(place) = &mut places[member.at] {
                    place.copy_from_slice(values);
                }
            }
            for (kept, into) in bucket.kept().into_iter().zip(&mut state) {
                let (Some(_), Some(into)) = (kept, into) else { continue };
                let all = found.next().unwrap_or_default();
                bucket.split(&all).for_each(|(member, values)| into[member.at] = values.to_vec());
            }
        }
        Ok(())
    }
}

impl Resident for BurnBackbone {
    fn settle(
        &mut self,
        alike: &dyn Fn(usize, usize) -> bool,
        first: &[Vec<f32>],
        second: &[Vec<f32>],
        average: Option<&[Vec<f32>]>,
    ) -> Result<Vec<bool>> {
        let residence = self.link.guarded(|| {
            let moments = [first, second];
            let weights = unlocked(&mut self.weights);
            let residence = Residence::new(&self.parameters, weights, &self.link, alike, moments, average);
            residence.show(weights);
            // From here on what memory was there for is known of each update.
            residence.verify(&self.link)?;
            Ok(residence)
        })?;
        let lives = residence.lives(self.parameters.len());
        self.residence = Some(residence);
        Ok(lives)
    }

    fn add_gradients(&mut self, gradients: &Gradients) -> Result<()> {
        let Some(residence) = &mut self.residence else { return Ok(()) };
        self.link.guarded(|| {
            residence.add_gradients(gradients, &self.link);
            Ok(())
        })
    }

    fn gradient_squares(&mut self) -> Result<f64> {
        let Some(residence) = &mut self.residence else { return Ok(0.0) };
        let found = self.link.guarded(|| residence.gradient_squares(&self.link));
        self.recovered(found)
    }

    fn step(&mut self, steps: &[AdamwStep], follow: Option<f32>) -> Result<()> {
        let Some(residence) = &mut self.residence else { return Ok(()) };
        self.link.guarded(|| {
            residence.update(steps, follow, &self.link, unlocked(&mut self.weights));
            Ok(())
        })
    }

    fn verify(&mut self) -> Result<()> {
        self.read_guarded(|residence, link, _| residence.verify(link))
    }

    fn forget_gradients(&mut self) {
        self.residence.iter_mut().for_each(Residence::forget_gradients);
    }

    fn swap_average(&mut self) -> Result<()> {
        let Some(residence) = &mut self.residence else { return Ok(()) };
        self.link.guarded(|| residence.swap_average(&self.link, unlocked(&mut self.weights)))
    }

    fn bring_weights(&mut self) -> Result<()> {
        self.read_guarded(|residence, link, parameters| residence.read(link, parameters, [None, None, None]))
    }

    fn bring_home(
        &mut self,
        first: &mut [Vec<f32>],
        second: &mut [Vec<f32>],
        mut average: Option<&mut [Vec<f32>]>,
    ) -> Result<()> {
        self.read_guarded(|residence, link, parameters| {
            residence.read(link, parameters, [Some(&mut *first), Some(&mut *second), average.as_deref_mut()])
        })
    }

    fn leave(&mut self) -> Result<()> {
        match self.residence.take() {
            Some(_) => self.update(&mut |_| {}),
            None => Ok(()),
        }
    }
}

impl Bucket {
    /// Moments, and the average where there is one.
    fn kept(&self) -> [Option<&Tensor<1>>; 3] {
        [Some(&self.first), Some(&self.second), self.average.as_ref()]
    }

    /// The numbers of each weight among those of all.
    fn split<'a>(&'a self, mut all: &'a [f32]) -> impl Iterator<Item = (&'a Member, &'a [f32])> {
        self.members.iter().map(move |member| {
            let (own, rest) = all.split_at(member.numbers.min(all.len()));
            all = rest;
            (member, own)
        })
    }

    /// Puts each weight into the network: a view of the bucket where the device can look at a part of a tensor.
    fn show(&self, weights: &mut Weights) {
        let mut start = 0;
        for Member { at, shape, numbers } in &self.members {
            let own = self.weights.clone().narrow(0, start, *numbers);
            start += numbers;
            weights.put(
                *at,
                match *shape.as_slice() {
                    [rows, columns] => Weight::Matrix(own.reshape([rows, columns])),
                    _ => Weight::Vector(own),
                },
            );
        }
    }

    /// One step of AdamW, all on the device. The numbers of a step are uploaded: as part of a kernel's call, each of them
    /// would be kept for a next one, which never has the same.
    fn update(&mut self, numbers: AdamwStep, follow: Option<f32>, link: &Link) {
        let AdamwStep { keep, gradient_factor, root_correction, step, .. } = numbers;
        let Some(gradient) = self.gradients.take() else { return };
        let changing = vec![keep, gradient_factor, root_correction, step, follow.unwrap_or_default()];
        let changing: Tensor<1> = link.floats(changing, [5]);
        let share = changing.clone().narrow(0, 4, 1);
        let old = [self.weights.clone(), self.first.clone(), self.second.clone()];
        let changing = changing.narrow(0, 0, 4);
        [self.weights, self.first, self.second] = updated(old, gradient, changing, numbers, link);
        if let (Some(average), Some(_)) = (&mut self.average, follow) {
            *average = average.clone() + (self.weights.clone() - average.clone()) * share;
        }
    }
}

/// Reads one number of each tensor: an error where one could not be computed.
fn are_there<'a>(tensors: impl IntoIterator<Item = &'a Tensor<1>>, link: &Link) -> Result<()> {
    let mut reading = Reading::default();
    tensors.into_iter().for_each(|numbers| reading.add_first(numbers));
    link.read(reading).map(drop)
}

/// Weights and their moments after a step; `changing` are the numbers of it that no other has.
fn updated(
    [weights, first, second]: [Tensor<1>; 3],
    gradient: Tensor<1>,
    changing: Tensor<1>,
    numbers: AdamwStep,
    link: &Link,
) -> [Tensor<1>; 3] {
    #[cfg(feature = "fused")]
    if link.fuses() {
        return fused::update([weights, first, second], gradient, changing, numbers);
    }
    #[cfg(not(feature = "fused"))]
    let _ = link;
    let AdamwStep { follow1, beta2, follow2, eps, .. } = numbers;
    let [keep, gradient_factor, root_correction, step] = std::array::from_fn(|at| changing.clone().narrow(0, at, 1));
    let gradient = gradient * gradient_factor;
    let first = first.clone() + (gradient.clone() - first).mul_scalar(follow1);
    let second = second.mul_scalar(beta2) + (gradient.clone() * gradient).mul_scalar(follow2);
    let divisor = (second.clone().sqrt() * root_correction).add_scalar(eps);
    [weights * keep - first.clone() * step / divisor, first, second]
}
