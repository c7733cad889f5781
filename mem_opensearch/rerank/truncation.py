"""Cut a text to the length that a reranker takes, at the end of a sentence where there is one."""

from __future__ import annotations

import re

_SENTENCE_END = re.compile(r"[。！？!?…；;\n]|\.(?=\s|$)")


def truncated(text: str, most: int | None) -> str:
    """Return the first characters of a text, up to the last whole sentence that fits.

    A cut inside a sentence is made only where its first sentence is already too long, or where whole sentences would
    fill less than half of the room.

    Args:
        text: of any length.
        most: characters that fit, 1 or more; None for any number.

    >>> truncated("我喜歡茶。他喜歡咖啡。", 8)
    '我喜歡茶。'
    """
    if most is None or len(text) <= most:
        return text
    ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, most)]
    return text[: ends[-1]].rstrip() if ends and 2 * ends[-1] >= most else text[:most]
