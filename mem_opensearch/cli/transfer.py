"""The commands `mem-opensearch export`, `import`, `migrate` and `annotate`."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from mem_opensearch.cli.output import CANT, INTERRUPTED, STDOUT, ended_like_interrupted, leave
from mem_opensearch.errors import MemOpenSearchError
from mem_opensearch.progress import StageBar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mem_opensearch.transfer import MigrateReport

LEFT_OUT = 1  # exit code: some rows could not be moved
SHOWN = 20  # rows that could not be moved, in text; the JSON names all

Url = Annotated[str | None, typer.Option(help='Server URL, or "local". Default: MEM_OPENSEARCH_URL.')]
Collection = Annotated[str, typer.Option(help="Name of the collection.")]
Dims = Annotated[int | None, typer.Option(help="Length of the vectors; found out if not given.")]
Analyzer = Annotated[str | None, typer.Option(help="Chinese analysis of a new collection. Default: auto.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print a report as JSON.")]


def export(
    file: Annotated[str, typer.Argument(metavar="FILE", help="FILE.jsonl, FILE.jsonl.gz, or - for stdout.")],
    *,
    collection: Collection,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Write a collection to a file of JSON lines, vectors and all, as it is at one point in time."""
    with _errors("nothing was written to the file's name"), StageBar(collection) as bar:
        from mem_opensearch.store import OpenSearchVectorStore
        from mem_opensearch.transfer import export_collection

        store = OpenSearchVectorStore(**_options(url, collection_name=collection))
        report = export_collection(store, file, progress=bar)
    said = f"{collection}: {report.rows:,} rows written to {'stdout' if file == STDOUT else file}"
    # Rows are on stdout then, and nothing else.
    _print(asdict(report) if as_json else said, err=file == STDOUT)


def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="FILE.jsonl, FILE.jsonl.gz, or - for stdin.")],
    *,
    collection: Collection,
    url: Url = None,
    dims: Dims = None,
    analyzer: Analyzer = None,
    as_json: AsJson = False,
) -> None:
    """Store the rows of a file of JSON lines; a row whose id is stored is replaced, so it may be run again."""
    with _errors("rows so far are stored; run it again to go on"), StageBar(collection) as bar:
        from mem_opensearch.transfer import import_collection

        options = _options(url, collection_name=collection, embedding_model_dims=dims, analyzer=analyzer)
        report = import_collection(file, progress=bar, **options)
    made = " (made)" if report.made else ""
    said = f"{collection}{made}: {report.rows:,} rows stored from {file}; it has {report.count:,} now"
    _print(asdict(report) if as_json else said)


def migrate(
    *,
    source: Annotated[str, typer.Option("--from", help="Index of mem0's own OpenSearch provider; only read.")],
    collection: Collection,
    url: Url = None,
    dims: Dims = None,
    analyzer: Analyzer = None,
    as_json: AsJson = False,
) -> None:
    """Move memories, and their entities, from mem0's own OpenSearch layout into a collection.

    Exit codes: 0 all was moved and counted, 1 some rows could not be moved (they are named), 2 it can't be done.
    """
    with _errors("memories so far are moved; run it again to go on"), StageBar(collection) as bar:
        from mem_opensearch.transfer import migrate_index

        options = _options(url, embedding_model_dims=dims, analyzer=analyzer)
        reports = migrate_index(source, collection, progress=bar, **options)
    if as_json:
        _print([asdict(report) | {"expected": report.expected, "whole": report.is_whole} for report in reports])
    else:
        for report in reports:
            _print("\n".join(_sentences(report)))
    if not all(report.is_whole for report in reports):
        raise typer.Exit(LEFT_OUT)


def annotate(*, collection: Collection, url: Url = None, as_json: AsJson = False) -> None:
    """Note with stored memories what searches need: talks, times, names, and what replaces what.

    For bulk loads with annotate=false, and for memories that an older release wrote.
    """
    with _errors("memories so far are annotated; run it again to do the rest"), StageBar(collection) as bar:
        from mem_opensearch.transfer import annotate_collection

        report = annotate_collection(collection, progress=bar, **_options(url))
    _print(asdict(report) if as_json else f"{collection}: {report.memories:,} memories annotated")


def _sentences(report: MigrateReport) -> Iterator[str]:
    yield (
        f"{report.source} -> {report.collection}: {report.rows:,} rows read; {report.moved:,} memories moved, "
        f"{report.updated:,} updated, {report.unchanged:,} were there, {report.kept:,} were there in a newer form"
    )
    yield f"  - {report.duplicates:,} older rows of the same memories left out"
    yield f"  - {report.verified:,} of {report.expected:,} memories counted in {report.collection}"
    for name, reason in list(report.failed.items())[:SHOWN]:
        yield f"  - not moved: {name}: {reason}"
    if len(report.failed) > SHOWN:
        yield f"  - not moved: {len(report.failed) - SHOWN:,} more; --json names all"


def _options(url: str | None, **given: Any) -> dict[str, Any]:  # noqa: ANN401 - checked by pydantic
    return {name: value for name, value in {"url": url, **given}.items() if value is not None}


def _print(report: object, *, err: bool = False) -> None:
    text = report if isinstance(report, str) else orjson.dumps(report, option=orjson.OPT_INDENT_2).decode()
    typer.echo(text, err=err)


@contextmanager
def _errors(when_interrupted: str) -> Iterator[None]:
    """Say what went wrong on one line, with the exit code that goes with it."""
    try:
        with ended_like_interrupted():
            yield
    except MemOpenSearchError as error:
        leave(f"error: {error}", error, CANT)
    except KeyboardInterrupt as error:
        leave(f"interrupted: {when_interrupted}", error, INTERRUPTED)
