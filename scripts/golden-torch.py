#!/usr/bin/env python3
"""Make the golden files of torch's own weights files with torch, the reference.

    python scripts/golden-torch.py

Needs torch and transformers. Run by hand; its output is committed.

Into workbench/wb-encoder/tests/golden/torch/:
  plain.bin      a dictionary of tensors of all the kinds that weights files have
  module.bin     what a linear layer's state_dict() is
  expected.json  the numbers of both
  bert.bin, t5.bin   the weights of ../tiny-bert and ../tiny-t5 as a whole pytorch_model.bin, with what such files hold besides:
                 a pooler and a buffer of positions; the token vectors under both of their names
  and files that are to be refused: system.bin runs a command where Python loads it, whole.bin is a layer and no dictionary,
  nested.bin a dictionary in a dictionary, old.bin of the time before torch 1.6
"""

import json
import os
import pathlib
import shutil

import torch
from transformers import AutoModel, T5EncoderModel

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "workbench/wb-encoder/tests/golden/torch"


class Command:
    def __reduce__(self):
        return os.system, ("touch /tmp/this-file-must-never-be",)


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    torch.manual_seed(5)
    whole = torch.randn(6, 5)
    tied = torch.randn(3, 2)
    plain = {
        "rows": torch.randn(3, 4),
        "columns": torch.randn(4, 3).t(),
        "part": whole[2:5, 1:4],
        "every-other": whole[::2, ::2],
        "one": torch.tensor(2.5),
        "none": torch.zeros(0, 3),
        "half": torch.randn(2, 3).half(),
        "brain": torch.randn(2, 3).bfloat16(),
        "tied": tied,
        "tied-too": tied,
        "wide": torch.ones(1).expand(3, 2),
        "parameter": torch.nn.Parameter(torch.randn(2, 2)),
        "deep": torch.randn(2, 3, 4).permute(2, 0, 1),
        "ids": torch.arange(4),
        "long-number": torch.randn(300),
    }
    torch.save(plain, FOLDER / "plain.bin")
    linear = torch.nn.Linear(3, 2)
    torch.save(linear.state_dict(), FOLDER / "module.bin")
    shown = lambda tensors: {
        name: {"shape": list(tensor.shape), "values": tensor.detach().float().flatten().tolist()}
        for name, tensor in tensors.items() if tensor.is_floating_point()
    }
    expected = {"plain": shown(plain), "module": shown(linear.state_dict())}
    (FOLDER / "expected.json").write_text(json.dumps(expected) + "\n")
    bert = AutoModel.from_pretrained(FOLDER.parent / "tiny-bert").state_dict()
    bert["embeddings.position_ids"] = torch.arange(4)[None]
    torch.save({f"bert.{name}": weight for name, weight in bert.items()}, FOLDER / "bert.bin")
    t5 = T5EncoderModel.from_pretrained(FOLDER.parent / "tiny-t5").state_dict()
    assert "shared.weight" in t5 and "encoder.embed_tokens.weight" in t5, sorted(t5)
    torch.save(t5, FOLDER / "t5.bin")
    torch.save({"weight": Command()}, FOLDER / "system.bin")
    torch.save(linear, FOLDER / "whole.bin")
    torch.save({"state_dict": linear.state_dict()}, FOLDER / "nested.bin")
    torch.save(linear.state_dict(), FOLDER / "old.bin", _use_new_zipfile_serialization=False)


if __name__ == "__main__":
    main()
