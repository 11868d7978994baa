#!/usr/bin/env python3
"""Make the golden file of token states and of masked language modelling from transformers, the reference.

    python scripts/golden-tokens.py

Needs transformers, safetensors and torch, and the tiny models of scripts/golden-embeddings.py.
Run by hand; its output is committed.

Into workbench/wb-encoder/tests/golden/tokens.json, for each tiny model:
  ids           token ids of a few texts
  states        the last layer's states, [tokens, 32], texts one after the other
  gradients     of Σ state[t][j] · sin(0.37 · (31 t + 7 j)): each weight's norm, and its sum with sin(0.7 i)
  mlm           a head with weights of its own, ids with some replaced, which and by what they are to be told,
                transformers' loss, and the same two numbers of every weight's gradient
"""

import json
import math
import pathlib

import torch
from transformers import AutoModelForMaskedLM, AutoModel

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "workbench/wb-encoder/tests/golden"
TEXTS = [3, 5, 6, 10, 13, 18]
MASK = 4


def two_numbers(model, rename):
    found = {}
    for name, weight in model.named_parameters():
        name = rename(name)
        if weight.grad is None or name is None:
            continue
        flat = weight.grad.double().flatten()
        direction = torch.sin(torch.arange(flat.numel()).double() * 0.7)
        found[name] = [float(flat.norm()), float(flat @ direction)]
    return found


def numbers(tensor):
    return [round(float(x), 7) for x in tensor.flatten()]


def states_of(folder, ids):
    model = AutoModel.from_pretrained(folder, add_pooling_layer=False).eval()
    states = torch.cat([model(torch.tensor([text])).last_hidden_state[0] for text in ids])
    rows, columns = states.shape
    at = torch.sin(0.37 * (31 * torch.arange(rows).double()[:, None] + 7 * torch.arange(columns).double()[None, :]))
    (states.double() * at).sum().backward()
    return [numbers(row) for row in states], two_numbers(model, lambda name: name)


def head_name(name):
    """transformers' name to ours; None for what is not compared."""
    for prefix in ["bert.", "roberta."]:
        if name.startswith(prefix):
            return name[len(prefix):]
    name = name.replace("cls.predictions.transform.", "heads.mlm.").replace("cls.predictions.bias", "heads.mlm.bias")
    name = name.replace("lm_head.layer_norm.", "heads.mlm.LayerNorm.").replace("lm_head.", "heads.mlm.")
    return None if "decoder" in name else name


def mlm_of(folder, ids):
    torch.manual_seed(0)
    model = AutoModelForMaskedLM.from_pretrained(folder).eval()
    generator = torch.Generator().manual_seed(5)
    head = {}
    with torch.no_grad():
        for name, weight in model.named_parameters():
            ours = head_name(name)
            if ours is None or not ours.startswith("heads."):
                continue
            noise = torch.randn(weight.shape, generator=generator)
            if "LayerNorm.weight" in ours:
                weight.copy_(1 + 0.2 * noise)
            elif weight.dim() == 1:
                weight.copy_(0.3 * noise)
            else:
                weight.copy_(noise * 1.5 / math.sqrt(weight.shape[1]))
            head[ours] = numbers(weight)
    # Every third token between the ends is to be told; of these, one in five stays and one in five becomes another.
    replaced, places, labels, token = [], [], [], 0
    for text in ids:
        text = list(text)
        for at in range(len(text)):
            if 0 < at < len(text) - 1 and at % 3 == 1:
                places.append(token + at)
                labels.append(text[at])
                n = len(labels) % 5
                text[at] = text[at] if n == 3 else (7 + 11 * len(labels)) % 300 if n == 4 else MASK
        token += len(text)
        replaced.append(text)
    logits = torch.cat([model(torch.tensor([text])).logits[0] for text in replaced])
    loss = torch.nn.functional.cross_entropy(logits[places], torch.tensor(labels))
    loss.backward()
    return {
        "head": head,
        "ids": replaced,
        "places": places,
        "labels": labels,
        "loss": float(loss),
        "gradients": two_numbers(model, head_name),
    }


def main():
    everything = {}
    for name in ["tiny-bert", "tiny-roberta"]:
        all_ids = json.loads((GOLDEN / f"{name}.json").read_text())["ids"]
        ids = [all_ids[at] for at in TEXTS]
        states, gradients = states_of(GOLDEN / name, ids)
        mlm = mlm_of(GOLDEN / name, ids)
        everything[name] = {"ids": ids, "states": states, "gradients": gradients, "mlm": mlm}
        print(name, len(states), "tokens,", len(mlm["labels"]), "to tell, loss", mlm["loss"], sorted(mlm["head"]))
    (GOLDEN / "tokens.json").write_text(json.dumps(everything) + "\n")


if __name__ == "__main__":
    main()
