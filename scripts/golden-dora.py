#!/usr/bin/env python3
"""Make the golden gradients of a DoRA adapter with PEFT, the reference.

    python scripts/golden-dora.py

Needs peft, transformers and torch, and the adapter `dora` that golden-peft.py makes.
Run by hand; its output is committed.

Into workbench/wb-encoder/tests/golden/peft-dora-gradients.json: token ids, the token states of each text, and the
gradients of A, B and the magnitudes of every adapted layer, of the sum of state[i, j] * sin((13 i + 5 j) * 0.41) with
the token's place i over all texts. It also prints how far PEFT is from the formulas, dropout among them.
"""

import json
import pathlib

import torch
from peft import PeftModel
from transformers import AutoModel

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "workbench/wb-encoder/tests/golden"
IDS = [[2 + (k * 29 + n * 7) % 200 for k in range(n)] for n in [7, 1, 19, 24, 3]]
NAMES = {"lora_A.default.weight": "A", "lora_B.default.weight": "B", "lora_magnitude_vector.default.weight": "m"}


def backward(model):
    """States of all texts, and gradients in `model`."""
    states, first = [], 0
    for ids in IDS:
        found = model(input_ids=torch.tensor([ids])).last_hidden_state[0]
        i, j = torch.arange(len(ids)).view(-1, 1) + first, torch.arange(found.shape[1]).view(1, -1)
        (found * torch.sin((13 * i + 5 * j) * 0.41)).sum().backward()
        first += len(ids)
        states.append(found.detach().flatten().tolist())
    return states


def by_hand(layer, calls):
    """Gradients by the formulas, with the length of the rows as a constant; and the largest difference of outputs."""
    w, bias = layer.base_layer.weight.detach(), layer.base_layer.bias.detach()
    a, b = layer.lora_A["default"].weight.detach(), layer.lora_B["default"].weight.detach()
    m, s = layer.lora_magnitude_vector["default"].weight.detach(), layer.scaling["default"]
    n = (w + s * b @ a).norm(dim=1)
    g = m / n
    sums, difference = dict(A=torch.zeros_like(a), B=torch.zeros_like(b), m=torch.zeros_like(m)), 0.0
    for x, dropped, y, dy in calls:
        base, update = dropped @ w.T, s * (dropped @ a.T) @ b.T
        difference = max(difference, float((x @ w.T + bias + (g - 1) * base + g * update - y).abs().max()))
        sums["A"] += s * ((dy * g) @ b).T @ dropped
        sums["B"] += s * (dy * g).T @ (dropped @ a.T)
        sums["m"] += (dy * (base + update)).sum(0) / n
    return sums, difference


def compare(model):
    """The largest difference of gradients between PEFT and the formulas, relative to each weight's largest."""
    calls, dropped = {}, {}

    def after(name):
        def hook(module, inputs, y):
            x, entry = inputs[0].detach()[0], []
            entry += [x, dropped.pop(name, x), y.detach()[0]]
            y.register_hook(lambda dy: entry.append(dy.detach()[0].clone()))
            calls.setdefault(name, []).append(entry)
        return hook

    layers = {name: layer for name, layer in model.named_modules() if hasattr(layer, "lora_magnitude_vector")}
    for name, layer in layers.items():
        layer.register_forward_hook(after(name))
        layer.lora_dropout["default"].register_forward_hook(
            lambda _, __, y, name=name: dropped.__setitem__(name, y.detach()[0]))
    states = backward(model)
    gradients, worst, of_outputs = {}, 0.0, 0.0
    for name, layer in layers.items():
        sums, difference = by_hand(layer, calls[name])
        of_outputs = max(of_outputs, difference)
        for own, key in NAMES.items():
            found = layer.get_parameter(own).grad
            worst = max(worst, float((found - sums[key]).abs().max() / found.abs().max()))
            short = name.removeprefix("base_model.model.") + "." + own.replace(".default", "")
            gradients[short.replace("magnitude_vector.weight", "magnitude_vector")] = found.flatten().tolist()
    return states, gradients, worst, of_outputs


def load(dropout):
    model = AutoModel.from_pretrained(GOLDEN / "tiny-bert", attn_implementation="eager")
    model = PeftModel.from_pretrained(model, str(GOLDEN / "peft/dora"), is_trainable=True).eval()
    if dropout:
        for layer in model.modules():
            if hasattr(layer, "lora_magnitude_vector"):
                layer.lora_dropout["default"] = torch.nn.Dropout(dropout)
                layer.train()
    return model


def main():
    torch.manual_seed(0)
    states, gradients, worst, of_outputs = compare(load(0.0))
    print(f"without dropout: gradients within {worst:.1e} of the formulas, outputs within {of_outputs:.1e}")
    _, _, worst, of_outputs = compare(load(0.3))
    print(f"with dropout: gradients within {worst:.1e}, outputs within {of_outputs:.1e}")
    short = lambda values: [float(f"{value:.8g}") for value in values]
    made = {"ids": IDS, "states": [short(s) for s in states], "gradients": {k: short(v) for k, v in gradients.items()}}
    (GOLDEN / "peft-dora-gradients.json").write_text(json.dumps(made) + "\n")


if __name__ == "__main__":
    main()
