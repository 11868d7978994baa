//! Meanings of the names of a query: aliases and tables.

use std::collections::HashMap;

use super::{DatabaseSchema, ParseError, schema::Name};

/// The aliases of a query, over all of its nested queries, and the schema behind them.
///
/// As in the source, `AS` makes the token behind it an alias of the token before it, whatever these are; the last one
/// wins, for the whole text; an alias must not be named as any table of the database.
pub(super) struct Names<'a> {
    schema: &'a DatabaseSchema,
    aliases: HashMap<&'a str, &'a str>,
}

impl<'a> Names<'a> {
    pub(super) fn scan(tokens: &'a [String], schema: &'a DatabaseSchema) -> Result<Self, ParseError> {
        let mut aliases = HashMap::new();
        for (place, token) in tokens.iter().enumerate() {
            if token == "as" {
                let alias = tokens.get(place + 1).ok_or(ParseError::End { place: place + 1, expected: "an alias" })?;
                // A query cannot begin with `as`: the parser says so later.
                let of = place.checked_sub(1).map_or(alias, |before| &tokens[before]);
                aliases.insert(alias.as_str(), of.as_str());
            }
        }
        if let Some(alias) = aliases.keys().find(|alias| schema.has_table(alias)) {
            return Err(ParseError::Alias { alias: (*alias).to_owned() });
        }
        Ok(Self { schema, aliases })
    }

    /// Meaning of an alias or table, once: an alias of an alias is the inner alias.
    pub(super) fn resolve(&self, name: &'a str) -> Option<&'a str> {
        self.aliases.get(name).copied().or_else(|| self.schema.has_table(name).then_some(name))
    }

    /// The table that `token` names, as its name and as the text that columns are looked up by.
    pub(super) fn table(&self, token: &'a str) -> Option<(Name, &'a str)> {
        let table = self.resolve(token)?;
        Some((self.schema.written(table)?, table))
    }

    /// The column that `token` names, alone or behind a table or alias and a dot; alone it belongs to the first of
    /// `tables` that has it.
    pub(super) fn column(&self, token: &'a str, tables: &[&'a str]) -> Option<Name> {
        if token == "*" {
            return self.schema.written("*");
        }
        if let Some((table, column)) = token.split_once('.') {
            if column.contains('.') {
                return None;
            }
            let table = self.resolve(table)?;
            let found = self.schema.columns_of(table).and_then(|columns| columns.get(column)).copied();
            return found.or_else(|| self.schema.written(&format!("{table}.{column}")));
        }
        for table in tables {
            if let Some(name) = self.schema.columns_of(self.resolve(table)?)?.get(token) {
                return Some(*name);
            }
        }
        None
    }
}
