#!/usr/bin/env bash
# Two devices that are really broken, and what `wb` says about them: both must be refused, with the reason, by a
# process that is alive to say it, and nothing may be computed or written.
#
#   SwiftShader  Chromium's Vulkan on the processor: some of burn's kernels for matrix products are silently wrong on it.
#                Which kernel is taken is timed anew in each process, so the wrong one is met at one size or another.
#   lavapipe     Mesa's Vulkan on the processor: burn hangs or crashes on it.
#
# Usage: scripts/broken-devices.sh       (Debian; installs the two packages where they are missing)
#   WB=PATH       a wb that was built with the feature `vulkan`, instead of building one (half an hour)
#   LIMIT=SECONDS time for one self-test (30)
set -uo pipefail
cd "$(dirname "$0")/.."

limit="${LIMIT:-30}"
swiftshader=/usr/lib/chromium/vk_swiftshader_icd.json
lavapipe="$(compgen -G '/usr/share/vulkan/icd.d/lvp_icd*.json' | head -n 1)"
export WB_SELF_TEST_SECONDS="$limit" WB_OFFLINE=1
# Kernels that an earlier process timed are not remembered.
export CUBECL_AUTOTUNE_CACHE=0

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
if [ ! -f "$swiftshader" ] || [ -z "$lavapipe" ] || ! ldconfig -p | grep -q libvulkan.so.1; then
  "${as_root[@]}" apt-get update -qq &&
    "${as_root[@]}" apt-get install -y -qq --no-install-recommends chromium mesa-vulkan-drivers libvulkan1 || exit 2
  lavapipe="$(compgen -G '/usr/share/vulkan/icd.d/lvp_icd*.json' | head -n 1)"
fi
if [ -z "${WB:-}" ]; then
  # A folder of its own: other features would replace the wb that is there.
  target="${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/wb/target}-vulkan"
  cargo build --release --target-dir "$target" -p wb --features vulkan || exit 2
  WB="$target/release/wb"
fi

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
table="$work/table"
printf 'device\twhat happened\tverdict\n' > "$table"
failed=0

# judge DEVICE WHAT CONDITION...: a row of the table; fails unless the condition, a test's arguments, holds.
judge() {
  local device="$1" what="$2" verdict=ok
  shift 2
  if ! test "$@"; then
    verdict="WRONG: $*"
    failed=$((failed + 1))
    sed 's/^/    /' "$work/log" >&2
  fi
  printf '%s\t%s\t%s\n' "$device" "$what" "$verdict" >> "$table"
}

# try DRIVER COMMAND...: runs wb with one Vulkan driver; leaves $rc, $seconds and the file log.
# The outer time-out is not to be reached: its exit code is 124.
try() {
  local driver="$1" started
  shift
  started="$(date +%s%N)"
  VK_DRIVER_FILES="$driver" VK_ICD_FILENAMES="$driver" timeout -k 5 "$((4 * limit + 30))" "$WB" "$@" > "$work/log" 2>&1 < /dev/null
  rc=$?
  seconds="$(awk -v from="$started" -v to="$(date +%s%N)" 'BEGIN { printf "%.1f", (to - from) / 1e9 }')"
  printf '\n$ VK_DRIVER_FILES=%s wb %s\n' "$driver" "$*"
  cat "$work/log"
  echo "exit code $rc after $seconds s"
}

# How many lines of the log match.
says() { grep -cE "$1" "$work/log"; }
# How many self-tests run, or are zombies.
left() { ps -eo stat=,args= | grep -cE '(^Z.*\[(wb|exe)\])|/(wb|exe) [p]robe --device'; }
# How many files and folders there are.
written() { find "$work/written" -mindepth 1 | wc -l; }
# A device that is wrong is tried with three other settings too.
in_time() { awk -v s="$seconds" -v l="$((4 * limit))" 'BEGIN { print (s <= l + 1) ? "yes" : "no" }'; }

# What there is to measure and to train on: both work on the processor.
encoder=workbench/wb-encoder/tests/golden/tiny-roberta
mkdir -p "$work/beir/qrels" "$work/written"
for i in 1 2 3 4 5 6 7 8; do
  echo "{\"_id\": \"d$i\", \"title\": \"\", \"text\": \"def f$i(x): return x + $i\"}" >> "$work/beir/corpus.jsonl"
  echo "{\"_id\": \"q$i\", \"text\": \"add $i to a number\"}" >> "$work/beir/queries.jsonl"
done
printf 'query-id\tcorpus-id\tscore\n' > "$work/beir/qrels/test.tsv"
for i in 1 2 3 4 5 6 7 8; do printf 'q%s\td%s\t1\n' "$i" "$i" >> "$work/beir/qrels/test.tsv"; done
cat > "$work/train.yaml" <<YAML
name: broken-devices
data: { sources: [{ code: { path: workbench/wb-core/src, group: file } }] }
encoder: { model: { pretrained: { id: $encoder } }, lora: { rank: 4 } }
train: { batch: { pairs: 8 }, max_steps: 2 }
YAML
bench=(bench beir --dataset "$work/beir" --encoder "$encoder" --json "$work/written/out.json" --trec "$work/written/out.trec")
places=(--runs "$work/written/runs" --datasets "$work/written/datasets" --reports "$work/written/reports")
train=(train "$work/train.yaml" "${places[@]}")

wrong='refused: .*matrix product is wrong: ([0-9]+ × )+[0-9]+ gave -?[0-9.a-zA-Z]+ where [0-9.]+ is right'
dead='refused: .*it (hung while .*: no result within [0-9]+ s, and was ended|crashed .*\(signal [0-9]+ .*\))'
either="($wrong)|($dead)"
figures=0
for broken in "SwiftShader|$swiftshader" "lavapipe|$lavapipe"; do
  IFS='|' read -r name driver <<< "$broken"
  for device in vulkan wgpu; do
    try "$driver" doctor --device "$device" --limit "$limit"
    reason="$(sed -n 's/^refused: //p' "$work/log" | cut -c1-110)"
    judge "$name, $device" "doctor: ${reason:-nothing was said}" "$rc" = 1
    judge "$name, $device" "  the reason has figures" "$(says "$either")" = 1
    judge "$name, $device" "  $seconds s of $limit s, nothing left running" "$(in_time) $(left)" = "yes 0"
    for command in bench train; do
      declare -n arguments="$command"
      try "$driver" "${arguments[@]}" --device "$device"
      [ "$(says 'matrix product is wrong: ')" = 0 ] || figures=$((figures + 1))
      judge "$name, $device" "$command: refused with exit code $rc in $seconds s" "$rc $(says "^error: cannot use device \`$device\`: ") $(says '^  hint: run with device=cpu')" = "2 1 1"
      judge "$name, $device" "  nothing written, nothing left running" "$(written) $(left)" = "0 0"
    done
  done
done

# Wrong products were met, not only slow ones: again and again, since the kernel is a matter of timing.
for ((i = 0; figures == 0 && i < 10; i++)); do
  try "$swiftshader" doctor --device vulkan --limit "$limit"
  [ "$(says "$wrong")" = 0 ] || figures=1
done
judge "SwiftShader, vulkan" "a wrong product was met: $(sed -n 's/^.*its matrix product is wrong: //p' "$work/log" | head -n 1)" "$figures" -gt 0

# `auto` passes by a program that plays a device on the processor.
try "$swiftshader" "${bench[@]}" --device auto
judge "SwiftShader, auto" "bench: $(grep -m 1 '^device: ' "$work/log")" "$rc $(says '^device: cpu ')" = "0 1"
rm -rf "$work/written" && mkdir "$work/written"

# No driver at all.
try "$work/none.json" doctor --device vulkan --limit "$limit"
judge "none, vulkan" "doctor: $(sed -n 's/^refused: //p' "$work/log")" "$rc $(says 'this machine has no device that vulkan can use')" = "1 1"

# Not compiled in.
for command in bench train; do
  declare -n arguments="$command"
  try "$swiftshader" "${arguments[@]}" --device cuda
  judge "cuda, not compiled in" "$command: refused with exit code $rc" "$rc $(says 'built without the feature `cuda`') $(says 'hint: cargo install --path workbench/wb --features cuda')" = "2 1 1"
  judge "cuda, not compiled in" "  nothing written" "$(written)" = 0
done

# A self-test does not outlive the wb that started it, however that ended.
VK_DRIVER_FILES="$swiftshader" VK_ICD_FILENAMES="$swiftshader" "$WB" doctor --device vulkan --limit "$limit" > "$work/log" 2>&1 < /dev/null &
# As soon as the self-test runs: without autotune it is over in a second.
for ((i = 0; i < 200; i++)); do
  before="$(left)"
  [ "$before" = 0 ] || break
  sleep 0.02
done
kill -9 $! 2> /dev/null
wait $! 2> /dev/null
# A busy machine takes a moment to clear away what aborted.
for ((i = 0; i < 20 && $(left) > 0; i++)); do sleep 0.25; done
judge "SwiftShader, vulkan" "wb killed during the self-test ($before running before)" "$before $(left)" = "1 0"

# The same commands on the processor, so that it was the device that was refused.
for command in bench train; do
  declare -n arguments="$command"
  try "$swiftshader" "${arguments[@]}" --device cpu
  judge "cpu" "$command: exit code $rc, $(written) files and folders written" "$rc $(($(written) > 0))" = "0 1"
done

printf '\n'
column -t -s "$(printf '\t')" "$table"
if [ "$failed" -eq 0 ]; then
  printf '\nbroken devices: both refused\n'
else
  printf '\nbroken devices: %s checks FAILED\n' "$failed"
  exit 1
fi
