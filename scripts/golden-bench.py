"""Makes workbench/wb-bench/tests/golden: made-up vectors with many ties, measured by the reference implementations.

    python scripts/golden-bench.py workbench/wb-bench/tests/golden

Needs numpy, scipy, pandas, pytrec_eval, sentence-transformers. What each file holds:

csn-1000.json    scipy's cosine cdist and numpy's legacy shuffle, as the 1-of-1,000 protocol of CodeSearchNet uses them
csn-ndcg.json    NDCG of annotated rankings: fractional relevance, repeated URL, missing query, ideal 0, over 300 URLs
argsort.json     ranks by numpy's stable argsort read backwards (its quicksort's order of ties depends on the processor)
beir.json        one data set under CoIR's, MTEB's and sentence-transformers' rules
"""

import json
import sys
from pathlib import Path

import numpy as np
import pytrec_eval
import torch
from scipy.spatial.distance import cdist
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

rng = np.random.default_rng(20)
# Vectors of length 1 whose products are exact in any order of summation.
HALVES = [(a, b, c, d) for a in (0.5, -0.5) for b in (0.5, -0.5) for c in (0.5, -0.5) for d in (0.5, -0.5)]
UNITS = [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)]
EXACT = np.array(HALVES + UNITS, dtype=np.float32)


def csn_1000():
    cases = []
    for n, missing in [(2300, []), (37, []), (1100, [("code", 3), ("query", 3), ("query", 700), ("code", 900)])]:
        # Small whole numbers: many codes and queries point the same way, so distances tie up to rounding.
        code = rng.integers(-2, 3, (n, 3)).astype(np.float32)
        query = rng.integers(-2, 3, (n, 3)).astype(np.float32)
        for rows in (code, query):
            rows[~rows.any(axis=1)] = 1
        gone = {"code": set(), "query": set()}
        for side, index in missing:
            gone[side].add(index)
        np.random.seed(0)
        order = np.arange(n)
        np.random.shuffle(order)
        batch = min(1000, n)
        whole = len(order) // batch * batch
        np.random.choice(np.arange(whole), replace=False, size=min(whole, 50))
        means, ranks = [], []
        for start in range(0, whole, batch):
            rows = order[start : start + batch]
            sides = []
            for side, known in (("code", code), ("query", query)):
                drawn = [np.random.randn(3) if i in gone[side] else known[i] for i in rows]
                sides.append(np.array(drawn, dtype=np.float32))
            distances = cdist(*sides, metric="cosine")
            rank = np.sum(distances <= np.expand_dims(np.diag(distances), axis=-1), axis=-1)
            means.append(np.mean(1.0 / rank))
            ranks += [[int(i), int(r)] for i, r in zip(rows, rank)]
        cases.append({
            "code": [None if i in gone["code"] else list(map(int, row)) for i, row in enumerate(code)],
            "query": [None if i in gone["query"] else list(map(int, row)) for i, row in enumerate(query)],
            "batch": batch,
            "mrr": float(np.mean(means)),
            "ranks": ranks,
        })
    return cases


def csn_ndcg():
    """relevanceeval.py restated with pandas for the mean of repeated judgements."""
    import pandas as pd

    rows = [
        ["Go", "Read File", "u1", 3], ["Go", "Read File", "u1", 2], ["Go", "Read File", "u2", 0],
        ["Go", "Read File", "u3", 1], ["GO", "read file", "u4", 2], ["Go", "open socket", "u5", 1],
        ["Go", "open socket", "u6", 3], ["Go", "no answer", "u7", 0], ["Go", "not searched", "u8", 2],
        ["Go", "deep", "u9", 3], ["Go", "deep", "u10", 1],
    ]
    frame = pd.DataFrame(rows, columns=["Language", "Query", "GitHubUrl", "Relevance"])
    table = frame.pivot_table(index=["Query", "Language", "GitHubUrl"], values="Relevance", aggfunc="mean")
    relevance = {}
    for (query, _, url), value in table["Relevance"].items():
        relevance.setdefault(query.lower(), {})[url] = value
    filler = [f"x{i}" for i in range(400)]
    predictions = {
        "read file": ["x0", "u3", "u1", "x1", "u1", "u2"],
        "open socket": ["u6", "u5"],
        "no answer": ["u7"],
        "deep": filler[:299] + ["u10", "u9"],
    }

    def ndcg(mode):
        values = []
        for query, urls in relevance.items():
            rank, dcg = 1, 0.0
            for url in predictions.get(query, [])[:300]:
                if url in urls:
                    dcg += (2 ** urls[url] - 1) / np.log2(rank + 1)
                    rank += 1
                elif mode == "all":
                    rank += 1
            ideal = sum((2**r - 1) / np.log2(i + 1) for i, r in enumerate(sorted(urls.values(), reverse=True), 1))
            if ideal > 0:
                values.append(dcg / ideal)
        return float(np.mean(values))

    return {"rows": rows, "predictions": predictions, "within": ndcg("within"), "all": ndcg("all")}


def argsort():
    cases = []
    for n in (12, 16):
        documents = EXACT[rng.integers(0, len(EXACT), n)]
        queries = EXACT[rng.integers(0, len(EXACT), n)]
        answers = rng.integers(0, n, n)
        order = np.argsort(queries @ documents.T, axis=-1, kind="stable")[:, ::-1]
        ranks = [int(np.nonzero(row == answer)[0][0]) + 1 for row, answer in zip(order, answers)]
        cases.append({
            "documents": documents.tolist(), "queries": queries.tolist(), "answers": answers.tolist(), "ranks": ranks,
            "mrr": float(np.mean([1 / r for r in ranks])),
        })
    return cases


class Known:
    """A model that knows the vector of each text."""

    def __init__(self, vectors):
        self.vectors = vectors

    def encode_query(self, texts, **_):
        return torch.tensor(np.array([self.vectors[text] for text in texts], dtype=np.float32))

    encode_document = encode_query


def beir():
    n_documents, n_queries = 60, 14
    ids = [f"d{i}" for i in rng.permutation(n_documents)]
    corpus = [{"_id": i, "title": "" if k % 3 == 0 else f"title {i}", "text": f"text {i}"} for k, i in enumerate(ids)]
    # Some documents carry a query's id, as in data whose queries are documents too.
    for k in range(4):
        corpus[k * 7]["_id"] = f"q{k}"
    queries = [{"_id": f"q{k}", "text": f"question {k}"} for k in range(n_queries)]
    vectors = {}
    for text in [q["text"] for q in queries] + [d["text"] for d in corpus]:
        vectors[text] = EXACT[rng.integers(0, len(EXACT))].tolist()
    joined = {d["_id"]: f"{d['title']} {d['text']}".strip() for d in corpus}
    for text in joined.values():
        vectors.setdefault(text, EXACT[rng.integers(0, len(EXACT))].tolist())
    qrels = {}
    for k, query in enumerate(queries):
        chosen = rng.choice(n_documents, size=1 + k % 4, replace=False)
        qrels[query["_id"]] = {corpus[c]["_id"]: int(1 + (j + k) % 2) for j, c in enumerate(chosen)}
    qrels["q1"]["q1"] = 1
    qrels["q5"] = {next(iter(qrels["q5"])): 0}
    qrels["q6"]["gone"] = 1

    def run(text_of):
        results = {}
        for query in queries:
            vector = np.array(vectors[query["text"]], dtype=np.float32)
            results[query["_id"]] = {
                d["_id"]: float(vector @ np.array(vectors[text_of(d)], dtype=np.float32)) for d in corpus
            }
        return results

    cuts = [1, 3, 5, 10, 100, 1000]
    measures = {f"{name}.{','.join(map(str, cuts))}" for name in ("ndcg_cut", "map_cut", "recall", "P")}

    def trec(results):
        found = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(results)
        names = {"ndcg_cut": "ndcg", "map_cut": "map", "recall": "recall", "P": "precision"}
        values = {}
        for name, ours in names.items():
            for k in cuts:
                values[f"{ours}@{k}"] = float(np.mean([row[f"{name}_{k}"] for row in found.values()]))
        return values

    plain = run(lambda d: d["text"])
    coir = {q: {d: s for d, s in found.items() if d != q} for q, found in plain.items()}
    evaluator = InformationRetrievalEvaluator(
        {q["_id"]: q["text"] for q in queries},
        {d["_id"]: d["text"] for d in corpus},
        {q: {d for d, grade in judged.items() if grade > 0} for q, judged in qrels.items()},
        write_csv=False,
        score_functions={"cosine": lambda a, b: a @ b.T},
    )
    found = evaluator.compute_all_metrics(Known(vectors))["cosine"]
    st = {name.replace("@k", f"@{k}"): float(value) for name, values in found.items() for k, value in values.items()}
    return {
        "corpus": corpus, "queries": queries, "qrels": qrels, "vectors": vectors,
        "coir": trec(coir), "mteb": trec(run(lambda d: joined[d["_id"]])), "st": st,
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, made in {
        "csn-1000": csn_1000(), "csn-ndcg": csn_ndcg(), "argsort": argsort(), "beir": beir(),
    }.items():
        text = json.dumps(made, separators=(",", ":"))
        (folder / f"{name}.json").write_text(text + "\n")
        print(name, len(text), "bytes")
    made = json.loads((folder / "beir.json").read_text())
    for rules in ("coir", "mteb", "st"):
        print(rules, {k: round(v, 4) for k, v in made[rules].items() if k.endswith("@10")})
