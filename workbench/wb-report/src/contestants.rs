//! Who is measured: the order, the name and the color of each contestant, the same in every table and chart.

/// What a contestant is to the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The lexical baseline.
    Bm25,
    /// The encoder before training.
    Untrained,
    /// Another model or run.
    Other,
    /// The encoder that this run trained.
    Trained,
    /// The trained encoder with BM25's scores added.
    Fused,
}

/// One contestant as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contestant {
    /// As the outcome names it.
    pub key: String,
    /// As people read it.
    pub label: String,
    /// What it is to the run.
    pub role: Role,
    /// Index into [`PALETTE`], and the number of the CSS class `c0`…`c8`.
    pub color: usize,
}

/// Okabe and Ito's colors for all kinds of color vision, with a grey: the grey for the untrained encoder,
/// blue for the trained one, orange for BM25, green for both together, the others for whoever else is there.
pub const PALETTE: [(u8, u8, u8); 9] = [
    (230, 159, 0),
    (138, 145, 153),
    (0, 114, 178),
    (0, 158, 115),
    (213, 94, 0),
    (204, 121, 167),
    (86, 180, 233),
    (0, 0, 0),
    (177, 155, 0),
];

/// Orders contestants for tables and charts: baselines first, the trained encoder after, its mixture with BM25 last.
/// `run` is the run's own id, which some benchmarks use for the trained encoder.
pub fn arrange<'a>(keys: impl IntoIterator<Item = &'a str>, run: &str) -> Vec<Contestant> {
    let mut contestants: Vec<Contestant> = Vec::new();
    for key in keys {
        if contestants.iter().all(|known| known.key != key) {
            let role = role(key, run);
            contestants.push(Contestant { key: key.to_owned(), label: label(key, role), role, color: 0 });
        }
    }
    contestants.sort_by(|a, b| a.role.cmp(&b.role).then_with(|| a.key.cmp(&b.key)));
    let mut taken = [0usize; 5];
    for contestant in &mut contestants {
        let nth = taken[contestant.role as usize];
        taken[contestant.role as usize] += 1;
        contestant.color = match (contestant.role, nth) {
            (Role::Bm25, 0) => 0,
            (Role::Untrained, 0) => 1,
            (Role::Trained, 0) => 2,
            (Role::Fused, 0) => 3,
            (_, nth) => 4 + nth % 5,
        };
    }
    contestants
}

fn role(key: &str, run: &str) -> Role {
    match key {
        "bm25" => Role::Bm25,
        "untrained" => Role::Untrained,
        "trained" => Role::Trained,
        _ if !run.is_empty() && key == run => Role::Trained,
        _ if key.split('+').any(|part| part.trim() == "bm25") => Role::Fused,
        _ => Role::Other,
    }
}

fn label(key: &str, role: Role) -> String {
    match role {
        Role::Bm25 => "BM25".to_owned(),
        Role::Untrained | Role::Trained => role_word(role).to_owned(),
        Role::Fused => {
            let parts: Vec<&str> =
                key.split('+').map(str::trim).map(|part| if part == "bm25" { "BM25" } else { part }).collect();
            parts.join(" + ")
        }
        Role::Other => key.to_owned(),
    }
}

fn role_word(role: Role) -> &'static str {
    if role == Role::Untrained { "untrained" } else { "trained" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn baselines_come_first_and_colors_stay() {
        let all = arrange(["trained", "bm25+trained", "minilm", "untrained", "bm25", "bm25"], "r1");
        let shown: Vec<(&str, usize)> = all.iter().map(|c| (c.label.as_str(), c.color)).collect();
        assert_eq!(shown, [("BM25", 0), ("untrained", 1), ("minilm", 4), ("trained", 2), ("BM25 + trained", 3)]);
        assert_eq!(arrange(["r1"], "r1")[0].role, Role::Trained);
    }
}
