"""Makes workbench/wb-encoder/tests/golden/losses.json from the reference implementations.

MNRL from sentence-transformers, AdamW and gradient clipping from PyTorch. Run by hand:

    python scripts/golden-losses.py > workbench/wb-encoder/tests/golden/losses.json
"""

import json
import sys

import torch
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from sentence_transformers.util import cos_sim, dot_score


def rounded(tensor):
    return [round(x, 7) for x in tensor.detach().flatten().tolist()]


def mnrl(name, batch, negatives, dim, scale, symmetric, similarity, generator):
    columns = [torch.randn(batch, dim, generator=generator) for _ in range(2 + negatives)]
    # What is written is what was computed with.
    columns = [torch.tensor(rounded(c)).reshape(batch, dim).requires_grad_() for c in columns]
    options = dict(directions=("query_to_doc", "doc_to_query"), partition_mode="per_direction") if symmetric else {}
    loss = MultipleNegativesRankingLoss(model=None, scale=scale, similarity_fct=similarity, **options)
    value = loss.compute_loss_from_embeddings(columns, labels=None)
    value.backward()
    return {
        "name": name,
        "batch": batch,
        "dim": dim,
        "scale": scale,
        "symmetric": symmetric,
        "similarity": "cosine" if similarity is cos_sim else "dot",
        "anchors": rounded(columns[0]),
        "documents": rounded(torch.cat(columns[1:])),
        "loss": round(value.item(), 7),
        "at_anchors": rounded(columns[0].grad),
        "at_documents": rounded(torch.cat([c.grad for c in columns[1:]])),
    }


def adamw(generator):
    """Two weights, the second without decay and with three times the learning rate; clipped, six steps."""
    weights = [torch.tensor(rounded(torch.randn(12, generator=generator))).requires_grad_() for _ in range(2)]
    start = [rounded(w) for w in weights]
    groups = [
        {"params": [weights[0]], "lr": 0.02, "weight_decay": 0.1},
        {"params": [weights[1]], "lr": 0.06, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.99), eps=1e-6)
    steps = []
    for step in range(6):
        gradients = [rounded(torch.randn(12, generator=generator) * 10 ** (step - 4)) for _ in range(2)]
        for weight, gradient in zip(weights, gradients):
            weight.grad = torch.tensor(gradient)
        norm = torch.nn.utils.clip_grad_norm_(weights, max_norm=1.0)
        optimizer.step()
        steps.append({"gradients": gradients, "norm": norm.item(), "weights": [rounded(w) for w in weights]})
    return {"start": start, "steps": steps}


def main():
    generator = torch.Generator().manual_seed(17)
    golden = {
        "made_with": {"torch": torch.__version__.split("+")[0], "sentence_transformers": __import__("sentence_transformers").__version__},
        "mnrl": [
            mnrl("plain", 4, 0, 6, 20.0, False, cos_sim, generator),
            mnrl("two negatives", 4, 2, 6, 20.0, False, cos_sim, generator),
            mnrl("symmetric", 5, 0, 6, 20.0, True, cos_sim, generator),
            mnrl("symmetric with a negative", 4, 1, 6, 20.0, True, cos_sim, generator),
            mnrl("dot", 3, 1, 4, 1.0, False, dot_score, generator),
        ],
        "adamw": adamw(generator),
    }
    json.dump(golden, sys.stdout, indent=1)
    sys.stdout.write("\n")


main()
