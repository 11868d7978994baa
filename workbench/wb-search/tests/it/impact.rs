//! Impact of a change, tests of a symbol, what belongs with a place, and the map of a project.

use std::fs;

use wb_search::{
    RankingWeights, SearchAnswer,
    structure::{ProjectGraph, QuestionAim, Relation, SymbolQuestion, SymbolUser, diff_since, diffed_files},
};

use super::{git, structure::Kept, write};

const QUEUE: &str = "\
class Queue:
    def push(self, job):
        return self.check(job)

    def check(self, job):
        return bool(job)

    def drain(self):
        return []


LIMIT = 3
";

const MAIN: &str = "\
from lib.queue import Queue, LIMIT


def run():
    jobs = Queue()
    jobs.push(LIMIT)


def start():
    run()
";

const TEST: &str = "\
from main import start


def test_start():
    start()
";

fn kept() -> Kept {
    Kept::of(&[
        ("lib/queue.py", QUEUE),
        ("main.py", MAIN),
        ("tests/test_start.py", TEST),
        ("tests/test_queue.py", "import subprocess\n"),
        ("README.md", "# Queues\n"),
    ])
}

fn question(symbol: &str) -> SymbolQuestion {
    SymbolQuestion { symbol: symbol.to_owned(), most: 100, skip: 0 }
}

fn told(users: &[SymbolUser]) -> Vec<String> {
    let line = |user: &SymbolUser| {
        let test = if user.is_test { "test " } else { "" };
        format!("{test}{} {} at {:?} by {}", user.symbol.name, user.depth, user.lines, user.through)
    };
    users.iter().map(line).collect()
}

/// Changed definitions, and those whom a diff affects.
fn impact(graph: &ProjectGraph, diff: &str) -> (Vec<String>, Vec<String>) {
    let change = graph.change(&diffed_files(diff).unwrap()).unwrap();
    let changed = change.symbols.iter().map(|symbol| symbol.name.clone());
    let gone = change.removed.iter().map(|(_, name)| format!("-{name}"));
    let elsewhere = change.elsewhere.iter().map(|path| format!("({path})"));
    (changed.chain(gone).chain(elsewhere).collect(), told(&graph.affected(&change, 3).unwrap()))
}

#[test]
fn those_whom_a_change_affects_are_told_tests_first() {
    let kept = kept();
    git(kept.root(), &["init", "-q"]);
    git(kept.root(), &["add", "-A"]);
    git(kept.root(), &["commit", "-q", "-m", "one"]);
    write(kept.root(), "lib/queue.py", &QUEUE.replace("bool(job)", "job"));
    write(kept.root(), "README.md", "# Queues of jobs\n");
    let graph = kept.graph();
    let (changed, users) = impact(&graph, &diff_since(kept.root(), "HEAD").unwrap());
    assert_eq!(changed, ["Queue.check", "(README.md)"]);
    assert_eq!(users, ["Queue.push 1 at [3] by Queue.check", "run 2 at [6] by Queue.push", "start 3 at [10] by run"]);
    let far = graph.users(&graph.definitions("check").unwrap(), 4, wb_search::structure::Followed::Usages).unwrap();
    assert_eq!(told(&far)[3], "test test_start 4 at [5] by start");
    // A constant, which a function uses; and a change that is still to be made.
    write(kept.root(), "lib/queue.py", QUEUE);
    write(kept.root(), "README.md", "# Queues\n");
    let to_come = "--- a/lib/queue.py\n+++ b/lib/queue.py\n@@ -12,1 +12,1 @@\n-LIMIT = 3\n+LIMIT = 4\n";
    let expected = ["test test_start 3 at [5] by start", "run 1 at [6] by LIMIT", "start 2 at [10] by run"];
    assert_eq!(impact(&kept.graph(), to_come), (vec!["LIMIT".to_owned()], expected.map(str::to_owned).to_vec()));
    // What is gone is still used by its name.
    write(kept.root(), "lib/queue.py", &QUEUE.replace("    def check(self, job):\n        return bool(job)\n\n", ""));
    let (changed, users) = impact(&kept.graph(), &diff_since(kept.root(), "HEAD").unwrap());
    assert_eq!(changed, ["Queue", "-check"]);
    assert_eq!(users[0], "test test_start 3 at [5] by start");
    assert!(users.contains(&"Queue.push 1 at [3] by check".to_owned()), "{users:?}");
    // A file that is gone.
    fs::remove_file(kept.root().join("lib/queue.py")).unwrap();
    let (changed, users) = impact(&kept.graph(), &diff_since(kept.root(), "HEAD").unwrap());
    assert_eq!(changed, ["-Queue", "-check", "-drain", "-push"]);
    assert_eq!(users, [" 1 at [1] by Queue", "run 1 at [6] by push"], "the import, and what nothing explains");
    let error = diff_since(kept.root(), "nowhere").unwrap_err();
    assert!(error.to_string().contains("`nowhere`"), "{error}");
    assert!(diff_since(kept.root(), "--output=/tmp/x").unwrap_err().to_string().contains("does not begin with `-`"));
}

#[test]
fn tests_are_found_by_what_they_reach_and_by_their_names() {
    let kept = kept();
    let graph = kept.graph();
    let tests = |symbol: &str| -> Vec<String> {
        let answer = question(symbol).tests(&graph).unwrap();
        let line = |one: &wb_search::structure::ReachingTest| {
            format!("{} {} {}", one.user.symbol.path, one.user.symbol.name, one.is_named_after)
        };
        answer.answers.iter().map(line).collect()
    };
    assert_eq!(tests("start"), ["tests/test_start.py test_start true"]);
    assert_eq!(tests("lib/queue.py"), ["tests/test_queue.py  true", "tests/test_start.py test_start false"]);
    assert_eq!(tests("drain"), ["tests/test_queue.py  true"]);
    let none = question("nowhere").tests(&graph).unwrap();
    assert!(none.empty.unwrap().contains("`nowhere` is defined nowhere"));
}

#[test]
fn what_belongs_with_a_place_says_how() {
    let kept = kept();
    let graph = kept.graph();
    let weights = RankingWeights::shipped().unwrap();
    let answer = question("lib/queue.py:3").related(&graph, &weights).unwrap();
    assert_eq!(answer.definitions[0].name, "Queue.push");
    let of = |name: &str| {
        let found = answer.answers.iter().find(|one| one.symbol.name == name);
        found.unwrap_or_else(|| panic!("{name} in {answer:?}")).relations.clone()
    };
    assert!(of("Queue.check").contains(&Relation::Used) && of("Queue.check").contains(&Relation::Sibling));
    assert!(of("run").contains(&Relation::User));
    assert!(answer.answers.iter().all(|one| one.symbol.name != "Queue.push"));
    assert!(answer.answers.windows(2).all(|two| two[0].score >= two[1].score));
    let error = question("lib/queue.py:10").related(&graph, &weights).unwrap_err();
    assert!(error.to_string().contains("no function and no class stands at lib/queue.py:10"), "{error}");
}

#[test]
fn a_map_keeps_to_its_budget_and_shows_what_is_used() {
    let kept = kept();
    let graph = kept.graph();
    let map = |budget: usize, focus: &[&str]| {
        let focus: Vec<String> = focus.iter().map(|one| (*one).to_owned()).collect();
        let map = graph.map(budget, &focus).unwrap();
        assert!(map.tokens <= budget, "{map:?}");
        let names = map.answer.answers.iter().map(|item| item.name.clone()).collect::<Vec<_>>().join(" ");
        (names, map.answer.empty)
    };
    assert_eq!(map(1000, &[]).0, "run start Queue push check drain test_start");
    // The class that a method stands in comes with it; what is asked for, and what it uses, come first.
    assert_eq!(map(10, &["tests/test_start.py"]).0, "start");
    assert_eq!(map(14, &["main.py"]).0, "Queue");
    let (none, why) = map(1, &[]);
    assert_eq!((none.as_str(), why.as_deref()), ("", Some("1 tokens hold none of its 8 definitions")));
}

#[test]
fn a_question_about_a_symbol_is_answered_by_the_structure_first() {
    let kept = kept();
    let graph = kept.graph();
    let weights = RankingWeights::shipped().unwrap();
    let first = |text: &str| {
        let mut request = super::request(text, None);
        graph.route(&mut request, &weights).unwrap();
        let answer = SearchAnswer::of(graph.index(), &request, &weights).unwrap();
        let told = answer.answers.iter().map(|one| format!("{}:{}", one.found.path, one.found.lines[0]));
        let aimed = answer.answers.iter().filter(|one| one.aim.is_some()).count();
        (request.routed.map(|(aim, _)| aim), told.take(aimed).collect::<Vec<_>>())
    };
    assert_eq!(first("where is start defined?"), (Some(QuestionAim::Definition), vec!["main.py:1".to_owned()]));
    assert_eq!(first("where is start used?").1[..1], ["tests/test_start.py:1".to_owned()]);
    assert_eq!(first("who calls run"), (Some(QuestionAim::Usage), vec!["main.py:1".to_owned()]));
    let (aim, changed) = first("what breaks if I change push?");
    assert_eq!(
        (aim, &changed[..2]),
        (Some(QuestionAim::Change), &["lib/queue.py:1".to_owned(), "main.py:1".to_owned()][..])
    );
    // What is defined nowhere here is a question like any other.
    assert_eq!(first("where is shove defined?"), (None, Vec::new()));
    assert_eq!(first("how are jobs checked"), (None, Vec::new()));
}
