"""Read the scores out of what a rerank service answers, and write the texts into what it is asked.

Field names are paths: ``"output.results"`` is the field `results` of the field `output`; ``""`` is the whole.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from mem_opensearch.errors import RerankError

if TYPE_CHECKING:
    from collections.abc import Mapping

_LARGEST: Final = sys.float_info.max  # an integer in JSON may be larger, and has no float
_CODE: Final = re.compile(r"[A-Za-z0-9._-]{1,40}")  # an identifier; a sentence has blanks


def put(body: dict[str, Any], path: str, value: object) -> None:
    """Set a field of `body`, and make the objects around it.

    >>> body = {"model": "m"}
    >>> put(body, "input.query", "谁？")
    >>> put(body, "input.documents", ["我"])
    >>> body
    {'model': 'm', 'input': {'query': '谁？', 'documents': ['我']}}
    """
    *around, last = path.split(".")
    for name in around:
        body = body.setdefault(name, {})
    body[last] = value


def find(answer: object, path: str) -> object:
    """Return a field of `answer`, or None where it is not there.

    >>> find({"output": {"results": [1]}}, "output.results"), find([1], ""), find({"output": 1}, "output.results")
    ([1], [1], None)
    """
    for name in path.split(".") if path else ():
        answer = answer.get(name) if isinstance(answer, dict) else None
    return answer


def read_scores(
    answer: object, count: int, *, scorer: str, results: str, index: str = "index", score: str = "relevance_score"
) -> list[float | None]:
    """Return one score per text that was sent, in their order; None for each that the answer leaves out.

    Args:
        answer: the decoded answer.
        count: how many texts were sent.
        scorer: name for the message.
        results: path of the list that holds one object per text, in any order.
        index: field of such an object: which text it is about, 0 for the first.
        score: field of such an object: a number; larger is better.

    Raises:
        RerankError: the answer has no such list, or contradicts itself: an index that no text has, one that stands
            there twice, or a score that is no finite number. Then none of its scores can be trusted.

    >>> answer = {"results": [{"index": 2, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0}]}
    >>> read_scores(answer, 3, scorer="cohere", results="results")
    [0.0, None, 0.9]
    """
    found = find(answer, results)
    if not isinstance(found, list):
        where = f"list '{results}'" if results else "list"
        raise RerankError(
            f"{scorer}: the answer holds no {where} of results; check that 'url' is a rerank endpoint of this kind",
            scorer=scorer,
        )
    scores: list[float | None] = [None] * count
    seen = set[int]()
    for result in found:
        at, value = _index_and_score(result, count, scorer=scorer, index=index, score=score)
        if at in seen:
            raise _contradiction(scorer, f"text {at} has two scores")
        seen.add(at)
        scores[at] = value
    if count and all(value is None for value in scores):
        raise RerankError(f"{scorer}: the answer scores none of {count} texts", scorer=scorer)
    return scores


def _index_and_score(result: object, count: int, *, scorer: str, index: str, score: str) -> tuple[int, float | None]:
    if not isinstance(result, dict):
        raise _contradiction(scorer, "a result is no object")
    at, value = find(result, index), find(result, score)
    if not isinstance(at, int) or isinstance(at, bool):
        raise _contradiction(scorer, f"a result has no whole number as '{index}'")
    if not 0 <= at < count:
        raise _contradiction(scorer, f"'{index}' is {at}, and {count} texts were sent, counted from 0")
    if value is None:
        return at, None
    if not is_number(value):
        raise _contradiction(scorer, f"'{score}' of text {at} is no finite number")
    return at, float(value)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a decoded JSON value is a finite number; true and false are none.

    >>> [is_number(value) for value in (1, 0.5, True, "1", float("nan"), 10**400, None)]
    [True, True, False, False, False, False, False]
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and -_LARGEST <= value <= _LARGEST


def _contradiction(scorer: str, what: str) -> RerankError:
    return RerankError(f"{scorer}: the answer contradicts itself: {what}", scorer=scorer)


def error_code(answer: object) -> str:
    """Return a service's own code or type of an error, or '': never its message, which may quote what was sent.

    >>> error_code({"error": {"code": "model_not_found", "message": "no model for 我住在臺北"}})
    'model_not_found'
    >>> error_code({"error": "the text 我住在臺北 is too long", "error_type": "Validation"}), error_code("no")
    ('Validation', '')
    """
    if not isinstance(answer, dict):
        return ""
    found = [_code_of(answer)]
    inner = answer.get("error")
    if isinstance(inner, dict):
        found.insert(0, _code_of(inner))
    return next((code for code in found if code), "")


def _code_of(answer: Mapping[str, Any]) -> str:
    for name in ("code", "error_code", "type", "error_type"):
        value = answer.get(name)
        text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
        if _CODE.fullmatch(text):
            return text
    return ""
