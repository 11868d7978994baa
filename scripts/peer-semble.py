"""semble (MinishLab, PyPI) on its own benchmark with an encoder of `wb` in the place of its own model.

    pip install semble==0.7.0
    python scripts/peer-semble.py --data DIR --wb target/release/wb --encoder RUN_OR_FOLDER --out OUT

DIR is laid out as `wb bench search --set semble --dataset DIR` takes it: repos.json, annotations/, corpora/.
Prints semble's headline (mean over languages of repositories of questions) by its own definitions for three rankings:
BM25 over its chunks, its ranking without a model, and with the encoder's vectors. OUT/NAME.trec are the same rankings as
run files, which `wb bench search --set semble --dataset DIR --against OUT/NAME.trec` measures by its own scorer.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

TOP = 10
MODES = {"bm25": {"alpha": 0.0, "rerank": False}, "without-model": {"alpha": 0.0}, "with-encoder": {}}


class WbModel:
    """What semble asks a model for, answered by `wb encode`; each text is encoded once."""

    def __init__(self, wb, encoder):
        self.wb, self.encoder, self.known = wb, encoder, {}
        self.dim = len(self.encode(["dimension"])[0])

    def encode(self, texts, **_):
        texts = list(texts)
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        if new:
            with tempfile.TemporaryDirectory() as folder:
                place = pathlib.Path(folder)
                # An empty text has no vector in `wb`.
                rows = [json.dumps({"text": text if text.strip() else "."}) for text in new]
                (place / "texts.jsonl").write_text("\n".join(rows) + "\n")
                command = [self.wb, "encode", "--encoder", self.encoder, "--in", place / "texts.jsonl"]
                subprocess.run([*command, "--out", place / "vectors.npy"], check=True, capture_output=True)
                self.known.update(zip(new, np.load(place / "vectors.npy")))
        return np.stack([self.known[text] for text in texts]).astype(np.float32)


def same_path(a, b):
    return a == b or a.endswith("/" + b) or b.endswith("/" + a)


def hits(chunk, target):
    if isinstance(target, str):
        return same_path(chunk.file_path, target)
    if not same_path(chunk.file_path, target["path"]):
        return False
    if target.get("start_line") is None:
        return True
    return not (chunk.end_line < target["start_line"] or chunk.start_line > target["end_line"])


def ndcg(chunks, targets):
    gains = [0.0] * TOP
    for target in targets:
        rank = next((at for at, chunk in enumerate(chunks) if hits(chunk, target)), None)
        if rank is not None:
            gains[rank] = 1 / math.log2(rank + 2)
    ideal = sum(1 / math.log2(at + 2) for at in range(min(TOP, len(targets))))
    return sum(gains) / ideal if ideal else 0.0


def headline(values):
    """`values` by language by repository."""
    of_language = [statistics.mean(statistics.mean(one) for one in of.values()) for of in values.values()]
    return statistics.mean(of_language)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("data", "wb", "encoder", "out"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()
    data, out = pathlib.Path(given.data), pathlib.Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    model = WbModel(given.wb, given.encoder)
    with tempfile.TemporaryDirectory() as cache:
        os.environ.update(HF_HUB_OFFLINE="1", SEMBLE_MODEL_NAME="wb", SEMBLE_CACHE_LOCATION=cache)
        import semble
        import semble.index.index  # noqa: F401 - its modules have names of their own for the function below

        for module in [one for name, one in sys.modules.items() if name.startswith("semble")]:
            if hasattr(module, "load_model"):
                module.load_model = lambda _=None: (model, "wb")
        measure(semble.SembleIndex, data, out, model)


def measure(index_type, data, out, model):
    repositories = sorted(json.loads((data / "repos.json").read_text()), key=lambda one: one["name"])
    asked = {}
    for one in repositories:
        file = data / "annotations" / (one["name"] + ".json")
        if file.exists() and (data / "corpora" / one["name"]).exists():
            asked[one["name"]] = json.loads(file.read_text())
    model.encode([question["query"] for questions in asked.values() for question in questions])
    empty = lambda: collections.defaultdict(lambda: collections.defaultdict(list))
    values = {mode: (empty(), empty()) for mode in MODES}
    runs = {mode: [] for mode in MODES}
    for one in repositories:
        name = one["name"]
        if name not in asked:
            continue
        index = index_type.from_path(str(data / "corpora" / name / (one.get("benchmark_root") or "")))
        print(f"{name}: {len(index.chunks)} chunks", file=sys.stderr, flush=True)
        for at, question in enumerate(asked[name]):
            primary = question["relevant"]
            for mode, options in MODES.items():
                chunks = [found.chunk for found in index.search(question["query"], top_k=TOP, **options)]
                gain, first = values[mode]
                gain[one["language"]][name].append(ndcg(chunks, primary + question.get("secondary", [])))
                is_first = bool(chunks) and any(hits(chunks[0], target) for target in primary)
                first[one["language"]][name].append(float(is_first))
                for rank, chunk in enumerate(chunks, 1):
                    place = chunk.file_path.replace(" ", "%20")
                    document = f"{place}:{chunk.start_line}-{chunk.end_line}"
                    runs[mode].append(f"{name}:{at} Q0 {document} {rank} {TOP - rank} semble-{mode}")
    for mode, (gain, first) in values.items():
        (out / f"{mode}.trec").write_text("\n".join(runs[mode]) + "\n")
        print(f"{mode:14} nDCG@10 {headline(gain):.4f}   P@1 {headline(first):.4f}")


if __name__ == "__main__":
    main()
