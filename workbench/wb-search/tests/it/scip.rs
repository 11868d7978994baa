//! An `index.scip` beside a project: its edges are exact while its files are as it saw them; a hostile one is refused.

use std::{collections::BTreeSet, fs, path::Path};

use scip::types::{Document, Index, Metadata, MultiLineRange, Occurrence, PositionEncoding, SingleLineRange};
use wb_code::structure::{
    EdgeClass, StructureSet,
    scip::{SCIP_FILE, ScipIndex},
};
use wb_search::structure::{ProjectGraph, ScipCoverage};

use super::{
    structure::{Kept, told, usages},
    write,
};

const SHOP: &str = "class Order:\n    def total(self):\n        return 1\n";
const MAIN: &str = "from shop import Order\n\ndef run(order, other):\n    order.total()\n    other.total()\n";
const TOTAL: &str = "scip-python python shop 1 shop/Order#total().";
const FOREIGN: &str = "scip-python python elsewhere 1 elsewhere/Other#total().";

/// A name at a line and a column, from 0, and its symbol.
fn occurrence(range: [i32; 3], symbol: &str, is_definition: bool) -> Occurrence {
    let (range, symbol, symbol_roles) = (range.to_vec(), symbol.to_owned(), i32::from(is_definition));
    Occurrence { range, symbol, symbol_roles, ..Occurrence::default() }
}

fn document(path: &str, occurrences: Vec<Occurrence>) -> Document {
    Document { relative_path: path.to_owned(), occurrences, ..Document::default() }
}

/// Writes an index as the makers of the format do.
fn write_scip(file: &Path, documents: Vec<Document>) {
    let metadata = Some(Metadata::default()).into();
    scip::write_message_to_file(file, Index { documents, metadata, ..Index::default() }).unwrap();
}

fn shop() -> Vec<Document> {
    let order = "scip-python python shop 1 shop/Order#";
    vec![
        document("shop.py", vec![occurrence([0, 6, 11], order, true), occurrence([1, 8, 13], TOTAL, true)]),
        document(
            "main.py",
            vec![
                occurrence([0, 17, 22], order, false),
                occurrence([3, 10, 15], TOTAL, false),
                occurrence([4, 10, 15], FOREIGN, false),
            ],
        ),
    ]
}

/// A project of two files with its index.scip.
fn kept() -> Kept {
    let kept = Kept::of(&[("shop.py", SHOP), ("main.py", MAIN)]);
    write_scip(&kept.root().join(SCIP_FILE), shop());
    kept.bring_up();
    kept
}

fn coverage(graph: &ProjectGraph) -> Option<[usize; 2]> {
    graph.scip().map(|ScipCoverage { documents, current }| [documents, current])
}

#[test]
fn edges_of_an_indexer_replace_guesses() {
    let guessing = Kept::of(&[("shop.py", SHOP), ("main.py", MAIN)]);
    assert_eq!(usages(&guessing.graph(), "total"), ["NameOnly main.py:4 [run]", "NameOnly main.py:5 [run]"]);
    assert_eq!(guessing.graph().scip(), None);
    let kept = kept();
    let graph = kept.graph();
    assert_eq!(coverage(&graph), Some([2, 2]));
    assert_eq!(usages(&graph, "total"), ["Exact main.py:4 [run]"], "the other is another project's");
    let at = graph.definitions_at("main.py", 4, Some(11)).unwrap();
    assert_eq!(at.iter().map(|it| (it.0, it.1.line)).collect::<Vec<_>>(), [(EdgeClass::Exact, 2)]);
    assert!(graph.definitions_at("main.py", 5, Some(11)).unwrap().is_empty());
    let callers = graph.callers(&graph.definitions("total").unwrap(), 1).unwrap();
    assert_eq!(
        (callers[0].symbol.name.as_str(), callers[0].edge, &callers[0].lines),
        ("run", EdgeClass::Exact, &vec![4])
    );
    let calls = graph.calls(&graph.definitions("run").unwrap()[0]).unwrap();
    let lines: Vec<Vec<String>> =
        calls.iter().map(|it| told(&it.definitions.iter().map(|it| it.1.clone()).collect::<Vec<_>>())).collect();
    assert_eq!(lines, [vec!["shop.py:2 Order.total".to_owned()], vec![]]);
}

#[test]
fn a_file_that_is_not_what_it_was_is_asked_by_our_own_rules() {
    let kept = kept();
    let by_name = ["NameOnly main.py:4 [run]", "NameOnly main.py:5 [run]"];
    // The name stands where it stood.
    write(kept.root(), "main.py", &MAIN.replace("other.total()", "other.total(1)"));
    assert_eq!(
        (usages(&kept.graph(), "total"), coverage(&kept.graph())),
        (by_name.map(String::from).into(), Some([2, 1]))
    );
    // The same index.scip says nothing of another text, whenever it is read.
    kept.bring_up();
    assert_eq!(
        (usages(&kept.graph(), "total"), coverage(&kept.graph())),
        (by_name.map(String::from).into(), Some([2, 1]))
    );
    write(kept.root(), "main.py", MAIN);
    assert_eq!(usages(&kept.graph(), "total"), ["Exact main.py:4 [run]"]);
    // The file in which it is defined.
    write(kept.root(), "shop.py", &format!("# A remark.\n{SHOP}"));
    assert_eq!(usages(&kept.graph(), "total"), ["NameOnly main.py:4 [run]"], "the other is another project's still");
    write(kept.root(), "shop.py", SHOP);
    assert_eq!(coverage(&kept.graph()), Some([2, 2]));
    fs::remove_file(kept.root().join(SCIP_FILE)).unwrap();
    kept.bring_up();
    assert_eq!(coverage(&kept.graph()), None);
}

#[test]
fn an_older_index_is_not_believed() {
    let kept = Kept::of(&[("shop.py", &format!("# A remark.\n{SHOP}")), ("main.py", MAIN)]);
    write_scip(&kept.root().join(SCIP_FILE), shop());
    kept.bring_up();
    assert_eq!(coverage(&kept.graph()), Some([2, 1]));
    // Once the file is what it was, it is.
    write(kept.root(), "shop.py", SHOP);
    kept.bring_up();
    assert_eq!(coverage(&kept.graph()), Some([2, 2]));
}

#[test]
fn a_file_that_is_named_is_taken_and_kept_to() {
    let kept = Kept::of(&[("shop.py", SHOP), ("main.py", MAIN)]);
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("ci.scip");
    let mut place = kept.place();
    place.scip = Some(file.clone());
    let mut update = place.update_of(place.read().unwrap().unwrap()).unwrap();
    let missing = update.structures(&mut |_| {}).unwrap_err();
    assert!(missing.to_string().contains("ci.scip"), "{missing}");
    write_scip(&file, shop());
    update.structures(&mut |_| {}).unwrap();
    update.keep().unwrap();
    fs::remove_file(&file).unwrap();
    kept.bring_up();
    assert_eq!(coverage(&kept.graph()), Some([2, 2]));
}

#[test]
fn columns_are_counted_in_the_units_of_the_document() {
    let text = "a = '\u{e9}\u{1f600}'; b = 1\n";
    for (encoding, column) in [
        (PositionEncoding::UTF8CodeUnitOffsetFromLineStart, 14),
        (PositionEncoding::UTF16CodeUnitOffsetFromLineStart, 11),
        (PositionEncoding::UTF32CodeUnitOffsetFromLineStart, 10),
        (PositionEncoding::UnspecifiedPositionEncoding, 11),
    ] {
        let mut document = document("a.py", vec![occurrence([0, column, column + 1], "p m n 1 a/b.", true)]);
        document.position_encoding = encoding.into();
        let index = read(vec![document]).unwrap();
        let spans = index.documents[0].spans(&index, text).unwrap();
        assert_eq!((spans[0].span.clone(), spans[0].line), (14..15, 1), "{encoding:?}");
        // Half of a character, a line that is not there.
        assert!(index.documents[0].spans(&index, "\u{1f600}").is_none());
        assert!(index.documents[0].spans(&index, "").is_none());
    }
}

fn read(documents: Vec<Document>) -> wb_search::Result<ScipIndex> {
    ScipIndex::of_bytes(&bytes(documents))
}

fn bytes(documents: Vec<Document>) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(SCIP_FILE);
    write_scip(&file, documents);
    fs::read(file).unwrap()
}

#[test]
fn hostile_indexes_are_refused_by_name() {
    for path in
        ["../shop.py", "/etc/passwd", "a/../../b.py", "C:/shop.py", "a\\b.py", "a//b.py", "", "./a.py", "a/\0b.py"]
    {
        let error = read(vec![document(path, Vec::new())]).unwrap_err();
        assert!(error.to_string().contains(SCIP_FILE) && error.hint().is_some(), "{path}: {error}");
    }
    let kept = Kept::of(&[("shop.py", SHOP)]);
    for text in ["", "def run(): pass\n", "{\"a\": 1}", "\u{1b}[2J"] {
        write(kept.root(), SCIP_FILE, text);
        let place = kept.place();
        let error = place.update_of(place.read().unwrap().unwrap()).unwrap().structures(&mut |_| {}).unwrap_err();
        assert!(error.to_string().contains(SCIP_FILE) && error.hint().is_some(), "{text:?}: {error}");
    }
    let whole = bytes(shop());
    for length in 0..whole.len() {
        // A whole number of documents is an index.
        if let Err(error) = ScipIndex::of_bytes(&whole[..length]) {
            assert!(error.hint().is_some(), "{error}");
        }
        for flipped in [0x01, 0x80, 0xff] {
            let mut other = whole.clone();
            other[length] ^= flipped;
            let Ok(index) = ScipIndex::of_bytes(&other) else { continue };
            for document in &index.documents {
                document.spans(&index, MAIN);
                document.spans(&index, SHOP);
            }
        }
    }
    // Numbers of lines and columns beyond all texts.
    let far = vec![document("shop.py", vec![occurrence([i32::MAX, i32::MAX, i32::MAX], TOTAL, true)])];
    let index = read(far).unwrap();
    assert!(index.documents[0].spans(&index, SHOP).is_none());
    assert!(read(vec![document("shop.py", vec![occurrence([-1, 0, 1], TOTAL, true)])]).is_err());
}

#[test]
fn what_is_kept_of_an_index_is_refused_by_name_where_it_is_damaged() {
    let kept = kept();
    let file = kept.part("scip");
    let whole = fs::read(&file).unwrap();
    for at in (0..whole.len()).step_by(5).rev() {
        let mut other = whole.clone();
        other[at] ^= 0x20;
        fs::write(&file, &other).unwrap();
        let opened = kept.place().read().and_then(|index| ProjectGraph::open(index.unwrap()));
        // Another version is none; all else is told.
        if let Err(error) = opened.map(drop) {
            assert!(format!("{error:#}").contains("index.scip-"), "{error:#}");
        }
    }
    kept.bring_up();
    assert_eq!(fs::read(&file).unwrap(), whole);
}

#[test]
fn ranges_of_both_forms_are_read() {
    let mut single = occurrence([0, 0, 0], "p m n 1 a/b.", false);
    single.set_single_line_range(SingleLineRange {
        line: 1,
        start_character: 2,
        end_character: 3,
        ..Default::default()
    });
    let mut several = occurrence([0, 0, 0], "p m n 1 a/", false);
    let (start_line, start_character, end_line, end_character) = (0, 1, 1, 1);
    let range = MultiLineRange { start_line, start_character, end_line, end_character, ..Default::default() };
    several.set_multi_line_range(range);
    let index = read(vec![document("a.py", vec![single, several])]).unwrap();
    let spans = index.documents[0].spans(&index, "abc\nd bc\n").unwrap();
    assert_eq!(spans.iter().map(|it| it.span.clone()).collect::<Vec<_>>(), [1..5, 6..7]);
}

#[test]
fn our_rules_are_measured_on_what_an_indexer_says() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let sums = |set: StructureSet| {
        let cases = set.measure(&golden).unwrap();
        let sum = |of: fn(&wb_code::structure::StructureCase) -> usize| cases.iter().map(of).sum::<usize>();
        [sum(|it| it.right), sum(|it| it.expected), sum(|it| it.answered_right), sum(|it| it.answered)]
    };
    let [right, expected, answered_right, answered] = sums(StructureSet::Scip);
    // Arguments by their names are what the rules do not follow.
    assert!(expected - right <= 9 && answered - answered_right <= 1, "{right} {expected} {answered_right} {answered}");
    let [right, expected, answered_right, answered] = sums(StructureSet::ScipImported);
    assert_eq!((right, answered_right), (expected, answered));
}

/// Lines of files, told one by one.
fn lines(of: impl Iterator<Item = (String, u32)>) -> BTreeSet<(String, u32)> {
    of.collect()
}

#[test]
fn with_the_index_of_scip_python_every_answer_is_its() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/scip");
    let names = ["order.py", "shop/__init__.py", "shop/stock.py"];
    let texts = names.map(|name| fs::read_to_string(golden.join(name)).unwrap());
    let files: Vec<(&str, &str)> = names.iter().copied().zip(texts.iter().map(String::as_str)).collect();
    let kept = Kept::of(&files);
    fs::copy(golden.join(SCIP_FILE), kept.root().join(SCIP_FILE)).unwrap();
    kept.bring_up();
    let graph = kept.graph();
    assert_eq!(coverage(&graph), Some([3, 3]));
    let index = ScipIndex::read(&golden.join(SCIP_FILE)).unwrap();
    let spans: Vec<_> = (index.documents.iter())
        .map(|document| {
            let text = files.iter().find(|(name, _)| *name == document.path).unwrap().1;
            (document.path.as_str(), text, document.spans(&index, text).unwrap())
        })
        .collect();
    let places = |symbol: u32, is_definition: bool| {
        let all = spans.iter().flat_map(|(path, _, spans)| spans.iter().map(move |it| (*path, it)));
        let all = all.filter(move |(_, it)| it.symbol == symbol && it.is_definition == is_definition);
        lines(all.map(|(path, it)| (path.to_owned(), it.line)))
    };
    let mut asked = 0;
    for (path, text, spans) in &spans {
        for one in spans.iter().filter(|it| !it.is_definition && !places(it.symbol, true).is_empty()) {
            let start = text[..one.span.start as usize].rfind('\n').map_or(0, |at| at + 1);
            let column = text[start..one.span.start as usize].chars().count() + 1;
            let found = graph.definitions_at(path, one.line, Some(column)).unwrap();
            assert!(found.iter().all(|(edge, _)| *edge == EdgeClass::Exact), "{path}:{}:{column}", one.line);
            let symbols: Vec<_> = found.into_iter().map(|(_, place)| place).collect();
            let told = lines(symbols.iter().map(|place| (place.path.clone(), place.line)));
            assert_eq!(told, places(one.symbol, true), "{path}:{}:{column}", one.line);
            let used = graph.usages(&symbols).unwrap();
            let exact = used.iter().filter(|it| it.edge == EdgeClass::Exact);
            let told = lines(exact.map(|it| (it.path.clone(), it.line)));
            assert_eq!(told, places(one.symbol, false), "{path}:{}:{column}", one.line);
            asked += 1;
        }
    }
    assert!(asked > 50, "{asked}");
}
