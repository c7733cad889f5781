"""The command `mem-opensearch analyze`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mem_opensearch.cli.output import CANT, INTERRUPTED, STDOUT, ended_like_interrupted, leave, write_json
from mem_opensearch.config import LOCAL, StoreConfig
from mem_opensearch.errors import ConfigError, MemOpenSearchError

if TYPE_CHECKING:
    from rich.text import Text

    from mem_opensearch.index.analyze import FieldTokens, TextAnalysis

BETWEEN = " │ "  # stands between two tokens and is in none: no field keeps box drawing characters


def analyze(
    text: Annotated[str, typer.Argument(help="The text to analyse.")],
    *,
    collection: Annotated[
        str | None, typer.Option(help="Use this collection's index. Default: one that is made and removed again.")
    ] = None,
    analyzer: Annotated[
        str | None, typer.Option(help="Without a collection: auto, ik, smartcn, jieba or bigram. Default: auto.")
    ] = None,
    dictionary: Annotated[str | None, typer.Option(help="UTF-8 file of words, one a line, that stay whole.")] = None,
    url: Annotated[
        str | None, typer.Option(help='Server URL, or "local". Default: MEM_OPENSEARCH_URL, else local.')
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the tokens that every field makes of a text: what a search by words can find.

    Exit codes: 0 shown, 2 it can't be done.
    """
    try:
        with ended_like_interrupted():
            analysis = _analyse(text, collection=collection, analyzer=analyzer, dictionary=dictionary, url=url)
        if as_json:
            write_json(analysis.to_json(), STDOUT)
        else:
            _print(analysis)
    except MemOpenSearchError as error:
        leave(f"error: {error}", error, CANT)
    except KeyboardInterrupt as error:
        leave("interrupted: nothing is left on the server", error, INTERRUPTED)


def _analyse(
    text: str, *, collection: str | None, analyzer: str | None, dictionary: str | None, url: str | None
) -> TextAnalysis:
    from mem_opensearch.index import WantedIndex
    from mem_opensearch.index.analyze import analyse_text
    from mem_opensearch.store import OpenSearchVectorStore

    if collection is not None and analyzer is not None:
        raise ConfigError("--collection has its own analyzer: give either --collection or --analyzer")
    given = {"url": url, "collection_name": collection, "analyzer": analyzer, "dictionary": dictionary}
    options = {name: value for name, value in given.items() if value is not None}
    config = StoreConfig.build(**options)
    if config.url is None and config.host is None:
        config = StoreConfig.build(**options, url=LOCAL)
    wanted = WantedIndex.of(config)
    store = OpenSearchVectorStore(config)
    try:
        return analyse_text(
            store.client,
            text,
            collection=collection,
            profile=wanted.profile if collection is None else None,
            dictionary=wanted.dictionary,
        )
    finally:
        store.close()


def _print(analysis: TextAnalysis) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    where = f"collection {analysis.collection}" if analysis.collection else "a new collection"
    table = Table(title=f"{where}, analysed by {analysis.profile}", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("field", no_wrap=True)
    table.add_column("made by", no_wrap=True)
    table.add_column("tokens", overflow="fold")
    for each in analysis.fields:
        table.add_row(each.field, each.made_by, _line(each, analysis.identifiers))
    Console().print(table)
    for warning in analysis.warnings:
        typer.echo(f"warning: {warning}", err=True)


def _line(field: FieldTokens, identifiers: tuple[str, ...]) -> Text:
    from rich.text import Text

    line = Text()
    for position, token in enumerate(field.tokens):
        if position:
            line.append(BETWEEN, style="dim")
        line.append(token, style="bold cyan" if token in identifiers else "")
    return line
