"""Checks launchers/ray with a real Ray: a head and two raylets on this machine, one of which is taken away while it works.

    python scripts/engines/ray_nodes.py WB PLAN FOLDER

WB writes a line to FOLDER/begun for each attempt, with the process that began it, and waits while FOLDER/held is there. Ends
with an error where the shards do not come to an end, and with 77 where Ray does not start.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

# Whoever can reach a cluster of this machine is on this machine.
os.environ.setdefault("RAY_AUTH_MODE", "disabled")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray
from ray.cluster_utils import Cluster


def wait_for(what, seconds, has_come):
    """What `has_come` gives once it gives something."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := has_come():
            return found
        time.sleep(0.05)
    sys.exit(f"{what} did not come in {seconds} s")


def begun(folder):
    """The processes that began an attempt, each once it has begun one."""
    try:
        return [int(line.split()[1]) for line in (folder / "begun").read_text().splitlines()]
    except FileNotFoundError:
        return []


def is_gone(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def main():
    wb, plan, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    (folder / "held").touch()
    try:
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        cluster.wait_for_nodes()
    except Exception as error:
        print(f"Ray does not start here: {error}", file=sys.stderr)
        sys.exit(77)
    command = [wb, "shards", "run", plan, "--all", f"run_on.ray.python={sys.executable}", f"run_on.ray.program={wb}"]
    command += ["--scratch", str(folder / "scratch-ray")]
    child = subprocess.Popen(command, env={**os.environ, "RAY_ADDRESS": cluster.address})
    # Both raylets are at the start of an attempt; the second is cut off as a machine is that loses its power.
    workers = wait_for("an attempt on each raylet", 120, lambda: len(begun(folder)) == 2 and begun(folder))
    before = time.monotonic()
    cluster.remove_node(nodes[1], allow_graceful=False)
    wait_for("the end of what worked on the raylet", 60, lambda: any(map(is_gone, workers)))
    print("a raylet is gone", flush=True)
    (folder / "held").unlink()
    code = child.wait(timeout=240)
    print(f"it ended with {code}, {time.monotonic() - before:.0f} s after that")
    ray.shutdown()
    cluster.shutdown()
    assert code == 0, code


if __name__ == "__main__":
    main()
