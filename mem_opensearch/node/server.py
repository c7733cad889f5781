"""Run one server process and watch it."""

from __future__ import annotations

import http.client
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from mem_opensearch.errors import NodeDiedError, NodeStartError
from mem_opensearch.node.failures import TAIL, read_tail
from mem_opensearch.node.identity import ProcessId
from mem_opensearch.node.settings import CONSOLE_FILE, LOG_FILE, LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.node.account import Account
    from mem_opensearch.node.settings import Member

GRACE = 20.0  # seconds from the request to end to the order
PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH")
"""What of the caller's environment the server gets: not its secrets, and no Java options meant for another program."""
OK = 200
_logger = logging.getLogger("mem_opensearch.node")


class Server:
    """One running server.

    Attributes:
        member: its name, ports and folder.
        identity: its process.
    """

    def __init__(self, member: Member, command: Sequence[str], *, account: Account | None) -> None:
        self.member = member
        self._end_is_news = False
        self._watchdog: subprocess.Popen[bytes] | None = None
        environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        with self.console.open("ab") as console:
            self._process = subprocess.Popen(  # noqa: S603
                list(command),
                cwd=member.folder,
                env={**environment, "HOME": str(member.folder)},
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the caller, which then stops it in good order
                user=account.uid if account else None,
                group=account.gid if account else None,
                extra_groups=[] if account else None,
            )
        self.identity = ProcessId.of(self._process.pid)
        threading.Thread(target=self._notice_end, name=f"watch-{member.name}", daemon=True).start()

    @property
    def pid(self) -> int:
        """Its process number."""
        return self._process.pid

    @property
    def console(self) -> Path:
        """What it writes to its standard output and error."""
        return self.member.folder / "logs" / CONSOLE_FILE

    @property
    def log(self) -> Path:
        """Its log."""
        return self.member.folder / "logs" / LOG_FILE

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative: the signal that ended it."""
        return self._process.poll()

    def guard(self, temporary: Path | None) -> None:
        """Have it ended when this process is gone, in whatever way that ends; and remove a temporary folder then."""
        program = Path(__file__).with_name("watchdog.py")
        command = [sys.executable, "-I", "-S", str(program), str(os.getpid()), str(self.pid), str(temporary or "")]
        self._watchdog = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def watch(self) -> None:
        """From now on, an end that nobody asked for is logged as an error when it happens."""
        self._end_is_news = True

    def check(self) -> None:
        """Raise `NodeDiedError` if it is gone."""
        code = self.exit_code
        if code is not None:
            lines = "".join(f"\n  | {line}" for line in self.log_tail())
            raise NodeDiedError(f"{self.describe()} {describe_exit(code)}; its log is {self.log}{lines}")

    def log_tail(self, lines: int = TAIL) -> list[str]:
        """The last lines of its log, or of its console while there is no log."""
        return read_tail(self.log, lines) or read_tail(self.console, lines)

    def both_tails(self) -> list[str]:
        """The last lines of console and log, for the reason of a failed start."""
        return [*read_tail(self.console), *read_tail(self.log)]

    def answers(self, path: str = "/", *, timeout: float = 5.0) -> Mapping[str, object] | None:
        """What it answers to a GET, or None when it gives no good answer."""
        return get_json(self.member.http, path, timeout=timeout)

    def wait_until_up(self, deadline: float) -> None:
        """Return when it answers requests.

        Raises:
            NodeStartError: it ended, or the time is over (without a reason: the caller knows more).
        """
        while self.answers() is None:
            code = self.exit_code
            if code is not None:
                raise NodeStartError(f"it {describe_exit(code)}")
            if time.monotonic() >= deadline:
                raise NodeStartError("it gives no answer in the time allowed; give more with timeout=")
            time.sleep(0.1)

    def request_end(self) -> None:
        """Ask it to end; does not wait."""
        self._end_is_news = False
        if self.exit_code is None:
            self._process.terminate()

    def end(self, *, grace: float = GRACE) -> None:
        """End it and wait: by request, then by force."""
        self.request_end()
        try:
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reap_watchdog()

    def send_kill(self) -> None:
        """Have it ended at once, as a crash would; does not wait."""
        self._end_is_news = False
        self._process.send_signal(signal.SIGKILL)

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self.send_kill()
        self._process.wait()
        self._reap_watchdog()

    def let_go(self) -> None:
        """Leave it running when this process ends, and say nothing about its end."""
        self._end_is_news = False
        if self._watchdog is not None:
            self._watchdog.kill()
            self._watchdog.wait()
            self._watchdog = None
        self._process.returncode = 0  # else Popen warns that a child still runs when the object goes

    def describe(self) -> str:
        """Name and process for messages."""
        return f"OpenSearch {self.member.name} (process {self.pid}, {self.member.url})"

    def _reap_watchdog(self) -> None:
        if self._watchdog is not None:
            try:
                self._watchdog.wait(5.0)  # it ends by itself when the server is gone
            except subprocess.TimeoutExpired:
                self._watchdog.kill()
                self._watchdog.wait()
            self._watchdog = None

    def _notice_end(self) -> None:
        code = self._process.wait()
        if self._end_is_news:
            _logger.error("%s %s; its log is %s", self.describe(), describe_exit(code), self.log)


def describe_exit(code: int) -> str:
    """An exit code of a process in words."""
    if code < 0:
        return f"was ended by signal {-code} ({signal.Signals(-code).name})"
    return f"ended with exit code {code}"


def get_json(port: int, path: str, *, timeout: float = 5.0) -> Mapping[str, object] | None:
    """The JSON object that a local server answers to a GET; None when there is no good answer. No proxy is used."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=timeout)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
        answer = json.loads(body) if response.status == OK else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
    return answer if isinstance(answer, dict) else None
