"""Exact search beside faiss: the same random unit vectors, two threads each, alternating runs, medians.

Needs numpy and faiss-cpu, and the example built:
    cargo build --release -p wb-retrieval --example flat_bench
    python scripts/peer-faiss.py [--documents 200000] [--queries 1000] [--dim 384] [--k 100] [--rounds 7]
Prints both medians, their ratio (above 1: wb is faster) and how many of the positions agree.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("--documents", type=int, default=200_000)
parser.add_argument("--queries", type=int, default=1_000)
parser.add_argument("--dim", type=int, default=384)
parser.add_argument("--k", type=int, default=100)
parser.add_argument("--rounds", type=int, default=7)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--bench", default=None, help="path of the built flat_bench")
arguments = parser.parse_args()
os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
os.environ["RAYON_NUM_THREADS"] = str(arguments.threads)

import faiss  # noqa: E402  (threads are set before)
import numpy  # noqa: E402

target = os.environ.get("CARGO_TARGET_DIR", "target")
bench = arguments.bench or os.path.join(target, "release", "examples", "flat_bench")
if not os.path.exists(bench):
    sys.exit(f"{bench} is not there: cargo build --release -p wb-retrieval --example flat_bench")
random = numpy.random.default_rng(0)


def vectors(n):
    made = random.standard_normal((n, arguments.dim), dtype=numpy.float32)
    return made / numpy.linalg.norm(made, axis=1, keepdims=True)


documents, queries = vectors(arguments.documents), vectors(arguments.queries)
faiss.omp_set_num_threads(arguments.threads)
index = faiss.IndexFlatIP(arguments.dim)
index.add(documents)
with tempfile.TemporaryDirectory() as folder:
    paths = [os.path.join(folder, name) for name in ("documents", "queries", "found")]
    documents.tofile(paths[0])
    queries.tofile(paths[1])
    seconds = {"wb": [], "faiss": []}
    for _ in range(arguments.rounds):
        output = subprocess.run(
            [bench, paths[0], paths[1], str(arguments.dim), str(arguments.k), "2", paths[2]],
            check=True, capture_output=True, text=True,
        ).stdout.split()
        seconds["wb"].append(float(output[-1]))  # the first run of each warms up
        for run in range(2):
            start = time.perf_counter()
            _, found = index.search(queries, arguments.k)
            elapsed = time.perf_counter() - start
        seconds["faiss"].append(elapsed)
    ours = numpy.fromfile(paths[2], dtype=numpy.uint32).reshape(len(queries), -1)
same = numpy.mean([len(set(a) & set(b)) / len(b) for a, b in zip(ours.tolist(), found.tolist())])
wb, peer = statistics.median(seconds["wb"]), statistics.median(seconds["faiss"])
operations = 2 * len(queries) * len(documents) * arguments.dim
print(f"faiss {faiss.__version__}, {len(queries)} queries, {documents.shape} documents, k {arguments.k}, {arguments.threads} threads")
for name, value in (("wb", wb), ("faiss", peer)):
    runs = " ".join(f"{run:.3f}" for run in sorted(seconds[name]))
    print(f"{name:6} {value:.3f} s  {operations / value / 1e9:.0f} GFLOP/s  ({runs})")
print(f"faiss / wb {peer / wb:.2f}, same positions {same:.5f}")
