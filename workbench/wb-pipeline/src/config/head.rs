//! The head of a YAML: the comment it begins with, whose first sentence says what the file is and whose line `Cost:`
//! what it takes.

/// The head of a file: what it tells people.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FileHead {
    /// The first sentence; empty where the file begins without a comment.
    pub what: String,
    /// The sentence behind `Cost:`, where there is one.
    pub cost: Option<String>,
}

impl FileHead {
    /// The head of a file's text.
    pub fn of(text: &str) -> Self {
        let lines: Vec<&str> = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim).collect();
        let cost = lines.iter().position(|line| line.starts_with(COST));
        Self {
            what: sentence(&lines),
            cost: cost.map(|at| sentence(&lines[at..])[COST.len()..].trim().to_owned()).filter(|cost| !cost.is_empty()),
        }
    }
}

const COST: &str = "Cost:";

/// The first sentence of a paragraph, without its full stop. A list ends a paragraph too.
fn sentence(lines: &[&str]) -> String {
    let of_paragraph = lines.iter().take_while(|line| !line.is_empty() && !line.starts_with("- "));
    let text = of_paragraph.copied().collect::<Vec<_>>().join(" ");
    let end = text.find(". ").unwrap_or(text.len());
    text[..end].trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sentence_and_the_cost_are_found() {
        let head = FileHead::of(
            "# A small encoder (arXiv 2505.12697), trained on\n# pairs. More of it.\n#\n# Needs: nothing.\n# Cost: about 2.5 hours\n# on 2 cores; less with a GPU. It can be stopped.\n#\n#   wb run x.yaml\nname: x\n# Cost: none\n",
        );
        assert_eq!(head.what, "A small encoder (arXiv 2505.12697), trained on pairs");
        assert_eq!(head.cost.as_deref(), Some("about 2.5 hours on 2 cores; less with a GPU"));
    }

    #[test]
    fn a_list_or_the_end_ends_a_sentence() {
        let head = FileHead::of("# Late interaction\n#\n# Cost: three days\n# - 22,000 steps.\n");
        assert_eq!((head.what.as_str(), head.cost.as_deref()), ("Late interaction", Some("three days")));
        assert_eq!(FileHead::of("name: x\n# Cost: late\n"), FileHead::default());
        assert_eq!(FileHead::of("# Only this.\n# Cost:\n").cost, None);
        assert_eq!(FileHead::of("# Only this.\n").what, "Only this");
    }
}
