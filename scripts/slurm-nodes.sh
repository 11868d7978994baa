#!/usr/bin/env bash
# Runs a command on a cluster of Slurm with two nodes, n1 and n2, which are processes of this machine.
#
#   scripts/slurm-nodes.sh COMMAND [ARGUMENT ...]
#
# Slurm lives in a small Debian of its own in the cache folder, which is made once (two minutes, half a GB); there the
# command finds this checkout, the build output, the cache folder, the shared data and /tmp at the places that they have
# here, and in $SLURM_NODES the folder of the cluster: logs, and kill-n2, which ends n2 with all that runs on it. Nothing on
# the machine changes but for the package debootstrap. Needs root. Ends with 77, and a line that begins with SKIPPED, where
# the cluster cannot be made.
set -euo pipefail

case "${1:---help}" in -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;; esac

. "$(dirname "$0")/debian.sh"
debian_needs slurm bookworm slurm-wlm munge procps
# Slurm reads there which processors a node has.
debian_exec slurm /sys bash "$(realpath "$(dirname "$0")")/engines/slurm-nodes.sh" "$@"
