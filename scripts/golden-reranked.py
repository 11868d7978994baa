#!/usr/bin/env python3
"""Make the golden file of reranked benchmarks from sentence-transformers.

    python scripts/golden-reranked.py

Needs sentence-transformers and torch, and the files of scripts/golden-cross-encoder.py. Run by hand; its output is
committed: workbench/wb/tests/golden/reranked.json, pairs of texts, and for some k the metrics that
CrossEncoderRerankingEvaluator gives for the first k documents of each query by tiny-bert, ordered by tiny-cross-encoder.
"""

import importlib.util
import json
import pathlib
import shutil
import tempfile

from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.cross_encoder.evaluation import CrossEncoderRerankingEvaluator

HERE = pathlib.Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("golden_cross_encoder", HERE / "golden-cross-encoder.py")
golden = importlib.util.module_from_spec(spec)
spec.loader.exec_module(golden)


def main():
    # One of each query and of each document, so that each query has one answer.
    pairs, queries, documents = [], set(), set()
    for query, document in golden.mining_pairs():
        if query not in queries and document not in documents:
            pairs.append((query, document))
            queries.add(query)
            documents.add(document)
    with tempfile.TemporaryDirectory() as place:
        bert = pathlib.Path(place) / "bert"
        shutil.copytree(golden.GOLDEN / "tiny-bert", bert)
        (bert / "config_sentence_transformers.json").unlink()
        encoder = SentenceTransformer(str(bert), device="cpu")
        of_queries = encoder.encode([query for query, _ in pairs], normalize_embeddings=True)
        of_documents = encoder.encode([document for _, document in pairs], normalize_embeddings=True)
    scores = of_queries @ of_documents.T
    cross = CrossEncoder(str(golden.GOLDEN / "tiny-cross-encoder"), device="cpu")
    cases = []
    for k in [3, 10, len(pairs)]:
        samples = []
        for (query, positive), row in zip(pairs, scores):
            first = sorted(range(len(pairs)), key=lambda at: -row[at])[:k]
            samples.append({"query": query, "positive": [positive], "documents": [pairs[at][1] for at in first]})
        at_k = lambda at: CrossEncoderRerankingEvaluator(
            samples, at_k=at, always_rerank_positives=False, show_progress_bar=False, write_csv=False
        )(cross)
        cases.append({"top": k, "mrr": float(at_k(k)[f"mrr@{k}"]), "ndcg@10": float(at_k(10)["ndcg@10"])})
        print(cases[-1])
    text = json.dumps({"pairs": pairs, "cases": cases}, ensure_ascii=False, separators=(",", ":"))
    (golden.OF_COMMAND / "reranked.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
