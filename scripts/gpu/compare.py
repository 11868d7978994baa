"""Runs wb and PyTorch beside each other on one device and writes a table for reports/LOG.md; called by gpu.sh.

    python compare.py --bench PROGRAM --device D --work FOLDER --seconds N [--small]

Both are processes that stay; rounds alternate, and medians are compared. What does not fit into the seconds is left out
and named.
"""
import argparse
import pathlib
import signal
import statistics
import subprocess
import sys
import time

import numpy

HERE = pathlib.Path(__file__).resolve().parent
# Texts and tokens of a pass; of a step, as many pairs as half the texts.
SIZES = [(256, 128), (64, 512)]
# Shape, layers (none: all).
SHAPES = [("minilm", None), ("modernbert", None), ("qwen3", None)]
SMALL_SIZES, SMALL_SHAPES = [(4, 16)], [("minilm", 1), ("modernbert", 3), ("qwen3", 1)]
# Devices of software hold no table of 50,000 tokens in one buffer.
SMALL_VOCAB = 8_192
SEARCH, SMALL_SEARCH = (1_000_000, 1_000_000, 768, 50), (4_096, 20_000, 64, 10)
ROUNDS = 5


class Side:
    """A program that does what it is told, line by line."""

    def __init__(self, command):
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.name = self.line("ready").removeprefix("ready ").strip()

    def line(self, wanted=""):
        for line in self.process.stdout:
            if line.startswith(wanted):
                return line.strip()
        raise SystemExit(f"{self.process.args[0]} ended early, see above")

    def tell(self, *words):
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()
        return self.line()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


# Vectors of texts against PyTorch's in 32 bits: products in TF32, and in 16 bits.
MOST_APART = {"fp32": 1e-4, "bf16": 1e-2, "f16": 1e-2}
# The exit code where something is not right; any other is this program's own end.
WRONG = 3
# What is hoped for in bf16, as multiples of PyTorch's texts in a second.
GOALS = {"encode": 1.2, "train": 1.0}
# TFLOP/s of products without sparsity, by NVIDIA's data sheets of the modules (SXM): in 16 bits, and in TF32.
PEAKS = {"H200": (989, 494), "H100": (989, 494), "A100": (312, 156), "L40S": (362, 183), "L4": (121, 60)}


def peak_of(device, precision):
    words = device.replace("-", " ").split()
    # Cards of the same name are slower.
    found = next((name for name in PEAKS if name in words), None)
    peaks = None if {"PCIe", "PCIE", "NVL"} & set(words) else PEAKS.get(found)
    return peaks and peaks[precision == "fp32"]


def cosine_apart(ours, theirs, dim):
    ours, theirs = (numpy.fromfile(path, dtype="<f4").reshape(-1, dim).astype("f8") for path in (ours, theirs))
    cosines = (ours * theirs).sum(1) / numpy.linalg.norm(ours, axis=1) / numpy.linalg.norm(theirs, axis=1)
    return float((1 - cosines).max())


def operations(folder, texts, tokens):
    """Two for each multiply-and-add of one pass, and the model's width."""
    import json

    from safetensors import safe_open

    config = json.loads((folder / "config.json").read_text())
    linear = 0
    with safe_open(folder / "model.safetensors", "pt") as weights:
        for name in weights.keys():
            shape = weights.get_slice(name).get_shape()
            if len(shape) == 2 and "embed" not in name:
                linear += shape[0] * shape[1]
    heads = config["num_attention_heads"] * (config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"])
    attention = 4 * tokens * heads * config["num_hidden_layers"]
    return texts * tokens * (2 * linear + attention), config["hidden_size"]


def with_goal(ratio, command, precision):
    goal = GOALS[command] if precision == "bf16" else None
    return f"{ratio:.2f}" + (f" ({'reaches' if ratio >= goal else 'MISSES'} {goal})" if goal else "")


class Table:
    def __init__(self, until):
        self.until, self.rows, self.left_out = until, [], []
        self.names, self.parity, self.wrong, self.searched = None, [], [], None

    def time_for(self, what):
        if time.monotonic() < self.until:
            return True
        self.left_out.append(what)
        return False


def compare(table, name, sides, command, texts, tokens, precision, work, pass_operations):
    what = f"{name}, {command} {texts} x {tokens}, {precision}"
    if not table.time_for(what):
        return
    number = texts if command == "encode" else texts // 2
    run = {side: (lambda s=side: sides[s].tell(command, number, tokens, precision).split()) for side in sides}
    # Kernels are made and chosen in the first two rounds.
    first = {side: [run[side]() for _ in range(2)][-1] for side in sides}
    refused = [side for side, words in first.items() if words[0] == "refused"]
    if refused:
        table.rows.append((what, *["refused" if side in refused else "-" for side in sides], "-", "-", "-"))
        return
    seconds = {side: [] for side in sides}
    losses = {}
    for number_of_round in range(ROUNDS):
        for side in list(sides) if number_of_round % 2 == 0 else reversed(list(sides)):
            words = run[side]()
            seconds[side].append(float(words[0]))
            losses[side] = words[1:]
    medians = {side: statistics.median(values) for side, values in seconds.items()}
    rates = {side: texts / median for side, median in medians.items()}
    # A step of adapters goes forth and back once: frozen weights have no gradients.
    factor = 1 if command == "encode" else 2
    reached = factor * pass_operations / medians["wb"] / 1e12
    peak = peak_of(table.names[-1], precision)
    share = f"{reached / peak:.0%}" if peak else "-"
    ratio = with_goal(rates["wb"] / rates["peer"], command, precision) if "peer" in rates else "-"
    table.rows.append((what, *[f"{rates[side]:,.0f}" for side in sides], ratio, f"{reached:.2f}", share))
    print(*table.rows[-1], *[f"{side}: loss {' '.join(found)}" for side, found in losses.items() if found], sep=" | ", flush=True)


def measure(arguments, table):
    sizes, shapes = (SMALL_SIZES, SMALL_SHAPES) if arguments.small else (SIZES, SHAPES)
    precisions = ["fp32"] if arguments.small else ["bf16", "fp32"]
    peer_device = "cuda" if arguments.device.startswith("cuda") else "cpu"
    for shape, layers in shapes:
        if not table.time_for(shape):
            continue
        folder = arguments.work / shape
        command = [sys.executable, HERE.parent / "peers/shapes.py", shape, folder, arguments.texts, "--max-tokens", 512]
        subprocess.run([str(part) for part in command + (["--layers", layers, "--vocab", SMALL_VOCAB] if layers else [])], check=True, stdout=subprocess.DEVNULL)
        sides = {"wb": Side([arguments.bench, folder, arguments.device]), "peer": Side([sys.executable, HERE / "peer.py", folder, peer_device])}
        table.names = [side.name for side in sides.values()]
        _, dim = operations(folder, 1, 1)
        for precision in precisions:
            ours, theirs = arguments.work / "ours.f32", arguments.work / "theirs.f32"
            if sides["wb"].tell("vectors", 4, 100, precision, ours) != "written":
                table.parity.append((shape, precision, "refused"))
                continue
            sides["peer"].tell("vectors", 4, 100, "fp32", theirs)
            apart = cosine_apart(ours, theirs, dim)
            table.parity.append((shape, precision, f"{apart:.1e}"))
            if not apart <= MOST_APART[precision]:
                table.wrong.append(f"vectors of {shape} in {precision}: 1 - cosine {apart:.1e}, expected at most {MOST_APART[precision]:.0e}")
            print("parity", *table.parity[-1], flush=True)
            for texts, tokens in sizes:
                of_pass, _ = operations(folder, texts, tokens)
                for command in ("encode", "train"):
                    compare(table, shape, sides, command, texts, tokens, precision, arguments.work, of_pass)
        for side in sides.values():
            side.end()
    queries, documents, dim, k = SMALL_SEARCH if arguments.small else SEARCH
    if table.time_for("search"):
        wb = Side([arguments.bench, arguments.work / shapes[0][0], arguments.device])
        seconds, *same = wb.tell("search", queries, documents, dim, k).split()
        wb.end()
        if not same or same[0] != same[2]:
            table.wrong.append(f"exact search: {' '.join(same)}")
        reached, peak = 2e-12 * queries * documents * dim / float(seconds), peak_of((table.names or [""])[-1], "f16")
        share = f" ({reached / peak:.0%} of the peak)" if peak else ""
        table.searched = f"{queries:,} x {documents:,} x {dim}, best {k}: {float(seconds):.1f} s, " + \
            f"{reached:.2f} TFLOP/s{share}, {' '.join(same)}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", type=pathlib.Path, required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--texts", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, default=420)
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    table, started = Table(time.monotonic() + arguments.seconds), time.monotonic()
    try:
        measure(arguments, table)
    except KeyboardInterrupt:
        # It may come twice.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        table.left_out.append("what was begun, and all after it")
    names = table.names
    print(f"\n## On {names[0] if names else arguments.device}\n")
    print(f"- wb beside {names[1] if names else 'nothing'}, alternating, medians of {ROUNDS} rounds after 2; {time.monotonic() - started:.0f} s.")
    print("- Random weights of the models' shapes; texts of equal length; adapters of rank 8 on all linear layers.\n")
    print("| what | wb, texts/s | PyTorch, texts/s | ratio | wb, TFLOP/s | of the peak |\n|---|---|---|---|---|---|")
    for row in table.rows:
        print("| " + " | ".join(row) + " |")
    print("\n| vectors of 4 texts of 100 tokens, against PyTorch in fp32 | 1 - cosine |\n|---|---|")
    for shape, precision, found in table.parity:
        print(f"| {shape}, {precision} | {found} |")
    if table.searched:
        print(f"\n- Exact search: {table.searched}.")
    for what in table.left_out:
        print(f"- Left out, for want of time: {what}.")
    for what in table.wrong:
        print(f"- WRONG: {what}.")
    raise SystemExit(WRONG if table.wrong else 0)


if __name__ == "__main__":
    main()
