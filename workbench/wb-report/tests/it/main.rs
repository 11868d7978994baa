//! Reports of made-up runs: complete, unfinished, broken and hostile ones.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod ab;
mod made_up;
mod rag;
mod runs;
mod triples;

use std::{fs, path::PathBuf};

use made_up::{MadeUp, RUN};
use wb_core::{
    progress::silent,
    records::{journal::StageRecord, outcome::ContestantRole},
    statistics::Interval,
};
use wb_report::{ReportFiles, index, report};

/// A report in a temporary folder.
struct Made {
    files: ReportFiles,
    html: String,
    folder: tempfile::TempDir,
}

fn made(run: &MadeUp, change: impl FnOnce(&PathBuf)) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let run_folder = run.write(&folder.path().join("runs"));
    change(&run_folder);
    let files = report(&run_folder, &folder.path().join("reports"), &mut silent).unwrap();
    let html = fs::read_to_string(&files.html).unwrap();
    Made { files, html, folder }
}

/// The page without pictures and style.
fn bare(html: &str) -> String {
    let (head, rest) = html.split_once("<style>").unwrap();
    let (_, body) = rest.split_once("</style>").unwrap();
    let mut text = String::new();
    let mut parts = body.split("data:image/png;base64,");
    text.push_str(head);
    text.push_str(parts.next().unwrap());
    for part in parts {
        text.push_str("data:…");
        text.push_str(part.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "+/=".contains(c)));
    }
    text
}

/// Where pages are kept for a look with a browser.
fn kept() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("report")
}

fn keep(name: &str, html: &str) {
    fs::create_dir_all(kept()).unwrap();
    fs::write(kept().join(name), html).unwrap();
}

/// Size of a picture and how many of its pixels are not white.
fn ink(file: &PathBuf) -> (u32, u32, usize) {
    let mut reader = png::Decoder::new(fs::File::open(file).unwrap()).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size()];
    let info = reader.next_frame(&mut pixels).unwrap();
    (info.width, info.height, pixels.chunks(3).filter(|pixel| pixel.iter().any(|byte| *byte < 250)).count())
}

#[test]
fn a_whole_run() {
    let mut stages = Vec::new();
    let folder = tempfile::tempdir().unwrap();
    let run = MadeUp::believable().write(&folder.path().join("runs"));
    let out = folder.path().join("reports");
    let files = report(&run, &out, &mut |progress| stages.push(progress.stage)).unwrap();
    let html = fs::read_to_string(&files.html).unwrap();
    stages.dedup();
    assert_eq!(stages, ["reading the run", "drawing charts", "writing the report"]);
    assert_eq!(files.html, out.join(format!("{RUN}.html")));
    insta::assert_snapshot!(bare(&html));
    report(&run, &kept(), &mut silent).unwrap();
    index(&folder.path().join("runs"), &kept()).unwrap();
}

#[test]
fn pictures_are_whole_and_stand_in_the_page() {
    let made = made(&MadeUp::believable(), |_| {});
    let names: Vec<&str> = made.files.pngs.iter().map(|file| file.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "learning_curve.png",
            "validation_curve.png",
            "metric_bars-pairs-pairs-full-test.png",
            "metric_bars-pairs-pairs-1000-test.png",
            "rank_histogram-pairs-pairs-full-test.png",
            "rank_histogram-pairs-pairs-1000-test.png",
        ]
    );
    for file in &made.files.pngs {
        let (width, height, ink) = ink(file);
        assert!(width >= 1032 && height >= 500, "{file:?}: {width} × {height}");
        assert!(ink > 8_000, "{file:?}: {ink} pixels are not white");
    }
    assert_eq!(made.html.matches("<img src=\"data:image/png;base64,").count(), 6);
    assert!(made.html.len() < 2_000_000, "{}", made.html.len());
}

#[test]
fn a_curriculum_is_shown_in_charts_and_as_a_table() {
    let mut run = MadeUp::believable();
    let plain = made(&run, |_| {});
    for step in &mut run.steps {
        step.stage = u32::from(step.step > 120) + u32::from(step.step > 300);
    }
    let stage = |stage, name: &str, first_step, last_step| StageRecord {
        stage,
        name: name.into(),
        first_step,
        last_step,
        epoch: last_step as f64 / 160.0,
        datasets: vec!["csn".into(), "<b>conala</b>".into()],
        pairs: 82_011,
        negatives: 7,
        scale: Some(1.0 / 0.07),
        learning_rate_factor: 0.1,
        max_tokens: Some([64, 128]),
    };
    let stages = [stage(0, "easy & short", 1, 120), stage(1, "medium", 121, 300), stage(2, "hard", 301, 320)];
    let staged = made(&run, |folder| wb_core::run_dir::write_json(&folder.join("curriculum.json"), &stages).unwrap());
    let page = bare(&staged.html);
    for text in [
        "320 steps in 3 stages",
        "easy &amp; short",
        "csn, &lt;b&gt;conala&lt;",
        "121 to 300",
        "0.070 (scale 14.3)",
        "× 0.10",
        "64 / 128",
        "Dashed: a new stage of the curriculum begins.",
    ] {
        assert!(page.contains(text), "{text}");
    }
    // Two dashed lines and three names in each panel.
    for chart in [0, 1] {
        let (before, after) = (ink(&plain.files.pngs[chart]).2, ink(&staged.files.pngs[chart]).2);
        assert!(after > before + 300, "{before} {after}");
    }
    keep("curriculum.html", &staged.html);
    assert!(!bare(&plain.html).contains("Stages of the curriculum"));
}

#[test]
fn the_page_needs_nothing_from_outside() {
    let html = made(&MadeUp::believable(), |_| {}).html;
    assert!(html.contains("content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'"));
    let (_, style) = html.split_once("<style>").unwrap();
    assert!(!style.split_once("</style>").unwrap().0.contains("url("));
    for word in ["<script", "http://", "https://", "<link", "<iframe", "@import"] {
        assert!(!bare(&html).contains(word), "{word}");
    }
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let (a, b) = (made(&MadeUp::believable(), |_| {}), made(&MadeUp::believable(), |_| {}));
    assert!(a.html == b.html);
}

#[test]
fn a_run_that_stopped_says_what_is_missing() {
    let made = made(&MadeUp::believable(), |folder| {
        for part in ["DONE", "verdict.json", "compare.json", "data.json"] {
            fs::remove_file(folder.join(part)).unwrap();
        }
        fs::remove_dir_all(folder.join("bench")).unwrap();
        let mut metrics = fs::read(folder.join("metrics.jsonl")).unwrap();
        metrics.truncate(metrics.len() - 20);
        fs::write(folder.join("metrics.jsonl"), metrics).unwrap();
    });
    for text in [
        "This run did not finish.",
        "The last step that it wrote is step 319.",
        "NO VERDICT",
        ">bench/</span> is missing: the page lacks every measured number.",
        ">data.json</span> is missing",
        "metrics.jsonl: 1 of 320 lines left out, the first at line 320",
    ] {
        assert!(made.html.contains(text), "{text}");
    }
    assert_eq!(made.files.pngs.len(), 2);
    keep("stopped.html", &made.html);
}

#[test]
fn each_part_may_be_missing_or_broken() {
    for part in [
        "manifest.json",
        "config.yaml",
        "data.json",
        "metrics.jsonl",
        "validation.jsonl",
        "compare.json",
        "verdict.json",
        "bench/0.json",
    ] {
        let name = part.trim_start_matches("bench/");
        let without = made(&MadeUp::believable(), |folder| fs::remove_file(folder.join(part)).unwrap());
        assert!(part.starts_with("bench") || without.html.contains(&format!(">{name}</span> is missing")), "{part}");
        let broken = made(&MadeUp::believable(), |folder| fs::write(folder.join(part), b"{\"a\": \xff").unwrap());
        assert!(broken.html.contains(&format!("{name} ")) || broken.html.contains(&format!("{name}: ")), "{part}");
        assert!(broken.html.contains("Not everything could be read"), "{part}");
    }
}

#[test]
fn what_is_no_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("reports");
    for place in [folder.path().join("nothing"), folder.path().to_owned()] {
        let error = report(&place, &out, &mut silent).unwrap_err();
        assert!(error.to_string().contains("is not a run folder: "), "{error}");
        assert!(error.hint().is_some());
    }
    assert!(!out.exists());
}

#[test]
fn hostile_texts_stay_texts() {
    let hostile = [
        "</script><script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "\" onmouseover=\"alert(1)",
        "' autofocus onfocus='alert(1)",
        "</pre></details></style><svg/onload=alert(1)>",
        "{{ run }}{% include 'x' %}{# c #}",
        "a\u{2028}b\u{202e}c\u{0}d",
        "]]><!--",
        "javascript:alert(1)",
    ];
    for text in hostile {
        let mut run = MadeUp::believable();
        let name: String = text.chars().filter(|c| *c != '/' && *c != '\0').collect();
        run.id = name.clone();
        run.manifest.run = text.into();
        run.manifest.command = text.into();
        run.manifest.fingerprints.insert(text.into(), text.into());
        run.config = text.into();
        run.verdict.line = text.into();
        run.compared = vec![made_up::test(text, text, [text, text], [0.1, 0.0, 0.2], 0.5)];
        run.data.licenses.insert(text.into(), 1);
        run.data.sources[0].name = text.into();
        run.data.sources[0].skipped.insert(text.into(), 2);
        run.data.gates[0].name = text.into();
        run.data.gates[0].examples[0].anchor = text.into();
        run.data.leaks[1].kind = text.into();
        run.data.leaks[1].examples.push(text.into());
        for outcome in &mut run.outcomes {
            outcome.benchmark = text.into();
            outcome.settings.push((text.into(), text.into()));
            outcome.warnings.push(text.into());
            outcome.not_run[0].reason = text.into();
            outcome.audit[0].what = text.into();
            outcome.protocols[0].id = text.into();
            outcome.protocols[0].description = text.into();
            outcome.protocols[0].metric = text.into();
            outcome.protocols[1].language = text.into();
            for example in &mut outcome.examples {
                (example.query, example.answer, example.id) = (text.into(), text.into(), text.into());
                (example.returned[0].text, example.returned[0].id) = (text.into(), text.into());
            }
        }
        (run.outcomes[3].contestant, run.outcomes[3].role) = (text.into(), ContestantRole::Other);
        let made = made(&run, |_| {});
        check_html(&bare(&made.html), text);
        let list = index(&made.folder.path().join("runs"), &made.folder.path().join("reports")).unwrap();
        check_html(&bare(&fs::read_to_string(list).unwrap()), text);
        assert!(made.files.html.starts_with(made.folder.path().join("reports")));
    }
}

/// Reads the page as a browser does and looks at every tag and attribute.
fn check_html(html: &str, hostile: &str) {
    check_html_with(html, hostile, "", "");
}

/// The same for a page that has these tags and attributes too.
fn check_html_with(html: &str, hostile: &str, more_tags: &str, more_attributes: &str) {
    const TAGS: &str = "a b body br caption code details div figcaption figure footer h1 h2 h3 h4 head header html img li main meta nav p pre \
                        span strong style summary table tbody td th thead title tr ul";
    const ATTRIBUTES: &str =
        "alt aria-label charset class colspan content height href http-equiv id lang name open src title width";
    let mut rest = html.strip_prefix("<!DOCTYPE html>").unwrap();
    while let Some(at) = rest.find('<') {
        let end = at + rest[at..].find('>').unwrap_or_else(|| panic!("a tag that does not end: {hostile:?}"));
        let tag = rest[at + 1..end].trim_start_matches('/');
        let (name, mut attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        assert!(
            TAGS.split_whitespace().chain(more_tags.split_whitespace()).any(|known| known == name),
            "<{tag}> out of {hostile:?}"
        );
        while !attributes.trim().is_empty() {
            let (key, after) = attributes.split_once('=').unwrap_or((attributes, ""));
            assert!(
                ATTRIBUTES
                    .split_whitespace()
                    .chain(more_attributes.split_whitespace())
                    .any(|known| known == key.trim()),
                "attribute {key} of <{tag}> out of {hostile:?}"
            );
            let Some(value) = after.strip_prefix('"') else { break };
            let (value, later) = value.split_once('"').unwrap();
            assert!(key.trim() != "href" || value.starts_with('#') || value.starts_with("./"), "{value}");
            assert!(key.trim() != "src" || value == "data:…", "{value}");
            attributes = later;
        }
        rest = &rest[end + 1..];
    }
    for raw in ["\u{2028}", "\u{202e}", "\u{0}"] {
        assert!(!html.contains(raw));
    }
}

#[test]
fn numbers_out_of_all_bounds_do_no_harm() {
    let mut run = MadeUp::believable();
    run.steps[3].loss = 1e300;
    run.steps[4].step = u64::MAX;
    run.steps[5].learning_rate = -1e300;
    run.steps.truncate(8);
    run.validations[1].mrr = -5.0;
    run.validations[2].mrr = 1e9;
    run.validations.truncate(3);
    run.data.gates[0].after = u64::MAX;
    run.data.licenses.insert("x".into(), u64::MAX);
    let score = &mut run.outcomes[0].protocols[0];
    (score.value, score.interval, score.pool) = (7.5, Interval { low: -3.0, high: 1e200 }, u64::MAX);
    run.outcomes[1].protocols[1].value = -0.5;
    run.outcomes[1].protocols[2].queries[0].rank = u64::MAX;
    let made = made(&run, |folder| {
        let mut metrics = fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
        metrics.push_str("{\"step\": 9, \"epoch\": 1, \"stage\": 0, \"loss\": null, \"learning_rate\": 0.1, \"grad_norm\": null, \"pairs\": 1, \"tokens\": 1}\n");
        fs::write(folder.join("metrics.jsonl"), metrics).unwrap();
    });
    assert!(made.html.contains("metrics.jsonl: 1 of 9 lines left out"), "a loss that is no number is told");
    assert_eq!(made.files.pngs.len(), 6);
}

#[test]
fn many_languages_stand_side_by_side() {
    let mut run = MadeUp::believable();
    for outcome in &mut run.outcomes {
        let scores = outcome.protocols.clone();
        outcome.benchmark = "codesearchnet".into();
        outcome.protocols.clear();
        for language in ["ruby", "javascript", "go", "python", "java", "php", "all"] {
            for score in scores.iter().filter(|score| score.metric == "mrr" || score.metric == "ndcg@10") {
                let id = if score.id == "pairs-full" { "csn-clean-full" } else { "csn-1000" };
                outcome.protocols.push(wb_core::records::outcome::ProtocolScore {
                    id: id.into(),
                    language: language.into(),
                    ..score.clone()
                });
            }
        }
    }
    let made = made(&run, |_| {});
    assert!(made.html.contains("javascript<span class=\"interval\">pool 2,534</span>"));
    assert!(made.html.contains("codesearchnet, version 1: 112 numbers"));
    assert_eq!(made.files.pngs.len(), 6);
    keep("languages.html", &made.html);
}
