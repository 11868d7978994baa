//! Sources on real data, where it is there.

use std::{io::Write, path::PathBuf};

use super::tests::get;

/// The folder of shared data, or `None` with a line that says that the test was skipped.
fn shared(test: &str) -> Option<PathBuf> {
    let named = std::env::var_os("WB_SHARED").map(PathBuf::from);
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = named.unwrap_or(beside).join("data");
    if folder.is_dir() {
        return Some(folder);
    }
    // Past the capture of test output, so that skipped tests are seen and counted.
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: no shared data at {}", folder.display());
    None
}

#[test]
fn real_functions_of_ruby() {
    let Some(data) = shared("real_functions_of_ruby") else { return };
    let yaml = "sources: [{ records: { path: HERE/codesearchnet/ruby/valid.jsonl, fields: { text: code, context: docstring } } }]\nfilters: { min_chars: 1, unique: false";
    let whole = get(&data, &format!("{yaml} }}")).unwrap();
    assert_eq!((whole.snippets.len(), whole.card.by_language["ruby"]), (1400, 1400));
    assert!(whole.snippets.iter().all(|snippet| !snippet.context.is_empty() && !snippet.origin.group.is_empty()));
    let stripped = get(&data, &format!("{yaml}, strip_comments: true }}")).unwrap();
    let (with, without) = (whole.card.tokens, stripped.card.tokens);
    assert!(without < with && without * 10 > with * 7, "{with} {without}");
    // What is left has no comment, and nothing else went: stripping it again changes nothing.
    for snippet in &stripped.snippets {
        let again = wb_code::strip_comments(&snippet.text, wb_code::Language::Ruby).unwrap();
        assert_eq!(again.trim_end(), snippet.text, "{}", snippet.id);
    }
    let lengths = |total: usize| {
        let draw = format!("draw: {{ per_group: 5, total: {total}, buckets: [50, 100, 200] }}");
        let set = get(&data, &format!("{yaml} }}\n{draw}")).unwrap();
        set.card.by_length.into_iter().map(|(_, count)| count).collect::<Vec<u64>>()
    };
    // Few functions are long: all 43 of them are drawn, and what they leave of 300 is shared by the others.
    let all = lengths(1400);
    assert!(all[3] == 43 && all[..3].iter().all(|count| *count > 86), "{all:?}");
    assert_eq!(lengths(300), [86, 86, 85, 43]);
}

#[test]
fn real_tables() {
    let Some(data) = shared("real_tables") else { return };
    // 7,184 rows as sqlite3 counts them, all with a name.
    let yaml = "sources: [{ sqlite: { path: HERE/spider/database/flight_4/flight_4.sqlite, table: airports, columns: { text: name, group: country, id: apid } } }]\nfilters: { min_chars: 1, unique: false }";
    let set = get(&data, yaml).unwrap();
    assert_eq!(set.card.sources[0].snippets + set.card.sources[0].left_out.values().sum::<u64>(), 7184);
    assert_eq!(set.snippets.len(), 7184);
}
