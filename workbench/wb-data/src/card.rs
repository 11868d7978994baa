//! The data card as Markdown: what a person wants to know of a data set before training on it.

use std::{collections::BTreeMap, fmt::Write};

use wb_core::records::data::DataCard;

/// The card as a page.
pub fn render(card: &DataCard) -> String {
    let mut page = String::new();
    // Writing to a string cannot fail.
    let _ = write(card, &mut page);
    page
}

fn write(card: &DataCard, page: &mut String) -> std::fmt::Result {
    writeln!(page, "# Data card\n")?;
    writeln!(page, "| part | pairs | groups | languages | data sets |\n|---|---:|---:|---|---|")?;
    for name in ["train", "validation", "test"] {
        let Some(split) = card.splits.get(name) else { continue };
        let (languages, datasets) = (counts(&split.languages), counts(&split.datasets));
        writeln!(page, "| {name} | {} | {} | {languages} | {datasets} |", split.pairs, split.groups)?;
    }
    let texts: u64 = card.splits.values().map(|split| split.texts).sum();
    if texts > 0 {
        writeln!(page, "\n{texts} of the training pairs are texts without a label.")?;
    }
    writeln!(page, "\n## Sources\n\n| source | pairs | left out |\n|---|---:|---|")?;
    for source in &card.sources {
        writeln!(page, "| {} | {} | {} |", cell(&source.name), source.pairs, counts(&source.skipped))?;
    }
    writeln!(page, "\n## Gates\n\n| gate | before | after | dropped |\n|---|---:|---:|---|")?;
    for gate in &card.gates {
        let dropped = counts(&gate.dropped);
        writeln!(page, "| {} | {} | {} | {dropped} |", cell(&gate.name), gate.before, gate.after)?;
    }
    if card.gates.iter().any(|gate| !gate.examples.is_empty()) {
        writeln!(page, "\n### Dropped, for example\n\n| gate | reason | pair | anchor |\n|---|---|---|---|")?;
        for gate in &card.gates {
            for example in &gate.examples {
                let (reason, id, anchor) = (cell(&example.reason), cell(&example.id), cell(&example.anchor));
                writeln!(page, "| {} | {reason} | {id} | {anchor} |", cell(&gate.name))?;
            }
        }
    }
    writeln!(
        page,
        "\n## What test shares with train\n\n| kind | test pairs | of | for example |\n|---|---:|---:|---|"
    )?;
    for leak in &card.leaks {
        let examples = leak.examples.iter().map(|example| cell(example)).collect::<Vec<_>>().join("; ");
        writeln!(page, "| {} | {} | {} | {examples} |", cell(&leak.kind), leak.count, leak.of)?;
    }
    writeln!(page, "\n## Licences\n\n| licence | pairs |\n|---|---:|")?;
    for (license, count) in &card.licenses {
        writeln!(page, "| {} | {count} |", cell(license))?;
    }
    Ok(())
}

/// Names with their counts, the highest first; a name that is empty is left out.
fn counts(counts: &BTreeMap<String, u64>) -> String {
    let mut sorted: Vec<(&String, &u64)> = counts.iter().filter(|(name, _)| !name.is_empty()).collect();
    sorted.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    sorted.iter().map(|(name, count)| format!("{} {count}", cell(name))).collect::<Vec<_>>().join(", ")
}

/// A text that stays inside its cell of a Markdown table and is shown as it is.
pub fn cell(text: &str) -> String {
    let mut cell = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '#' => {
                cell.push('\\');
                cell.push(c);
            }
            c if c.is_control() => cell.push(' '),
            c => cell.push(c),
        }
    }
    cell
}
