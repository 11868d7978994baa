#!/usr/bin/env python3
"""Make the golden files of the T5 encoder from transformers and PEFT, the references.

    python scripts/golden-t5.py

Needs transformers, peft, tokenizers, safetensors and torch. Run by hand; its output is committed.

Into workbench/wb-encoder/tests/golden/:
  tiny-t5/       a random T5 v1.1 encoder laid out as google/xtr-base-en is: no modules.json,
                 and a projection in 2_Dense/pytorch_model.bin, as torch.save writes it
  peft-t5/       adapters on all seven kinds of linear layers, as PEFT saves them
  tiny-t5.json   texts with token ids; buckets of distances; ids of many lengths with the encoder's states, and gradients of
                 Σ state[t][j] · sin(0.37 · (31 t + 7 j)): each weight's norm, and its sum with sin(0.7 i); the projection's
                 output; the same with the adapters, whose own weights have the gradients
"""

import json
import math
import pathlib
import shutil

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast, T5Config, T5EncoderModel
from transformers.models.t5.modeling_t5 import T5Attention

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "workbench/wb-encoder/tests/golden"
LENGTHS = [1, 2, 7, 16, 17, 33, 150]

# Made for this file: short, long, Unicode, code, white space, empty.
TEXTS = [
    "",
    " ",
    "a",
    "Sort a list.",
    "def add(a, b):\n    return a + b",
    "fn first<T>(items: &[T]) -> Option<&T> { items.first() }",
    "How do I read a file line by line?",
    "parseHTTPResponse2(text)",
    "snake_case_name __init__ 0x7f",
    "SELECT name FROM singer WHERE age > 30",
    "Grüße, Jürgen! Straße",
    "文字列を逆順にする関数",
    "tab\tand\r\nnewline",
    "   leading and trailing   ",
    "!!! ??? ...",
    "word " * 60,
    "a </s> in the text and <pad> too",
    "ﬁne ＦＵＬＬ e\u0301",
]
CORPUS = TEXTS + [
    "read a file and return its lines as a list",
    "the function returns the first element of the list or none",
    "sort the items by name and return the list",
    "open a connection, send the request and wait for the answer",
    "class Parser:\n    def __init__(self, text):\n        self.text = text",
    "fn parse(text: &str) -> Result<Response, Error> { Response::parse(text) }",
    "public static int max(int a, int b) { return a > b ? a : b; }",
]


def write(path, value):
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def numbers(tensor):
    return [round(float(x), 7) for x in tensor.flatten()]


def unigram():
    """The layout of T5's own tokenizer.json; NFKC stands for its table of characters."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(),
        pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always", split=True),
    ])
    tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always", split=True)
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=230, special_tokens=special, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=["$A", "</s>"], pair=["$A", "</s>", "$B", "</s>"], special_tokens=[("</s>", 1)],
    )
    return tokenizer


def randomize(model, seed):
    """Weights large enough that every part of the network matters."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=generator)
            if "layer_norm" in name:
                weight.copy_(1 + 0.2 * noise)
            elif "relative_attention_bias" in name:
                weight.copy_(noise)
            elif "shared" in name or "embed_tokens" in name:
                weight.copy_(0.7 * noise)
            elif ".q." in name or ".k." in name:
                # Scores are not divided by the root of the heads' size: these weights are smaller instead.
                weight.copy_(noise * 0.6 / math.sqrt(weight.shape[1]))
            else:
                weight.copy_(noise / math.sqrt(weight.shape[1]))


def loss_of(states):
    rows, columns = states.shape
    at = torch.sin(0.37 * (31 * torch.arange(rows).double()[:, None] + 7 * torch.arange(columns).double()[None, :]))
    return (states.double() * at).sum()


def two_numbers(model):
    found = {}
    for name, weight in model.named_parameters():
        if weight.grad is None:
            continue
        flat = weight.grad.double().flatten()
        direction = torch.sin(torch.arange(flat.numel()).double() * 0.7)
        found[name] = [float(flat.norm()), float(flat @ direction)]
    return found


def states_of(model, ids):
    model.eval()
    return torch.cat([model(torch.tensor([text])).last_hidden_state[0] for text in ids])


def padded_states_of(model, ids):
    longest = max(map(len, ids))
    batch = torch.tensor([text + [0] * (longest - len(text)) for text in ids])
    mask = torch.tensor([[1] * len(text) + [0] * (longest - len(text)) for text in ids])
    states = model(batch, attention_mask=mask).last_hidden_state
    return torch.cat([states[row, : len(text)] for row, text in enumerate(ids)])


def buckets(n, most):
    distances = torch.arange(-200, 201)
    return T5Attention._relative_position_bucket(distances, bidirectional=True, num_buckets=n, max_distance=most).tolist()


def main():
    folder = GOLDEN / "tiny-t5"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "2_Dense").mkdir(parents=True)
    tokenizer = unigram()
    tokenizer.save(str(folder / "tokenizer.json"))
    write(folder / "tokenizer_config.json", {
        "tokenizer_class": "T5TokenizerFast", "model_max_length": 512, "eos_token": "</s>", "pad_token": "<pad>",
        "unk_token": "<unk>", "extra_ids": 0,
    })
    config = T5Config(
        vocab_size=tokenizer.get_vocab_size() + 6, d_model=24, d_kv=8, d_ff=40, num_layers=2, num_heads=2,
        feed_forward_proj="gated-gelu", tie_word_embeddings=False, dropout_rate=0.1,
    )
    model = T5EncoderModel(config)
    randomize(model, 1)
    model.save_pretrained(folder)
    (folder / "model.safetensors").chmod(0o644)

    torch.manual_seed(2)
    dense = torch.nn.Linear(24, 8, bias=False)
    torch.save(torch.nn.ModuleDict({"linear": dense}).state_dict(), folder / "2_Dense/pytorch_model.bin")
    write(folder / "2_Dense/config.json", {
        "in_features": 24, "out_features": 8, "bias": False, "activation_function": "torch.nn.modules.linear.Identity",
    })

    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", pad_token="<pad>", unk_token="<unk>")
    encode = lambda text: fast(text, truncation=True, max_length=24)["input_ids"]
    vocab = config.vocab_size
    ids = [[(text * 13 + at * at * 5 + at * 3) % (vocab - 1) + 1 for at in range(n - 1)] + [1] for text, n in enumerate(LENGTHS)]
    states = states_of(model, ids)
    loss_of(states).backward()
    padded = padded_states_of(model, ids)
    print("states up to", float(states.detach().abs().max()), "padded differ by", float((padded - states).detach().abs().max()))
    everything = {
        "texts": TEXTS,
        "ids": [encode(text) for text in TEXTS],
        "lower": [encode(text.lower()) for text in TEXTS],
        "buckets": {"32,128": buckets(32, 128), "8,20": buckets(8, 20), "16,64": buckets(16, 64)},
        "lengths_ids": ids,
        "states": [numbers(row) for row in states],
        "projected": [numbers(row) for row in dense(states)],
        "gradients": two_numbers(model),
    }

    root = GOLDEN / "peft-t5"
    shutil.rmtree(root, ignore_errors=True)
    options = dict(r=2, lora_alpha=3, lora_dropout=0.1, target_modules=["q", "k", "v", "o", "wi_0", "wi_1", "wo"])
    peft = get_peft_model(T5EncoderModel.from_pretrained(folder), LoraConfig(task_type="FEATURE_EXTRACTION", **options))
    peft.peft_config["default"].base_model_name_or_path = "../tiny-t5"
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for _, weight in peft.named_parameters():
            if weight.requires_grad:
                weight.add_(0.2 * torch.randn(weight.shape, generator=generator))
    peft.save_pretrained(root)
    (root / "README.md").unlink(missing_ok=True)
    (root / "adapter_model.safetensors").chmod(0o644)
    settings = json.loads((root / "adapter_config.json").read_text())
    settings["target_modules"] = sorted(settings["target_modules"])
    (root / "adapter_config.json").write_text(json.dumps(settings, indent=1, sort_keys=True) + "\n")
    # What PEFT makes of its own file.
    loaded = PeftModel.from_pretrained(T5EncoderModel.from_pretrained(folder), str(root), is_trainable=True)
    adapted = states_of(loaded, ids)
    loss_of(adapted).backward()
    short = lambda name: name.replace("base_model.model.", "").replace(".default", "")
    everything["peft"] = {
        "states": [numbers(row) for row in adapted],
        "gradients": {short(name): pair for name, pair in two_numbers(loaded).items()},
    }
    print("adapters change states by", float((adapted - states).detach().abs().max()))
    (GOLDEN / "tiny-t5.json").write_text(json.dumps(everything, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
