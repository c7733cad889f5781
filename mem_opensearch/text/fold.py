"""Fold characters that mean the same: traditional to simplified, full-width to half-width.

The fold maps one character to one character, so it never moves an offset and highlighting stays right. The same table
becomes the server's `mapping` character filter (`fold_rules`) and Python's `fold`, and both give the same text.

Three sources, in this order of application:

* OpenCC's `t2s`, character by character (Apache-2.0): 臺 -> 台, 專 -> 专. Words that differ by region (軟體 / 软件) are
  not a matter of characters and are left alone.
* Unicode NFKC, where it turns one character of the blocks below into one other: Ａ -> A, － -> -, the ideographic space
  -> space, and compatibility ideographs and radicals -> the ideograph. NFKC that changes the length (㎏ -> kg) is left
  out: it would shift every offset after it.
"""

from __future__ import annotations

import hashlib
import unicodedata
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# Where NFKC is a matter of width or of a duplicate code point, and nothing else.
_NFKC_BLOCKS = (
    range(0x2E80, 0x2FE0),  # CJK and Kangxi radicals
    range(0x3000, 0x3001),  # ideographic space
    range(0xF900, 0xFB00),  # CJK compatibility ideographs
    range(0xFF00, 0xFFF0),  # half-width and full-width forms
    range(0x2F800, 0x2FA20),  # CJK compatibility ideographs supplement
)
# Every block in which OpenCC's character tables have a left side.
_HAN_BLOCKS = (range(0x2E80, 0x2FE0), range(0x3400, 0xA000), range(0xF900, 0xFB00), range(0x20000, 0x33480))


@lru_cache(maxsize=1)
def fold_table() -> Mapping[int, str]:
    """Return code point -> folded character, for every character that the fold changes."""
    import opencc

    han = [chr(point) for block in _HAN_BLOCKS for point in block]
    simplified = opencc.OpenCC("t2s").convert("\n".join(han)).split("\n")
    to_simplified = {a: b for a, b in zip(han, simplified, strict=True) if a != b and len(b) == 1}

    table = dict(to_simplified)
    for block in _NFKC_BLOCKS:
        for point in block:
            plain = unicodedata.normalize("NFKC", chr(point))
            if len(plain) == 1 and plain != chr(point):
                table[chr(point)] = to_simplified.get(plain, plain)
    # OpenCC keeps a few chains (a -> b -> c). Following them makes the fold idempotent: a folded text is its own fold.
    return MappingProxyType(
        {ord(a): _last_of_chain(b, table) for a, b in table.items() if _last_of_chain(b, table) != a}
    )


def _last_of_chain(character: str, table: Mapping[str, str]) -> str:
    seen = {character}
    while (after := table.get(character)) is not None and after not in seen:
        character = after
        seen.add(character)
    return character


def fold(text: str) -> str:
    """Return `text` with every character folded; its length in code points does not change.

    >>> fold("臺北的專案代號是ＰＸ－４４１")
    '台北的专案代号是PX-441'
    """
    return text.translate(fold_table())


def fold_name(name: str) -> str:
    """Return a name as it is compared with others: folded, caseless, and with single blanks inside only.

    >>> fold_name("  ＭＥＭ　臺北 office ")
    'mem 台北 office'
    """
    return " ".join(fold(unicodedata.normalize("NFC", name)).casefold().split())


def fold_rules() -> list[str]:
    """Return the table as rules of a `mapping` character filter, in code point order.

    Letters, digits and ideographs stand for themselves; anything else is a Java escape, so that a space, a backslash or
    ``=>`` in a rule can't be misread.
    """
    return [f"{_escape(chr(point))}=>{_escape(after)}" for point, after in sorted(fold_table().items())]


def _escape(character: str) -> str:
    if character.isalnum():
        return character
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


@lru_cache(maxsize=1)
def fold_version() -> str:
    """Return a short hash of the table: two texts folded under different versions may differ."""
    return hashlib.sha256("\n".join(fold_rules()).encode()).hexdigest()[:12]
