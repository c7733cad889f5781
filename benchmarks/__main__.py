"""Run one benchmark: ``python -m benchmarks search --size 100000 --json FILE``; see docs/performance.md."""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mem_opensearch.errors import MemOpenSearchError
from mem_opensearch.progress import StageBar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

FOLDER = Path(__file__).parent.parent / "docs" / "performance"

Json = Annotated[str, typer.Option("--json", metavar="FILE", help="Write the result there; - is standard output.")]
Size = Annotated[int, typer.Option(min=1, help="Memories.")]
Rounds = Annotated[int, typer.Option(min=1, help="Interleaved rounds.")]
Users = Annotated[
    str, typer.Option(help="Numbers of users, at most three: 1,100,10000. The first one's is the result.")
]
Data = Annotated[
    Path | None,
    typer.Option(help="Folder of evaluation data with sentences and questions; those of the package if not given."),
]
Questions = Annotated[int, typer.Option(min=1, help="Questions of a round, at most.")]

Qdrant = Annotated[bool, typer.Option(help="Whether mem0 with Qdrant takes part.")]


@contextmanager
def _server() -> Iterator[str]:
    """Give the server: OPENSEARCH_URL, or a local node of the run's own."""
    if url := os.environ.get("OPENSEARCH_URL"):
        yield url
        return
    from mem_opensearch.node import LocalNode

    with LocalNode(heap="3g") as node:
        yield node.url


def _memories(size: int, *, data: Path | None, users: str = "100", questions: int = 40) -> Any:  # noqa: ANN401 - Memories
    from benchmarks.data import Memories

    return Memories(size, _embedder(), users=_numbers(users), folder=data, questions=questions)


@functools.cache
def _embedder() -> Any:  # noqa: ANN401 - an embedder
    """Return one for all sizes, which embeds each sentence once."""
    from benchmarks.contenders import Prepared
    from mem_opensearch.embed import UniversalSentenceEncoder

    return Prepared(UniversalSentenceEncoder(), ())


def _numbers(given: str) -> list[int]:
    try:
        numbers = [int(number) for number in given.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise typer.BadParameter(f"'{given}' is no list of numbers like 1,100,10000")
    return numbers


def _write(result: Mapping[str, Any], file: str) -> None:
    text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
    if file == "-":
        sys.stdout.write(text)
    else:
        Path(file).write_text(text, encoding="utf-8")


@app.command()
def search(
    *,
    size: Size = 100_000,
    users: Users = "100",
    rounds: Rounds = 7,
    questions: Questions = 40,
    data: Data = None,
    qdrant: Qdrant = True,
    json_file: Json = "-",
) -> None:
    """Time a search: ours, mem0's own provider, mem0 with Qdrant, the bare requests, an exact scan."""
    from benchmarks import search as benchmark

    with _server() as url, StageBar("search") as tick:
        memories = _memories(size, data=data, users=users, questions=questions)
        result = benchmark.run(url, memories, rounds=rounds, tick=tick, qdrant=qdrant)
    _write(result, json_file)


@app.command()
def ingest(
    *,
    size: Size = 10_000,
    rounds: Rounds = 5,
    data: Data = None,
    qdrant: Qdrant = True,
    json_file: Json = "-",
) -> None:
    """Time a load: ours, mem0's own provider, mem0 with Qdrant, and a bulk loop by hand in two threads."""
    from benchmarks import ingest as benchmark

    with _server() as url, StageBar("ingest") as tick:
        _write(benchmark.run(url, _memories(size, data=data), rounds=rounds, tick=tick, qdrant=qdrant), json_file)


@app.command()
def concurrency(
    *,
    size: Size = 100_000,
    threads: Annotated[str, typer.Option(help="Numbers of threads.")] = "1,2,4,8,16",
    searches: Annotated[int, typer.Option(min=1, help="Searches of one measurement.")] = 200,
    rounds: Rounds = 5,
    data: Data = None,
    json_file: Json = "-",
) -> None:
    """Count the searches a second of several threads: ours beside mem0's own provider."""
    from benchmarks import concurrency as benchmark

    numbers = _numbers(threads)
    with _server() as url, StageBar("concurrency") as tick:
        memories = _memories(size, data=data)
        result = benchmark.run(url, memories, threads=numbers, searches=searches, rounds=rounds, tick=tick)
    _write(result, json_file)


@app.command()
def recall(
    *,
    sizes: Annotated[str, typer.Option(help="Numbers of memories.")] = "1000,10000,100000",
    kinds_at: Annotated[
        int, typer.Option(help="Memories for parameters and quantisation; 0 leaves them out.")
    ] = 20_000,
    questions: Questions = 40,
    data: Data = None,
    json_file: Json = "-",
) -> None:
    """Compare the nearest that a search finds with the exactly nearest, by size, filter and parameters."""
    from benchmarks import recall as benchmark

    users = ",".join(map(str, benchmark.USERS))

    def make(size: int) -> Any:  # noqa: ANN401 - Memories
        return _memories(size, data=data, users=users, questions=questions)

    with _server() as url, StageBar("recall") as tick:
        _write(benchmark.run(url, make, sizes=_numbers(sizes), kinds_at=kinds_at, tick=tick), json_file)


@app.command()
def growth(
    *,
    sizes: Annotated[str, typer.Option(help="Numbers of memories, such as 1000,10000,100000,1000000.")] = (
        "1000,10000,100000"
    ),
    rounds: Rounds = 5,
    questions: Questions = 40,
    data: Data = None,
    json_file: Json = "-",
) -> None:
    """Time filtered searches among more and more memories, of 1, 100 and 10,000 users."""
    from benchmarks import growth as benchmark

    users = ",".join(map(str, benchmark.USERS))

    def make(size: int) -> Any:  # noqa: ANN401 - Memories
        return _memories(size, data=data, users=users, questions=questions)

    with _server() as url, StageBar("growth") as tick:
        _write(benchmark.run(url, make, sizes=_numbers(sizes), rounds=rounds, tick=tick), json_file)


@app.command()
def start(*, size: Size = 10_000, rounds: Rounds = 7, data: Data = None, json_file: Json = "-") -> None:
    """Time imports, and the first search of a new process."""
    from benchmarks import start as benchmark

    with _server() as url, StageBar("start") as tick:
        _write(benchmark.run(url, _memories(size, data=data), rounds=rounds, tick=tick), json_file)


@app.command()
def entities(*, size: Size = 100_000, rounds: Rounds = 5, json_file: Json = "-") -> None:
    """Time looking names up among many entities, and adding links."""
    from benchmarks import entities as benchmark

    with _server() as url, StageBar("entities") as tick:
        _write(benchmark.run(url, size=size, rounds=rounds, tick=tick), json_file)


@app.command()
def page(
    *, check: Annotated[bool, typer.Option("--check", help="Only say whether the page is up to date.")] = False
) -> None:
    """Write docs/performance.md and its pictures from docs/performance/*.json."""
    from benchmarks.page import performance_page

    results = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*.json"))}
    text, file = performance_page(results), FOLDER.with_suffix(".md")
    if check:
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            sys.exit(f"{file} is not what {FOLDER} gives: run python -m benchmarks page")
        return
    from benchmarks.charts import pictures_of

    for name, picture in pictures_of(results).items():
        (FOLDER / f"{name}.svg").write_text(picture, encoding="utf-8")
    file.write_text(text, encoding="utf-8")


@app.command()
def refresh(*, rounds: Rounds = 20, json_file: Json = "-") -> None:
    """Measure what it costs to see one's own writes, by each refresh policy."""
    from benchmarks import refresh as benchmark

    with _server() as url:
        _write(benchmark.run(url, rounds=rounds), json_file)


@app.command()
def delete(*, rounds: Rounds = 20, json_file: Json = "-") -> None:
    """Time `delete_all` of one user among others; each round adds 5,000 memories."""
    from benchmarks import delete as benchmark

    with _server() as url:
        _write(benchmark.run(url, rounds=rounds), json_file)


@app.command()
def ner(folder: Annotated[Path, typer.Argument(help="Holds sentences.jsonl.")], *, json_file: Json = "") -> None:
    """Measure how well entities are found; prints a table unless a file is named."""
    from benchmarks import ner as benchmark

    result = benchmark.run(folder)
    if json_file:
        _write(result, json_file)
    else:
        sys.stdout.write(benchmark.table(result))


def main() -> None:
    """Parse the command line and run; a signal to end is an interrupt, so that collections are removed."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    except MemOpenSearchError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
