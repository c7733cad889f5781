"""See what transformers says about the weights that it loads: a model without a trained head gives random scores."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from mem_opensearch import forks
from mem_opensearch.errors import RerankError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SHOWN: Final = 3
_one_at_a_time = forks.Lock()


@contextmanager
def missing_weights(auto_class: Any) -> Iterator[set[str]]:  # noqa: ANN401 - a class of transformers, which may not be there
    """Give a set, and put into it the names of weights that a checkpoint loaded meanwhile by `auto_class` lacks.

    `CrossEncoder` loads by ``AutoModelForSequenceClassification.from_pretrained``, and has no way to hand on
    transformers' loading information. So that method asks for it while this lasts, and gives it to nobody else who
    hasn't asked.
    """
    missing = set[str]()
    original, own = auto_class.from_pretrained, vars(auto_class).get("from_pretrained")

    def from_pretrained(*arguments: Any, output_loading_info: bool = False, **options: Any) -> Any:  # noqa: ANN401 - the library's own
        model, information = original(*arguments, output_loading_info=True, **options)
        missing.update(information["missing_keys"])
        return (model, information) if output_loading_info else model

    with _one_at_a_time:
        auto_class.from_pretrained = from_pretrained
        try:
            yield missing
        finally:
            if own is None:
                del auto_class.from_pretrained  # the one that it inherits is back
            else:
                auto_class.from_pretrained = own


def refuse_untrained(missing: Iterable[str], *, model: str, scorer: str) -> None:
    """Refuse a model of which some weights were not in its files.

    Raises:
        RerankError: names some of them.
    """
    names = sorted(missing)
    if names:
        shown = ", ".join(names[:_SHOWN]) + (" ..." if len(names) > _SHOWN else "")
        raise RerankError(
            f"{scorer}: '{model}' is no trained reranker: {shown} newly initialized, so its scores would be random. "
            "Give a cross-encoder such as BAAI/bge-reranker-v2-m3; for one that is a language model, such as "
            "Qwen3-Reranker, take 'sentence_transformer'",
            scorer=scorer,
        )
