#!/usr/bin/env python3
"""Make the golden file of bags of token vectors that are made from a teacher.

    python scripts/golden-static-from-teacher.py

Needs transformers, torch, numpy and scikit-learn, and the tiny models that golden-embeddings.py makes. Run by hand; its
output is committed.

The formulas are those of Model2Vec 0.10's `distill` without its trimming of the vocabulary: the mean over the last hidden
states of [CLS] token [SEP], principal components by numpy's eigh (held to scikit-learn's PCA here), SIF weights by ranks.

Into workbench/wb-encoder/tests/golden/:
  static-from-teacher.json  texts and, for several lengths of a vector, rows of the vectors before weights, all weights,
                            and normalized embeddings with and without weights
"""

import json
import pathlib

import numpy as np
import torch
from sklearn.decomposition import PCA
from transformers import AutoModel, AutoTokenizer

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "workbench/wb-encoder/tests/golden"
TEXTS = ["Sort a list.", "def add(a, b):\n    return a + b", "return the sorted list of items", "read a file, then close it"]
EVERY = 16
SIF = 1e-4


def states(model, tokenizer, tokens):
    out = []
    with torch.no_grad():
        for token in range(tokens):
            ids = torch.tensor([[tokenizer.cls_token_id, token, tokenizer.sep_token_id]])
            out.append(model(input_ids=ids).last_hidden_state.mean(dim=1)[0])
    return torch.stack(out).numpy().astype(np.float64)


def components(x, dim):
    n, width = x.shape
    dim = min(dim, width)
    if dim >= n:
        return x
    centered = x - x.mean(axis=0)
    _, vectors = np.linalg.eigh(centered.T @ centered / (n - 1))
    scores = centered @ vectors[:, ::-1][:, :dim]
    farthest = np.argmax(np.abs(scores), axis=0)
    scores *= np.sign(scores[farthest, range(dim)])
    other = PCA(n_components=dim, svd_solver="full").fit_transform(x)
    assert np.allclose(np.abs(scores), np.abs(other), atol=1e-9), "not scikit-learn's components"
    return scores


def weights(n):
    inverse = 1 / np.arange(2, n + 2)
    return SIF / (SIF + inverse / inverse.sum())


def embeddings(vectors, ids):
    rows = np.stack([vectors[row].mean(axis=0) for row in ids])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def rounded(x):
    return [[float(f"{value:.8g}") for value in row] for row in x]


def main():
    folder = str(GOLDEN / "tiny-bert")
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    tokens = len(tokenizer)
    x, w = states(model, tokenizer, tokens), weights(tokens)
    ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in TEXTS]
    bags = []
    for dim in [8, 32, 300]:
        vectors = components(x, dim)
        bags.append({
            "dim": dim,
            "vectors": rounded(vectors[::EVERY]),
            "weighted": rounded(embeddings(vectors * w[:, None], ids)),
            "plain": rounded(embeddings(vectors, ids)),
        })
    golden = {"tokens": tokens, "every": EVERY, "sif": SIF, "texts": TEXTS, "weights": rounded([w])[0], "bags": bags}
    (GOLDEN / "static-from-teacher.json").write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
