#!/usr/bin/env bash
# Times wb beside sentence-transformers, PEFT and faiss, both sides in one run, and prints one table.
#
#   scripts/peers.sh [-n ROUNDS] [--only encode|train|search] [--isa avx2] [--trainer] [--wait MINUTES] [--json FILE]
#                    [--shape modernbert|nomic|qwen3|qwen2|gemma]
#
# Needs Rust, Python 3.11 or newer and all-MiniLM-L6-v2 as a sentence-transformers folder: WB_MINILM,
# or models/all-MiniLM-L6-v2 in the cache folder. Makes a Python environment in the cache folder once.
# Texts are CodeSearchNet's where WB_SHARED or ../shared has them, else Rust functions that Cargo keeps.
# WB_THREADS is the number of threads of each side, 2 unless told. --shape times random weights of that model's shape,
# some of its layers, in MiniLM's place.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;; esac

cache="${XDG_CACHE_HOME:-$HOME/.cache}/wb"
work="$cache/peers-inputs"
shared="${WB_SHARED:-$PWD/../shared}"
model="${WB_MINILM:-$cache/models/all-MiniLM-L6-v2}"
threads="${WB_THREADS:-2}"
# --json names a file from where the command was called.
arguments=()
while [ $# -gt 0 ]; do
  if [ "$1" = --json ] && [ $# -gt 1 ]; then
    arguments+=(--json "$(cd "$OLDPWD" && realpath -m "$2")")
    shift 2
  else
    arguments+=("$1")
    shift
  fi
done

if [ ! -f "$model/model.safetensors" ]; then
  echo "no all-MiniLM-L6-v2 at $model: put it there, or name its folder in WB_MINILM" >&2
  exit 2
fi

python="$(scripts/python.sh)"

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$cache/target}"
cargo build --release --quiet --workspace --example encode_bench --example train_bench --example flat_bench

texts="$("$python" scripts/peers/inputs.py "$work" --shared "$shared")"
export RAYON_NUM_THREADS="$threads" OMP_NUM_THREADS="$threads" MKL_NUM_THREADS="$threads" TOKENIZERS_PARALLELISM=true
export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 TRANSFORMERS_VERBOSITY=error
exec "$python" scripts/peers/compare.py --examples "$CARGO_TARGET_DIR/release/examples" --model "$model" \
  --work "$work" --texts "$texts" "${arguments[@]}"
