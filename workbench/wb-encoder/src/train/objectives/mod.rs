//! More than one thing learned at once: a weighted sum of the loss on pairs and of objectives on the tokens of code.
//!
//! total = loss on pairs + Σ weight · objective. The objectives share one more pass over the code of each batch,
//! with some tokens hidden; their losses are means over the tokens asked about. The pass on pairs sees whole texts.
//! Their heads are weights of the model while it trains (`heads.*`: optimizer, clipping and checkpoints know nothing
//! else), and are taken out of it at the end.

mod ast_nodes;
mod code_tokens;
mod config;
mod cross_entropy;
mod draws;
mod head;
mod mlm;
mod objective;
mod types;

#[cfg(test)]
mod tests;

use std::ops::Range;

use ndarray::{Array2, s};
use rayon::prelude::*;
use wb_core::{Error, Seed, Side, Task, fingerprint::Fingerprint};

pub use ast_nodes::AstNodesConfig;
pub use code_tokens::{CodeTokens, DeclaredType, NodesOf, TokenizeWithPlaces, TypesOf};
pub use config::ObjectivesConfig;
use config::weight_is_fine;
use draws::TokenDraws;
pub use mlm::MlmConfig;
pub use objective::Objective;
use objective::{CodeText, TokenAnswers, TokenQuestion};
pub use types::TypesConfig;

use super::{
    step::{StepOptions, parts},
    table::PairTable,
    token_cache::TokenizeRequest,
    views::Views,
};
use crate::{
    backbone::{Backbone, Dropout, Upstream},
    batch::TokenBatch,
    error::Result,
    models::fresh_weight,
    parameters::{Gradients, Parameters},
};

/// The objectives of a training.
pub struct Objectives<'a> {
    list: Vec<Box<dyn Objective + 'a>>,
    code: CodeTokens<'a>,
    seed: Seed,
}

/// The pairs of a batch, and how their texts become tokens.
#[derive(Clone, Copy)]
pub struct BatchCode<'a> {
    /// Positions of the pairs.
    pub pairs: &'a [u32],
    /// The stage of the training.
    pub stage: usize,
    /// The pairs' texts.
    pub table: &'a PairTable<'a>,
    /// Tokenization of the texts.
    pub views: &'a Views,
}

/// An objective's loss in one batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObjectiveLoss {
    /// Name of the objective.
    pub name: &'static str,
    /// Mean over the tokens asked about, without its weight; 0 where there were none.
    pub loss: f64,
    /// Number of tokens asked about.
    pub asked: usize,
}

/// A text with what is asked about it, by objective.
struct Asked {
    ids: Vec<u32>,
    questions: Vec<Vec<TokenQuestion>>,
}

impl<'a> Objectives<'a> {
    /// Opens what the config names and adds the heads to the model; `None` where nothing has a weight.
    pub fn open(
        config: &ObjectivesConfig,
        code: Option<&CodeTokens<'a>>,
        table: &PairTable<'_>,
        seed: Seed,
        backbone: &mut dyn Backbone,
    ) -> Result<Option<Self>> {
        if config.weights().is_empty() {
            return Ok(None);
        }
        let Some(code) = code else {
            let message = "need texts whose tokens have places, and this training knows token ids alone";
            return Err(Error::value("train.objectives", message));
        };
        let list = config.init(code, backbone.parameters(), table, seed)?;
        let dim = backbone.dim();
        backbone.update(&mut |parameters| {
            for spec in list.iter().flat_map(|objective| objective.head(dim)) {
                parameters.insert(fresh_weight(spec, seed));
            }
        })?;
        Ok(Some(Self { list, code: *code, seed }))
    }

    /// Takes the heads out of a model again.
    pub fn close(backbone: &mut dyn Backbone) -> Result<()> {
        if backbone.parameters().iter().any(|parameter| is_head(&parameter.name)) {
            backbone.update(&mut |parameters| parameters.retain(|parameter| !is_head(&parameter.name)))?;
        }
        Ok(())
    }

    /// Fingerprint of what must be the same when training goes on from a checkpoint.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut all = Fingerprint::builder();
        for objective in &self.list {
            all.text(objective.name());
            objective.classes().iter().for_each(|class| {
                all.text(class);
            });
        }
        all.finish()
    }

    /// Adds the gradients of all objectives on a batch's code, and returns their losses.
    /// `number` counts batches over the whole training, and with the seed decides which tokens are hidden.
    pub fn accumulate(
        &self,
        backbone: &dyn Backbone,
        code: BatchCode<'_>,
        number: u64,
        options: StepOptions<'_>,
        gradients: &mut Gradients,
    ) -> Result<Vec<ObjectiveLoss>> {
        let asked = self.ask(code, number)?;
        let counts: Vec<usize> =
            (0..self.list.len()).map(|which| asked.iter().map(|text| text.questions[which].len()).sum()).collect();
        let tokens = TokenBatch::new(asked.iter().map(|text| text.ids.as_slice()));
        let dropout = options.dropout.map(|seed| Dropout { seed: seed.number_at("dropout of objectives", number) });
        let mut sums = vec![0.0; self.list.len()];
        for part in parts(&tokens, options.micro_tokens, options.micro_texts) {
            if asked[part.clone()].iter().all(|text| text.questions.iter().all(Vec::is_empty)) {
                continue;
            }
            options.stop.check()?;
            let batch = tokens.part(part.clone());
            let (_, states, tape) = backbone.embed_tokens_tracked(&batch, dropout)?;
            let mut at_states = Array2::zeros(states.dim());
            for (which, objective) in self.list.iter().enumerate().filter(|(which, _)| counts[*which] > 0) {
                let factor = objective.weight() * f64::from(options.weight) / counts[which] as f64;
                let questions = placed(&batch, &asked[part.clone()], which);
                sums[which] += judge(
                    objective.as_ref(),
                    &questions,
                    factor as f32,
                    (&states, &mut at_states),
                    backbone.parameters(),
                    gradients,
                );
            }
            options.stop.check()?;
            backbone.backward_tokens(tape, Upstream::states(at_states.view()), gradients)?;
        }
        let found = self.list.iter().zip(sums).zip(counts).map(|((objective, sum), asked)| ObjectiveLoss {
            name: objective.name(),
            loss: sum / asked.max(1) as f64,
            asked,
        });
        Ok(found.collect())
    }

    /// Asks about a batch's code, text after text.
    fn ask(&self, code: BatchCode<'_>, number: u64) -> Result<Vec<Asked>> {
        let BatchCode { pairs, stage, table, views } = code;
        let of_pair = |pair: u32| code_sides(table, pair).into_iter().map(move |(text, side)| (pair, text, side));
        let texts: Vec<(u32, u32, Side)> = pairs.iter().copied().flat_map(of_pair).collect();
        let draws = self.seed.number_at("objectives", number);
        let ask = |(place, (pair, text, side)): (usize, &(u32, u32, Side))| -> Result<Asked> {
            let text = table.text(*text)?;
            let view = views.view(views.number(stage, table.dataset(*pair), *side));
            let prompt = view.prompt.as_deref();
            let wanted = TokenizeRequest { text: &text, side: view.side, prompt, max_tokens: view.max_tokens };
            let tokens = (self.code.tokenize)(wanted)?;
            let places = tokens.places.into_iter().map(|place| trimmed(&text, place?)).collect();
            let mut code = CodeText {
                text: &text,
                language: table.language(*pair),
                taken: vec![false; tokens.ids.len()],
                ids: tokens.ids,
                places,
                draws: TokenDraws::new(draws, place as u64),
            };
            let questions = self.list.iter().map(|objective| objective.ask(&mut code)).collect();
            Ok(Asked { ids: code.ids, questions })
        };
        texts.par_iter().enumerate().map(ask).collect()
    }
}

/// The code of a pair, as numbers of texts: the positive of a description or of a mixture, the anchor of what asks for
/// a description, both of two pieces of code; and a text without a label.
fn code_sides(table: &PairTable<'_>, pair: u32) -> Vec<(u32, Side)> {
    if table.documents(pair).is_empty() {
        return vec![(table.anchor(pair), Side::Document)];
    }
    let (anchor, positive) = ((table.anchor(pair), Side::Query), (table.document(pair), Side::Document));
    match table.task(pair) {
        Task::Text2code | Task::Hybrid => vec![positive],
        Task::Code2text => vec![anchor],
        Task::Code2code => vec![anchor, positive],
    }
}

/// True where a weight belongs to the head of an objective.
pub fn is_head(name: &str) -> bool {
    name.starts_with("heads.")
}

/// A place without the white space around it; nothing if nothing is left.
fn trimmed(text: &str, place: Range<usize>) -> Option<Range<usize>> {
    let token = text.get(place.clone())?;
    let begin = place.start + (token.len() - token.trim_start().len());
    let end = begin + token.trim().len();
    (begin < end).then_some(begin..end)
}

/// An objective's questions about a part of a batch, with tokens counted over the part: rows of states, and classes.
fn placed(batch: &TokenBatch, asked: &[Asked], which: usize) -> (Vec<usize>, Vec<u32>) {
    let questions = asked.iter().zip(batch.offsets()).flat_map(|(text, first)| {
        text.questions[which].iter().map(move |question| (first + question.token, question.class))
    });
    questions.unzip()
}

/// The sum of an objective's losses; adds its gradients at the states.
fn judge(
    objective: &dyn Objective,
    (rows, classes): &(Vec<usize>, Vec<u32>),
    factor: f32,
    (states, at_states): (&Array2<f32>, &mut Array2<f32>),
    parameters: &Parameters,
    gradients: &mut Gradients,
) -> f64 {
    if rows.is_empty() {
        return 0.0;
    }
    let dim = states.ncols();
    let asked: Vec<f32> = rows.iter().flat_map(|row| states.row(*row).to_vec()).collect();
    let mut at_asked = vec![0.0; asked.len()];
    let answers = TokenAnswers { states: &asked, classes, factor, at_states: &mut at_asked };
    let loss = objective.forward_backward(answers, parameters, gradients);
    for (row, at) in rows.iter().zip(at_asked.chunks_exact(dim)) {
        at_states.slice_mut(s![*row, ..]).iter_mut().zip(at).for_each(|(sum, g)| *sum += g);
    }
    loss
}
