"""Scorers that run a cross-encoder on this machine: by sentence-transformers, or by transformers alone."""

from __future__ import annotations

import math
from abc import abstractmethod
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pydantic import Field, PrivateAttr

from mem_opensearch import forks
from mem_opensearch.addresses import Token
from mem_opensearch.entities.lazy import Lazy
from mem_opensearch.errors import MemOpenSearchError, MissingExtraError, RerankError
from mem_opensearch.extras import require
from mem_opensearch.rerank.loading import missing_weights, refuse_untrained
from mem_opensearch.rerank.options import Options

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXTRA: Final = "rerank-models"
_MODEL: Final = (
    "BAAI/bge-reranker-base"  # Chinese and English; mem0's default for sentence-transformers knows English alone
)
_REASON_LIMIT: Final = 300


class _CrossEncoder(Options):
    """A model that reads query and text together. It is loaded at the first call, once, and computes for one at a time.

    Attributes:
        model: name on the hub, or a folder.
        device: "cpu", "cuda", "cuda:1" ...; the best that is there where it is not given.
        batch_size: texts that go through the model together.
        max_length: tokens of query and text together; what is longer is cut. The model's own limit counts where it is
            lower.
        normalize: scores from 0 to 1, by the sigmoid; otherwise as the model gives them.
        api_key: token for the hub, for models that are not open to all.
        trust_remote_code: run Python code that comes with the model, as gte-multilingual-reranker-base wants it.
    """

    needs: ClassVar[tuple[str, ...]] = ()

    model: str = Field(_MODEL, min_length=1)
    device: str | None = None
    batch_size: int = Field(32, ge=1)
    max_length: int | None = Field(512, ge=8)
    normalize: bool = True
    api_key: Token | None = None
    trust_remote_code: bool = False
    most_texts: int | None = Field(None, ge=1)
    most_characters: int | None = Field(None, ge=1)

    _loaded: Lazy[Any] = PrivateAttr()
    _lock: forks.Lock = PrivateAttr()

    def _get_ready(self) -> None:
        for package in self.needs:  # to import torch takes seconds, and is not done before it is needed
            if find_spec(package) is None:
                raise MissingExtraError(_EXTRA, package, f"the reranker '{self.name}'")
        self._loaded = Lazy(self._load_or_explain)
        self._lock = forks.Lock()

    @property
    @abstractmethod
    def name(self) -> str:
        """Short name for messages and tables."""

    def score(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """Return one score per text, in the order of the texts; larger is better.

        Raises:
            RerankError: the model can't be loaded, is no trained reranker, or fails.
        """
        if not texts:
            return []
        loaded = self._loaded.get()
        if isinstance(loaded, RerankError):
            raise RerankError(str(loaded), scorer=self.name)
        try:
            with self._lock:  # a fast tokenizer can't be used by two threads, and one batch takes all cores anyhow
                outputs = self._outputs(loaded, query, list(texts))
        except Exception as error:  # noqa: BLE001 - whatever a model's own code raises
            # The name alone: a tokenizer's words may quote the text.
            raise RerankError(
                f"{self.name}: '{self.model}' failed ({type(error).__name__}); if memory is short, lower 'batch_size' "
                "or 'max_length'",
                scorer=self.name,
            ) from None
        return [self._score_of(output) for output in outputs]

    def _score_of(self, output: list[float]) -> float:
        """Return the score in what the model gives for one text: one number, or one each for "no" and "yes"."""
        if len(output) == 1:
            logit = output[0]
        elif len(output) == 2:  # noqa: PLR2004 - "no" and "yes"
            logit = output[1] - output[0]
        else:
            raise RerankError(
                f"{self.name}: '{self.model}' gives {len(output)} numbers a text, and a reranker one or two: it is a "
                "classifier of something else",
                scorer=self.name,
            )
        return sigmoid(logit) if self.normalize else logit

    def _load_or_explain(self) -> Any:  # noqa: ANN401 - a model of a package that may not be installed
        """Return the loaded model, or why it is no reranker: that stays so, and loading it again would take long."""
        try:
            return self._load()
        except RerankError as error:
            return error
        except MemOpenSearchError:
            raise
        except Exception as error:
            reason = " ".join(str(error).split())[:_REASON_LIMIT]
            raise RerankError(
                f"{self.name}: '{self.model}' can't be loaded: {type(error).__name__}: {reason}", scorer=self.name
            ) from error

    def _require(self, package: str) -> Any:  # noqa: ANN401 - a package that may not be installed
        return require(package, extra=_EXTRA, purpose=f"the reranker '{self.name}'")

    def _token(self) -> str | None:
        return None if self.api_key is None else self.api_key.get_secret_value()

    @abstractmethod
    def _load(self) -> Any: ...  # noqa: ANN401 - a model of a package that may not be installed

    @abstractmethod
    def _outputs(self, loaded: Any, query: str, texts: list[str]) -> list[list[float]]: ...  # noqa: ANN401 - what _load returned


class SentenceTransformer(_CrossEncoder):
    """A cross-encoder by sentence-transformers, which also knows rerankers that are language models (Qwen3-Reranker).

    Attributes:
        max_length: as above; where it is not given, what the model says.
        show_progress_bar: draw a progress bar on standard error.
    """

    needs: ClassVar[tuple[str, ...]] = ("sentence_transformers",)

    max_length: int | None = Field(None, ge=8)
    show_progress_bar: bool = False

    @property
    def name(self) -> str:
        """Short name for messages and tables."""
        return "sentence_transformer"

    def _load(self) -> Any:  # noqa: ANN401 - a CrossEncoder
        library, transformers = self._require("sentence_transformers"), self._require("transformers")
        with missing_weights(transformers.AutoModelForSequenceClassification) as missing:
            loaded = library.CrossEncoder(
                self.model,
                device=self.device,
                max_length=self.max_length,
                trust_remote_code=self.trust_remote_code,
                token=self._token(),
            )
        refuse_untrained(missing, model=self.model, scorer=self.name)
        return loaded

    def _outputs(self, loaded: Any, query: str, texts: list[str]) -> list[list[float]]:  # noqa: ANN401 - a CrossEncoder
        found = loaded.predict(
            [(query, text) for text in texts],
            batch_size=self.batch_size,
            show_progress_bar=self.show_progress_bar,
            activation_fn=self._require("torch").nn.Identity(),  # the library's own would be a softmax for some models
        )
        return [row if isinstance(row, list) else [row] for row in found.tolist()]


class HuggingFace(_CrossEncoder):
    """A cross-encoder by transformers alone: ``AutoModelForSequenceClassification`` and its tokenizer."""

    needs: ClassVar[tuple[str, ...]] = ("transformers", "torch")

    @property
    def name(self) -> str:
        """Short name for messages and tables."""
        return "huggingface"

    def _load(self) -> Any:  # noqa: ANN401 - a tokenizer and a model
        transformers, torch = self._require("transformers"), self._require("torch")
        options = {"trust_remote_code": self.trust_remote_code, "token": self._token()}
        tokenizer = transformers.AutoTokenizer.from_pretrained(self.model, **options)
        model, information = transformers.AutoModelForSequenceClassification.from_pretrained(
            self.model, output_loading_info=True, **options
        )
        refuse_untrained(information["missing_keys"], model=self.model, scorer=self.name)
        device = self.device or ("cuda" if torch.cuda.is_available() else "cpu")
        return tokenizer, model.to(device).eval()

    def _outputs(self, loaded: Any, query: str, texts: list[str]) -> list[list[float]]:  # noqa: ANN401 - what _load returned
        torch = self._require("torch")
        tokenizer, model = loaded
        most = min(self.max_length or tokenizer.model_max_length, tokenizer.model_max_length)
        outputs: list[list[float]] = []
        for start in range(0, len(texts), self.batch_size):
            batch = texts[start : start + self.batch_size]
            inputs = tokenizer(
                [query] * len(batch), batch, padding=True, truncation=True, max_length=most, return_tensors="pt"
            )
            with torch.inference_mode():
                logits = model(**inputs.to(model.device)).logits
            outputs += logits.float().cpu().tolist()
        return outputs


def sigmoid(logit: float) -> float:
    """Return 1 / (1 + exp(-logit)), in double precision, where float32 would give 1 for everything above 17.

    >>> sigmoid(0), sigmoid(20) < sigmoid(21) < 1, sigmoid(-1000), sigmoid(1000)
    (0.5, True, 0.0, 1.0)
    """
    if logit >= 0:
        return 1 / (1 + math.exp(-logit))
    grown = math.exp(logit)
    return grown / (1 + grown)
