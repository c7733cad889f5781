"""The command `mem-opensearch doctor`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from mem_opensearch.cli.output import CANT, STDOUT, leave, write_json
from mem_opensearch.errors import MemOpenSearchError

WRONG = 1  # exit code: something is


def doctor(
    *,
    collection: Annotated[str, typer.Option(help="Name of the collection.")] = "mem0",
    url: Annotated[str | None, typer.Option(help='Server URL, or "local". Default: MEM_OPENSEARCH_URL.')] = None,
    embedder: Annotated[str, typer.Option(help="'use', 'module:callable', or 'none' to leave it out.")] = "use",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Look for what makes searches bad without an error: zero or constant vectors, memories without notes.

    Exit codes: 0 nothing is wrong, 1 something is (each line says how to mend it), 2 it can't be done.
    """
    from mem_opensearch.embed import load_embedder
    from mem_opensearch.index import read_spec
    from mem_opensearch.search.doctor import examine
    from mem_opensearch.store import OpenSearchVectorStore

    try:
        model = None if embedder == "none" else load_embedder(embedder)
        given = {"url": url, "collection_name": collection}
        options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        store = OpenSearchVectorStore(**options)
        try:
            there = read_spec(store.client, collection)
            dims = there[0].dims if there else model.dims if model else store.embedding_model_dims
            store.close()
            store = OpenSearchVectorStore(**options, embedding_model_dims=dims)
            findings = examine(store, model)
        finally:
            store.close()
    except MemOpenSearchError as error:
        leave(f"error: {error}", error, CANT)
    if as_json:
        write_json([asdict(finding) for finding in findings], STDOUT)
    else:
        for finding in findings:
            typer.echo(f"{'ok   ' if finding.ok else 'WRONG'} {finding.check}: {finding.sentence}")
    if not all(finding.ok for finding in findings):
        raise typer.Exit(WRONG)
