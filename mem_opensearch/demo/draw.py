"""Draw what the demo found out, for a terminal of any width."""

from __future__ import annotations

import shlex
from statistics import median
from typing import TYPE_CHECKING, Final

from mem_opensearch.demo.bars import row
from mem_opensearch.demo.load import folder_of
from mem_opensearch.demo.results import SIGNALS
from mem_opensearch.demo.summarise import COSINE
from mem_opensearch.demo.systems import NAMES, OURS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from mem_opensearch.demo.results import Answer, Asked, DemoResult, ScoredHit, Stored, Summary, Versions

SHOWN: Final = 3
TWO_COLUMNS: Final = 120  # cells; below that a column would have no room for four bars
GAP: Final = 3
INDENT: Final = "    "  # under the text of a hit, behind place and mark
ALL_NAMES: Final = {**NAMES, COSINE: "meaning alone"}
NOTES: Final = (
    "Ours ranks by every signal: meaning, words, identifiers, names, time; mem-opensearch search --explain shows each. "
    "mem0's own provider runs under mem0's own search and fusion. sem is ours the cosine, there (1 + cosine) / 2; bm25 "
    "is ours the share of the best match's, there pressed into 0 to 1; so compare ranks across the two sides, not bars."
)
NO_ENTITIES: Final = "ent is 0 throughout: memories that are stored without a language model have no entities in mem0."


def versions_line(versions: Versions) -> str:
    """Return what takes part, in one line."""
    return (
        f"{versions.server} at {versions.url} · mem_opensearch {versions.mem_opensearch} · mem0 {versions.mem0} · "
        f"embedder {versions.embedder} · words by {versions.analyzer}"
    )


def stored_line(stored: Stored) -> str:
    """Return how long one system took to store everything."""
    return (
        f"{NAMES[stored.system]}: {stored.memories:,} memories searchable after {stored.seconds:.1f} s "
        f"({stored.requests:,} requests)"
    )


def page(result: DemoResult, width: int) -> Iterator[RenderableType]:
    """Yield everything from the first question to the last line, to be printed one after another.

    Args:
        result: what to draw.
        width: cells of the terminal.
    """
    from rich.text import Text

    for number, asked in enumerate(result.asked, start=1):
        yield from question_block(asked, number=number, of=len(result.asked), width=width)
        yield Text()
    yield summary_table(result)
    yield Text(_measured(result), style="dim")
    entities = any(hit.entity for asked in result.asked for answer in asked.answers for hit in answer.hits)
    yield Text(NOTES if entities else f"{NOTES} {NO_ENTITIES}", style="dim")
    yield Text()
    yield Text(f"Next: mem-opensearch evaluate {shlex.quote(str(folder_of('keyword_zh')))}", overflow="fold")
    yield Text("compares the systems on one of these data sets, or on your own; the README shows the use with mem0.")


def question_block(asked: Asked, *, number: int, of: int, width: int) -> Iterator[RenderableType]:
    """Yield the lines of one question and the answers to it."""
    from rich.rule import Rule
    from rich.table import Table
    from rich.text import Text

    question = asked.question
    head = Table.grid(padding=(0, 2, 0, 0))
    head.add_column(style="dim", no_wrap=True)
    head.add_column(overflow="fold")
    head.add_row("asked", Text.assemble((question.query, "bold"), (f"  by {question.user_id}", "dim")))
    head.add_row("right", Text.assemble(asked.right_text, (f"  {question.relevant}", "dim")))
    head.add_row(
        "why", Text(f"{question.why}; meaning alone puts the right one at rank {asked.meaning_rank}", style="dim")
    )
    yield Rule(Text(f"{number} of {of}  {question.kind}", style="bold"), align="left", style="dim")
    yield head
    if width >= TWO_COLUMNS:
        column = (width - GAP) // 2
        grid = Table.grid(padding=(0, GAP, 0, 0), pad_edge=False)
        for _ in asked.answers:
            grid.add_column(width=column, no_wrap=True)
        grid.add_row(*(_answer(answer, question.relevant, column) for answer in asked.answers))
        yield grid
    else:
        for answer in asked.answers:
            yield _answer(answer, question.relevant, width)


def summary_table(result: DemoResult) -> Table:
    """Return the table at the end."""
    from rich import box
    from rich.table import Table

    total = len(result.asked)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("system")
    for title in (f"first of {total}", f"top 3 of {total}", "ms", "requests", "s to store"):
        table.add_column(title, justify="right")
    for line in result.summary:
        table.add_row(*_cells(line), style="bold" if line.system == OURS else "")
    return table


def _cells(line: Summary) -> tuple[str, ...]:
    return (
        ALL_NAMES[line.system],
        str(line.first),
        str(line.top3),
        _number(line.milliseconds, 1),
        _number(line.requests, 1),
        _number(line.seconds, 1),
    )


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _measured(result: DemoResult) -> str:
    searches = len(result.asked[0].answers[0].milliseconds)
    embed = median(asked.embed_milliseconds for asked in result.asked)
    return (
        f"Measured in this run over {result.memories:,} memories of {result.users} users. ms: median of one search, "
        f"{searches} for each question, without embedding the question ({embed:.1f} ms, the same on all sides). "
        "requests: for one search. s to store: from the first write until all are searchable, without embedding and "
        "making the index; mem_opensearch is first, so a fresh server warms up at its cost. meaning alone: the exact "
        "cosine, computed without a server."
    )


def _answer(answer: Answer, relevant: str, width: int) -> Text:
    """Return one system's answer: a title with the verdict, two lines for each hit shown."""
    from rich.text import Text

    lines = [_line(_verdict(answer), width)]
    for place, hit in enumerate(answer.hits[:SHOWN], start=1):
        lines.append(_line(_hit_title(hit, place, is_right=hit.id == relevant), width))
        lines.append(_line(_hit_bars(hit, width), width))
    if not answer.hits:
        lines.append(Text("  nothing found", style="dim"))
    return Text("\n").join(lines)


def _verdict(answer: Answer) -> Text:
    from rich.text import Text

    title = Text(NAMES[answer.system], style="bold underline")
    if answer.rank is None:
        return Text.assemble(title, ("  ✗ ", "bold red"), f"right one not among the {len(answer.hits)} returned")
    if answer.rank > SHOWN:
        return Text.assemble(title, ("  ✗ ", "bold red"), f"right one only at rank {answer.rank}")
    return Text.assemble(title, ("  ✓ ", "bold green"), f"right one at rank {answer.rank}")


def _hit_title(hit: ScoredHit, place: int, *, is_right: bool) -> Text:
    from rich.text import Text

    mark = ("✓ ", "bold green") if is_right else ("✗ ", "red")
    return Text.assemble(f"{place} ", mark, (f"{hit.id}  ", "dim"), (hit.text, "bold" if is_right else ""))


def _hit_bars(hit: ScoredHit, width: int) -> Text:
    """Return the signals side by side, indented under the text."""
    from rich.text import Text

    return Text(INDENT).append_text(row({name: getattr(hit, name) for name in SIGNALS}, width - len(INDENT)))


def _line(text: Text, width: int) -> Text:
    """Return `text` on one line of at most `width` cells; Chinese characters take two."""
    text = text.copy()
    text.plain = text.plain.replace("\n", " ")
    text.truncate(width, overflow="ellipsis")
    text.no_wrap = True
    return text
