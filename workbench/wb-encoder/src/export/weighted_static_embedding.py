"""A bag of token vectors, weighted by token and by place: the module of an encoder that `wb export` wrote.

A token with id i at place p of its text counts exp(token_weights[i] + position_weights[bucket(p)]) times in the mean of
the text's token vectors, where bucket(p) = floor(8 * log2(1 + p / 8)), and the last position weight is that of all places
beyond. sentence-transformers' own StaticEmbedding is the case without any weights.

The folder is opened with SentenceTransformer(FOLDER, trust_remote_code=True).
"""

import json
import math
import os

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import nn

try:  # since 5.4
    from sentence_transformers.base.modules.input_module import InputModule
except ImportError:
    try:  # since 5.0
        from sentence_transformers.models import InputModule
    except ImportError:
        InputModule = nn.Module


class WeightedStaticEmbedding(InputModule):
    """Weights: embedding.weight [tokens, dim], and where there are any token_weights [tokens], position_weights [places]."""

    save_in_root = False

    def __init__(self, tokenizer, weights, add_special_tokens=False):
        super().__init__()
        self.tokenizer = tokenizer
        self.tokenizer.no_padding()
        self.add_special_tokens = add_special_tokens
        self.embedding = nn.Embedding.from_pretrained(weights["embedding.weight"], freeze=False)
        for name in ("token_weights", "position_weights"):
            values = weights.get(name)
            self.register_parameter(name, None if values is None else nn.Parameter(values))

    def preprocess(self, inputs, prompt=None, **kwargs):
        texts = [prompt + text for text in inputs] if prompt else list(inputs)
        encodings = self.tokenizer.encode_batch(texts, add_special_tokens=self.add_special_tokens)
        ids = [encoding.ids for encoding in encodings]
        longest = max([1] + [len(text) for text in ids])
        return {
            "input_ids": torch.tensor([text + [0] * (longest - len(text)) for text in ids], dtype=torch.long),
            "attention_mask": torch.tensor([[1] * len(text) + [0] * (longest - len(text)) for text in ids]),
        }

    def tokenize(self, texts, **kwargs):
        return self.preprocess(texts, **kwargs)

    def forward(self, features, **kwargs):
        ids, mask = features["input_ids"], features["attention_mask"]
        vectors = self.embedding(ids)
        logits = torch.zeros(ids.shape, dtype=vectors.dtype, device=vectors.device)
        if self.token_weights is not None:
            logits = logits + self.token_weights[ids]
        if self.position_weights is not None:
            last = len(self.position_weights) - 1
            buckets = [min(math.floor(8 * math.log2(1 + place / 8)), last) for place in range(ids.shape[1])]
            logits = logits + self.position_weights[torch.tensor(buckets, device=ids.device)]
        # A text without tokens has no share of anything: its embedding is zeros.
        shares = torch.softmax(logits.masked_fill(mask == 0, torch.finfo(logits.dtype).min), dim=1) * mask
        features["token_embeddings"] = vectors
        features["sentence_embedding"] = (vectors * shares.to(vectors.dtype).unsqueeze(2)).sum(dim=1)
        return features

    @property
    def max_seq_length(self):
        return (self.tokenizer.truncation or {}).get("max_length")

    @max_seq_length.setter
    def max_seq_length(self, length):
        self.tokenizer.enable_truncation(length)

    def get_embedding_dimension(self):
        return self.embedding.embedding_dim

    def get_sentence_embedding_dimension(self):
        return self.embedding.embedding_dim

    def save(self, output_path, *args, safe_serialization=True, **kwargs):
        save_file(self.state_dict(), os.path.join(output_path, "model.safetensors"))
        self.tokenizer.save(os.path.join(output_path, "tokenizer.json"))
        config = {
            "weighted": self.token_weights is not None,
            "positions": 0 if self.position_weights is None else len(self.position_weights),
            "add_special_tokens": self.add_special_tokens,
        }
        with open(os.path.join(output_path, "config.json"), "w", encoding="utf-8") as file:
            json.dump(config, file, indent=2)

    @classmethod
    def load(cls, model_name_or_path, subfolder="", **kwargs):
        def path(name):
            if os.path.isdir(model_name_or_path):
                return os.path.join(model_name_or_path, subfolder, name)
            known = {key: kwargs.get(key) for key in ("token", "cache_folder", "revision")}
            local = kwargs.get("local_files_only", False)
            return cls.load_file_path(model_name_or_path, name, subfolder=subfolder, local_files_only=local, **known)

        with open(path("config.json"), encoding="utf-8") as file:
            add_special_tokens = json.load(file)["add_special_tokens"]
        return cls(Tokenizer.from_file(path("tokenizer.json")), load_file(path("model.safetensors")), add_special_tokens)
