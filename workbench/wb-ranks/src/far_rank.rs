//! A device of another rank as rank 0 sees it, and models on it.

use std::{
    any::Any,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use ndarray::{Array2, ArrayView2};
use wb_core::{Error, Result};
use wb_encoder::{
    Backbone, DeviceConfig, Dropout, FarDevice, Gradients, Model, Padding, Parameters, Precision, TokenBatch, Upstream,
    backbone::BackboneTape,
};

use crate::{
    exchange::{bytes_of, numbers_of, rows_of},
    frame::Frame,
    hello::Member,
    link::Link,
    request::{Answer, Gives, Request, Work, changes},
};

/// A device of another rank.
#[derive(Debug)]
pub(crate) struct FarRank {
    link: Link,
    member: Member,
    /// One request at a time.
    turn: Mutex<()>,
    models: AtomicU32,
    tapes: AtomicU64,
    dropped: Mutex<Vec<u64>>,
    /// Sums of gradients that were asked for.
    sums: AtomicU64,
}

impl FarRank {
    pub(crate) fn new(link: Link, member: Member) -> Self {
        Self {
            link,
            member,
            turn: Mutex::default(),
            models: AtomicU32::default(),
            tapes: AtomicU64::default(),
            dropped: Mutex::default(),
            sums: AtomicU64::default(),
        }
    }

    /// Number of devices of the rank.
    pub(crate) fn of_rank(&self) -> usize {
        self.member.number.1
    }

    /// True once the other process is gone.
    pub(crate) fn is_lost(&self) -> bool {
        self.link.lost().load(Ordering::SeqCst)
    }

    /// True where it is gone already, or is within a second.
    pub(crate) fn is_lost_soon(&self) -> bool {
        (0..20).any(|_| {
            let is_lost = self.is_lost();
            if !is_lost {
                thread::sleep(Duration::from_millis(50));
            }
            is_lost
        })
    }

    /// Sums of gradients so far.
    #[cfg(test)]
    pub(crate) fn sums(&self) -> u64 {
        self.sums.load(Ordering::SeqCst)
    }

    /// Says that there is nothing more to do, and with which exit code rank 0 ends. One that is gone already is not told.
    pub(crate) fn end(&self, code: u8) {
        self.tell(0, Work::End(code)).ok();
    }

    fn tell(&self, model: u32, work: Work) -> Result<()> {
        self.link.send(&Frame::of(&Request { model, dropped: Vec::new(), weights: Vec::new(), work })?)
    }

    fn ask(&self, request: &Request, numbers: Vec<u8>) -> Result<(Option<Padding>, Vec<u8>)> {
        let _one = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.link.send(&Frame::with(request, numbers)?)?;
        let answer = self.link.receive()?;
        match answer.head()? {
            Answer::Done { padding } => Ok((padding, answer.numbers)),
            Answer::Failed { what, hint, device } => Err(Answer::to_error(self.link.peer(), &what, hint, device)),
        }
    }
}

impl FarDevice for FarRank {
    fn config(&self) -> DeviceConfig {
        self.member.device
    }

    fn description(&self) -> &str {
        &self.member.description
    }

    fn open(self: Arc<Self>, model: Model) -> Result<Box<dyn Backbone>> {
        let number = self.models.fetch_add(1, Ordering::SeqCst);
        let (weights, numbers) = changes(None, &model.parameters);
        let work = Work::open(&model)?;
        let request = Request { model: number, dropped: Vec::new(), weights, work };
        self.ask(&request, numbers)?;
        let there = Mutex::new(model.parameters.clone());
        let dim = model.architecture.dim();
        Ok(Box::new(FarBackbone { rank: self, number, dim, here: model.parameters, there, padding: Mutex::default() }))
    }
}

/// A model on another rank.
struct FarBackbone {
    rank: Arc<FarRank>,
    number: u32,
    dim: usize,
    /// Weights as they are.
    here: Parameters,
    /// Weights as the rank has them: they are sent with the next request, so that a change of weights cannot be half done.
    there: Mutex<Parameters>,
    padding: Mutex<Option<Padding>>,
}

/// A tape that the rank keeps until it has been used or dropped.
struct FarTape {
    rank: Arc<FarRank>,
    number: u64,
    texts: usize,
    tokens: usize,
    is_used: bool,
}

impl Drop for FarTape {
    fn drop(&mut self) {
        if !self.is_used {
            self.rank.dropped.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
        }
    }
}

impl FarBackbone {
    fn ask(&self, work: Work, numbers: Vec<u8>) -> Result<Vec<u8>> {
        let mut there = self.there.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |(a, b): (&wb_encoder::Parameter, &wb_encoder::Parameter)| {
            a.name == b.name && a.trainable == b.trainable && a.values.shares(&b.values)
        };
        let unchanged = there.len() == self.here.len() && there.iter().zip(self.here.iter()).all(is_same);
        let (weights, mut all) = if unchanged { Default::default() } else { changes(Some(&*there), &self.here) };
        all.extend(numbers);
        let dropped = std::mem::take(&mut *self.rank.dropped.lock().unwrap_or_else(PoisonError::into_inner));
        let (padding, found) = self.rank.ask(&Request { model: self.number, dropped, weights, work }, all)?;
        if !unchanged {
            *there = self.here.clone();
        }
        *self.padding.lock().unwrap_or_else(PoisonError::into_inner) = padding;
        Ok(found)
    }

    fn track(&self, batch: &TokenBatch, dropout: Option<Dropout>, gives: Gives) -> Result<(Vec<u8>, BackboneTape)> {
        let number = self.rank.tapes.fetch_add(1, Ordering::SeqCst);
        let dropout = dropout.map(|dropout| dropout.seed);
        let found = self.ask(Work::Track { batch: batch.clone(), dropout, tape: number, gives }, Vec::new())?;
        let (texts, tokens) = (batch.len(), batch.ids().len());
        Ok((found, Box::new(FarTape { rank: Arc::clone(&self.rank), number, texts, tokens, is_used: false })))
    }
}

impl Backbone for FarBackbone {
    fn dim(&self) -> usize {
        self.dim
    }

    fn parameters(&self) -> &Parameters {
        &self.here
    }

    fn update(&mut self, change: &mut dyn FnMut(&mut Parameters)) -> Result<()> {
        change(&mut self.here);
        Ok(())
    }

    fn set_gradient_checkpointing(&mut self, on: bool) -> Result<()> {
        self.ask(Work::SetGradientCheckpointing(on), Vec::new()).map(drop)
    }

    fn set_precision(&mut self, precision: Precision) -> Result<()> {
        self.ask(Work::SetPrecision(precision), Vec::new()).map(drop)
    }

    fn padding(&self) -> Option<Padding> {
        *self.padding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keeps_gradients(&self) -> bool {
        true
    }

    fn collect_gradients(&self, gradients: &mut Gradients) -> Result<()> {
        self.rank.sums.fetch_add(1, Ordering::SeqCst);
        let numbers = self.ask(Work::Collect, Vec::new())?;
        // Nothing, where no pass went back since the last time.
        let numbers = numbers_of(&numbers);
        if numbers.is_empty() {
            return Ok(());
        }
        let expected: usize = gradients.iter().map(Vec::len).sum();
        if numbers.len() != expected {
            return Err(Error::failed(format!("a rank sent {} gradients, expected {expected}", numbers.len())));
        }
        gradients.iter_mut().flatten().zip(numbers).for_each(|(sum, value)| *sum += value);
        Ok(())
    }

    fn forget_gradients(&self) {
        // One that is lost has none.
        self.ask(Work::Forget, Vec::new()).ok();
    }

    fn embed(&self, batch: &TokenBatch) -> Result<Array2<f32>> {
        let found = self.ask(Work::Embed { batch: batch.clone(), tokens: false }, Vec::new())?;
        rows_of(&mut &found[..], batch.len(), self.dim)
    }

    fn embed_tracked(&self, batch: &TokenBatch, dropout: Option<Dropout>) -> Result<(Array2<f32>, BackboneTape)> {
        let (found, tape) = self.track(batch, dropout, Gives::Embeddings)?;
        Ok((rows_of(&mut &found[..], batch.len(), self.dim)?, tape))
    }

    fn track_again(&self, batch: &TokenBatch, dropout: Option<Dropout>) -> Result<BackboneTape> {
        Ok(self.track(batch, dropout, Gives::Nothing)?.1)
    }

    fn embed_tokens(&self, batch: &TokenBatch) -> Result<Array2<f32>> {
        let found = self.ask(Work::Embed { batch: batch.clone(), tokens: true }, Vec::new())?;
        rows_of(&mut &found[..], batch.ids().len(), self.dim)
    }

    fn embed_tokens_tracked(
        &self,
        batch: &TokenBatch,
        dropout: Option<Dropout>,
    ) -> Result<(Array2<f32>, Array2<f32>, BackboneTape)> {
        let (found, tape) = self.track(batch, dropout, Gives::EmbeddingsAndStates)?;
        let mut bytes = &found[..];
        let embeddings = rows_of(&mut bytes, batch.len(), self.dim)?;
        Ok((embeddings, rows_of(&mut bytes, batch.ids().len(), self.dim)?, tape))
    }

    fn backward_tokens(&self, tape: BackboneTape, at: Upstream<'_>, _gradients: &mut Gradients) -> Result<()> {
        let Ok(mut tape) = (tape as Box<dyn Any>).downcast::<FarTape>() else {
            return Err(Error::data("backward pass", "got the tape of another backbone, expected its own"));
        };
        let rows = |at: Option<ArrayView2<'_, f32>>, rows: usize| match at {
            Some(at) if at.dim() != (rows, self.dim) => {
                let message = format!("has shape {:?}, expected {:?}", at.dim(), (rows, self.dim));
                Err(Error::data("gradient", message))
            }
            at => Ok(at.map(bytes_of).unwrap_or_default()),
        };
        let mut numbers = rows(at.embeddings, tape.texts)?;
        numbers.extend(rows(at.states, tape.tokens)?);
        tape.is_used = true;
        let (embeddings, states) = (at.embeddings.is_some(), at.states.is_some());
        self.ask(Work::Backward { tape: tape.number, embeddings, states }, numbers).map(drop)
    }
}

impl Drop for FarBackbone {
    fn drop(&mut self) {
        let (weights, dropped) = (Vec::new(), Vec::new());
        self.rank.ask(&Request { model: self.number, dropped, weights, work: Work::Close }, Vec::new()).ok();
    }
}
