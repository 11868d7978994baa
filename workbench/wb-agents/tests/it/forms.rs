//! Every agent and every form of a file: installed twice, taken out, and the same bytes.

use std::path::Path;

use wb_agents::{Agent, AgentScope, EntryState};

use crate::home::Home;

const SCOPES: [AgentScope; 2] = [AgentScope::User, AgentScope::Project];

/// The file of an agent below the folder of home and project, with the key of its servers.
pub fn file_of(agent: Agent, scope: AgentScope) -> (&'static str, &'static str) {
    let is_user = scope == AgentScope::User;
    match agent {
        Agent::Claude => (if is_user { "home/.claude.json" } else { "project/.mcp.json" }, "mcpServers"),
        Agent::Codex => (if is_user { "home/.codex/config.toml" } else { "project/.codex/config.toml" }, "mcp_servers"),
        Agent::Cursor => (if is_user { "home/.cursor/mcp.json" } else { "project/.cursor/mcp.json" }, "mcpServers"),
        Agent::OpenCode => {
            (if is_user { "home/.config/opencode/opencode.json" } else { "project/opencode.json" }, "mcp")
        }
        Agent::Gemini => {
            (if is_user { "home/.gemini/settings.json" } else { "project/.gemini/settings.json" }, "mcpServers")
        }
        Agent::VsCode => {
            (if is_user { "home/.config/Code/User/mcp.json" } else { "project/.vscode/mcp.json" }, "servers")
        }
    }
}

/// JSON files, with KEY for the key of the servers.
const JSON: [&str; 34] = [
    "",
    "\n",
    "  \n\n",
    "\u{feff}",
    "// nothing yet",
    "/* nothing */\n",
    "{}",
    "{}\n",
    "\u{feff}{}\r\n",
    "{ }",
    "{\n}\n",
    "{\r\n}\r\n",
    "{ // later\n}\n",
    "{\"a\":1}",
    "{\"a\": 1, }",
    "{\n  \"a\": 1\n}",
    "{\n\t\"a\": [1, 2],\n}\n",
    "{\r\n    \"a\": {\"b\": null} // of a\r\n    // of nobody\r\n}\r\n",
    "{\n  \"a\": 1 /* why */, // what\n\n  /* b is\n  off */\n}\n",
    "{\n  \"a\": \"http://host\" }",
    "{\"KEY\":{}}",
    "{\"KEY\": { }}",
    "{\n  \"KEY\": {}\n}\n",
    "{\n  \"KEY\": {\n  }\n}\n",
    "{\n  \"KEY\": { // none\n  },\n  \"z\": 0\n}\n",
    "{\"KEY\":{\"x\":{\"command\":\"x\"}}}",
    "{\"KEY\": {\"x\": {\"command\": \"x\"}, /* y */}, \"z\": [\"}\"]}",
    "{\n  \"KEY\": {\n    \"x\": {\n      \"command\": \"x\"\n    }\n  }\n}\n",
    "{\n  \"KEY\": {\n    \"x\": { \"command\": \"x\" }, // of x\n    // \"y\": {}\n  },\n}",
    "{\n\t\"KEY\": {\n\t\t\"x\": {}, \"y\": {}\n\t},\n\t\"z\": {}\n}\n",
    "\u{feff}{\r\n\t\"KEY\" : {\r\n\t\t\"x\" : {}\r\n\t}\r\n}\r\n",
    "// first\n{\n    \"KEY\":\n    {\n        \"x\": {}\n    } // last\n    , \"z\": {} // really\n}\n// after",
    "{\n  \"wb\": 1,\n  \"KEY\": { \"x\": { \"wb\": { \"args\": [ \"mcp\" ] } } }\n}",
    "{\n  \"KEY\": {\n    \"wb2\": {}, // one\n    \"x\": {} // two, http://three\n  } }\n",
];

/// TOML files.
const TOML: [&str; 16] = [
    "",
    "\n",
    "\u{feff}",
    "# nothing yet",
    "model = \"m\"",
    "model = \"m\"\n",
    "model = \"m\"\r\napproval_policy = \"never\"\r\n",
    "model = \"m\" # the best\n\n\n",
    "[tui]\nnotifications = true\n\n[mcp_servers.x]\ncommand = \"x\"\n",
    "[mcp_servers]\n",
    "[mcp_servers]\nx = { command = \"x\" }",
    "mcp_servers.x.command = \"x\"\n",
    "[mcp_servers.x]\ncommand = 'x'\n\n[mcp_servers.x.env]\nA = \"b\" # of x\n\n# the end",
    "\u{feff}[mcp_servers.\"a b\"]\r\nargs = [\r\n\t\"one\",\r\n\t# two\r\n]\r\ncommand = \"\"\"\r\nx\"\"\"",
    "[[projects]]\npath = \"/p\"\n[[projects]]\npath = \"/q\"\n",
    "wb = 1\n",
];

fn forms(agent: Agent, key: &str) -> Vec<String> {
    match agent {
        Agent::Codex => TOML.map(str::to_owned).into(),
        _ => JSON.map(|text| text.replace("KEY", key)).into(),
    }
}

#[test]
fn every_form_of_every_file_is_the_same_to_the_byte_after_install_twice_and_uninstall() {
    let mut forms_seen = 0;
    for agent in Agent::ALL {
        for scope in SCOPES {
            let (path, key) = file_of(agent, scope);
            for text in forms(agent, key) {
                let home = Home::new();
                home.put(path, &text);
                let before = home.snapshot();
                let request = home.request(agent, scope);
                let plan = home.install(&request);
                assert_eq!(plan.changes.len(), 1, "{path} {text:?}");
                assert_eq!(home.state(agent, scope), EntryState::Current, "{path} {text:?}\n{}", home.text(path));
                let installed = home.snapshot();
                let again = home.install(&request);
                assert!(again.changes.is_empty() && again.remarks[0].contains("already there"), "{again:?}");
                assert_eq!(home.snapshot(), installed);
                home.uninstall(&request);
                assert_eq!(home.snapshot(), before, "{path} {text:?}, installed: {:?}", plan.changes[0].after);
                assert!(home.uninstall(&request).changes.is_empty());
                forms_seen += 1;
            }
        }
    }
    assert_eq!(forms_seen, 2 * (5 * JSON.len() + TOML.len()));
}

#[test]
fn files_and_folders_that_were_not_there_are_not_there_after() {
    for agent in Agent::ALL {
        for scope in SCOPES {
            for folder_is_there in [false, true] {
                let home = Home::new();
                let (path, _) = file_of(agent, scope);
                // The folder that all programs have in common is nobody's own.
                std::fs::create_dir_all(home.root().join("home/.config")).unwrap();
                if folder_is_there {
                    std::fs::create_dir_all(home.root().join(path).parent().unwrap()).unwrap();
                }
                let before = home.snapshot();
                let request = home.request(agent, scope);
                home.install(&request);
                assert_eq!(home.state(agent, scope), EntryState::Current);
                home.uninstall(&request);
                assert_eq!(home.snapshot(), before, "{path} {folder_is_there}");
            }
        }
    }
}

#[test]
fn a_new_file_that_its_agent_wrote_anew_is_still_ours_alone() {
    let home = Home::new();
    let request = home.request(Agent::Claude, AgentScope::Project);
    home.install(&request);
    let text = home.text("project/.mcp.json");
    home.put("project/.mcp.json", &format!("{}\n", text.trim_end()));
    home.uninstall(&request);
    assert!(!Path::new(&home.root().join("project/.mcp.json")).exists());
}

#[test]
fn entries_go_where_they_look_as_if_a_person_had_written_them() {
    let home = Home::new();
    let shown = |agent, text: &str| {
        let (path, _) = file_of(agent, AgentScope::User);
        home.put(path, text);
        home.install(&home.request(agent, AgentScope::User));
        home.text(path)
    };
    let with = shown(Agent::Claude, "{\n\t\"mcpServers\": {\n\t\t\"x\": {} // of x\n\t\t// y\n\t}\n}\n");
    let entry = "\t\t\"wb\": {\n\t\t\t\"type\": \"stdio\",\n\t\t\t\"command\": \"/opt/tools/bin/wb\",\n\t\t\t\"args\": [\n\
                 \t\t\t\t\"mcp\"\n\t\t\t]\n\t\t}";
    assert_eq!(with, format!("{{\n\t\"mcpServers\": {{\n\t\t\"x\": {{}}, // of x\n{entry}\n\t\t// y\n\t}}\n}}\n"));
    let with = shown(Agent::Gemini, "{\"a\":1}");
    let entry = "{\"command\": \"/opt/tools/bin/wb\", \"args\": [\"mcp\"]}";
    assert_eq!(with, format!("{{\"a\":1, \"mcpServers\": {{ \"wb\": {entry} }}}}"));
    let with = shown(Agent::OpenCode, "{\n  \"mcp\": {\"servers\": {}}\n}");
    let entry = "{\"type\": \"local\", \"command\": [\"/opt/tools/bin/wb\", \"mcp\"]}";
    assert_eq!(with, format!("{{\n  \"mcp\": {{\"servers\": {{\"wb\": {entry}}}}}\n}}"));
    home.uninstall(&home.request(Agent::OpenCode, AgentScope::User));
    assert_eq!(home.text("home/.config/opencode/opencode.json"), "{\n  \"mcp\": {\"servers\": {}}\n}");
    let with = shown(Agent::Codex, "model = \"m\"\n");
    assert_eq!(with, "model = \"m\"\n\n[mcp_servers.wb]\ncommand = \"/opt/tools/bin/wb\"\nargs = [\"mcp\"]\n");
    let with = shown(Agent::VsCode, "{}");
    assert_eq!(
        with,
        "{\"servers\": { \"wb\": {\"type\": \"stdio\", \"command\": \"/opt/tools/bin/wb\", \"args\": [\"mcp\"]} }}"
    );
}
