#!/usr/bin/env python3
"""Make the golden files of decoders and newer encoders from transformers, PEFT and sentence-transformers, the references.

    python scripts/golden-architectures.py [NAME ...]

Needs transformers, sentence-transformers, peft, tokenizers, safetensors and torch. Run by hand; its output is committed.

Into workbench/wb-encoder/tests/golden/ for each of tiny-qwen2, tiny-qwen3, tiny-modernbert, tiny-nomic, tiny-gemma, or
those that are named:
  NAME/          a random model laid out as its repositories on the hub are: modules.json, 1_Pooling, prompts; the Qwen3's
                 weights in several files with an index, the Qwen2's of 16 bits with a head; its tokenizer_config.json
                 asks for a last token that its tokenizer.json has not, which transformers does not add
  peft-NAME/     adapters on all kinds of linear layers, as PEFT saves them
  NAME.json      texts with token ids; ids of many lengths with the states of the last layer, and gradients of
                 Σ state[t][j] · sin(0.37 · (31 t + 7 j)), t over all texts' tokens: each weight's norm, and its sum with sin(0.7 i); the same with the
                 adapters, whose own weights have the gradients; pooled vectors as sentence-transformers gives them for
                 queries and documents
  NAME-bidirectional.json for the Qwens, whose tokens then see those after them too: the same of states and gradients
  NAME-long.json for texts of 1,024 and 8,192 tokens with the ids of `long_ids`, opened for so many places, of the model
                 and with the adapters: the states of some tokens, the mean of all, and gradients as above
"""

import json
import math
import pathlib
import shutil
import sys

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    AutoConfig,
    AutoModel,
    Gemma3TextConfig,
    Gemma3TextModel,
    ModernBertConfig,
    ModernBertModel,
    NomicBertConfig,
    NomicBertModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3Model,
)

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "workbench/wb-encoder/tests/golden"
# Around a window of 8 on either side, and around powers of two.
LENGTHS = [1, 2, 8, 9, 10, 17, 33, 64, 128]
LONG = [1024, 8192]

TEXTS = [
    "",
    "a",
    "Sort a list.",
    "def add(a, b):\n    return a + b",
    "fn first<T>(items: &[T]) -> Option<&T> { items.first() }",
    "How do I read a file line by line?",
    "parseHTTPResponse2(text)",
    "Grüße, Jürgen! 文字列を逆順にする関数",
    "word " * 60,
    "a <|endoftext|> in the text",
]
CORPUS = TEXTS + [
    "read a file and return its lines as a list",
    "the function returns the first element of the list or none",
    "class Parser:\n    def __init__(self, text):\n        self.text = text",
    "public static int max(int a, int b) { return a > b ? a : b; }",
]
INSTRUCTION = "Instruct: Given a question, retrieve code that answers it\nQuery:"


def write(path, value):
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def numbers(tensor):
    return [round(float(x), 7) for x in tensor.detach().flatten()]


# Qwen's own: transformers puts it in the place of what tokenizer.json says.
QWEN_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def byte_level(special, ends, words=None):
    """Byte pairs over bytes, as Qwen's and ModernBERT's; `ends` is put around texts by tokenizer.json itself."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if words:
        tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(words), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    if ends:
        single, tokens = ends
        tokenizer.post_processor = processors.TemplateProcessing(
            single=single, special_tokens=[(token, tokenizer.token_to_id(token)) for token in tokens]
        )
    return tokenizer


def word_piece(special):
    """As BERT's."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    ends = [(token, tokenizer.token_to_id(token)) for token in ["[CLS]", "[SEP]"]]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    return tokenizer


def fallback_to_bytes(special):
    """As Gemma's: pairs of characters, with bytes for those that are unknown, and spaces that are shown."""
    bytes_of = [f"<0x{byte:02X}>" for byte in range(256)]
    trained = Tokenizer(models.BPE())
    trained.normalizer = normalizers.Replace(" ", "▁")
    trained.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    ascii_only = [text for text in CORPUS if text.isascii()]
    trained.train_from_iterator(ascii_only, trainers.BpeTrainer(vocab_size=200, show_progress=False))
    model = json.loads(trained.to_str())["model"]
    vocab = {token: at for at, token in enumerate(special + bytes_of)}
    for token in sorted(model["vocab"], key=model["vocab"].get):
        vocab.setdefault(token, len(vocab))
    merges = [tuple(merge) for merge in model["merges"]]
    tokenizer = Tokenizer(
        models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens(special)
    ends = [(token, vocab[token]) for token in ["<bos>", "<eos>"]]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos> $A <eos>", pair="<bos> $A <eos> <bos>:1 $B:1 <eos>:1", special_tokens=ends
    )
    return tokenizer


def randomize(model, seed):
    """Weights large enough that every part of the network matters."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=generator)
            if "norm" in name.lower() and weight.dim() == 1:
                # Gemma's weights are differences from one.
                one = 0 if isinstance(model, Gemma3TextModel) else 1
                weight.copy_(one + 0.2 * noise if name.endswith("weight") else 0.2 * noise)
            elif weight.dim() == 1:
                weight.copy_(0.3 * noise)
            elif "embed" in name:
                weight.copy_(0.7 * noise)
            else:
                weight.copy_(1.5 * noise / math.sqrt(weight.shape[1]))


def loss_of(states, first):
    rows, columns = states.shape
    row = torch.arange(first, first + rows).double()[:, None]
    at = torch.sin(0.37 * (31 * row + 7 * torch.arange(columns).double()[None, :]))
    return (states.double() * at).sum()


def two_numbers(model):
    found = {}
    for name, weight in model.named_parameters():
        if weight.grad is None:
            continue
        flat = weight.grad.double().flatten()
        direction = torch.sin(0.7 * torch.arange(len(flat)).double())
        ours = name.removeprefix("base_model.model.").replace(".default.", ".")
        found[ours] = [float(flat.norm()), float((flat * direction).sum())]
    return found


def states_and_gradients(model, ids):
    model.zero_grad()
    all_states, first = [], 0
    for text in ids:
        states = model(input_ids=torch.tensor([text])).last_hidden_state[0]
        loss_of(states, first).backward()
        first += len(text)
        all_states.append(numbers(states))
    return all_states, two_numbers(model)


def padded(model, ids):
    """The same texts as one batch, padded on either side: the largest difference of states."""
    longest = max(map(len, ids))
    difference = 0.0
    for side in ["right", "left"]:
        rows, masks = [], []
        for text in ids:
            padding = [0] * (longest - len(text))
            rows.append(text + padding if side == "right" else padding + text)
            ones = [1] * len(text)
            masks.append(ones + padding if side == "right" else padding + ones)
        mask = torch.tensor(masks)
        with torch.no_grad():
            positions = (mask.cumsum(1) - 1).clamp(min=0)
            together = model(input_ids=torch.tensor(rows), attention_mask=mask, position_ids=positions)
            for row, text in enumerate(ids):
                alone = model(input_ids=torch.tensor([text])).last_hidden_state[0]
                found = together.last_hidden_state[row][mask[row].bool()]
                difference = max(difference, float((found - alone).abs().max()))
    return difference


def modules(folder, pooling, normalize=True, prompts=None):
    parts = ["Transformer", "Pooling"] + (["Normalize"] if normalize else [])
    paths = ["", "1_Pooling", "2_Normalize"]
    write(folder / "modules.json", [
        {"idx": i, "name": str(i), "path": paths[i], "type": f"sentence_transformers.models.{part}"}
        for i, part in enumerate(parts)
    ])
    (folder / "1_Pooling").mkdir()
    modes = ["cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken"]
    config = {f"pooling_mode_{mode}": mode == pooling for mode in modes}
    width = json.loads((folder / "config.json").read_text())["hidden_size"]
    write(folder / "1_Pooling/config.json", {"word_embedding_dimension": width, **config, "include_prompt": True})
    if prompts:
        write(folder / "config_sentence_transformers.json", {
            "prompts": prompts, "default_prompt_name": None, "similarity_fn_name": "cosine",
        })


def make(name, model, tokenizer, special, pooling, targets, prompts, settings, save):
    if sys.argv[1:] and name not in sys.argv[1:]:
        long_texts(name)
        return
    folder, adapted = GOLDEN / name, GOLDEN / f"peft-{name}"
    for old in [folder, adapted]:
        shutil.rmtree(old, ignore_errors=True)
    folder.mkdir()
    randomize(model, 7)
    model.eval()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)
    save(model, folder)
    modules(folder, pooling, prompts=prompts)
    config = json.loads((folder / "tokenizer_config.json").read_text())
    config.update(settings)
    write(folder / "tokenizer_config.json", config)

    base = AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    generator = torch.Generator().manual_seed(3)
    # Without the token that fills up: embeddings of transformers give its row no gradient.
    ids = [torch.randint(1, tokenizer.get_vocab_size(), (n,), generator=generator).tolist() for n in LENGTHS]
    difference = padded(base, ids)
    assert difference < 1e-5, difference
    states, gradients = states_and_gradients(base, ids)
    sentences = SentenceTransformer(str(folder), device="cpu", model_kwargs={"dtype": torch.float32})
    encoded = {
        "query": sentences.encode_query(TEXTS).tolist(),
        "document": sentences.encode_document(TEXTS).tolist(),
    }
    token_ids = [sentences.tokenize([text])["input_ids"][0].tolist() for text in TEXTS]

    lora = LoraConfig(r=3, lora_alpha=6, lora_dropout=0.0, target_modules=targets)
    peft = get_peft_model(AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32), lora)
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for weight_name, weight in peft.named_parameters():
            if "lora_" in weight_name:
                weight.copy_(torch.randn(weight.shape, generator=generator) * 0.4 / math.sqrt(weight.shape[1]))
    peft.eval()
    peft.save_pretrained(adapted)
    (adapted / "README.md").unlink(missing_ok=True)
    settings_file = adapted / "adapter_config.json"
    adapter = json.loads(settings_file.read_text())
    adapter["base_model_name_or_path"] = f"../{name}"
    write(settings_file, adapter)
    adapted_states, adapted_gradients = states_and_gradients(peft, ids)
    write(GOLDEN / f"{name}.json", {
        "texts": TEXTS,
        "ids": token_ids,
        "lengths_ids": ids,
        "states": states,
        "gradients": gradients,
        "encoded": encoded,
        "peft": {"states": adapted_states, "gradients": adapted_gradients},
    })
    long_texts(name)
    print(name, "padding changes states by", difference)


def long_ids(length, vocabulary):
    return [(17 + 31 * at + at * at) % vocabulary for at in range(length)]


def long_texts(name):
    """Of the model and of its adapters; one text at a time, without the square of its length in memory.

    In 64 bits, angles of positions and what the model's code does in 32 bits by itself left aside: gradients of 8,192
    tokens in 32 bits are up to 1.4e-4 of their size off those.
    """
    if sys.argv[1:] and not {name, f"{name}-long"} & set(sys.argv[1:]):
        return

    def opened():
        places = dict(dtype=torch.float64, max_position_embeddings=max(LONG))
        return AutoModel.from_pretrained(GOLDEN / name, attn_implementation="sdpa", **places)

    adapted = PeftModel.from_pretrained(opened(), GOLDEN / f"peft-{name}", is_trainable=True)
    found = {}
    for key, model in ("model", opened()), ("peft", adapted):
        vocabulary = model.eval().config.vocab_size
        for length in LONG:
            model.zero_grad()
            states = model(input_ids=torch.tensor([long_ids(length, vocabulary)])).last_hidden_state[0]
            loss_of(states, 0).backward()
            rows = [0, 1, 9, length // 3, length // 2, length - 10, length - 1]
            found.setdefault(key, {})[length] = {
                "mean": numbers(states.mean(0)),
                "states": {row: numbers(states[row]) for row in rows},
                "gradients": two_numbers(model),
            }
    write(GOLDEN / f"{name}-long.json", found)
    print(name, "long texts")


def both_ways(name):
    if sys.argv[1:] and f"{name}-bidirectional" not in sys.argv[1:]:
        return
    ids = json.loads((GOLDEN / f"{name}.json").read_text())["lengths_ids"]
    config = AutoConfig.from_pretrained(GOLDEN / name)
    config.is_causal = False
    model = AutoModel.from_pretrained(
        GOLDEN / name, config=config, attn_implementation="eager", dtype=torch.float32
    ).eval()
    difference = padded(model, ids)
    assert difference < 1e-5, difference
    states, gradients = states_and_gradients(model, ids)
    write(GOLDEN / f"{name}-bidirectional.json", {"states": states, "gradients": gradients})
    print(name, "both ways, padding changes states by", difference)


def whole(model, folder):
    model.save_pretrained(folder)


def in_parts(model, folder):
    model.save_pretrained(folder, max_shard_size="24KB")
    assert (folder / "model.safetensors.index.json").is_file()


def brain_floats(model, folder):
    """As a decoder's folder is saved with its head, in 16 bits."""
    model.to(torch.bfloat16).save_pretrained(folder)


def main():
    torch.set_num_threads(1)
    size = dict(hidden_size=24, num_hidden_layers=3, num_attention_heads=4, intermediate_size=40)
    end = "<|endoftext|>"
    tokenizer = byte_level([end, "<|im_start|>", "<|im_end|>"], (f"$A {end}", [end]), QWEN_WORDS)
    common = dict(vocab_size=tokenizer.get_vocab_size(), num_key_value_heads=2, max_position_embeddings=256, **size)
    make(
        "tiny-qwen3",
        Qwen3Model(Qwen3Config(head_dim=8, rope_parameters={"rope_type": "default", "rope_theta": 1e6}, **common)),
        tokenizer,
        dict(pad_token=end, eos_token="<|im_end|>"),
        "lasttoken",
        ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
        {"query": INSTRUCTION, "document": ""},
        dict(model_max_length=64),
        in_parts,
    )
    plain = byte_level([end, "<|im_start|>", "<|im_end|>"], None, QWEN_WORDS)
    make(
        "tiny-qwen2",
        Qwen2ForCausalLM(Qwen2Config(tie_word_embeddings=False, **common)),
        plain,
        dict(pad_token=end, eos_token=end),
        "lasttoken",
        ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
        {"query": "<instruct>Find code.\n<query>", "document": ""},
        dict(model_max_length=64, add_eos_token=True),
        brain_floats,
    )
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    modern = byte_level(names, ("[CLS] $A [SEP]", ["[CLS]", "[SEP]"]))
    make(
        "tiny-modernbert",
        ModernBertModel(ModernBertConfig(
            vocab_size=modern.get_vocab_size(), max_position_embeddings=256, local_attention=16,
            global_attn_every_n_layers=3, pad_token_id=0, bos_token_id=2, eos_token_id=3, cls_token_id=2,
            sep_token_id=3, **{**size, "num_hidden_layers": 4},
        )),
        modern,
        dict(pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]"),
        "cls_token",
        ["Wqkv", "Wo", "Wi"],
        None,
        dict(model_max_length=64),
        whole,
    )
    pieces = word_piece(names)
    make(
        "tiny-nomic",
        NomicBertModel(NomicBertConfig(vocab_size=pieces.get_vocab_size(), max_position_embeddings=256, **size)),
        pieces,
        dict(pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]"),
        "cls_token",
        ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
        {"query": "Represent this query for searching relevant code: ", "document": ""},
        dict(model_max_length=64),
        whole,
    )
    fallback = fallback_to_bytes(["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"])
    make(
        "tiny-gemma",
        Gemma3TextModel(Gemma3TextConfig(
            vocab_size=fallback.get_vocab_size(), num_key_value_heads=2, head_dim=8, query_pre_attn_scalar=11,
            sliding_window=16, use_bidirectional_attention=True, max_position_embeddings=256,
            layer_types=["sliding_attention", "sliding_attention", "full_attention"],
            rope_parameters={
                "full_attention": {"rope_type": "default", "rope_theta": 1e6},
                "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            },
            **size,
        )),
        fallback,
        dict(pad_token="<pad>", eos_token="<eos>", bos_token="<bos>", unk_token="<unk>", mask_token="<mask>"),
        "mean_tokens",
        ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
        {"query": "task: search result | query: ", "document": "title: none | text: "},
        dict(model_max_length=64, add_bos_token=True, add_eos_token=True),
        whole,
    )
    for name in ["tiny-qwen2", "tiny-qwen3"]:
        both_ways(name)


if __name__ == "__main__":
    main()
