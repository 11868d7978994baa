#!/usr/bin/env bash
# Shows what wb does on a GPU, in ten minutes once its kernels are made, and writes a table for reports/LOG.md.
#
#   scripts/gpu.sh [--device cuda] [--wb FOLDER] [--seconds 420] [--limit 600] [--only doctor|compare|train] [--small]
#                  [--through COMMAND]
#
# What is not done after --limit seconds is ended, and told; comparisons that would begin after --seconds are left out.
# Each program makes its kernels once on a machine, on one thread, for minutes (an H200: more than three for the self-test,
# one to two for a pass, more for a step), and keeps them in the user's cache; --only does a part at a time.
#
# Needs no network and no Rust: FOLDER (target/cuda/wb-gpu unless told) holds wb and device_bench, which
# scripts/cuda-build.sh made, and where they are there pairs.jsonl, a list of a question and its code in each line, and
# minilm, the published model, which are trained on; else made-up pairs and random weights of its shape. Needs Python
# with PyTorch, transformers, sentence-transformers and PEFT, which are what wb is compared with; `python3` unless
# WB_PYTHON says more.
#
#   1. the self-test, `wb doctor --device D`
#   2. vectors of random weights of MiniLM's, ModernBERT's and Qwen3's shapes against PyTorch's
#   3. passes of 256 x 128 and 64 x 512 tokens, and LoRA steps, in bf16 and fp32, beside PyTorch
#   4. exact search, a million queries in a million documents
#   5. the training of configs/code-minilm.yaml, twice: the same bytes, or how far apart
#
# --small shrinks all of it, to try the script itself on a processor or, with `--device vulkan --through
# scripts/vulkan-device.sh`, where wb's programs are called by that command, on a device of software.
set -euo pipefail

case "${1:-}" in -h | --help) sed -n '2,26s/^# \{0,1\}//p' "$0"; exit 0 ;; esac

checkout="$(cd "$(dirname "$0")/.." && pwd)"
device=cuda folder="" seconds=420 limit=600 small=() through="" only=""
while [ $# -gt 0 ]; do
  case "$1" in
    --device) device="$2"; shift 2 ;;
    --wb) folder="$2"; shift 2 ;;
    --seconds) seconds="$2"; shift 2 ;;
    --limit) limit="$2"; shift 2 ;;
    --only) only="$2"; shift 2 ;;
    --small) small=(--small); shift ;;
    --through) through="$(realpath "$2")"; shift 2 ;;
    *) echo "unknown: $1; see scripts/gpu.sh --help" >&2; exit 2 ;;
  esac
done
case "$only" in "" | doctor | compare | train) ;; *) echo "--only $only: expected doctor, compare or train" >&2; exit 2 ;; esac
folder="$(realpath "${folder:-${CARGO_TARGET_DIR:-$checkout/target}/cuda/wb-gpu}")"
python="${WB_PYTHON:-python3}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# Where its own libraries came along, they are looked for here.
[ -d "$folder/lib" ] && ln -sfn "$folder" /tmp/wb-gpu
program() {
  [ -n "$through" ] || { echo "$folder/$1"; return; }
  printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$through" "$folder/$1" > "$work/$1"
  chmod +x "$work/$1"
  echo "$work/$1"
}
wb="$(program wb)"
began="$SECONDS"

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null || echo "no nvidia-smi"
"$wb" --version

# libdevice, where the toolkit is not at its usual place.
if [ -z "${CUDA_PATH:-}" ] && [ ! -e /usr/local/cuda/nvvm/libdevice/libdevice.10.bc ]; then
  found="$("$python" - <<'PY' || true
import importlib.util, pathlib
for name in ("nvidia.cuda_nvcc", "nvidia.cu13", "triton.backends.nvidia"):
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        continue
    for place in (spec.submodule_search_locations or []) if spec else []:
        hits = sorted(pathlib.Path(place).rglob("libdevice.10.bc"))
        if hits:
            print(hits[0])
            raise SystemExit
PY
)"
  if [ -n "$found" ]; then
    mkdir -p "$work/cuda/nvvm/libdevice"
    cp "$found" "$work/cuda/nvvm/libdevice/"
    export CUDA_PATH="$work/cuda"
  fi
fi

# Runs a program for as long as there is time.
in_time() {
  local left=$((limit - (SECONDS - began)))
  timeout --signal INT --kill-after 15 "$((left > 1 ? left : 1))" "$@"
}

is_wanted() { [ -z "$only" ] || [ "$only" = "$1" ]; }

doctor="not asked for"
if is_wanted doctor; then
  echo "--- self-test"
  # A device of software takes longer for a kernel.
  precision=fp32
  case "$device" in cuda*) precision=bf16 ;; esac
  if WB_SELF_TEST_PRECISION="$precision" in_time "$wb" doctor --device "$device" --limit "$([ ${#small[@]} -gt 0 ] && echo 900 || echo 60)"; then doctor=passed; else doctor=FAILED; fi
  echo "--- self-test $doctor, $((SECONDS - began)) s"
fi

# Pairs of the file that came along, else made-up ones; texts for the tokenizers.
pairs="$folder/pairs.jsonl"
[ -f "$pairs" ] || pairs="$work/pairs.jsonl"
"$python" - "$pairs" "$work/texts.jsonl" <<'PY'
import json, pathlib, random, sys
pairs, texts = map(pathlib.Path, sys.argv[1:])
if not pairs.exists():
    draw = random.Random(7)
    words = [f"{a}_{b}" for a in ("read", "write", "sort", "find", "parse", "merge", "count", "split") for b in ("file", "line", "tree", "list", "map", "row", "key", "node")]
    made = []
    for at in range(320):
        name, other = draw.sample(words, 2)
        made.append([f"{name.replace('_', ' ')} by {other.replace('_', ' ')}, variant {at}", f"fn {name}_{at}({other}: &str) -> usize {{ {other}.len() + {at} }}"])
    pairs.write_text("".join(json.dumps(pair) + "\n" for pair in made))
rows = [json.loads(line) for line in pairs.read_text().splitlines()]
texts.write_text("".join(json.dumps(text) + "\n" for row in rows for text in row))
PY

right=yes
if is_wanted compare; then
  left=$((seconds - (SECONDS - began)))
  in_time "$python" "$checkout/scripts/gpu/compare.py" --bench "$(program device_bench)" --device "$device" --work "$work" \
    --texts "$work/texts.jsonl" --seconds "$((left > 30 ? left : 30))" "${small[@]}" || right=no
fi

if ! is_wanted train; then
  [ "$doctor" != FAILED ] && [ "$right" = yes ]
  exit
fi

# The same training twice.
[ -d "$work/minilm" ] || "$python" "$checkout/scripts/peers/shapes.py" minilm "$work/minilm" "$work/texts.jsonl" --max-tokens 512 ${small[@]:+--layers 1} > /dev/null
"$python" - "$pairs" "$work/data.jsonl" <<'PY'
import json, sys
with open(sys.argv[2], "w") as out:
    for at, line in enumerate(open(sys.argv[1])):
        anchor, positive = json.loads(line)[:2]
        out.write(json.dumps({"id": f"pair-{at}", "anchor": anchor, "positive": positive}) + "\n")
PY
steps=120
[ ${#small[@]} -gt 0 ] && steps=6
precision=bf16
case "$device" in cuda*) ;; *) precision=fp32 ;; esac
model="$work/minilm"
[ -d "$folder/minilm" ] && model="$folder/minilm"
recipe=(
  "$checkout/configs/code-minilm.yaml" "device=$device" "encoder.model.pretrained=$model"
  "data.sources=[{jsonl: {path: $work/data.jsonl, fields: {anchor: anchor, positive: positive}}}]"
  "train.mix=proportional" "train.epochs=100" "train.max_steps=$steps" "train.precision=$precision"
)
for run in one two; do
  started="$SECONDS"
  (cd "$work" && in_time "$wb" train "${recipe[@]}" --runs "$work/$run" > "$work/$run.log" 2>&1) || { tail -n 20 "$work/$run.log"; echo "- The training was ended, after $limit s by the limit, else by an error."; exit 1; }
  echo "- Training $run: $steps steps in $((SECONDS - started)) s, all told."
done
"$python" - "$work/one" "$work/two" <<'PY'
import json, pathlib, sys
losses = []
for folder in map(pathlib.Path, sys.argv[1:]):
    lines = next(folder.rglob("metrics.jsonl")).read_text().splitlines()
    losses.append([json.loads(line)["loss"] for line in lines])
weights = [sorted(pathlib.Path(folder).rglob("checkpoints/step-*/weights.safetensors"))[-1].read_bytes() for folder in sys.argv[1:]]
apart = max(abs(a - b) for a, b in zip(*losses))
print("- The two trainings " + ("are equal to the last byte." if weights[0] == weights[1] else f"differ: losses by at most {apart:.1e}."))
PY
echo "- All of it: $((SECONDS - began)) s; self-test $doctor."
[ "$doctor" != FAILED ] && [ "$right" = yes ]
