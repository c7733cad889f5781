"""Systems against a baseline, and the page that is made of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mem_opensearch.errors import ConfigError
from mem_opensearch.evaluate import Outcome, Report, Result
from mem_opensearch.evaluate.comparing import choose_baseline, compare
from mem_opensearch.evaluate.page import quality_page, with_holm

ROOT = Path(__file__).parents[2]
FAILURES = {"not_in_pool": 1, "below_threshold": 0, "ranked_low": 2}


def result(system, ranks, *, dataset="tea"):
    outcomes = {
        f"q{n}": Outcome(ranking=("m",), seconds=0.1, requests=2 + n % 2, reciprocal_rank=rank, owner=f"u{n % 3}")
        for n, rank in enumerate(ranks)
    }
    mean = sum(ranks) / len(ranks)
    return Result(
        dataset=dataset,
        system=system,
        embedder="angle",
        metrics=dict.fromkeys(("hit@1", "recall@5", "recall@10", "mrr@10", "ndcg@10"), mean),
        latency_ms={"p50": 1.0, "p95": 2.0},
        failures=FAILURES,
        requests_per_query=2.5,
        outcomes=outcomes,
    )


def settings(**more):
    return {
        "embedder": "angle",
        "dims": 2,
        "server": "opensearch 3.6.0",
        "analyzer": "ik",
        "rows_asked_for": 10,
        "top_k": 10,
        "baseline": "base",
        "entities_field": "entities",
        "mem0-builtin": "as it comes",
        "versions": {"mem-opensearch": "1"},
    } | more


def test_each_system_against_the_baseline_of_its_set():
    results = [
        result("better", [1.0] * 6),
        result("base", [0.5] * 6),
        result("better", [0.5] * 4, dataset="coffee"),
        result("base", [0.5] * 4, dataset="coffee"),
    ]
    first, second = compare(results, baseline="base")
    assert (first.dataset, first.system, first.baseline, first.difference) == ("tea", "better", "base", 0.5)
    assert first.p == pytest.approx(2 / 64)
    assert first.p_holm == pytest.approx(4 / 64)  # two comparisons
    assert first.interval == (0.5, 0.5)
    assert (second.difference, second.p, second.p_holm) == (0.0, 1.0, 1.0)


def test_a_baseline_that_is_not_run_is_refused():
    assert choose_baseline(["union", "bm25"], "union") == "union"
    with pytest.raises(ConfigError, match="the baseline 'mem0' is not run; the systems are: union, bm25"):
        choose_baseline(["union", "bm25"], "mem0")


def report_json():
    results = (result("better", [1.0] * 6), result("base", [0.5] * 6))
    return Report(results, settings(), tuple(compare(results, baseline="base"))).to_json()


def test_the_json_of_a_report_says_how_each_row_compares():
    better, base = report_json()["results"]
    assert better["comparison"] == {
        "baseline": "base",
        "difference": 0.5,
        "interval": [0.5, 0.5],
        "p": 0.03125,
        "p_holm": 0.03125,
    }
    assert base["comparison"] is None
    assert better["intervals"] == {"mrr@10": [1.0, 1.0]}
    assert (better["requests_per_query"], better["requests_max"]) == (2.5, 3)


def test_reports_that_are_put_together_are_corrected_together():
    rows = [*report_json()["results"], *report_json()["results"]]
    compared = [row["comparison"] for row in with_holm(rows)]
    assert [each and each["p_holm"] for each in compared] == [0.0625, None, 0.0625, None]


def test_the_page_shows_every_number_and_no_time():
    measured = report_json()
    measured["remedies"] = [
        {**measured["results"][1], "remedy": "none", "variant": "as it is"},
        {**measured["results"][0], "remedy": "links", "variant": "by rules"},
        {"remedy": "reranker", "variant": "", "why": "not yet"},
    ]
    page = quality_page(measured)
    assert "| tea | **1.000*** | 0.500 |" in page
    assert (
        "| tea | better | 6 | 1.000 | 1.000 | 1.000 | 1.000 to 1.000 | 1.000 |  | +0.500 | .031 | 2.5, 3 | 1, 0, 2 |"
        in page
    )
    assert "| tea | base | 6 | 0.500 | 0.500 | 0.500 | 0.500 to 0.500 | 0.500 |  |  |  | 2.5, 3 | 1, 0, 2 |" in page
    assert "| links | by rules | better | 1.000 | 1.000 | +0.500 | .031 |" in page
    assert "| reranker |  |  | not yet |  |  |  |" in page
    for row in measured["results"]:
        row["latency_ms"] = {"p50": 99.0, "p95": 999.0}
    assert quality_page(measured) == page


def test_the_page_says_what_mem0_lacked():
    measured = report_json()
    assert "spaCy is not installed, so its lemmas and entities are off" in quality_page(measured)
    measured["settings"]["versions"]["spacy"] = "3.8"
    assert "spaCy is not installed" not in quality_page(measured)


def test_the_page_in_docs_is_what_its_numbers_give():
    script = ROOT / "scripts" / "measure-quality"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    numbers = json.loads((ROOT / "docs" / "quality.json").read_text())
    assert not any("latency_ms" in row for row in numbers["results"])
