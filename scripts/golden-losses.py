"""Makes workbench/wb-encoder/tests/golden/losses.json from the reference implementations.

Losses from sentence-transformers, AdamW and gradient clipping from PyTorch. Run by hand:

    python scripts/golden-losses.py > workbench/wb-encoder/tests/golden/losses.json

A case has embeddings of `batch` anchors and of their documents by column (all positives, all first hard negatives, ...),
the loss as YAML would have it, and what the reference implementation finds: the loss and its gradients.
"""

import json
import sys

import torch
from sentence_transformers.sentence_transformer.losses import (
    AnglELoss,
    CachedGISTEmbedLoss,
    CoSENTLoss,
    DistillKLDivLoss,
    EmbedDistillLoss,
    MarginMSELoss,
    MSELoss,
    MultipleNegativesRankingLoss,
    TripletDistanceMetric,
    TripletLoss,
)
from sentence_transformers.sentence_transformer.losses.matryoshka import shrink
from sentence_transformers.util import cos_sim, dot_score, pairwise_cos_sim, pairwise_dot_score

MATRIX = {"cosine": cos_sim, "dot": dot_score}
PAIRWISE = {"cosine": pairwise_cos_sim, "dot": pairwise_dot_score}


def rounded(tensor):
    return [round(x, 7) for x in tensor.detach().flatten().tolist()]


def case(name, loss, compute, generator, batch=4, negatives=0, dim=6, similarity="cosine", scores=None, guide_dim=0):
    """`compute(columns, scores, guide columns)` is the reference; what is written is what was computed with."""

    def made(*shape):
        return torch.tensor(rounded(torch.randn(*shape, generator=generator))).reshape(*shape)

    columns = [made(batch, dim).requires_grad_() for _ in range(2 + negatives)]
    # Answers look like what is asked, as for a trained model; otherwise a guide would mask nearly everything.
    guide = [made(batch, guide_dim) for _ in columns] if guide_dim else None
    if guide:
        guide[1] = torch.tensor(rounded(guide[1] + 1.5 * guide[0])).reshape(batch, guide_dim)
    if scores == "random":
        scores = made(batch, 1 + negatives)
    elif scores is not None:
        scores = torch.tensor(scores)
    value = compute(columns, scores, guide)
    value.backward()
    written = {
        "name": name,
        "loss": loss,
        "similarity": similarity,
        "batch": batch,
        "dim": dim,
        "anchors": rounded(columns[0]),
        "documents": rounded(torch.cat(columns[1:])),
    }
    if scores is not None:
        # By column, as the documents.
        written["scores"] = rounded(scores.T)
    if guide:
        written["guide_dim"] = guide_dim
        written["guide_anchors"] = rounded(guide[0])
        written["guide_documents"] = rounded(torch.cat(guide[1:]))
    written["value"] = round(value.item(), 7)
    written["at_anchors"] = rounded(columns[0].grad)
    written["at_documents"] = rounded(torch.cat([c.grad for c in columns[1:]]))
    return written


def mnrl(name, generator, negatives=0, similarity="cosine", hardness=None, matryoshka=None, **options):
    config = {key: value for key, value in options.items() if key in ("scale", "temperature", "directions")}
    arguments = dict(similarity_fct=MATRIX[similarity], scale=options.get("scale", 20.0))
    if "temperature" in options:
        arguments["scale"] = 1 / options["temperature"]
    if "directions" in options:
        arguments["directions"] = tuple(options["directions"])
    if "partition" in options:
        config["partition"] = arguments["partition_mode"] = options["partition"]
    if hardness:
        config["hardness"] = {hardness[0]: hardness[1]}
        arguments.update(hardness_mode=hardness[0], hardness_strength=hardness[1])
    reference = MultipleNegativesRankingLoss(model=None, **arguments)
    loss = {"mnrl": config}
    if matryoshka:
        dims, weights = matryoshka
        loss = {"matryoshka": {"dims": dims, "loss": loss} | ({"weights": weights} if weights else {})}

        def compute(columns, scores, guide):
            parts = zip(dims, weights or [1] * len(dims))
            return sum(w * reference.compute_loss_from_embeddings([shrink(c, d) for c in columns], None) for d, w in parts)
    else:

        def compute(columns, scores, guide):
            return reference.compute_loss_from_embeddings(columns, labels=None)

    batch = options.get("batch", 4)
    return case(name, loss, compute, generator, batch, negatives, options.get("dim", 6), similarity)


def gist(name, generator, negatives=0, batch=6, **options):
    reference = CachedGISTEmbedLoss.__new__(CachedGISTEmbedLoss)
    torch.nn.Module.__init__(reference)
    reference.similarity_fct = torch.nn.CosineSimilarity(dim=-1)
    reference.cross_entropy_loss = torch.nn.CrossEntropyLoss()
    reference.mini_batch_size, reference.show_progress_bar, reference.gather_across_devices = 4, False, False
    reference.temperature = options.get("temperature", 0.01)
    reference.margin_strategy, reference.margin = options.get("margin", ("absolute", 0.0))
    reference.contrast_anchors = options.get("contrast_anchors", True)
    reference.contrast_positives = options.get("contrast_positives", True)
    config = {key: value for key, value in options.items() if key != "margin"}
    config["guide"] = {"id": "guide"}
    if "margin" in options:
        config["margin"] = {options["margin"][0]: options["margin"][1]}

    def compute(columns, scores, guide):
        return reference.calculate_loss([[c] for c in columns], [[c] for c in guide])

    return case(name, {"gist": config}, compute, generator, batch, negatives, guide_dim=5)


def triplet(name, generator, negatives, metric, margin):
    reference = TripletLoss(model=None, distance_metric=getattr(TripletDistanceMetric, metric.upper()), triplet_margin=margin)

    def compute(columns, scores, guide):
        anchors, positives = (column.repeat(negatives, 1) for column in columns[:2])
        return reference.compute_loss_from_embeddings([anchors, positives, torch.cat(columns[2:])], None)

    loss = {"triplet": {"distance": metric, "margin": margin}}
    return case(name, loss, compute, generator, 5, negatives)


def margin_mse(name, generator, negatives, similarity):
    reference = MarginMSELoss(model=None, similarity_fct=PAIRWISE[similarity])

    def compute(columns, scores, guide):
        return reference.compute_loss_from_embeddings(columns, scores)

    return case(name, {"margin_mse": {}}, compute, generator, 4, negatives, similarity=similarity, scores="random")


def distill_kl(name, generator, negatives, similarity, **options):
    reference = DistillKLDivLoss(model=None, similarity_fct=PAIRWISE[similarity], **options)

    def compute(columns, scores, guide):
        return reference.compute_loss_from_embeddings(columns, scores)

    return case(name, {"distill_kl": options}, compute, generator, 4, negatives, similarity=similarity, scores="random")


def cosent(name, generator, scores, negatives=0, scale=20.0, similarity="cosine"):
    reference = CoSENTLoss(model=None, scale=scale, similarity_fct=PAIRWISE[similarity])

    def compute(columns, scores, guide):
        anchors = columns[0].repeat(1 + negatives, 1)
        return reference.compute_loss_from_embeddings([anchors, torch.cat(columns[1:])], scores.T.flatten())

    loss = {"cosent": {"scale": scale}}
    return case(name, loss, compute, generator, len(scores), negatives, similarity=similarity, scores=scores)


def angle(name, generator, scores, negatives=0, scale=20.0, dim=6):
    reference = AnglELoss(model=None, scale=scale)

    def compute(columns, scores, guide):
        anchors = columns[0].repeat(1 + negatives, 1)
        return reference.compute_loss_from_embeddings([anchors, torch.cat(columns[1:])], scores.T.flatten())

    return case(name, {"angle": {"scale": scale}}, compute, generator, len(scores), negatives, dim, scores=scores)


def distill_embeddings(name, generator, by, similarity, negatives=0, batch=5, dim=6):
    """Both models end in `Normalize` where vectors are compared by their cosine."""
    reference = MSELoss(model=None) if by == "mse" else EmbedDistillLoss(model=None, distance_metric=by)

    def compute(columns, scores, guide):
        if by == "mse" and similarity == "cosine":
            columns, guide = ([torch.nn.functional.normalize(x, dim=1) for x in side] for side in (columns, guide))
        return reference.compute_loss_from_embeddings(columns, guide)

    loss = {"distill_embeddings": {"teacher": {"id": "teacher"}, "by": by}}
    return case(name, loss, compute, generator, batch, negatives, dim, similarity, guide_dim=dim)


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
    g = torch.Generator().manual_seed(17)
    symmetric = ["query_to_doc", "doc_to_query"]
    every = ["query_to_doc", "query_to_query", "doc_to_query", "doc_to_doc"]
    cases = [
        mnrl("plain", g),
        mnrl("two negatives", g, 2),
        mnrl("temperature", g, 1, temperature=0.1),
        mnrl("dot", g, 1, "dot", scale=1.0, batch=3, dim=4),
        mnrl("symmetric", g, directions=symmetric, partition="per_direction", batch=5),
        mnrl("symmetric with a negative", g, 1, directions=symmetric, partition="per_direction"),
        mnrl("symmetric, joint, the other order", g, 1, directions=symmetric[::-1], partition="joint"),
        mnrl("queries apart", g, 1, directions=every[:2]),
        mnrl("documents apart", g, 2, directions=["query_to_doc", "doc_to_doc"]),
        mnrl("all directions", g, directions=every, batch=5),
        mnrl("all directions, two negatives", g, 2, directions=every),
        mnrl("all directions, dot", g, 1, "dot", directions=every, scale=1.0),
        mnrl("hard in-batch negatives", g, 2, hardness=("in_batch_negatives", 9.0)),
        mnrl("hard hard negatives", g, 2, hardness=("hard_negatives", 5.0)),
        mnrl("hard negatives of all kinds, symmetric", g, 2, directions=symmetric, partition="per_direction", hardness=("all_negatives", 3.0)),
        mnrl("hard negatives of all kinds, all directions", g, 1, directions=every, hardness=("all_negatives", 3.0)),
        mnrl("matryoshka", g, 1, matryoshka=([8, 5, 2], None), dim=8),
        mnrl("matryoshka, weights, all directions", g, 2, directions=every, matryoshka=([3, 8], [0.25, 1.5]), dim=8),
        gist("gist", g, temperature=0.05),
        gist("gist, sharp", g, 1),
        gist("gist, three negatives", g, 3, temperature=0.05, margin=("absolute", 0.1)),
        gist("gist, relative margin", g, 2, temperature=0.05, margin=("relative", 0.3)),
        gist("gist, only documents for anchors", g, 1, temperature=0.05, contrast_anchors=False, contrast_positives=False),
        gist("gist, anchors apart", g, 1, temperature=0.05, contrast_positives=False, margin=("absolute", -0.01)),
        triplet("triplet, cosine", g, 1, "cosine", 0.5),
        triplet("triplet, euclidean, three negatives", g, 3, "euclidean", 2.0),
        triplet("triplet, manhattan", g, 2, "manhattan", 5.0),
        margin_mse("margin MSE", g, 1, "dot"),
        margin_mse("margin MSE, three negatives", g, 3, "cosine"),
        distill_kl("KL", g, 1, "dot"),
        distill_kl("KL, temperature", g, 3, "cosine", temperature=0.1),
        distill_kl("KL, two temperatures", g, 2, "dot", student_temperature=2.0, teacher_temperature=0.5),
        cosent("CoSENT with ties", g, [[0.9], [0.1], [0.5], [0.5], [0.1], [1.0]]),
        cosent("CoSENT, all equal", g, [[0.5], [0.5], [0.5]]),
        cosent("CoSENT with negatives, dot", g, [[1.0, 0.0], [0.7, 0.2], [0.7, 0.1], [0.3, 0.3]], 1, 2.0, "dot"),
    ]
    optimizer = adamw(g)
    # A new loss comes last, so that what was drawn before stays.
    cases += [
        angle("AnglE with ties", g, [[0.9], [0.1], [0.5], [0.5], [0.1], [1.0]]),
        angle("AnglE with two negatives", g, [[1.0, 0.0, 0.2], [0.7, 0.2, 0.2], [0.7, 0.1, 0.0]], 2, 5.0),
        angle("AnglE, an odd number of dimensions", g, [[0.8], [0.1], [0.4], [0.6]], scale=3.0, dim=5),
    ]
    cases += [
        distill_embeddings("a teacher's embeddings, cosine", g, "cosine", "cosine"),
        distill_embeddings("a teacher's embeddings, cosine, two negatives", g, "cosine", "cosine", 2),
        distill_embeddings("a teacher's embeddings, cosine, whatever is compared", g, "cosine", "dot", 1, batch=1),
        distill_embeddings("a teacher's embeddings, MSE", g, "mse", "dot", 1),
        distill_embeddings("a teacher's embeddings, MSE, one pair of one number", g, "mse", "dot", batch=1, dim=1),
        distill_embeddings("a teacher's embeddings, MSE of normalized ones", g, "mse", "cosine", 3),
    ]
    versions = {"torch": torch.__version__.split("+")[0], "sentence_transformers": __import__("sentence_transformers").__version__}
    json.dump({"made_with": versions, "cases": cases, "adamw": optimizer}, sys.stdout, indent=1)
    sys.stdout.write("\n")


main()
