"""Stands for kubectl and a cluster where none can be had: it takes the Jobs that `wb` creates, holds them to the strict
schemas of Kubernetes, runs their indexes in real containers, and says how they stand.

    kubectl create -f - -o name     reads a Job, prints job.batch/NAME, and has its indexes run
    kubectl get job.batch/NAME -o json

STAND_IN is a folder for the Jobs' states, STAND_IN_VOLUME the folder that containers see. What it is not told to do it
refuses, so that a word that `wb` gives it and kubectl does not know would not be missed.
"""

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

from pods import Pods, validate

STATES = Path(os.environ["STAND_IN"])


def put(name, state):
    path = STATES / f"{name}.json"
    path.with_suffix(".new").write_text(json.dumps(state))
    path.with_suffix(".new").rename(path)


def create():
    job = json.load(sys.stdin)
    # A name is made by the server, of what is given to begin with.
    prefix = job["metadata"].pop("generateName")
    assert "name" not in job["metadata"]
    name = prefix + secrets.token_hex(3)[:5]
    job["metadata"]["name"] = name
    validate(job)
    put(name, {**job, "status": {"active": 1}})
    with open(STATES / f"{name}.log", "w") as log:
        subprocess.Popen([sys.executable, __file__, "run", name], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    print(f"job.batch/{name}")


def run(name):
    job = json.loads((STATES / f"{name}.json").read_text())
    pods = Pods(job, os.environ["STAND_IN_VOLUME"])
    failed = pods.run()
    status = {"succeeded": job["spec"]["completions"] - len(failed), "attempts": sum(pods.attempts.values())}
    if failed:
        status["conditions"] = [{"type": "FailureTarget", "status": "True"}, {"type": "Failed", "status": "True", "message": "Job has failed indexes"}]
        status["failedIndexes"] = ",".join(map(str, failed))
    else:
        status["conditions"] = [{"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}]
    put(name, {**job, "status": status})


def main():
    match sys.argv[1:]:
        case ["create", "-f", "-", "-o", "name"]:
            create()
        case ["get", name, "-o", "json"] if name.startswith("job.batch/"):
            path = STATES / f"{name.removeprefix('job.batch/')}.json"
            if not path.exists():
                sys.exit(f'Error from server (NotFound): jobs.batch "{path.stem}" not found')
            print(path.read_text())
        case ["run", name]:
            run(name)
        case words:
            sys.exit(f"error: the stand-in does not know {words}")


if __name__ == "__main__":
    main()
