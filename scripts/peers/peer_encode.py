"""sentence-transformers encoding, one round for each batch size read from standard input; prints seconds.

    python peer_encode.py MODEL_FOLDER TEXTS.jsonl EMBEDDINGS
"""
import json
import os
import sys
import time

import torch
from sentence_transformers import SentenceTransformer

model_folder, texts_path, out = sys.argv[1:4]
torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
texts = [json.loads(line) for line in open(texts_path, encoding="utf-8")]
model = SentenceTransformer(model_folder, device="cpu")
print("ready", flush=True)
embeddings = None
for line in sys.stdin:
    start = time.perf_counter()
    embeddings = model.encode(texts, batch_size=int(line), show_progress_bar=False, normalize_embeddings=True)
    print(f"{time.perf_counter() - start:.6f}", flush=True)
if embeddings is not None:
    embeddings.astype("<f4").tofile(out)
