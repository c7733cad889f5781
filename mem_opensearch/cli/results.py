"""Show results on a terminal: a line for each, and what each signal added to it as a bar of parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import typer

from mem_opensearch.fusion import parts_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.text import Text

    from mem_opensearch.search import Answer

COLOURS: Final = {
    "meaning": "cyan",
    "words": "yellow",
    "identifiers": "green",
    "context": "blue",
    "entity": "magenta",
    "time": "red",
    "slot": "white",
    "recency": "white",
    "replaces": "bright_green",
}
CELLS: Final = 40
_INDENT: Final = "      "


def print_answer(answer: Answer) -> None:
    """Print the results of a search, or why there is none."""
    from rich.console import Console
    from rich.text import Text

    console = Console()
    for missing in answer.degraded:
        typer.echo(f"warning: {missing}", err=True)
    if answer.empty:
        typer.echo(answer.empty)
    for place, found in enumerate(answer.results, start=1):
        again = "" if found.rerank_score is None else f"→ {found.rerank_score:.3f} "
        line = Text(f"{place:>3}. {found.score:.3f} {again}", style="bold")
        text = str(found.payload.get("data", "")).replace("\n", " ⏎ ")
        line.append(printable(text), style="default not bold")
        date = str(found.payload.get("created_at") or "")[:10]
        line.append(printable(f"  {date} {found.id}"), style="dim not bold")
        console.print(line)
        if found.details is not None:
            print_details(found.details)


def print_details(details: Mapping[str, Any]) -> None:
    """Print where a score comes from."""
    from rich.console import Console

    console = Console()
    console.print(stacked(parts_of(details), details.get("max_possible_score") or 1.0))
    for line in sentences(details):
        console.print(f"{_INDENT}{printable(line)}", style="dim", markup=False, highlight=False)


def printable(text: str) -> str:
    r"""Return a stored text without characters that would steer the terminal.

    >>> printable("a\x1b[2Jb")
    'a [2Jb'
    """
    return "".join(letter if letter.isprintable() else " " for letter in text)


def stacked(parts: Mapping[str, float], most: float) -> Text:
    """Return a bar of `CELLS` cells for `most`, with a piece for each signal, and their numbers behind it."""
    from rich.text import Text

    bar, numbers = Text(_INDENT), Text()
    drawn = 0
    for name, value in parts.items():
        style = COLOURS.get(name, "default")
        if value > 0:
            cells = min(max(1, round(value / most * CELLS)), CELLS - drawn)
            bar.append("█" * cells, style=style)
            drawn += cells
        if value:
            numbers.append(f"  {name} {value:+.2f}", style=style)
    bar.append("·" * (CELLS - drawn), style="dim")
    return bar + numbers


def sentences(details: Mapping[str, Any]) -> list[str]:
    """Return what the numbers don't say."""
    found = []
    if details.get("gate"):
        evidence = details.get("evidence")
        strength = "" if evidence is None else f" ({evidence:.2f}, threshold {details['threshold']:g})"
        found.append(f"passed by {details['gate']}{strength}")
    if details.get("tokens"):
        found.append("words of the question: " + " ".join(details["tokens"]))
    if details.get("entities"):
        found.append("linked to " + ", ".join(details["entities"]))
    if details.get("follows"):
        found.append(f"follows {details['follows']['id']}, which matches ({details['follows']['score']:.2f})")
    for key, words in (("replaces", "replaces"), ("superseded_by", "superseded by")):
        if details.get(key):
            found.append(f"{words} {details[key]}")
    if parts_of(details).get("time"):
        found.append("in the time that the question names")
    if details.get("rerank"):
        rerank = details["rerank"]
        found.append(f"{rerank['scorer']} moved it from place {rerank['fused_rank']} to {rerank['rank']}")
    if details.get("event_date"):
        found.append(f"is about {str(details['event_date'])[:10]}")
    return found
