"""Servers of HTTP in the tests' own process."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class QuietHandler(BaseHTTPRequestHandler):
    """A handler that logs nothing."""

    def log_message(self, *_: object) -> None: ...

    def reply(self, content: bytes, status: int = 200, **headers: str) -> None:
        """Send a whole response. headers: with `_` for `-`."""
        self.send_response(status)
        for name, value in {"content_length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)


class LocalServer(ThreadingHTTPServer):
    """Serves from the beginning, at `address`; closing it ends that."""

    def __init__(self, handler: Callable[..., BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def server_close(self) -> None:
        self.shutdown()
        super().server_close()
