//! Files as people have them, with servers, comments and settings of their own.

use wb_agents::{Agent, AgentScope, EntryState};

use crate::{forms::file_of, home::Home};

fn fixture(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => include_str!("../fixtures/claude.json"),
        Agent::Codex => include_str!("../fixtures/codex.toml"),
        Agent::Cursor => include_str!("../fixtures/cursor.json"),
        Agent::OpenCode => include_str!("../fixtures/opencode.jsonc"),
        Agent::Gemini => include_str!("../fixtures/gemini.json"),
        Agent::VsCode => include_str!("../fixtures/vscode.json"),
    }
}

fn path_of(agent: Agent, scope: AgentScope) -> String {
    let (path, _) = file_of(agent, scope);
    if agent == Agent::OpenCode { format!("{path}c") } else { path.to_owned() }
}

#[test]
fn real_files_have_their_bytes_again_after_install_twice_and_uninstall() {
    for agent in Agent::ALL {
        for scope in [AgentScope::User, AgentScope::Project] {
            let home = Home::new();
            let path = path_of(agent, scope);
            home.put(&path, fixture(agent));
            let before = home.snapshot();
            let request = home.request(agent, scope);
            let plan = home.install(&request);
            assert_eq!(home.state(agent, scope), EntryState::Current);
            let added = plan.diff().lines().filter(|line| line.starts_with('+')).count();
            assert!((4..=13).contains(&added), "{}", plan.diff());
            // Every line that was there is there, in its order; one of them may have got a comma.
            let with = home.text(&path);
            let mut lines = with.lines();
            for line in fixture(agent).lines() {
                let comma = format!("{line},");
                assert!(lines.any(|now| now == line || now == comma), "{line}\n{with}");
            }
            assert!(home.install(&request).changes.is_empty());
            home.uninstall(&request);
            assert_eq!(home.snapshot(), before, "{path}");
        }
    }
}

#[test]
fn what_a_person_changed_meanwhile_stays() {
    for agent in Agent::ALL {
        let home = Home::new();
        let path = path_of(agent, AgentScope::User);
        let request = home.request(agent, AgentScope::User);
        home.put(&path, fixture(agent));
        home.install(&request);
        let (mine, after) = match agent {
            Agent::Codex => ("\n[mcp_servers.mine]\ncommand = \"mine\"\n".to_owned(), true),
            _ => ("\"mine\": {\"enabled\": true}, // mine\n".to_owned(), false),
        };
        let changed = |text: &str| {
            if after {
                return format!("# mine\n{text}{mine}");
            }
            let brace = text.find('{').unwrap() + 1;
            format!("{}{mine}{}", &text[..brace], &text[brace..])
        };
        home.put(&path, &changed(&home.text(&path)));
        home.uninstall(&request);
        assert_eq!(home.text(&path), changed(fixture(agent)), "{path}");
    }
}

#[test]
fn a_server_that_was_added_behind_ours_stays_where_it_is() {
    let home = Home::new();
    let request = home.request(Agent::Gemini, AgentScope::User);
    home.put("home/.gemini/settings.json", "{\n  \"a\": 1\n}\n");
    home.install(&request);
    let with = home.text("home/.gemini/settings.json");
    let more = with.replace("      ]\n    }\n", "      ]\n    },\n    \"mine\": {}\n");
    assert_ne!(more, with);
    home.put("home/.gemini/settings.json", &more);
    home.uninstall(&request);
    let rest = "{\n  \"a\": 1,\n  \"mcpServers\": {\n    \"mine\": {}\n  }\n}\n";
    assert_eq!(home.text("home/.gemini/settings.json"), rest);
}
