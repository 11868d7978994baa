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
            (pathlib.Path(folder) / "a.js").write_text(program)
            return run("node", "a.js")
        except subprocess.TimeoutExpired:
            return False


RUNNER = """
import java.util.concurrent.*;
public class Runner {
    public static void main(String[] names) throws Exception {
        java.io.PrintStream out = System.out;
        System.setOut(new java.io.PrintStream(java.io.OutputStream.nullOutputStream()));
        for (String name : names) {
            ExecutorService one = Executors.newSingleThreadExecutor();
            String said = "pass";
            try {
                one.submit(() -> {
                    Class.forName(name + ".Main").getMethod("main", String[].class).invoke(null, (Object) new String[0]);
                    return null;
                }).get(10, TimeUnit.SECONDS);
            } catch (Throwable error) {
                said = "fail";
            }
            out.println(name + " " + said);
            one.shutdownNow();
        }
        System.exit(0);
    }
}
"""


def passes_java(programs):
    """Many programs by one compiler and one machine, each in a package of its own; those that do not compile fail."""
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "Runner.java").write_text(RUNNER)
        left = {}
        for at, program in enumerate(programs):
            left[f"p{at}"] = program.replace("class Main", "public class Main").replace("public public", "public")
            (folder / f"p{at}").mkdir()
            (folder / f"p{at}" / "Main.java").write_text(f"package p{at};\n" + left[f"p{at}"])
        while left:
            files = [f"{name}/Main.java" for name in left]
            command = ["javac", "-J-XX:TieredStopAtLevel=1", "-nowarn", "-Xmaxerrs", "10000", "Runner.java", *files]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            bad = set(re.findall(r"^(p\d+)/Main.java:\d+: error", done.stderr, re.M))
            if done.returncode == 0 or not bad:
                break
            for name in bad:
                left.pop(name)
        names = list(left)
        while names:
            done = subprocess.run(["java", "-cp", ".", "Runner", *names], cwd=folder, capture_output=True, text=True)
            said = dict(line.split() for line in done.stdout.splitlines())
            results.update(said)
            # Whoever ended the machine has failed; the others go on without it.
            names = [name for name in names if name not in said][1:]
    return [results.get(f"p{at}") == "pass" for at in range(len(programs))]


def passes_rust(programs):
    """Many programs as modules of one crate; those that do not compile fail."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        left = [f"p{at}" for at in range(len(programs))]
        for name, program in zip(left, programs):
            (folder / f"{name}.rs").write_text(program)
        while left:
            (folder / "all.rs").write_text("#![allow(warnings)]\n" + "".join(f"mod {name};\n" for name in left))
            command = ["rustc", "--edition", "2021", "--test", "-Copt-level=0", "-Cdebuginfo=0", "all.rs", "-o", "all"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            bad = set(re.findall(r"^ *--> (p\d+)\.rs", done.stderr, re.M)) if done.returncode else set()
            if done.returncode == 0 or not bad:
                break
            left = [name for name in left if name not in bad]
        done = subprocess.run(["./all"], cwd=folder, capture_output=True, text=True)
        said = re.findall(r"^test (p\d+)::\S+ \.\.\. (\w+)", done.stdout, re.M)
    failed = {name for name, result in said if result != "ok"}
    passed = {name for name, _ in said} - failed
    return [f"p{at}" in passed for at in range(len(programs))]


def all_pass(jobs):
    """Whether each program passes, in the order of the jobs."""
    by_program = {}
    for language, passes_all in [("java", passes_java), ("rust", passes_rust)]:
        programs = [program for other, program in jobs if other == language]
        for start in range(0, len(programs), 400):
            part = programs[start : start + 400]
            by_program.update(zip(part, passes_all(part)))
    with concurrent.futures.ProcessPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        others = iter(list(pool.map(passes, [job for job in jobs if job[0] not in ("java", "rust")])))
    return [by_program[program] if language in ("java", "rust") else next(others) for language, program in jobs]


def make(path):
    with open(path, "w", encoding="utf-8") as file:
        for name, (language, code, _) in functions().items():
            file.write(json.dumps({"id": name, "language": language, "code": code}) + "\n")


def run(path, languages):
    known = functions()
    rows = [row for row in lines(pathlib.Path(path)) if (not languages or row["language"] in languages) and row["rule"] not in CHANGING]
    names = sorted({row["id"] for row in rows})
    own = dict(zip(names, all_pass([(known[n][0], known[n][2](known[n][1])) for n in names])))
    rows = [row for row in rows if own[row["id"]]]
    results = all_pass([(row["language"], known[row["id"]][2](row["code"])) for row in rows])
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
