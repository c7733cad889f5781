"""The command line: ``mem-opensearch X``, which is ``python -m mem_opensearch X``."""

from __future__ import annotations

from typing import Annotated

import typer

from mem_opensearch._version import __version__
from mem_opensearch.cli.add import add
from mem_opensearch.cli.analyze import analyze
from mem_opensearch.cli.demo import demo
from mem_opensearch.cli.doctor import doctor
from mem_opensearch.cli.evaluate import evaluate
from mem_opensearch.cli.inspect import inspect
from mem_opensearch.cli.label import label
from mem_opensearch.cli.node import app as node_app
from mem_opensearch.cli.search import search, why
from mem_opensearch.cli.transfer import annotate, export, import_, migrate
from mem_opensearch.cli.tune import tune
from mem_opensearch.init import init

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_show_locals=False)
app.command()(init)
app.command()(demo)
app.command()(doctor)
app.command()(evaluate)
app.command()(tune)
app.command()(label)
app.command()(add)
app.command()(search)
app.command()(why)
app.command()(inspect)
app.command()(export)
app.command("import")(import_)
app.command()(migrate)
app.command()(annotate)
app.command()(analyze)
app.add_typer(node_app, name="node", help="The local OpenSearch node.")


def _print_version(asked: bool) -> None:  # noqa: FBT001 - a callback's signature
    if asked:
        typer.echo(f"mem-opensearch {__version__}")
        raise typer.Exit


@app.callback()
def options(
    *, version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True)] = False
) -> None:
    """Memory search for AI agents that works in Chinese, on OpenSearch."""


def main() -> None:
    """Run the command line."""
    app()
