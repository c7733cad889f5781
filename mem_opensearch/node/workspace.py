"""Lay out the folder that a node writes: servers' data and logs, snapshots, and who uses it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mem_opensearch.errors import NodeStartError
from mem_opensearch.extras import require
from mem_opensearch.node.account import blocking_folder, give, temporary_parent
from mem_opensearch.node.dictionary import read_words, with_folded
from mem_opensearch.node.identity import ProcessId
from mem_opensearch.node.settings import CONSOLE_FILE, LOG_FILE, LOGGING, Member, build_settings, render_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mem_opensearch.node.account import Account
    from mem_opensearch.node.options import NodeOptions

RECORD = "node.json"
USER_WORDS = Path("ik") / "user.dic"


class DataInUseError(NodeStartError):
    """Another node uses the data folder.

    Attributes:
        urls: where that node answers.
        version: its version.
        analysis: its analysis options.
    """

    def __init__(self, message: str, *, urls: Sequence[str], version: str, analysis: Sequence[str]) -> None:
        self.urls = list(urls)
        self.version = version
        self.analysis = tuple(analysis)
        super().__init__(message)


class Workspace:
    """The folder of one node.

    Attributes:
        folder: the folder itself.
        temporary: whether it is removed when the node stops.
    """

    def __init__(self, folder: Path, *, temporary: bool, account: Account | None) -> None:
        self.folder = folder
        self.temporary = temporary
        self._account = account

    @classmethod
    def open(cls, data: Path | None, account: Account | None) -> Workspace:
        """Make the folder if it is not there.

        Raises:
            NodeStartError: when it can't be written, or not be entered by the account; names the folder.
        """
        if data is None:
            folder = Path(tempfile.mkdtemp(prefix="mem-opensearch-", dir=temporary_parent(account)))
            give(folder, account)
            return cls(folder, temporary=True, account=account)
        fresh = [each for each in (data, *data.parents) if not each.exists()]
        try:
            data.mkdir(parents=True, exist_ok=True)
            if account is not None:
                for each in fresh:
                    each.chmod(0o755)  # whatever the umask: the account has to pass
        except OSError as error:
            raise NodeStartError(
                f"data folder {data} can't be made: {error.strerror}; choose another with data="
            ) from error
        if not os.access(data, os.W_OK | os.X_OK):
            raise NodeStartError(f"data folder {data} is not writable; change its owner, or choose another with data=")
        if account is not None and (blocking := blocking_folder(data, account)) is not None:
            raise NodeStartError(
                f"data folder {data} can't be used: the server runs as {account.name!r}, which can't enter {blocking}; "
                "choose a folder that all may enter, such as one in /var/lib, or run as an ordinary user"
            )
        return cls(data, temporary=False, account=account)

    @property
    def snapshots(self) -> Path:
        """Where snapshot repositories may be (the setting ``path.repo``)."""
        return self.folder / "snapshots"

    @contextmanager
    def starting(self, options: NodeOptions) -> Iterator[None]:
        """Hold the folder while a node starts in it, after a look whether that may be.

        Raises:
            DataInUseError: another node uses it.
            NodeStartError: it belongs to a node of another kind.
        """
        if self.temporary:
            yield
            return
        portalocker = require("portalocker", extra="local", purpose="the local node")
        with (self.folder / "start.lock").open("a") as stream:
            portalocker.lock(stream, portalocker.LockFlags.EXCLUSIVE)  # waits for one that is just starting
            try:
                self._check_record(options)
                yield
            finally:
                portalocker.unlock(stream)

    def prepare(self, member: Member, members: Sequence[Member], words: Sequence[str]) -> None:
        """Write the configuration of one server; its data stays as it is."""
        for name in ("config", "data", "logs", "tmp"):
            (member.folder / name).mkdir(parents=True, exist_ok=True)
        self.snapshots.mkdir(exist_ok=True)
        config = member.folder / "config"
        text = render_settings(build_settings(member, members, snapshots=self.snapshots))
        (config / "opensearch.yml").write_text(text, encoding="utf-8")
        (config / "log4j2.properties").write_text(LOGGING, encoding="utf-8")
        (config / "jvm.options").write_text("", encoding="utf-8")  # all flags are on the command line
        words_file = config / USER_WORDS
        words_file.parent.mkdir(exist_ok=True)
        words_file.write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
        (member.folder / "logs" / CONSOLE_FILE).write_text("", encoding="utf-8")
        (member.folder / "logs" / LOG_FILE).unlink(missing_ok=True)  # else a failure of last time looks like one of now
        for part in (member.folder, self.snapshots):
            give(part, self._account)

    def user_words(self, options: NodeOptions) -> list[str]:
        """The user's words from the dictionary named in the options and from ``ik/user.dic`` of a kept folder."""
        if "ik" not in options.analysis:
            return []
        words = read_words(options.dictionary) if options.dictionary else []
        own = self.folder / USER_WORDS
        if not self.temporary and own.is_file():
            words += read_words(own)
        return with_folded(words) if words else []

    def note(self, options: NodeOptions, servers: Sequence[tuple[ProcessId, str]]) -> None:
        """Write down who uses a kept folder: the processes and where they answer; nobody when `servers` is empty."""
        if self.temporary:
            return
        record = {
            "version": options.lock.version,
            "analysis": list(options.analysis),
            "nodes": options.nodes,
            "servers": [{"pid": process.pid, "started": process.started, "url": url} for process, url in servers],
        }
        fresh = self.folder / f"{RECORD}.new"
        fresh.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        fresh.replace(self.folder / RECORD)

    def remove(self) -> None:
        """Remove a temporary folder; a kept one stays."""
        if self.temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _check_record(self, options: NodeOptions) -> None:
        try:
            record = json.loads((self.folder / RECORD).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return
        alive = [each for each in record["servers"] if ProcessId(each["pid"], each["started"]).is_alive()]
        if alive:
            raise DataInUseError(
                f"data folder {self.folder} is in use by the node at {alive[0]['url']} (process {alive[0]['pid']}); "
                "use that node, stop it, or choose another folder with data=",
                urls=[each["url"] for each in alive],
                version=record["version"],
                analysis=record["analysis"],
            )
        if record["nodes"] != options.nodes:
            raise NodeStartError(
                f"data folder {self.folder} was written by {record['nodes']} servers and can't be opened by "
                f"{options.nodes}; give nodes={record['nodes']}, or choose another folder with data="
            )
        if _numbers(record["version"]) > _numbers(options.lock.version):
            raise NodeStartError(
                f"data folder {self.folder} was written by OpenSearch {record['version']} and can't be opened by "
                f"{options.lock.version}; start {record['version']}, or choose another folder with data="
            )


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]
