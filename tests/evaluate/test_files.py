"""The page, the Markdown and the pictures of a report: whole, in need of nothing, and safe with hostile text."""

import json
import subprocess
import xml.etree.ElementTree as ET

import html5lib
import pytest
import typer
from typer.testing import CliRunner

from mem_opensearch.cli.evaluate import evaluate as command
from mem_opensearch.demo.load import folder_of
from mem_opensearch.evaluate import load_datasets
from mem_opensearch.evaluate.charts import FONTS
from mem_opensearch.evaluate.files import write_files
from mem_opensearch.evaluate.html import html_page

HOSTILE = "</td></svg><script>document.title='owned'</script><img src=x onerror=alert(1)>\"'&{{ 7*7 }}"
GRID = {"x": "words", "y": "entity", "cells": [[0.5, 0.1, 0.7], [0.5, 0.2, 0.8], [0.7, 0.1, 0.6], [0.7, 0.2, 0.9]]}
ALLOWED = ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink")


@pytest.fixture
def hostile_folder(make_folder):
    return make_folder(
        [{"id": f"{HOSTILE}{n}", "text": f"{HOSTILE} 龙井茶 {n * 3}"} for n in range(4)],
        [
            {"id": HOSTILE, "query": f"{HOSTILE} 龍井茶 0", "relevant": [f"{HOSTILE}3"], "type": HOSTILE},
            {"id": "q", "query": "龙井茶 0", "relevant": [f"{HOSTILE}2"]},
        ],
    )


@pytest.fixture
def hostile(hostile_folder, run_evaluation):
    report = run_evaluation([hostile_folder], systems=["union", "mem0", "bm25"], top_k=1, is_detailed=True)
    return report, load_datasets([hostile_folder])


def parsed(page):
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page)


def test_the_page_is_whole_and_needs_nothing_else(tea_folder, run_evaluation):
    report = run_evaluation([tea_folder], systems=["union", "bm25"], top_k=2, is_detailed=True)
    page = html_page(report, load_datasets([tea_folder]), {"grid": GRID})
    tree = parsed(page)
    names = [figure.get("id") for figure in tree.iter("figure") if figure.get("id")]
    assert names == ["systems", "recall", "latency", "failures", "signals", "weights"]
    assert not list(tree.iter("script"))
    assert not [one for one in tree.iter() if one.get("src") or one.get("style") or str(one.get("href", "")).strip()]
    rest = page
    for allowed in ALLOWED:
        rest = rest.replace(allowed, "")
    assert "http://" not in rest
    assert "https://" not in rest
    assert "prefers-color-scheme: dark" in page
    assert "Noto Sans CJK SC" in page
    policy = next(meta.get("content") for meta in tree.iter("meta") if meta.get("http-equiv"))
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    cells = ["".join(cell.itertext()) for cell in tree.iter("td")]
    for result in report.results:
        assert f"{result.metrics['mrr@10']:.3f}" in cells
        for miss in result.misses.values():
            assert miss.mend in cells


def test_hostile_text_stays_text(hostile):
    page = html_page(*hostile)
    tree = parsed(page)
    assert not list(tree.iter("script"))
    assert not list(tree.iter("img"))
    assert not [key for one in tree.iter() for key in one.attrib if str(key).startswith("on")]
    assert any("".join(head.itertext()) == f"{HOSTILE} 龍井茶 0" for head in tree.iter("h3"))
    assert any("".join(cell.itertext()) == f"{HOSTILE} 龙井茶 9" for cell in tree.iter("td"))


def test_markdown_has_no_text_of_a_memory_and_no_markup(hostile, tmp_path):
    report, datasets = hostile
    write_files(report, datasets, md=tmp_path / "r.md", pictures=tmp_path / "pictures")
    text = (tmp_path / "r.md").read_text()
    assert "<script" not in text
    assert "<img" not in text
    assert "龙井茶" not in text
    assert "](<pictures/recall.png>)" in text
    heads = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(heads) >= 8


def test_every_picture_is_an_svg_and_a_png(hostile, tmp_path):
    report, datasets = hostile
    write_files(report, datasets, pictures=tmp_path / "deep" / "pictures", tuned={"grid": GRID})
    files = {file.name for file in (tmp_path / "deep" / "pictures").iterdir()}
    names = ["systems", "recall", "latency", "failures", "signals", "weights"]
    assert files == {f"{name}.{kind}" for name in names for kind in ("svg", "png")}
    for name in names:
        assert (tmp_path / "deep" / "pictures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        root = ET.parse(tmp_path / "deep" / "pictures" / f"{name}.svg").getroot()
        assert root.tag.endswith("svg")
        assert not [one for one in root.iter() if one.tag.endswith(("script", "foreignObject"))]


@pytest.fixture
def run(opensearch_url, monkeypatch, angle_embedder):
    app = typer.Typer()
    app.command("evaluate")(command)
    monkeypatch.setattr("mem_opensearch.evaluate.runner.load_embedder", lambda name: angle_embedder())
    return lambda *args: CliRunner().invoke(app, [*map(str, args), "--url", opensearch_url])


def test_the_command_writes_them_all(run, hostile_folder, tmp_path):
    (tmp_path / "tune.json").write_text(json.dumps({"grid": GRID}))
    files = ["--html", tmp_path / "r.html", "--md", tmp_path / "r.md", "--pictures", tmp_path / "p"]
    result = run(hostile_folder, "--system", "union", *files, "--tune", tmp_path / "tune.json", "--by", "type")
    assert result.exit_code == 0, result.output
    assert "by type" in result.stdout
    assert "(none)" in result.stdout
    assert 'id="weights"' in (tmp_path / "r.html").read_text()
    assert "weights.png" in (tmp_path / "r.md").read_text()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--html", "/absent/r.html"], "--html /absent/r.html: its folder is missing"),
        (["--md", "/"], "--md /: this is a folder"),
        (["--pictures", "/dev/null"], "--pictures /dev/null: this is no folder"),
        (["--tune", "/absent.json"], "--tune /absent.json: No such file"),
        (["--tune", "/dev/null"], "--tune /dev/null: this is not JSON"),
    ],
)
def test_what_cannot_be_written_is_said_before_the_work(run, tea_folder, options, reason):
    result = run(tea_folder, *options)
    assert result.exit_code == 2
    assert reason in result.stderr


@pytest.mark.parametrize(
    "tuned", ["[]", "{}", '{"grid": {"x": "a", "y": "b", "cells": [[1, 2]]}}', '{"grid": {"x": 1}}']
)
def test_a_tune_file_of_another_form_is_refused(run, tea_folder, tmp_path, tuned):
    (tmp_path / "tune.json").write_text(tuned)
    result = run(tea_folder, "--tune", tmp_path / "tune.json")
    assert (result.exit_code, "expected {" in result.stderr) == (2, True)


def test_the_report_of_our_own_sets(run_evaluation, screenshots, browser_programs, tmp_path):
    """What docs/evaluation.md shows: the curve of recall and the head of the page, of sets of the package."""
    folders = [folder_of("keyword_zh"), folder_of("temporal_zh")]
    report = run_evaluation(folders, systems=["union", "mem0", "semantic"], embedder="use", is_detailed=True)
    write_files(report, load_datasets(folders), html=screenshots / "report.html", pictures=screenshots / "report")
    by_system = {(result.dataset, result.system): result for result in report.results}
    for folder in folders:
        ours = by_system[folder.name, "union"].recall_at
        assert list(ours.values()) == sorted(ours.values())
        assert ours[1] > by_system[folder.name, "mem0"].recall_at[1]
    assert "茶" in (screenshots / "report.html").read_text(encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    picture = f"--screenshot={screenshots / 'report.png'}"
    url = (screenshots / "report.html").as_uri()
    subprocess.run([browser_programs[0], *options, "--window-size=1240,900", picture, url], check=True, timeout=120)
    assert (screenshots / "report.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_in_a_browser(hostile, tmp_path, browser_programs):
    """Chromium runs no script of it and loads nothing; its picture is of the size asked for."""
    browser, _ = browser_programs
    (tmp_path / "r.html").write_text(html_page(*hostile), encoding="utf-8")
    picture = tmp_path / "r.png"
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    url = (tmp_path / "r.html").as_uri()
    subprocess.run(
        [browser, *options, "--window-size=1100,1800", f"--screenshot={picture}", url], check=True, timeout=120
    )
    assert picture.read_bytes()[16:24] == (1100).to_bytes(4, "big") + (1800).to_bytes(4, "big")
    done = subprocess.run(
        [browser, *options, "--dump-dom", url], check=True, timeout=120, capture_output=True, text=True
    )
    assert "<title>Evaluation</title>" in done.stdout


@pytest.mark.parametrize(("letters", "pictures"), [("茶龍龙我", 4), ("\ue0f1\ue0f2\ue0f3", 1)])
def test_chinese_is_drawn_by_the_fonts_of_a_report(browser_programs, tmp_path, letters, pictures):
    """A letter that no font has is drawn as the same box whatever it is."""
    page, picture = tmp_path / "page.html", tmp_path / "page.png"
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    taken = set()
    for letter in letters:
        page.write_text(f"<meta charset=utf-8><body style='font: 40px {FONTS}'>{letter}", encoding="utf-8")
        taking = [browser_programs[0], *options, "--window-size=600,300", f"--screenshot={picture}", page.as_uri()]
        subprocess.run(taking, check=True, timeout=120)
        taken.add(picture.read_bytes())
    assert len(taken) == pictures
