"""The command `label`, from a log to a folder that `evaluate` and `tune` read."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.cli import app
from mem_opensearch.evaluate import load_datasets
from mem_opensearch.label import judgements

TEXTS = ["我住在柏林", "我在一家茶館工作", "我養了一隻叫阿福的貓"]
HOSTILE = "貓\x1b[2J\x1b]0;owned\x07\u202e 的照片"


@pytest.fixture
def where(opensearch_url, collection):
    yield ["--url", opensearch_url, "--collection", collection]
    OpenSearchVectorStore(url=opensearch_url, collection_name=f"{collection}_entities").delete_col()


@pytest.fixture
def run(where):
    """Run a command on the test's collection; return exit code, stdout and stderr."""

    def command(*words, stdin=None):
        result = CliRunner().invoke(app, [*map(str, words), *where], input=stdin)
        return result.exit_code, result.stdout, result.stderr

    return command


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.jsonl"
    lines = [{"query": "使用者住在哪裡？", "id": "home"}, {"query": "他的猫叫什么？", "id": "cat"}]
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return path


@pytest.fixture
def labelled(run, log, tmp_path):
    """Label the log with the right answers; return the folder."""
    run("add", *TEXTS, HOSTILE, "--user", "lin")
    run("add", "別人住在里斯本", "--user", "wu")

    def label(name, keys):
        out = tmp_path / name
        return out, run("label", log, "--out", out, "--user", "lin", "--judge", name, stdin=keys)

    return label


def mark_of(stderr, text):
    """Return the digit that a memory with this text has on the last page that was shown."""
    return [line.split()[0] for line in stderr.splitlines() if text in line and line.split()[0].isdigit()][-1]


def test_from_a_log_to_an_evaluation(labelled, opensearch_url):
    out, (_, _, shown) = labelled("wei", "q")
    home = mark_of(shown, TEXTS[0])
    assert "別人" not in shown, "it is another user's"
    out, (_, _, shown) = labelled("wei", "sq")
    cat = mark_of(shown, TEXTS[2])
    out, (code, said, _) = labelled("wei", f"{home}\n{cat}\n")
    assert code == 0
    assert "2 questions with an answer, 4 memories" in said
    assert f"mem-opensearch evaluate {out}" in said
    (dataset,) = load_datasets([out])
    texts = {memory.id: memory.text for memory in dataset.memories}
    assert [[texts[row_id] for row_id in query.relevant] for query in dataset.queries] == [[TEXTS[0]], [TEXTS[2]]]
    command = ["evaluate", str(out), "--system", "union", "--json", "-", "--url", opensearch_url]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["results"][0]["queries"] == 2


def test_it_goes_on_where_it_was_left(labelled):
    out, (_, said, _) = labelled("wei", "1\nq")
    assert "1 are left" in said
    before = (out / judgements.FILE).read_bytes()
    _, (code, said, shown) = labelled("wei", "1\n")
    assert code == 0
    assert "1 of 2 are judged already" in shown
    assert "使用者住在哪裡" not in shown
    assert (out / judgements.FILE).read_bytes().startswith(before)
    _, (_, said, shown) = labelled("wei", "")
    assert "2 of 2 are judged already" in shown
    assert "are left" not in said


def test_a_cut_off_line_is_said_and_comes_again(labelled):
    out, _ = labelled("wei", "1\n1\n")
    path = out / judgements.FILE
    path.write_bytes(path.read_bytes()[:-30])
    _, (code, _, shown) = labelled("wei", "1\n")
    assert code == 0
    assert "1 lines were cut off" in shown
    assert len(judgements.read(path)[0]) == 2


def test_a_file_of_another_judge_is_refused(run, labelled, log):
    out, _ = labelled("wei", "1\n")
    code, _, said = run("label", log, "--out", out, "--user", "lin", "--judge", "mei", stdin="1\n")
    assert code == 2
    assert "holds what 'wei' has said" in said


def test_a_hostile_text_does_not_steer_the_terminal(labelled):
    _, (_, _, shown) = labelled("wei", "q")
    assert "的照片" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)


def test_nothing_is_read_without_a_scope(run, log, tmp_path):
    code, _, said = run("label", log, "--out", tmp_path / "out", stdin="q")
    assert code == 2
    assert "give --user" in said


def test_two_judges_are_merged(run, labelled, tmp_path):
    first, _ = labelled("wei", "1\n1\n")
    second, _ = labelled("mei", "1\n2\n")
    code, said, _ = run("label", "--merge", first, second, "--out", tmp_path / "both")
    assert code == 0
    assert "judged alike by mei, wei" in said
    assert "kappa" in said
    assert said.count("conflict: cat") == 2
    code, said, _ = run("label", "--merge", first, second, "--out", tmp_path / "both", "--json")
    assert json.loads(said)["agreement"]["pairs"] == 8


def test_more_logs_than_one_are_refused(run, log, tmp_path):
    code, _, said = run("label", log, log, "--out", tmp_path / "out", "--user", "lin")
    assert (code, "--merge" in said) == (2, True)


def test_keys_on_a_terminal_and_a_kill_in_the_middle(labelled, log, where, tmp_path):
    """A real terminal: single keys without Enter, and all that was said is kept when the process is killed."""
    labelled("other", "q")
    out = tmp_path / "killed"
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "mem_opensearch", "label", str(log), "--out", str(out), "--user", "lin", *where]
    with subprocess.Popen(
        [*command, "--judge", "wei"], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as process:
        try:
            read_until(ours, b"1/2")
            os.write(ours, b"1\r")
            read_until(ours, b"2/2")
        finally:
            process.kill()
    os.close(theirs)
    os.close(ours)
    found, cut_off = judgements.read(out / judgements.FILE)
    assert (list(found), cut_off) == (["home"], 0)
    assert "relevant" in found["home"].marks.values()


def read_until(terminal, wanted):
    """Read what a terminal shows until something is in it."""
    shown, ends = b"", time.monotonic() + 60
    while wanted not in shown:
        assert time.monotonic() < ends, shown
        if select.select([terminal], [], [], 1)[0]:
            shown += os.read(terminal, 4096)
    return shown
