#!/usr/bin/env python3
"""Make the golden adapters of wb-encoder with PEFT, the reference.

    python scripts/golden-peft.py

Needs peft, sentence-transformers and torch, and the tiny models that golden-embeddings.py makes.
Run by hand; its output is committed.

Into workbench/wb-encoder/tests/golden/peft/:
  <case>/        an adapter as PEFT saves it, over ../../tiny-bert or ../../tiny-roberta, with random weights
  expected.json  texts, and what the whole encoder with each adapter gives for them
"""

import json
import pathlib
import shutil

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from sentence_transformers import SentenceTransformer

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "workbench/wb-encoder/tests/golden"
TEXTS = [
    "Sort a list.",
    "def add(a, b):\n    return a + b",
    "How do I read a file line by line?",
    "SELECT name FROM singer WHERE age > 30",
    "Grüße, Jürgen! 文字列",
    "word " * 60,
]
CASES = {
    "names": ("tiny-bert", dict(r=4, lora_alpha=8, lora_dropout=0.1, target_modules=["query", "value"])),
    # The pattern fits the pooler too, which an encoder does not have.
    "patterns": ("tiny-roberta", dict(
        r=4, lora_alpha=8, use_rslora=True, target_modules=r".*\.(key|dense)", rank_pattern={r"layer\.0\..*": 2, "pooler.dense": 3},
        alpha_pattern={"attention.output.dense": 3},
    )),
    "all-linear": ("tiny-bert", dict(
        r=2, lora_alpha=5, target_modules="all-linear", modules_to_save=["embeddings.LayerNorm", "1.output.dense", "pooler"],
    )),
    "some-layers": ("tiny-roberta", dict(
        r=3, lora_alpha=3, target_modules=["dense", "query", "q_proj"], exclude_modules=["intermediate.dense"], layers_to_transform=[1],
    )),
    "dora": ("tiny-bert", dict(
        r=4, lora_alpha=6, use_dora=True, target_modules=["query", "output.dense"], rank_pattern={"query": 2},
    )),
}


def shake(model, seed):
    """Weights of adapters, magnitudes and saved modules that all matter."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if not weight.requires_grad:
                continue
            noise = torch.randn(weight.shape, generator=generator)
            weight.mul_(1 + 0.3 * noise) if "magnitude" in name else weight.add_(0.3 * noise)


def embeddings(model, peft):
    model[0].model = peft
    return [[round(float(x), 7) for x in row] for row in model.eval().encode(TEXTS, batch_size=4)]


def tidy(folder):
    """Sets have no order: sorted, so that the same script gives the same file."""
    path = folder / "adapter_config.json"
    config = json.loads(path.read_text())
    for key in ["target_modules", "modules_to_save", "exclude_modules"]:
        if isinstance(config[key], list):
            config[key] = sorted(config[key])
    path.write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
    (folder / "README.md").unlink(missing_ok=True)
    (folder / "adapter_model.safetensors").chmod(0o644)


def main():
    root = GOLDEN / "peft"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    expected = {"texts": TEXTS, "embeddings": {}}
    for seed, (case, (base, options)) in enumerate(CASES.items()):
        model = SentenceTransformer(str(GOLDEN / base), device="cpu")
        peft = get_peft_model(model[0].model, LoraConfig(task_type="FEATURE_EXTRACTION", **options))
        peft.peft_config["default"].base_model_name_or_path = f"../../{base}"
        shake(peft, seed)
        peft.save_pretrained(root / case)
        tidy(root / case)
        # What PEFT makes of its own file.
        model = SentenceTransformer(str(GOLDEN / base), device="cpu")
        loaded = PeftModel.from_pretrained(model[0].model, str(root / case))
        expected["embeddings"][case] = found = embeddings(model, loaded)
        merged = embeddings(model, loaded.merge_and_unload())
        print(case, "merged by PEFT differs by", max(abs(a - b) for x, y in zip(found, merged) for a, b in zip(x, y)))

    # As sentence-transformers saves a model with an adapter: its modules, and no weights of the base.
    model = SentenceTransformer(str(GOLDEN / "tiny-bert"), device="cpu")
    model.add_adapter(LoraConfig(task_type="FEATURE_EXTRACTION", r=2, lora_alpha=4, target_modules=["key"]))
    shake(model[0].model, 99)
    case = "sentence-transformers"
    expected["embeddings"][case] = [[round(float(x), 7) for x in row] for row in model.eval().encode(TEXTS, batch_size=4)]
    model.save(str(root / case), create_model_card=False)
    config = json.loads((root / case / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = "../../tiny-bert"
    (root / case / "adapter_config.json").write_text(json.dumps(config))
    tidy(root / case)
    (root / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
