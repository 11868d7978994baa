#!/usr/bin/env python3
"""Open exported encoders with the libraries that they are meant for, and compare the embeddings with wb's.

    python scripts/check-exports.py JOBS.json

Needs sentence-transformers and peft. The slow tests of wb-encoder write the jobs and call this.
A job is {"kind", "folder", "base", "normalize", "texts", "query", "document"}: texts, and wb's embeddings of them for each side.

  sentence-transformers   opens the folder; prompts and lengths are its own
  multi-vector            opens the folder as sentence-transformers' MultiVectorEncoder; "scores" are wb's MaxSim scores
  peft                    puts the folder's adapters onto the base by PEFT itself, in 32-bit floats
"""

import json
import pathlib
import sys
import warnings

import numpy
import torch
from peft import PeftModel
from sentence_transformers import MultiVectorEncoder, SentenceTransformer
from tokenizers import Tokenizer

LEAST_COSINE = 0.99999
LARGEST_DIFFERENCE = 1e-5
# A bag of token vectors is one sum.
LARGEST_DIFFERENCE_OF_A_BAG = 1e-6
# A score is a sum over some thirty tokens.
LARGEST_SCORE_DIFFERENCE = 1e-4

warnings.simplefilter("ignore")


def opened(job):
    # Weights of 16 bits are computed with in 32, as wb does.
    options = dict(device="cpu", model_kwargs={"dtype": torch.float32})
    if job["kind"] == "sentence-transformers":
        # Only a folder that brings a module of its own needs to be trusted.
        own = (pathlib.Path(job["folder"]) / "weighted_static_embedding.py").is_file()
        return SentenceTransformer(job["folder"], trust_remote_code=own, **options)
    if job["kind"] == "multi-vector":
        return MultiVectorEncoder(job["folder"], **options)
    model = SentenceTransformer(job["base"], **options)
    # The adapters are compared here. transformers 5 opens the tokenizer of a T5 without the normalizer of its file
    # (NFKC), so that "ﬁ" and "？" are other tokens than the file says; exported folders are opened with it.
    file = Tokenizer.from_file(str(pathlib.Path(job["base"]) / "tokenizer.json"))
    if file.normalizer is not None:
        model.tokenizer.backend_tokenizer.normalizer = file.normalizer
    missing = []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model[0].model = PeftModel.from_pretrained(model[0].model, job["folder"])
        missing = [str(one.message) for one in told if "missing adapter keys" in str(one.message)]
    assert not missing, missing
    return model


def compare(job, side, found):
    if job["kind"] == "multi-vector":
        lengths = [len(text) for text in found]
        assert lengths == [len(text) for text in job[side]], (lengths, [len(text) for text in job[side]])
        expected = numpy.concatenate([numpy.array(text, dtype=numpy.float64) for text in job[side]])
        found = numpy.concatenate([numpy.asarray(text, dtype=numpy.float64) for text in found])
        return differences(expected, found)
    expected = numpy.array(job[side], dtype=numpy.float64)
    found = numpy.array(found, dtype=numpy.float64)
    assert found.shape == expected.shape, (found.shape, expected.shape)
    return differences(expected, found)


def differences(expected, found):
    norms = numpy.linalg.norm(found, axis=1) * numpy.linalg.norm(expected, axis=1)
    both_zero = (numpy.linalg.norm(found, axis=1) == 0) & (numpy.linalg.norm(expected, axis=1) == 0)
    cosine = numpy.where(both_zero, 1, (found * expected).sum(axis=1) / numpy.where(norms == 0, 1, norms)).min()
    difference = numpy.abs(found - expected).max() / max(1, numpy.abs(expected).max())
    return cosine, difference


def main():
    wrong = []
    for job in json.loads(pathlib.Path(sys.argv[1]).read_text()):
        model = opened(job).eval()
        for side, encode in [("query", model.encode_query), ("document", model.encode_document)]:
            cosine, difference = compare(job, side, encode(job["texts"], batch_size=7))
            line = f"{job['kind']} {job['name']} {side}: least cosine {cosine:.8f}, largest difference {difference:.1e}"
            print(line, flush=True)
            most = LARGEST_DIFFERENCE_OF_A_BAG if job["name"].endswith("bag") else LARGEST_DIFFERENCE
            if not (cosine >= LEAST_COSINE and difference <= most):
                wrong.append(line)
        if job["kind"] == "multi-vector":
            options = dict(batch_size=7)
            queries, documents = model.encode_query(job["texts"], **options), model.encode_document(job["texts"], **options)
            scores = model.similarity(queries, documents).numpy()
            difference = numpy.abs(scores - numpy.array(job["scores"])).max()
            line = f"{job['kind']} {job['name']} scores: largest difference {difference:.1e}"
            print(line, flush=True)
            if not difference <= LARGEST_SCORE_DIFFERENCE:
                wrong.append(line)
    if wrong:
        sys.exit("not equal:\n" + "\n".join(wrong))


if __name__ == "__main__":
    main()
