"""Show on stderr how far a long command has come: a bar with amount and time left, or a line per stage in a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import TaskID


class StageBar:
    """Told ``(stage, done, total)``; shows one bar at a time. Use it in a with statement.

    Args:
        label: what all stages are about, such as a collection.
        quiet: show nothing.
    """

    def __init__(self, label: str, *, quiet: bool = False) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._console = Console(stderr=True, highlight=False, markup=False, quiet=quiet)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._label = label
        self._stage = ""
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show that `done` of `total` are done in `stage`; a total of 0 is one that is not known."""
        if stage != self._stage:
            self._stage = stage
            if self._task is not None:
                self._progress.remove_task(self._task)
            self._task = self._progress.add_task(f"{self._label}: {stage}", total=total or None)
            if not self._console.is_terminal:
                self._console.print(f"{self._label}: {stage}", soft_wrap=True)
        if self._task is not None:
            self._progress.update(self._task, completed=done, total=total or None)
