"""The command `mem-opensearch inspect`: a page that shows why memories rank where they do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mem_opensearch.cli.search import (
    Agent,
    Collection,
    EmbedderName,
    Rerank,
    RerankOptions,
    Run,
    Url,
    User,
    cli_errors,
    load,
    make_searcher,
    reranker_of,
)

if TYPE_CHECKING:
    from mem_opensearch.rerank import Reranker


def inspect(  # noqa: PLR0917 - the options of a command
    user: User = None,
    agent: Agent = None,
    run: Run = None,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port of this machine. Default: a free one.")] = 0,
    open_browser: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,  # noqa: FBT002 - a flag
    rerank: Rerank = None,
    rerank_options: RerankOptions = None,
    collection: Collection = "mem0",
    url: Url = None,
    embedder: EmbedderName = "use",
) -> None:
    """Show in a browser why memories rank where they do: signals, threshold, versions, entities, health.

    The page is for this machine and whoever has its address; it reads, and writes nothing. --user, --agent and --run
    fill its form in. --rerank adds a second stage to choose beside 'answers'. Ctrl-C ends it.

    Exit codes: 0 it was ended, 2 it can't be done.
    """
    with cli_errors():
        from mem_opensearch.extras import require

        for module in ("uvicorn", "starlette", "jinja2"):
            require(module, extra="inspect", purpose="the page")
        from mem_opensearch.inspect.inspector import Inspector
        from mem_opensearch.inspect.server import serve
        from mem_opensearch.rerank.configured import load_reranker

        rerankers: dict[str, Reranker] = {"answers": load_reranker("answers")}
        if (given := reranker_of(rerank, rerank_options)) is not None and rerank is not None:
            rerankers[rerank] = given
        scope = {"user": user or "", "agent": agent or "", "run": run or ""}
        with make_searcher(url, collection, embedder) as searcher:
            inspector = Inspector(searcher, embedder=load(embedder), rerankers=rerankers)
            serve(
                inspector,
                port=port,
                open_browser=open_browser,
                prefilled=scope,
                say=lambda address: typer.echo(f"the page is at {address}\nCtrl-C ends it"),
            )
