"""Give files to the account that the server runs as when the caller is root.

OpenSearch refuses to run as root. The account is an ordinary one that exists; it gets its run folder and nothing else.
"""

from __future__ import annotations

import os
import pwd
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mem_opensearch.errors import NodeStartError
from mem_opensearch.node.places import is_root

CANDIDATES = ("opensearch", "nobody", "daemon")


@dataclass(frozen=True, slots=True)
class Account:
    """An unprivileged account: name, user id and group id."""

    name: str
    uid: int
    gid: int


def node_account() -> Account | None:
    """The account to run the server as, or None when this process is unprivileged and simply runs it.

    Raises:
        NodeStartError: when this process is root and no unprivileged account exists.
    """
    if not is_root():
        return None
    for name in CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return Account(name, entry.pw_uid, entry.pw_gid)
    known = ", ".join(CANDIDATES)
    raise NodeStartError(f"OpenSearch does not run as root, and none of the accounts {known} exists; run as a user")


def can_read(path: Path, account: Account | None) -> bool:
    """Whether the account can enter every folder above `path` and read it (by mode bits; None: this process)."""
    if account is None:
        return os.access(path, os.R_OK)
    real = path.resolve()
    return all(_allows(parent, account, 0o1) for parent in real.parents) and _allows(real, account, 0o4)


def blocking_folder(path: Path, account: Account) -> Path | None:
    """The first folder on the way to `path`, itself included, that the account can't enter."""
    real = path.resolve()
    return next((each for each in reversed((real, *real.parents)) if not _allows(each, account, 0o1)), None)


def give(path: Path, account: Account | None) -> None:
    """Make the account the owner of `path` and of all below it; does nothing for None."""
    if account is None:
        return
    os.chown(path, account.uid, account.gid, follow_symlinks=False)
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            os.chown(Path(folder) / name, account.uid, account.gid, follow_symlinks=False)


def temporary_parent(account: Account | None) -> Path:
    """The folder for temporary data: the system's choice, or one that the account can enter."""
    usual = Path(tempfile.gettempdir())
    if account is None:
        return usual
    for folder in (usual, Path("/tmp"), Path("/var/tmp")):  # noqa: S108 - names are made by mkdtemp
        if folder.is_dir() and blocking_folder(folder, account) is None:
            return folder
    raise NodeStartError(f"account {account.name!r} can't enter {usual}; set TMPDIR to a folder that all may enter")


def _allows(path: Path, account: Account, bit: int) -> bool:
    try:
        info = path.stat()
    except OSError:
        return False
    mode = stat.S_IMODE(info.st_mode)
    if info.st_uid == account.uid:
        return bool(mode & (bit << 6))
    if info.st_gid == account.gid:
        return bool(mode & (bit << 3))
    return bool(mode & bit)
