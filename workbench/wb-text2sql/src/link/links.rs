//! The words of a question linked to tables, columns and values of a database.

use wb_sql::spider::Aggregate;

use super::cues::{self, has};
use crate::{
    schema::{Cells, ColumnKind, SchemaCatalog},
    words::{Word, words},
};

/// Words that name a column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnMention {
    /// The first word.
    pub start: usize,
    /// Behind the last word.
    pub end: usize,
    /// The columns that may be meant, each with a score in 0..=1.5, best first.
    pub columns: Vec<(usize, f64)>,
    /// True where words of grouping stand before it.
    pub group: bool,
    /// True where words of order or a superlative stand before it.
    pub order: bool,
    /// The function whose word stands before it.
    pub aggregate: Option<Aggregate>,
}

/// Words that name a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableMention {
    /// The first word.
    pub start: usize,
    /// Behind the last word.
    pub end: usize,
    /// The table.
    pub table: usize,
    /// 1 for its whole name.
    pub score: f64,
    /// True where words of counting stand right before it.
    pub counted: bool,
}

/// Value that a condition compares with.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// A text, without quotes.
    Text(String),
    /// A number.
    Number(f64),
}

/// Purpose of a value of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A condition of WHERE.
    Filter,
    /// A condition on a count: `at least 3 friends`.
    Count,
    /// Number of rows that are wanted: `top 3`.
    Limit,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueMention {
    /// The first word.
    pub start: usize,
    /// Behind the last word.
    pub end: usize,
    /// The value.
    pub literal: Literal,
    /// Its purpose.
    pub purpose: Purpose,
    /// The columns in which it stands.
    pub cells: Vec<usize>,
    /// The column that it is compared with, and how sure that is.
    pub column: Option<(usize, f64)>,
    /// The mention of that column next to the value, which is not also a result then.
    pub uses: Option<usize>,
}

/// Tables, columns and values that a question names.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Links {
    /// The question's words.
    pub words: Vec<Word>,
    /// Columns, in the question's order.
    pub columns: Vec<ColumnMention>,
    /// Tables, in the question's order.
    pub tables: Vec<TableMention>,
    /// Values, in the question's order.
    pub values: Vec<ValueMention>,
}

/// Words that name nothing.
const EMPTY: &str = "a|an|the|of|in|on|for|to|and|or|is|are|was|were|do|does|did|with|that|which|who|what|how|many|\
    all|by|at|from|have|has|had|their|its|it|be|as|me|we|our|list|show|find|give|return|name|s|yes|no|there|each|number|numbers|count|average|total|most|least|every|different|distinct|maximum|minimum";

/// The most words of a value.
const LONGEST_VALUE: usize = 6;

impl Links {
    /// Links a question.
    ///
    /// A column is named by consecutive words, at most one other among them, that are its name's words in any order, in
    /// singular or plural; words of the table's own name may be missing (`pet_age` is named by `age` where pets are
    /// spoken of); so may others of a long name, for a lower score. Longer names come first, and a word names one thing.
    /// Values are quoted texts, numbers, and words that stand in the database.
    pub fn new(question: &str, catalog: &SchemaCatalog, cells: &Cells) -> Self {
        let mut links = Self { words: words(question), ..Self::default() };
        let mut taken: Vec<bool> = links.words.iter().map(|word| word.quoted || word.number().is_some()).collect();
        links.written_values(cells, &mut taken, true);
        links.name_all(catalog, &mut taken);
        links.written_values(cells, &mut taken, false);
        links.quoted_and_numbers(cells);
        links.values.sort_by_key(|value| value.start);
        links.columns.sort_by_key(|mention| mention.start);
        links.tables.sort_by_key(|mention| mention.start);
        links.prefer_named_tables(catalog);
        for at in 0..links.values.len() {
            links.column_of_value(at, catalog);
        }
        links
    }

    /// True where one of the words, which `|` separates, stands anywhere in the question.
    pub(crate) fn says(&self, list: &str) -> bool {
        has(&self.words, 0..self.words.len(), list)
    }

    /// Strength with which a table is named.
    pub fn table_score(&self, table: usize) -> f64 {
        self.tables.iter().filter(|mention| mention.table == table).map(|mention| mention.score).fold(0.0, f64::max)
    }

    /// Values of the database that the question writes: capitalized or of several words before names are sought, single
    /// small words after.
    fn written_values(&mut self, cells: &Cells, taken: &mut [bool], before_names: bool) {
        for length in (1..=LONGEST_VALUE).rev() {
            for start in 0..(self.words.len() + 1).saturating_sub(length) {
                let range = start..start + length;
                if taken[range.clone()].iter().any(|taken| *taken) {
                    continue;
                }
                let text: Vec<&str> = self.words[range.clone()].iter().map(|word| word.text.as_str()).collect();
                let empty =
                    length == 1 && (start == 0 || EMPTY.split('|').any(|word| text[0].eq_ignore_ascii_case(word)));
                let strong = length > 1 || self.words[start].capital();
                let mut found = cells.find(&text.join(" "));
                if found.is_empty() && length == 1 {
                    found = cells.find(&self.words[start].stem);
                }
                let Some((_, text)) = found.first().filter(|_| !empty && strong == before_names) else { continue };
                let literal = Literal::Text(text.clone());
                self.value(range.clone(), literal, Purpose::Filter, found);
                taken[range].fill(true);
            }
        }
    }

    fn value(&mut self, range: std::ops::Range<usize>, literal: Literal, purpose: Purpose, found: &[(usize, String)]) {
        let cells = found.iter().map(|(column, _)| *column).collect();
        let (start, end) = (range.start, range.end);
        self.values.push(ValueMention { start, end, literal, purpose, cells, column: None, uses: None });
    }

    /// Quoted texts, and numbers with what they are for.
    fn quoted_and_numbers(&mut self, cells: &Cells) {
        for at in 0..self.words.len() {
            let word = self.words[at].clone();
            if word.quoted {
                let found = cells.find(&word.text);
                let literal = Literal::Text(found.first().map_or(word.text, |(_, text)| text.clone()));
                self.value(at..at + 1, literal, Purpose::Filter, found);
                continue;
            }
            let free = !self.values.iter().any(|value| (value.start..value.end).contains(&at));
            let Some(number) = word.number().or_else(|| word.counted()).filter(|_| free) else { continue };
            let purpose = self.purpose(at);
            // Numbers in words are values only of counts.
            if word.number().is_none() && purpose == Purpose::Filter {
                continue;
            }
            self.value(at..at + 1, Literal::Number(number), purpose, cells.find(&word.text));
        }
    }

    fn purpose(&self, at: usize) -> Purpose {
        let words = &self.words;
        let top = has(words, at.saturating_sub(2)..at, "top|first|bottom|last");
        if top
            || has(words, at + 1..at + 3, cues::SUPERLATIVES)
                && !has(words, at.saturating_sub(2)..at, "than|least|most")
        {
            return Purpose::Limit;
        }
        let compared = "at least|more than|at most|less than|fewer than|exactly|over|greater than|least|than|only|equal to|or more";
        let compared = has(words, at.saturating_sub(3)..at, compared) || has(words, at + 1..at + 3, "or more|or fewer");
        let things = self.tables.iter().any(|table| (at + 1..at + 4).contains(&table.start));
        let times = has(words, at + 1..at + 2, "times|time|or|different|distinct|kinds|types|records");
        let counted = words[at].counted().is_some() && (things || times);
        if (compared && (things || times)) || counted { Purpose::Count } else { Purpose::Filter }
    }

    /// Order of columns of one name: those of tables that are named come first, the nearest before others.
    fn prefer_named_tables(&mut self, catalog: &SchemaCatalog) {
        let mut tables = self.tables.clone();
        // A column or value that only one table has speaks for that table.
        let sure = self
            .columns
            .iter()
            .filter(|mention| mention.columns.len() == 1)
            .map(|mention| (mention.start, mention.end, mention.columns[0].0));
        let values = self
            .values
            .iter()
            .filter(|value| value.cells.len() == 1)
            .map(|value| (value.start, value.end, value.cells[0]));
        let weak: Vec<TableMention> = sure
            .chain(values)
            .map(|(start, end, column)| TableMention {
                start,
                end,
                table: catalog.columns[column].table,
                score: 0.5,
                counted: false,
            })
            .collect();
        tables.extend(weak);
        // `average` is a function where no table is named that has a column of this name.
        let words = &self.words;
        let named = |column: usize| tables.iter().any(|table| table.table == catalog.columns[column].table);
        let function = |mention: &ColumnMention| {
            mention.end == mention.start + 1
                && has(
                    words,
                    mention.start..mention.end,
                    "average|total|highest|lowest|maximum|minimum|most|least|number|count",
                )
        };
        self.columns.retain(|mention| !function(mention) || mention.columns.iter().any(|(column, _)| named(*column)));
        for mention in &mut self.columns {
            for (column, score) in &mut mention.columns {
                let near = |table: &TableMention| {
                    // `name of the singer` is nearer than `singer's name` is far.
                    let distance = if table.start >= mention.end {
                        table.start - mention.end
                    } else {
                        (mention.start + 1).saturating_sub(table.end)
                    };
                    table.score * (0.3 + 0.3 / (1.0 + distance as f64))
                };
                let of = tables.iter().filter(|table| table.table == catalog.columns[*column].table);
                *score += of.map(near).fold(0.0, f64::max);
                let primary = catalog.tables[catalog.columns[*column].table].primary == Some(*column);
                *score += if primary { 0.1 } else { 0.0 };
            }
            mention.columns.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        }
    }

    /// The column that a value is compared with: one in which it stands, or one that is named next to it.
    fn column_of_value(&mut self, at: usize, catalog: &SchemaCatalog) {
        let value = &self.values[at];
        if value.purpose != Purpose::Filter {
            return;
        }
        let number = matches!(value.literal, Literal::Number(_));
        let year = matches!(value.literal, Literal::Number(number) if (1800.0..2100.0).contains(&number));
        let mut best: Option<(f64, usize, Option<usize>)> = None;
        let mut offer = |score: f64, column: usize, uses: Option<usize>| {
            if best.is_none_or(|(known, ..)| score > known) {
                best = Some((score, column, uses));
            }
        };
        for (place, mention) in self.columns.iter().enumerate() {
            let distance = if mention.end <= value.start {
                value.start - mention.end
            } else {
                mention.start.saturating_sub(value.end) + 1
            };
            if distance > 7 {
                continue;
            }
            let near = 1.0 / (1.0 + 0.25 * distance as f64);
            for (column, score) in &mention.columns {
                let stands = value.cells.contains(column);
                let kind = catalog.columns[*column].kind;
                let fits = match (number, kind) {
                    (true, ColumnKind::Number) => 0.4,
                    (true, ColumnKind::Time) if year => 0.4,
                    (true, _) => {
                        if year && catalog.columns[*column].stems.iter().any(|stem| stem == "year") {
                            0.4
                        } else {
                            -0.1
                        }
                    }
                    (false, ColumnKind::Number) => -0.8,
                    (false, _) => 0.1,
                };
                if stands || value.cells.is_empty() {
                    let bonus = if stands { 1.0 } else { 0.0 };
                    offer(score * near + fits + bonus, *column, Some(place));
                }
            }
        }
        for &column in &value.cells {
            let owner = catalog.columns[column].table;
            let key = if catalog.columns[column].key { -0.1 } else { 0.0 };
            let named = 0.3 * self.table_score(owner);
            let stems = &catalog.columns[column].stems;
            let points = |(words, names): &&(&str, &str)| {
                has(&self.words, value.start.saturating_sub(3)..value.start, words)
                    && stems.iter().any(|stem| names.split('|').any(|name| name == stem))
            };
            let named = named + if cues::DIRECTIONS.iter().any(|direction| points(&direction)) { 0.6 } else { 0.0 };
            offer(0.9 + named + key + if number { -0.5 } else { 0.0 }, column, None);
        }
        if year {
            let dated = |column: &usize| {
                let column = &catalog.columns[*column];
                column.stems.iter().any(|stem| stem == "year") && column.plain
            };
            for column in (0..catalog.columns.len()).filter(dated) {
                let longer = 0.1 * (catalog.columns[column].stems.len() - 1) as f64;
                offer(0.5 - longer + 0.3 * self.table_score(catalog.columns[column].table), column, None);
            }
        }
        let value = &mut self.values[at];
        if let Some((score, column, uses)) = best.filter(|(score, ..)| *score > 0.3) {
            (value.column, value.uses) = (Some((column, score)), uses);
        }
    }

    fn name_all(&mut self, catalog: &SchemaCatalog, taken: &mut [bool]) {
        let mut found = super::names::found(&self.words, catalog, taken);
        // Whole names of many words first, then earlier ones; then tables before columns.
        found.sort_by(|one, other| {
            let key = |one: &super::names::Found| (one.score * one.score * one.matched as f64 * 1e6).round();
            key(other).total_cmp(&key(one)).then((one.start, one.end).cmp(&(other.start, other.end)))
        });
        let mut spans: Vec<(usize, usize)> = Vec::new();
        for one in found {
            let same = spans.contains(&(one.start, one.end));
            if !same && taken[one.start..one.end].iter().any(|taken| *taken) {
                continue;
            }
            // A part of a name is not meant where the same words are another table's whole name.
            let whole = |table: &TableMention| {
                (table.start, table.end) == (one.start, one.end) && table.score > one.score + 0.1
            };
            if same && one.is_table && self.tables.iter().any(whole) {
                continue;
            }
            taken[one.start..one.end].fill(true);
            if !same {
                spans.push((one.start, one.end));
            }
            self.put(&one);
        }
    }

    fn put(&mut self, found: &super::names::Found) {
        let (start, end) = (found.start, found.end);
        let words = &self.words;
        if found.is_table {
            let counted = has(words, start.saturating_sub(3)..start, &format!("{}|most|fewest|least", cues::COUNTS))
                || start > 0 && words[start - 1].counted().or_else(|| words[start - 1].number()).is_some();
            self.tables.push(TableMention { start, end, table: found.place, score: found.score, counted });
            return;
        }
        let before = start.saturating_sub(3)..start;
        let functions = cues::aggregates(&words[before.clone()]);
        let mention = ColumnMention {
            start,
            end,
            columns: Vec::new(),
            group: has(words, before.clone(), cues::GROUPS),
            order: has(words, start.saturating_sub(5)..start, cues::ORDERS)
                || has(words, start.saturating_sub(2)..end, cues::SUPERLATIVES),
            aggregate: functions.last().map(|(_, function)| *function),
        };
        let known = self.columns.iter().position(|known| (known.start, known.end) == (start, end));
        let place = known.unwrap_or_else(|| {
            self.columns.push(mention);
            self.columns.len() - 1
        });
        self.columns[place].columns.push((found.place, found.score));
    }
}
