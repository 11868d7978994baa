"""faiss IndexFlatIP: one search for each line of standard input; prints seconds.

    python peer_search.py DOCUMENTS QUERIES DIM K POSITIONS
"""
import os
import sys
import time

import faiss
import numpy

documents, queries = (numpy.fromfile(path, dtype=numpy.float32).reshape(-1, int(sys.argv[3])) for path in sys.argv[1:3])
faiss.omp_set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
index = faiss.IndexFlatIP(documents.shape[1])
index.add(documents)
print("ready", flush=True)
found = None
for _ in sys.stdin:
    start = time.perf_counter()
    _, found = index.search(queries, int(sys.argv[4]))
    print(f"{time.perf_counter() - start:.6f}", flush=True)
if found is not None:
    found.astype("<u4").tofile(sys.argv[5])
