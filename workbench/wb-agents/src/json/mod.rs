//! Servers in a JSON file with comments: one member put in, and taken out to the byte.

mod members;
mod render;

use jsonc_parser::{
    CollectOptions, CommentCollectionStrategy, ParseOptions,
    ast::{Object, ObjectProp, Value as Node},
    common::Ranged,
    parse_to_ast,
};
use serde_json::{Map, Value, json};

use self::{
    members::{insert, is_made, place_of_member, take_out},
    render::{Layout, on_lines, on_one_line},
};
use crate::{
    appended::{line_end, split_mark},
    entry::{HeldEntry, NAME, ServerEntry, TakenOut},
    fault::TextFault,
};

/// Members of an entry, as an agent wants them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryForm {
    /// `command`, `args`.
    Plain,
    /// `type: stdio`, `command`, `args`.
    Typed,
    /// `type: local`, `command` with its arguments, `enabled`.
    OpenCode,
}

/// Place and form of the servers in a file.
#[derive(Debug, Clone, Copy)]
pub struct JsonServers {
    /// Name of the object of servers.
    pub key: &'static str,
    /// Members of each.
    pub form: EntryForm,
}

/// The object of servers, as a file has it.
struct Servers<'t, 'a> {
    object: &'t Object<'a>,
    /// True for `mcp.servers` of OpenCode 2.
    is_inner: bool,
}

impl JsonServers {
    /// The entry of our name.
    pub fn held(&self, text: &str, command: &str) -> Result<HeldEntry, TextFault> {
        let (_, body) = split_mark(text);
        let Some(root) = root(body)? else { return Ok(HeldEntry::Absent) };
        let Some(servers) = self.servers(&root)? else { return Ok(HeldEntry::Absent) };
        let Some(member) = member(servers.object, NAME)? else { return Ok(HeldEntry::Absent) };
        Ok(self.held_by(member, command))
    }

    /// The text with `entry`, or nothing where it is there already.
    pub fn put(
        &self,
        text: Option<&str>,
        folder_is_new: bool,
        entry: &ServerEntry,
    ) -> Result<Option<String>, TextFault> {
        let Some(text) = text else {
            return Ok(Some(self.new_file(entry) + if folder_is_new { "\n" } else { "" }));
        };
        let (mark, body) = split_mark(text);
        let with_mark = |body: String| Some([mark, &body].concat());
        let value = self.entry_value(entry, false);
        let Some(root) = root(body)? else { return Ok(with_mark(self.only_value(&value) + body)) };
        let Some(servers) = self.servers(&root)? else {
            let made = json!({ NAME: value });
            return Ok(with_mark(insert(body, &root, self.key, &made, true)));
        };
        let Some(member) = member(servers.object, NAME)? else {
            let value = self.entry_value(entry, servers.is_inner);
            return Ok(with_mark(insert(body, servers.object, NAME, &value, false)));
        };
        match self.held_by(member, &entry.command) {
            HeldEntry::Ours(held) if held == *entry => Ok(None),
            HeldEntry::Ours(_) => self.renewed(body, entry).map(with_mark),
            HeldEntry::Foreign(_) | HeldEntry::Absent => Err(not_ours(member.range.start)),
        }
    }

    /// The text without our entry.
    pub fn take_out(&self, text: &str, command: &str) -> Result<TakenOut, TextFault> {
        let (mark, body) = split_mark(text);
        let Some(root) = root(body)? else { return Ok(TakenOut::Nothing) };
        let Some(servers) = self.servers(&root)? else { return Ok(TakenOut::Nothing) };
        let Some(member) = member(servers.object, NAME)? else { return Ok(TakenOut::Nothing) };
        let HeldEntry::Ours(entry) = self.held_by(member, command) else { return Ok(TakenOut::Nothing) };
        if mark.is_empty() && body.trim_end() == self.new_file(&entry) {
            return Ok(TakenOut::File { folders: body.ends_with('\n') });
        }
        let rest = |body: String| Ok(TakenOut::Rest([mark, &body].concat()));
        if let Some(other) = body.strip_prefix(&self.only_value(&self.entry_value(&entry, false))) {
            return rest(other.to_owned());
        }
        if !servers.is_inner && is_made(body, servers.object) {
            return rest(take_out(body, &root, place_of_member(&root, self.key)));
        }
        rest(take_out(body, servers.object, place_of_member(servers.object, NAME)))
    }

    /// A file that is new, without a line end.
    fn new_file(&self, entry: &ServerEntry) -> String {
        let mut root = json!({ self.key: { NAME: self.entry_value(entry, false) } });
        if self.form == EntryForm::OpenCode {
            // OpenCode puts it into files that lack it. Behind the servers it tells this file from one that had it before.
            root["$schema"] = json!("https://opencode.ai/config.json");
        }
        on_lines(&root, &Layout { unit: "  ", base: "", end: "\n" })
    }

    /// The value of a file that had none.
    fn only_value(&self, entry: &Value) -> String {
        let made = on_one_line(&json!({ NAME: entry }), true);
        format!("{{ \"{}\": {made} }}", self.key)
    }

    fn entry_value(&self, entry: &ServerEntry, is_inner: bool) -> Value {
        let mut members = Map::new();
        match self.form {
            EntryForm::Plain => {}
            EntryForm::Typed => drop(members.insert("type".into(), json!("stdio"))),
            EntryForm::OpenCode => drop(members.insert("type".into(), json!("local"))),
        }
        members.extend(self.program(entry));
        if self.form == EntryForm::OpenCode && !is_inner {
            members.insert("enabled".into(), json!(true));
        }
        Value::Object(members)
    }

    /// The members that say what is started.
    fn program(&self, entry: &ServerEntry) -> Vec<(String, Value)> {
        if self.form == EntryForm::OpenCode {
            let all: Vec<&String> = std::iter::once(&entry.command).chain(&entry.args).collect();
            return vec![("command".into(), json!(all))];
        }
        vec![("command".into(), json!(entry.command)), ("args".into(), json!(entry.args))]
    }

    fn held_by(&self, member: &ObjectProp, command: &str) -> HeldEntry {
        let entry = member.value.as_object().and_then(|object| self.read(object));
        match entry.filter(|entry| entry.is_ours(command)) {
            Some(entry) => HeldEntry::Ours(entry),
            None => HeldEntry::Foreign(member.range.start),
        }
    }

    fn read(&self, object: &Object) -> Option<ServerEntry> {
        let strings = |node: &Node| -> Option<Vec<String>> {
            let strings = node.as_array()?.elements.iter().map(|one| Some(one.as_string_lit()?.value.to_string()));
            strings.collect()
        };
        let command = &object.get("command")?.value;
        if self.form == EntryForm::OpenCode {
            let mut all = strings(command)?.into_iter();
            return Some(ServerEntry { command: all.next()?, args: all.collect() });
        }
        let args = object.get("args").map_or(Some(Vec::new()), |args| strings(&args.value))?;
        Some(ServerEntry { command: command.as_string_lit()?.value.to_string(), args })
    }

    /// The servers of a file.
    fn servers<'t, 'a>(&self, root: &'t Object<'a>) -> Result<Option<Servers<'t, 'a>>, TextFault> {
        let Some(outer) = member(root, self.key)? else { return Ok(None) };
        let outer = object(outer)?;
        if self.form == EntryForm::OpenCode
            && let Some(inner) = member(outer, "servers")?
            && let Some(inner) = inner.value.as_object().filter(|inner| inner.get_string("type").is_none())
        {
            return Ok(Some(Servers { object: inner, is_inner: true }));
        }
        Ok(Some(Servers { object: outer, is_inner: false }))
    }

    /// The text whose entry of ours starts what `entry` says; its other members stay.
    fn renewed(&self, body: &str, entry: &ServerEntry) -> Result<String, TextFault> {
        let mut body = body.to_owned();
        for (key, value) in self.program(entry) {
            let Some(root) = root(&body)? else { break };
            let Some(servers) = self.servers(&root)? else { break };
            let Some(ours) = member(servers.object, NAME)? else { break };
            let ours = object(ours)?;
            body = match member(ours, &key)? {
                None => insert(&body, ours, &key, &value, false),
                Some(old) => {
                    let range = old.value.range();
                    let old_text = &body[range.start..range.end];
                    let base = members::indent_of_line(&body, range.start);
                    let unit = members::unit(&body, ours);
                    let layout = Layout { unit, base, end: line_end(&body) };
                    let new =
                        if old_text.contains('\n') { on_lines(&value, &layout) } else { on_one_line(&value, false) };
                    [&body[..range.start], &new, &body[range.end..]].concat()
                }
            };
        }
        Ok(body)
    }
}

/// The object that a file is, or nothing where it has no value.
fn root(body: &str) -> Result<Option<Object<'_>>, TextFault> {
    let collected = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: false };
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(body, &collected, &options).map_err(|error| {
        let message = format!("no JSON with comments: {}", error.kind());
        TextFault::new(error.range().start, message, "mend the file, and give the same command again")
    })?;
    match parsed.value {
        None => Ok(None),
        Some(Node::Object(object)) => Ok(Some(object)),
        Some(other) => Err(no_object(other.start(), "the file")),
    }
}

/// The member of a name.
fn member<'t, 'a>(object: &'t Object<'a>, key: &str) -> Result<Option<&'t ObjectProp<'a>>, TextFault> {
    let mut found = object.properties.iter().filter(|member| member.name.as_str() == key);
    let first = found.next();
    match found.next() {
        None => Ok(first),
        Some(second) => {
            let message = format!("a second `{key}` in one object: agents take the one or the other");
            Err(TextFault::new(second.range.start, message, "put the two together"))
        }
    }
}

fn object<'t, 'a>(member: &'t ObjectProp<'a>) -> Result<&'t Object<'a>, TextFault> {
    let key = format!("`{}`", member.name.as_str());
    member.value.as_object().ok_or_else(|| no_object(member.value.start(), &key))
}

fn no_object(at: usize, what: &str) -> TextFault {
    TextFault::new(at, format!("{what} is no object, as agents expect"), "make it `{ ... }`, or take it out")
}

/// The fault of a file that has our name for something else.
pub fn not_ours(at: usize) -> TextFault {
    let message = format!("the server `{NAME}` is not ours: it does not run `wb mcp`");
    TextFault::new(at, message, "give that server another name, and the same command again")
}
