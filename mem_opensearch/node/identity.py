"""Tell one process from a later one that was given the same number."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import signal

POLL = 0.1


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process.

    Attributes:
        pid: its number, which the system may give to another process later.
        started: when it began, in the system's own terms; never the same for two processes of one number.
    """

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> ProcessId:
        """The process that has this number now; one that is gone gets an empty `started`."""
        return cls(pid, _started(pid) or "")

    def is_alive(self) -> bool:
        """Whether this very process still runs."""
        return bool(self.started) and _started(self.pid) == self.started

    def send(self, number: signal.Signals) -> None:
        """Send a signal to this very process; nothing happens when it is gone."""
        if self.is_alive():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return

    def wait(self, seconds: float) -> bool:
        """Wait until it is gone; False when it still runs after `seconds`."""
        end = time.monotonic() + seconds
        while self.is_alive():
            if time.monotonic() >= end:
                return False
            time.sleep(POLL)
        return True


def _started(pid: int) -> str | None:
    if sys.platform == "linux":
        try:
            # The name in brackets may hold spaces and brackets: the fields are counted after the last one.
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            return None
        state, ticks = fields[0], fields[19]  # proc(5): fields 3 and 22
        return None if state in "ZX" else f"{_boot()}:{ticks}"
    command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    state, _, began = answer.stdout.strip().partition(" ")
    return None if answer.returncode != 0 or state.startswith("Z") else began.strip()


def _boot() -> str:
    """Ticks count from the start of the machine: which start that was."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
