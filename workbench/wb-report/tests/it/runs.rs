//! The page of all runs: leaderboards, the list, and the data.

use std::fs;

use wb_report::index;

use crate::{
    bare, check_html, keep,
    made_up::{MadeUp, RUN},
};

#[test]
fn the_list_of_runs_links_what_has_a_report() {
    let made = crate::made(&MadeUp::believable(), |_| {});
    let runs = made.folder.path().join("runs");
    let mut other = MadeUp::believable();
    other.id = "2026-11-22-other-00000000".into();
    fs::remove_file(other.write(&runs).join("DONE")).unwrap();
    let list = fs::read_to_string(index(&runs, &made.folder.path().join("reports")).unwrap()).unwrap();
    assert!(list.contains(&format!("<a href=\"./{RUN}.html\">{RUN}</a>")));
    assert!(list.contains("2026-11-22-other-00000000 <span class=\"muted\">(no report yet)"));
    assert!(list.contains("not finished"));
}

#[test]
fn runs_on_the_same_data_stand_in_one_leaderboard() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    let mut older = MadeUp::believable();
    older.manifest.fingerprints.insert("data".into(), "d".repeat(64));
    older.write(&runs);
    let mut newer = MadeUp::believable();
    newer.manifest = older.manifest.clone();
    newer.id = "2026-11-22-longer-00000000".into();
    let trained = &mut newer.outcomes[2];
    trained.contestant_fingerprint = "f".repeat(64);
    trained.base = Some("owner/base".into());
    trained.protocols[0].value += 0.3;
    fs::write(newer.write(&runs).join("bench/9.json"), b"{\"broken\": ").unwrap();
    let html = fs::read_to_string(index(&runs, &folder.path().join("reports")).unwrap()).unwrap();
    keep("runs.html", &html);
    let words = bare(&html);
    check_html(&words, "");
    let (list, rest) = words.split_once("<h2 id=\"leaderboards\">").unwrap();
    assert!(list.find("2026-11-22-longer-00000000").unwrap() < list.find(RUN).unwrap(), "the newest first");
    let (boards, data) = rest.split_once("<h2 id=\"data\">").unwrap();
    assert_eq!(boards.matches("<h3>").count(), 2, "a board a protocol");
    // BM25, the start and the mixture are the same in both runs.
    assert_eq!(boards.matches("<span class=\"muted\">and 1 more</span>").count(), 6);
    let (full, _) =
        boards.split_once("<h3>pairs-full</h3>").map(|(_, after)| after.split_once("</table>").unwrap()).unwrap();
    assert_eq!(full.matches("<tr>").count(), 6, "five contestants under a head");
    let (_, best) = full.split_once("<td class=\"n\">1</td>").unwrap();
    let (best, _) = best.split_once("</tr>").unwrap();
    assert!(best.contains("trained") && best.contains("owner/base") && best.contains("longer"), "{best}");
    assert!(data.contains(">dddddddddddd</th>") && data.contains("<td class=\"n\">2</td>"), "{data}");
    assert!(data.contains("<td class=\"wide\">query of 20 letters or fewer</td><td class=\"n\">15,204</td>"), "{data}");
}

#[test]
fn a_folder_without_runs_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let html = fs::read_to_string(index(&folder.path().join("runs"), folder.path()).unwrap()).unwrap();
    assert!(html.contains("There is no run yet.") && !html.contains("leaderboards"), "{html}");
}
