"""Keep vectors on the disk from one run to the next: embedding is most of an evaluation's time.

What is kept is a number of SHA-256 and a vector, never a text. Who has the file and the model can still guess texts.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Final, cast

from mem_opensearch.embed import load_embedder
from mem_opensearch.errors import ConfigError
from mem_opensearch.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from mem_opensearch.embed import Embedder

    Vectors = npt.NDArray[np.float32]

TOLERANCE: Final = 1e-2
"""Most that a component of a unit vector may differ from what was kept, and the model still be the same one."""
_BUSY_SECONDS: Final = 60.0  # another process writes a batch in milliseconds
_AT_ONCE: Final = 500  # values in one query of SQLite


def named_embedder(name: str, folder: Path | None) -> Embedder:
    """Return the embedder that `name` names; with a folder, one that keeps its vectors there.

    Raises:
        ConfigError: see `load_embedder`; or the folder can't be made.
    """
    embedder = load_embedder(name)
    if folder is None:
        return embedder
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{folder} can't be made: {error.strerror}") from error
    file = re.sub(r"[^\w.-]+", "-", name)
    return KeptEmbedder(embedder, folder / f"{file}-{embedder.dims}.sqlite")


class KeptEmbedder:
    """An `Embedder` over another one that keeps every vector in a file. Several processes may use it at once.

    A model may change and keep its name. So of each kind, queries and documents, the first text of a run that is kept
    is embedded anew; if its vector is another one now, all that was kept is thrown away. A file that is broken is too.

    Attributes:
        name: the inner embedder's.
        dims: the inner embedder's.
    """

    def __init__(self, inner: Embedder, file: Path) -> None:
        self.name = inner.name
        self.dims = inner.dims
        self._inner = inner
        self._file = file
        self._is_checked: set[str] = set()

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, float32, shape ``(len(texts), dims)``."""
        return self._look_up("queries", texts, self._inner.embed_queries)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, float32, shape ``(len(texts), dims)``."""
        return self._look_up("documents", texts, self._inner.embed_documents)

    def _look_up(self, kind: str, texts: Sequence[str], embed: Callable[[Sequence[str]], Vectors]) -> Vectors:
        np = require("numpy", extra="eval", purpose="the evaluation")
        keys = [hashlib.sha256(text.encode(errors="surrogatepass")).digest() for text in texts]
        try:
            kept = self._read(kind, keys)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise self._unusable(error) from error
            self._file.unlink(missing_ok=True)  # it is broken, and only a copy of what can be made again
            kept = {}
        if kept and kind not in self._is_checked:
            place = next(place for place, key in enumerate(keys) if key in kept)
            (again,) = embed([texts[place]])
            if abs(np.asarray(again) - np.frombuffer(kept[keys[place]], np.float32)).max() > TOLERANCE:
                self._file.unlink(missing_ok=True)
                kept = {}
        self._is_checked.add(kind)
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in kept}
        if new:
            vectors = np.asarray(embed(list(new.values())), dtype=np.float32)
            if vectors.shape != (len(new), self.dims):
                return cast("Vectors", vectors)  # the caller says what is wrong with it
            kept |= {key: vector.tobytes() for key, vector in zip(new, vectors, strict=True)}
            try:
                self._write(kind, {key: kept[key] for key in new})
            except sqlite3.DatabaseError as error:
                raise self._unusable(error) from error
        rows: Vectors = np.frombuffer(b"".join(kept[key] for key in keys), np.float32).reshape(len(texts), self.dims)
        return rows

    def _read(self, kind: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        if not self._file.exists():
            return found
        with closing(self._connected()) as connection:
            for start in range(0, len(keys), _AT_ONCE):
                batch = keys[start : start + _AT_ONCE]
                marks = ",".join("?" * len(batch))
                rows = connection.execute(f"SELECT key, vector FROM {kind} WHERE key IN ({marks})", batch)  # noqa: S608 - marks and our own two names
                found.update((key, vector) for key, vector in rows if len(vector) == 4 * self.dims)
        return found

    def _write(self, kind: str, rows: dict[bytes, bytes]) -> None:
        with closing(self._connected()) as connection, connection:
            connection.executemany(f"INSERT OR REPLACE INTO {kind} VALUES (?, ?)", rows.items())  # noqa: S608 - our own two names

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._file, timeout=_BUSY_SECONDS)
        try:
            for kind in ("queries", "documents"):
                connection.execute(f"CREATE TABLE IF NOT EXISTS {kind} (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")
        except BaseException:
            connection.close()
            raise
        return connection

    def _unusable(self, error: sqlite3.DatabaseError) -> ConfigError:
        return ConfigError(f"vectors can't be kept in {self._file}: {error}; give another --cache, or none")
