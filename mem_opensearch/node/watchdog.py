"""End a server whose owner is gone. Run as a program: ``python -I -S watchdog.py OWNER SERVER [FOLDER]``.

A process of its own, because nothing inside a process survives ``kill -9``; and it asks who its parent is instead of
holding a pipe, because children that the owner forks would hold the pipe open. It imports nothing of the package.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import sys
import time

INTERVAL = 0.5  # seconds between two looks
GRACE = 10.0  # seconds from the request to end to the order


def watch(owner: int, server: int, folder: str) -> None:
    """Return when the server is gone, after ending it if the owner (our parent) is.

    Args:
        owner: process number of the parent.
        server: process number of the server, a living child of the owner.
        folder: temporary folder to remove when the owner is gone, or "".
    """
    handle = os.pidfd_open(server) if hasattr(os, "pidfd_open") else None
    if os.getppid() == owner and _gone(handle, server):
        return
    while os.getppid() == owner:
        if _wait(handle, server, INTERVAL):
            return
    _send(handle, server, signal.SIGTERM)
    if not _wait(handle, server, GRACE):
        _send(handle, server, signal.SIGKILL)
        _wait(handle, server, GRACE)
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(handle: int | None, server: int, seconds: float) -> bool:
    """Whether the server ended within `seconds`."""
    if handle is not None:
        return bool(select.select([handle], [], [], seconds)[0])
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if _gone(None, server):
            return True
        time.sleep(min(INTERVAL, seconds))
    return False


def _gone(handle: int | None, server: int) -> bool:
    if handle is not None:
        return bool(select.select([handle], [], [], 0)[0])
    try:
        os.kill(server, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _send(handle: int | None, server: int, number: signal.Signals) -> None:
    try:
        if handle is not None:
            signal.pidfd_send_signal(handle, number)  # can't hit another process that got the same number
        else:
            os.kill(server, number)
    except ProcessLookupError:
        return


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(ProcessLookupError):  # the server was gone before this program began
        watch(int(sys.argv[1]), int(sys.argv[2]), "".join(sys.argv[3:]))
