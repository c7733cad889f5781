"""The commands `mem-opensearch search` and `why`, and what others take of them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from mem_opensearch.cli.output import CANT, INTERRUPTED, STDOUT, ended_like_interrupted, leave, write_json
from mem_opensearch.errors import InvalidInputError, MemOpenSearchError, ScopeError
from mem_opensearch.models import IDENTITY_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mem_opensearch.embed import Embedder
    from mem_opensearch.rerank import Reranker
    from mem_opensearch.search import Searcher
    from mem_opensearch.store import OpenSearchVectorStore

NOTHING = 1  # exit code: there is no result
SCOPE_OPTIONS = dict(zip(IDENTITY_FIELDS, ("--user", "--agent", "--run"), strict=True))

User = Annotated[str | None, typer.Option("--user", help="Whose memories: user_id.")]
Agent = Annotated[str | None, typer.Option("--agent", help="Of which agent: agent_id.")]
Run = Annotated[str | None, typer.Option("--run", help="Of which run: run_id.")]
Filter = Annotated[
    str | None, typer.Option("--filter", metavar="JSON", help="Further conditions, see docs/filters.md.")
]
TopK = Annotated[int, typer.Option(help="Most results.")]
Threshold = Annotated[float | None, typer.Option(help="Least evidence, 0 to 1. Default: 0.1.")]
ModeName = Annotated[str | None, typer.Option("--mode", help="union, rrf or mem0. Default: union.")]
AsOf = Annotated[str | None, typer.Option(metavar="TIME", help="What was true then: a date or a time in ISO 8601.")]
ShowExpired = Annotated[bool, typer.Option("--show-expired", help="Expired memories too.")]
Rerank = Annotated[
    str | None,
    typer.Option("--rerank", metavar="NAME", help="Second stage: 'answers', 'cohere' ... see docs/rerank.md."),
]
RerankOptions = Annotated[
    str | None, typer.Option("--rerank-options", metavar="JSON", help="Its options, and those of its scorer.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Url = Annotated[str | None, typer.Option(help='Server URL, or "local". Default: MEM_OPENSEARCH_URL.')]
Collection = Annotated[str, typer.Option(help="Name of the collection.")]
EmbedderName = Annotated[
    str, typer.Option("--embedder", help="'use', 'e5', or 'module:callable' that returns an embedder.")
]


def search(  # noqa: PLR0917 - the options of a command
    query: Annotated[str, typer.Argument(help="The question.")],
    user: User = None,
    agent: Agent = None,
    run: Run = None,
    conditions: Filter = None,
    top_k: TopK = 10,
    threshold: Threshold = None,
    mode: ModeName = None,
    as_of: AsOf = None,
    show_expired: ShowExpired = False,  # noqa: FBT002 - a flag
    explain: Annotated[bool, typer.Option("--explain", help="Show what each signal added.")] = False,  # noqa: FBT002 - a flag
    rerank: Rerank = None,
    rerank_options: RerankOptions = None,
    as_json: AsJson = False,  # noqa: FBT002 - a flag
    collection: Collection = "mem0",
    url: Url = None,
    embedder: EmbedderName = "use",
) -> None:
    """Find the memories that answer a question.

    Exit codes: 0 something was found, 1 nothing (the reason is said), 2 it can't be done.
    """
    with cli_errors(), make_searcher(url, collection, embedder) as searcher:
        answer = searcher.search(
            query,
            filters=_filters(user, agent, run, conditions),
            top_k=top_k,
            threshold=threshold,
            mode=mode,  # type: ignore[arg-type] # checked there
            as_of=moment_of(as_of),
            show_expired=show_expired,
            explain=explain,
            rerank=reranker_of(rerank, rerank_options),
        )
    if as_json:
        write_json({**asdict(answer), "pool": sorted(answer.pool), "gated": sorted(answer.gated)}, STDOUT)
    else:
        from mem_opensearch.cli.results import print_answer

        print_answer(answer)
    if not answer.results:
        raise typer.Exit(NOTHING)


def why(  # noqa: PLR0917 - the options of a command
    query: Annotated[str, typer.Argument(help="The question.")],
    memory_id: Annotated[str, typer.Argument(metavar="ID", help="The memory.")],
    user: User = None,
    agent: Agent = None,
    run: Run = None,
    conditions: Filter = None,
    top_k: TopK = 10,
    threshold: Threshold = None,
    mode: ModeName = None,
    as_of: AsOf = None,
    show_expired: ShowExpired = False,  # noqa: FBT002 - a flag
    as_json: AsJson = False,  # noqa: FBT002 - a flag
    collection: Collection = "mem0",
    url: Url = None,
    embedder: EmbedderName = "use",
) -> None:
    """Say why a memory is, or is not, among the results of a search.

    Exit codes: 0 it is, 1 it is not, 2 it can't be done.
    """
    with cli_errors(), make_searcher(url, collection, embedder) as searcher:
        told = searcher.why(
            query,
            memory_id,
            filters=_filters(user, agent, run, conditions),
            top_k=top_k,
            threshold=threshold,
            mode=mode,
            as_of=moment_of(as_of),
            show_expired=show_expired,
        )
    if as_json:
        write_json(asdict(told), STDOUT)
    else:
        typer.echo(f"{told.id}: {told.reason}: {told.sentence}")
        if told.details is not None:
            from mem_opensearch.cli.results import print_details

            print_details(told.details)
    if told.reason != "found":
        raise typer.Exit(NOTHING)


def load(name: str) -> Embedder:
    """Return an embedder by name."""
    from mem_opensearch.embed import load_embedder

    return load_embedder(name)


def reranker_of(name: str | None, options: str | None) -> Reranker | None:
    """Return the second stage that the options of a command name, or none."""
    given = object_of(options, "--rerank-options")
    if name is None:
        if given:
            raise InvalidInputError("--rerank-options have no effect without --rerank")
        return None
    from mem_opensearch.rerank.configured import load_reranker

    return load_reranker(name, given)


@contextmanager
def make_searcher(url: str | None, collection: str, embedder: str) -> Iterator[Searcher]:
    """Give a searcher over a collection, and close its connections."""
    from mem_opensearch.search import Searcher
    from mem_opensearch.store import EntityStore, OpenSearchVectorStore

    model = load(embedder)
    options: dict[str, Any] = {"collection_name": collection, "embedding_model_dims": model.dims}
    if url is not None:
        options["url"] = url
    store: OpenSearchVectorStore = OpenSearchVectorStore(**options)
    entities = EntityStore.beside(store, embed=model.embed_documents)
    try:
        yield Searcher(store, embedder=model, entities=entities)
    finally:
        store.close()
        entities.close()


def _filters(user: str | None, agent: str | None, run: str | None, conditions: str | None) -> dict[str, Any]:
    """Return the filter of a search: conditions within somebody's memories, never outside of them."""
    further = object_of(conditions, "--filter")
    for key, option in SCOPE_OPTIONS.items():
        if key in further:
            raise InvalidInputError(f"--filter has the key '{key}': give {option}")
    return {**further, **scope_of(user, agent, run)}


def scope_of(user: str | None, agent: str | None, run: str | None) -> dict[str, str]:
    """Return whose memories a command is about: one or more of user, agent and run, each somebody in particular."""
    given = dict(zip(SCOPE_OPTIONS, (user, agent, run), strict=True))
    scope = {key: value for key, value in given.items() if value is not None}
    if not scope:
        raise ScopeError("whose memory is it? give one or more of --user, --agent, --run")
    for key, value in scope.items():
        if not value.strip() or value == "*":
            raise ScopeError(f"{SCOPE_OPTIONS[key]} {value!r} is nobody in particular; give an id")
    return scope


def object_of(text: str | None, option: str) -> dict[str, Any]:
    """Return what an option of a command has as JSON; nothing where it is not given."""
    if text is None:
        return {}
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidInputError(f"{option} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise InvalidInputError(f"{option} is a {type(found).__name__}, expected an object")
    return found


def moment_of(text: str | None) -> datetime | None:
    """Return the time that an option of a command names, in UTC where it names no zone."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInputError(f"'{text}' is no time; give one as 2026-08-01 or 2026-08-01T09:30:00+08:00") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@contextmanager
def cli_errors() -> Iterator[None]:
    """Say what went wrong on one line, with the exit code that goes with it."""
    try:
        with ended_like_interrupted():
            yield
    except MemOpenSearchError as error:
        leave(f"error: {error}", error, CANT)
    except KeyboardInterrupt as error:
        leave("interrupted", error, INTERRUPTED)
