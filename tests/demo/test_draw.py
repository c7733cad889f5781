"""What is drawn holds the ids and numbers, and fits the terminal cell by cell."""

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from mem_opensearch.demo.bars import blocks, row
from mem_opensearch.demo.draw import page, stored_line, versions_line

pytestmark = pytest.mark.unit

SIGNALS = {"semantic": 0.55, "bm25": 0.91, "entity": 0.0, "final": 0.75}


def drawn(result, width, *, terminal=False, environment=None):
    console = Console(
        file=io.StringIO(), width=width, force_terminal=terminal, _environ=environment or {}, legacy_windows=False,
        highlight=False, emoji=False, color_system="truecolor" if terminal else None,
    )  # fmt: skip
    for part in page(result, width):
        console.print(part)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [40, 80, 119, 120, 140, 200])
def test_no_line_is_wider_than_the_terminal(result, width):
    assert max(cell_len(line) for line in drawn(result, width).splitlines()) <= width


@pytest.mark.parametrize("width", [80, 120, 140])
def test_ids_numbers_and_verdicts_are_there(result, width):
    text = drawn(result, width)
    for asked in result.asked:
        assert asked.question.query in text
        assert asked.question.relevant in text
        assert asked.question.kind in text
    for shown in ("sem ", "0.50", "bm25 ", "0.91", "ent ", "0.00", "final ", "0.75"):
        assert shown in text
    assert text.count("✓ right one at rank 1") == 2
    assert "✓ right one at rank 3" in text
    assert "✗ right one only at rank 4" in text
    assert "✗ right one only at rank 6" in text
    assert "✗ right one not among the 10 returned" in text
    assert "wrong-3" in text
    assert "wrong-4" not in text  # three are shown
    assert "…" in text


def test_the_right_memory_alone_is_ticked(result):
    lines = [line for line in drawn(result, 80).splitlines() if line[:2] in {"1 ", "2 ", "3 "} and line[2] in "✓✗"]
    ticked = {line.split()[2] for line in lines if line[2] == "✓"}
    assert len(lines) == 18
    assert ticked == {"kw-k01-m37", "kw-k07-m07"}
    assert all(line.split()[2].startswith("wrong") for line in lines if line[2] == "✗")


def test_two_columns_from_120_cells_on(result):
    titles = ("mem_opensearch  ✓", "mem0's own provider  ✗")
    assert any(all(title in line for title in titles) for line in drawn(result, 120).splitlines())
    assert not any(all(title in line for title in titles) for line in drawn(result, 119).splitlines())


def test_the_second_column_begins_at_the_same_cell_in_every_line(result):
    lines = drawn(result, 140).splitlines()
    starts = {cell_len(line[: line.index("1 ✗ wrong-1", 8)]) for line in lines if line.startswith("1 ✓ kw-")}
    starts |= {cell_len(line[: line.index("    sem", 8)]) for line in lines if line.startswith("    sem")}
    assert starts == {71}


def test_the_table_has_every_number(result):
    lines = drawn(result, 80).splitlines()
    (ours,) = [line.split() for line in lines if line.startswith(" mem_opensearch ")]
    (builtin,) = [line.split() for line in lines if line.startswith(" mem0's own provider ")]
    (cosine,) = [line.split() for line in lines if line.startswith(" meaning alone ")]
    assert ours[-5:] == ["2", "2", "5.0", "2.0", "1.2"]
    assert builtin[-5:] == ["0", "1", "12.0", "2.0", "14.5"]
    assert cosine[-5:] == ["0", "1", "-", "-", "-"]


def test_without_a_terminal_there_are_no_control_characters(result):
    text = drawn(result, 80)
    assert not [char for char in text if ord(char) < 32 and char != "\n"]


def test_no_color_is_heeded_and_bars_still_read(result):
    coloured = drawn(result, 80, terminal=True)
    plain = drawn(result, 80, terminal=True, environment={"NO_COLOR": "1"})
    assert "\x1b[36m" in coloured  # cyan, the semantic bar
    assert "\x1b[36m" not in plain
    assert "█" in plain
    assert "·" in plain


def test_lines_before_the_questions(result):
    assert "opensearch 3.6.0 at http://node:9200" in versions_line(result.versions)
    assert (
        stored_line(result.stored[1]) == "mem0's own provider: 1,572 memories searchable after 14.5 s (1,573 requests)"
    )


@pytest.mark.parametrize(
    ("value", "filled", "empty"),
    [
        (0.0, "", "····"),
        (1.0, "████", ""),
        (0.5, "██", "··"),
        (0.28125, "█▏", "··"),
        (0.001, "▏", "···"),
        (7.0, "████", ""),
    ],
)
def test_blocks(value, filled, empty):
    assert blocks(value, 4) == (filled, empty)


@pytest.mark.parametrize("cells", [10, 39, 45, 46, 60, 73, 120])
def test_a_row_of_bars_fits_and_has_bars_of_one_width(cells):
    text = row(SIGNALS, cells).plain
    bars = {sum(char in "█▉▊▋▌▍▎▏·" for char in part) for part in text.split("  ")}
    assert len(bars) == 1
    if cells >= 45:  # labels, numbers and gaps alone
        assert len(text) <= cells
        assert "0.55" in text
        assert "0.91" in text
