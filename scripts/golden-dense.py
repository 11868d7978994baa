#!/usr/bin/env python3
"""Make the golden dense layer of wb-encoder from sentence-transformers, the reference.

    python scripts/golden-dense.py

Needs sentence-transformers, torch, and the tiny models that golden-embeddings.py makes. Run by hand; its output is committed.

Into workbench/wb-encoder/tests/golden/dense/, to be put over tiny-bert:
  modules.json, 2_Dense/   two dense layers after the pooling, then normalization
  expected.json            texts, and the whole encoder's embeddings of them
"""

import json
import pathlib
import shutil
import tempfile

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers import models as st

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "workbench/wb-encoder/tests/golden"
TEXTS = ["Sort a list.", "def add(a, b):\n    return a + b", "Grüße, Jürgen! 文字列", "word " * 60, ""]


def main():
    root = GOLDEN / "dense"
    shutil.rmtree(root, ignore_errors=True)
    torch.manual_seed(5)
    whole = SentenceTransformer(str(GOLDEN / "tiny-bert"), device="cpu")
    layers = [st.Dense(32, 12), st.Dense(12, 6, bias=False, activation_function=torch.nn.Identity())]
    model = SentenceTransformer(modules=[whole[0], whole[1], *layers, st.Normalize()], device="cpu").eval()
    with tempfile.TemporaryDirectory() as place:
        model.save(place, create_model_card=False)
        for name in ["modules.json", "2_Dense", "3_Dense"]:
            source = pathlib.Path(place) / name
            root.mkdir(exist_ok=True)
            shutil.copytree(source, root / name) if source.is_dir() else shutil.copy(source, root / name)
    for file in root.rglob("*.safetensors"):
        file.chmod(0o644)
    embeddings = [[round(float(x), 7) for x in row] for row in model.encode(TEXTS)]
    (root / "expected.json").write_text(json.dumps({"texts": TEXTS, "embeddings": embeddings}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
