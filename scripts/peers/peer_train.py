"""sentence-transformers with PEFT adapters: one round of steps for each line of standard input; prints seconds and the last loss.

    python peer_train.py MODEL_FOLDER PAIRS.jsonl BATCH targets=NAME,... [trainer]

A plain loop over forward, backward and AdamW; with `trainer`, SentenceTransformerTrainer's own loop.
Texts are made token ids before the clock starts, except with `trainer`, which does it itself.
The first line is the first batch's loss without dropout.
"""
import json
import os
import sys
import tempfile
import time

import torch
from peft import LoraConfig, TaskType
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

model_folder, pairs_path, size, targets = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
targets = targets.removeprefix("targets=").split(",")
torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
torch.manual_seed(42)
pairs = [json.loads(line) for line in open(pairs_path, encoding="utf-8")]
pairs = pairs[: len(pairs) // size * size]
model = SentenceTransformer(model_folder, device="cpu")
model.max_seq_length = 256
model.add_adapter(
    LoraConfig(task_type=TaskType.FEATURE_EXTRACTION, r=8, lora_alpha=16, lora_dropout=0.1, target_modules=targets)
)
loss = MultipleNegativesRankingLoss(model, scale=20.0)
weights = [weight for weight in model.parameters() if weight.requires_grad]
optimizer = torch.optim.AdamW(weights, lr=2e-5, weight_decay=0.01)
tokenize = getattr(model, "preprocess", None) or model.tokenize


def batch(rows):
    return [dict(tokenize([row[side] for row in rows])) for side in (0, 1)]


def fresh(features):
    return [dict(side) for side in features]  # the model adds its output to what it is given


batches = [batch(pairs[at : at + size]) for at in range(0, len(pairs), size)]
model.eval()
with torch.no_grad():
    first = loss(fresh(batches[0]), None).item()
model.train()


def plain_round():
    for features in batches:
        value = loss(fresh(features), None)
        value.backward()
        optimizer.step()
        optimizer.zero_grad()
    return value.item()


def trainer_round():
    from datasets import Dataset
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments

    class Clock:
        start = 0.0

    with tempfile.TemporaryDirectory() as folder:
        arguments = SentenceTransformerTrainingArguments(
            output_dir=folder, num_train_epochs=1, per_device_train_batch_size=size, learning_rate=2e-5, weight_decay=0.01,
            report_to=[], save_strategy="no", logging_strategy="no", disable_tqdm=True, use_cpu=True,
        )
        data = Dataset.from_dict({"anchor": [q for q, _ in pairs], "positive": [d for _, d in pairs]})
        trainer = SentenceTransformerTrainer(model=model, args=arguments, train_dataset=data, loss=loss)
        Clock.start = time.perf_counter()
        return trainer.train().training_loss


run = trainer_round if sys.argv[5:] == ["trainer"] else plain_round
print(f"ready {first:.6f}", flush=True)
for _ in sys.stdin:
    start = time.perf_counter()
    last = run()
    print(f"{time.perf_counter() - start:.6f} {last:.6f}", flush=True)
