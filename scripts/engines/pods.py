"""Pods of an indexed Job as containers of podman: what an API server and its nodes would do, by the Job's own words.

Each index gets its number and its arguments, as many run at a time as `parallelism` says, an attempt that fails is begun
again `backoffLimitPerIndex` times, and one that ends with an exit code of a FailIndex rule is not. One container is killed
while it works. A folder is in every container where it is here.
"""

import copy
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import kubernetes_validate

VERSIONS = ["1.33", "1.37"]


def validate(job):
    """Refuses a Job that the strict schemas refuse, and schemas that take a misspelt one."""
    for version in VERSIONS:
        kubernetes_validate.validate(job, version, strict=True)
        misspelt = copy.deepcopy(job)
        misspelt["spec"]["backoffLimitPerIndexes"] = 1
        try:
            kubernetes_validate.validate(misspelt, version, strict=True)
        except kubernetes_validate.ValidationError:
            continue
        raise SystemExit(f"Kubernetes {version}: a misspelt file is not refused")


class Pods:
    def __init__(self, job, folder):
        self.spec = job["spec"]
        self.container = self.spec["template"]["spec"]["containers"][0]
        self.folder = folder
        self.attempts = {}
        self.killed, self.lock = threading.Event(), threading.Lock()
        rules = self.spec["podFailurePolicy"]["rules"]
        mine = [it["onExitCodes"] for it in rules if it["action"] == "FailIndex" and it["onExitCodes"]["containerName"] == self.container["name"]]
        self.hopeless = {code for codes in mine for code in codes["values"]}

    def run(self):
        """Runs all indexes; the numbers of those that failed."""
        with ThreadPoolExecutor(self.spec["parallelism"]) as pool:
            done = list(pool.map(self.index, range(self.spec["completions"])))
        return [number for number, is_done in enumerate(done) if not is_done]

    def index(self, number):
        for attempt in range(1 + self.spec["backoffLimitPerIndex"]):
            self.attempts[number] = attempt + 1
            code, words = self.pod(number, self.container["args"])
            if code == 0:
                return True
            if code in self.hopeless:
                break
        print(f"index {number} failed with {code}: {words}", flush=True)
        return False

    def pod(self, index, arguments):
        """Runs a container to its end; its exit code and its words."""
        name = f"wb-{index}-{time.monotonic_ns()}"
        command = ["podman", "run", "--rm", "--name", name, "--network=none", "--env", f"JOB_COMPLETION_INDEX={index}"]
        command += ["--volume", f"{self.folder}:{self.folder}", "--tmpfs", self.container["volumeMounts"][0]["mountPath"]]
        command += [self.container["image"]] + arguments
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        with self.lock:
            kills = not self.killed.is_set()
            self.killed.set()
        if kills:
            while child.poll() is None and not subprocess.run(["podman", "ps", "-q", "--filter", f"name={name}"], capture_output=True).stdout:
                time.sleep(0.05)
            # One that had ended by itself leaves the kill to the next.
            if subprocess.run(["podman", "kill", name], capture_output=True).returncode != 0:
                self.killed.clear()
        words = child.communicate()[1]
        return child.returncode, words
