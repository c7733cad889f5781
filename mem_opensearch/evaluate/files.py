"""Write the files of a report: a page, a Markdown page, pictures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from mem_opensearch.errors import ConfigError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.evaluate.datasets import Dataset
    from mem_opensearch.evaluate.report import Report


def check_files(*, html: Path | None, md: Path | None, pictures: Path | None) -> None:
    """Refuse what can't be written, or drawn, before the work and not after it.

    Raises:
        ConfigError: names the option.
        MissingExtraError: what draws is not installed.
    """
    for option, file in (("--html", html), ("--md", md)):
        if file is not None and (file.is_dir() or not file.absolute().parent.is_dir()):
            raise ConfigError(f"{option} {file}: " + ("this is a folder" if file.is_dir() else "its folder is missing"))
    if pictures is not None and pictures.exists() and not pictures.is_dir():
        raise ConfigError(f"--pictures {pictures}: this is no folder")
    if html is not None or pictures is not None:
        from mem_opensearch.evaluate.charts import load_altair
        from mem_opensearch.extras import require

        load_altair()
        require("jinja2", extra="report", purpose="a report with pictures")


def read_tuned(path: Path) -> dict[str, Any]:
    """Return the result of tuning, for the heat map of its weights.

    Raises:
        InvalidInputError: the file can't be read, is not JSON, or has no `grid` of `x`, `y` and `cells`.
    """
    try:
        tuned = orjson.loads(path.read_bytes())
    except OSError as error:
        raise InvalidInputError(f"--tune {path}: {error.strerror}") from error
    except orjson.JSONDecodeError as error:
        raise InvalidInputError(f"--tune {path}: this is not JSON: {error}") from None
    grid = tuned.get("grid") if isinstance(tuned, dict) else None
    if not (isinstance(grid, dict) and all(isinstance(grid.get(name), str) for name in "xy") and _is_cells(grid)):
        raise InvalidInputError(
            f'--tune {path}: expected {{"grid": {{"x": NAME, "y": NAME, "cells": [[x, y, value], ...]}}}}'
        )
    return dict(tuned)


def _is_cells(grid: Mapping[str, Any]) -> bool:
    cells = grid.get("cells")
    return isinstance(cells, list) and all(
        isinstance(cell, list) and len(cell) == len(("x", "y", "value")) and all(type(n) in {int, float} for n in cell)
        for cell in cells
    )


def write_files(
    report: Report,
    datasets: Sequence[Dataset],
    *,
    html: Path | None = None,
    md: Path | None = None,
    pictures: Path | None = None,
    tuned: Mapping[str, Any] | None = None,
) -> None:
    """Write those of the files that are asked for.

    Args:
        report: of an evaluation with `is_detailed`.
        datasets: those of the report.
        html: one page with everything, see `html.html_page`.
        md: tables, and the pictures if they are written as well.
        pictures: a folder, made if need be, for an SVG and a PNG of each chart.
        tuned: see `read_tuned`.

    Raises:
        ConfigError: a file can't be written.
    """
    try:
        drawn = _draw(report, datasets, pictures, tuned) if pictures is not None else {}
        if md is not None:
            from mem_opensearch.evaluate.markdown import markdown_page

            beside = {
                name: Path(os.path.relpath(path, md.absolute().parent)).as_posix() for name, path in drawn.items()
            }
            md.write_text(markdown_page(report, beside), encoding="utf-8")
        if html is not None:
            from mem_opensearch.evaluate.html import html_page

            html.write_text(html_page(report, datasets, tuned), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{error.filename}: {error.strerror}") from error


def _draw(
    report: Report, datasets: Sequence[Dataset], folder: Path, tuned: Mapping[str, Any] | None
) -> dict[str, Path]:
    from mem_opensearch.evaluate.charts import charts_of, png_of, svg_of

    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for name, chart in charts_of(report, datasets, tuned).items():
        (folder / f"{name}.svg").write_text(svg_of(chart), encoding="utf-8")
        written[name] = (folder / f"{name}.png").absolute()
        written[name].write_bytes(png_of(chart))
    return written
