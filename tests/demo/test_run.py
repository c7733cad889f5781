"""One whole run on a real node, and what is left of it: nothing."""

import json
import re
import signal
import subprocess
import sys
import time
import urllib.request

import pytest
import typer
from typer.testing import CliRunner

from mem_opensearch.cli.demo import demo
from mem_opensearch.demo.questions import QUESTIONS

pytestmark = pytest.mark.slow

app = typer.Typer()
app.command()(demo)


def names_on(url):
    """Every index, alias and template that a demo has made."""
    found = []
    for path in ("_cat/indices?h=index", "_cat/aliases?h=alias", "_cat/templates?h=name"):
        with urllib.request.urlopen(f"{url}/{path}") as answer:
            found += answer.read().decode().split()
    return {name for name in found if "demo-" in name}


@pytest.fixture(scope="module")
def run(opensearch_url, tmp_path_factory):
    """Output and data of one run, with the names on the server afterwards."""
    target = tmp_path_factory.mktemp("demo") / "out.json"
    outcome = CliRunner().invoke(app, ["--url", opensearch_url, "--json", str(target)], env={"COLUMNS": "100"})
    assert outcome.exit_code == 0, outcome.output
    return outcome, json.loads(target.read_text()), names_on(opensearch_url)


def test_ten_questions_are_answered_by_both(run):
    _, data, _ = run
    assert [item["question"]["query"] for item in data["asked"]] == [question.query for question in QUESTIONS]
    for item in data["asked"]:
        assert [answer["system"] for answer in item["answers"]] == ["ours", "mem0-builtin"]
        for answer in item["answers"]:
            assert 1 <= len(answer["hits"]) <= 10
            assert answer["requests"] == 2.0
            assert len(answer["milliseconds"]) == 5
            assert all(figure > 0 for figure in answer["milliseconds"])


def test_ranks_are_those_of_the_hits(run):
    _, data, _ = run
    for item in data["asked"]:
        for answer in item["answers"]:
            ids = [hit["id"] for hit in answer["hits"]]
            right = item["question"]["relevant"]
            assert answer["rank"] == (ids.index(right) + 1 if right in ids else None)
            finals = [hit["final"] for hit in answer["hits"]]
            assert finals == sorted(finals, reverse=True)
            if answer["system"] == "mem0-builtin":
                for hit in answer["hits"]:
                    assert hit["final"] == pytest.approx((hit["semantic"] + hit["bm25"]) / 2)  # mem0 has two signals


def test_all_memories_are_searchable_in_both(run):
    _, data, _ = run
    assert (data["memories"], data["users"]) == (1572, 36)
    ours, builtin = data["stored"]
    assert (ours["memories"], builtin["memories"]) == (1572, 1572)
    assert ours["requests"] < 60  # seven batches: the turns before, the rows, what they replace
    assert builtin["requests"] == 1573  # one for each memory, and the refresh


def test_what_is_found_does_not_get_worse(run):
    _, data, _ = run
    ours, builtin, cosine = data["summary"]
    # Measured on OpenSearch 3.6.0: 5 and 9 with an IK that drops function words such as 的, 5 and 7 with one that keeps
    # them, as the local node's did when this was written.
    assert ours["first"] >= 7
    assert ours["top3"] >= 9
    assert ours["top3"] >= builtin["top3"]
    assert cosine["first"] >= 2


def test_a_full_width_number_stands_first_only_in_ours(run):
    _, data, _ = run
    (item,) = [item for item in data["asked"] if item["question"]["query"].startswith("ＶＩＰ")]
    ours, builtin = item["answers"]
    assert ours["rank"] == 1
    assert builtin["rank"] is None or builtin["rank"] > 3


def test_the_output_is_plain_and_has_every_part(run):
    outcome, data, _ = run
    text = outcome.stdout
    assert not [char for char in text if ord(char) < 32 and char != "\n"]
    assert data["versions"]["server"] in text.splitlines()[0]
    assert len(re.findall("^mem_opensearch  [✓✗]", text, re.MULTILINE)) == 10
    assert len(re.findall("^mem0's own provider  [✓✗]", text, re.MULTILINE)) == 10
    for question in QUESTIONS:
        assert question.query in text
    assert "first of 10" in text
    assert "mem-opensearch evaluate" in text
    assert "Storing in mem0's own provider" in outcome.stderr


def test_nothing_is_left_on_the_server(run):
    _, data, left = run
    assert data["collection"].startswith("demo-")
    assert not [name for name in left if data["collection"] in name]


def test_an_ended_run_cleans_up_too(opensearch_url):
    before = names_on(opensearch_url)
    code = "import typer; from mem_opensearch.cli.demo import demo; app = typer.Typer(); app.command()(demo); app()"
    command = [sys.executable, "-c", code, "--url", opensearch_url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 120
        while not names_on(opensearch_url) - before and time.monotonic() < deadline:
            time.sleep(0.1)
        made = names_on(opensearch_url) - before
        assert made
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "removed again" in errors
    assert not names_on(opensearch_url) & made


def test_a_server_that_is_not_there_is_an_error_with_its_address():
    outcome = CliRunner().invoke(app, ["--url", "http://127.0.0.1:9"])
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith("error: ")
    assert "127.0.0.1:9" in outcome.stderr
    assert "Traceback" not in outcome.output
