"""Makes what both sides read: functions, pairs of text and function, random unit vectors.

    python inputs.py FOLDER [--shared DIR]

Texts are CodeSearchNet Ruby (valid, then the annotated functions) where --shared has them,
else documented functions of the Rust crates that Cargo keeps. Prints which.
"""
import argparse
import json
import os
import pathlib
import re

import numpy

TEXTS, PAIRS = 2_000, 320
DOCUMENTS, QUERIES, DIM = 200_000, 1_000, 384


def shared_functions(shared):
    """Functions, and (docstring, function) pairs, of CodeSearchNet."""
    folder = shared / "data/codesearchnet"
    rows = [json.loads(line) for line in open(folder / "ruby/valid.jsonl", encoding="utf-8")]
    annotated = [json.loads(line) for line in open(folder / "annotated/corpus.jsonl", encoding="utf-8")]
    return [row["code"] for row in rows + annotated], [[row["docstring"], row["code"]] for row in rows]


def rust_functions():
    """Documented functions of the sources that Cargo keeps: a comment's prose and the function after it."""
    home = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
    documented = re.compile(r"((?:^[ \t]*///.*\n)+)((?:^[ \t]*#\[.*\n)*^[ \t]*(?:pub |const |unsafe |async )*fn .*)", re.M)
    pairs = []
    for path in sorted((home / "registry/src").rglob("*.rs")):
        text = path.read_text(encoding="utf-8", errors="ignore")
        for match in documented.finditer(text):
            opening = text.find("{", match.start(2))
            end = closing(text, opening)
            prose = " ".join(line.strip().removeprefix("///").strip() for line in match[1].splitlines()).split("```")[0]
            code = text[match.start(2) : end]
            has_body = opening >= 0 and ";" not in text[match.end(2) : opening]
            if has_body and 100 < len(code) < 5000 and len(prose) > 20:
                pairs.append([prose, code])
        if len(pairs) >= 10 * TEXTS:
            break
    # Evenly from all that was found, so that no crate fills the list.
    pairs = pairs[:: max(1, len(pairs) // TEXTS)]
    return [code for _, code in pairs], pairs


def closing(text, opening):
    depth = 0
    for at in range(max(opening, 0), len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return len(text)


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def unit_vectors(random, n):
    made = random.standard_normal((n, DIM), dtype=numpy.float32)
    return made / numpy.linalg.norm(made, axis=1, keepdims=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--shared", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    has_shared = arguments.shared and (arguments.shared / "data/codesearchnet/ruby/valid.jsonl").exists()
    functions, pairs = shared_functions(arguments.shared) if has_shared else rust_functions()
    if len(functions) < TEXTS or len(pairs) < PAIRS:
        raise SystemExit(f"{len(functions)} functions and {len(pairs)} pairs found, expected {TEXTS} and {PAIRS}")
    write_lines(arguments.folder / "texts.jsonl", functions[:TEXTS])
    # Evenly over the rows: neighbours come from the same repository.
    write_lines(arguments.folder / "pairs.jsonl", pairs[:: len(pairs) // PAIRS][:PAIRS])
    random = numpy.random.default_rng(0)
    for name, n in (("documents", DOCUMENTS), ("queries", QUERIES)):
        path = arguments.folder / f"{name}.f32"
        vectors = unit_vectors(random, n)
        if not path.exists() or path.stat().st_size != vectors.nbytes:
            vectors.tofile(path)
    print("CodeSearchNet, Ruby valid and annotated" if has_shared else "Rust crates that Cargo keeps")


if __name__ == "__main__":
    main()
