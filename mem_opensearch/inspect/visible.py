"""Show any text in a page: escaped, and with the characters that would steer the reader made visible."""

from __future__ import annotations

import unicodedata
from typing import Final

from markupsafe import Markup, escape

_KEPT: Final = frozenset("\n\t")
_STEERING: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
"""Categories that have no picture of their own: controls, direction marks, private use, separators of lines."""
_JOINERS: Final = frozenset("\u200d\ufe0f")  # inside emoji, which fall apart without them


def steers(letter: str) -> bool:
    r"""Whether a character would change how the text around it is shown.

    >>> steers("\u202e"), steers("\x1b"), steers("茶"), steers("\n")
    (True, True, False, False)
    """
    return letter not in _KEPT and letter not in _JOINERS and unicodedata.category(letter) in _STEERING


def visible(text: object) -> Markup:
    r"""Return a text as HTML.

    >>> str(visible("<b>\u202e"))
    '&lt;b&gt;<span class="steers">U+202E</span>'
    """
    pieces: list[str] = []
    plain: list[str] = []
    for letter in str(text):
        if steers(letter):
            pieces += [str(escape("".join(plain))), f'<span class="steers">U+{ord(letter):04X}</span>']
            plain = []
        else:
            plain.append(letter)
    pieces.append(str(escape("".join(plain))))
    return Markup("".join(pieces))  # noqa: S704 - every piece is escaped above
