"""sentence-transformers and PEFT on a device, told what to do like device_bench (its head has the commands).

    python peer.py MODEL_FOLDER DEVICE

Texts are token ids, the same as device_bench's. What is timed in fp32 has TF32 products, as wb's
on CUDA (PyTorch by itself has none for matrices), vectors to be compared with have none; bf16 is autocast, in training, and a model in bf16 while encoding; attention is what transformers chooses.
"""
import sys
import time

import numpy
import torch
from peft import LoraConfig, TaskType
from sentence_transformers import SentenceTransformer

try:
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
except ImportError:
    from sentence_transformers.losses import MultipleNegativesRankingLoss

folder, device = sys.argv[1:]
TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def features(texts, tokens, shift=0):
    rows = torch.arange(texts)[:, None] + shift
    ids = (10 + (7919 * rows + 104_729 * torch.arange(tokens)[None, :]) % 7000).to(device)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def wait():
    if device.startswith("cuda"):
        torch.cuda.synchronize()


class Bench:
    def __init__(self):
        self.encoder = self.training = None

    def encode(self, texts, tokens, precision):
        if self.encoder is None or self.encoder[0] != precision:
            self.training = None
            model = SentenceTransformer(folder, device=device, model_kwargs={"dtype": TYPES[precision]})
            self.encoder = precision, model.eval()
        with torch.inference_mode():
            network = self.encoder[1]
            # The pooled vectors, before they are normalized.
            found = features(texts, tokens)
            for module in list(network)[:2]:
                found = module(found)
            return found["sentence_embedding"].float().cpu().numpy()

    def train(self, pairs, tokens, precision):
        if self.training is None or self.training[0] != precision:
            self.encoder = None
            torch.manual_seed(42)
            model = SentenceTransformer(folder, device=device, model_kwargs={"dtype": torch.float32})
            model.add_adapter(LoraConfig(
                task_type=TaskType.FEATURE_EXTRACTION, r=8, lora_alpha=16, lora_dropout=0.1, target_modules="all-linear"
            ))
            weights = [weight for weight in model.parameters() if weight.requires_grad]
            optimizer = torch.optim.AdamW(weights, lr=2e-5, weight_decay=0.01)
            self.training = precision, model.train(), MultipleNegativesRankingLoss(model, scale=20.0), optimizer, 0
        precision, model, loss, optimizer, step = self.training
        self.training = precision, model, loss, optimizer, step + 1
        sides = [features(pairs, tokens, step), features(pairs, tokens, step + pairs)]
        wait()
        start = time.perf_counter()
        with torch.autocast(device.split(":")[0], TYPES[precision], enabled=precision != "fp32"):
            value = loss(sides, None)
        value.backward()
        torch.nn.utils.clip_grad_norm_([weight for group in optimizer.param_groups for weight in group["params"]], 1.0)
        optimizer.step()
        optimizer.zero_grad()
        found = value.item()
        wait()
        return f"{time.perf_counter() - start:.6f} {found:.6f}"


bench = Bench()
print("ready", torch.cuda.get_device_name() if device.startswith("cuda") else device, "torch", torch.__version__, flush=True)
for line in sys.stdin:
    what, *words = line.split()
    torch.set_float32_matmul_precision("highest" if what == "vectors" else "high")
    if what == "vectors":
        bench.encode(int(words[0]), int(words[1]), words[2]).astype("<f4").tofile(words[3])
        print("written", flush=True)
    elif what == "encode":
        start = time.perf_counter()
        bench.encode(int(words[0]), int(words[1]), words[2])
        print(f"{time.perf_counter() - start:.6f}", flush=True)
    elif what == "train":
        print(bench.train(int(words[0]), int(words[1]), words[2]), flush=True)
