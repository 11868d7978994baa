//! Plans: which agents, which files, what is refused, and how files are written.

use std::{ffi::OsString, fs, path::Path};

use wb_agents::{Agent, AgentScope, AgentsRequest, EntryState, plan_install, plan_uninstall};

use crate::home::Home;

fn of_user(agent: Agent) -> AgentsRequest {
    AgentsRequest { agents: vec![agent], ..AgentsRequest::default() }
}

#[test]
fn without_names_the_agents_that_are_here_are_chosen() {
    let mut home = Home::new();
    let all = AgentsRequest { project: Some(home.project()), scope: AgentScope::Project, ..AgentsRequest::default() };
    let plan = plan_install(&home.machine, &all).unwrap();
    assert!(plan.changes.is_empty() && plan.remarks[0].contains("no agent was found"), "{plan:?}");
    fs::create_dir(home.machine.home.join(".codex")).unwrap();
    let program = home.put("bin/gemini", "");
    home.put("project/.vscode/mcp.json", "{}");
    home.machine.variables.insert("PATH".into(), program.parent().unwrap().into());
    let plan = plan_install(&home.machine, &all).unwrap();
    let chosen: Vec<Agent> = plan.changes.iter().flat_map(|change| change.agents.clone()).collect();
    assert_eq!(chosen, [Agent::Codex, Agent::Gemini, Agent::VsCode]);
    let of_user = AgentsRequest { scope: AgentScope::User, ..all };
    assert_eq!(
        plan_install(&home.machine, &of_user).unwrap().changes.len(),
        2,
        "the project's file is not the person's"
    );
}

#[test]
fn variables_of_agents_name_their_folders() {
    let cases: [(Agent, &str, &str, &str); 7] = [
        (Agent::Claude, "CLAUDE_CONFIG_DIR", "c", "c/.claude.json"),
        (Agent::Codex, "CODEX_HOME", "c", "c/config.toml"),
        (Agent::OpenCode, "OPENCODE_CONFIG_DIR", "c", "c/opencode.json"),
        (Agent::OpenCode, "XDG_CONFIG_HOME", "x", "x/opencode/opencode.json"),
        (Agent::Gemini, "GEMINI_CLI_HOME", "g", "g/.gemini/settings.json"),
        (Agent::VsCode, "VSCODE_PORTABLE", "v", "v/user-data/User/mcp.json"),
        (Agent::VsCode, "XDG_CONFIG_HOME", "x", "x/Code/User/mcp.json"),
    ];
    for (agent, variable, folder, path) in cases {
        if cfg!(not(target_os = "linux")) && variable.starts_with("XDG") {
            continue;
        }
        let mut home = Home::new();
        home.machine.variables.insert(variable.into(), home.root().join(folder).into());
        let plan = plan_install(&home.machine, &of_user(agent)).unwrap();
        assert_eq!(plan.changes[0].path, home.root().join(path), "{variable}");
    }
}

#[test]
fn the_server_is_told_the_project_where_the_agent_does_not_start_it_there() {
    let home = Home::new();
    let after = |agent, scope, project| {
        let request = AgentsRequest { agents: vec![agent], scope, project, instructions: false };
        plan_install(&home.machine, &request).unwrap().changes.remove(0).after.unwrap()
    };
    let folder = home.project();
    let text = after(Agent::Claude, AgentScope::User, Some(folder.clone()));
    assert!(text.contains(&format!("\"--project\",\n        \"{}\"", folder.display())), "{text}");
    let text = after(Agent::Codex, AgentScope::Project, Some(folder.clone()));
    assert!(text.contains("args = [\"mcp\"]"), "{text}");
    for agent in [Agent::Cursor, Agent::VsCode] {
        let text = after(agent, AgentScope::Project, Some(folder.clone()));
        assert!(text.contains("\"--project\",\n        \"${workspaceFolder}\""), "{text}");
    }
}

#[test]
fn a_malformed_file_is_told_by_its_place_and_left_while_the_others_are_written() {
    let home = Home::new();
    let broken = [
        (Agent::Claude, "home/.claude.json", "{\n  \"a\": 1\n  \"b\": 2\n}\n", ":2:9: "),
        (Agent::Codex, "home/.codex/config.toml", "a = 1\n[mcp_servers.x\n", ":2:"),
        (Agent::Cursor, "home/.cursor/mcp.json", "{\"mcpServers\": {\"x\": {}}, \"mcpServers\": {}}", ":1:27: "),
        (Agent::OpenCode, "home/.config/opencode/opencode.json", "{\"mcp\": []}", ":1:9: `mcp` is no object"),
    ];
    for (_, path, text, _) in broken {
        home.put(path, text);
    }
    home.put("home/.gemini/settings.json", "[]");
    home.put("home/.config/Code/User/mcp.json", "{}");
    let request = AgentsRequest { agents: Agent::ALL.to_vec(), ..AgentsRequest::default() };
    let before = home.snapshot();
    let plan = plan_install(&home.machine, &request).unwrap();
    assert_eq!((plan.changes.len(), plan.faults.len()), (1, 5), "{plan:?}");
    for ((_, path, _, place), fault) in broken.iter().zip(&plan.faults) {
        let words = fault.to_string();
        assert!(words.contains(&format!("{path}{place}")), "{words}");
        assert!(fault.hint().is_some(), "{words}");
    }
    assert_eq!(home.snapshot(), before, "nothing is written before it is asked for");
    plan.write().unwrap();
    let mut after = home.snapshot();
    let changed = home.root().join("home/.config/Code/User/mcp.json");
    assert_ne!(after[&changed], before[&changed]);
    after.insert(changed.clone(), before[&changed].clone());
    assert_eq!(after, before);
    let faults = plan_uninstall(&home.machine, &request).unwrap().faults;
    assert_eq!(faults.len(), 5);
}

#[test]
fn a_server_of_our_name_that_is_not_ours_stays_whatever_is_asked() {
    let cases = [
        (
            Agent::Claude,
            "home/.claude.json",
            "{\"mcpServers\": {\"wb\": {\"command\": \"docker\", \"args\": [\"mcp\"]}}}",
        ),
        (Agent::Claude, "home/.claude.json", "{\"mcpServers\": {\"wb\": {\"url\": \"http://host\"}}}"),
        (Agent::Claude, "home/.claude.json", "{\"mcpServers\": {\"wb\": null}}"),
        (
            Agent::Claude,
            "home/.claude.json",
            "{\"mcpServers\": {\"wb\": {\"command\": \"wb\", \"args\": [\"serve\"]}}}",
        ),
        (Agent::Codex, "home/.codex/config.toml", "[mcp_servers.wb]\nurl = \"http://host\"\n"),
        (Agent::Codex, "home/.codex/config.toml", "[mcp_servers.wb.env]\nA = \"b\"\n"),
        (
            Agent::OpenCode,
            "home/.config/opencode/opencode.json",
            "{\"mcp\": {\"wb\": {\"command\": [\"x\", \"mcp\"]}}}",
        ),
    ];
    for (agent, path, text) in cases {
        let home = Home::new();
        home.put(path, text);
        let plan = plan_install(&home.machine, &of_user(agent)).unwrap();
        assert!(plan.changes.is_empty());
        assert!(plan.faults[0].to_string().contains("the server `wb` is not ours"), "{plan:?}");
        assert_eq!(home.state(agent, AgentScope::User), EntryState::Foreign);
        let plan = plan_uninstall(&home.machine, &of_user(agent)).unwrap();
        assert!(plan.changes.is_empty() && plan.faults.is_empty());
        assert!(plan.remarks[0].contains("is not ours, and stays"), "{plan:?}");
    }
}

#[test]
fn an_entry_of_another_wb_is_renewed_and_keeps_its_other_members() {
    let cases = [
        (
            Agent::Claude,
            "home/.claude.json",
            "{\"mcpServers\": {\n  \"wb\": { \"command\": \"/old/wb\", \"env\": {\"A\": \"b\"}, \"args\": [\"mcp\", \"-v\"] } // c\n}}",
            "{\"mcpServers\": {\n  \"wb\": { \"command\": \"/opt/tools/bin/wb\", \"env\": {\"A\": \"b\"}, \"args\": [\"mcp\"] } // c\n}}",
        ),
        (
            Agent::OpenCode,
            "home/.config/opencode/opencode.json",
            "{\"mcp\": {\"wb\": {\n    \"command\": [\n      \"C:\\\\bin\\\\wb.exe\",\n      \"mcp\"\n    ],\n    \"enabled\": false\n}}}",
            "{\"mcp\": {\"wb\": {\n    \"command\": [\n        \"/opt/tools/bin/wb\",\n        \"mcp\"\n    ],\n    \"enabled\": false\n}}}",
        ),
        (
            Agent::Codex,
            "home/.codex/config.toml",
            "[mcp_servers.wb] # mine\nargs = [ \"mcp\", \"--project\", \"/p\" ]\ncommand = 'wb' # d\nenabled = false\n",
            "[mcp_servers.wb] # mine\nargs = [\"mcp\"]\ncommand = \"/opt/tools/bin/wb\" # d\nenabled = false\n",
        ),
        (
            Agent::Codex,
            "home/.codex/config.toml",
            "[mcp_servers]\r\nwb = { command = \"/old/wb\", args = [\"mcp\"], enabled = true }\r\nx.command = \"x\"\r\n",
            "[mcp_servers]\r\nwb = { command = \"/opt/tools/bin/wb\", args = [\"mcp\"], enabled = true }\r\nx.command = \"x\"\r\n",
        ),
    ];
    for (agent, path, text, renewed) in cases {
        let home = Home::new();
        home.put(path, text);
        assert!(matches!(home.state(agent, AgentScope::User), EntryState::Other { .. }));
        home.install(&of_user(agent));
        assert_eq!(home.text(path), renewed);
        assert!(home.install(&of_user(agent)).changes.is_empty());
    }
}

#[test]
fn tables_that_a_person_added_below_ours_go_with_it() {
    let home = Home::new();
    let before = "a = 1\n\n[mcp_servers.wb]\ncommand = \"wb\"\nargs = [\"mcp\"] # c\nenv.A = \"b\"\n# of x\n[x]\n\n\
                  [mcp_servers.wb.tools.search]\napproval_mode = \"auto\"\n\n[y]\n";
    home.put("home/.codex/config.toml", before);
    home.uninstall(&of_user(Agent::Codex));
    assert_eq!(home.text("home/.codex/config.toml"), "a = 1\n# of x\n[x]\n\n[y]\n");
    home.put(
        "home/.codex/config.toml",
        "[mcp_servers]\nx.url = \"u\"\nwb = { command = \"wb\", args = [\"mcp\"] } # c\n# d\n",
    );
    home.uninstall(&of_user(Agent::Codex));
    assert_eq!(home.text("home/.codex/config.toml"), "[mcp_servers]\nx.url = \"u\"\n# d\n");
    let dotted = "mcp_servers.wb.command = \"wb\"\nmcp_servers.wb.args = [\"mcp\"]\n";
    home.put("home/.codex/config.toml", dotted);
    let plan = plan_uninstall(&home.machine, &of_user(Agent::Codex)).unwrap();
    assert!(plan.changes.is_empty() && plan.faults[0].to_string().contains("cannot be taken out alone"), "{plan:?}");
}

#[test]
fn servers_in_an_inline_table_are_refused_with_a_way_out() {
    let home = Home::new();
    home.put("home/.codex/config.toml", "mcp_servers = { x = { command = \"x\" } }\n");
    let plan = plan_install(&home.machine, &of_user(Agent::Codex)).unwrap();
    assert!(plan.changes.is_empty() && plan.faults[0].hint().unwrap().contains("[mcp_servers.NAME]"), "{plan:?}");
}

#[test]
fn of_two_files_the_one_that_is_there_is_taken_and_both_are_cleaned() {
    let home = Home::new();
    let request = of_user(Agent::OpenCode);
    home.put("home/.config/opencode/opencode.jsonc", "{ // mine\n}");
    let plan = home.install(&request);
    assert!(plan.changes[0].path.ends_with("opencode.jsonc"));
    let both = home.text("home/.config/opencode/opencode.jsonc");
    home.put("home/.config/opencode/opencode.json", &both.replace("// mine", ""));
    assert!(home.install(&request).changes.is_empty(), "it is there");
    assert_eq!(home.uninstall(&request).changes.len(), 2);
    assert_eq!(home.text("home/.config/opencode/opencode.jsonc"), "{ // mine\n}");
}

#[test]
fn a_file_that_changed_since_it_was_read_is_not_written_and_nor_is_any_other() {
    let home = Home::new();
    home.put("home/.claude.json", "{}");
    home.put("home/.gemini/settings.json", "{}");
    let request = AgentsRequest { agents: vec![Agent::Claude, Agent::Gemini], ..AgentsRequest::default() };
    let plan = plan_install(&home.machine, &request).unwrap();
    home.put("home/.gemini/settings.json", "{\"a\": 1}");
    let before = home.snapshot();
    assert!(plan.write().unwrap_err().to_string().contains("has changed since it was read"));
    assert_eq!(home.snapshot(), before);
}

#[test]
fn a_large_file_is_done_in_a_moment() {
    let home = Home::new();
    let entry = "{\"display\": \"a question of some length // with {braces}\", \"pasted\": [1, 2, {\"x\": null}]}";
    let history = vec![entry; 100_000].join(",\n      ");
    let text = format!("{{\n  \"projects\": {{\"/p\": {{\"history\": [\n      {history}\n]}}}}\n}}");
    assert!(text.len() > 8_000_000);
    home.put("home/.claude.json", &text);
    let begin = std::time::Instant::now();
    let plan = home.install(&of_user(Agent::Claude));
    assert!(plan.diff().len() < 2_000, "{}", plan.diff());
    home.uninstall(&of_user(Agent::Claude));
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
    assert!(home.text("home/.claude.json") == text);
}

#[cfg(unix)]
#[test]
fn links_are_written_through_and_rights_are_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let home = Home::new();
    let target = home.put("dotfiles/claude.json", "{}\n");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
    let link = home.root().join("home/.claude.json");
    symlink("../dotfiles/claude.json", &link).unwrap();
    let dangling = home.root().join("home/.codex/config.toml");
    fs::create_dir(dangling.parent().unwrap()).unwrap();
    symlink(home.root().join("dotfiles/codex.toml"), &dangling).unwrap();
    let before = home.snapshot();
    let request = AgentsRequest { agents: vec![Agent::Claude, Agent::Codex], ..AgentsRequest::default() };
    home.install(&request);
    for (link, target) in [(&link, "dotfiles/claude.json"), (&dangling, "dotfiles/codex.toml")] {
        assert!(fs::symlink_metadata(link).unwrap().is_symlink() && home.text(target).contains("/opt/tools/bin/wb"));
    }
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
    home.uninstall(&request);
    assert_eq!(home.snapshot(), before);
    assert!(fs::symlink_metadata(&dangling).unwrap().is_symlink());
    symlink("circle", home.root().join("home/circle")).unwrap();
    fs::remove_file(&link).unwrap();
    symlink("circle", &link).unwrap();
    assert!(!plan_install(&home.machine, &of_user(Agent::Claude)).unwrap().faults.is_empty());
}

#[cfg(unix)]
#[test]
fn files_that_may_not_be_written_or_are_none_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let guarded = home.put("home/.claude.json", "{}");
    fs::set_permissions(&guarded, fs::Permissions::from_mode(0o444)).unwrap();
    let plan = plan_install(&home.machine, &of_user(Agent::Claude)).unwrap();
    assert!(plan.faults[0].to_string().contains("may not be written"), "{plan:?}");
    fs::create_dir_all(home.root().join("home/.cursor/mcp.json")).unwrap();
    let plan = plan_install(&home.machine, &of_user(Agent::Cursor)).unwrap();
    assert!(plan.faults[0].to_string().contains("a file of at most"), "{plan:?}");
    fs::create_dir_all(home.root().join("home/.gemini")).unwrap();
    fs::write(home.root().join("home/.gemini/settings.json"), b"{\n  \"a\": \"\xff\"}").unwrap();
    let plan = plan_install(&home.machine, &of_user(Agent::Gemini)).unwrap();
    assert!(plan.faults[0].to_string().contains(":2:9: bytes that are no UTF-8"), "{plan:?}");
}

#[test]
fn a_machine_is_read_from_the_process() {
    let machine = wb_agents::Machine::of_process().unwrap();
    assert!(machine.home.is_absolute() && Path::new(&machine.command).is_file());
    assert!(machine.variables.contains_key("PATH") && machine.variables["PATH"] != OsString::new());
}
