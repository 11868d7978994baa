"""Makes workbench/wb-llm/tests/golden/greedy.json: what llama.cpp's server says greedily of stories260K.gguf.
Run by hand: python scripts/golden-greedy.py stories260K.gguf, with xllamacpp 2026.10.11549."""

import json
import sys
import urllib.request
from pathlib import Path

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx, params.n_parallel, params.warmup, params.cpuparams.n_threads = 512, 1, False, 1
params.hostnames, params.port = ["127.0.0.1"], 0
server = xllamacpp.Server(params)
cases = []
for prompt in ["Once upon a time", "Lily and her dog", "The boy saw a red ball. He"]:
    body = dict(prompt=prompt, max_tokens=80, temperature=0, top_k=0, min_p=0, repeat_penalty=1.0, cache_prompt=False)
    address = f"{server.listening_address}/v1/completions"
    request = urllib.request.Request(address, json.dumps(body).encode(), {"content-type": "application/json"})
    answer = json.load(urllib.request.urlopen(request))
    cases.append({
        "prompt": prompt,
        "max_tokens": 80,
        "text": answer["choices"][0]["text"],
        "finish": answer["choices"][0]["finish_reason"],
        "prompt_tokens": answer["usage"]["prompt_tokens"],
        "completion_tokens": answer["usage"]["completion_tokens"],
    })
out = Path(__file__).parent.parent / "workbench/wb-llm/tests/golden/greedy.json"
out.write_text(json.dumps({"model": "stories260K.gguf", "cases": cases}, indent=1, ensure_ascii=False) + "\n")
