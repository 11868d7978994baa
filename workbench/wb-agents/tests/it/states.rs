//! The state of agents, in values and in words.

use wb_agents::{Agent, AgentScope, EntryState, status};

use crate::home::Home;

#[test]
fn the_state_says_what_is_found_where_and_which_program_is_started() {
    let mut home = Home::new();
    let program = home.put("bin/wb", "");
    home.machine.command = program.to_str().unwrap().to_owned();
    home.put("home/.claude.json", "{\"mcpServers\": {\"wb\": {\"command\": \"/gone/wb\", \"args\": [\"mcp\"]}}}");
    home.put("home/.gemini/settings.json", "{\"mcpServers\": \u{1b}[2J}");
    home.put("home/.cursor/mcp.json", "{\"mcpServers\": {}}");
    home.install(&home.request(Agent::Codex, AgentScope::Project));
    let all = status(&home.machine, Some(&home.project())).unwrap();
    let lines: Vec<String> = all.iter().flat_map(|one| one.told(&home.machine)).collect();
    let project = home.project().display().to_string();
    let told = lines.join("\n").replace(&project, "PROJECT");
    let expected = "\
claude    found: ~/.claude.json
  user    ~/.claude.json: configured, but /gone/wb is not there; `wb agents install` renews it
  project PROJECT/.mcp.json: no file
codex     found: PROJECT/.codex/config.toml
  user    ~/.codex/config.toml: no file
  project PROJECT/.codex/config.toml: configured, starts this wb
cursor    found: ~/.cursor
  user    ~/.cursor/mcp.json: not configured
  project PROJECT/.cursor/mcp.json: no file
opencode  not found
  user    ~/.config/opencode/opencode.json: no file
  project PROJECT/opencode.json: no file
gemini    found: ~/.gemini
";
    assert!(told.starts_with(expected), "{told}");
    assert!(told.contains(".gemini/settings.json:1:16: no JSON with comments") && !told.contains('\u{1b}'), "{told}");
    let other = home.put("elsewhere/wb", "");
    home.put(
        "home/.cursor/mcp.json",
        &format!("{{\"mcpServers\": {{\"wb\": {{\"command\": {other:?}, \"args\": [\"mcp\"]}}}}}}"),
    );
    let state = home.state(Agent::Cursor, AgentScope::User);
    assert_eq!(state, EntryState::Other { command: other.to_str().unwrap().to_owned(), exists: true });
}
