"""A server that takes a fifth of a second for every search; run as a process of its own.

It asks the real node once for each kind of search and repeats that answer: the client is measured, not the node.
Usage: slow_server.py URL SECONDS; prints its own URL. GET /_searches tells how many searches it was asked for.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

URL, SECONDS = sys.argv[1], float(sys.argv[2])
_known: dict[str, tuple[int, bytes]] = {}
_lock = threading.Lock()
_searches = itertools.count()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        if path == "/_searches":
            self.answer(200, str(next(_searches)).encode())
            return
        is_search = path.endswith(("/_search", "/_msearch"))
        if is_search:
            next(_searches)
            time.sleep(SECONDS)
        with _lock:
            status, answer = (is_search and _known.get(path)) or self.forward(body)
            if is_search and b'"hits":[{' in answer:
                _known[path] = status, answer
        self.answer(status, answer)

    def answer(self, status, answer):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    def forward(self, body):
        headers = {"Content-Type": self.headers.get("Content-Type") or "application/json"}
        request = urllib.request.Request(URL + self.path, data=body or None, headers=headers, method=self.command)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def log_message(self, *_):
        pass

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = serve  # noqa: N815 - the base class's names


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


server = Server(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
