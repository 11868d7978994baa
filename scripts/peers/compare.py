"""Runs wb and its peers side by side and prints one table; called by peers.sh, which prepares everything.

Both sides of a case are processes that stay: each is told to run a round, sleeps while another runs, and prints its
seconds. Rounds alternate, so that what else happens on the machine hits both alike. Medians of the rounds are compared.
"""
import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time
from importlib.metadata import version

import numpy

HERE = pathlib.Path(__file__).resolve().parent
BATCH, TOP = 32, 100
BATCH_SIZES = [8, 16, 32, 64]
# Layers of a shape that is timed (a whole number of its patterns of windows), and the layers that have adapters.
DEPTHS = {"modernbert": 6, "nomic": 4, "qwen3": 4, "qwen2": 2, "gemma": 6}
TARGETS = {"modernbert": ["Wqkv"]}
SHAPE_TEXTS, SHAPE_PAIRS = 64, 32
# Rows, inner dimension and columns of the product that stands for a machine's peak, and how often a round has it.
PRODUCT, PRODUCTS = (4096, 384, 1536), 20


class Side:
    """A process that runs a round when told to."""

    def __init__(self, command):
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = self.read("ready").split()[1:]

    def read(self, wanted=""):
        """The next line; libraries may print lines of their own before `ready`."""
        for line in self.process.stdout:
            if line.startswith(wanted):
                return line
        raise SystemExit(f"{self.process.args[0]} ended early, see above")

    def round(self, what=""):
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        return float(self.read().split()[0])

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def alternate(runs, rounds):
    """Seconds of each run's rounds, one round of each in turn."""
    seconds = {name: [] for name in runs}
    for number in range(rounds):
        # Who goes first changes too.
        for name in list(runs) if number % 2 == 0 else reversed(list(runs)):
            time.sleep(0.2)
            seconds[name].append(runs[name]())
    return seconds


def encode(arguments):
    ours_at, theirs_at = arguments.work / "ours.f32", arguments.work / "theirs.f32"
    texts = arguments.work / "texts.jsonl"
    number = sum(1 for _ in open(texts, encoding="utf-8"))
    wb = Side([arguments.examples / "encode_bench", arguments.model, texts, ours_at])
    peer = Side([sys.executable, HERE / "peer_encode.py", arguments.model, texts, theirs_at])
    wb.round()
    peer.round(32)
    tried = {size: peer.round(size) for size in BATCH_SIZES}
    best = min(tried, key=tried.get)
    runs = {"wb": wb.round, "peer, batch 32": lambda: peer.round(32)}
    if best != 32:
        runs[f"peer, batch {best}"] = lambda: peer.round(best)
    seconds = alternate(runs, arguments.rounds)
    shape = "products " + " ".join(map(str, PRODUCT))
    of_products = alternate({"wb": lambda: wb.round(shape), "peer": lambda: peer.round(shape)}, 5)
    wb.end()
    peer.end()
    ours, theirs = (numpy.fromfile(path, dtype="<f4") for path in (ours_at, theirs_at))
    product = 2e-9 * PRODUCTS * PRODUCT[0] * PRODUCT[1] * PRODUCT[2]
    operations = float(peer.ready[1]) / 1e9
    check = {
        "max abs difference of embeddings": float(numpy.abs(ours - theirs).max()),
        "batch sizes tried": tried,
        "instructions": f"wb {wb.ready[0]}, torch {peer.ready[0]}",
        f"GFLOP/s of products {'x'.join(map(str, PRODUCT))}": {name: round(product / min(times), 1) for name, times in of_products.items()},
        "GFLOP of encoding": operations,
        "GFLOP/s of encoding": {name: round(operations / statistics.median(times), 1) for name, times in seconds.items()},
    }
    return {
        "case": "encode",
        "what": f"encode {number:,} functions, {arguments.name} fp32",
        "peer": "sentence-transformers",
        "seconds": seconds,
        "check": check,
        "unit": "texts/s",
        "amount": number,
    }


def train(arguments):
    pairs = arguments.work / "pairs.jsonl"
    steps = sum(1 for _ in open(pairs, encoding="utf-8")) // BATCH
    targets = "targets=" + ",".join(arguments.targets)
    wb = Side([arguments.examples / "train_bench", arguments.model, pairs, BATCH, targets])
    peer = Side([sys.executable, HERE / "peer_train.py", arguments.model, pairs, BATCH, targets])
    sides = {"wb": wb, "peer, plain loop": peer}
    if arguments.trainer:
        trainer = [sys.executable, HERE / "peer_train.py", arguments.model, pairs, BATCH, targets, "trainer"]
        sides["peer, trainer"] = Side(trainer)
    for side in sides.values():
        side.round()
    seconds = alternate({name: side.round for name, side in sides.items()}, arguments.rounds)
    for side in sides.values():
        side.end()
    check = {"first loss, wb": float(wb.ready[0]), "first loss, peer": float(peer.ready[0])}
    return {
        "case": "train",
        "what": f"{steps} LoRA steps, {arguments.name}, batch {BATCH} pairs",
        "peer": "sentence-transformers + PEFT",
        "seconds": seconds,
        "check": check,
        "unit": "steps/s",
        "amount": steps,
    }


def shaped(arguments):
    """Random weights of a published model's shape, fewer of its layers, and fewer texts."""
    work = arguments.work / arguments.shape
    work.mkdir(exist_ok=True)
    for name, number in ("texts.jsonl", SHAPE_TEXTS), ("pairs.jsonl", SHAPE_PAIRS):
        lines = open(arguments.work / name, encoding="utf-8").readlines()
        # Evenly from all.
        (work / name).write_text("".join(lines[:: len(lines) // number][:number]), encoding="utf-8")
    depth = DEPTHS[arguments.shape]
    model = work / "model"
    command = [sys.executable, HERE / "shapes.py", arguments.shape, model, arguments.work / "texts.jsonl", "--layers", depth]
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    arguments.work, arguments.model, arguments.name = work, model, f"{arguments.shape} x{depth}"
    arguments.targets = TARGETS.get(arguments.shape, ["q_proj", "v_proj"])


def search(arguments):
    files = [arguments.work / name for name in ("documents.f32", "queries.f32")]
    ours_at, theirs_at = arguments.work / "ours.u32", arguments.work / "theirs.u32"
    wb = Side([arguments.examples / "flat_bench", *files, 384, TOP, "-", ours_at])
    peer = Side([sys.executable, HERE / "peer_search.py", *files, 384, TOP, theirs_at])
    wb.round()
    peer.round()
    seconds = alternate({"wb": wb.round, "peer": peer.round}, arguments.rounds)
    wb.end()
    peer.end()
    ours, theirs = (numpy.fromfile(path, dtype="<u4").reshape(-1, TOP) for path in (ours_at, theirs_at))
    same = numpy.mean([len(set(a) & set(b)) / TOP for a, b in zip(ours.tolist(), theirs.tolist())])
    return {
        "case": "search",
        "what": "top 100 of 1,000 queries over 200,000 x 384",
        "peer": "faiss IndexFlatIP",
        "seconds": seconds,
        "check": {"same ids": float(same)},
        "unit": "queries/s",
        "amount": 1_000,
    }


def compared(result):
    """Adds medians and the ratio to the fastest peer: above 1, wb is faster."""
    medians = {name: statistics.median(seconds) for name, seconds in result["seconds"].items()}
    fastest = min((name for name in medians if name != "wb"), key=medians.get)
    return {**result, "medians": medians, "fastest_peer": fastest, "ratio": medians[fastest] / medians["wb"]}


def machine(threads):
    model = platform.processor()
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if pathlib.Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    packages = ["sentence-transformers", "transformers", "peft", "torch", "tokenizers", "faiss-cpu", "numpy"]
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "threads": threads,
        "system": platform.platform(),
        "load": os.getloadavg(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages},
    }


def wait_for_quiet(minutes):
    """Waits for a load average of at most 1; says so where it does not come."""
    end = time.monotonic() + 60 * minutes
    while os.getloadavg()[0] > 1 and time.monotonic() < end:
        time.sleep(5)
    load = os.getloadavg()[0]
    if load > 1:
        print(f"WARNING: load average {load:.2f}: other programs are running, figures are rough", file=sys.stderr)
    return load


def table(about, results):
    lines = [
        f"{about['processor']}, {about['cores']} cores, {about['threads']} threads a side, load {about['load'][0]:.2f} at the start",
        "python " + about["python"] + ", " + ", ".join(f"{name} {number}" for name, number in about["versions"].items()),
        f"texts: {about['texts']}",
        "",
        f"{'case':48} {'side':46} {'median':>9} {'min':>9} {'max':>9} {'rate':>18} {'ratio':>6}",
    ]
    for result in results:
        for name, seconds in result["seconds"].items():
            median = result["medians"][name]
            label = name.replace("peer", result["peer"])
            ratio = "" if name == "wb" else f"{median / result['medians']['wb']:.2f}"
            rate = f"{result['amount'] / median:.1f} {result['unit']}"
            lines.append(f"{result['what'] if name == 'wb' else '':48} {label:46.46} {median:8.3f}s {min(seconds):8.3f}s {max(seconds):8.3f}s {rate:>18} {ratio:>6}")
        lines.append("  " + ", ".join(f"{key}: {value:.3g}" if isinstance(value, float) else f"{key}: {value}" for key, value in result["check"].items()))
    lines.append("ratio: the peer's median / wb's; above 1, wb is faster")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", "--rounds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path, help="also write everything here")
    parser.add_argument("--only", action="append", choices=["encode", "train", "search"], help="may be given more than once")
    parser.add_argument("--shape", choices=DEPTHS, help="random weights of this model's shape in MiniLM's place, some layers")
    parser.add_argument("--trainer", action="store_true", help="time SentenceTransformerTrainer too")
    parser.add_argument("--isa", choices=["avx2"], help="hold both sides to these instructions")
    parser.add_argument("--wait", type=float, default=5, help="minutes to wait for a quiet machine")
    parser.add_argument("--examples", type=pathlib.Path, required=True)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--texts", default="")
    arguments = parser.parse_args()
    arguments.name, arguments.targets = "MiniLM", ["query", "value"]
    if arguments.shape:
        shaped(arguments)
    if arguments.isa:
        # wb's kernels; torch's own loops, oneDNN and MKL.
        os.environ.update(WB_ISA="avx2", ATEN_CPU_CAPABILITY="avx2", ONEDNN_MAX_CPU_ISA="AVX2", MKL_ENABLE_INSTRUCTIONS="AVX2")
    wait_for_quiet(arguments.wait)
    about = {**machine(int(os.environ["OMP_NUM_THREADS"])), "texts": arguments.texts, "rounds": arguments.rounds}
    results = []
    for case in (encode, train, search):
        if arguments.shape and case is search:
            continue
        if not arguments.only or case.__name__ in arguments.only:
            print(f"{case.__name__} ...", file=sys.stderr)
            results.append({"load": wait_for_quiet(min(1, arguments.wait)), **compared(case(arguments))})
            print(f"  ratio {results[-1]['ratio']:.2f}", file=sys.stderr)
    print(table(about, results))
    if arguments.json:
        arguments.json.write_text(json.dumps({"about": about, "cases": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
