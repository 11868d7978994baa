//! Contestants as they are shown: the order, name and color of each are the same in every table and chart.

use plotters::style::RGBColor;
use wb_core::records::outcome::{ContestantOutcome, ContestantRole};

/// One contestant as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contestant {
    /// Name in the outcome.
    pub key: String,
    /// Name for people.
    pub label: String,
    /// Part that it has in the run.
    pub role: ContestantRole,
    /// Index into [`PALETTE`], and the number of the CSS class `c0`…`c8`.
    pub color: usize,
}

/// Okabe and Ito's colors for all kinds of color vision, with a grey: the grey for the untrained encoder,
/// blue for the trained one, orange for BM25, green for both together, the others for whoever else is there.
pub const PALETTE: [RGBColor; 9] = [
    RGBColor(230, 159, 0),
    RGBColor(138, 145, 153),
    RGBColor(0, 114, 178),
    RGBColor(0, 158, 115),
    RGBColor(213, 94, 0),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(177, 155, 0),
];

/// Orders contestants for tables and charts: baselines first, the trained encoder after, its mixture with BM25 last.
pub fn arrange(outcomes: &[ContestantOutcome]) -> Vec<Contestant> {
    let mut contestants: Vec<Contestant> = Vec::new();
    for ContestantOutcome { contestant: key, role, .. } in outcomes {
        if contestants.iter().all(|known| known.key != *key) {
            contestants.push(Contestant { key: key.clone(), label: label(key, *role), role: *role, color: 0 });
        }
    }
    contestants.sort_by(|a, b| a.role.cmp(&b.role).then_with(|| a.key.cmp(&b.key)));
    let mut taken = [0usize; 5];
    for contestant in &mut contestants {
        let nth = taken[contestant.role as usize];
        taken[contestant.role as usize] += 1;
        contestant.color = color(contestant.role, nth);
    }
    contestants
}

/// The contestant that outcomes name so.
pub fn named<'a>(contestants: &'a [Contestant], key: &str) -> Option<&'a Contestant> {
    contestants.iter().find(|known| known.key == key)
}

/// Color of the nth contestant of a role.
pub fn color(role: ContestantRole, nth: usize) -> usize {
    match (role, nth) {
        (ContestantRole::Bm25, 0) => 0,
        (ContestantRole::Untrained, 0) => 1,
        (ContestantRole::Trained, 0) => 2,
        (ContestantRole::Fused, 0) => 3,
        (_, nth) => 4 + nth % 5,
    }
}

/// Name of a contestant for people.
pub fn label(key: &str, role: ContestantRole) -> String {
    match role {
        ContestantRole::Bm25 => "BM25",
        ContestantRole::Untrained => "untrained",
        ContestantRole::Trained => "trained",
        // In a run, what is joined with BM25 is the trained encoder.
        ContestantRole::Fused => "BM25 + trained",
        ContestantRole::Other => key,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn baselines_come_first_and_colors_stay() {
        // Names say nothing: what a contestant is stands in its record.
        let outcomes = [
            ("r1", ContestantRole::Trained),
            ("both", ContestantRole::Fused),
            ("bm25+mine", ContestantRole::Other),
            ("before", ContestantRole::Untrained),
            ("words", ContestantRole::Bm25),
            ("words", ContestantRole::Bm25),
        ]
        .map(|(name, role)| ContestantOutcome {
            contestant: name.into(),
            role,
            ..ContestantOutcome::default()
        });
        let all = arrange(&outcomes);
        let shown: Vec<(&str, usize)> = all.iter().map(|c| (c.label.as_str(), c.color)).collect();
        assert_eq!(shown, [("BM25", 0), ("untrained", 1), ("bm25+mine", 4), ("trained", 2), ("BM25 + trained", 3)]);
    }
}
