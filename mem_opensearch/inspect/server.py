"""Serve the page on this machine until it is stopped."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import tempfile
import threading
import webbrowser
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mem_opensearch.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mem_opensearch.inspect.inspector import Inspector

LOOPBACK: Final = "127.0.0.1"


def serve(
    inspector: Inspector,
    *,
    port: int = 0,
    open_browser: bool = False,
    prefilled: Mapping[str, str] | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the page at 127.0.0.1 until the process is interrupted.

    Args:
        inspector: what the page shows.
        port: where; 0 takes a free one.
        open_browser: whether a browser is opened.
        prefilled: user, agent and run that the form begins with.
        say: told the address, token and all, once requests are taken.

    Raises:
        ConfigError: the port is taken.
    """
    import uvicorn

    from mem_opensearch.inspect.app import make_app

    token = secrets.token_urlsafe(32)
    listening = _listen(port)
    port = listening.getsockname()[1]
    url = f"http://{LOOPBACK}:{port}/?token={token}"
    app = make_app(inspector, token=token, port=port, prefilled=prefilled)
    # No access log: the first address holds the token. Questions are in bodies, which nobody logs.
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, lifespan="off")
    say(url)
    with _opened(url) if open_browser else contextlib.nullcontext(), contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])


def _listen(port: int) -> socket.socket:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        listening.listen()
    except (OSError, OverflowError) as error:
        listening.close()
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(
            f"port {port} of {LOOPBACK} can't be had ({reason}); leave --port out for a free one"
        ) from None
    return listening


@contextlib.contextmanager
def _opened(url: str) -> Iterator[None]:
    """Open a browser by way of a file that only its owner reads: arguments of a process are seen by everybody."""
    handle, name = tempfile.mkstemp(prefix="mem-opensearch-", suffix=".html")
    path = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(url)}">')
        threading.Thread(target=webbrowser.open, args=(path.as_uri(),), daemon=True).start()
        yield
    finally:
        path.unlink(missing_ok=True)
