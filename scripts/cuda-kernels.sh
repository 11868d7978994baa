#!/usr/bin/env bash
# Assembles the CUDA kernels of encoding, training and search by NVIDIA's own ptxas, without a GPU, and counts what it
# refuses.
#
#   scripts/cuda-kernels.sh [SM ...]        SM: 80 90 100 unless told
#
# device_bench of scripts/cuda-build.sh runs against a driver that computes nothing (scripts/cuda/driver.c) and keeps all
# modules, those too that autotune only tries, of the few that `minimal` tries: passes, LoRA steps and steps of all weights
# of small models of seven architectures, in all precisions and with texts in blocks, then all-MiniLM-L6-v2 where WB_MINILM
# is its folder, and search. Whether kernels compute the right numbers, this does not tell. CubeCL tries hundreds of products,
# which takes three quarters of an hour for a generation and a core. Ends with 1 where a module is refused.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;; esac

. scripts/debian.sh
built="${CARGO_TARGET_DIR_CUDA:-$target/cuda}/wb-gpu"
[ -x "$built/device_bench" ] || { echo "no $built/device_bench; make it with scripts/cuda-build.sh" >&2; exit 1; }
# Its linker is looked for there.
[ /tmp/wb-gpu -ef "$built" ] || { rm -rf /tmp/wb-gpu && ln -s "$built" /tmp/wb-gpu; }

toolkit="$cache/cuda-toolkit"
if [ ! -x "$toolkit/nvidia/cuda_nvcc/bin/ptxas" ]; then
  mkdir -p "$toolkit"
  python3 -m pip download --quiet --no-deps --dest "$toolkit" nvidia-cuda-nvcc-cu12
  python3 -m zipfile -e "$toolkit"/nvidia_cuda_nvcc_cu12-*.whl "$toolkit"
  chmod +x "$toolkit/nvidia/cuda_nvcc/bin/ptxas"
fi
export CUDA_PATH="$toolkit/nvidia/cuda_nvcc"
ptxas="$CUDA_PATH/bin/ptxas"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
# Kernels of its own: what a driver that computes nothing found to be quick is not for a GPU, nor for a further process here,
# which would try no others, and so make fewer modules to be assembled.
export XDG_CACHE_HOME="$work/cache" CUBECL_AUTOTUNE_CACHE=0
mkdir "$work/driver" "$work/cache"
cc -shared -fPIC -O1 -o "$work/driver/libcuda.so.1" scripts/cuda/driver.c
ln -s libcuda.so.1 "$work/driver/libcuda.so"

# made MODEL COMMANDS: runs them, and tells how many were refused and what was launched.
made() {
  local log="$PTX_OUT/$(basename "$1").log"
  printf '%s\n' "${@:2}" | LD_LIBRARY_PATH="$work/driver" /tmp/wb-gpu/device_bench "$1" '{"cuda":{"autotune":"minimal"}}' > "$log" 2>&1 || {
    # The answers of search are held to the processor's, and are none here.
    grep -q "a device's product of vectors is" "$log" || { tail -n 5 "$log" >&2; echo "device_bench ended early with $1" >&2; exit 1; }
  }
  echo "sm_$SM $(basename "$1"): $(grep -c '^refused' "$log" || true) of $(($# - 1)) refused, $(cat "$PTX_OUT/launches.txt") launches"
}

generations=("$@")
[ $# -gt 0 ] || generations=(80 90 100)
small=() large=()
for precision in fp32 bf16 f16; do
  small+=("encode 5 20 $precision" "train 4 20 $precision" "train-whole 4 20 $precision")
  large+=("encode 64 128 $precision" "train 32 128 $precision" "train-whole 8 64 $precision")
done
bad=0
for SM in "${generations[@]}"; do
  export SM PTX_OUT="$work/sm_$SM"
  mkdir -p "$PTX_OUT"
  for model in bert roberta t5 nomic modernbert qwen2 qwen3 gemma; do
    commands=("${small[@]}")
    # Attention in blocks, of a model without a longest text.
    [ "$model" != t5 ] || commands+=("encode 1 600 fp32" "train 1 600 fp32")
    made "workbench/wb-encoder/tests/golden/tiny-$model" "${commands[@]}"
  done
  if [ -n "${WB_MINILM:-}" ]; then
    made "$WB_MINILM" "${large[@]}" "search 300 20000 384 100"
  fi
  # For what the module asks: from 90 on its own generation alone, as in sm_90a.
  # shellcheck disable=SC2016 # For the shell of each.
  find "$PTX_OUT" -name '*.ptx' -print0 | xargs -0 -P "$(nproc)" -I{} sh -c '
    arch="$(sed -n "s/^\.target \([a-z0-9_]*\).*/\1/p" "$1")"
    "$0" -arch="$arch" -o /dev/null "$1" > "$1.log" 2>&1 || echo "$1"' "$ptxas" {} > "$PTX_OUT/refused"
  modules="$(find "$PTX_OUT" -name '*.ptx' | wc -l)"
  refused="$(wc -l < "$PTX_OUT/refused")"
  echo "sm_$SM: $modules modules, $refused refused by $("$ptxas" --version | tail -n 1)"
  if [ "$refused" -gt 0 ]; then
    bad=1
    while read -r module; do tail -n 3 "$module.log"; done < "$PTX_OUT/refused" | sort | uniq -c | sort -rn | head -n 20
  fi
  [ "$modules" -gt 0 ] || { echo "no module was made"; bad=1; }
done
exit "$bad"
