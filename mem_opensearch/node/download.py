"""Fetch one published file, resume it where it was broken off, and check it."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from mem_opensearch.errors import ArtifactError
from mem_opensearch.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import requests

    from mem_opensearch.node.lockfile import Artifact

MIRROR_VARIABLE = "MEM_OPENSEARCH_MAVEN"
CHUNK = 1 << 16
TIMEOUT = (10.0, 60.0)  # seconds to connect, and between two chunks
TRIES = 5
PARTIAL, NOT_SATISFIABLE = 206, 416
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})  # an answer that may be another one the next time


def repositories() -> tuple[str, ...]:
    """Addresses of the Maven repositories: the user's mirror if one is named, else those that jgo knows."""
    if mirror := os.environ.get(MIRROR_VARIABLE):
        return (mirror.rstrip("/"),)
    context = require("jgo.maven", extra="local", purpose="fetching the local node").MavenContext()
    return tuple(str(url).rstrip("/") for url in context.remote_repos.values())


def open_session() -> requests.Session:
    """An HTTP session that trusts what the environment trusts (``SSL_CERT_FILE`` besides what requests reads)."""
    session: requests.Session = require("requests", extra="local", purpose="fetching the local node").Session()
    certificates = os.environ.get("SSL_CERT_FILE")
    if certificates and not (os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")):
        session.verify = certificates
    session.headers["Accept-Encoding"] = "identity"  # a range counts the bytes of the file, not of its compression
    return session


def file_digest(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def is_intact(path: Path, artifact: Artifact) -> bool:
    """Whether `path` exists and holds exactly the bytes that the lock names."""
    try:
        return path.stat().st_size == artifact.size and file_digest(path) == artifact.sha256
    except FileNotFoundError:
        return False


def fetch(
    artifact: Artifact,
    target: Path,
    *,
    session: requests.Session,
    sources: Sequence[str],
    advance: Callable[[int], None],
) -> None:
    """Download `artifact` to `target` through ``<target>.part``, which a later call continues.

    Args:
        artifact: what to fetch.
        target: where it shall be; appears only when complete and checked.
        session: HTTP session.
        sources: addresses of Maven repositories, tried in this order.
        advance: told the number of new bytes, negative when bytes have to be fetched again.

    Raises:
        ArtifactError: nothing usable came after all tries: says what each source answered.
    """
    tenacity = require("tenacity", extra="local", purpose="fetching the local node")
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    progress = _Progress(part, advance)
    answers: list[str] = []
    for source in sources:
        url = f"{source}/{artifact.path}"
        tries = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(TRIES),
            wait=tenacity.wait_random_exponential(multiplier=0.5, max=8.0),
            retry=tenacity.retry_if_exception_type(_PassingError),
            reraise=True,
        )
        try:
            tries(_stream, url, artifact, progress, session)
        except (_PassingError, _RefusedError) as error:
            answers.append(f"{url}: {error}")
            continue
        part.replace(target)
        return
    raise ArtifactError(
        f"{artifact.filename} could not be fetched; " + "; ".join(answers) + "; check the network, or name a mirror "
        f"of the Maven repository in {MIRROR_VARIABLE}"
    )


class _PassingError(Exception):
    """May be gone at the next try."""


class _RefusedError(Exception):
    """Will not be gone at the next try."""


class _Progress:
    """The part file, and how much of it was told."""

    def __init__(self, part: Path, advance: Callable[[int], None]) -> None:
        self.part = part
        self._advance = advance
        self._told = 0
        self.tell(self.size())

    def size(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def tell(self, size: int) -> None:
        self._advance(size - self._told)
        self._told = size

    def drop(self) -> None:
        self.part.unlink(missing_ok=True)
        self.tell(0)


def _stream(url: str, artifact: Artifact, progress: _Progress, session: requests.Session) -> None:
    from requests import RequestException
    from urllib3.exceptions import HTTPError

    if progress.size() > artifact.size:
        progress.drop()
    begin = progress.size()
    if begin < artifact.size:
        headers = {"Range": f"bytes={begin}-"} if begin else {}
        try:
            with session.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
                _check_status(response, progress)
                appending = response.status_code == PARTIAL
                if not appending:
                    progress.tell(0)  # the whole file comes again
                _write(response, progress, append=appending)
        except (RequestException, HTTPError) as error:
            raise _PassingError(f"{type(error).__name__}: {error}") from error
    if progress.size() < artifact.size:
        raise _PassingError(f"ended after {progress.size()} of {artifact.size} bytes")
    if not is_intact(progress.part, artifact):
        given = file_digest(progress.part)
        progress.drop()  # what is wrong must not be continued
        raise _PassingError(f"its SHA-256 is {given}, the lock says {artifact.sha256}")


def _check_status(response: requests.Response, progress: _Progress) -> None:
    if response.ok:
        return
    if response.status_code == NOT_SATISFIABLE:
        progress.drop()
        raise _PassingError("the rest of the file is refused, so it is fetched again")
    kind = _PassingError if response.status_code in PASSING else _RefusedError
    raise kind(f"HTTP {response.status_code}")


def _write(response: requests.Response, progress: _Progress, *, append: bool) -> None:
    with progress.part.open("ab" if append else "wb") as stream:
        done = stream.tell() if append else 0
        for chunk in response.iter_content(CHUNK):
            stream.write(chunk)
            done += len(chunk)
            progress.tell(done)
