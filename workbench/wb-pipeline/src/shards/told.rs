//! Plans and shards in lines.

use anyhow::Result;
use wb_core::quantities::{about, about_duration, bytes, grouped};
use wb_shards::{AttemptEnd, MergedRecord, OpenPlan, WorkStatus};

use super::ShardStage;
use crate::output;

/// Tells of a plan; the last line is its place, which scripts take.
pub fn print_plan(plan: &OpenPlan) {
    let planned = plan.plan();
    let s = |number: u64| if number == 1 { "" } else { "s" };
    let (rows, shards) = (planned.rows, u64::from(planned.shards()));
    output::line(format!(
        "{} of {} {}{} in {shards} shard{} of at most {}",
        planned.stage,
        grouped(&rows.to_string()),
        unit(&planned.stage),
        s(rows),
        s(shards),
        grouped(&planned.rows_per_shard.to_string())
    ));
    let inputs: u64 = planned.inputs.values().map(|input| input.bytes).sum();
    output::line(format!("{} inputs, {}; device {}", planned.inputs.len(), bytes(inputs), planned.build.device));
    output::line(format!(
        "next: wb shards run {} --shard I, for I from 0 to {}",
        plan.place(),
        shards.saturating_sub(1)
    ));
    output::line(plan.place());
}

/// Tells that a pass is done, and of the plan of the next.
pub fn print_next(next: &OpenPlan) {
    output::line("the shards are whole, and there is a further pass over what they made; after it, merge that:");
    print_plan(next);
}

/// The thing that rows of a plan are: of preparation files, or ranges of what an earlier pass has made.
fn unit(stage: &str) -> &'static str {
    match stage.parse() {
        Ok(ShardStage::Prepare) => "part",
        Ok(ShardStage::Match | ShardStage::Verify) => "range",
        Ok(ShardStage::Synth | ShardStage::Annotate) => "question",
        Ok(ShardStage::Sweep) => "run",
        _ => "row",
    }
}

/// Tells how an attempt at a shard has ended.
pub fn print_end(shard: u32, end: &AttemptEnd) {
    output::line(match end {
        AttemptEnd::Committed(made) => {
            format!("shard {shard}: rows {} to {}, {:.1} s", made.rows[0], made.rows[1], made.seconds)
        }
        AttemptEnd::There(made) => format!("shard {shard}: done already, by {}", made.attempt),
        AttemptEnd::Lost(made) => format!("shard {shard}: done meanwhile by {}", made.attempt),
    });
}

/// Tells how far the shards of a plan are; as JSON, or in words.
pub fn print_status(status: &WorkStatus, json: bool) -> Result<()> {
    if json {
        output::line(serde_json::to_string_pretty(status)?);
    } else {
        print_words(status);
    }
    Ok(())
}

fn print_words(status: &WorkStatus) {
    let percent = 100.0 * status.rows_done as f64 / status.rows.max(1) as f64;
    let WorkStatus { shards, done, waiting, .. } = status;
    let running = shards - done - waiting;
    output::line(format!(
        "{done} of {shards} shards done ({percent:.0} % of the rows), {running} running, {waiting} waiting"
    ));
    if let Some(rate) = status.rows_per_second {
        let left = status.seconds_left.filter(|left| *left > 0.0);
        let left = left.map(|left| format!("; {} left at this rate", about_duration(left)));
        output::line(format!("{} rows a second{}", about(rate), left.unwrap_or_default()));
    }
    if status.running.is_empty() {
        return;
    }
    let row = |state: &wb_shards::ShardState| {
        let remark = match (state.is_silent, state.is_straggler) {
            (true, _) => "silent for two minutes",
            (false, true) => "takes three times as long as others",
            (false, false) => "",
        };
        let done = if state.total == 0 { String::new() } else { format!("{} of {}", state.done, state.total) };
        vec![
            state.shard.to_string(),
            state.attempt.clone(),
            state.doing.clone(),
            done,
            about_duration(state.seconds),
            remark.to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = status.running.iter().map(row).collect();
    output::table(&["shard", "attempt", "doing", "done", "for", ""], &rows);
}

/// Tells shards that are not done: one a line, or in one line as `sbatch --array` takes them.
pub fn print_missing(missing: &[u32], in_ranges: bool) {
    if in_ranges {
        output::line(ranges(missing));
    } else {
        missing.iter().for_each(|shard| output::line(shard.to_string()));
    }
}

/// `0-3,7,9-10`
pub(super) fn ranges(numbers: &[u32]) -> String {
    let mut parts: Vec<[u32; 2]> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some([_, end]) if *end + 1 == *number => *end = *number,
            _ => parts.push([*number, *number]),
        }
    }
    let text = |[from, to]: [u32; 2]| if from == to { from.to_string() } else { format!("{from}-{to}") };
    parts.into_iter().map(text).collect::<Vec<_>>().join(",")
}

/// Tells what a plan has come to.
pub fn print_merged(record: &MergedRecord, out: Option<&std::path::Path>) {
    for (name, length, blake3) in &record.files {
        let place = out.map_or_else(|| name.clone(), |out| out.join(name).display().to_string());
        output::line(format!("{place}: {}, BLAKE3 {}", bytes(*length), &blake3[..12.min(blake3.len())]));
    }
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn numbers_in_a_row_are_a_range() {
        assert_eq!(ranges(&[0, 1, 2, 3, 7, 9, 10]), "0-3,7,9-10");
        assert_eq!((ranges(&[]).as_str(), ranges(&[5]).as_str()), ("", "5"));
    }
}
