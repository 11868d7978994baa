"""Mining beside sentence-transformers' mine_hard_negatives: the same vectors and texts, two threads, alternating runs.

Needs the packages of scripts/peers/requirements.txt, and the example built:
    cargo build --release -p wb-retrieval --example mining_memory
    python scripts/peer-mining.py [--documents 100000] [--queries 10000] [--dim 384] [--ram 2GB] [--rounds 3]
Each run is a process of its own. Prints the seconds of the search alone (no encoding on either side), the most memory
that each process held, and how many of the negatives agree. The margin is 5 %, four negatives a query.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--documents", type=int, default=100_000)
parser.add_argument("--queries", type=int, default=10_000)
parser.add_argument("--dim", type=int, default=384)
parser.add_argument("--text-bytes", type=int, default=300)
parser.add_argument("--ram", default="2GB")
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--bench", default=None, help="path of the built mining_memory")
parser.add_argument("--folder", default=None, help="where vectors are kept; a temporary folder otherwise")
parser.add_argument("--peer", default=None, help=argparse.SUPPRESS)
arguments = parser.parse_args()
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(arguments.threads)
os.environ["RAYON_NUM_THREADS"] = str(arguments.threads)
os.environ["TOKENIZERS_PARALLELISM"] = "false"


def peak():
    """Megabytes, of this process."""
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return int(line.split()[1]) // 1000


def peer(folder):
    """One run of the reference, in this process."""
    import contextlib
    import io
    import time

    import numpy as np
    import torch
    from datasets import Dataset
    from sentence_transformers.util import cos_sim, mine_hard_negatives, pairwise_cos_sim

    torch.set_num_threads(arguments.threads)
    names = {}

    class Model:
        device = torch.device("cpu")

        @staticmethod
        def rows(name, texts):
            vectors = np.load(os.path.join(folder, name))[[int(text.split()[1]) for text in texts]]
            return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

        def encode_query(self, texts, **_):
            return self.rows("queries.npy", texts)

        def encode_document(self, texts, **_):
            names.update({text: at for at, text in enumerate(texts)})
            return self.rows("documents.npy", texts)

        def similarity(self, a, b):
            return cos_sim(a, b)

        def similarity_pairwise(self, a, b):
            return pairwise_cos_sim(a, b)

    filler = "x" * arguments.text_bytes
    text = lambda name, at: f"{name} {at} {filler}"
    corpus = [text("document", at) for at in range(arguments.documents)]
    columns = {
        "anchor": [text("query", at) for at in range(arguments.queries)],
        "positive": corpus[: arguments.queries],
    }
    dataset = Dataset.from_dict(columns)
    start = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        mined = mine_hard_negatives(
            dataset, Model(), corpus=corpus, relative_margin=0.05, num_negatives=4, output_format="labeled-list"
        )
    seconds = time.perf_counter() - start
    found = np.full((arguments.queries, 4), 0xFFFFFFFF, dtype=np.uint32)
    for anchor, documents in zip(mined["anchor"], mined["positive"]):
        for at, document in enumerate(documents[1:]):
            found[int(anchor.split()[1]), at] = names[document]
    found.tofile(os.path.join(folder, "peer.bin"))
    print(f"{seconds:.3f} {peak()}")


def main(folder):
    import numpy as np

    target = os.environ.get("CARGO_TARGET_DIR", "target")
    bench = arguments.bench or os.path.join(target, "release", "examples", "mining_memory")
    if not os.path.exists(bench):
        sys.exit(f"{bench} is not there: cargo build --release -p wb-retrieval --example mining_memory")
    sizes = [str(n) for n in (arguments.documents, arguments.queries, arguments.dim, arguments.text_bytes)]
    ours = [bench, folder, *sizes, arguments.ram, os.path.join(folder, "ours.bin")]
    theirs = [sys.executable, sys.argv[0], "--peer", folder, *sys.argv[1:]]
    results = {"wb": [], "sentence-transformers": []}
    subprocess.run(ours, check=True, capture_output=True)  # makes the vectors
    for _ in range(arguments.rounds):
        told = subprocess.run(ours, check=True, capture_output=True, text=True).stdout.splitlines()[-1].split()
        results["wb"].append((float(told[0]), int(told[-2])))
        told = subprocess.run(theirs, check=True, capture_output=True, text=True).stdout.split()
        results["sentence-transformers"].append((float(told[0]), int(told[1])))
    found = [np.fromfile(os.path.join(folder, name), dtype=np.uint32) for name in ("ours.bin", "peer.bin")]
    print(f"{arguments.queries} queries, {arguments.documents} documents of {arguments.dim}, {arguments.threads} threads, ram {arguments.ram}")
    for name, runs in results.items():
        seconds = statistics.median(run[0] for run in runs)
        every = " ".join(f"{run[0]:.2f}" for run in sorted(runs))
        print(f"{name:22} {seconds:6.2f} s ({every}), at most {max(run[1] for run in runs)} MB")
    print(f"same negatives at the same places: {np.mean(found[0] == found[1]):.6f}")


if arguments.peer:
    peer(arguments.peer)
elif arguments.folder:
    main(arguments.folder)
else:
    with tempfile.TemporaryDirectory() as folder:
        main(folder)
