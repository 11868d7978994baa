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

. "$(dirname "$0")/debian.sh"
debian_needs vulkan-device trixie mesa-vulkan-drivers libvulkan1
# The tests of a device take no kernels from an earlier run, and no other driver.
export VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.json CUBECL_AUTOTUNE_CACHE=0
debian_exec vulkan-device "" "$@"
