#!/usr/bin/env python3
"""Make the golden files of `sql_rag_corpus_map.npy` with NumPy, the reference.

    python scripts/golden-corpus-map.py

Needs numpy. Run by hand; its output is committed.

Into workbench/wb-text2sql/tests/golden/corpus-map/: arrays of three texts in all the forms that are read, whose names are
in texts.json with the texts; and files that are to be refused: system.npy runs a command where Python loads it,
scalar.npy has a text of a class of NumPy's in it, numbers.npy has none, columns.npy two a vector.
"""

import json
import os
import pathlib
import pickle
import shutil

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "workbench/wb-text2sql/tests/golden/corpus-map"
TEXTS = ["database: shops\nSELECT count(*) FROM shop", "SELECT 'é', '語', '🦀'", "database: shops\nSELECT count(*) FROM shop"]
ASCII = ["SELECT 1", "SELECT 22", "SELECT 1"]


class Command:
    def __reduce__(self):
        return os.system, ("touch /tmp/this-file-must-never-be",)


def objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def save_as(name, array, protocol, module):
    """The array as another version of NumPy pickles it."""
    with open(FOLDER / name, "wb") as out:
        np.lib.format.write_array_header_1_0(out, np.lib.format.header_data_from_array_1_0(array))
        program = pickle.dumps(array, protocol=protocol)
        for known in (b"numpy._core.multiarray", b"numpy.core.multiarray"):
            program = program.replace(b"c" + known + b"\n", b"c" + module + b"\n")
        out.write(program)


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    save = lambda name, array: np.save(FOLDER / f"{name}.npy", array)
    save("objects", np.array(TEXTS, dtype=object))
    save("dictionaries", objects([{"id": at, "score": 0.5, "tags": ["a", None, True], "text": text} for at, text in enumerate(TEXTS)]))
    save("pages", objects([{"metadata": {"db": "shops"}, "page_content": text} for text in TEXTS]))
    save("tuples", objects([(at, text, "shops") for at, text in enumerate(TEXTS)]))
    single = np.empty((), dtype=object)
    single[()] = TEXTS
    save("list", single)
    save("positions", {at: {"sql": text} for at, text in reversed(list(enumerate(TEXTS)))})
    save("unicode", np.array(TEXTS))
    save("unicode-big-endian", np.array(TEXTS).astype(">U60"))
    many = [f"SELECT {at}" for at in range(1500)]
    many.append(many[-1])
    save_as("many.npy", objects(many), 3, b"numpy.core.multiarray")
    save_as("numpy-1.npy", np.array(TEXTS, dtype=object), 3, b"numpy.core.multiarray")
    save_as("protocol-5.npy", np.array(TEXTS, dtype=object), 5, b"")
    save("ascii", np.array(ASCII).astype("S"))
    forms = ["objects", "dictionaries", "pages", "tuples", "list", "positions", "unicode", "unicode-big-endian", "numpy-1", "protocol-5"]
    expected = {form: TEXTS for form in forms} | {"ascii": ASCII, "many": many}
    for form in forms:
        np.load(FOLDER / f"{form}.npy", allow_pickle=True)
    (FOLDER / "texts.json").write_text(json.dumps(expected) + "\n")
    save("system", objects(["a", Command(), "b"]))
    save("scalar", objects(["a", np.str_("b"), "c"]))
    save("numbers", np.arange(3))
    save("columns", np.array([TEXTS, TEXTS], dtype=object))


if __name__ == "__main__":
    main()
