"""What the sections of docs/performance.md have in common: tables, and what was measured on what."""

from __future__ import annotations

import re
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Result = Mapping[str, Any]

WIDTH: Final = 120
_NO_PARAGRAPH = ("#", "|", "*", "!", "```")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of Markdown, its numbers to the right.

    >>> print(table(["a", "b"], [["x", "1"]]), end="")
    | a | b |
    |---|--:|
    | x | 1 |
    """
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "".join(
        f"|{'|'.join(line)}|\n" if number == 1 else f"| {' | '.join(line)} |\n" for number, line in enumerate(lines)
    )


def wrapped(text: str) -> str:
    r"""Return a text of Markdown with its paragraphs in lines of one width; all that is no paragraph stays.

    >>> wrapped("# a\n\nb\nc\n\n| d |\n")
    '# a\n\nb c\n\n| d |\n'
    """
    blocks = [block.strip("\n") for block in re.split(r"\n{2,}", text.strip("\n"))]
    return "\n\n".join(block if block.startswith(_NO_PARAGRAPH) else fill(block, WIDTH) for block in blocks) + "\n"


def ratios(ratios: Mapping[str, float]) -> str:
    """Return the ratios of a benchmark as a table."""
    return table(["ratio", "is"], [[f"`{name}`", f"{each:g}"] for name, each in ratios.items()])


def about(result: Result, *, size: bool = True) -> str:
    """Return what was measured, and on what machine."""
    data = result["data"]
    what = f"{data['memories']:,} memories: " if size else "Memories are "
    return f"{what}{data['sentences']}; vectors: {data['vectors']}. {machine(result)}"


def machine(result: Result) -> str:
    """Return on what machine it was measured."""
    used = result["machine"]
    return (
        f"OpenSearch {used['server']['version']} with {used['server']['heap_mb']:,} MB of heap, "
        f"{used['cores']} cores ({used['cpu']}), {used['ram_gb']} GB, "
        f"Python {used['python']}; load before: {used['load_before']:g}."
    )


def memory(result: Result) -> str:
    """Return what client and node needed at most."""
    memory = result["memory"]
    node = f", the node's {memory['node']['peak_rss_mb']:,} MB" if memory["node"] else ""
    return f"The client's process needed {memory['client']['peak_rss_mb']:,} MB at most{node}."


def wire(sent: Mapping[str, float] | None) -> list[str]:
    """Return requests and kilobytes of one call, as cells of a table."""
    if sent is None:
        return ["", "", ""]
    return [f"{sent['requests']:g}", f"{sent['bytes_sent'] / 1000:.1f}", f"{sent['bytes_received'] / 1000:.1f}"]


def ms(value: float) -> str:
    """Return milliseconds with as many digits as they are worth."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"  # noqa: PLR2004
