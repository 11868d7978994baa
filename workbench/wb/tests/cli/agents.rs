//! `wb agents`: shown, asked for, written and taken out.

use crate::sandbox::Sandbox;

#[test]
fn the_server_is_shown_then_written_with_a_yes_and_taken_out() {
    let sandbox = Sandbox::new();
    sandbox.write(".codex/config.toml", "model = \"m\"\n");
    sandbox.write(".cursor/mcp.json", "{ broken");
    let wb = |arguments: &str| sandbox.wb(&arguments.split(' ').collect::<Vec<_>>());
    let shown = wb("agents install --agent codex");
    assert!(shown.starts_with("exit 1\nout: --- ~/.codex/config.toml\nout: +++ "), "{shown}");
    assert!(shown.ends_with("out: +args = [\"mcp\"]\nerr: nothing was written; the same command with --yes writes it"));
    assert!(wb("agents install --agent codex --dry-run").starts_with("exit 0"));
    let both = wb("agents install --agent codex,cursor --yes");
    assert!(both.starts_with("exit 2\n") && both.contains("err: codex: ~/.codex/config.toml\nerr: error: "), "{both}");
    assert!(wb("agents status").contains("out:   user    ~/.codex/config.toml: configured, starts this wb\n"));
    let again = wb("agents install --agent codex");
    assert_eq!(again, "exit 0\nerr: codex: already there, in ~/.codex/config.toml");
    assert!(wb("agents uninstall --agent codex --yes").ends_with("\nerr: codex: ~/.codex/config.toml"));
    assert_eq!(std::fs::read_to_string(sandbox.path(".codex/config.toml")).unwrap(), "model = \"m\"\n");
}
