#!/usr/bin/env python3
"""Runs the tests of real functions on their rewritten versions: every rewrite that keeps the meaning must pass them.
Those that change it on purpose are not run.

  scripts/check-rewrites.py make IN.jsonl          functions with tests, out of WB_SHARED/data (humaneval_x, mbxp)
  cargo run --release -p wb-synth --example rewrite_corpus -- IN.jsonl OUT.jsonl 3
  scripts/check-rewrites.py run OUT.jsonl [LANGUAGE ...]

Functions whose own tests fail as they stand are left out first. This executes code of the data sets.
"""
import collections, concurrent.futures, gzip, json, os, pathlib, re, signal, subprocess, sys, tempfile

DATA = pathlib.Path(os.environ.get("WB_SHARED", "../shared")) / "data"
CHANGING = {"off_by_one", "flipped_comparison", "swapped_branches", "wrong_operator", "dropped_update"}
LODASH = "const _ = { isEqual: (a, b) => require('util').isDeepStrictEqual(a, b) };"


def lines(path):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def functions():
    return {name: one for name, one in all_functions().items() if one[1]}


def all_functions():
    """id -> language, code, and a function from code to a whole program that fails where a test fails."""
    found = {}
    for one in lines(DATA / "humaneval_x" / "humaneval_python.jsonl.gz"):
        found[one["task_id"]] = ("python", one["canonical_solution"] and one["prompt"] + one["canonical_solution"], lambda code, t=one["test"]: code + "\n" + t)
    for one in lines(DATA / "mbxp" / "mbpp_release_v1.jsonl"):
        check = one["test"] + f"\ncheck({one['entry_point']})\n"
        found[one["task_id"]] = ("python", one["canonical_solution"] and one["prompt"] + one["canonical_solution"], lambda code, t=check: code + "\n" + t)
    for one in lines(DATA / "mbxp" / "mbjsp_release_v1.2.jsonl"):
        test = one["test"].replace('const _ = require("lodash")', LODASH)
        found[one["task_id"]] = ("javascript", one["canonical_solution"] and one["prompt"] + one["canonical_solution"], lambda code, t=test: code + "\n" + t)
    for one in lines(DATA / "humaneval_x" / "humaneval_java.jsonl.gz"):
        found[one["task_id"]] = ("java", one["canonical_solution"] and one["prompt"] + one["canonical_solution"], lambda code, t=one["test"]: code + "\n" + t)
    for one in lines(DATA / "mbxp" / "mbjp_release_v1.2.jsonl"):
        found[one["task_id"]] = ("java", one["canonical_solution"] and one["prompt"] + one["canonical_solution"], lambda code, t=one["test"]: code + "\n" + t)
    for one in lines(DATA / "humaneval_x" / "humaneval_rust.jsonl.gz"):
        code = one["prompt"] + re.sub(r"(?m)^use (rand|regex|md5).*$", "", one["declaration"]) + one["canonical_solution"]
        found[one["task_id"]] = ("rust", code, lambda code, t=one["test"]: code + "\n" + t)
    return found


def passes_in_fork(program):
    """A fork of this process is a fresh Python in a thousandth of the time."""
    child = os.fork()
    if child == 0:
        try:
            devnull = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(devnull, stream)
            signal.alarm(5)
            exec(compile(program, "a.py", "exec"), {"__name__": "__main__"})
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def passes(job):
    language, program = job
    if language == "python":
        return passes_in_fork(program)
    with tempfile.TemporaryDirectory() as folder:
        def run(*command):
            return subprocess.run(command, cwd=folder, capture_output=True, timeout=60, env={"PATH": os.environ["PATH"]}).returncode == 0
        try:
            if language == "javascript":
                (pathlib.Path(folder) / "a.js").write_text(program)
                return run("node", "a.js")
            if language == "java":
                (pathlib.Path(folder) / "Main.java").write_text(program)
                small = ["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"]
                return run("javac", *small, "-nowarn", "Main.java") and run("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "Main")
            (pathlib.Path(folder) / "a.rs").write_text("#![allow(warnings)]\n" + program)
            return run("rustc", "--edition", "2021", "--test", "-Copt-level=0", "a.rs", "-o", "a") and run("./a", "-q")
        except subprocess.TimeoutExpired:
            return False


def make(path):
    with open(path, "w", encoding="utf-8") as file:
        for name, (language, code, _) in functions().items():
            file.write(json.dumps({"id": name, "language": language, "code": code}) + "\n")


def run(path, languages):
    known = functions()
    rows = [row for row in lines(pathlib.Path(path)) if (not languages or row["language"] in languages) and row["rule"] not in CHANGING]
    names = sorted({row["id"] for row in rows})
    with concurrent.futures.ProcessPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        own = dict(zip(names, pool.map(passes, [(known[n][0], known[n][2](known[n][1])) for n in names])))
        rows = [row for row in rows if own[row["id"]]]
        results = list(pool.map(passes, [(row["language"], known[row["id"]][2](row["code"])) for row in rows]))
    print(f"{sum(own.values())} of {len(own)} functions pass their own tests")
    counts = collections.Counter()
    for row, good in zip(rows, results):
        counts[row["language"], row["rule"], good] += 1
        if not good:
            print(f"--- {row['id']} {row['rule']} seed {row['seed']}: {row['note']}\n{row['code']}\n")
    for language, rule in sorted({key[:2] for key in counts}):
        print(f"{language:12}{rule:20}run {counts[language, rule, True] + counts[language, rule, False]:6}  pass {counts[language, rule, True]:6}")
    sys.exit(not all(results))


if __name__ == "__main__":
    if sys.argv[1:2] == ["make"]:
        make(sys.argv[2])
    elif sys.argv[1:2] == ["run"]:
        run(sys.argv[2], set(sys.argv[3:]))
    else:
        sys.exit(__doc__)
