#!/usr/bin/env bash
# Builds wb for CUDA where no code host can be reached, and packs it for a machine that has a GPU and no Rust.
#
#   scripts/cuda-build.sh [FOLDER]          FOLDER: target/cuda/wb-gpu unless told
#
# CubeCL's build takes LLVM 23 from a code host. Here it is Debian's, of sid, in a Debian of its own in the cache folder
# (1.8 GB, two minutes); where the code host can be reached, `cargo build --release --features cuda` is all that it takes.
# FOLDER gets wb and device_bench, stripped, with the libraries that they need (480 MB, or 100 as .tar.xz), for CUDA and
# Vulkan: they run from /tmp/wb-gpu, on any Linux with NVIDIA's driver and a libdevice. scripts/gpu.sh puts them there. Needs
# root. The build has an output folder of its own, as it needs newer system libraries: an hour of processor time when it is
# empty.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in -h | --help) sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 0 ;; esac

. scripts/debian.sh
debian_needs cuda-build sid llvm-23-dev libpolly-23-dev gcc g++ libc6-dev libzstd-dev zlib1g-dev libxml2-dev make cmake patchelf

own="${CARGO_TARGET_DIR_CUDA:-$target/cuda}"
out="$(realpath -m "${1:-$own/wb-gpu}")"
mkdir -p "$own" "$out/lib"

# The bundler of LLVM asks this folder's llvm-config, and fetches nothing where it is marked as installed.
version="$(sed -n '/^name = "tracel-llvm-bundler"$/{n;s/^version = "\(.*\)"$/\1/p}' Cargo.lock)"
llvm="$own/data/tracel/tracel-llvm-$version"
# Made once: what depends on LLVM is compiled again whenever these files are younger.
if [ ! -e "$llvm/.tracel-llvm-installed" ]; then
  mkdir -p "$llvm/bin"
  # shellcheck disable=SC2016 # Written as it stands.
  printf '#!/bin/sh\n/usr/bin/llvm-config-23 "$@" | sed -E "s#/usr/lib/[a-z0-9_-]+/lib([A-Za-z0-9_]+)\\.so#-l\\1#g"\n' > "$llvm/bin/llvm-config"
  chmod +x "$llvm/bin/llvm-config"
  touch "$llvm/.tracel-llvm-installed"
fi

cargo fetch --quiet
toolchain="$(rustc --print sysroot)"
home="${CARGO_HOME:-$HOME/.cargo}"

# Its own linker and library folder, so that an older system can run it.
# shellcheck disable=SC2016 # For the shell in there.
pack='
  set -eu
  # Together, so that both have the same features.
  cargo build --release --offline -p wb -p wb-pipeline --bin wb --example device_bench --features wb/cuda,wb/vulkan
  loader="$(basename "$(ldd "$CARGO_TARGET_DIR/release/wb" | sed -n "s#^[[:space:]]*\(/lib[^ ]*ld-linux[^ ]*\).*#\1#p")")"
  for program in wb examples/device_bench; do
    made="$OUT/$(basename "$program")"
    cp "$CARGO_TARGET_DIR/release/$program" "$made"
    strip "$made"
    ldd "$made" | sed -n "s#.*[[:space:]]\(/[^ ]*\) (0x.*#\1#p" | sort -u | xargs -I{} cp -L {} "$OUT/lib/"
    patchelf --set-interpreter "/tmp/wb-gpu/lib/$loader" --set-rpath /tmp/wb-gpu/lib "$made"
  done
  ls -l "$OUT" "$OUT/lib"
'
export CARGO_TARGET_DIR="$own" XDG_DATA_HOME="$own/data" CARGO_HOME="$home" OUT="$out"
export PATH="$toolchain/bin:/usr/sbin:/usr/bin:/sbin:/bin"
debian_exec cuda-build "$toolchain:$home:$out" bash -c "$pack"
