"""The commands ``mem-opensearch node start|stop|status|logs``."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mem_opensearch.errors import MemOpenSearchError
from mem_opensearch.node import DetachedNode, find_detached, start_detached, stop_detached
from mem_opensearch.node.detached import last_detached
from mem_opensearch.node.failures import read_tail

if TYPE_CHECKING:
    from collections.abc import Iterator

EXIT_OK, EXIT_NOT_RUNNING, EXIT_CANT = 0, 1, 2
FOLLOW_EVERY = 0.3  # seconds

app = typer.Typer(
    help="Run a real OpenSearch on this machine: no Docker, no system Java.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def start(
    *,
    version: Annotated[str | None, typer.Option(help="Version of OpenSearch: 3.6.0 (default) or 2.19.1.")] = None,
    port: Annotated[int | None, typer.Option(help="Port for requests; any free one if not given.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder to keep the data in; one of the user if not given.")] = None,
    heap: Annotated[str | None, typer.Option(help="Heap of each server, such as 512m (default) or 1g.")] = None,
    analysis: Annotated[
        str | None,
        typer.Option(help="Plugins for Chinese, with commas between them: ik (default), smartcn; 'none' for none."),
    ] = None,
    nodes: Annotated[int | None, typer.Option(help="Number of servers (default 1).")] = None,
    dictionary: Annotated[
        Path | None, typer.Option(help="UTF-8 file of words, one a line, that IK keeps whole.")
    ] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds that the start may take.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    as_json: AsJson = False,
) -> None:
    """Start the node; it keeps running when this command ends. Prints its address.

    Exit codes: 0 it runs (also when it ran before), 2 it can't be started.
    """
    try:
        node, fresh = start_detached(
            version=version,
            port=port,
            data=data,
            heap=heap,
            analysis=_analysis(analysis),
            nodes=nodes,
            dictionary=dictionary,
            timeout=timeout,
            quiet=quiet,
        )
    except MemOpenSearchError as error:
        raise _cant(error) from error
    if as_json:
        _print_json({**_facts(node), "started": fresh})
        return
    typer.echo(node.url)
    _say(f"OpenSearch {node.version} {'is started' if fresh else 'was running already'}; its data are in {node.data}")


@app.command()
def stop(*, as_json: AsJson = False) -> None:
    """Stop the node; its data stay.

    Exit codes: 0 it was stopped, 1 none was running, 2 it can't be stopped.
    """
    try:
        node = stop_detached()
    except MemOpenSearchError as error:
        raise _cant(error) from error
    if as_json:
        _print_json({"stopped": node is not None, **({} if node is None else {"url": node.url, "data": node.data})})
    if node is None:
        _say("no node is running")
        raise typer.Exit(EXIT_NOT_RUNNING)
    if not as_json:
        typer.echo(f"OpenSearch at {node.url} is stopped; its data stay in {node.data}")


@app.command()
def status(*, as_json: AsJson = False) -> None:
    """Show whether the node runs, and where.

    Exit codes: 0 it runs and answers, 1 none is running, 2 it runs in part or does not answer.
    """
    node = find_detached()
    if node is None:
        last = last_detached()
        if as_json:
            _print_json({"running": False})
        else:
            _say("no node is running; start one with: mem-opensearch node start")
            if last is not None:
                _say(f"the last one was at {last.url}; its log is {last.logs[0]}")
        raise typer.Exit(EXIT_NOT_RUNNING)
    answering, whole = node.answers(), len(node.alive) == len(node.processes)
    if as_json:
        _print_json({**_facts(node), "answers": answering, "servers_alive": len(node.alive)})
    else:
        began = datetime.fromtimestamp(node.since, UTC).astimezone()
        typer.echo(f"{node.url}  OpenSearch {node.version}, since {began:%Y-%m-%d %H:%M}")
        typer.echo(f"processes  {', '.join(map(str, node.pids))}")
        typer.echo(f"analysis   {', '.join(node.analysis) or 'none'}")
        typer.echo(f"data       {node.data}")
        typer.echo(f"log        {node.logs[0]}")
    if not whole:
        _say(f"{len(node.alive)} of {len(node.processes)} servers run; mend it: mem-opensearch node stop, then start")
    elif not answering:
        _say("it runs and does not answer; look at: mem-opensearch node logs")
    if not (answering and whole):
        raise typer.Exit(EXIT_CANT)


@app.command()
def logs(
    *,
    lines: Annotated[int, typer.Option(min=1, help="Number of lines.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with new lines until Ctrl-C.")] = False,
) -> None:
    """Print the last lines of the node's log, also of one that has ended.

    Exit codes: 0 printed, 1 no node was ever started.
    """
    node = last_detached()
    if node is None:
        _say("no node was started yet; start one with: mem-opensearch node start")
        raise typer.Exit(EXIT_NOT_RUNNING)
    path = Path(node.logs[0])
    for line in read_tail(path, lines):
        typer.echo(line)
    if follow:
        try:
            for text in _new_text(path):
                typer.echo(text, nl=False)
        except KeyboardInterrupt:
            raise typer.Exit(EXIT_OK) from None


def _new_text(path: Path) -> Iterator[str]:
    """What is appended to a file from now on; goes on with the new file when the log is rolled."""
    place = path.stat().st_size if path.exists() else 0
    while True:
        size = path.stat().st_size if path.exists() else 0
        if size < place:
            place = 0
        if size > place:
            with path.open("rb") as stream:
                stream.seek(place)
                raw = stream.read()
            whole = raw[: raw.rfind(b"\n") + 1]  # a line is shown when it is complete
            place += len(whole)
            yield whole.decode("utf-8", errors="replace")
        else:
            time.sleep(FOLLOW_EVERY)


def _analysis(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    return () if text.strip() in {"", "none"} else tuple(part.strip() for part in text.split(","))


def _facts(node: DetachedNode) -> dict[str, object]:
    return {
        "running": True,
        "url": node.url,
        "urls": node.urls,
        "pids": node.pids,
        "version": node.version,
        "analysis": node.analysis,
        "heap": node.heap,
        "data": node.data,
        "log": node.logs[0],
        "since": datetime.fromtimestamp(node.since, UTC).isoformat(timespec="seconds"),
    }


def _print_json(value: dict[str, object]) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def _say(text: str) -> None:
    typer.echo(text, err=True)


def _cant(error: MemOpenSearchError) -> typer.Exit:
    _say(f"error: {error}")
    return typer.Exit(EXIT_CANT)
