#!/usr/bin/env python3
"""Make the golden files of UniXcoder's input form.

    python scripts/golden-unixcoder.py

Needs transformers, tokenizers and torch. Run by hand; its output is committed.

Into workbench/wb-encoder/tests/golden/:
  tiny-unixcoder/      a random RoBERTa whose vocabulary has <encoder-only>, as microsoft/unixcoder-base is laid out
  tiny-unixcoder.json  texts, and their token ids and embeddings in encoder-only mode

The form is that of unixcoder.py in microsoft/CodeBERT: <s> <encoder-only> </s> text </s>, the text cut so that all fit, and
the mean of all states as the embedding.
"""

import importlib.util
import json
import pathlib
import shutil

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaModel

here = pathlib.Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("golden_embeddings", here / "golden-embeddings.py")
embeddings = importlib.util.module_from_spec(spec)
spec.loader.exec_module(embeddings)

MODE = "<encoder-only>"
MAX_TOKENS = embeddings.MAX_TOKENS


def make(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", MODE, "<decoder-only>", "<encoder-decoder>"]
    tokenizer.train_from_iterator(embeddings.CORPUS, trainers.BpeTrainer(
        vocab_size=420, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
    ))
    config = RobertaConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=48, max_position_embeddings=44, layer_norm_eps=1e-5, hidden_act="gelu",
        type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2,
    )
    model = RobertaModel(config).eval()
    embeddings.randomize(model, 5)
    model.save_pretrained(folder)
    tokenizer.model.save(str(folder))
    embeddings.write(folder / "tokenizer_config.json", {"model_max_length": MAX_TOKENS})
    return tokenizer, model


def expectations(tokenizer, model):
    # transformers' own class, so that the words are split as the reference splits them.
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, cls_token="<s>", sep_token="</s>", pad_token="<pad>")
    ids, vectors = [], []
    for text in embeddings.TEXTS:
        tokens = ["<s>", MODE, "</s>"] + fast.tokenize(text)[: MAX_TOKENS - 4] + ["</s>"]
        ids.append(fast.convert_tokens_to_ids(tokens))
        with torch.no_grad():
            states = model(torch.tensor([ids[-1]]), attention_mask=torch.ones(1, len(tokens)))[0]
        vectors.append(states[0].mean(dim=0))
    return {"texts": embeddings.TEXTS, "ids": ids, "embeddings": embeddings.rounded(vectors)}


def main():
    folder = embeddings.GOLDEN / "tiny-unixcoder"
    found = expectations(*make(folder))
    file = embeddings.GOLDEN / "tiny-unixcoder.json"
    file.write_text(json.dumps(found, ensure_ascii=False) + "\n")
    print(sorted(path.name for path in folder.iterdir()), len(found["texts"]))


if __name__ == "__main__":
    main()
