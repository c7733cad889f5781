"""Each benchmark runs at a tiny size and gives the keys that its readers count on; nothing here is about speed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import requests

ROOT = Path(__file__).parents[2]
SIZE = 200
SYSTEMS = {
    "ours_union", "ours_mem0_mode", "ours_memory", "ours_memory_mem0_mode", "mem0_builtin", "mem0_builtin_enough",
    "mem0_qdrant", "raw_floor", "raw_floor_search_alone", "numpy_exact",
}  # fmt: skip


@pytest.fixture
def names_of(opensearch_url):
    """Names of the indices and templates that benchmarks have made."""

    def names() -> set[str]:
        indices = requests.get(f"{opensearch_url}/_cat/indices?format=json", timeout=60).json()
        templates = requests.get(f"{opensearch_url}/_index_template", timeout=60).json()["index_templates"]
        every = [each["index"] for each in indices] + [each["name"] for each in templates]
        return {name for name in every if "bench-" in name}

    return names


@pytest.fixture
def run(opensearch_url, tmp_path, names_of):
    """Run one benchmark as its user does, and return what it wrote; it may leave nothing behind."""

    def runs(name: str, *options: str) -> dict:
        file, before = tmp_path / f"{name}.json", names_of()
        result = subprocess.run(
            [sys.executable, "-m", "benchmarks", name, *options, "--json", str(file)],
            cwd=ROOT,
            env={**os.environ, "OPENSEARCH_URL": opensearch_url},
            capture_output=True,
            text=True,
            timeout=500,
        )
        assert result.returncode == 0, result.stderr[-3000:]
        assert names_of() <= before
        return json.loads(file.read_text())

    return runs


def assert_machine(result: dict) -> None:
    assert result["machine"]["cores"] >= 1
    assert result["machine"]["server"]["version"]
    assert result["machine"]["packages"]["opensearch-py"]


def test_search(run):
    result = run("search", "--size", str(SIZE), "--rounds", "2", "--questions", "4", "--users", "2,1,50")
    assert {"mem0_builtin_over_ours", "ours_over_raw_floor", "mem0_qdrant_over_ours"} <= result["ratios"].keys()
    assert all(ratio > 0 for ratio in result["ratios"].values())
    assert result["medians_ms"].keys() == result["client_cpu_ms"].keys() == SYSTEMS
    assert result["runs"] == 2
    assert result["users"] == 2
    assert list(result["by_users"]) == ["2", "1", "50"]
    assert result["ratios"] == result["by_users"]["2"]["ratios"]
    assert set(result["calls"].values()) == {8}
    assert result["per_search"]["mem0_builtin"]["requests"] == 2  # by meaning, and by words
    assert 1 <= result["per_search"]["ours_union"]["requests"] <= 2
    assert 0 < result["results_per_search"]["ours_union"] <= 20
    assert result["results_per_search"]["mem0_builtin_enough"] >= result["results_per_search"]["mem0_builtin"]
    assert result["results_per_search"]["numpy_exact"] == 20
    assert result["data"]["memories"] == SIZE
    assert_machine(result)


def test_ratios_are_those_of_the_medians(run):
    result = run("search", "--size", "60", "--rounds", "1", "--questions", "3", "--no-qdrant")
    medians = result["medians_ms"]
    assert "mem0_qdrant_over_ours" not in result["ratios"]
    assert result["ratios"]["mem0_builtin_over_ours"] == pytest.approx(
        medians["mem0_builtin"] / medians["ours_memory"], abs=0.02
    )
    assert result["ratios"]["ours_over_raw_floor"] == pytest.approx(
        medians["ours_union"] / medians["raw_floor"], abs=0.02
    )


def test_ingest(run):
    result = run("ingest", "--size", str(SIZE), "--rounds", "1")
    assert {"ours_over_mem0_builtin", "ours_over_raw_floor"} <= result["ratios"].keys()
    rates = result["rates_per_second"]
    assert rates.keys() == {"ours", "ours_with_notes", "raw_floor", "mem0_builtin", "mem0_qdrant"}
    assert result["ratios"]["ours_over_raw_floor"] == pytest.approx(rates["ours"] / rates["raw_floor"], abs=0.01)
    assert set(result["memories_of_a_round"].values()) == {SIZE}
    assert result["requests_per_1000"]["mem0_builtin"] == 1000
    assert result["requests_per_1000"]["ours"] < 20
    assert_machine(result)


def test_concurrency(run):
    result = run("concurrency", "--size", str(SIZE), "--rounds", "1", "--threads", "1,4", "--searches", "20")
    peers = ("mem0_builtin", "mem0_builtin_enough")
    assert result["ratios"].keys() == {f"ours_over_{peer}_at_{number}" for peer in peers for number in (1, 4)}
    assert result["results_per_search"].keys() == {"ours_union", "ours_memory", *peers}
    assert set(result["errors"].values()) == {0}
    assert set(result["answers_unlike_those_of_one_thread"].values()) == {0}


def test_recall(run):
    result = run("recall", "--sizes", str(SIZE), "--kinds-at", str(SIZE), "--questions", "3")
    for state in result["by_size"][str(SIZE)].values():
        assert set(state["recall"].values()) == {1.0}  # so few are all looked at
    assert result["by_size"][str(SIZE)]["merged"]["segments"] == 1
    measured = {each["kind"]: each for each in result["kinds"] if "why_not" not in each}
    assert measured["as this package makes it"]["by_ef_search"]["default"]["recall"]["1"] == 1.0
    assert measured["as this package makes it"]["size_mb"] > 0
    assert all(each["why_not"] for each in result["kinds"] if each["kind"] not in measured)


def test_growth(run):
    result = run("growth", "--sizes", f"100,{SIZE}", "--rounds", "1", "--questions", "3")
    assert result["medians_ms"].keys() == {f"{size}/{users}" for size in (100, SIZE) for users in (1, 100, 10_000)}
    assert len(result["ratios"]) == 5
    assert result["loads"].keys() == {"100", str(SIZE)}


def test_start(run):
    result = run("start", "--size", str(SIZE), "--rounds", "1")
    assert result["medians_ms"]["import mem_opensearch"] > 0
    assert result["medians_ms"]["first search, imported"] > 0
    assert len(result["requests_of_searches"]) == 5


def test_entities(run):
    result = run("entities", "--size", str(SIZE), "--rounds", "1")
    assert result["entities"] == SIZE
    assert result["found_per_call"]["find a name"] == 1
    assert result["found_per_call"]["find the names of a question"] == 1
    assert result["per_call"]["add a link"]["requests"] == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_nothing_behind(opensearch_url, names_of, number):
    before = names_of()
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks", "concurrency", "--size", "3000", "--rounds", "1000", "--threads", "2"],
        cwd=ROOT,
        env={**os.environ, "OPENSEARCH_URL": opensearch_url},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 200
        while names_of() <= before and time.monotonic() < until:
            time.sleep(0.2)
        assert names_of() - before
        process.send_signal(number)
        assert process.wait(120) != 0
    finally:
        process.kill()
        process.wait()
    assert names_of() <= before


def test_data_of_ones_own(run):
    folder = ROOT / "mem_opensearch" / "demo" / "data" / "keyword_zh"
    result = run("growth", "--sizes", "60", "--rounds", "1", "--questions", "2", "--data", str(folder))
    assert result["data"]["sentences"].startswith("60 of keyword_zh")


def test_a_folder_without_data_is_an_error_that_says_so(opensearch_url, tmp_path):
    result = subprocess.run(
        [sys.executable, "-m", "benchmarks", "ingest", "--data", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "OPENSEARCH_URL": opensearch_url},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith("error: ")
    assert "memories.jsonl" in result.stderr
    assert "Traceback" not in result.stderr


def test_wrong_numbers_are_refused():
    result = subprocess.run(
        [sys.executable, "-m", "benchmarks", "recall", "--sizes", "many"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 2
    assert "1,100,10000" in result.stderr
