//! Units of small files, and what holds of the units of any.

use proptest::prelude::*;

use super::*;

fn short(text: &str, language: &str) -> Vec<String> {
    let one = |unit: CodeUnit| {
        format!(
            "{}-{} {} in {} to {}",
            unit.lines[0],
            unit.lines[1],
            unit.names.join(","),
            unit.scope.join("."),
            unit.head
        )
    };
    cut(text, language).into_iter().map(one).collect()
}

#[test]
fn functions_and_what_is_between_them() {
    let body = |n: usize| "        x = compute(x)\n".repeat(n);
    let text = format!(
        "import a\n\n\n# Doc.\ndef one():\n{}\n\nclass C:\n    \"\"\"Of C.\"\"\"\n    def two(self):\n{}\n    def three(self):\n{}",
        body(20),
        body(50),
        body(60),
    );
    assert_eq!(
        short(&text, "python"),
        ["1-1  in  to 0", "4-25 one in  to 5", "28-29 C in C to 28", "30-80 two in C to 30", "82-142 three in C to 82"]
    );
}

#[test]
fn cells_are_units_with_the_prose_above_them() {
    let body = |n: usize| "x = compute(x)\n".repeat(n);
    let text = format!(
        "import a\n# %% [markdown]\n# Load.\n\n# %%\ndef load():\n    pass\n{}# %% Fit\n{}# %% [markdown]\n# The end.\n",
        body(40),
        body(120)
    );
    // A long cell is cut, and its end stands with the prose behind it, which is no cell's.
    let expected = ["1-1  in  to 0", "2-47 load in  to 5", "48-154  in  to 48", "155-170  in  to 154"];
    assert_eq!(short(&text, "python"), expected);
    assert_eq!(short("%% not a cell\n", "python"), ["1-1  in  to 0"]);
}

#[test]
fn small_neighbors_stand_together_and_long_functions_are_cut() {
    let text = "fn a() {}\n\nfn b() {}\n";
    assert_eq!(short(text, "rust"), ["1-3 a,b in  to 1"]);
    let long = format!("fn long() {{\n{}}}\n", "    let value = another(value);\n".repeat(100));
    let found = cut(&long, "rust");
    assert_eq!(found.len(), 3);
    assert_eq!((found[0].names.as_slice(), found[1].names.len()), (&["long".to_owned()][..], 0));
    assert!(found.iter().all(|unit| unit.scope == ["long"]), "{found:?}");
}

proptest! {
    /// Lines of all languages' units follow each other, and only empty lines are left out.
    #[test]
    fn every_line_is_in_one_unit(
        lines in prop::collection::vec("( {0,8})(|def a\\(\\):|class B:|fun x\\(\\) \\{|\\}|# c|x = 1|## H|\\PC{0,60})", 0..60),
        language in prop::sample::select(vec!["python", "rust", "kotlin", "scala", "haskell", "elixir", "dart", "text", "javascript"]),
        repeat in 1..8_usize,
    ) {
        let text = lines.join("\n").repeat(repeat);
        let all: Vec<&str> = text.lines().collect();
        let mut next = 1;
        for unit in cut(&text, language) {
            prop_assert!(unit.lines[0] >= next && unit.lines[0] <= unit.lines[1] && unit.lines[1] as usize <= all.len());
            prop_assert!((next..unit.lines[0]).all(|line| all[line as usize - 1].trim().is_empty()));
            prop_assert!(unit.head + 1 >= unit.lines[0] && unit.head <= unit.lines[1]);
            next = unit.lines[1] + 1;
        }
        prop_assert!((next as usize..=all.len()).all(|line| all[line - 1].trim().is_empty()));
    }
}
