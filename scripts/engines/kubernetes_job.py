"""Checks launchers/kubernetes: its files against the strict schemas of Kubernetes, and every index of job.yaml in a container.

    python scripts/engines/kubernetes_job.py IMAGE FOLDER PLAN SHARDS

FOLDER, with the plan and the scratch in it, is in the containers where it is here.
"""

import sys
from pathlib import Path

import yaml

from pods import VERSIONS, Pods, validate


def main():
    image, folder, plan, shards = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    job = yaml.safe_load((Path(__file__).parent / "../../launchers/kubernetes/job.yaml").read_text())
    spec = job["spec"]
    spec["completions"], spec["parallelism"] = shards, 3
    container = spec["template"]["spec"]["containers"][0]
    container["image"] = image
    container["args"] = [plan if arg.startswith("s3://") else arg for arg in container["args"]]
    validate(job)
    training = list(yaml.safe_load_all((Path(__file__).parent / "../../launchers/kubernetes/train.yaml").read_text()))
    assert [part["kind"] for part in training] == ["Service", "Job"]
    for part in training:
        validate(part)
    print(f"Kubernetes {' and '.join(VERSIONS)}: the files are valid, and misspelt ones are refused")
    pods = Pods(job, folder)
    failed = pods.run()
    assert not failed, "an index failed"
    attempts = sum(pods.attempts.values())
    assert attempts > shards, "the container that was killed was not begun again"
    print(f"{shards} indexes in {attempts} containers")
    # One that no attempt will do better is a failed index at once.
    code, words = pods.pod(0, [arg.replace(plan, plan + "x") for arg in container["args"]])
    assert code in pods.hopeless, (code, words)
    print(f"a plan that is not there: exit code {code}, a failed index")


if __name__ == "__main__":
    main()
