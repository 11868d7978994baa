#!/usr/bin/env python3
"""Make the golden file of queries that are filled up with mask tokens which no token attends to, from transformers.

    python scripts/golden-expansion.py

Needs transformers and torch. Run by hand; its output is committed.

workbench/wb-encoder/tests/golden/expansion.json, for the random models beside it: texts as token ids, how many tokens of each
are attended to (attention_mask 1, then 0), the states of all tokens, and gradients of
Σ state[t][j] · sin(0.37 · (31 t + 7 j)): each weight's norm, and its sum with sin(0.7 i).
"""

import json
import math
import pathlib

import torch
from transformers import AutoModel

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "workbench/wb-encoder/tests/golden"
# Tokens, and those that are attended to.
SHAPES = [(12, 5), (12, 12), (12, 1), (7, 6), (3, 3), (12, 9)]


def numbers(tensor):
    return [round(float(x), 7) for x in tensor.flatten()]


def of_model(name, mask_id):
    model = AutoModel.from_pretrained(GOLDEN / name, add_pooling_layer=False, attn_implementation="eager").eval()
    vocab = model.config.vocab_size
    ids = []
    for text, (tokens, keys) in enumerate(SHAPES):
        own = [(text * 13 + at * at * 5 + at * 3) % (vocab - 10) + 5 for at in range(keys)]
        ids.append(own + [mask_id] * (tokens - keys))
    # Padded to one width as a batch of queries is: padding is not attended to either, and its states are not looked at.
    width = max(tokens for tokens, _ in SHAPES) + 2
    pad = model.config.pad_token_id
    batch = torch.tensor([text + [pad] * (width - len(text)) for text in ids])
    mask = torch.tensor([[1] * keys + [0] * (width - keys) for _, keys in SHAPES])
    states = model(batch, attention_mask=mask).last_hidden_state
    states = torch.cat([states[row, :tokens] for row, (tokens, _) in enumerate(SHAPES)])
    rows, columns = states.shape
    at = torch.sin(0.37 * (31 * torch.arange(rows).double()[:, None] + 7 * torch.arange(columns).double()[None, :]))
    (states.double() * at).sum().backward()
    gradients = {}
    for weight_name, weight in model.named_parameters():
        if weight.grad is not None:
            flat = weight.grad.double().flatten()
            direction = torch.sin(torch.arange(flat.numel()).double() * 0.7)
            gradients[weight_name] = [float(flat.norm()), float(flat @ direction)]
    full = model(batch, attention_mask=torch.tensor([[1] * n + [0] * (width - n) for n, _ in SHAPES])).last_hidden_state
    full = torch.cat([full[row, :tokens] for row, (tokens, _) in enumerate(SHAPES)])
    print(name, "attending to all changes states by", float((full - states).detach().abs().max()))
    return {
        "model": name,
        "ids": ids,
        "keys": [keys for _, keys in SHAPES],
        "states": [numbers(row) for row in states],
        "gradients": gradients,
    }


def main():
    found = [of_model("tiny-bert", 4), of_model("tiny-roberta", 4)]
    assert all(math.isfinite(x) for model in found for row in model["states"] for x in row)
    (GOLDEN / "expansion.json").write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
