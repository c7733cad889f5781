"""The node of the command line: it stays, is found, is attached to and is stopped."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from mem_opensearch.errors import ConfigError
from mem_opensearch.node import attach_or_start, find_detached, start_detached, stop_detached
from mem_opensearch.node.detached import STATE_FILE
from mem_opensearch.node.identity import ProcessId
from mem_opensearch.node.places import state_folder

from .conftest import ask, run_python


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "from mem_opensearch.cli.node import app; app(prog_name='mem-opensearch node')"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=180)


@pytest.fixture
def stopped():
    stop_detached()
    yield
    stop_detached()


def test_start_find_attach_and_stop(stopped):
    assert command("status").returncode == 1
    assert json.loads(command("status", "--json").stdout) == {"running": False}
    begun = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                "from mem_opensearch.cli.node import app; app()",
                "start",
                "--json",
                "--quiet",
                "--heap",
                "384m",
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    facts = [json.loads(process.communicate(timeout=180)[0]) for process in begun]
    assert sorted(fact.pop("started") for fact in facts) == [False, True], "two at once start one"
    assert facts[0] == facts[1]
    url, pid = facts[0]["url"], facts[0]["pids"][0]
    ask(url, "/kept/_doc/1?refresh=true", {"n": 1}, method="PUT")

    status = command("status", "--json")
    assert status.returncode == 0
    assert json.loads(status.stdout)["url"] == url
    assert json.loads(status.stdout)["answers"] is True
    assert url in command("status").stdout

    again = command("start")
    assert (again.returncode, again.stdout.strip()) == (0, url)
    other = command("start", "--version", "2.19.1")
    assert other.returncode == 2
    assert "its version is 3.6.0, not 2.19.1" in other.stderr
    assert "node stop" in other.stderr

    assert attach_or_start() == url
    assert attach_or_start(version="3.6.0", analysis=("ik",)) == url
    with pytest.raises(ConfigError, match=r"does not fit: .*has no analysis smartcn"):
        attach_or_start(analysis=("ik", "smartcn"))
    with pytest.raises(ConfigError, match=r"its version is 3\.6\.0, not 2\.19\.1"):
        attach_or_start(version="2.19.1")
    others = [run_python("from mem_opensearch.node import attach_or_start; print(attach_or_start())") for _ in range(2)]
    assert [process.communicate(timeout=60)[0].strip() for process in others] == [url, url]

    lines = command("logs", "--lines", "5").stdout.splitlines()
    assert len(lines) == 5

    ended = command("stop")
    assert ended.returncode == 0
    assert not ProcessId.of(pid).is_alive()
    assert command("stop").returncode == 1
    assert command("logs", "--lines", "1").returncode == 0, "the log of an ended node can be read"


@pytest.mark.unit
def test_a_recycled_process_number_is_never_killed():
    state_folder().mkdir(parents=True, exist_ok=True)
    with subprocess.Popen(["sleep", "60"]) as bystander:
        record = {
            "urls": ["http://127.0.0.1:1"],
            "processes": [{"pid": bystander.pid, "started": "earlier"}],
            "version": "3.6.0",
            "analysis": ["ik"],
            "heap": "512m",
            "data": "/nowhere",
            "logs": ["/nowhere/node.log"],
            "since": 0.0,
        }
        (state_folder() / STATE_FILE).write_text(json.dumps(record))
        try:
            assert find_detached() is None
            assert stop_detached() is None
            assert bystander.poll() is None
            os.kill(bystander.pid, 0)
        finally:
            bystander.kill()


@pytest.mark.unit
def test_a_state_that_can_not_be_read_is_no_node():
    state_folder().mkdir(parents=True, exist_ok=True)
    (state_folder() / STATE_FILE).write_text("{")
    assert find_detached() is None


@pytest.mark.unit
def test_wrong_options_end_with_code_2_and_name_the_known_values():
    answer = command("start", "--analysis", "kuromoji")
    assert answer.returncode == 2
    assert "analysis can hold: ik, smartcn" in answer.stderr
    with pytest.raises(ConfigError, match="known are: version"):
        start_detached(colour="blue")
