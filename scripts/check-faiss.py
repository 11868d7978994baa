"""IndexFlatIP files in both directions: what wb-sql writes is read by faiss, what faiss writes by wb-sql.

    cargo build --release -p wb-sql --example faiss_flat
    python scripts/check-faiss.py target/release/examples/faiss_flat

Needs faiss-cpu and numpy.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import faiss
import numpy as np


def main():
    tool = sys.argv[1]
    rng = np.random.default_rng(17)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for count, dimension in [(0, 3), (1, 1), (7, 384), (1000, 33)]:
            vectors = rng.standard_normal((count, dimension)).astype("float32")
            # From here to there: the numbers go over as JSON, so that no file of faiss is in between.
            ours = folder / "ours.bin"
            given = json.dumps({"dimension": dimension, "values": [float(value) for value in vectors.ravel()]})
            subprocess.run([tool, "write", ours], input=given, text=True, check=True)
            index = faiss.read_index(str(ours))
            assert type(index) is faiss.IndexFlatIP and index.metric_type == faiss.METRIC_INNER_PRODUCT, type(index)
            assert (index.d, index.ntotal, index.is_trained) == (dimension, count, True)
            assert count == 0 or (index.reconstruct_n(0, count) == vectors).all()
            # And back.
            theirs = folder / "theirs.bin"
            index = faiss.IndexFlatIP(dimension)
            index.add(vectors)
            faiss.write_index(index, str(theirs))
            assert theirs.read_bytes() == ours.read_bytes(), "the bytes differ"
            read = json.loads(subprocess.run([tool, "read", theirs], capture_output=True, text=True, check=True).stdout)
            assert read["dimension"] == dimension
            assert (np.array(read["values"], dtype="float32") == vectors.ravel()).all()
            if count:
                # The same neighbors by faiss and by hand.
                query = rng.standard_normal((5, dimension)).astype("float32")
                _, found = faiss.read_index(str(ours)).search(query, 1)
                assert (found[:, 0] == (query @ vectors.T).argmax(1)).all()
        for name, index in [("l2", faiss.IndexFlatL2(4)), ("hnsw", faiss.IndexHNSWFlat(4, 8))]:
            path = folder / name
            faiss.write_index(index, str(path))
            refused = subprocess.run([tool, "read", path], capture_output=True, text=True)
            assert refused.returncode != 0 and "IndexFlatIP" in refused.stderr, refused
    print(f"IndexFlatIP: both directions agree with faiss {faiss.__version__}")


main()
