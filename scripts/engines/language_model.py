"""A server that answers as a language model's does, always the same to the same question, and keeps to its schema.

Usage: language_model.py PORT LOG [SECONDS]

LOG has a line for each question, the hash of its body; each is thought about for SECONDS (.02).
"""
import hashlib
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WORDS = "counts reads joins splits sorts finds writes sums merges filters reverses groups".split()


def said(draw):
    return " ".join(WORDS[draw[at % len(draw)] % len(WORDS)] for at in range(12))


def filled(schema, draw):
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][min(1, len(schema["enum"]) - 1)]
    kind = schema.get("type")
    if kind == "object":
        return {name: filled(of, draw[at % 8:]) for at, (name, of) in enumerate(schema["properties"].items())}
    if kind == "array":
        return [filled(schema["items"], draw[at % 8:]) for at in range(schema.get("minItems", 1))]
    return 1 if kind == "integer" else said(draw)[: schema.get("maxLength", 10_000)]


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.reply(404, {"error": "no"})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not self.path.endswith("/v1/chat/completions"):
            return self.reply(404, {"error": "no"})
        draw = hashlib.sha256(body).digest()
        with open(LOG, "a") as log:
            log.write(draw.hex()[:16] + "\n")
        time.sleep(SECONDS)
        schema = json.loads(body).get("response_format", {}).get("json_schema", {}).get("schema")
        content = said(draw) if schema is None else json.dumps(filled(schema, draw))
        choice = {"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        usage = {"prompt_tokens": len(body) // 3, "completion_tokens": 9}
        self.reply(200, {"model": "made-up", "choices": [choice], "usage": usage})

    def reply(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # Who asked was killed.
            super().handle_error(request, client_address)


LOG = sys.argv[2]
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 0.02
Server(("127.0.0.1", int(sys.argv[1])), Model).serve_forever()
