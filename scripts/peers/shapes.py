"""Makes an encoder of a published model's shape with random weights, laid out as its repository is: what speed and
memory depend on, without what only a download has. Its tokenizer is learned from the texts.

    python shapes.py SHAPE FOLDER TEXTS.jsonl [--layers N] [--vocab N] [--dtype f32|bf16] [--max-tokens N]

SHAPE is one of minilm (all-MiniLM-L6-v2), modernbert (ModernBERT-base), nomic (CodeRankEmbed), qwen3 (Qwen3-Embedding-0.6B), qwen2
(Qwen2.5-Coder-1.5B, bge-code-v1), gemma (EmbeddingGemma-300M).
"""
import argparse
import json
import pathlib

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertModel,
    Gemma3TextConfig,
    Gemma3TextModel,
    ModernBertConfig,
    ModernBertModel,
    NomicBertConfig,
    NomicBertModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2Model,
    Qwen3Config,
    Qwen3Model,
)

TOKENS = 8_000
BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def rotary(base):
    return {"rope_type": "default", "rope_theta": base}


def qwen3(layers):
    return Qwen3Model(Qwen3Config(
        vocab_size=151_669, hidden_size=1024, num_hidden_layers=layers or 28, num_attention_heads=16,
        num_key_value_heads=8, head_dim=128, intermediate_size=3072, max_position_embeddings=32_768,
        rope_parameters=rotary(1e6),
    ))


def qwen2(layers):
    return Qwen2Model(Qwen2Config(
        vocab_size=151_936, hidden_size=1536, num_hidden_layers=layers or 28, num_attention_heads=12,
        num_key_value_heads=2, intermediate_size=8960, max_position_embeddings=32_768, rope_parameters=rotary(1e6),
    ))


def modernbert(layers):
    return ModernBertModel(ModernBertConfig(
        num_hidden_layers=layers or 22, pad_token_id=0, bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3
    ))


def minilm(layers):
    return BertModel(BertConfig(
        hidden_size=384, num_hidden_layers=layers or 6, num_attention_heads=12, intermediate_size=1536
    ), add_pooling_layer=False)


def nomic(layers):
    return NomicBertModel(NomicBertConfig(num_hidden_layers=layers or 12, max_position_embeddings=8192))


def gemma(layers):
    layers = layers or 24
    return Gemma3TextModel(Gemma3TextConfig(
        vocab_size=262_144, hidden_size=768, num_hidden_layers=layers, num_attention_heads=3, num_key_value_heads=1,
        head_dim=256, intermediate_size=1152, query_pre_attn_scalar=256, sliding_window=512,
        use_bidirectional_attention=True, max_position_embeddings=2048,
        layer_types=["sliding_attention" if at % 6 else "full_attention" for at in range(1, layers + 1)],
        rope_parameters={"full_attention": rotary(1e6), "sliding_attention": rotary(1e4)},
    ))


# The model, its special tokens and those around a text, and the pooling.
SHAPES = {
    "minilm": (minilm, BERT, ("[CLS]", "[SEP]"), "mean_tokens"),
    "modernbert": (modernbert, BERT, ("[CLS]", "[SEP]"), "cls_token"),
    "nomic": (nomic, BERT, ("[CLS]", "[SEP]"), "cls_token"),
    "qwen3": (qwen3, ["<|endoftext|>"], (None, "<|endoftext|>"), "lasttoken"),
    "qwen2": (qwen2, ["<|endoftext|>"], (None, "<|endoftext|>"), "lasttoken"),
    "gemma": (gemma, ["<pad>", "<eos>", "<bos>", "<unk>"], ("<bos>", "<eos>"), "mean_tokens"),
}


def tokenizer(texts, special, around):
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        texts,
        trainers.BpeTrainer(vocab_size=TOKENS, special_tokens=special, initial_alphabet=alphabet, show_progress=False),
    )
    tokens = [token for token in around if token]
    made.post_processor = processors.TemplateProcessing(
        single=" ".join(["$A" if part == "text" else part for part in [around[0], "text", around[1]] if part]),
        special_tokens=[(token, made.token_to_id(token)) for token in tokens],
    )
    return made


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("texts", type=pathlib.Path)
    parser.add_argument("--layers", type=int)
    parser.add_argument("--vocab", type=int, help="tokens that the model knows; the published model's unless told")
    parser.add_argument("--dtype", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--max-tokens", type=int, default=256)
    arguments = parser.parse_args()
    make, special, around, pooling = SHAPES[arguments.shape]
    texts = [json.loads(line) for line in open(arguments.texts, encoding="utf-8")]
    torch.manual_seed(7)
    model = make(arguments.layers)
    if arguments.vocab:
        model.resize_token_embeddings(arguments.vocab)
    model = model.to(torch.float32 if arguments.dtype == "f32" else torch.bfloat16)
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    made = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer(texts, special, around), pad_token=special[0], model_max_length=arguments.max_tokens
    )
    made.save_pretrained(folder)
    kinds = ["Transformer", "Pooling", "Normalize"]
    write(folder / "modules.json", [
        {"idx": at, "name": str(at), "path": "" if at == 0 else f"{at}_{kind}", "type": f"sentence_transformers.models.{kind}"}
        for at, kind in enumerate(kinds)
    ])
    modes = ["cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken"]
    write(folder / "1_Pooling/config.json", {
        "word_embedding_dimension": model.config.hidden_size, **{f"pooling_mode_{mode}": mode == pooling for mode in modes},
        "include_prompt": True,
    })
    write(folder / "sentence_bert_config.json", {"max_seq_length": arguments.max_tokens, "do_lower_case": False})
    print(f"{arguments.shape}: {sum(weight.numel() for weight in model.parameters()):,} numbers in {arguments.dtype}")


if __name__ == "__main__":
    main()
