"""The command `mem-opensearch tune`."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotation when it runs
from typing import TYPE_CHECKING, Annotated

import typer

from mem_opensearch.cli.output import CANT, INTERRUPTED, STDOUT, check_target, ended_like_interrupted, leave, write_json
from mem_opensearch.cli.search import reranker_of
from mem_opensearch.errors import ConfigError, MemOpenSearchError
from mem_opensearch.evaluate.datasets import ENTITIES_FIELDS
from mem_opensearch.evaluate.kept import named_embedder
from mem_opensearch.evaluate.metrics import MEASURES
from mem_opensearch.evaluate.runner import AS_OF, URL_VARIABLE
from mem_opensearch.evaluate.systems import TAGGERS
from mem_opensearch.progress import StageBar
from mem_opensearch.tune.folds import SEED
from mem_opensearch.tune.runner import DEFAULT_METRIC, FOLDS
from mem_opensearch.tune.runner import tune as run_tuning
from mem_opensearch.tune.study import TRIALS

if TYPE_CHECKING:
    from mem_opensearch.tune.report import TuneReport


def tune(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Data folders as for evaluate; one choice is made for all of them."),
    ],
    *,
    metric: Annotated[str, typer.Option(help=f"What is to be large: {', '.join(MEASURES)}.")] = DEFAULT_METRIC,
    folds: Annotated[int, typer.Option(help="Most folds of users.")] = FOLDS,
    trials: Annotated[int, typer.Option(help="Combinations that are tried for each fold.")] = TRIALS,
    seed: Annotated[int, typer.Option(help="Of folds and search: the same gives the same outcome.")] = SEED,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="Also vary what needs a new search: pool, k1, b, mode mem0.")
    ] = False,
    rerank: Annotated[
        str | None, typer.Option("--rerank", metavar="NAME", help="Tune the weight and pool of this second stage too.")
    ] = None,
    rerank_options: Annotated[
        str | None, typer.Option("--rerank-options", metavar="JSON", help="Its options, and those of its scorer.")
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the chosen options here: JSON for the option 'search' of a store."),
    ] = None,
    json: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the report as JSON here; '-' is stdout, without tables.")
    ] = None,
    embedder: Annotated[str, typer.Option(help="'use', 'e5', or 'module:callable' that returns an embedder.")] = "use",
    cache: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep vectors there for the next run; texts are not kept.")
    ] = None,
    analyzer: Annotated[str, typer.Option(help="Chinese analysis: auto, ik, smartcn, jieba or bigram.")] = "auto",
    as_of: Annotated[
        str | None,
        typer.Option(metavar=AS_OF.upper(), help=f"'{AS_OF}' searches what was there when a query was asked."),
    ] = None,
    entities_field: Annotated[
        str, typer.Option(help=f"Where a memory's names are: {', '.join(ENTITIES_FIELDS)}.")
    ] = "entities",
    tagger: Annotated[
        str, typer.Option(help=f"What finds names to link: {', '.join(TAGGERS)}, or a spaCy pipeline.")
    ] = "auto",
    url: Annotated[
        str | None,
        typer.Option(envvar=URL_VARIABLE, help="The server, or 'local' for the local node. [default: local]"),
    ] = None,
) -> None:
    """Choose the options of a search by labelled queries: by some users, judged by the others.

    The default is kept where nothing is better on the others. Every folder is indexed into fresh collections, which are
    removed afterwards.
    """
    try:
        check_target(json)
        _check_out(out)
        with ended_like_interrupted(), StageBar("tune") as bar:
            report = run_tuning(
                folders,
                metric=metric,
                folds=folds,
                trials=trials,
                seed=seed,
                thorough=thorough,
                reranker=reranker_of(rerank, rerank_options),
                embedder=named_embedder(embedder, cache),
                url=url,
                analyzer=analyzer,
                as_of=as_of,
                entities_field=entities_field,  # type: ignore[arg-type] # it is checked there
                tagger=tagger,
                progress=bar,
            )
        if out is not None:
            write_json(report.fragment, out)
        if json is not None:
            write_json(report.to_json(), json)
        if json != STDOUT:
            _print(report, out)
    except MemOpenSearchError as error:
        leave(f"error: {error}", error, CANT)
    except KeyboardInterrupt as error:
        leave("interrupted: what was indexed for tuning is removed again", error, INTERRUPTED)


def _check_out(out: str | None) -> None:
    if out == STDOUT:
        raise ConfigError("--out -: give a file; --json - has the same under 'search'")
    try:
        check_target(out)
    except ConfigError as error:
        raise ConfigError(str(error).replace("--json", "--out", 1)) from None


def _print(report: TuneReport, out: str | None) -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    for table in report.to_tables():
        console.width = max(console.width, console.measure(table, options=console.options.update(width=1000)).maximum)
        console.print(table)
    for sentence in report.sentences():
        typer.echo(sentence)
    if report.rerank_options:
        import orjson

        typer.echo(f"for the second stage: --rerank-options '{orjson.dumps(report.rerank_options).decode()}'")
    if out is not None:
        typer.echo(f"written: {out}")
    for warning in report.warnings:
        typer.echo(f"warning: {warning}", err=True)
