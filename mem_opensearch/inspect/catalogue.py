"""Say what the page says in English, or in Chinese of either script."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

LANGUAGES: Final[Mapping[str, str]] = {"en": "English", "zh-Hans": "简体中文", "zh-Hant": "繁體中文"}
"""Tag of a language -> its own name."""

_TRADITIONAL: Final = ("zh-hant", "zh-tw", "zh-hk", "zh-mo")


@lru_cache
def sentences_of(language: str) -> Mapping[str, str]:
    """Return key -> sentence of a language of `LANGUAGES`."""
    text = files("mem_opensearch.inspect").joinpath("locale", f"{language}.json").read_text(encoding="utf-8")
    found: dict[str, str] = json.loads(text)
    return found


def language_of(accepted: str) -> str:
    """Return the language for a header ``Accept-Language``: the first one that is known, English if none is.

    >>> language_of("fr, zh-TW;q=0.9, en;q=0.8"), language_of("zh-CN"), language_of("")
    ('zh-Hant', 'zh-Hans', 'en')
    """
    for each in _by_weight(accepted):
        if each.startswith(_TRADITIONAL):
            return "zh-Hant"
        if each.startswith("zh"):
            return "zh-Hans"
        if each.startswith("en"):
            return "en"
    return "en"


def _by_weight(accepted: str) -> list[str]:
    weighed = []
    for part in accepted.lower().split(","):
        tag, _, parameter = part.strip().partition(";")
        try:
            weight = float(parameter.partition("=")[2] or 1)
        except ValueError:
            weight = 0.0
        weighed.append((weight, tag.strip()))
    return [tag for weight, tag in sorted(weighed, key=lambda item: -item[0]) if tag and weight > 0]
