"""Checks launchers/ray with a real Ray: a head and two raylets on this machine, one of which is taken away while it works.

    python scripts/engines/ray_nodes.py WB PLAN SCRATCH

Ends with an error where the shards do not come to an end, and with 77 where Ray does not start.
"""

import os
import subprocess
import sys
import threading
import time

# Whoever can reach a cluster of this machine is on this machine.
os.environ.setdefault("RAY_AUTH_MODE", "disabled")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray
from ray.cluster_utils import Cluster


def main():
    wb, plan, scratch = sys.argv[1:]
    try:
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        cluster.wait_for_nodes()
    except Exception as error:
        print(f"Ray does not start here: {error}", file=sys.stderr)
        sys.exit(77)
    driver = os.path.join(os.path.dirname(__file__), "../../launchers/ray/wb_on_ray.py")
    command = [sys.executable, driver, plan, "--wb", wb, "--scratch", scratch]
    child = subprocess.Popen(command, env={**os.environ, "RAY_ADDRESS": cluster.address}, stdout=subprocess.PIPE, text=True)
    lines, first = [], threading.Event()

    def read():
        for line in child.stdout:
            print(line, end="", flush=True)
            lines.append(line)
            first.set()

    threading.Thread(target=read, daemon=True).start()
    assert first.wait(120), "no shard was done in two minutes"
    # Both work; the second is cut off as a machine is that loses its power.
    time.sleep(0.2)
    before = time.monotonic()
    cluster.remove_node(nodes[1], allow_graceful=False)
    print("a raylet is gone", flush=True)
    code = child.wait(timeout=240)
    print(f"the driver ended with {code}, {time.monotonic() - before:.0f} s after that")
    ray.shutdown()
    cluster.shutdown()
    assert code == 0, code


if __name__ == "__main__":
    main()
