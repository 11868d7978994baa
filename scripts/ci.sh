#!/usr/bin/env bash
# The checks, in order of cost; stops at the first that fails. Continuous integration and people run this same file.
# At the end it says how long each step took, how many tests passed, and what was skipped and why;
# the same is added to ci-times.log beside the build output, to be compared with the next.
set -euo pipefail
cd "$(dirname "$0")/.."

target="${CARGO_TARGET_DIR:-target}"
logs="$(mktemp -d)"
mkdir -p "$target"
cold="$([ -d "$target/release/deps" ] && echo warm || echo cold)"
names=() seconds=() results=()
before="$(git status --porcelain 2>/dev/null || true)"

# step NAME COMMAND [ARGUMENT ...]
step() {
  local name="$1" started="$SECONDS" rc=0
  shift
  printf '\n=== %s: %s\n' "$name" "$*"
  "$@" 2>&1 | tee "$logs/$name.log" || rc=$?
  names+=("$name")
  seconds+=("$((SECONDS - started))")
  if [ "$rc" -eq 0 ]; then
    results+=("passed")
  elif [ "$rc" -eq 124 ] && [ "$1" = timeout ] && ! grep -q '^test .*FAILED$\|panicked at' "$logs/$name.log"; then
    results+=("skipped")
    echo "SKIPPED $name: not through in the time that was left; by itself: ${*:5}" | tee -a "$logs/$name.log"
  else
    results+=("FAILED")
    exit 1
  fi
}

# not_run NAME REASON: a step that this machine cannot do, counted like a skipped test.
not_run() {
  names+=("$1")
  seconds+=(0)
  results+=("skipped")
  echo "SKIPPED $1: $2" | tee "$logs/$1.log"
}

# in_time NAME SECONDS COMMAND [ARGUMENT ...]: a step that is broken off, and counted as skipped, where a whole run would
# come near its limit; not begun where fewer than so many seconds are left.
in_time() {
  local name="$1" least="$2" left=$((4800 - SECONDS))
  shift 2
  if [ "$left" -lt "$least" ]; then
    not_run "$name" "the checks have taken $((SECONDS / 60)) minutes already; by itself: $*"
  else
    step "$name" timeout -k 10 "$left" "$@"
  fi
}

summary() {
  local i
  printf '\n%-12s %8s  %s\n' step seconds result
  for i in "${!names[@]}"; do
    printf '%-12s %8d  %s\n' "${names[$i]}" "${seconds[$i]}" "${results[$i]}"
  done
  printf '%-12s %8d\n' total "$SECONDS"
  local passed failed skipped
  passed="$(cat "$logs"/*.log 2>/dev/null | sed -n 's/^test result: .* \([0-9]*\) passed;.*/\1/p' | awk '{ n += $1 } END { print n + 0 }')"
  failed="$(cat "$logs"/*.log 2>/dev/null | sed -n 's/^test result: .* \([0-9]*\) failed;.*/\1/p' | awk '{ n += $1 } END { print n + 0 }')"
  cat "$logs"/*.log 2>/dev/null | grep -o 'SKIPPED [A-Za-z0-9_:-]*: .*' | sort -u > "$logs/skipped" || true
  skipped="$(wc -l < "$logs/skipped")"
  printf '\ntests: %s passed, %s failed, %s skipped\n' "$passed" "$failed" "$skipped"
  sed 's/^/  /' "$logs/skipped"
  if [ "$rc" -eq 0 ]; then
    echo "ci: passed"
    rm -rf "$logs"
  else
    local last=$((${#names[@]} - 1))
    [ "$last" -ge 0 ] && echo "ci: FAILED in step ${names[$last]}, its output: $logs/${names[$last]}.log"
  fi
}

# The summary, printed and kept. Whether the build output was there before is what most of the time depends on.
logged_summary() {
  rc=$?
  { date -u +"%F %T, $(git rev-parse --short HEAD 2>/dev/null || echo no-commit), $cold" && summary; } | tee -a "$target/ci-times.log"
}
trap logged_summary EXIT
# Else the summary of a run that was ended would say that it passed.
trap 'exit 143' TERM INT HUP

untouched() {
  local after
  after="$(git status --porcelain 2>/dev/null || true)"
  if [ "$before" != "$after" ]; then
    echo "the checks changed the checkout:"
    diff <(echo "$before") <(echo "$after") || true
    return 1
  fi
  echo "the checkout is as it was before"
}

# Without any feature, and with each alone: what one of them hides from the compiler is seen here.
features() {
  local feature
  for feature in "" hub report embedded; do
    echo "--- features: ${feature:-none}"
    cargo clippy --release --workspace --no-default-features --features "${feature:+wb/$feature}" -- -D warnings
  done
}

# Each device alone; types can be checked where there is no such device, and Metal's on any system.
# DOCS_RS keeps a build script of cubecl-cuda from downloading LLVM, which checking types does not need.
devices() {
  local device
  for device in cuda wgpu vulkan metal; do
    echo "--- device: $device"
    DOCS_RS=1 cargo check --release -p wb --no-default-features --features "$device"
  done
}

# Crates of the program with the features that the tests' build gives them: but for ours that has burn there alone, all
# are the same, so that the two builds share what they compile. Where this fails, what the tests turn on is to be turned
# on in every build, in the workspace's Cargo.toml.
shared() {
  local apart
  features_of() {
    cargo tree --prefix none --no-dedupe -f '{p} {f}' "$@" | sed -E 's/ \((\*|proc-macro|\/[^)]*)\)//g; s/ $//' | grep -v '^$\|^\[' | sort -u
  }
  apart="$(comm -23 <(features_of -p wb -e normal,build) <(features_of --workspace -e normal,build,dev) | grep -v '^wb-encoder v' || true)"
  if [ -n "$apart" ]; then
    echo "compiled once for the program and once for the tests, with other features: $apart"
    return 1
  fi
  if cargo tree -p wb -e normal,build -i burn 2>/dev/null | grep -q '^burn '; then
    echo "the program has burn without a device"
    return 1
  fi
  echo "the program and the tests share every crate but wb-encoder and what uses it; the program has no burn"
}

step fmt cargo fmt --all --check
step shared shared
step build cargo test --release --workspace --no-run
# The libraries that exports are opened with, and a real server of language models, where .ci/run began to fetch them.
if [ -n "${WB_PYTHON_LOG:-}" ]; then
  while [ ! -f "$WB_PYTHON_LOG.done" ]; do sleep 1; done
  if [ "$(cat "$WB_PYTHON_LOG.done")" -eq 0 ]; then
    export WB_PYTHON="$(tail -n 1 "$WB_PYTHON_LOG")"
  else
    not_run python "the Python environment could not be made: $(tail -n 1 "$WB_PYTHON_LOG")"
  fi
fi
# The command of README.md, as printed there.
step test cargo test --release --workspace
step clippy cargo clippy --release --workspace --all-targets -- -D warnings
step features features
step doc env RUSTDOCFLAGS="-D warnings" cargo doc --release --no-deps --workspace
step devices devices
if command -v cargo-deny >/dev/null; then
  step deny cargo deny --offline check bans licenses sources
else
  not_run deny "cargo-deny is not installed: cargo install cargo-deny"
fi
step killed cargo test --release --workspace --test cli -- --ignored --nocapture killed python
# The server for agents by others: their suite and their client. What serves is the binary that the tests built.
if ! scripts/check-mcp.sh --ready > "$logs/mcp-ready" 2>&1; then
  not_run mcp "$(sed -n 's/^SKIPPED [^:]*: //p' "$logs/mcp-ready" | grep . || tail -n 1 "$logs/mcp-ready")"
else
  in_time mcp 120 scripts/check-mcp.sh "$target/release/wb"
fi
# Shards on the engines of others: Slurm with two nodes over S3, Ray with two raylets, containers; one of each is killed.
in_time shards 240 scripts/check-shards.sh "$target/release/wb"
# One training by ranks that MPICH and Slurm start, some of which are killed.
in_time ranks 120 scripts/check-distributed.sh "$target/release/wb"
# The main job on this machine's own sources, and the benchmarks on real data with a real model; they say what they
# measured; the binary is the one that the tests built. Then a Vulkan device of software. Both in the time that is left: a
# whole run has its limit, they take most of an hour, and a build from nothing as much.
in_time slow 300 cargo test --release --workspace --test slow -- --ignored --nocapture --test-threads=1
if ! scripts/vulkan-device.sh true > "$logs/vulkan-device" 2>&1; then
  not_run vulkan "$(sed -n 's/^SKIPPED [^:]*: //p' "$logs/vulkan-device" | grep . || tail -n 1 "$logs/vulkan-device")"
else
  in_time vulkan 600 scripts/check-vulkan.sh
fi
step untouched untouched
