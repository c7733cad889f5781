"""Keep the published files of a node in the cache: whole, checked, and fetched once."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mem_opensearch.extras import require
from mem_opensearch.node.download import fetch, is_intact, open_session, repositories
from mem_opensearch.node.progress import show_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mem_opensearch.node.lockfile import Artifact

THREADS = 6
_logger = logging.getLogger("mem_opensearch.node")


def artifact_file(cache: Path, artifact: Artifact) -> Path:
    """Where the cache keeps the artifact."""
    return cache / "artifacts" / artifact.path


def ensure_artifacts(cache: Path, artifacts: Sequence[Artifact], *, title: str, quiet: bool) -> frozenset[str]:
    """Have every artifact in the cache, with the bytes that the lock names.

    The sums are computed anew each time (0.1 s for 96 MB): a changed byte is found whatever the file's size and time
    say. Needs no network when all is there. Safe in several processes at once: one fetches, the others wait for it.

    Args:
        cache: the cache folder.
        artifacts: what is needed.
        title: what they make up, for the progress display.
        quiet: show no progress.

    Returns:
        The names of the files that were fetched.

    Raises:
        ArtifactError: when one can't be had.
    """
    if not _missing(cache, artifacts):
        return frozenset()
    with cache_lock(cache):
        missing = _missing(cache, artifacts)  # another process may have fetched them meanwhile
        if not missing:
            return frozenset()
        for artifact in missing:
            if artifact_file(cache, artifact).exists():
                _logger.warning("%s in the cache is damaged, it is fetched again", artifact.filename)
        total = sum(artifact.size for artifact in missing)
        with show_bytes(title, total, quiet=quiet) as advance, open_session() as session:
            sources = repositories()

            def fetch_one(artifact: Artifact) -> None:
                target = artifact_file(cache, artifact)
                fetch(artifact, target, session=session, sources=sources, advance=advance)
                target.chmod(0o644)  # whatever the umask: the node may run as another account

            with ThreadPoolExecutor(THREADS) as pool:
                jobs = [pool.submit(fetch_one, artifact) for artifact in _largest_first(missing)]
                try:
                    for job in jobs:
                        job.result()
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
        return frozenset(artifact.filename for artifact in missing)


@contextmanager
def cache_lock(cache: Path) -> Iterator[None]:
    """Hold the cache for writing; the system frees it when the holder ends in whatever way."""
    portalocker = require("portalocker", extra="local", purpose="the local node")
    cache.mkdir(parents=True, exist_ok=True)
    path = cache / "write.lock"
    with path.open("a") as stream:
        try:
            portalocker.lock(stream, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.LockException:
            _logger.warning("another process prepares the node in %s, waiting for it", cache)
            portalocker.lock(stream, portalocker.LockFlags.EXCLUSIVE)
        try:
            yield
        finally:
            portalocker.unlock(stream)


def _missing(cache: Path, artifacts: Sequence[Artifact]) -> list[Artifact]:
    with ThreadPoolExecutor(THREADS) as pool:
        intact = pool.map(lambda artifact: is_intact(artifact_file(cache, artifact), artifact), artifacts)
        return [artifact for artifact, good in zip(artifacts, intact, strict=True) if not good]


def _largest_first(artifacts: Sequence[Artifact]) -> list[Artifact]:
    return sorted(artifacts, key=lambda artifact: artifact.size, reverse=True)
