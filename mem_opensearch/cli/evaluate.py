"""The command `mem-opensearch evaluate`."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path  # noqa: TC003 - typer reads the annotation when it runs
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from mem_opensearch.cli.output import CANT, INTERRUPTED, STDOUT, check_target, ended_like_interrupted, leave, write_json
from mem_opensearch.cli.search import object_of
from mem_opensearch.errors import InvalidInputError, MemOpenSearchError
from mem_opensearch.evaluate.datasets import ENTITIES_FIELDS, load_datasets
from mem_opensearch.evaluate.files import check_files, read_tuned, write_files
from mem_opensearch.evaluate.kept import named_embedder
from mem_opensearch.evaluate.runner import AS_OF, URL_VARIABLE
from mem_opensearch.evaluate.runner import evaluate as run_evaluation
from mem_opensearch.evaluate.systems import DEFAULT_SYSTEMS, SYSTEMS, TAGGERS
from mem_opensearch.search_options import Mode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mem_opensearch.evaluate.report import Report
    from mem_opensearch.evaluate.runner import Progress
    from mem_opensearch.rerank import Reranker
    from mem_opensearch.search import SearchOptions

Kind = Literal["type", "variant"]

WIDEST_TABLE = 1000  # columns, when the width that a table needs is measured


def evaluate(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Data folders: memories.jsonl or passages.jsonl, queries.jsonl."),
    ],
    *,
    system: Annotated[
        list[str] | None,
        typer.Option(help=f"May be given again. One of: {', '.join(SYSTEMS)}. Default: {', '.join(DEFAULT_SYSTEMS)}."),
    ] = None,
    mode: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODE",
            help="May be given again. Of this package's search, only in this mode; beside each --system.",
        ),
    ] = None,
    embedder: Annotated[str, typer.Option(help="'use', 'e5', or 'module:callable' that returns an embedder.")] = "use",
    cache: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep vectors there for the next run; texts are not kept.")
    ] = None,
    top_k: Annotated[int, typer.Option(help="How many rows the user of a search reads.")] = 10,
    json: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write JSON here; '-' is stdout, without table.")
    ] = None,
    analyzer: Annotated[
        str, typer.Option(help="Chinese analysis of this package's store: auto, ik, smartcn, jieba or bigram.")
    ] = "auto",
    baseline: Annotated[
        str | None,
        typer.Option(help="System that the others are compared with. Default: mem0-builtin if it is run, or the last."),
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(metavar=AS_OF.upper(), help=f"'{AS_OF}' searches what was there when a query was asked."),
    ] = None,
    entities_field: Annotated[
        str, typer.Option(help=f"Where a memory's names are: {', '.join(ENTITIES_FIELDS)}.")
    ] = "entities",
    tagger: Annotated[
        str,
        typer.Option(help=f"What finds names to link: {', '.join(TAGGERS)} (no links), or a spaCy pipeline."),
    ] = "auto",
    rerank: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="May be given again. Measure union, rrf, mem0 with this reranker too, or only --system union+NAME.",
        ),
    ] = None,
    rerank_options: Annotated[
        str | None,
        typer.Option(metavar="JSON", help='Options of the rerankers, as {"answers": {"pool": 3}}.'),
    ] = None,
    search_options: Annotated[
        str | None,
        typer.Option(metavar="JSON", help='Options of union, rrf and mem0, as {"normaliser": "log"}.'),
    ] = None,
    by: Annotated[Kind | None, typer.Option(help="A further table: the measures for each kind of question.")] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write one page with pictures, and the texts of bad queries.")
    ] = None,
    md: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the tables as Markdown.")] = None,
    pictures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the pictures there, as SVG and PNG.")
    ] = None,
    tune: Annotated[
        Path | None, typer.Option(metavar="FILE", help="JSON of 'tune', whose weights are drawn as a heat map.")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(envvar=URL_VARIABLE, help="The server, or 'local' for the local node. [default: local]"),
    ] = None,
) -> None:
    """Measure how well and how fast memories are found, and compare systems on one server.

    Every folder is indexed into fresh collections, which are removed afterwards.
    """
    try:
        check_target(json)
        check_files(html=html, md=md, pictures=pictures)
        tuned = None if tune is None else read_tuned(tune)
        is_detailed = html is not None or pictures is not None
        with ended_like_interrupted(), _progress_bar() as progress:
            report = run_evaluation(
                folders,
                systems=systems_of(system or (), mode or ()),
                embedder=named_embedder(embedder, cache),
                top_k=top_k,
                url=url,
                analyzer=analyzer,
                baseline=baseline,
                as_of=as_of,
                entities_field=entities_field,  # type: ignore[arg-type] # it is checked there
                tagger=tagger,
                search_options=_search_options(search_options),
                rerankers=_rerankers(rerank or [], rerank_options),
                is_detailed=is_detailed,
                progress=progress,
            )
        datasets = load_datasets(folders) if is_detailed else []
        write_files(report, datasets, html=html, md=md, pictures=pictures, tuned=tuned)
        _write(report, json, by)
    except MemOpenSearchError as error:
        leave(f"error: {error}", error, CANT)
    except KeyboardInterrupt as error:
        leave("interrupted: what was indexed for the evaluation is removed again", error, INTERRUPTED)


def systems_of(systems: Sequence[str], modes: Sequence[str]) -> tuple[str, ...]:
    """Return which systems are measured: the modes asked for, before what else is.

    >>> systems_of([], []), systems_of([], ["rrf"]), systems_of(["bm25", "mem0-builtin"], ["rrf"])
    (('union', 'mem0', 'semantic', 'bm25'), ('rrf', 'semantic', 'bm25'), ('rrf', 'bm25', 'mem0-builtin'))
    """
    known = get_args(Mode)
    for mode in modes:
        if mode not in known:
            raise InvalidInputError(f"mode '{mode}' is unknown; known are: {', '.join(known)}")
    if not modes:
        return tuple(systems) or DEFAULT_SYSTEMS
    others = systems or [name for name in DEFAULT_SYSTEMS if name not in known]
    return (*modes, *others)


def _rerankers(names: list[str], options: str | None) -> list[Reranker]:
    from mem_opensearch.rerank.configured import load_reranker

    given = object_of(options, "--rerank-options")
    if unknown := sorted(given.keys() - set(names)):
        raise InvalidInputError(f"--rerank-options has '{unknown[0]}', which is not among --rerank")
    return [load_reranker(name, given.get(name)) for name in names]


def _search_options(text: str | None) -> SearchOptions | None:
    from mem_opensearch.config import StoreConfig

    given = object_of(text, "--search-options")
    return StoreConfig(search=given).search if given else None  # which says what is wrong in one sentence


def _write(report: Report, target: str | None, by: Kind | None) -> None:
    if target is not None:
        write_json(report.to_json(), target)
        if target == STDOUT:
            return
    from rich.console import Console

    for table in [report.to_table(), *([] if by is None else [report.to_kinds_table(by)])]:
        console = Console()
        # In a narrower terminal, and in a file, a wrapped line is better than numbers cut short.
        needed = console.measure(table, options=console.options.update(width=WIDEST_TABLE)).maximum
        console.width = max(console.width, needed)
        console.print(table)


@contextmanager
def _progress_bar() -> Iterator[Progress]:
    """Show one bar per piece of work on stderr, as long as it is being done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("connect", total=None)
        shown = ""

        def show(label: str, done: int, total: int) -> None:
            nonlocal shown
            if label != shown:
                shown = label
                bar.reset(task, description=label, total=total)
            bar.update(task, completed=done, total=total)

        yield show
