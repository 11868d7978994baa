#!/usr/bin/env python3
"""Make the golden event file of wb-encoder with tensorboard's own messages and records, or compare one with its journal.

    python scripts/golden-journals.py            # makes workbench/wb-encoder/tests/golden/journals/
    python scripts/golden-journals.py check RUN  # the event file of a run, read by tensorboard, against its journals

Needs tensorboard. The golden files are committed; `check` is what the slow tests call.
"""

import json
import pathlib
import struct
import sys

from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "workbench/wb-encoder/tests/golden/journals"
STARTED = 1763769600.0

# Made numbers, more digits than a 32-bit float holds.
METRICS = [
    {"step": n, "epoch": n / 4, "stage": n // 3, "loss": 3.1 / n + 1e-12, "learning_rate": 2e-5 * n, "grad_norm": 0.1 * n, "pairs": 64,
     "tokens": 3000 + 7 * n}
    for n in range(1, 5)
]
VALIDATION = [
    {"step": n, "mrr": 0.5 + n / 30, "recall_at_1": 0.4 + n / 70, "loss": 1 / (n + 3), "pairs": 1000, "best": n != 2} for n in (0, 2, 4)
]


def rows(metrics, validation):
    """Values by step, the training's before the validation's."""
    steps = {}
    for name, records in [("train", metrics), ("validation", validation)]:
        for record in records:
            values = steps.setdefault(record["step"], {})
            for key, value in record.items():
                if key != "step" and isinstance(value, (int, float)):
                    values[f"{name}/{key}"] = float(value)
    return dict(sorted(steps.items()))


def make():
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for name, records in [("metrics.jsonl", METRICS), ("validation.jsonl", VALIDATION)]:
        (GOLDEN / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    with open(GOLDEN / f"events.out.tfevents.{STARTED:.0f}.wb", "wb") as file:
        writer = RecordWriter(file)
        writer.write(event_pb2.Event(wall_time=STARTED, file_version="brain.Event:2").SerializeToString())
        for step, values in rows(METRICS, VALIDATION).items():
            summary = summary_pb2.Summary()
            for tag, value in values.items():
                summary.value.add(tag=tag, simple_value=value)
            writer.write(event_pb2.Event(wall_time=STARTED, step=step, summary=summary).SerializeToString())
        writer.flush()


def check(run):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = lambda name: [json.loads(line) for line in (run / name).read_text().splitlines()]
    # An event file holds 32-bit floats.
    short = lambda value: struct.unpack("<f", struct.pack("<f", value))[0]
    expected = rows(read("metrics.jsonl"), read("validation.jsonl"))
    expected = {step: {tag: short(value) for tag, value in values.items()} for step, values in expected.items()}
    accumulator = EventAccumulator(str(run / "tensorboard"), size_guidance={"scalars": 0})
    accumulator.Reload()
    found = {}
    for tag in accumulator.Tags()["scalars"]:
        for event in accumulator.Scalars(tag):
            found.setdefault(event.step, {})[tag] = event.value
    assert found == expected, "the event file and the journals differ"
    print(f"tensorboard: {len(found)} steps, {sum(map(len, found.values()))} numbers, all equal to the journals")


if __name__ == "__main__":
    if sys.argv[1:2] == ["check"]:
        check(pathlib.Path(sys.argv[2]))
    else:
        make()
