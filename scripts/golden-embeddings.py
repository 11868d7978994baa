#!/usr/bin/env python3
"""Make the golden files of wb-encoder from sentence-transformers, the reference.

    python scripts/golden-embeddings.py                       # the tiny models
    python scripts/golden-embeddings.py --keep-models         # what they give, of the models that are there
    python scripts/golden-embeddings.py --minilm DIR --shared DIR   # also the real MiniLM on real texts

Needs sentence-transformers, transformers, tokenizers and torch. Run by hand; its output is committed.

Into workbench/wb-encoder/tests/golden/:
  tiny-bert/        a random BERT as a sentence-transformers folder of versions 2 to 5 (WordPiece, gelu, prompts)
  tiny-roberta/     a random RoBERTa as sentence-transformers 6 writes it (byte-level BPE, gelu_new, lower-casing)
  tiny-*.json       texts, token ids, embeddings by pooling mode, and gradients by torch
  minilm.json       which texts: positions in CodeSearchNet Ruby, and made ones; no text of others is kept
  minilm.safetensors  their embeddings by all-MiniLM-L6-v2, [200, 384]
"""

import argparse
import json
import math
import pathlib
import shutil

import torch
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers import models as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, RobertaConfig, RobertaModel

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "workbench/wb-encoder/tests/golden"
MAX_TOKENS = 24

# Made for this file: short, long beyond the limit, Unicode, code, white space, empty.
TEXTS = [
    "",
    " ",
    "a",
    "Sort a list.",
    "sort a list",
    "def add(a, b):\n    return a + b",
    "fn first<T>(items: &[T]) -> Option<&T> { items.first() }",
    "How do I read a file line by line?",
    "Returns the index of the first element that matches, or -1.",
    "parseHTTPResponse2(text)",
    "snake_case_name __init__ 0x7f",
    "x = 3.14159 * r ** 2",
    "SELECT name FROM singer WHERE age > 30",
    "for (int i = 0; i < n; i++) sum += xs[i];",
    "Grüße, Jürgen! Straße",
    "文字列を逆順にする関数",
    "naïve café résumé",
    "🦀🚀 crab",
    "tab\tand\r\nnewline",
    "   leading and trailing   ",
    "!!! ??? ...",
    "word " * 60,
    "The quick brown fox jumps over the lazy dog and then reads a very long sentence that is longer than the limit "
    "of this model, so that its end is cut.",
    "Ω≈ç√∫˜µ≤≥÷ \u00e9 e\u0301",
]

# What the tokenizers are trained on: made too.
CORPUS = TEXTS + [
    "read a file and return its lines as a list",
    "the function returns the first element of the list or none",
    "sort the items by name and return the list",
    "open a connection, send the request and wait for the answer",
    "def read(path):\n    with open(path) as file:\n        return file.read()",
    "class Parser:\n    def __init__(self, text):\n        self.text = text",
    "fn parse(text: &str) -> Result<Response, Error> { Response::parse(text) }",
    "public static int max(int a, int b) { return a > b ? a : b; }",
]


def randomize(model, seed):
    """Weights large enough that embeddings of different texts differ, layer norms that are not 1 and 0."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=generator)
            if "LayerNorm.weight" in name:
                weight.copy_(1 + 0.2 * noise)
            elif weight.dim() == 1:
                weight.copy_(0.2 * noise)
            elif "embeddings" in name:
                weight.copy_(0.5 * noise)
            else:
                weight.copy_(noise * 1.5 / math.sqrt(weight.shape[1]))


def tiny_bert(folder):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=420, special_tokens=special, show_progress=False))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    # As MiniLM's file has it: its own truncation and padding, which are to be overridden.
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=12)
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=40, layer_norm_eps=1e-12, hidden_act="gelu",
    )
    model = BertModel(config)
    randomize(model, 1)
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    write(folder / "tokenizer_config.json", {
        "tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 512, "pad_token": "[PAD]",
        "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]",
    })
    # The layout of sentence-transformers before 5.4.
    write(folder / "modules.json", [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
    ])
    write(folder / "sentence_bert_config.json", {"max_seq_length": MAX_TOKENS, "do_lower_case": False})
    write(folder / "1_Pooling/config.json", {
        "word_embedding_dimension": 32, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True,
        "pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": False,
    })
    write(folder / "config_sentence_transformers.json", {
        "__version__": {"sentence_transformers": "2.7.0", "transformers": "4.40.0", "pytorch": "2.3.0"},
        "prompts": {"query": "query: ", "document": "passage: "}, "default_prompt_name": None,
    })


def tiny_roberta(folder):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=420, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
    ))
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    config = RobertaConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=48, max_position_embeddings=44, layer_norm_eps=1e-5, hidden_act="gelu_new",
        type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2,
    )
    model = RobertaModel(config)
    randomize(model, 2)
    source = folder.parent / "tiny-roberta-source"
    model.save_pretrained(source)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", cls_token="<s>", eos_token="</s>", sep_token="</s>",
        unk_token="<unk>", pad_token="<pad>", mask_token="<mask>", model_max_length=MAX_TOKENS,
    )
    fast.save_pretrained(source)
    transformer = st.Transformer(str(source), max_seq_length=MAX_TOKENS, do_lower_case=True)
    SentenceTransformer(modules=[transformer, st.Pooling(32, pooling_mode="cls")], device="cpu").save(str(folder), create_model_card=False)
    shutil.rmtree(source)


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def rounded(matrix):
    return [[round(float(x), 7) for x in row] for row in matrix]


def expectations(folder):
    """Token ids, unnormalized embeddings by pooling mode, and gradients of a made-up loss."""
    whole = SentenceTransformer(str(folder), device="cpu")
    transformer = whole[0]
    ids = [transformer.tokenizer(text, truncation=True, max_length=MAX_TOKENS)["input_ids"] for text in TEXTS]
    modes = {}
    for mode in ["mean", "weightedmean", "cls", "lasttoken"]:
        model = SentenceTransformer(modules=[transformer, st.Pooling(32, pooling_mode=mode)], device="cpu")
        modes[mode] = rounded(model.encode(TEXTS, batch_size=5))
    # loss = Σ embedding[i][j] · sin(0.37 · (31 i + 7 j)), mean pooling, no dropout.
    model = SentenceTransformer(modules=[transformer, st.Pooling(32, pooling_mode="mean")], device="cpu").eval()
    model.requires_grad_(True)
    features = model.preprocess(TEXTS) if hasattr(model, "preprocess") else model.tokenize(TEXTS)
    embeddings = model(features)["sentence_embedding"]
    rows, columns = embeddings.shape
    at = torch.sin(0.37 * (31 * torch.arange(rows).double()[:, None] + 7 * torch.arange(columns).double()[None, :]))
    (embeddings.double() * at).sum().backward()
    gradients = {}
    for name, weight in transformer.model.named_parameters():
        if weight.grad is None or name.startswith("pooler."):
            continue
        flat = weight.grad.double().flatten()
        direction = torch.sin(torch.arange(flat.numel()).double() * 0.7)
        gradients[name] = [float(flat.norm()), float(flat @ direction)]
    return {
        "texts": TEXTS,
        "ids": ids,
        "whole": rounded(whole.encode(TEXTS, batch_size=5)),
        "query": rounded(whole.encode(TEXTS[3:6], prompt_name="query")) if "query" in whole.prompts else [],
        "embeddings": modes,
        "gradients": gradients,
    }


def minilm(folder, shared):
    rows = [json.loads(line) for line in open(shared / "data/codesearchnet/ruby/valid.jsonl", encoding="utf-8")]
    docstrings = list(range(0, len(rows), 15))[:90]
    code = list(range(7, len(rows), 15))[:90]
    made = [text for text in TEXTS if text.strip() != "a"][:20]
    texts = [rows[i]["docstring"] for i in docstrings] + [rows[i]["code"] for i in code] + made
    assert len(texts) == 200, len(texts)
    model = SentenceTransformer(str(folder), device="cpu")
    embeddings = model.encode(texts, batch_size=16, convert_to_tensor=True)
    write(GOLDEN / "minilm.json", {
        "source": "codesearchnet/ruby/valid.jsonl", "docstring": docstrings, "code": code, "made": made,
    })
    save_file({"embeddings": embeddings.float().contiguous()}, str(GOLDEN / "minilm.safetensors"))
    lengths = [len(model.tokenizer(text)["input_ids"]) for text in texts]
    print(f"minilm: {len(texts)} texts, {min(lengths)} to {max(lengths)} tokens, {sum(n > 256 for n in lengths)} cut")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minilm", type=pathlib.Path)
    parser.add_argument("--shared", type=pathlib.Path)
    parser.add_argument("--keep-models", action="store_true")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    for name, make in [("tiny-bert", tiny_bert), ("tiny-roberta", tiny_roberta)]:
        folder = GOLDEN / name
        if not arguments.keep_models:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            make(folder)
        write(GOLDEN / f"{name}.json", expectations(folder))
        print(name, sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()), "bytes")
    if arguments.minilm:
        minilm(arguments.minilm, arguments.shared)
    for file in GOLDEN.rglob("*.safetensors"):
        file.chmod(0o644)


if __name__ == "__main__":
    main()
