"""The command `mem-opensearch demo`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mem_opensearch.cli.output import CANT, INTERRUPTED, STDOUT, check_target, ended_like_interrupted, leave, write_json
from mem_opensearch.errors import MemOpenSearchError

if TYPE_CHECKING:
    from rich.console import Console

    from mem_opensearch.demo.results import DemoResult


def demo(
    *,
    url: Annotated[str, typer.Option(help="The server, or 'local' for the local node.")] = "local",
    json: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write everything here as JSON, too; '-' is stdout, without text."),
    ] = None,
) -> None:
    """Store 1,572 Chinese memories, ask ten questions, and show every score beside mem0's own provider.

    The demo makes collections of its own and removes them again.
    """
    from rich.console import Console

    out = Console(highlight=False, markup=False, emoji=False, quiet=json == STDOUT)
    err = Console(stderr=True, highlight=False, markup=False, emoji=False)
    try:
        check_target(json)
        with ended_like_interrupted():
            result = _run(url, out, err)
        if json is not None:
            write_json(result.as_data(), json)
            out.print(f"Everything as data: {json}", soft_wrap=True)
    except MemOpenSearchError as error:
        leave(f"error: {error}", error, CANT)
    except KeyboardInterrupt as error:
        leave("interrupted: what was stored for the demo is removed again", error, INTERRUPTED)


def _run(url: str, out: Console, err: Console) -> DemoResult:
    from mem_opensearch.demo.draw import page
    from mem_opensearch.demo.progress import ConsoleWatcher
    from mem_opensearch.demo.run import run_demo

    result = run_demo(url=url, watcher=ConsoleWatcher(out, err))
    out.print()
    for part in page(result, out.width):
        out.print(part)
    return result
