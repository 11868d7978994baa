//! Words of a question that tell of its query's form: superlatives, comparisons, negations, orders.

use wb_sql::spider::{Aggregate, ComparisonOperator};

use crate::words::Word;

/// True where one of the words, which `|` separates, stands in `range` of the question; a word may also be two words.
pub(crate) fn has(words: &[Word], range: std::ops::Range<usize>, list: &str) -> bool {
    first(words, range, list).is_some()
}

/// Place of the first of them.
pub(crate) fn first(words: &[Word], range: std::ops::Range<usize>, list: &str) -> Option<usize> {
    let end = range.end.min(words.len());
    (range.start..end).find(|&at| list.split('|').any(|wanted| at_place(words, at, end, wanted)))
}

fn at_place(words: &[Word], at: usize, end: usize, wanted: &str) -> bool {
    let mut parts = wanted.split(' ').enumerate();
    parts.all(|(offset, part)| {
        let word = words[..end].get(at + offset);
        word.is_some_and(|word| !word.quoted && word.text.eq_ignore_ascii_case(part))
    })
}

const DESCENDING: &str = "descending|decreasing|desc|most|highest|largest|biggest|greatest|maximum|top|oldest|latest|\
    newest|best|longest|heaviest|tallest|richest|popular|expensive|recent|reverse|max|farthest|frequent";
const ASCENDING: &str = "ascending|increasing|alphabetical|alphabetically|least|lowest|smallest|fewest|minimum|youngest|\
    earliest|shortest|lightest|cheapest|worst|slowest|min|lexicographic|lexicographical";
/// Words that ask for the ends of an order.
pub(crate) const SUPERLATIVES: &str = "most|highest|largest|biggest|greatest|oldest|latest|newest|best|longest|\
    heaviest|tallest|richest|least|lowest|smallest|fewest|youngest|earliest|shortest|lightest|cheapest|worst|maximum|\
    minimum|max|min|top|bottom";
/// Words before a column that rows are ordered by.
pub(crate) const ORDERS: &str = "order by|ordered by|sorted by|sort by|sort|ordered|order of|ascending order|\
    descending order|alphabetical order|in order|sorted|ranked|ascending|descending|arranged";
/// Words before a column that rows are grouped by.
pub(crate) const GROUPS: &str = "each|every|per|by each|grouped by|group by|respective";
/// Words that take rows out.
pub(crate) const NEGATIONS: &str = "not|no|without|never|don't|dont|didn|doesn|don|isn|aren|haven|hasn|weren|wasn|except|nor|neither|excluding|other than";
/// Words that ask for a count.
pub(crate) const COUNTS: &str = "how many|number of|count|count of|numbers of|amount of";

/// True where the question's order descends, by the first word that tells; plain words of order count before superlatives.
pub(crate) fn descends(words: &[Word]) -> Option<bool> {
    let all = 0..words.len();
    let plain = ["descending|decreasing|reverse", "ascending|increasing|alphabetical|alphabetically"];
    let [down, up] = plain.map(|list| first(words, all.clone(), list));
    if let (Some(_), _) | (_, Some(_)) = (down, up) {
        return Some(down.is_some());
    }
    match (first(words, all.clone(), DESCENDING), first(words, all, ASCENDING)) {
        (Some(down), Some(up)) => Some(down < up),
        (None, None) => None,
        (down, _) => Some(down.is_some()),
    }
}

/// The functions that a question names, in its order, each once.
pub(crate) fn aggregates(words: &[Word]) -> Vec<(usize, Aggregate)> {
    let lists = [
        (Aggregate::Avg, "average|mean|avg"),
        (Aggregate::Sum, "total|sum|overall|combined"),
        (Aggregate::Max, "maximum|max|highest|largest|oldest|greatest|most expensive|latest|longest"),
        (Aggregate::Min, "minimum|min|lowest|smallest|youngest|least|earliest|shortest|cheapest"),
    ];
    let found = lists.into_iter().filter_map(|(function, list)| {
        let at = first(words, 0..words.len(), list)?;
        // `total number of` is a count.
        let counts = function == Aggregate::Sum && has(words, at + 1..at + 3, "number|count");
        (!counts).then_some((at, function))
    });
    let mut found: Vec<(usize, Aggregate)> = found.collect();
    found.sort_unstable();
    found
}

/// Comparison of a question with the value at `start..end`.
pub(crate) fn comparison(words: &[Word], start: usize, end: usize) -> Option<ComparisonOperator> {
    let behind = end..end + 2;
    let before = start.saturating_sub(4)..start;
    let lists = [
        (
            ComparisonOperator::GreaterEqual,
            "at least|or more|or after|or above|or higher|no less|not less|minimum of|or older|or later",
        ),
        (
            ComparisonOperator::LessEqual,
            "at most|or less|or fewer|or before|or below|no more|not more|maximum of|or younger|or earlier",
        ),
        (
            ComparisonOperator::Like,
            "contain|contains|containing|substring|start with|starts with|starting with|begin with|begins with|\
            ends with|ending with|the word|the letter|the letters|includes|include|like|the string|the phrase|the substring|prefix",
        ),
        (
            ComparisonOperator::Greater,
            "more than|greater than|above|over|older than|larger than|higher than|exceed|exceeds|exceeding|\
            after|longer than|bigger than|heavier than|larger|higher|more|greater|older|beyond|later than",
        ),
        (
            ComparisonOperator::Less,
            "less than|fewer than|below|under|younger than|smaller than|lower than|before|cheaper than|\
            shorter than|lighter than|less|fewer|lower|younger|smaller|earlier than",
        ),
        (ComparisonOperator::Unequal, "not|other than|except|different from|isn|aren|doesn|don|excluding|outside|no"),
    ];
    let after = |at: usize| at <= 1;
    lists
        .into_iter()
        .enumerate()
        .find(|(at, (_, list))| has(words, before.clone(), list) || after(*at) && has(words, behind.clone(), list))
        .map(|(_, (comparison, _))| comparison)
}

/// Comparison of a question with a nested value, such as an average.
pub(crate) fn than_nested(words: &[Word]) -> Option<ComparisonOperator> {
    let all = 0..words.len();
    let more = first(
        words,
        all.clone(),
        "more than|greater than|above|over|older than|larger than|higher than|exceeds|exceed|longer than|bigger than|heavier than|higher|larger",
    );
    let less = first(
        words,
        all,
        "less than|fewer than|below|under|younger than|smaller than|lower than|cheaper than|shorter than|lighter than|lower|smaller",
    );
    match (more, less) {
        (Some(_), None) => Some(ComparisonOperator::Greater),
        (None, Some(_)) => Some(ComparisonOperator::Less),
        _ => None,
    }
}

/// Words that stand for others in the names of columns.
const SYNONYMS: &[(&str, &str)] = &[
    ("name", "title"),
    ("title", "name"),
    ("older", "age"),
    ("oldest", "age"),
    ("younger", "age"),
    ("youngest", "age"),
    ("old", "age"),
    ("aged", "age"),
    ("expensive", "cost|price|amount|charge"),
    ("cheapest", "cost|price"),
    ("cheaper", "cost|price"),
    ("weigh", "weight"),
    ("heaviest", "weight"),
    ("heavier", "weight"),
    ("lightest", "weight"),
    ("tallest", "height"),
    ("taller", "height"),
    ("longest", "length|duration"),
    ("longer", "length|duration"),
    ("recent", "date|year"),
    ("latest", "date|year"),
    ("earliest", "date|year"),
    ("oldest", "year"),
    ("when", "date|year"),
    ("where", "location|city|country"),
    ("mail", "email"),
    ("e-mail", "email"),
    ("town", "city|hometown"),
    ("gender", "sex"),
    ("sex", "gender"),
    ("speak", "language"),
    ("pay", "salary|cost|amount"),
    ("paid", "cost|amount"),
    ("earn", "salary|earning"),
    ("nation", "country"),
    ("identifier", "id"),
    ("director", "directed"),
    ("writer", "written"),
    ("born", "birth"),
    ("rich", "worth"),
    ("richest", "worth"),
    ("arriving", "arrived|destination"),
    ("departing", "departed|source"),
    ("arrival", "destination|arrived"),
    ("departure", "source|departed"),
    ("phone", "telephone"),
    ("aircraft", "plane"),
    ("role", "role_code"),
    ("citizen", "citizenship"),
    ("viewer", "viewer"),
    ("abbreviation", "abbrev"),
    ("dest", "destination"),
];

/// True where a question's word may stand for a name's.
pub(crate) fn stands_for(word: &Word, name: &str) -> bool {
    if word.quoted {
        return false;
    }
    let lower = word.text.to_lowercase();
    let other = |own: &str| SYNONYMS.iter().any(|(from, to)| *from == own && to.split('|').any(|to| to == name));
    word.stem == name || other(&lower) || other(&word.stem) || same_root(&word.stem, name)
}

/// Long words with one beginning: `directed` and `direct`, `transcripts` and `transcript`.
fn same_root(one: &str, other: &str) -> bool {
    let common = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    common >= 5 && one.len().max(other.len()) - common <= 3
}

/// The words of a question that point along one of two foreign keys between the same tables, and of the keys' names.
pub(crate) const DIRECTIONS: [(&str, &str); 4] = [
    (
        "from|depart|departing|departs|departure|departures|leaving|leave|leaves|source|fly out|origin",
        "source|origin|departure|from",
    ),
    ("to|arrive|arriving|arrives|arrival|arrivals|land|landing|destination|into", "destination|dest|arrival|to"),
    ("liked|liked by", "liked"),
    ("likes|friends|friend|like", "student"),
];
