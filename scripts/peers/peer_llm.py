"""A plain client of a llama-server, to hold the workbench's against: python peer_llm.py URL KEY JOB.json.
The job: {"parallel", "bodies": [request bodies]}. Prints one line of JSON: seconds, tokens, answers."""

import http.client
import json
import sys
import threading
import time
from urllib.parse import urlparse

url, key, job = urlparse(sys.argv[1]), sys.argv[2], json.load(open(sys.argv[3]))
bodies = [json.dumps(body).encode() for body in job["bodies"]]
headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
lock, at = threading.Lock(), 0
answers = [None] * len(bodies)


def work():
    global at
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=120)
    while True:
        with lock:
            i, at = at, at + 1
        if i >= len(bodies):
            return
        connection.request("POST", "/v1/chat/completions", bodies[i], headers)
        answers[i] = json.loads(connection.getresponse().read())


begin = time.perf_counter()
threads = [threading.Thread(target=work) for _ in range(job["parallel"])]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
seconds = time.perf_counter() - begin
tokens = sum(answer["usage"]["completion_tokens"] for answer in answers)
print(json.dumps({"seconds": seconds, "tokens": tokens, "answers": len(answers)}))
