#!/usr/bin/env bash
# Checks `wb mcp` by others: the protocol's conformance suite (npm) and its Python client (PyPI), over HTTP and over
# standard input and output, in the version with a handshake and in the one without.
#
# Usage: scripts/check-mcp.sh [WB | --ready]
#
# WB is the program, else the one in the build's folder; with --ready, nothing but what it is checked with is looked for.
# Suite, client and a Node.js that is new enough for the suite are put into the cache folder once, and again when
# scripts/mcp changes. Ends with 77, and a line that begins with SKIPPED, where they cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;; esac

wb="${1:-${CARGO_TARGET_DIR:-target}/release/wb}"
[ "$wb" = --ready ] || [ -x "$wb" ] || { echo "no program at $wb: cargo build --release -p wb" >&2; exit 2; }

skip() {
  echo "SKIPPED mcp: $1"
  exit 77
}

command -v npm >/dev/null || skip "npm is not there, which brings the conformance suite"
command -v python3 >/dev/null || skip "python3 is not there, which runs the client"

environment="${XDG_CACHE_HOME:-$HOME/.cache}/wb/mcp-checks"
mkdir -p "$environment"
exec 9>"$environment/lock"
flock 9
if ! cat scripts/mcp/package.json scripts/mcp/requirements.txt | cmp -s - "$environment/made-of"; then
  rm -f "$environment/made-of"
  cp scripts/mcp/package.json "$environment/package.json"
  (cd "$environment" && npm install --no-audit --no-fund --loglevel=error) >&2 || skip "npm cannot fetch the conformance suite"
  [ -x "$environment/bin/python" ] || python3 -m venv "$environment"
  "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --requirement scripts/mcp/requirements.txt >&2 ||
    skip "pip cannot fetch the client"
  cat scripts/mcp/package.json scripts/mcp/requirements.txt > "$environment/made-of"
fi
"$environment/node_modules/node/bin/node" --version >/dev/null 2>&1 || skip "there is no Node.js 22 for this machine on npm"
flock -u 9
[ "$wb" != --ready ] || exit 0

"$environment/bin/python" scripts/check-mcp.py "$wb" "$environment"
