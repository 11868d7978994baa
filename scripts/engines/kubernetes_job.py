"""Checks launchers/kubernetes: its file against the strict schemas of Kubernetes, and every index of it in a real container.

    python scripts/engines/kubernetes_job.py IMAGE FOLDER PLAN SHARDS

What an API server would do is done here by the Job's own words: each index gets its number and its arguments, as many run
at a time as `parallelism` says, an attempt that fails is begun again `backoffLimitPerIndex` times, and one that ends with
an exit code of a FailIndex rule is not. One container is killed while it works. FOLDER, with the plan and the scratch in
it, is where it is here.
"""

import copy
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import kubernetes_validate
import yaml

VERSIONS = ["1.33", "1.37"]


def main():
    image, folder, plan, shards = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    job = yaml.safe_load((Path(__file__).parent / "../../launchers/kubernetes/job.yaml").read_text())
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    spec["completions"], spec["parallelism"] = shards, 3
    container = pod["containers"][0]
    container["image"] = image
    container["args"] = [plan if arg.startswith("s3://") else arg for arg in container["args"]]
    for version in VERSIONS:
        kubernetes_validate.validate(job, version, strict=True)
        misspelt = copy.deepcopy(job)
        misspelt["spec"]["backoffLimitPerIndexes"] = 1
        try:
            kubernetes_validate.validate(misspelt, version, strict=True)
        except kubernetes_validate.ValidationError:
            print(f"Kubernetes {version}: the file is valid, and a misspelt one is refused")
        else:
            sys.exit(f"Kubernetes {version}: a misspelt file is not refused")

    hopeless = [
        rule["onExitCodes"]["values"]
        for rule in spec["podFailurePolicy"]["rules"]
        if rule["action"] == "FailIndex" and rule["onExitCodes"]["containerName"] == container["name"]
    ]
    hopeless = {code for codes in hopeless for code in codes}
    killed, lock, attempts = threading.Event(), threading.Lock(), {}

    def run(index, arguments):
        name = f"wb-{index}-{time.monotonic_ns()}"
        command = ["podman", "run", "--rm", "--name", name, "--network=none", "--env", f"JOB_COMPLETION_INDEX={index}"]
        command += ["--volume", f"{folder}:{folder}", "--tmpfs", container["volumeMounts"][0]["mountPath"]]
        child = subprocess.Popen(command + [image] + arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        with lock:
            kills = not killed.is_set()
            killed.set()
        if kills:
            while not subprocess.run(["podman", "ps", "-q", "--filter", f"name={name}"], capture_output=True).stdout:
                time.sleep(0.05)
            # One that had ended by itself leaves the kill to the next.
            if subprocess.run(["podman", "kill", name], capture_output=True).returncode != 0:
                killed.clear()
        words = child.communicate()[1]
        return child.returncode, words

    def index(number):
        for attempt in range(1 + spec["backoffLimitPerIndex"]):
            attempts[number] = attempt + 1
            code, words = run(number, container["args"])
            if code == 0:
                return True
            if code in hopeless:
                break
        print(f"index {number} failed with {code}: {words}")
        return False

    with ThreadPoolExecutor(spec["parallelism"]) as pool:
        done = list(pool.map(index, range(shards)))
    assert all(done), "an index failed"
    assert sum(attempts.values()) > shards, "the container that was killed was not begun again"
    print(f"{shards} indexes in {sum(attempts.values())} containers")
    # One that no attempt will do better is a failed index at once.
    arguments = [arg.replace(plan, plan + "x") for arg in container["args"]]
    code, words = run(0, arguments)
    assert code in hopeless, (code, words)
    print(f"a plan that is not there: exit code {code}, a failed index")


if __name__ == "__main__":
    main()
