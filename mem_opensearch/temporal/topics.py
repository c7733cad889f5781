"""Show what is newest first: one memory per topic, and dated lines for a prompt."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mem_opensearch.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Result = dict[str, Any]
"""One result of a search, as mem0 returns it: `memory`, `created_at`, `metadata` and more."""


def latest_per_topic(results: Sequence[Result], *, key: str = "topic") -> list[Result]:
    """Keep the newest result of each topic, in the order given; results without a topic all stay.

    Args:
        results: results of a search.
        key: which key of their `metadata` names the topic.

    Raises:
        InvalidInputError: a topic is not a text or a number.

    >>> old = {"memory": "住在里斯本", "created_at": "2025-03-01T00:00:00Z", "metadata": {"topic": "home"}}
    >>> new = {"memory": "住在柏林", "created_at": "2026-08-01T00:00:00Z", "metadata": {"topic": "home"}}
    >>> [result["memory"] for result in latest_per_topic([old, new])]
    ['住在柏林']
    """
    newest: dict[object, Result] = {}
    for result in results:
        topic = _topic(result, key)
        if topic is not None and (topic not in newest or _time(result) > _time(newest[topic])):
            newest[topic] = result
    return [result for result in results if (topic := _topic(result, key)) is None or newest[topic] is result]


def format_context(results: Sequence[Result], *, key: str = "topic") -> str:
    """Return the results as lines for a prompt, each with its date: by topic, the newest first within each.

    Topics stand in the order of their best result; what has no topic stands at its own place. A memory that was
    replaced says so, so that a model doesn't take it for what holds.

    >>> print(format_context([{"memory": "住在柏林", "created_at": "2026-08-01T09:30:00+08:00"}, {"memory": "喝茶"}]))
    - [2026-08-01] 住在柏林
    - [no date] 喝茶
    """
    groups: dict[object, list[Result]] = {}
    for position, result in enumerate(results):
        topic = _topic(result, key)
        groups.setdefault((position,) if topic is None else topic, []).append(result)
    ordered = [result for group in groups.values() for result in sorted(group, key=_time, reverse=True)]
    return "\n".join(_line(result) for result in ordered)


def _line(result: Mapping[str, Any]) -> str:
    day = str(result.get("created_at") or "")[:10] or "no date"
    details = result.get("score_details") or {}
    ended = " (no longer holds)" if details.get("superseded_by") else ""
    return f"- [{day}] {' '.join(str(result['memory']).split())}{ended}"


def _time(result: Mapping[str, Any]) -> datetime:
    """Return when a result was said; what has no date that can be read comes before all others."""
    try:
        moment = datetime.fromisoformat(str(result.get("created_at")))
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _topic(result: Mapping[str, Any], key: str) -> str | int | float | None:
    topic = (result.get("metadata") or {}).get(key)
    if topic is not None and not isinstance(topic, str | int | float):
        raise InvalidInputError(
            f"'{key}' of memory '{result.get('id')}' is a {type(topic).__name__}; a topic is a text or a number"
        )
    return topic
