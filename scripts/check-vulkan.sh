#!/usr/bin/env bash
# Builds wb for Vulkan and checks it on a device of software that computes right (scripts/vulkan-device.sh):
#
#   the self-test of `wb doctor`; passes, gradients and dropout masks of small models against the processor's own; twenty
#   steps of training with its losses; a training that is killed and resumed; one whose memory runs out (by
#   scripts/vulkan/limited.c); a pass and steps without kernels of our own (`fusion: false`); and that devices of software
#   which are broken are still refused (scripts/broken-devices.sh).
#
# Usage: scripts/check-vulkan.sh
#
# The build has few optimizations where it calls drivers (scripts/device-tests.toml), and neither autotune nor fusion:
# such a device would time kernels for hours. Ends with 77, and a line that begins with SKIPPED, where the device cannot be
# made.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in -h | --help) sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 0 ;; esac

target="${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/wb/target}"
export CARGO_TARGET_DIR="$target"

timed() {
  local started="$SECONDS"
  printf '\n--- %s\n' "$*"
  "$@"
  echo "--- $((SECONDS - started)) s"
}

on_device() { scripts/vulkan-device.sh "$@"; }

timed on_device true

# All of the workspace is named, so that what does not touch a device is the usual build's; the device's wb is put
# elsewhere, so that the usual one comes back to its place.
build() {
  cargo --config scripts/device-tests.toml build --release --workspace --no-default-features --bin wb --test on_device \
    --features wb-pipeline/vulkan,wb-encoder/refusals --message-format json-render-diagnostics > "$target/vulkan-build.json"
  mkdir -p "$target/vulkan"
  cp "$target/release/wb" "$target/vulkan/wb"
  tests="$(grep -o '"executable":"[^"]*/on_device-[^"]*"' "$target/vulkan-build.json" | cut -d '"' -f 4 | tail -n 1)"
  cp "$tests" "$target/vulkan/on_device"
}
timed build

timed on_device "$target/vulkan/wb" doctor --device vulkan --limit 900
# A driver in front of the device's, with which memory runs out where a test says so.
limited="$target/vulkan/limited"
mkdir -p "$limited"
gcc -O2 -shared -fPIC -o "$limited/liblimited.so" scripts/vulkan/limited.c -ldl
echo "{\"file_format_version\": \"1.0.1\", \"ICD\": {\"library_path\": \"$limited/liblimited.so\", \"api_version\": \"1.4.335\"}}" > "$limited/limited.json"
# shellcheck disable=SC2016 # For the shell of the device.
timed on_device sh -c 'REAL_DRIVER="$(ls /usr/lib/*/libvulkan_lvp.so)" WB_TEST_DEVICE=vulkan \
  WB_TEST_LIMITED_VULKAN="$1/limited.json" exec "$0" --test-threads=1 --nocapture' "$target/vulkan/on_device" "$limited"
# Without kernels of our own, in a process that has no others.
timed on_device env WB_TEST_DEVICE='{"vulkan":{"fusion":false}}' "$target/vulkan/on_device" --test-threads=1 --nocapture \
  passes::a_bert_is_the_processors resident::steps_on_the_device_are_those_at_home
timed env WB="$target/vulkan/wb" LIMIT=20 scripts/broken-devices.sh
