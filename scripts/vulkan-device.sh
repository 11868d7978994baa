#!/usr/bin/env bash
# Runs a command where Vulkan is a device of software that computes right: Mesa 26's lavapipe, of Debian's backports.
#
#   scripts/vulkan-device.sh COMMAND [ARGUMENT ...]
#
# The device lives in a small Debian of its own in the cache folder, which is made once (two minutes, half a GB); there
# the command finds this checkout, the build output, the cache folder, the shared data and /tmp at the places that they
# have here. Nothing on the machine changes but for the package debootstrap; what is mounted is gone with the command.
# Needs root. Ends with 77, and a line that begins with SKIPPED, where the device cannot be made.
set -euo pipefail

case "${1:---help}" in -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;; esac

checkout="$(cd "$(dirname "$0")/.." && pwd)"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/wb"
device="$cache/vulkan-device"
shared="$(realpath -m "${WB_SHARED:-$checkout/../shared}")"
target="${CARGO_TARGET_DIR:-$cache/target}"

skip() {
  echo "SKIPPED vulkan-device: $1"
  exit 77
}

# install: the folder appears only when it is whole.
install() {
  local log="$cache/vulkan-device.log" new="$cache/vulkan-device.new" mirror
  mkdir -p "$cache"
  mirror="$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/*$')" || return 1
  command -v debootstrap >/dev/null || { apt-get update && apt-get install -y --no-install-recommends debootstrap; } >> "$log" 2>&1 || return 1
  rm -rf "$new"
  {
    debootstrap --variant=minbase --include=ca-certificates trixie "$new" "$mirror" &&
      echo "deb $mirror trixie-backports main" > "$new/etc/apt/sources.list.d/backports.list" &&
      cp /etc/resolv.conf "$new/etc/" &&
      chroot "$new" apt-get update &&
      chroot "$new" apt-get install -y --no-install-recommends -t trixie-backports mesa-vulkan-drivers libvulkan1 &&
      chroot "$new" apt-get clean
  } >> "$log" 2>&1 || return 1
  mv -T "$new" "$device"
}

[ "$(id -u)" -eq 0 ] || skip "needs root, to make a Debian in a folder"
unshare --mount true 2>/dev/null || skip "this machine allows no mounts of a process's own"
if [ ! -d "$device" ]; then
  install || skip "Debian's packages could not be had, see $cache/vulkan-device.log"
fi

# In the command's own space of mounts, which ends with it.
export DEVICE="$device" PLACES="$checkout:$target:$cache:$shared:/tmp" HERE="$PWD"
exec unshare --mount --propagation private bash -euo pipefail -c '
  mount -t proc proc "$DEVICE/proc"
  mount --rbind /dev "$DEVICE/dev"
  IFS=:
  for place in $PLACES; do
    if [ -d "$place" ]; then
      mkdir -p "$DEVICE$place"
      mount --bind "$place" "$DEVICE$place"
    fi
  done
  unset IFS
  # The tests of a device take no kernels from an earlier run, and no other driver.
  export VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.json CUBECL_AUTOTUNE_CACHE=0
  exec chroot "$DEVICE" /bin/sh -c "cd \"\$0\" && exec \"\$@\"" "$HERE" "$@"
' vulkan-device "$@"
