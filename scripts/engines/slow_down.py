"""A server of S3 that asks every third request to come again later, before one that does not.

Usage: slow_down.py PORT TARGET LOG

TARGET is `127.0.0.1:PORT` of the server behind it. LOG has a line for each request that was asked to come again.
"""
import http.client
import itertools
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SLOW_DOWN = b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
NUMBERS = itertools.count(1)


class Proxy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def forward(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if next(NUMBERS) % 3 == 0:
            with open(LOG, "a") as log:
                log.write(f"{self.command} {self.path}\n")
            return self.reply(503, [("content-type", "application/xml")], SLOW_DOWN)
        behind = http.client.HTTPConnection(TARGET)
        behind.request(self.command, self.path, body, dict(self.headers.items()))
        answer = behind.getresponse()
        content = answer.read()
        kept = [(name, value) for name, value in answer.getheaders() if name.lower() not in ("content-length", "transfer-encoding", "connection")]
        self.reply(answer.status, kept, content, answer.getheader("content-length"))
        behind.close()

    def reply(self, status, headers, body, length=None):
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        # Of a HEAD, the length of what is not sent.
        self.send_header("content-length", length if self.command == "HEAD" and length else str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = forward

    def log_message(self, *_):
        pass


TARGET, LOG = sys.argv[2:4]
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Proxy).serve_forever()
