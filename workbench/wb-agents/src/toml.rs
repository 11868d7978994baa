//! Codex's servers in a TOML file: one table put at the end, and taken out to the byte.

use std::ops::Range;

use toml_edit::{Document, Item, TableLike, Value};

use crate::{
    appended::{append, line_end, take, whole},
    entry::{HeldEntry, NAME, ServerEntry, TakenOut},
    fault::TextFault,
    json::not_ours,
};

/// Name of the table of servers.
const SERVERS: &str = "mcp_servers";

/// The entry of our name.
pub fn held(text: &str, command: &str) -> Result<HeldEntry, TextFault> {
    Ok(match entry_item(&parsed(text)?)? {
        None => HeldEntry::Absent,
        Some((at, item)) => held_by(at, item, command),
    })
}

/// The text with `entry`, or nothing where it is there already.
pub fn put(text: Option<&str>, folder_is_new: bool, entry: &ServerEntry) -> Result<Option<String>, TextFault> {
    let Some(text) = text else { return Ok(Some(whole(&table(entry, "\n"), folder_is_new))) };
    let document = parsed(text)?;
    let Some((at, item)) = entry_item(&document)? else {
        if document.get(SERVERS).is_some_and(|servers| !servers.is_table()) {
            let message = format!("`{SERVERS}` is not written as tables, to which another could be added");
            let at = document.as_table().key(SERVERS).and_then(toml_edit::Key::span).unwrap_or_default().start;
            return Err(TextFault::new(at, message, format!("write its servers as [{SERVERS}.NAME]")));
        }
        return Ok(Some(append(text, &table(entry, line_end(text)))));
    };
    match held_by(at, item, &entry.command) {
        HeldEntry::Ours(held) if held == *entry => Ok(None),
        HeldEntry::Ours(_) => renewed(text, item, entry).map(Some),
        HeldEntry::Foreign(_) | HeldEntry::Absent => Err(not_ours(at)),
    }
}

/// The text without our entry.
pub fn take_out(text: &str, command: &str) -> Result<TakenOut, TextFault> {
    let document = parsed(text)?;
    let Some((at, item)) = entry_item(&document)? else { return Ok(TakenOut::Nothing) };
    if !matches!(held_by(at, item, command), HeldEntry::Ours(_)) {
        return Ok(TakenOut::Nothing);
    }
    let mut places = Vec::new();
    match item {
        Item::Table(table) if !table.is_dotted() => tables(text, table, &mut places),
        Item::Value(value) => {
            // A line in [mcp_servers], by hand; several on one line are not ours to take apart.
            let line = text[..at].rfind('\n').map_or(0, |end| end + 1)..end_of_line(text, value_end(value));
            let behind = text[value_end(value)..line.end].trim();
            let is_alone = text[line.start..at].trim().is_empty() && (behind.is_empty() || behind.starts_with('#'));
            let Some(above) = text[..line.start].strip_suffix('\n').filter(|_| is_alone) else {
                return Err(by_hand(at));
            };
            let above = above.strip_suffix('\r').unwrap_or(above);
            return Ok(TakenOut::Rest([above, &text[line.end..]].concat()));
        }
        _ => return Err(by_hand(at)),
    }
    places.sort_by_key(|place: &Range<usize>| place.start);
    let mut rest = text.to_owned();
    for place in places.into_iter().rev() {
        match take(&rest, place) {
            TakenOut::Rest(less) => rest = less,
            other => return Ok(other),
        }
    }
    Ok(TakenOut::Rest(rest))
}

fn parsed(text: &str) -> Result<Document<&str>, TextFault> {
    Document::parse(text).map_err(|error| {
        let at = error.span().unwrap_or_default().start;
        TextFault::new(
            at,
            format!("no TOML: {}", error.message().trim()),
            "mend the file, and give the same command again",
        )
    })
}

/// The item of our name with its first byte.
fn entry_item<'t>(document: &'t Document<&str>) -> Result<Option<(usize, &'t Item)>, TextFault> {
    let Some((key, servers)) = document.as_table().get_key_value(SERVERS) else { return Ok(None) };
    let Some(servers) = servers.as_table_like() else {
        let at = key.span().unwrap_or_default().start;
        let message = format!("`{SERVERS}` is no table, as Codex expects");
        return Err(TextFault::new(at, message, format!("make it tables [{SERVERS}.NAME], or take it out")));
    };
    let Some((key, item)) = servers.get_key_value(NAME) else { return Ok(None) };
    Ok(Some((key.span().or_else(|| item.span()).unwrap_or_default().start, item)))
}

fn held_by(at: usize, item: &Item, command: &str) -> HeldEntry {
    match item.as_table_like().and_then(read).filter(|entry| entry.is_ours(command)) {
        Some(entry) => HeldEntry::Ours(entry),
        None => HeldEntry::Foreign(at),
    }
}

fn read(table: &dyn TableLike) -> Option<ServerEntry> {
    let strings = |item: &Item| -> Option<Vec<String>> {
        item.as_array()?.iter().map(|one| Some(one.as_str()?.to_owned())).collect()
    };
    let args = table.get("args").map_or(Some(Vec::new()), strings)?;
    Some(ServerEntry { command: table.get("command")?.as_str()?.to_owned(), args })
}

/// The table of an entry, without a line end.
fn table(entry: &ServerEntry, end: &str) -> String {
    let [command, args] = lines(entry);
    [format!("[{SERVERS}.{NAME}]"), format!("command = {command}"), format!("args = {args}")].join(end)
}

/// The program and its arguments as TOML values.
fn lines(entry: &ServerEntry) -> [String; 2] {
    let args: Vec<String> = entry.args.iter().map(|arg| quoted(arg)).collect();
    [quoted(&entry.command), format!("[{}]", args.join(", "))]
}

/// A text as a basic string of TOML.
fn quoted(text: &str) -> String {
    let mut string = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => string.extend(['\\', letter]),
            letter if letter.is_control() => string.push_str(&format!("\\u{:04X}", u32::from(letter))),
            letter => string.push(letter),
        }
    }
    string + "\""
}

/// The text whose entry starts what `entry` says; its other keys stay.
fn renewed(text: &str, item: &Item, entry: &ServerEntry) -> Result<String, TextFault> {
    let span = |key: &str| item.get(key).and_then(Item::span);
    let (Some(command), [new_command, new_args]) = (span("command"), lines(entry)) else { return Ok(text.to_owned()) };
    let mut edits = vec![(command.clone(), new_command)];
    match span("args") {
        Some(args) => edits.push((args, new_args)),
        None if item.is_table() => {
            edits.push((command.end..command.end, format!("{}args = {new_args}", line_end(text))));
        }
        None => edits.push((command.end..command.end, format!(", args = {new_args}"))),
    }
    edits.sort_by_key(|(place, _)| place.start);
    let mut text = text.to_owned();
    for (place, new) in edits.into_iter().rev() {
        text.replace_range(place, &new);
    }
    Ok(text)
}

/// Lines of a table and of those below it, each from its heading to its last value.
fn tables(text: &str, table: &toml_edit::Table, places: &mut Vec<Range<usize>>) {
    let mut end = table.span().unwrap_or_default().end;
    for (_, item) in table.iter() {
        match item {
            Item::Table(below) if !below.is_dotted() => tables(text, below, places),
            Item::ArrayOfTables(all) => all.iter().for_each(|below| tables(text, below, places)),
            other => end = end.max(last_byte(other)),
        }
    }
    // One that only its sub-tables name has no lines.
    if let Some(heading) = table.span().filter(|_| !table.is_implicit()) {
        places.push(heading.start..end_of_line(text, end));
    }
}

fn last_byte(item: &Item) -> usize {
    match item {
        Item::Value(value) => value_end(value),
        Item::Table(table) => table.iter().map(|(_, item)| last_byte(item)).max().unwrap_or_default(),
        _ => 0,
    }
}

fn value_end(value: &Value) -> usize {
    match value {
        // Dotted keys make a table without a place of its own.
        Value::InlineTable(table) if table.is_dotted() => {
            table.iter().map(|(_, value)| value_end(value)).max().unwrap_or_default()
        }
        other => other.span().unwrap_or_default().end,
    }
}

/// The end of the line that a byte is on, before its line end.
fn end_of_line(text: &str, at: usize) -> usize {
    let line = text[at..].find('\n').map_or(text.len(), |end| at + end);
    if text[at..line].ends_with('\r') { line - 1 } else { line }
}

fn by_hand(at: usize) -> TextFault {
    let message = format!("the server `{NAME}` is written in a way that cannot be taken out alone");
    TextFault::new(at, message, "take it out by hand")
}
