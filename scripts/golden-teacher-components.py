#!/usr/bin/env python3
"""Make the golden file of a teacher whose vectors are shortened to principal components.

    python scripts/golden-teacher-components.py

Needs sentence-transformers and scikit-learn, and the tiny models that golden-embeddings.py makes. Run by hand; its output is
committed.

The steps are those of sentence-transformers' example `model_distillation.py`: scikit-learn's PCA of the teacher's
embeddings, its components as a dense layer without a bias after the teacher.

Into workbench/wb-encoder/tests/golden/:
  teacher-components.json  texts, the components for two lengths, and the shortened embeddings of some texts
"""

import json
import pathlib

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense
from sklearn.decomposition import PCA

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "workbench/wb-encoder/tests/golden"
VERBS = ["sort", "read", "close", "parse", "merge", "count", "split", "hash"]
NOUNS = ["list", "file", "line", "tree", "word", "number"]


def rounded(x):
    return [[float(f"{value:.8g}") for value in row] for row in x]


def main():
    teacher = SentenceTransformer(str(GOLDEN / "tiny-bert"), device="cpu")
    texts = [f"{verb} every {noun} of a {NOUNS[(at + place) % 6]}" for at, verb in enumerate(VERBS) for place, noun in enumerate(NOUNS)]
    vectors = teacher.encode(texts, prompt_name="query", convert_to_numpy=True)
    reductions = []
    for dim in [5, 16]:
        pca = PCA(n_components=dim, svd_solver="full").fit(vectors.astype(np.float64))
        shortened = SentenceTransformer(str(GOLDEN / "tiny-bert"), device="cpu")
        dense = Dense(vectors.shape[1], dim, bias=False, activation_function=torch.nn.Identity())
        dense.linear.weight = torch.nn.Parameter(torch.tensor(pca.components_, dtype=torch.float32))
        shortened.add_module("dense", dense)
        found = shortened.encode(texts[::7], prompt_name="document", convert_to_numpy=True)
        reductions.append({"dim": dim, "components": rounded(pca.components_), "embeddings": rounded(found)})
    golden = {"texts": texts, "every": 7, "reductions": reductions}
    (GOLDEN / "teacher-components.json").write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
