#!/usr/bin/env bash
# Writes the kernels of encoding and training in Metal's language, without a Mac, and counts what naga refuses.
#
#   scripts/metal-kernels.sh [TEST ...]     TEST: names of device tests; passes and training unless told
#
# A build with the feature `wgpu` computes on a Mac by WGSL, which naga, a part of wgpu, translates for Metal. Here that
# build runs the numeric tests of devices on one of software (scripts/vulkan-device.sh), keeps all that CubeCL writes, and
# gives it to the same naga for Metal. Whether Apple's compiler takes it and what a Mac computes, this does not tell; nor
# what the feature `metal` does, which writes Metal's language itself. Ends with 1 where a kernel is refused, with 77 and a
# line that begins with SKIPPED where the device cannot be made.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 0 ;; esac

. scripts/debian.sh
export CARGO_TARGET_DIR="$target"
tests=("$@")
[ $# -gt 0 ] || tests=(passes:: training::)

version="$(sed -n '/^name = "naga"$/{n;s/^version = "\(.*\)"$/\1/p}' Cargo.lock)"
naga="$cache/naga-$version/bin/naga"
[ -x "$naga" ] || cargo install --quiet --locked --root "$cache/naga-$version" --target-dir "$target/naga" "naga-cli@^${version%.*}"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir -p "$target/wgpu"
cargo --config scripts/device-tests.toml build --release --workspace --no-default-features --test on_device \
  --features wb-pipeline/wgpu --message-format json-render-diagnostics > "$target/wgpu-build.json"
cp "$(grep -o '"executable":"[^"]*/on_device-[^"]*"' "$target/wgpu-build.json" | cut -d '"' -f 4 | tail -n 1)" "$target/wgpu/on_device"

WB_TEST_DEVICE=wgpu CUBECL_DEBUG_LOG="$work/kernels.log" \
  scripts/vulkan-device.sh "$target/wgpu/on_device" --test-threads=1 "${tests[@]}" | tail -n 3

# Each kernel stands between fences in the log; the same one is made once.
awk -v folder="$work" '
  /^```wgsl/ { inside = 1; name = sprintf("%s/%05d.wgsl", folder, ++n); next }
  /^```/ { if (inside) close(name); inside = 0 }
  inside { print > name }' "$work/kernels.log"
find "$work" -name '*.wgsl' -print0 | xargs -0 sha256sum | sort | awk 'seen[$1]++ { print $2 }' | xargs -r rm
[ -n "$(find "$work" -name '*.wgsl' -print -quit)" ] || { echo "no kernel was written" >&2; exit 1; }
# shellcheck disable=SC2016 # For the shell of each.
find "$work" -name '*.wgsl' -print0 | xargs -0 -P "$(nproc)" -I{} sh -c '
  "$0" --metal-version 3.0 "$1" "${1%.wgsl}.metal" > "$1.log" 2>&1 || echo "$1"' "$naga" {} > "$work/refused"
kernels="$(find "$work" -name '*.wgsl' | wc -l)"
written="$(find "$work" -name '*.metal' | wc -l)"
refused="$(wc -l < "$work/refused")"
echo "$kernels kernels, $written written in Metal's language, $refused refused by naga $version"
if [ "$refused" -gt 0 ]; then
  head -n 1 "$work/refused" | xargs -I{} cat {}.log
  exit 1
fi
