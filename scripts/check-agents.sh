#!/usr/bin/env bash
# Agents that are really here read what `wb agents install` writes: each in a home folder of its own, which has the same
# bytes after `wb agents uninstall` as before. Agents that are not on the PATH are skipped.
#
# Usage: scripts/check-agents.sh WB      (a wb that has `wb agents`)
set -uo pipefail
wb="$(realpath "${1:?usage: scripts/check-agents.sh WB}")"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
unset XDG_CONFIG_HOME CODEX_HOME CLAUDE_CONFIG_DIR OPENCODE_CONFIG OPENCODE_CONFIG_DIR GEMINI_CLI_HOME
failed=0

# check NAME FILE TEXT COMMAND...: FILE of the home folder has TEXT before; COMMAND lists the agent's servers.
check() {
  local name="$1" file="$2" text="$3"
  shift 3
  if ! command -v "$1" > /dev/null; then
    echo "SKIPPED $name: $1 is not on the PATH"
    return
  fi
  export HOME="$work/$name"
  mkdir -p "$HOME/project" "$(dirname "$HOME/$file")"
  cd "$HOME/project" || exit 2
  printf '%s' "$text" > "$HOME/$file"
  cp "$HOME/$file" "$work/before"
  "$wb" agents install --agent "$name" --yes > /dev/null || failed=1
  cp "$HOME/$file" "$work/installed"
  local listed
  listed="$(timeout 120 "$@" 2>&1 < /dev/null | grep -w wb | head -n 1)"
  if [ -z "$listed" ]; then
    echo "FAILED $name: $* does not list wb"
    failed=1
  else
    echo "$name: $listed"
  fi
  # Some write to their configuration whenever they start.
  cmp -s "$work/installed" "$HOME/$file" || echo "  $name changed $file itself"
  cp "$work/installed" "$HOME/$file"
  "$wb" agents uninstall --agent "$name" --yes > /dev/null || failed=1
  cmp "$work/before" "$HOME/$file" || failed=1
}

check claude .claude.json $'{\n  "numStartups": 3,\n  "mcpServers": {}\n}\n' claude mcp list
check codex .codex/config.toml $'model = "m" # mine\n' codex mcp list
check gemini .gemini/settings.json $'{\n  // mine\n  "ui": { "hideTips": true }\n}\n' gemini mcp list
check opencode .config/opencode/opencode.jsonc $'{\n  "share": "disabled", // mine\n}\n' opencode mcp list
exit "$failed"
