"""Makes workbench/wb-llm/tests/golden/long-context.json: what llama.cpp's server says greedily after prompts that are
longer than 4,096 tokens. Run by hand: python scripts/golden-long-context.py stories260K.gguf, with xllamacpp.

The model was trained for 512 tokens, which its file says; a copy says 8,192 instead, so that the server gives it as many.
Its words mean little there, and its arithmetic is what is compared. `least_gap` is the least distance of the best token's
logarithm of probability to the second's over an answer: how far from a tie it was."""

import json
import sys
import tempfile
import urllib.request
from pathlib import Path

import xllamacpp

CONTEXT = 8192
KEY = b"llama.context_length"


def with_context(path):
    data = bytearray(Path(path).read_bytes())
    # The key, its type (4: an unsigned integer of 32 bits), its value.
    at = data.index(KEY) + len(KEY)
    assert data[at:at + 4] == (4).to_bytes(4, "little") and data.count(KEY) == 1
    data[at + 4:at + 8] = CONTEXT.to_bytes(4, "little")
    copy = tempfile.NamedTemporaryFile(suffix=".gguf", delete=False)
    copy.write(data)
    copy.close()
    return copy.name


params = xllamacpp.CommonParams()
params.model.path = with_context(sys.argv[1])
params.n_ctx, params.n_parallel, params.warmup, params.cpuparams.n_threads = CONTEXT, 1, False, 1
params.hostnames, params.port = ["127.0.0.1"], 0
server = xllamacpp.Server(params)
cases = []
for sentence, times in [("Lily had a red ball and a big dog. ", 350)]:
    body = dict(
        prompt=sentence * times, n_predict=24, temperature=0, top_k=0, min_p=0, repeat_penalty=1.0, cache_prompt=False,
        n_probs=2,
    )
    request = urllib.request.Request(
        f"{server.listening_address}/completion", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    answer = json.load(urllib.request.urlopen(request))
    tops = [[p["logprob"] for p in token["top_logprobs"]] for token in answer["completion_probabilities"]]
    case = {
        "sentence": sentence, "times": times, "text": answer["content"], "prompt_tokens": answer["tokens_evaluated"],
        "completion_tokens": answer["tokens_predicted"], "least_gap": round(min(a - b for a, b in tops), 4),
    }
    print(case)
    cases.append(case)
out = Path(__file__).parent.parent / "workbench/wb-llm/tests/golden/long-context.json"
out.write_text(json.dumps({"model": "stories260K.gguf", "context": CONTEXT, "cases": cases}, indent=1) + "\n")
