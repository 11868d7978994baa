"""The index of `wb text2sql` in the hands of the real faiss, and back again.

    python scripts/check-faiss.py reports/spider-rag/index-bm25 OUT

Reads the folder's index with faiss, looks whether it is what it should be and finds what it should find, and writes to
OUT/same the same vectors in another order, with their map, to OUT/array these with NumPy's array of texts alone, and to
OUT/l2 an index of another kind, which `wb` refuses.
Needs faiss-cpu and numpy.
"""

import json
import shutil
import sys
from pathlib import Path

import faiss
import numpy as np

INDEX, MAP, ARRAY = "sql_rag_faiss_index.bin", "sql_rag_corpus_map.json", "sql_rag_corpus_map.npy"


def main():
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    index = faiss.read_index(str(folder / INDEX))
    entries = json.loads((folder / MAP).read_text())
    assert type(index) is faiss.IndexFlatIP and index.metric_type == faiss.METRIC_INNER_PRODUCT, type(index)
    assert index.is_trained and index.ntotal == len(entries), (index.ntotal, len(entries))
    vectors = index.reconstruct_n(0, index.ntotal)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    texts = np.load(folder / ARRAY, allow_pickle=True)
    assert texts.dtype == object and texts.tolist() == [entry["text"] for entry in entries]

    # faiss finds what a plain product finds, and writes the same bytes.
    rng = np.random.default_rng(17)
    queries = rng.standard_normal((20, index.d)).astype("float32")
    scores, found = index.search(queries, 3)
    best = np.sort(queries @ vectors.T, axis=1)[:, ::-1][:, :3]
    assert np.allclose(scores, best, atol=1e-5) and (found >= 0).all()
    again = faiss.IndexFlatIP(index.d)
    again.add(vectors)
    same, array, other = out / "same", out / "array", out / "l2"
    for place in (same, array, other):
        place.mkdir(parents=True)
    faiss.write_index(again, str(same / INDEX))
    assert (same / INDEX).read_bytes() == (folder / INDEX).read_bytes(), "the bytes differ"

    order = rng.permutation(index.ntotal)
    shuffled = faiss.IndexFlatIP(index.d)
    shuffled.add(vectors[order])
    faiss.write_index(shuffled, str(same / INDEX))
    entries = [dict(entries[row], position=position) for position, row in enumerate(order)]
    (same / MAP).write_text(json.dumps(entries))
    shutil.copy(same / INDEX, array / INDEX)
    np.save(array / ARRAY, np.array(texts[order], dtype=object))

    wrong = faiss.IndexFlatL2(index.d)
    wrong.add(vectors)
    faiss.write_index(wrong, str(other / INDEX))
    shutil.copy(folder / MAP, other / MAP)
    print(f"IndexFlatIP of {index.ntotal} vectors of {index.d}: both directions agree with faiss {faiss.__version__}")


main()
