"""Draw a score as a bar of block characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.text import Text

EIGHTHS: Final = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
FULL: Final = "█"
EMPTY: Final = "·"  # another glyph, not only another colour: it must read without colours too

LABELS: Final = {"semantic": "sem", "bm25": "bm25", "entity": "ent", "final": "final"}
COLOURS: Final = {"semantic": "cyan", "bm25": "yellow", "entity": "magenta", "final": "green"}
NUMBER_CELLS: Final = 4  # "0.97"
GAP_CELLS: Final = 2


def blocks(value: float, cells: int) -> tuple[str, str]:
    """Return the filled and the empty part of a bar that is `cells` wide.

    Args:
        value: what 1.0 fills; clamped to [0, 1]. Anything above zero shows.
        cells: width, >= 0.

    >>> blocks(0.5, 4)
    ('██', '··')
    >>> blocks(0.01, 4)
    ('▏', '···')
    """
    share = min(1.0, max(0.0, value))
    eighths = round(share * cells * 8)
    if share > 0 and cells:
        eighths = max(1, eighths)
    filled = FULL * (eighths // 8) + EIGHTHS[eighths % 8]
    return filled, EMPTY * (cells - len(filled))


def row(values: Mapping[str, float], cells: int) -> Text:
    """Return label, bar and number of each signal side by side, at most `cells` wide; all bars have the same scale.

    Args:
        values: score by name, in the order of `LABELS`.
        cells: width; with no room for a bar, labels and numbers stand alone.
    """
    from rich.text import Text

    fixed = sum(len(LABELS[name]) + NUMBER_CELLS + 2 for name in values) + GAP_CELLS * (len(values) - 1)
    bar_cells = max(0, (cells - fixed) // len(values))
    text = Text()
    for name, value in values.items():
        filled, empty = blocks(value, bar_cells)
        text.append(" " * GAP_CELLS if text else "")
        text.append(f"{LABELS[name]} ", style="dim")
        text.append(filled, style=COLOURS[name])
        text.append(empty, style="dim")
        text.append(f"{' ' if bar_cells else ''}{value:.2f}", style="bold" if name == "final" else "")
    return text
