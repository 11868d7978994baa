//! From tokens to a [`SqlQuery`]: the grammar of Spider's `process_sql.py`, with what it accepts and what it refuses.
//!
//! It is no grammar of SQL. What is read differently, or not at all:
//!
//! * a query begins with SELECT or `(`; what follows its end is not looked at;
//! * tables of FROM stand one after another, with or without JOIN; commas and other kinds of joins are refused, and so
//!   is an alias without AS or of a nested query;
//! * names without a table belong to the first table of FROM that has them; a nested query sees only its own FROM;
//! * between two conditions AND or OR may be missing; a column on the right side swallows all up to the next comma,
//!   bracket, AND or clause, an OR too;
//! * WHERE, GROUP BY, HAVING, ORDER BY and LIMIT stand in this order, a HAVING right behind a WHERE is refused;
//! * the number of LIMIT is skipped, whatever it is.

use super::{
    Aggregate, Arithmetic, ColumnUnit, ComparedValue, ComparisonOperator, Condition, Connector, DatabaseSchema, Order,
    ParseError, SetOperator, SqlQuery, TableUnit, Term, ValueUnit, aliases::Names, numbers::number, tokenize,
};
use crate::Compat;

/// Number of queries that may stand within one another, or behind one another in set operations.
///
/// The source has no such limit, but Python's recursion ends its reading at 248 queries nested in conditions, and its
/// comparing at as many arms of set operations. SQLite itself reads 100 or so.
pub const MAX_DEPTH: usize = 240;

/// Reads a query over `schema`.
///
/// Under [`Compat::Official`] a text is refused exactly where `process_sql.get_sql` of the published evaluator raises.
/// Time grows linearly with the length of the text.
pub fn parse(sql: &str, schema: &DatabaseSchema, compat: Compat) -> Result<SqlQuery, ParseError> {
    let tokens = tokenize(sql, compat)?;
    let names = Names::scan(&tokens, schema)?;
    let mut froms = vec![None; tokens.len()];
    let mut next = None;
    for (place, token) in tokens.iter().enumerate().rev() {
        next = if token == "from" { Some(place) } else { next };
        froms[place] = next;
    }
    Parser { tokens: &tokens, froms: &froms, names: &names, place: 0, end: tokens.len(), depth: 0, compat }.query()
}

struct Parser<'a> {
    tokens: &'a [String],
    /// The next FROM at or behind each token.
    froms: &'a [Option<usize>],
    names: &'a Names<'a>,
    place: usize,
    /// End of the tokens that are looked at.
    end: usize,
    depth: usize,
    compat: Compat,
}

type Parsed<T> = Result<T, ParseError>;

fn is_clause(token: &str) -> bool {
    matches!(token, "select" | "from" | "where" | "group" | "order" | "limit" | "intersect" | "union" | "except")
}

fn is_join(token: &str) -> bool {
    matches!(token, "join" | "on" | "as")
}

fn ends_clause(token: &str) -> bool {
    is_clause(token) || matches!(token, ")" | ";")
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a str> {
        if self.place < self.end { Some(&self.tokens[self.place]) } else { None }
    }

    /// Steps over `token` if it comes next.
    fn skip(&mut self, token: &str) -> bool {
        let found = self.peek() == Some(token);
        self.place += usize::from(found);
        found
    }

    fn next(&mut self, expected: &'static str) -> Parsed<&'a str> {
        let token = self.peek().ok_or(ParseError::End { place: self.place, expected })?;
        self.place += 1;
        Ok(token)
    }

    /// Like `skip`, where the text must not end.
    fn skip_before(&mut self, token: &str, expected: &'static str) -> Parsed<bool> {
        let found = self.next(expected)? == token;
        self.place -= usize::from(!found);
        Ok(found)
    }

    fn expect(&mut self, token: &'static str) -> Parsed<()> {
        if self.next(token)? == token { Ok(()) } else { Err(self.unexpected(token)) }
    }

    /// The error that the last token is not what was expected.
    fn unexpected(&self, expected: &'static str) -> ParseError {
        let place = self.place.saturating_sub(1);
        let found = self.tokens.get(place).cloned().unwrap_or_default();
        ParseError::Unexpected { place, found, expected }
    }

    fn unknown(&self, kind: &'static str) -> ParseError {
        let place = self.place.saturating_sub(1);
        ParseError::Unknown { place, name: self.tokens.get(place).cloned().unwrap_or_default(), kind }
    }

    fn query(&mut self) -> Parsed<SqlQuery> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(ParseError::Depth { limit: MAX_DEPTH });
        }
        let start = self.place;
        let block = self.skip_before("(", "`select`")?;
        let select = self.place;
        // FROM comes first: its tables say what the columns of SELECT are.
        let from = self.froms[start].ok_or(ParseError::End { place: self.end, expected: "`from`" })?;
        self.place = from + 1;
        let mut query = SqlQuery::default();
        let tables = self.from(&mut query)?;
        let behind = std::mem::replace(&mut self.place, select);
        self.select(&mut query, &tables)?;
        self.place = behind;
        if self.skip("where") {
            query.filter = self.conditions(&tables)?;
        }
        if self.skip("group") {
            query.group = self.group(&tables)?;
        }
        if self.skip("having") {
            query.having = self.conditions(&tables)?;
        }
        if self.skip("order") {
            query.order = Some(self.order(&tables)?);
        }
        if self.skip("limit") {
            self.next("a number behind `limit`")?;
            query.limit = true;
        }
        while self.skip(";") {}
        if block {
            self.expect(")")?;
        }
        while self.skip(";") {}
        let operator = match self.peek() {
            Some("intersect") => Some(SetOperator::Intersect),
            Some("union") => Some(SetOperator::Union),
            Some("except") => Some(SetOperator::Except),
            _ => None,
        };
        if let Some(operator) = operator {
            self.place += 1;
            query.set = Some((operator, Box::new(self.query()?)));
        }
        self.depth -= 1;
        Ok(query)
    }

    fn select(&mut self, query: &mut SqlQuery, tables: &[&'a str]) -> Parsed<()> {
        self.expect("select")?;
        query.distinct = self.skip("distinct");
        while let Some(token) = self.peek().filter(|token| !is_clause(token)) {
            let function = aggregate(token);
            self.place += usize::from(function.is_some());
            let unit = self.value_unit(tables)?;
            query.select.push((function.unwrap_or(Aggregate::None), unit));
            self.skip(",");
        }
        Ok(())
    }

    /// Reads tables and the conditions between them; returns what names without a table are looked up in.
    fn from(&mut self, query: &mut SqlQuery) -> Parsed<Vec<&'a str>> {
        let mut tables = Vec::new();
        while self.place < self.end {
            let block = self.skip("(");
            if self.peek() == Some("select") {
                query.tables.push(TableUnit::Query(Box::new(self.query()?)));
            } else {
                self.skip("join");
                let token = self.next("a table")?;
                let (name, table) = self.names.table(token).ok_or_else(|| self.unknown("table"))?;
                if self.peek() == Some("as") {
                    self.place += 2;
                }
                query.tables.push(TableUnit::Table(name));
                tables.push(table);
            }
            if self.skip("on") {
                let conditions = self.conditions(&tables)?;
                if !query.on.is_empty() {
                    query.on.push(Term::Connector(Connector::And));
                }
                query.on.extend(conditions);
            }
            if block {
                self.expect(")")?;
            }
            if self.peek().is_some_and(ends_clause) {
                break;
            }
        }
        Ok(tables)
    }

    fn group(&mut self, tables: &[&'a str]) -> Parsed<Vec<ColumnUnit>> {
        let mut units = Vec::new();
        self.expect("by")?;
        while self.peek().is_some_and(|token| !ends_clause(token)) {
            units.push(self.column_unit(tables)?);
            if !self.skip(",") {
                break;
            }
        }
        Ok(units)
    }

    fn order(&mut self, tables: &[&'a str]) -> Parsed<Order> {
        let mut order = Order { descending: false, units: Vec::new() };
        self.expect("by")?;
        while self.peek().is_some_and(|token| !ends_clause(token)) {
            order.units.push(self.value_unit(tables)?);
            if self.skip("asc") {
                order.descending = false;
            } else if self.skip("desc") {
                order.descending = true;
            }
            if !self.skip(",") {
                break;
            }
        }
        Ok(order)
    }

    fn conditions(&mut self, tables: &[&'a str]) -> Parsed<Vec<Term>> {
        let mut terms = Vec::new();
        while self.place < self.end {
            let unit = self.value_unit(tables)?;
            let negated = self.skip_before("not", "an operator")?;
            let token = self.next("an operator")?;
            let comparison = comparison(token).ok_or_else(|| self.unexpected("an operator"))?;
            let first = Some(self.value(tables)?);
            let mut second = None;
            if comparison == ComparisonOperator::Between {
                self.expect("and")?;
                second = Some(self.value(tables)?);
            }
            terms.push(Term::Condition(Condition { negated, comparison, unit, first, second }));
            if self.peek().is_some_and(|token| ends_clause(token) || is_join(token)) {
                break;
            }
            if self.skip("and") {
                terms.push(Term::Connector(Connector::And));
            } else if self.skip("or") {
                terms.push(Term::Connector(Connector::Or));
            }
        }
        Ok(terms)
    }

    fn value(&mut self, tables: &[&'a str]) -> Parsed<ComparedValue> {
        let start = self.place;
        let block = self.skip_before("(", "a value")?;
        let token = self.next("a value")?;
        let value = if token == "select" {
            self.place -= 1;
            ComparedValue::Query(Box::new(self.query()?))
        } else if token.contains('"') {
            ComparedValue::Text(token.to_owned())
        } else if let Some(number) = number(token) {
            ComparedValue::Number(number)
        } else {
            // A column is read out of all tokens up to the next end, and the rest of these is dropped.
            let strict = self.compat == Compat::Strict;
            let ends = |token: &String| {
                let ends = matches!(token.as_str(), "," | ")" | "and") || strict && token == "or";
                ends || is_clause(token) || is_join(token)
            };
            let rest = &self.tokens[self.place - 1..self.end];
            let stop = self.place - 1 + rest.iter().position(ends).unwrap_or(rest.len());
            let end = std::mem::replace(&mut self.end, stop);
            self.place = start;
            let unit = self.column_unit(tables)?;
            (self.place, self.end) = (stop, end);
            ComparedValue::Column(unit)
        };
        if block {
            self.expect(")")?;
        }
        Ok(value)
    }

    fn value_unit(&mut self, tables: &[&'a str]) -> Parsed<ValueUnit> {
        let block = self.skip_before("(", "a column")?;
        let left = self.column_unit(tables)?;
        let mut unit = ValueUnit { operator: Arithmetic::None, left, right: None };
        if let Some(operator) = self.peek().and_then(arithmetic) {
            self.place += 1;
            unit.operator = operator;
            unit.right = Some(self.column_unit(tables)?);
        }
        if block {
            self.expect(")")?;
        }
        Ok(unit)
    }

    fn column_unit(&mut self, tables: &[&'a str]) -> Parsed<ColumnUnit> {
        let block = self.skip_before("(", "a column")?;
        let function = self.peek().and_then(aggregate);
        if let Some(function) = function {
            self.place += 1;
            self.expect("(")?;
            let distinct = self.skip("distinct");
            let column = self.column(tables)?;
            self.expect(")")?;
            // A bracket around the function stays open, as in the source.
            return Ok(ColumnUnit { aggregate: function, column, distinct });
        }
        let distinct = self.skip("distinct");
        let column = self.column(tables)?;
        if block {
            self.expect(")")?;
        }
        Ok(ColumnUnit { aggregate: Aggregate::None, column, distinct })
    }

    fn column(&mut self, tables: &[&'a str]) -> Parsed<super::Name> {
        let token = self.next("a column")?;
        self.names.column(token, tables).ok_or_else(|| self.unknown("column"))
    }
}

fn aggregate(token: &str) -> Option<Aggregate> {
    Some(match token {
        "none" => Aggregate::None,
        "max" => Aggregate::Max,
        "min" => Aggregate::Min,
        "count" => Aggregate::Count,
        "sum" => Aggregate::Sum,
        "avg" => Aggregate::Avg,
        _ => return None,
    })
}

fn arithmetic(token: &str) -> Option<Arithmetic> {
    Some(match token {
        "none" => Arithmetic::None,
        "-" => Arithmetic::Minus,
        "+" => Arithmetic::Plus,
        "*" => Arithmetic::Times,
        "/" => Arithmetic::Divide,
        _ => return None,
    })
}

fn comparison(token: &str) -> Option<ComparisonOperator> {
    Some(match token {
        "not" => ComparisonOperator::Not,
        "between" => ComparisonOperator::Between,
        "=" => ComparisonOperator::Equal,
        ">" => ComparisonOperator::Greater,
        "<" => ComparisonOperator::Less,
        ">=" => ComparisonOperator::GreaterEqual,
        "<=" => ComparisonOperator::LessEqual,
        "!=" => ComparisonOperator::Unequal,
        "in" => ComparisonOperator::In,
        "like" => ComparisonOperator::Like,
        "is" => ComparisonOperator::Is,
        "exists" => ComparisonOperator::Exists,
        _ => return None,
    })
}
