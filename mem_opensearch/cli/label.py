"""The command `mem-opensearch label`."""

from __future__ import annotations

import getpass
import sys
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path  # noqa: TC003 - typer reads the annotation when it runs
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mem_opensearch.cli.output import STDOUT, write_json
from mem_opensearch.cli.results import printable
from mem_opensearch.cli.search import Collection, EmbedderName, ModeName, Url, cli_errors, make_searcher
from mem_opensearch.errors import ConfigError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Collection as Several
    from collections.abc import Iterator, Sequence

    from mem_opensearch.label import Candidate, Question
    from mem_opensearch.label.folder import Written
    from mem_opensearch.label.judgements import Judgement
    from mem_opensearch.label.judging import Page
    from mem_opensearch.search import Searcher

_PAGES = 3
_MARKS = {"not": (" ", "default"), "relevant": ("✓", "green"), "unsure": ("?", "yellow"), "outdated": ("⌛", "magenta")}
_SHOWN_CONFLICTS = 20


def label(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG", help="Questions: JSON lines with 'query', or one on each line. With --merge: folders."
        ),
    ],
    *,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder of evaluation data that is made.")],
    merge: Annotated[bool, typer.Option("--merge", help="Merge the folders of several judges instead.")] = False,
    user: Annotated[str | None, typer.Option("--user", help="Whose memories, where a line has no 'user_id'.")] = None,
    judge: Annotated[str | None, typer.Option(help="Your name in the file. Default: your login.")] = None,
    mode: ModeName = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
    collection: Collection = "mem0",
    url: Url = None,
    embedder: EmbedderName = "use",
) -> None:
    """Say which memories answer which questions, by single keys; it goes on where you left off.

    The folder is then one for evaluate and tune.
    """
    with cli_errors():
        _make_folder(out)
        if merge:
            _merge(inputs, out, as_json=as_json)
            return
        if len(inputs) != 1:
            raise InvalidInputError(f"label takes one log of questions, and these are {len(inputs)}; or is it --merge?")
        with make_searcher(url, collection, embedder) as searcher:
            _label(searcher, inputs[0], out, user=user, judge=judge, mode=mode, as_json=as_json)


def _label(
    searcher: Searcher, log: Path, out: Path, *, user: str | None, judge: str | None, mode: str | None, as_json: bool
) -> None:
    from mem_opensearch.label import Judging, judgements, read_questions

    questions = read_questions(log, user_id=user)
    judge = judge or getpass.getuser()
    path = out / judgements.FILE
    before, cut_off = judgements.read(path) if path.exists() else ({}, 0)
    judgements.check_same(path, before, questions)
    judgements.check_judge(path, before, judge)
    if cut_off:
        typer.echo(
            f"{path}: {cut_off} lines were cut off in the middle and are left out; their questions come again", err=True
        )
    open_ones = [question for question in questions if question.id not in before]
    if before:
        typer.echo(f"{len(questions) - len(open_ones)} of {len(questions)} are judged already", err=True)
    judging = Judging(
        find=lambda question: _find(searcher, question, mode),
        screen=_Terminal(),
        record=lambda judgement: judgements.append(path, judgement),
        judge=judge,
    )
    try:
        judging.run(open_ones, _keys())
    finally:  # also after Ctrl-C: what has been said is in the file, and the folder shows it
        judged = judgements.read(path)[0] if path.exists() else {}
        written = _write(searcher, out, judged.values())
    _tell(written, out, as_json=as_json, left=sum(question.id not in judged for question in questions))


def _write(searcher: Searcher, out: Path, judged: Several[Judgement]) -> Written:
    from mem_opensearch.label.folder import Written, write_folder

    if not judged:
        return Written(0, (), 0)
    users = sorted({each.question.user_id for each in judged})
    rows = (row for user_id in users for row in searcher.store.list({"user_id": user_id})[0] if row.payload.get("data"))
    return write_folder(out, [(each.question, each.marks) for each in judged], map(_memory_of, rows))


def _memory_of(row: Any) -> dict[str, Any]:  # noqa: ANN401 - a hit
    kept = {
        key: row.payload[key]
        for key in ("user_id", "created_at", "expiration_date", "entities")
        if row.payload.get(key)
    }
    return {"id": row.id, "text": row.payload["data"], **kept}


def _find(searcher: Searcher, question: Question, mode: str | None) -> Sequence[Candidate]:
    from mem_opensearch.cli.search import moment_of
    from mem_opensearch.label import Candidate
    from mem_opensearch.label.judging import PAGE

    answer = searcher.search(
        question.text,
        filters={"user_id": question.user_id},
        top_k=_PAGES * PAGE,
        threshold=0.0,  # what ranks too low is what the judge is there for
        mode=mode,  # type: ignore[arg-type] # checked there
        as_of=moment_of(question.asked_at),
    )
    for missing in answer.degraded:
        typer.echo(f"warning: {missing}", err=True)
    return [
        Candidate(found.id, str(found.payload.get("data", "")), str(found.payload.get("created_at") or ""))
        for found in answer.results
    ]


class _Terminal:
    """Shows a page on the terminal: a new one takes the place of the last, where that can be done."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True, highlight=False)

    def show(self, page: Page) -> None:
        from rich.text import Text

        from mem_opensearch.label.judging import KEYS

        self._console.clear()
        asked = f"  {page.question.asked_at[:10]}" if page.question.asked_at else ""
        head = Text(f"{page.place}/{page.of}  ", style="dim")
        head.append(printable(page.question.text), style="bold")
        head.append(printable(f"  {page.question.user_id}{asked}"), style="dim")
        self._console.print(head)
        if not page.candidates:
            self._console.print("nothing was found; Enter says that nothing answers it")
        for number, each in enumerate(page.candidates, start=1):
            sign, colour = _MARKS[page.marks[each.id]]
            line = Text(f" {number} {sign} ", style=colour)
            line.append(printable(each.text.replace("\n", " ⏎ ")))
            line.append(printable(f"  {each.created_at[:10]} {each.id}"), style="dim")
            self._console.print(line)
        self._console.print(Text(page.said or KEYS, style="dim"))


def _keys() -> Iterator[str]:
    """Yield what is pressed, or what stands on standard input where that is no terminal."""
    with _single_keys():
        while key := sys.stdin.read(1):
            yield key


@contextmanager
def _single_keys() -> Iterator[None]:
    """Have a terminal give each key at once, and keep those that are pressed while nobody reads."""
    if sys.platform == "win32" or not sys.stdin.isatty():  # there, keys count when Enter is pressed
        yield
        return
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin, termios.TCSANOW)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--out {out}: {error.strerror}") from error


def _merge(folders: Sequence[Path], out: Path, *, as_json: bool) -> None:
    from mem_opensearch.label import merge

    merged = merge(folders, out)
    if as_json:
        write_json(asdict(merged), STDOUT)
        return
    found = merged.agreement
    worth = [
        f"{name} {value:.2f}" for name, value in (("kappa", found.kappa), ("alpha", found.alpha)) if value is not None
    ]
    said = f"{found.equal} of {found.pairs} judged alike by {', '.join(merged.judges)}"
    typer.echo(printable("; ".join([said, *worth])))
    for question_id, memory_id in merged.conflicts[:_SHOWN_CONFLICTS]:
        typer.echo(
            printable(f"conflict: {question_id}, {memory_id}: as many for it as against it; it is no answer now")
        )
    if len(merged.conflicts) > _SHOWN_CONFLICTS:
        typer.echo(f"... and {len(merged.conflicts) - _SHOWN_CONFLICTS} conflicts more; --json lists all")
    _tell(merged.written, out, as_json=False)


def _tell(written: Written, out: Path, *, as_json: bool, left: int = 0) -> None:
    if as_json:
        write_json({**asdict(written), "left": left}, STDOUT)
        return
    typer.echo(f"{out}: {written.queries} questions with an answer, {written.memories} memories")
    if written.without:
        typer.echo(f"{len(written.without)} questions have no answer among what was shown; they are not in it")
    if left:
        typer.echo(f"{left} are left: the same command goes on with them")
    elif written.queries:
        typer.echo(f"next: mem-opensearch evaluate {out} --html report.html, or mem-opensearch tune {out}")
