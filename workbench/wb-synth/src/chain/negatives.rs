//! Hard negatives by the model, for those who want them in spite of what the ablation says.

use wb_core::records::data::Gate;
use wb_data::text::fold;
use wb_llm::{LlmQuestion, Reply};

use super::{Desk, Stage, candidate::Candidate, desk::reason, gates::drop_one};
use crate::{
    Result,
    config::NegativesConfig,
    prompts::{PromptSet, fence, negatives_schema},
    provenance::AskedQuestion,
};

/// Gives every pair its negatives; a pair whose answer cannot be used stays without. The gate counts negatives.
pub(super) fn run(
    config: &NegativesConfig,
    stage: &Stage,
    prompts: &PromptSet,
    pairs: &mut [Candidate],
    desk: &mut Desk,
) -> Result<Gate> {
    let nonce = |pair: &Candidate| stage.nonce(pair.item, &["negatives", &pair.query, &pair.document]);
    let replies = desk.ask("writing negatives", pairs.len(), &|at| {
        let pair = &pairs[at];
        let item = &stage.items[pair.item];
        let chosen = stage.task_of(pair);
        Ok(LlmQuestion {
            recipe: prompts.recipe(item.task, "negatives"),
            item: stage.snippets[item.snippet].id.clone(),
            sample: pair.sample,
            messages: prompts.negatives(chosen, config.per_pair, &pair.query, &pair.document, &nonce(pair)),
            sampling: config.sampling(),
            schema: Some(negatives_schema(config.per_pair)),
        })
    })?;
    let mut gate = Gate { name: "negatives".into(), ..Gate::default() };
    for (pair, reply) in pairs.iter_mut().zip(replies) {
        gate.before += config.per_pair as u64;
        let answer = match reply {
            Reply::Answered(answer) => answer,
            Reply::Rejected(rejection) => {
                (0..config.per_pair)
                    .for_each(|_| drop_one(&mut gate, reason(&rejection.reason), &pair.id, &pair.query));
                continue;
            }
        };
        pair.asked.push(AskedQuestion::of("negatives", &answer));
        let list = answer.value.as_ref().and_then(|value| value.get("negatives")?.as_array());
        let texts: Vec<&str> = list.into_iter().flatten().filter_map(|text| text.as_str()).collect();
        let nonce = nonce(pair);
        for at in 0..config.per_pair {
            let source = format!("{}{}", pair.query, pair.document);
            let text = texts.get(at).and_then(|text| fence::clean(text, &nonce, &source));
            let known = |text: &str| {
                let folded = fold(text);
                folded == fold(&pair.document)
                    || folded == fold(&pair.query)
                    || pair.negatives.iter().any(|other| fold(other) == folded)
            };
            let dropped = match &text {
                None => "an answer of another form",
                Some(text) if text.trim().is_empty() => "an empty negative",
                Some(text) if known(text) => "a negative that is one of the pair's own texts",
                Some(_) => "",
            };
            match text {
                Some(text) if dropped.is_empty() => {
                    pair.negatives.push(text);
                    gate.after += 1;
                }
                _ => drop_one(&mut gate, dropped.to_owned(), &pair.id, &pair.query),
            }
        }
    }
    Ok(gate)
}
