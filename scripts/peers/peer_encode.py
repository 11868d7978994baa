"""sentence-transformers encoding, one round for each batch size read from standard input; prints seconds.

Prints `ready`, torch's instruction set and the operations of encoding all texts without any padding. For a line
`products M K N` torch multiplies `[M, K]` by `[K, N]` instead, PRODUCTS times.

    python peer_encode.py MODEL_FOLDER TEXTS.jsonl EMBEDDINGS
"""
import json
import os
import sys
import time

import torch
from sentence_transformers import SentenceTransformer

PRODUCTS = 20
model_folder, texts_path, out = sys.argv[1:4]
torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
texts = [json.loads(line) for line in open(texts_path, encoding="utf-8")]
model = SentenceTransformer(model_folder, device="cpu")


def operations():
    """Two for each multiply-and-add of the products of all layers, attention's as if all tokens saw all."""
    network = model[0].auto_model
    config = network.config
    heads = config.num_attention_heads * (getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads)
    lengths = [len(ids) for ids in model.tokenizer(texts, truncation=True, max_length=model.max_seq_length)["input_ids"]]
    linear = [part for name, part in network.named_modules() if isinstance(part, torch.nn.Linear) and "pooler" not in name]
    of_tokens = sum(lengths) * 2 * sum(part.weight.numel() for part in linear)
    return of_tokens + config.num_hidden_layers * sum(4 * n * n * heads for n in lengths)


def products(m, k, n):
    with torch.inference_mode():
        left, right, result = torch.ones(m, k), torch.ones(k, n), torch.empty(m, n)
        start = time.perf_counter()
        for _ in range(PRODUCTS):
            torch.mm(left, right, out=result)
        return time.perf_counter() - start


print("ready", torch.backends.cpu.get_cpu_capability(), operations(), flush=True)
embeddings = None
for line in sys.stdin:
    if line.startswith("products "):
        print(f"{products(*map(int, line.split()[1:])):.6f}", flush=True)
        continue
    start = time.perf_counter()
    embeddings = model.encode(texts, batch_size=int(line), show_progress_bar=False, normalize_embeddings=True)
    print(f"{time.perf_counter() - start:.6f}", flush=True)
if embeddings is not None:
    embeddings.astype("<f4").tofile(out)
