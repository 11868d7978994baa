#!/usr/bin/env bash
# The cluster of scripts/slurm-nodes.sh, in the Debian that has Slurm: begins it, runs a command, ends it.
set -euo pipefail

here="$(mktemp -d)"
export SLURM_NODES="$here" SLURM_CONF="$here/slurm.conf"
mkdir -p "$here"/{state,spool-n1,spool-n2}
# Both nodes are this machine, for whoever looks for them by their names.
grep -q " n1 n2$" /etc/hosts || echo "127.0.0.1 n1 n2" >> /etc/hosts
dd if=/dev/urandom of="$here/munge.key" bs=1 count=1024 status=none
chmod 400 "$here/munge.key"
cat > "$SLURM_CONF" <<C
ClusterName=checks
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=17817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$here/munge.socket
CryptoType=crypto/munge
StateSaveLocation=$here/state
SlurmdSpoolDir=$here/spool-%n
SlurmctldPidFile=$here/slurmctld.pid
SlurmdPidFile=$here/slurmd-%n.pid
SlurmctldLogFile=$here/slurmctld.log
SlurmdLogFile=$here/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
MaxArraySize=${SLURM_ARRAY_LIMIT:-1001}
NodeName=n[1-2] NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=[17801-17802] CPUs=1 RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=n[1-2] Default=YES MaxTime=INFINITE State=UP
C

# A node dies as a machine does: its daemon, and every process that it began.
cat > "$here/kill-n2" <<K
#!/usr/bin/env bash
kill -9 "\$(cat "$here/slurmd-n2.pid")"
# What a task began has its node in its environment; what a daemon began to hold a task is its child, or was.
for process in /proc/[0-9]*; do
  if { tr '\0' '\n' < "\$process/environ" | grep -q '^SLURMD_NODENAME=n2\$'; } 2>/dev/null; then
    kill -9 "\$(awk '\$1 == "PPid:" { print \$2 }' "\$process/status" 2>/dev/null)" "\${process#/proc/}" 2>/dev/null || true
  fi
done
K
chmod +x "$here/kill-n2"

ended() {
  local pids
  pids="$(cat "$here"/*.pid 2>/dev/null || true)"
  kill $pids 2>/dev/null || true
  for _ in $(seq 50); do
    kill -0 $pids 2>/dev/null || break
    sleep 0.1
  done
  rm -rf "$here"
}
trap ended EXIT

munged --force --key-file="$here/munge.key" --socket="$here/munge.socket" --pid-file="$here/munge.pid" \
  --log-file="$here/munge.log" --seed-file="$here/munge.seed"
slurmctld
slurmd -N n1
slurmd -N n2
for _ in $(seq 100); do
  [ "$(sinfo --noheader --Node --format=%T | sort -u)" = idle ] && break
  sleep 0.2
done
sinfo --Node
"$@"
