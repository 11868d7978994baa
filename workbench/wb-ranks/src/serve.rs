//! The work of every rank but the first: models that are computed for it.

use std::collections::{HashMap, HashSet};

use ndarray::Array2;
use wb_core::{Error, Result};
use wb_encoder::{
    Backbone, Dropout, Gradients, OpenDevice, Parameters, Stop, TokenBatch, Upstream, backbone::BackboneTape,
};

use crate::{
    exchange::{bytes_of, rows_of},
    frame::Frame,
    group::Place,
    request::{Answer, Gives, Request, WeightHead, Work, changed, model},
};

/// A model, its tapes, and the sum of its gradients.
struct Served {
    backbone: Box<dyn Backbone>,
    tapes: HashMap<u64, (BackboneTape, TokenBatch)>,
    gradients: Option<Gradients>,
}

/// Computes what rank 0 asks for until it says that this is the end, and gives the exit code that it ends with.
///
/// # Errors
///
/// If rank 0 is gone; of the kind [`wb_encoder::LostRank`].
pub fn serve(place: &Place, device: &OpenDevice) -> Result<u8> {
    let link = place.link();
    // Passes of one that nobody waits for end soon.
    let stop = Stop::when(link.lost());
    let mut models: HashMap<u32, Served> = HashMap::new();
    loop {
        let frame = link.receive()?;
        let request: Request = frame.head()?;
        if let Work::End(code) = request.work {
            return Ok(code);
        }
        let answer = match done(&mut models, request, &frame.numbers, (device, &stop)) {
            Ok((padding, numbers)) => Frame::with(&Answer::Done { padding }, numbers)?,
            Err(Error::Stopped) => continue,
            Err(error) => Frame::of(&Answer::of_error(&error))?,
        };
        link.send(&answer)?;
    }
}

fn done(
    models: &mut HashMap<u32, Served>,
    request: Request,
    mut numbers: &[u8],
    (device, stop): (&OpenDevice, &Stop),
) -> Result<(Option<wb_encoder::Padding>, Vec<u8>)> {
    let Request { model: number, dropped, weights, work } = request;
    let dropped: HashSet<u64> = dropped.into_iter().collect();
    models.values_mut().for_each(|served| served.tapes.retain(|tape, _| !dropped.contains(tape)));
    if let Work::Open { architecture, pooling, adapter } = work {
        let (parameters, _) = changed(&Parameters::default(), weights, numbers)?;
        let mut backbone = device.open_backbone(model(&architecture, pooling, &adapter, parameters)?)?;
        backbone.watch(stop.clone());
        backbone.keep_gradients();
        models.insert(number, Served { backbone, tapes: HashMap::new(), gradients: None });
        return Ok((None, Vec::new()));
    }
    if matches!(work, Work::Close) {
        models.remove(&number);
        return Ok((None, Vec::new()));
    }
    let served = models.get_mut(&number).ok_or_else(|| Error::failed(format!("there is no model {number} here")))?;
    if matches!(work, Work::Forget) {
        served.gradients = None;
    }
    numbers = &numbers[served.take(weights, numbers)?..];
    let found = served.work(work, numbers)?;
    Ok((served.backbone.padding(), found))
}

impl Served {
    /// Takes changed weights, and gives the number of bytes that they took.
    fn take(&mut self, weights: Vec<WeightHead>, numbers: &[u8]) -> Result<usize> {
        if weights.is_empty() {
            return Ok(0);
        }
        let (now, bytes) = changed(self.backbone.parameters(), weights, numbers)?;
        self.backbone.update(&mut |parameters| *parameters = now.clone())?;
        Ok(bytes)
    }

    fn work(&mut self, work: Work, mut numbers: &[u8]) -> Result<Vec<u8>> {
        let backbone = &mut self.backbone;
        let dim = backbone.dim();
        match work {
            Work::SetGradientCheckpointing(on) => backbone.set_gradient_checkpointing(on)?,
            Work::SetPrecision(precision) => backbone.set_precision(precision)?,
            Work::Embed { batch, tokens: false } => return Ok(bytes_of(backbone.embed(&batch)?.view())),
            Work::Embed { batch, tokens: true } => return Ok(bytes_of(backbone.embed_tokens(&batch)?.view())),
            Work::Track { batch, dropout, tape, gives } => {
                let dropout = dropout.map(|seed| Dropout { seed });
                let (found, kept) = match gives {
                    Gives::Nothing => (Vec::new(), backbone.track_again(&batch, dropout)?),
                    Gives::Embeddings => {
                        let (embeddings, kept) = backbone.embed_tracked(&batch, dropout)?;
                        (bytes_of(embeddings.view()), kept)
                    }
                    Gives::EmbeddingsAndStates => {
                        let (embeddings, states, kept) = backbone.embed_tokens_tracked(&batch, dropout)?;
                        ([bytes_of(embeddings.view()), bytes_of(states.view())].concat(), kept)
                    }
                };
                self.tapes.insert(tape, (kept, batch));
                return Ok(found);
            }
            Work::Backward { tape, embeddings, states } => {
                let (tape, batch) =
                    self.tapes.remove(&tape).ok_or_else(|| Error::failed(format!("there is no tape {tape} here")))?;
                let mut rows =
                    |is_there: bool, rows: usize| is_there.then(|| rows_of(&mut numbers, rows, dim)).transpose();
                let embeddings: Option<Array2<f32>> = rows(embeddings, batch.len())?;
                let states = rows(states, batch.ids().len())?;
                let at = Upstream {
                    embeddings: embeddings.as_ref().map(|at| at.view()),
                    states: states.as_ref().map(|at| at.view()),
                };
                let sum = self.gradients.get_or_insert_with(|| Gradients::zeros(backbone.parameters()));
                backbone.backward_tokens(tape, at, sum)?;
            }
            Work::Collect => {
                let Some(mut sum) = self.gradients.take() else { return Ok(Vec::new()) };
                backbone.collect_gradients(&mut sum)?;
                return Ok(sum.iter().flat_map(|of_weight| bytemuck::cast_slice(of_weight)).copied().collect());
            }
            Work::Forget => backbone.forget_gradients(),
            Work::Open { .. } | Work::Close | Work::End(_) => {}
        }
        Ok(Vec::new())
    }
}
