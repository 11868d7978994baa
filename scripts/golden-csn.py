"""Embeds real benchmark data with sentence-transformers and computes the protocols in numpy and scipy.

    python scripts/golden-csn.py encode MODEL DATA OUT      # once; slow
    python scripts/golden-csn.py protocols DATA OUT         # OUT/expected.json

MODEL is a sentence-transformers folder, DATA the folder with `codesearchnet/` and `cosqa/`, OUT a folder outside of
the repository (the vectors are large and belong to other people's texts). Every text is embedded once, in the order
in which it is first read; `texts.json` holds the texts' sha256 in that order.
"""

import csv
import hashlib
import json
import math
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist


def read_jsonl(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def ruby(data):
    rows = read_jsonl(data / "codesearchnet/ruby/valid.jsonl")
    return rows, [" ".join(r["docstring_tokens"]) for r in rows], [" ".join(r["code_tokens"]) for r in rows]


def cosqa(data):
    pool = json.load(open(data / "cosqa/code_idx_map.txt", encoding="utf-8"))
    queries = json.load(open(data / "cosqa/cosqa-retrieval-dev-500.json", encoding="utf-8"))
    codes = [code for code, _ in sorted(pool.items(), key=lambda item: item[1])]
    return [q["doc"] for q in queries], codes, [q["retrieval_idx"] for q in queries]


def annotated(data):
    folder = data / "codesearchnet/annotated"
    corpus = read_jsonl(folder / "corpus.jsonl")
    queries = [row["query"] for row in csv.DictReader(open(folder / "queries.csv", encoding="utf-8"))]
    return queries, corpus, list(csv.DictReader(open(folder / "annotationStore.csv", encoding="utf-8")))


def function_name_parts(name):
    """dpu_utils' identifier splitting, restated: a cut at every pair of neighbours that one of the rules names."""
    def cut(left, right, after):
        lower, upper, digit = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
        letter = lower + upper
        special = "@$.'\""
        return (
            (left in lower + digit and right in upper)
            or (left in upper + digit and right in upper and after != "" and after in lower)
            or (left in digit and right in letter)
            or (left in letter and right in digit)
            or (left in special and right in letter + digit)
            or (left in letter + digit and right in special)
        )
    parts = []
    for word in name.replace("_", " ").split():
        part = word[0]
        for i in range(1, len(word)):
            if cut(word[i - 1], word[i], word[i + 1] if i + 1 < len(word) else ""):
                parts.append(part)
                part = ""
            part += word[i]
        parts.append(part)
    return [p.lower() for p in parts if p] or [name]


def all_texts(data):
    rows, docs, codes = ruby(data)
    queries, pool, _ = cosqa(data)
    human, corpus, _ = annotated(data)
    names = [" ".join(function_name_parts(r["func_name"])) for r in rows]
    hidden = [" ".join("%UNK%" if t == r["func_name"] else t for t in r["code_tokens"]) for r in rows]
    raw = [r["code"] for r in rows]
    seen = dict.fromkeys(docs + codes + names + hidden + queries + pool + human + [c["code"] for c in corpus] + raw)
    return list(seen)


def encode(model_folder, data, out):
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    model = SentenceTransformer(str(model_folder), device="cpu")
    texts = all_texts(data)
    print(len(texts), "texts, max_seq_length", model.max_seq_length, flush=True)
    vectors = model.encode(texts, batch_size=32, convert_to_numpy=True, normalize_embeddings=True)
    out.mkdir(parents=True, exist_ok=True)
    np.save(out / "minilm.npy", vectors.astype(np.float32))
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    json.dump(digests, open(out / "texts.json", "w"))
    # The same for readers without JSON and npy: raw little-endian float32, and the texts themselves length-prefixed.
    with open(out / "minilm.bin", "wb") as file:
        file.write(np.array(vectors.shape, dtype="<u4").tobytes())
        file.write(vectors.astype("<f4").tobytes())
    with open(out / "texts.bin", "wb") as file:
        for text in texts:
            data_ = text.encode()
            file.write(np.uint32(len(data_)).astype("<u4").tobytes())
            file.write(data_)


def csn_1000(code, query, batch=1000):
    """github/CodeSearchNet src/model_test.py: order, full batches, ranks by cdist."""
    np.random.seed(0)
    order = np.arange(len(code))
    np.random.shuffle(order)
    batch = min(batch, len(code))
    reciprocal, ranks = [], []
    for start in range(0, len(order) - batch + 1, batch):
        rows = order[start : start + batch]
        distances = cdist(code[rows].astype(np.float32), query[rows].astype(np.float32), metric="cosine")
        own = np.expand_dims(np.diag(distances), axis=-1)
        rank = np.sum(distances <= own, axis=-1)
        reciprocal.append(np.mean(1.0 / rank))
        ranks += [[int(i), int(r)] for i, r in zip(rows, rank)]
    return float(np.mean(reciprocal)), ranks


def full(queries, documents, answers):
    """Rank = 1 + documents that are strictly better, over the whole pool."""
    scores = queries @ documents.T
    own = scores[np.arange(len(answers)), answers][:, None]
    rank = 1 + (scores > own).sum(1)
    return {
        "mrr": float(np.mean(1 / rank)),
        "recall@1": float(np.mean(rank <= 1)),
        "recall@5": float(np.mean(rank <= 5)),
        "recall@10": float(np.mean(rank <= 10)),
        "ndcg@10": float(np.mean(np.where(rank <= 10, 1 / np.log2(rank + 1), 0))),
        "ranks": rank.tolist(),
    }


def annotated_ndcg(vector, data, cut=300, only_corpus=False):
    """github/CodeSearchNet src/relevanceeval.py, over the annotated documents of each language."""
    queries, corpus, rows = annotated(data)
    known = {c["url"] for c in corpus}
    grades = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for row in rows:
        if only_corpus and row["GitHubUrl"] not in known:
            continue
        grades[row["Language"].lower()][row["Query"].lower()][row["GitHubUrl"]].append(float(row["Relevance"]))
    result = {}
    for language in sorted({c["language"] for c in corpus}):
        documents = [c for c in corpus if c["language"] == language]
        matrix = np.stack([vector(c["code"]) for c in documents])
        values = {"within": [], "all": []}
        for query in queries:
            urls = grades[language].get(query.lower())
            if not urls:
                continue
            relevance = {url: sum(v) / len(v) for url, v in urls.items()}
            order = np.argsort(-(matrix @ vector(query)), kind="stable")[:cut]
            ideal = sum((2**r - 1) / math.log2(i + 2) for i, r in enumerate(sorted(relevance.values(), reverse=True)))
            if ideal == 0:
                continue
            for mode in values:
                position, dcg = 1, 0.0
                for i in order:
                    url = documents[i]["url"]
                    if url in relevance:
                        dcg += (2 ** relevance[url] - 1) / math.log2(position + 1)
                        position += 1
                    elif mode == "all":
                        position += 1
                values[mode].append([query, dcg / ideal])
        result[language] = {
            mode: {"value": float(np.mean([v for _, v in rows])), "queries": rows} for mode, rows in values.items()
        }
    return result


def protocols(data, out):
    vectors = np.load(out / "minilm.npy")
    row = {digest: i for i, digest in enumerate(json.load(open(out / "texts.json")))}

    def vector(text):
        return vectors[row[hashlib.sha256(text.encode()).hexdigest()]]

    def matrix(texts):
        return np.stack([vector(text) for text in texts])

    rows, docs, codes = ruby(data)
    names = [" ".join(function_name_parts(r["func_name"])) for r in rows]
    hidden = [" ".join("%UNK%" if t == r["func_name"] else t for t in r["code_tokens"]) for r in rows]
    queries, pool, answers = cosqa(data)
    identity = np.arange(len(rows))
    mrr, ranks = csn_1000(matrix(codes), matrix(docs))
    func_mrr, func_ranks = csn_1000(matrix(hidden), matrix(names))
    expected = {
        "csn-1000": {"mrr": mrr, "ranks": ranks},
        "csn-func1000": {"mrr": func_mrr, "ranks": func_ranks},
        "csn-full": full(matrix(docs), matrix(codes), identity),
        "csn-full-raw": full(matrix(docs), matrix([r["code"] for r in rows]), identity),
        "cosqa": full(matrix(queries), matrix(pool), np.array(answers)),
        "annotated": annotated_ndcg(vector, data),
        # Without the judgements about URLs that corpus.jsonl does not hold.
        "annotated-held": annotated_ndcg(vector, data, only_corpus=True),
    }
    json.dump(expected, open(out / "expected.json", "w"))
    for name, value in expected.items():
        if name.startswith("annotated"):
            for language, modes in value.items():
                print(name, language, {mode: round(v["value"], 5) for mode, v in modes.items()})
        else:
            print(name, {k: round(v, 5) for k, v in value.items() if k != "ranks"})


if __name__ == "__main__":
    command, *paths = sys.argv[1:]
    paths = [Path(path) for path in paths]
    {"encode": encode, "protocols": protocols}[command](*paths)
