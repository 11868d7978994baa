"""llama.cpp's server out of the Python package xllamacpp, behind the arguments of `llama-server` that `wb` uses:
a real server where no llama-server is installed. pip install xllamacpp==2026.10.11549, then
python scripts/peers/llama_server.py --model MODEL.gguf --port 8080 -np 4 -c 8192; the key comes from LLAMA_API_KEY."""

import argparse
import os
import signal

parser = argparse.ArgumentParser(prog="llama-server", allow_abbrev=False)
parser.add_argument("--host", default="127.0.0.1")
parser.add_argument("--port", type=int, default=8080)
parser.add_argument("--model", "-m", required=True)
parser.add_argument("-np", "--parallel", type=int, default=1)
parser.add_argument("-c", "--ctx-size", type=int, default=4096)
parser.add_argument("--threads", "-t", type=int, default=0)
parser.add_argument("--cache-ram", type=int, default=8192)
parser.add_argument("--no-ui", action="store_true")
parser.add_argument("--offline", action="store_true")
parser.add_argument("--warmup", action="store_true")
args = parser.parse_args()

import xllamacpp  # noqa: E402  (after the arguments: it takes a while)

params = xllamacpp.CommonParams()
params.model.path = args.model
params.hostnames = [args.host]
params.port = args.port
params.n_parallel = args.parallel
params.n_ctx = args.ctx_size
params.cache_ram_mib = args.cache_ram
params.ui = not args.no_ui
params.offline = args.offline
params.warmup = args.warmup
params.endpoint_metrics = True
if args.threads:
    params.cpuparams.n_threads = args.threads
if os.environ.get("LLAMA_API_KEY"):
    params.api_keys = [os.environ["LLAMA_API_KEY"]]
server = xllamacpp.Server(params)
print(f"listening on {server.listening_address}", flush=True)
signal.pause()
