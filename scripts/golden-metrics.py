"""Makes workbench/wb-retrieval/tests/golden/metrics.json: metrics of rankings with ties, by the reference programs.

Needs pytrec_eval-terrier (trec_eval itself behind it) and sentence-transformers; run by hand:
    python scripts/golden-metrics.py
Each case has scores of every document for every query, drawn from few values so that most are tied, ids whose order
by bytes differs from their order by position, graded judgements, and queries whose id is also a document's.
"""
import json
import pathlib
import random

import pytrec_eval
import torch
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

CUTS = [1, 3, 5, 10, 100]
OUT = pathlib.Path(__file__).parent.parent / "workbench/wb-retrieval/tests/golden/metrics.json"


def case(name, seed, n_queries, n_documents, values, identical):
    draw = random.Random(seed)
    documents = draw.sample(
        [f"d{i}" for i in range(200)] + ["Ünïcode", "zz", "a/b.rs#L1-L2", "函数", "D7", "_x"], n_documents
    )
    queries = [f"q{i}" for i in range(n_queries)]
    if identical:
        queries[: n_queries // 2] = draw.sample(documents, n_queries // 2)
    scores = [[draw.choice(values) for _ in documents] for _ in queries]
    qrels = {}
    for query in queries:
        judged = draw.sample(documents, draw.randint(1, min(12, n_documents)))
        grades = {document: draw.choice([0, 1, 1, 2, 3]) for document in judged}
        grades[judged[0]] = 1  # sentence-transformers divides by the number of relevant documents
        if draw.random() < 0.3:
            grades["not-in-the-corpus"] = 2
        qrels[query] = grades
    return {
        "name": name, "queries": queries, "documents": documents, "scores": scores, "qrels": qrels,
        "trec": trec(queries, documents, scores, qrels, drop=False),
        "trec_without_identical_ids": trec(queries, documents, scores, qrels, drop=True),
        "sentence_transformers": sentence_transformers(queries, documents, scores, qrels),
    }


def trec(queries, documents, scores, qrels, drop):
    cuts = ",".join(map(str, CUTS))
    measures = {f"{name}.{cuts}" for name in ("ndcg_cut", "map_cut", "recall", "P", "success")}
    measures |= {"map", "ndcg", "recip_rank"}
    run = {
        query: {document: score for document, score in zip(documents, row) if not (drop and document == query)}
        for query, row in zip(queries, scores)
    }
    measured = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    names = {"ndcg_cut": "ndcg", "map_cut": "map", "P": "precision", "success": "hit_rate", "recip_rank": "mrr"}
    values = {}
    for query in queries:
        for key, value in measured[query].items():
            name, _, cut = key.rpartition("_")
            if not cut.isdigit():
                name, cut = key, ""
            key = names.get(name, name) + (f"@{cut}" if cut else "")
            values.setdefault(key, []).append(value)
    return values


class Given:
    """A model whose inner products are the scores: queries are unit vectors, documents columns."""

    model_card_data = None

    def __init__(self, queries, documents, scores):
        self.of_query = {query: row for query, row in zip(queries, torch.eye(len(queries), dtype=torch.float64))}
        self.of_document = {d: column for d, column in zip(documents, torch.tensor(scores, dtype=torch.float64).T)}

    def encode_query(self, texts, **_):
        return torch.stack([self.of_query[text] for text in texts])

    def encode_document(self, texts, **_):
        return torch.stack([self.of_document[text] for text in texts])


def sentence_transformers(queries, documents, scores, qrels):
    evaluator = InformationRetrievalEvaluator(
        queries={query: query for query in queries},
        corpus={document: document for document in documents},
        relevant_docs={query: {d for d, grade in qrels[query].items() if grade > 0} for query in queries},
        corpus_chunk_size=7,
        mrr_at_k=CUTS, ndcg_at_k=CUTS, accuracy_at_k=CUTS, precision_recall_at_k=CUTS, map_at_k=CUTS,
        score_functions={"dot": lambda a, b: a @ b.T},
    )
    names = {"accuracy": "hit_rate", "map": "map_min"}
    values = {}
    for key, by_cut in evaluator.compute_all_metrics(Given(queries, documents, scores))["dot"].items():
        name = key.removesuffix("@k")
        for cut, value in by_cut.items():
            values[f"{names.get(name, name)}@{cut}"] = float(value)
    return values


cases = [
    case("few values, most tied", 1, 8, 30, [0.0, 0.25, 0.5, 1.0], identical=False),
    case("two values", 2, 6, 40, [0.0, 1.0], identical=False),
    case("all equal", 3, 5, 12, [0.5], identical=False),
    case("queries that are documents", 4, 10, 25, [-1.0, 0.0, 0.5, 2.0], identical=True),
    case("no ties to speak of", 5, 8, 120, [i / 1024 for i in range(-100_000, 100_000)], identical=True),
    case("fewer documents than the cuts", 6, 6, 4, [0.0, 1.0], identical=True),
]
OUT.parent.mkdir(parents=True, exist_ok=True)
OUT.write_text("[\n" + ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases) + "\n]\n")
print(f"{OUT}: {len(cases)} cases, {OUT.stat().st_size} bytes")
