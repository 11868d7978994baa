//! Instructions between marks in the files that agents read.

use wb_agents::{Agent, AgentScope, AgentsRequest, plan_install, plan_uninstall};

use crate::home::Home;

fn with(home: &Home, agents: &[Agent], scope: AgentScope) -> AgentsRequest {
    let project = (scope == AgentScope::Project).then(|| home.project());
    AgentsRequest { agents: agents.to_vec(), scope, project, instructions: true }
}

#[test]
fn instructions_come_when_asked_for_and_go_to_the_byte() {
    let texts =
        ["", "\n", "# Rules", "# Rules\n", "# Rules\r\n\r\n- one\r\n", "\u{feff}# Rules\n\n\n", "<!-- wb -->\ntext"];
    for text in texts {
        for scope in [AgentScope::User, AgentScope::Project] {
            let home = Home::new();
            let folder = if scope == AgentScope::User { "home/.claude" } else { "project" };
            let path = format!("{folder}/CLAUDE.md");
            home.put(&path, text);
            let before = home.snapshot();
            let request = with(&home, &[Agent::Claude], scope);
            let plan = home.install(&request);
            assert_eq!(plan.changes.len(), 2);
            let now = home.text(&path);
            assert!(now.starts_with(text) && now.contains("<!-- wb:begin -->") && now.contains("<!-- wb:end -->"));
            assert!(!text.contains("\r\n") || now.matches('\n').count() == now.matches("\r\n").count());
            assert!(home.install(&request).changes.is_empty());
            // Instructions go, whether they are named again or not.
            home.uninstall(&AgentsRequest { instructions: false, ..request });
            assert_eq!(home.snapshot(), before, "{text:?}");
        }
    }
    let home = Home::new();
    let before = home.snapshot();
    let request = with(&home, &[Agent::Claude, Agent::Gemini, Agent::Codex], AgentScope::User);
    assert_eq!(home.install(&request).changes.len(), 6);
    home.uninstall(&request);
    assert_eq!(home.snapshot(), before);
    let plan = plan_install(&home.machine, &with(&home, &[Agent::Cursor], AgentScope::User)).unwrap();
    assert!(plan.changes.len() == 1 && plan.remarks[0].contains("no file for instructions"), "{plan:?}");
}

#[test]
fn a_file_that_several_agents_read_has_one_block_until_the_last_leaves() {
    let home = Home::new();
    home.put("project/AGENTS.md", "# Rules\n");
    let before = home.snapshot();
    let both = with(&home, &[Agent::Codex, Agent::Cursor], AgentScope::Project);
    let plan = home.install(&both);
    assert_eq!(plan.changes.len(), 3);
    let shared = plan.changes.iter().find(|change| change.path.ends_with("AGENTS.md")).unwrap();
    assert_eq!(shared.agents, both.agents);
    assert!(shared.told().starts_with("codex, cursor: "), "{}", shared.told());
    let plan = home.uninstall(&with(&home, &[Agent::Codex], AgentScope::Project));
    assert!(plan.remarks.iter().any(|remark| remark.contains("stay: cursor reads them too")), "{plan:?}");
    assert!(home.text("project/AGENTS.md").contains("wb:begin"));
    home.uninstall(&with(&home, &[Agent::Cursor], AgentScope::Project));
    assert_eq!(home.snapshot(), before);
}

#[test]
fn an_older_block_is_renewed_and_a_torn_one_is_refused() {
    let home = Home::new();
    let request = with(&home, &[Agent::Gemini], AgentScope::Project);
    home.install(&request);
    let new = home.text("project/GEMINI.md");
    home.put("project/GEMINI.md", "# A\n\n<!-- wb:begin -->\nold\n<!-- wb:end -->\n\n# B\n");
    home.install(&request);
    assert_eq!(home.text("project/GEMINI.md"), format!("# A\n\n{}\n\n# B\n", new.trim_end()));
    for torn in
        ["a\n<!-- wb:begin -->\n", "a\n<!-- wb:end -->\n", "a\n<!-- wb:begin -->\n<!-- wb:begin --><!-- wb:end -->"]
    {
        home.put("project/GEMINI.md", torn);
        let plan = plan_install(&home.machine, &request).unwrap();
        assert!(plan.faults[0].to_string().contains("GEMINI.md:"), "{plan:?}");
        let plan = plan_uninstall(&home.machine, &request).unwrap();
        assert!(plan.changes.iter().all(|change| !change.path.ends_with("GEMINI.md")), "{plan:?}");
        assert_eq!(home.text("project/GEMINI.md"), torn);
    }
}
