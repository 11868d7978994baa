//! Requirements of an experiment, held against its last arm.

use wb_core::records::rag::{Rag, RagShare};
use wb_sql::benchmarks::scores::JUDGED;

/// Sentences on requirements (metric and least value) that the last retriever's arm does not meet. A share of some of
/// the questions meets none, unless what share has to be judged is required, too.
pub fn refusals(rag: &Rag, requirements: &[(String, f64)]) -> Vec<String> {
    let Some(arm) = rag.arms.last() else { return vec!["refused: there is no arm".to_owned()] };
    let all = rag.questions.len() as u64;
    let share_is_required = requirements.iter().any(|(metric, _)| metric == JUDGED);
    let refused = |(metric, least): &(String, f64)| {
        let share = match metric.as_str() {
            "em" => arm.em,
            "ex" => arm.ex,
            #[expect(clippy::cast_precision_loss, reason = "counts of questions")]
            JUDGED => RagShare { value: arm.ex.of as f64 / all.max(1) as f64, of: all, ..arm.ex },
            _ => arm.parsed,
        };
        let is_met = share.value >= *least && (share.of == all || share_is_required);
        (!is_met).then(|| {
            let (name, value, of) = (&arm.name, share.value, share.of);
            let known = if of < all { format!(" of {of} of {all} questions") } else { String::new() };
            format!("refused: {name} {metric} is {value:.4}{known}, required {least:.4}")
        })
    };
    requirements.iter().filter_map(refused).collect()
}
