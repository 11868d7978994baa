"""Makes workbench/wb-retrieval/tests/golden/mining.json from sentence-transformers' mine_hard_negatives.

A fixed embedding matrix stands behind a fake model, a fixed score matrix behind a fake cross-encoder. Run by hand:

    python scripts/golden-mining.py > workbench/wb-retrieval/tests/golden/mining.json
"""

import contextlib
import io
import itertools
import json
import math
import re
import sys

import numpy as np
import torch
from datasets import Dataset
from sentence_transformers.util import cos_sim, mine_hard_negatives, pairwise_cos_sim

DIM = 8
N_QUERIES = 9
N_DOCUMENTS = 48
generator = np.random.default_rng(20)


def vectors(rows):
    """What is written is what is computed with."""
    return np.round(generator.normal(size=(rows, DIM)), 4).astype(np.float32)


QUERIES = vectors(N_QUERIES)
DOCUMENTS = vectors(N_DOCUMENTS)
# Most positives are near their queries, as in life; q4's is on the far side, so that its score is below zero.
PAIRS = [(0, 0), (1, 1), (2, 2), (0, 3), (3, 4), (4, 5), (5, 6), (0, 7), (6, 8), (7, 9), (1, 1), (8, 10), (5, 2), (2, 11)]
PAIRS += [(6, at) for at in range(12, 20)]
for query, document in PAIRS:
    weight = -1.2 if query == 4 else (0.9 if document % 3 else 0.25)
    DOCUMENTS[document] = np.round(DOCUMENTS[document] + np.float32(weight) * QUERIES[query], 4)
# The other documents, some of them positives too, in an order of their own.
CORPUS = [int(at) for at in generator.permutation(N_DOCUMENTS) if at > 3]
CROSS = np.round(generator.normal(size=(N_QUERIES, N_DOCUMENTS)), 4).astype(np.float32)
CROSS[4] -= 2
CROSS = np.round(CROSS, 4)


def number(text):
    return int(text[1:])


class Model:
    device = torch.device("cpu")

    @staticmethod
    def encode(matrix, texts):
        rows = torch.tensor(matrix[[number(text) for text in texts]])
        return torch.nn.functional.normalize(rows, dim=1).numpy()

    def encode_query(self, texts, **_):
        return self.encode(QUERIES, texts)

    def encode_document(self, texts, **_):
        return self.encode(DOCUMENTS, texts)

    def similarity(self, a, b):
        return cos_sim(a, b)

    def similarity_pairwise(self, a, b):
        return pairwise_cos_sim(a, b)


class CrossEncoder:
    def predict(self, pairs, **_):
        return torch.tensor([CROSS[number(query), number(document)] for query, document in pairs])


def cells(row):
    """A row as it is written: its values in the order of the columns, scores with six digits."""
    rounded = lambda value: round(value, 6) if isinstance(value, float) else value
    return [[rounded(x) for x in v] if isinstance(v, list) else rounded(v) for v in row.values()]


def case(name, pairs=None, corpus=None, cross=False, **options):
    pairs = PAIRS if pairs is None else pairs
    dataset = Dataset.from_dict(
        {"anchor": [f"q{query}" for query, _ in pairs], "positive": [f"d{document}" for _, document in pairs]}
    )
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(io.StringIO()):
        mined = mine_hard_negatives(
            dataset,
            Model(),
            corpus=None if corpus is None else [f"d{document}" for document in corpus],
            cross_encoder=CrossEncoder() if cross else None,
            **options,
        )
    text = told.getvalue()
    skipped = {rule: int(n.replace(",", "")) for n, rule in re.findall(r"Skipped ([\d,]+) .* due to the (\w+) of", text)}
    automatic = re.search(r"Setting range_max to (\d+)", text)
    statistics = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 4 and words[0] in ("Mean", "Median", "Std", "Min", "25%", "50%", "75%", "Max"):
            values = [float(word) for word in words[1:]]
            statistics[words[0].lower()] = [value if math.isfinite(value) else None for value in values]
        elif words[:1] == ["Count"]:
            statistics["count"] = [int(word.replace(",", "")) for word in words[1:]]
    return {
        "name": name,
        "pairs": [list(pair) for pair in pairs],
        "corpus": corpus,
        "cross": cross,
        "options": options,
        "range_max": int(automatic.group(1)) if automatic else None,
        "skipped": skipped,
        "statistics": statistics,
        "columns": mined.column_names,
        "rows": [cells(row) for row in mined],
    }


def refused(**options):
    dataset = Dataset.from_dict({"anchor": ["q0"], "positive": ["d0"]})
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            mine_hard_negatives(dataset, Model(), **options)
        except ValueError as error:
            return {"options": options, "message": str(error)}
    raise AssertionError(f"{options} is not refused")


def cases():
    formats = ["triplet", "n-tuple", "labeled-pair", "labeled-list"]
    rules = {
        "plain": {},
        "three of a deep window": dict(range_min=2, range_max=12, num_negatives=3),
        "range_min alone": dict(range_min=3, num_negatives=2),
        "absolute": dict(absolute_margin=0.1),
        "absolute of nothing": dict(absolute_margin=0.0, num_negatives=5),
        "relative": dict(relative_margin=0.05),
        "relative, large": dict(relative_margin=0.6, num_negatives=4),
        "both margins": dict(absolute_margin=0.2, relative_margin=0.3, range_min=1),
        "max": dict(max_score=0.35),
        "min": dict(min_score=0.3, num_negatives=4),
        "min below zero": dict(min_score=-0.2, range_min=4, range_max=40, num_negatives=6),
        "max and min": dict(max_score=0.5, min_score=0.1, num_negatives=4),
        "everything": dict(
            range_min=1, range_max=30, max_score=0.6, min_score=-0.1, absolute_margin=0.05, relative_margin=0.1
        ),
        "window beyond the corpus": dict(range_max=400, relative_margin=0.05, num_negatives=4),
        "window wide and short": dict(range_min=10, range_max=11, num_negatives=1),
        "random of as many as there are": dict(
            range_min=2, range_max=6, num_negatives=4, sampling_strategy="random"
        ),
        "random of fewer than asked": dict(
            range_min=1, range_max=41, num_negatives=40, relative_margin=0.4, sampling_strategy="random"
        ),
    }
    for (name, options), form in itertools.product(rules.items(), formats):
        scores = [False, True] if name in ("plain", "relative") else [True]
        for output_scores in scores:
            yield case(
                f"{name}, {form}{', scores' if output_scores else ''}",
                output_format=form,
                output_scores=output_scores,
                **options,
            )
    for name in ["plain", "relative", "max and min", "everything"]:
        for form in formats:
            yield case(
                f"separate corpus, {name}, {form}",
                corpus=CORPUS,
                output_format=form,
                output_scores=True,
                **rules[name],
            )
    crossed = {
        "relative": dict(relative_margin=0.05),
        "absolute": dict(absolute_margin=0.3, range_min=1, num_negatives=2),
        "max": dict(max_score=0.5),
        "min": dict(min_score=-0.3, num_negatives=4),
        "all": dict(relative_margin=0.1, absolute_margin=0.1, max_score=1.5, min_score=-1.5, range_max=20),
    }
    for (name, options), form in itertools.product(crossed.items(), ["triplet", "n-tuple"]):
        yield case(f"rescored, {name}, {form}", cross=True, output_format=form, output_scores=True, **options)
    yield case("rescored, separate corpus", cross=True, corpus=CORPUS, output_scores=True, relative_margin=0.05)
    yield case("one pair", pairs=[(0, 0)], corpus=[1, 2, 3, 4, 0, 2], output_scores=True)
    yield case("one positive each", pairs=PAIRS[:3] + PAIRS[4:7], output_scores=True, relative_margin=0.2)
    for scores in (False, True):
        yield case(
            f"positives stay{', scores' if scores else ''}",
            include_positives=True,
            output_format="n-tuple",
            output_scores=scores,
            num_negatives=6,
        )
    yield case(
        "positives stay, separate corpus", corpus=CORPUS, include_positives=True, output_format="n-tuple",
        output_scores=True, num_negatives=4,
    )


errors = [
    refused(num_negatives=0),
    refused(range_min=-1),
    refused(range_min=5, range_max=5),
    refused(range_min=2, range_max=4, num_negatives=3),
]
golden = {
    "queries": [[round(float(x), 4) for x in row] for row in QUERIES],
    "documents": [[round(float(x), 4) for x in row] for row in DOCUMENTS],
    "cross": [[round(float(x), 4) for x in row] for row in CROSS],
    "cases": list(cases()),
    "errors": errors,
}
json.dump(golden, sys.stdout, separators=(",", ":"), allow_nan=False)
print()
