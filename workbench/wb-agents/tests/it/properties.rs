//! Random files: installed and taken out they have the same bytes, and what is not ours is never touched.

use jsonc_parser::{ParseOptions, ast::Value as Node, parse_to_ast};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use wb_agents::{Agent, AgentScope, plan_install};

use crate::{forms::file_of, home::Home};

/// Space and comments between tokens.
fn trivia() -> impl Strategy<Value = String> {
    let one = prop_oneof![
        4 => Just(""), 3 => Just(" "), 3 => Just("\n"), 1 => Just("\r\n"), 2 => Just("\n  "), 1 => Just("\t"), 1 => Just("\n\t\t"),
        1 => Just("// c, \"d\": {\n"), 1 => Just("//\r\n"), 1 => Just("/* e */"), 1 => Just("/* f\n } */"), 1 => Just("/**/"),
    ];
    proptest::collection::vec(one, 0..3).prop_map(|all| all.concat())
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("1"),
        Just("-2.50e1"),
        Just("null"),
        Just("true"),
        Just("\"a \\\" } // b\""),
        Just("\"\\u00e9é\""),
        Just("[]"),
        Just("[ 1, // x\n 2 ]"),
    ]
    .prop_map(str::to_owned)
}

/// An object of some values by unique names, perhaps with one of the given name among them.
fn object(
    value: impl Strategy<Value = String> + 'static,
    named: impl Strategy<Value = Option<(String, String)>>,
) -> impl Strategy<Value = String> {
    let member = (trivia(), trivia(), value, trivia());
    let members = proptest::collection::vec(member, 0..4);
    (members, named, any::<prop::sample::Index>(), trivia(), any::<bool>(), [trivia(), trivia(), trivia()]).prop_map(
        |(members, named, place, last, comma, around)| {
            let member = |(at, (a, b, value, c))| format!("{a}\"k{at}\"{b}:{value}{c}");
            let mut all: Vec<String> = members.into_iter().enumerate().map(member).collect();
            if let Some((name, value)) = named {
                let [a, b, c] = around;
                all.insert(place.index(all.len() + 1), format!("{a}\"{name}\"{b}:{c}{value}"));
            }
            let comma = if comma && !all.is_empty() { "," } else { "" };
            format!("{{{}{comma}{last}}}", all.join(","))
        },
    )
}

fn file(key: &'static str) -> impl Strategy<Value = String> {
    let nothing = || Just(None::<(String, String)>);
    let servers = object(object(scalar(), nothing()), nothing());
    let named = prop::option::of(servers.prop_map(move |servers| (key.to_owned(), servers)));
    let root =
        prop_oneof![9 => object(prop_oneof![scalar(), object(scalar(), nothing())], named), 1 => Just(String::new())];
    let ends = prop_oneof![3 => Just(""), 1 => Just("// end"), 1 => Just("\n")];
    (prop_oneof![4 => Just(""), 1 => Just("\u{feff}")], trivia(), root, trivia(), ends)
        .prop_map(|(mark, before, root, after, end)| [mark, &before, &root, &after, end].concat())
}

/// A TOML file of lines in an order that is allowed.
fn toml_file() -> impl Strategy<Value = String> {
    let space = || prop_oneof![Just(""), Just("# c [mcp_servers.wb]"), Just("  "), Just("\t# d")];
    let value = || {
        prop_oneof![Just("1"), Just("\"a # b\""), Just("[1,\n  2, # c\n]"), Just("{ a = 1 }"), Just("'''\n[x]\n'''")]
    };
    let lines = || proptest::collection::vec((space(), value(), space()), 0..3);
    let heads = ["", "[a]", "[mcp_servers]", "[mcp_servers.x]", "[mcp_servers.x.env]", "[[b]]", "[\"wb\"]"];
    let tables = (lines(), lines(), lines(), lines(), lines(), lines(), lines());
    let kept = proptest::collection::vec(any::<bool>(), heads.len());
    (tables, kept, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(move |(tables, kept, crlf, end, mark)| {
        let (a, b, c, d, e, f, g) = tables;
        let mut text = String::new();
        for ((head, lines), kept) in heads.iter().zip([a, b, c, d, e, f, g]).zip(kept) {
            if !kept {
                continue;
            }
            text.push_str(&format!("{head}\n"));
            for (at, (before, value, after)) in lines.into_iter().enumerate() {
                text.push_str(&format!("{before}\nk{at} = {value} {after}\n"));
            }
        }
        let text = if end { text } else { text.trim_end_matches('\n').to_owned() };
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        format!("{}{text}", if mark { "\u{feff}" } else { "" })
    })
}

/// A file's value, without comments.
fn value_of(text: &str) -> Value {
    fn plain(node: &Node) -> Value {
        match node {
            Node::Object(object) => {
                let members = object.properties.iter().map(|one| (one.name.as_str().to_owned(), plain(&one.value)));
                Value::Object(members.collect())
            }
            Node::Array(array) => array.elements.iter().map(plain).collect(),
            Node::StringLit(string) => json!(string.value),
            other => json!(format!("{other:?}").split("range").next()),
        }
    }
    let body = text.trim_start_matches('\u{feff}');
    let parsed = parse_to_ast(body, &Default::default(), &ParseOptions::default()).unwrap();
    parsed.value.map_or_else(|| json!({}), |node| plain(&node))
}

/// A file's value without our entry, and without an object of servers that holds nothing.
fn foreign(text: &str, key: &str) -> Map<String, Value> {
    let Value::Object(mut root) = value_of(text) else { panic!("{text}") };
    if let Some(servers) = root.get_mut(key).and_then(Value::as_object_mut) {
        servers.shift_remove("wb");
        if servers.is_empty() {
            root.shift_remove(key);
        }
    }
    root
}

/// Installs into a text and takes it out again; the text between.
fn there_and_back(agent: Agent, text: &str) -> String {
    let home = Home::new();
    let (path, _) = file_of(agent, AgentScope::Project);
    home.put(path, text);
    let request = home.request(agent, AgentScope::Project);
    home.install(&request);
    let between = home.text(path);
    assert!(plan_install(&home.machine, &request).unwrap().changes.is_empty(), "{text:?} {between:?}");
    home.uninstall(&request);
    assert_eq!(home.text(path), text, "{between:?}");
    between
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn random_json_is_the_same_after(text in file("mcpServers"), is_claude in any::<bool>()) {
        let between = there_and_back(if is_claude { Agent::Claude } else { Agent::Gemini }, &text);
        prop_assert!(value_of(&between)["mcpServers"]["wb"]["args"] == json!(["mcp"]), "{}", between);
        prop_assert_eq!(foreign(&between, "mcpServers"), foreign(&text, "mcpServers"));
    }

    #[test]
    fn random_opencode_is_the_same_after(text in file("mcp")) {
        let between = there_and_back(Agent::OpenCode, &text);
        prop_assert_eq!(foreign(&between, "mcp"), foreign(&text, "mcp"));
    }

    #[test]
    fn random_toml_is_the_same_after(text in toml_file()) {
        let between = there_and_back(Agent::Codex, &text);
        prop_assert!(between.starts_with(&text), "{}", between);
        let root = toml_edit::Document::parse(between.as_str()).unwrap();
        prop_assert_eq!(root["mcp_servers"]["wb"]["args"][0].as_str(), Some("mcp"));
    }

    #[test]
    fn anything_at_all_is_refused_or_the_same_after(text in any::<String>(), agent in prop::sample::select(Agent::ALL.to_vec())) {
        let home = Home::new();
        let (path, _) = file_of(agent, AgentScope::Project);
        home.put(path, &text);
        let plan = plan_install(&home.machine, &home.request(agent, AgentScope::Project)).unwrap();
        if plan.faults.is_empty() {
            there_and_back(agent, &text);
        } else {
            prop_assert!(plan.changes.is_empty());
        }
    }
}
