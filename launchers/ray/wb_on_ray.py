"""Shards of a `wb shards` plan as tasks of a Ray cluster.

    ray job submit --working-dir launchers/ray -- python wb_on_ray.py PLAN --gpus 1

Ray only starts attempts: what is done is in the plan's place, and an attempt that comes too late, comes twice, or dies
leaves nothing that counts. A task is begun again where its process or its node dies, or asks for that (exit code 75); one
that no attempt will do better (exit code 2) ends the whole. Towards the end, what takes three times as long as the others
did is begun a second time beside the first: the first that is whole counts.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

import ray

TRY_AGAIN = 75


class TryAgain(Exception):
    """An attempt that may succeed at another time, or elsewhere."""


class Hopeless(Exception):
    """An attempt that no other one will do better."""


def run(wb, *arguments):
    """What `wb` prints; its words where it fails."""
    done = subprocess.run([wb, "shards", *arguments], capture_output=True, text=True)
    if done.returncode == 0:
        return done.stdout
    words = f"shards {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()[-4000:]}"
    raise TryAgain(words) if done.returncode == TRY_AGAIN or done.returncode < 0 else Hopeless(words)


def attempt(wb, plan, shard, scratch):
    """Seconds of one attempt at a shard, on whichever node."""
    since = time.monotonic()
    more = ["--scratch", scratch] if scratch else []
    run(wb, "run", plan, "--shard", str(shard), *more)
    return time.monotonic() - since


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plan", help="the plan's place: the last line that `wb shards plan` printed")
    parser.add_argument("--wb", default="wb", help="the program, at its place on the nodes")
    parser.add_argument("--scratch", default="", help="a folder of each node for what is fetched and made on the way")
    parser.add_argument("--cpus", type=float, default=1, help="processors of an attempt")
    parser.add_argument("--gpus", type=float, default=0, help="GPUs of an attempt")
    parser.add_argument("--attempts", type=int, default=5, help="attempts at a shard, at most")
    given = parser.parse_args()

    ray.init(log_to_driver=False)
    task = ray.remote(
        num_cpus=given.cpus,
        num_gpus=given.gpus,
        max_retries=given.attempts - 1,
        retry_exceptions=[TryAgain],
    )(attempt)

    def start(shard):
        return task.remote(given.wb, given.plan, shard, given.scratch)

    shards = [int(line) for line in run(given.wb, "missing", given.plan).split()]
    started = {start(shard): shard for shard in shards}
    waiting, twins, took, failed, last = set(shards), set(), [], {}, time.monotonic()
    while waiting:
        ended, _ = ray.wait(list(started), timeout=5)
        for one in ended:
            shard, last = started.pop(one), time.monotonic()
            try:
                took.append(ray.get(one))
            except ray.exceptions.RayTaskError as error:
                if isinstance(error.cause, Hopeless):
                    sys.exit(f"shard {shard} cannot be done: {error.cause}")
                failed[shard] = error.cause
            except ray.exceptions.RayError as error:
                failed[shard] = error
            else:
                waiting.discard(shard)
                print(f"{len(shards) - len(waiting)} of {len(shards)} shards", flush=True)
            if shard in failed and shard in waiting and shard not in started.values():
                sys.exit(f"shard {shard} failed {given.attempts} times: {failed[shard]}")
        # Twins of stragglers: where nothing has ended for so long, nothing waits for a place either.
        if took and time.monotonic() - last > 3 * statistics.median(took) + 30:
            for shard in waiting - twins:
                twins.add(shard)
                started[start(shard)] = shard
    print(json.dumps({"plan": given.plan, "shards": len(shards), "twins": sorted(twins)}))


if __name__ == "__main__":
    main()
