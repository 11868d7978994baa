"""Makes workbench/wb-encoder/tests/golden/late-interaction.json from the reference implementation.

Scores of late interaction and losses on them from sentence-transformers 6.2. Run by hand:

    python scripts/golden-late-interaction.py > workbench/wb-encoder/tests/golden/late-interaction.json

A case has token vectors of `batch` anchors and of their documents by column (all positives, all first hard negatives, ...),
texts one after the other with their lengths, the similarity and the loss as YAML would have them, and what the reference
finds: the scores of all anchors with all documents, the loss, and its gradients at the vectors.

The reference pads; its columns are put into our order before they are compared. It has no PyLate normalizer: that one is
written here as its paper's own training code has it, on the same retrieved tokens.
"""

import json
import sys

import torch
from sentence_transformers.multi_vector_encoder.scoring import colbert_kd_scores, colbert_scores, xtr_kd_scores, xtr_scores
from torch.nn.functional import cross_entropy, kl_div, log_softmax, mse_loss, normalize


def rounded(tensor):
    return [round(x, 7) for x in tensor.detach().flatten().tolist()]


def padded(texts):
    """Texts as one tensor and its mask."""
    mask = torch.nn.utils.rnn.pad_sequence([torch.ones(len(text), dtype=torch.bool) for text in texts], batch_first=True)
    return torch.nn.utils.rnn.pad_sequence(texts, batch_first=True), mask


def pylate_scores(queries, documents, q_mask, d_mask, top_k):
    """XTR with PyLate's Z: what is not retrieved is 0 before the maximum, Z counts maxima above 0 and is at least 1e-3."""
    batch, columns, tokens, _ = documents.shape
    flat = documents.reshape(batch * columns, tokens, -1)
    products = torch.einsum("qsh,dth->qsdt", queries, flat)
    products = products.masked_fill(~d_mask.reshape(batch * columns, tokens)[None, None], -1e4)
    clubbed = products.flatten(2, 3)
    values, places = clubbed.topk(min(top_k, clubbed.shape[-1]), dim=-1)
    kept = torch.zeros_like(clubbed).scatter(-1, places, values).view_as(products)
    maxima = kept.max(dim=-1).values.clamp(min=0) * q_mask[..., None]
    return maxima.sum(1) / (maxima > 0).float().sum(1).clamp(min=1e-3)


def case(name, similarity, loss, generator, batch=3, negatives=0, dim=8, longest=6):
    def made(shift=0.0):
        length = int(torch.randint(1, longest + 1, (1,), generator=generator))
        vectors = normalize(torch.randn(length, dim, generator=generator) + shift, dim=-1)
        return torch.tensor(rounded(vectors)).reshape(length, dim).requires_grad_()

    columns = [[made() for _ in range(batch)] for _ in range(2 + negatives)]
    queries, q_mask = padded(columns[0])
    documents, d_mask = padded([text for column in columns[1:] for text in column])
    # Column by column in ours, anchor by anchor in the reference.
    shape = (1 + negatives, batch, *documents.shape[1:])
    documents, d_mask = documents.reshape(shape).transpose(0, 1), d_mask.reshape(shape[:3]).transpose(0, 1)
    if similarity == "maxsim":
        scores = colbert_scores(queries, documents, q_mask, d_mask)
        own = colbert_kd_scores(queries, documents, q_mask, d_mask)
    else:
        settings = similarity["xtr"]
        if settings.get("normalizer") == "pylate":
            scores = pylate_scores(queries, documents, q_mask, d_mask, settings["top_k"])
            own = torch.stack([scores[i, i * (1 + negatives) : (i + 1) * (1 + negatives)] for i in range(batch)])
        else:
            scores = xtr_scores(queries, documents, q_mask, d_mask, top_k=settings["top_k"])
            own = xtr_kd_scores(queries, documents, q_mask, d_mask, top_k=settings["top_k"])
    kind, settings = next(iter(loss.items()))
    teacher = torch.tensor(rounded(3 * torch.randn(batch, 1 + negatives, generator=generator)))
    teacher = teacher.reshape(batch, 1 + negatives)
    if kind == "mnrl":
        value = cross_entropy(scores * settings.get("scale", 1.0), torch.arange(batch) * (1 + negatives))
    elif kind == "distill_kl":
        student = settings.get("temperature", 1.0)
        log_p = log_softmax(teacher / student, dim=-1)
        value = kl_div(log_softmax(own / student, dim=-1), log_p, reduction="batchmean", log_target=True) * student**2
    else:
        value = mse_loss(own[:, :1] - own[:, 1:], teacher[:, :1] - teacher[:, 1:])
    value.backward()
    texts = [text for column in columns for text in column]
    ours = scores.reshape(batch, batch, 1 + negatives).transpose(1, 2).reshape(batch, -1)
    return {
        "name": name,
        "similarity": similarity,
        "loss": loss,
        "batch": batch,
        "dim": dim,
        "lengths": [len(text) for text in texts],
        "vectors": rounded(torch.cat(texts)),
        "teacher": rounded(teacher.transpose(0, 1)),
        "scores": rounded(ours),
        "value": value.item(),
        "gradients": rounded(torch.cat([text.grad for text in texts])),
    }


def main():
    generator = torch.Generator().manual_seed(11)
    similarities = ["maxsim"]
    for top_k in (1, 3, 7, 1000):
        similarities.append({"xtr": {"top_k": top_k}})
    for top_k in (1, 3, 7):
        similarities.append({"xtr": {"top_k": top_k, "normalizer": "pylate"}})
    cases = []
    for similarity in similarities:
        for loss in ({"mnrl": {}}, {"mnrl": {"scale": 3.0}}, {"distill_kl": {"temperature": 0.5}}, {"margin_mse": {}}):
            negatives = 2 if "mnrl" not in loss else len(cases) % 2
            name = f"{json.dumps(similarity)} {json.dumps(loss)}"
            cases.append(case(name, similarity, loss, generator, negatives=negatives))
    cases.append(case("a batch of more texts", "maxsim", {"mnrl": {}}, generator, batch=7, negatives=3, longest=12))
    more = {"xtr": {"top_k": 20}}
    cases.append(case("a batch of more texts, XTR", more, {"mnrl": {}}, generator, batch=7, negatives=3, longest=12))
    json.dump({"cases": cases}, sys.stdout, indent=None, separators=(",", ":"))
    print()


if __name__ == "__main__":
    main()
