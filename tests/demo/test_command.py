"""Options of the command, without a node."""

import json
import os
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from mem_opensearch.cli.demo import demo
from mem_opensearch.demo.systems import quiet_mem0
from mem_opensearch.errors import BackendUnavailable, MissingExtraError

pytestmark = pytest.mark.unit

app = typer.Typer()
app.command()(demo)


@pytest.fixture
def instead_of_running(monkeypatch):
    """Make the command get this result, or this error, instead of running."""

    def answer_with(outcome):
        def run_demo(**_):
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        monkeypatch.setattr("mem_opensearch.demo.run.run_demo", run_demo)

    return answer_with


def test_json_on_stdout_stands_alone(instead_of_running, result):
    instead_of_running(result)
    outcome = CliRunner().invoke(app, ["--json", "-"])
    assert outcome.exit_code == 0
    assert json.loads(outcome.stdout) == json.loads(json.dumps(result.as_data()))


def test_json_goes_to_a_file_beside_the_text(instead_of_running, result, tmp_path):
    instead_of_running(result)
    target = tmp_path / "out.json"
    outcome = CliRunner().invoke(app, ["--json", str(target)])
    assert json.loads(target.read_text())["summary"][0]["system"] == "ours"
    assert str(target) in outcome.stdout
    assert "first of 3" in outcome.stdout


@pytest.mark.parametrize(
    ("target", "reason"), [(".", "this is a folder"), ("none/out.json", "its folder does not exist")]
)
def test_a_file_that_can_not_be_written_is_refused_before_the_work(instead_of_running, tmp_path, target, reason):
    instead_of_running(AssertionError("it ran"))
    outcome = CliRunner().invoke(app, ["--json", str(tmp_path / target)])
    assert outcome.exit_code == 2
    assert reason in outcome.stderr


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (MissingExtraError("mem0", "mem0", "the demo"), 2, "pip install 'mem-opensearch[mem0]'"),
        (BackendUnavailable("nobody answers at http://node:9200"), 2, "http://node:9200"),
        (KeyboardInterrupt(), 130, "removed again"),
    ],
)
def test_what_goes_wrong_is_one_line_and_a_code(instead_of_running, error, code, words):
    instead_of_running(error)
    outcome = CliRunner().invoke(app, [])
    assert outcome.exit_code == code
    assert words in outcome.stderr
    assert outcome.stdout == ""


def test_mem0_sends_nothing_and_stays_out_of_the_home(monkeypatch):
    monkeypatch.delenv("MEM0_DIR")
    monkeypatch.delenv("MEM0_TELEMETRY")
    with quiet_mem0():
        home = Path(os.environ["MEM0_DIR"])
        assert home.is_dir()
        assert os.environ["MEM0_TELEMETRY"] == "False"
    assert not home.exists()
    assert not {"MEM0_DIR", "MEM0_TELEMETRY"} & set(os.environ)


def test_what_the_user_has_set_for_mem0_stays(monkeypatch, tmp_path):
    monkeypatch.setenv("MEM0_DIR", str(tmp_path))
    monkeypatch.setenv("MEM0_TELEMETRY", "True")
    with quiet_mem0():
        assert os.environ["MEM0_DIR"] == str(tmp_path)
        assert os.environ["MEM0_TELEMETRY"] == "True"
    assert tmp_path.is_dir()
