#!/usr/bin/env python3
"""Make the golden files of cross-encoders, and of mining that is rescored by one, from sentence-transformers.

    python scripts/golden-cross-encoder.py [NAME ...]

Needs sentence-transformers, transformers, datasets and torch, and the files of scripts/golden-embeddings.py. Run by
hand; its output is committed.

Into workbench/wb-encoder/tests/golden/:
  tiny-cross-encoder/          a random BertForSequenceClassification as sentence-transformers' CrossEncoder saves it
  tiny-cross-encoder-roberta/  a random RobertaForSequenceClassification as transformers saves it, activation Identity
  tiny-cross-encoder-modernbert/, -nomic/, -qwen3/, -gemma/  the same on the folders of scripts/golden-architectures.py
  tiny-cross-encoder*.json     pairs of texts, their token ids and types, logits, and CrossEncoder.predict
  tiny-cross-encoder*-training.json  losses of sentence-transformers' CrossEncoder, and gradients of all weights
Into workbench/wb/tests/golden/:
  rescored-mining.json         mine_hard_negatives with tiny-bert and tiny-cross-encoder on a small corpus
"""

import contextlib
import importlib.util
import io
import json
import pathlib
import re
import shutil
import sys
import tempfile

import torch
from datasets import Dataset
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss, ListNetLoss, MarginMSELoss
from sentence_transformers.util import mine_hard_negatives
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
)

HERE = pathlib.Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("golden_embeddings", HERE / "golden-embeddings.py")
embeddings = importlib.util.module_from_spec(spec)
spec.loader.exec_module(embeddings)
GOLDEN = embeddings.GOLDEN
OF_COMMAND = HERE.parent / "workbench/wb/tests/golden"
MAX_TOKENS = 36

LONG = "open a connection, send the request and wait for the answer; then close the connection again, twice. "
PAIRS = [
    ("sort a list", "def sort(xs):\n    return sorted(xs)"),
    ("def sort(xs):\n    return sorted(xs)", "sort a list"),
    ("read a file", "fn parse(text: &str) -> Result<Response, Error> { Response::parse(text) }"),
    ("", ""),
    ("", "return the list"),
    ("return the list", ""),
    ("a", "a"),
    ("  spaces around it \n", "\tas code has them  "),
    ("naïve Grüße", "文字列を逆順にする関数 🦀"),
    ("a [SEP] b </s> c", "[CLS] is no word, nor is <s>"),
    # Cut: the second, the first, both alike, both to an odd number of tokens.
    ("sort the items by name", LONG * 3),
    (LONG * 3, "sort the items by name"),
    (LONG * 2, LONG * 3),
    (LONG * 3, LONG),
]


def tiny_bert(folder):
    source = folder.with_name(folder.name + "-source")
    config = BertConfig(
        vocab_size=387, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=44,
        max_position_embeddings=40, hidden_act="gelu", num_labels=1,
    )
    model = BertForSequenceClassification(config)
    embeddings.randomize(model, 3)
    model.save_pretrained(source)
    for name in ["tokenizer.json", "tokenizer_config.json"]:
        shutil.copy(GOLDEN / "tiny-bert" / name, source / name)
    CrossEncoder(str(source), device="cpu", max_length=MAX_TOKENS).save_pretrained(str(folder))
    (folder / "README.md").unlink()
    shutil.rmtree(source)


def tiny_roberta(folder):
    config = RobertaConfig(
        vocab_size=420, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=44,
        max_position_embeddings=44, layer_norm_eps=1e-5, type_vocab_size=1, pad_token_id=1, bos_token_id=0,
        eos_token_id=2, num_labels=1,
    )
    # As cross-encoders of sentence-transformers 4 and later say it.
    config.sentence_transformers = {"activation_fn": "torch.nn.modules.linear.Identity", "version": "5.1.0"}
    model = RobertaForSequenceClassification(config)
    embeddings.randomize(model, 4)
    model.save_pretrained(folder)
    shutil.copy(GOLDEN / "tiny-roberta/tokenizer.json", folder / "tokenizer.json")
    settings = json.loads((GOLDEN / "tiny-roberta/tokenizer_config.json").read_text())
    settings.update(model_max_length=MAX_TOKENS, truncation_side="right", truncation_strategy="longest_first")
    embeddings.write(folder / "tokenizer_config.json", settings)


def on(base, **keys):
    """A maker of a cross-encoder on a tiny encoder, with a random head; `keys` go into its config."""

    def make(folder):
        source = folder.with_name(folder.name + "-source")
        shutil.rmtree(source, ignore_errors=True)
        # Decoders are scored at the last token that is none to fill up with.
        keys.setdefault("pad_token_id", AutoTokenizer.from_pretrained(GOLDEN / base).pad_token_id)
        model = AutoModelForSequenceClassification.from_pretrained(GOLDEN / base, num_labels=1, dtype=torch.float32, **keys)
        torch.manual_seed(5)
        for name, parameter in model.named_parameters():
            if "norm" not in name and any(part in name for part in ["classifier", "score", "pooler", "head."]):
                parameter.data.normal_(std=0.2)
        model.save_pretrained(source)
        for name in ["tokenizer.json", "tokenizer_config.json"]:
            shutil.copy(GOLDEN / base / name, source / name)
        CrossEncoder(str(source), device="cpu", max_length=MAX_TOKENS).save_pretrained(str(folder))
        (folder / "README.md").unlink()
        shutil.rmtree(source)

    return make


def expectations(folder):
    model = CrossEncoder(str(folder), device="cpu")
    pairs, ids, types = [], [], []
    for pair in PAIRS:
        features = model.preprocess([pair])
        of_pair = features["input_ids"][0].tolist()
        # Without a token there is nothing to score: a mean of nothing, or the state of padding.
        if not of_pair:
            continue
        pairs.append(pair)
        ids.append(of_pair)
        types.append(features["token_type_ids"][0].tolist() if "token_type_ids" in features else [0] * len(of_pair))
    rounded = lambda scores: [round(float(score), 7) for score in scores]
    return {
        "pairs": pairs,
        "ids": ids,
        "types": types,
        "logits": rounded(model.predict(pairs, batch_size=5, activation_fn=torch.nn.Identity())),
        "scores": rounded(model.predict(pairs, batch_size=5)),
    }


LISTS = [4, 3, 5]


def two_numbers(gradient):
    flat = gradient.double().flatten()
    return [float(flat.norm()), float(flat @ torch.sin(0.7 * torch.arange(len(flat), dtype=torch.double)))]


def training(folder):
    """Losses and the gradients of all weights: their length, and their product with a fixed vector."""
    model = CrossEncoder(str(folder), device="cpu")
    model.eval()
    documents = [document for _, document in PAIRS]
    queries = [PAIRS[0][0], PAIRS[2][0], PAIRS[9][0]]
    lists = [documents[:4], documents[4:7], documents[7:12]]
    pairs = [(query, document) for query, of_query in zip(queries, lists) for document in of_query]
    n = len(pairs)
    cases = {
        "binary_cross_entropy": [float(at % 3 == 0) for at in range(n)],
        "list_net": [round(at * 0.37 % 2, 2) for at in range(n)],
        "list_net_one_positive": [1e4 if at in (0, 4, 7) else 0.0 for at in range(n)],
    }
    # Margins want as many hard negatives for each.
    cases["margin_mse"] = [round(at * 0.61 % 3, 2) for at in range(9)]
    losses = {}
    for name, labels in cases.items():
        model.zero_grad()
        lengths = LISTS
        if name == "binary_cross_entropy":
            columns = [[pair[0] for pair in pairs], [pair[1] for pair in pairs]]
            loss = BinaryCrossEntropyLoss(model)(columns, torch.tensor(labels))
        elif name == "margin_mse":
            lengths = [3, 3, 3]
            columns = [queries] + [[of_query[at] for of_query in lists] for at in range(3)]
            loss = MarginMSELoss(model)(columns, torch.tensor(labels).reshape(3, 3))
        else:
            loss = ListNetLoss(model)([queries, lists], list(torch.tensor(labels).split(LISTS)))
        loss.backward()
        modules = "embeddings|encoder|pooler|classifier|layers|embed_tokens|norm|final_norm|score|head"
        gradients = {
            re.sub(rf"^(?:.*?\.)?(?=(?:{modules})\.)", "", weight): two_numbers(parameter.grad)
            for weight, parameter in model.named_parameters()
        }
        losses[name] = {"labels": labels, "lists": lengths, "loss": float(loss), "gradients": gradients}
    return {"pairs": pairs, "lists": LISTS, "losses": losses}


VERBS = ["sort", "read", "parse", "open", "return", "send", "close", "find"]
NOUNS = ["list", "file", "text", "connection", "items", "request", "name", "index"]


def mining_pairs():
    """Made ones; some anchors have two positives, one pair stands twice."""
    pairs = []
    for at in range(26):
        verb, noun, other = VERBS[at % 8], NOUNS[(at * 3 + at // 8) % 8], NOUNS[(at * 5 + 1) % 8]
        anchor = f"{verb} the {noun} and the {other}" if at % 9 else "return the first element of the list"
        body = f"{verb}({noun}, {at})" if at % 2 else f"[{verb}(x) for x in {noun} if x != {other}]"
        pairs.append((anchor, f"def {verb}_{noun}({noun}, {other}):\n    {other} = {body}\n    return {other}"))
    return pairs + [pairs[4]]


def corpus():
    return [f"fn {verb}_{noun}({noun}: &str) -> Result<{noun}, Error>" for verb in VERBS for noun in NOUNS[::2]]


def mining(bert, cross):
    pairs, documents = mining_pairs(), corpus()
    dataset = Dataset.from_dict({"anchor": [a for a, _ in pairs], "positive": [p for _, p in pairs]})
    cases = {
        "relative margin": dict(relative_margin=0.05, range_max=12),
        "absolute margin, corpus": dict(absolute_margin=0.1, range_max=9, num_negatives=2, corpus=True),
        "automatic places, corpus": dict(relative_margin=0.1, corpus=True),
        "greatest and least score": dict(max_score=0.8, min_score=0.2, range_max=14, num_negatives=4),
        "n-tuple": dict(relative_margin=0.02, range_max=20, range_min=1, num_negatives=2, output_format="n-tuple"),
    }
    told = []
    for name, options in cases.items():
        options = {"output_format": "triplet", **options}
        given = {key: value for key, value in options.items() if key != "corpus"}
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            mined = mine_hard_negatives(
                dataset, bert, cross_encoder=cross, corpus=documents if options.get("corpus") else None,
                output_scores=True, **given,
            )
        rows = [{k: [round(x, 7) for x in v] if k == "scores" else v for k, v in row.items()} for row in mined]
        print(name, len(rows), "rows")
        told.append({"name": name, "options": options, "rows": rows})
    return {"pairs": pairs, "corpus": documents, "cases": told}


def main():
    torch.manual_seed(0)
    wanted = sys.argv[1:]
    makers = {
        "tiny-cross-encoder": tiny_bert,
        "tiny-cross-encoder-roberta": tiny_roberta,
        "tiny-cross-encoder-modernbert": on("tiny-modernbert", classifier_pooling="mean", classifier_bias=True),
        "tiny-cross-encoder-nomic": on("tiny-nomic"),
        "tiny-cross-encoder-qwen3": on("tiny-qwen3"),
        "tiny-cross-encoder-gemma": on("tiny-gemma"),
    }
    for name, make in makers.items():
        if wanted and name not in wanted:
            continue
        folder = GOLDEN / name
        shutil.rmtree(folder, ignore_errors=True)
        make(folder)
        expected = expectations(folder)
        embeddings.write(GOLDEN / f"{name}.json", expected)
        embeddings.write(GOLDEN / f"{name}-training.json", training(folder))
        print(name, sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()), "bytes", expected["scores"])
        for file in folder.rglob("*.safetensors"):
            file.chmod(0o644)
    if wanted and "tiny-cross-encoder" not in wanted:
        return
    with tempfile.TemporaryDirectory() as place:
        # Without its prompts, and nothing but what the command's test copies.
        bert = pathlib.Path(place) / "bert"
        shutil.copytree(GOLDEN / "tiny-bert", bert)
        (bert / "config_sentence_transformers.json").unlink()
        golden = mining(SentenceTransformer(str(bert), device="cpu"), CrossEncoder(str(GOLDEN / "tiny-cross-encoder"), device="cpu"))
    OF_COMMAND.mkdir(parents=True, exist_ok=True)
    (OF_COMMAND / "rescored-mining.json").write_text(json.dumps(golden, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
