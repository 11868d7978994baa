"""Questions about symbols, by their intent, for `wb bench search --set intents --dataset OUT`.

    python scripts/intents.py --scip NAME=FOLDER ... --history NAME=GIT_DIR ... --out OUT [--most 40]

FOLDER is a project with an `index.scip` (scip-python, scip-typescript): what it says of definitions and usages is the gold.
GIT_DIR is a repository with its history: functions of Python that one commit changed together are the gold of "change".
Of each project and intent at most so many symbols are drawn, each asked in one of the forms below, by a seed.
OUT/corpora/NAME is the project without its index, OUT/intents.jsonl the questions.
"""

import argparse
import ast
import collections
import json
import pathlib
import random
import re
import shutil
import subprocess
import tarfile
import io

FORMS = {
    "definition": [
        "where is {} defined?", "definition of {}", "find the {} declaration", "which file contains {}", "locate {}",
        "show me {}", "where can I find {}?", "open {}", "what file is {} in?", "jump to {}",
    ],
    "usage": [
        "who calls {}?", "where is {} used?", "find usages of {}", "which code depends on {}",
        "show me all places that call {}", "{} callers", "what uses {}?", "examples of calling {}",
        "list every reference to {}", "where do we use {}?",
    ],
    "implementation": [
        "how is {} implemented?", "how does {} work?", "what does {} do?", "explain {}", "implementation of {}",
        "show the source of {}", "walk me through {}", "what happens in {}?",
    ],
    "similar": [
        "code similar to {}", "functions like {}", "is there anything like {}", "other implementations like {}",
        "alternatives to {}", "something that resembles {}",
    ],
    "change": [
        "what needs to change if I rename {}?", "what breaks if I change {}?", "what is affected by changing {}?",
        "which code has to be updated when {} changes?", "impact of modifying {}",
        "what else do I have to touch when editing {}?",
    ],
}
DEFINITION, IMPORT = 1, 2


def fields(data):
    """Numbers and values of a protobuf message: integers and bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 2:
            length = varint()
            yield key >> 3, data[at : at + length]
            at += length
        else:
            raise ValueError(f"wire type {key & 7}")


def numbers(data):
    at = value = shift = 0
    found = []
    for at, byte in enumerate(data):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            found.append(value)
            value = shift = 0
    return found


def occurrences(path):
    """Path, line, symbol and roles of every name in an `index.scip`."""
    for number, document in fields(path.read_bytes()):
        if number != 2:
            continue
        document = list(fields(document))
        name = next(value.decode() for number, value in document if number == 1)
        for number, value in document:
            if number == 2:
                one = dict(fields(value))
                if 1 in one and 2 in one:
                    yield name, numbers(one[1])[0] + 1, one[2].decode(), one.get(3, 0)


def parts(symbol):
    """Names of the descriptors of a symbol: those of its class and its own, without its module."""
    described = re.sub(r"`[^`]*`/", "", symbol.split(" ", 4)[-1])
    return re.findall(r"([A-Za-z_$][\w$]*)(?:\(\)\.|#|\.)", described)


def of_scip(name, folder, most, draw):
    defined, used = {}, collections.defaultdict(set)
    for path, line, symbol, roles in occurrences(folder / "index.scip"):
        if symbol.startswith("local ") or not parts(symbol) or not (folder / path).is_file():
            continue
        if roles & DEFINITION:
            defined.setdefault(symbol, (path, line))
        elif not roles & IMPORT:
            used[symbol].add((path, line))
    called = {symbol for symbol in defined if symbol.endswith(("().", "#"))}
    by_name = collections.defaultdict(list)
    for symbol in sorted(called):
        for length in (1, 2):
            by_name[".".join(parts(symbol)[-length:])].append(symbol)
    names = {}
    for typed, symbols in sorted(by_name.items()):
        if len(set(symbols)) == 1 and len(typed) > 2:
            names.setdefault(symbols[0], typed)
    once = sorted(symbol for symbol in names if len(parts(symbol)) <= 2)
    with_usages = [symbol for symbol in once if 1 <= len(used[symbol]) <= 15]
    several = sorted(
        typed for typed, symbols in by_name.items()
        if "." not in typed and 2 <= len(set(symbols)) <= 6 and not typed.startswith("_") and len(typed) > 3
    )
    for symbol in draw.sample(once, min(most, len(once))):
        yield "definition", names[symbol], [defined[symbol]]
    for symbol in draw.sample(once, min(most, len(once))):
        yield "implementation", names[symbol], [defined[symbol]]
    for symbol in draw.sample(with_usages, min(most, len(with_usages))):
        yield "usage", names[symbol], sorted(used[symbol])
    for typed in draw.sample(several, min(most, len(several))):
        first, *others = sorted(set(by_name[typed]))
        asked = ".".join(parts(first)[-2:])
        if names.get(first) == asked or asked not in by_name or len(set(by_name[asked])) == 1:
            yield "similar", asked, [defined[other] for other in others]


def functions(text):
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    found = []

    def walk(node, around):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                first = min([child.lineno] + [decorator.lineno for decorator in child.decorator_list])
                found.append((".".join([*around, child.name]), first, child.end_lineno, child.lineno))
                walk(child, [*around, child.name])
            else:
                walk(child, around)

    walk(tree, [])
    return found


def of_history(git_dir, root, commits, most, draw):
    def git(*arguments):
        done = subprocess.run(["git", "--git-dir", git_dir, *arguments], capture_output=True, check=False)
        return done.stdout

    all_commits = git("log", "--no-merges", "--format=%H").decode().split()
    base = all_commits[min(commits, len(all_commits) - 1)]
    with tarfile.open(fileobj=io.BytesIO(git("archive", base))) as archive:
        archive.extractall(root, filter="data")
    places, times = {}, collections.Counter()
    for path in sorted(root.rglob("*.py")):
        for name, _, _, line in functions(path.read_text(errors="replace")):
            places[path.relative_to(root).as_posix(), name] = line
            times[name] += 1
    asked = []
    for commit in reversed(all_commits[: all_commits.index(base)]):
        path, changed = None, collections.defaultdict(list)
        for line in git("diff", "-U0", "--no-renames", f"{commit}^", commit, "--", "*.py").decode(errors="replace").splitlines():
            if line.startswith("--- "):
                path = None if line.endswith("/dev/null") else line[6:]
            elif line.startswith("@@") and path:
                first, count = re.match(r"@@ -(\d+)(?:,(\d+))? ", line).groups()
                changed[path].append((int(first), max(1, int(count or 1))))
        symbols = set()
        for path, ranges in changed.items() if len(changed) <= 10 else ():
            before = functions(git("show", f"{commit}^:{path}").decode(errors="replace"))
            for first, count in ranges:
                for line in range(first, first + count):
                    around = [one for one in before if one[1] <= line <= one[2]]
                    name = max(around, key=lambda one: one[1])[0] if around else None
                    if (path, name) in places:
                        symbols.add((path, name))
        if 2 <= len(symbols) <= 8:
            first = draw.choice(sorted(symbols))
            if times[first[1]] == 1:
                asked.append((first[1], [(path, places[path, name]) for path, name in sorted(symbols - {first})]))
    for name, gold in draw.sample(asked, min(most, len(asked))):
        yield "change", name, gold


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scip", nargs="*", default=[], metavar="NAME=FOLDER")
    parser.add_argument("--history", nargs="*", default=[], metavar="NAME=GIT_DIR")
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--most", type=int, default=40)
    parser.add_argument("--commits", type=int, default=1500)
    arguments = parser.parse_args()
    draw = random.Random(17)
    lines = []

    def put(name, questions):
        for intent, symbol, gold in questions:
            text = draw.choice(FORMS[intent]).format(symbol)
            targets = [{"file": path, "start": line, "end": line} for path, line in gold]
            lines.append({"id": f"{name}:{intent}:{len(lines)}", "repository": name, "text": text, "intent": intent, "targets": targets})

    for given in arguments.scip:
        name, folder = given.split("=", 1)
        folder, root = pathlib.Path(folder), arguments.out / "corpora" / name
        ignored = shutil.ignore_patterns("index.scip", ".git", "node_modules", ".venv", "venv")
        shutil.copytree(folder, root, ignore=ignored, dirs_exist_ok=True)
        put(name, of_scip(name, folder, arguments.most, draw))
    for given in arguments.history:
        name, git_dir = given.split("=", 1)
        root = arguments.out / "corpora" / name
        root.mkdir(parents=True, exist_ok=True)
        put(name, of_history(git_dir, root, arguments.commits, 3 * arguments.most, draw))
    (arguments.out / "intents.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    print(collections.Counter(line["intent"] for line in lines))


if __name__ == "__main__":
    main()
