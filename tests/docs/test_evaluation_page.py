"""The three commands of docs/evaluation.md lead from memories and questions to a report."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from mem_opensearch import OpenSearchVectorStore

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
MORE = [
    {"id": "m2", "text": "使用者養了一隻叫阿福的貓", "user_id": "lin", "created_at": "2026-03-02"},
    {"id": "m3", "text": "使用者不喝咖啡", "user_id": "lin", "created_at": "2026-03-03"},
]


@pytest.fixture
def removed(opensearch_url, collection):
    yield
    OpenSearchVectorStore(url=opensearch_url, collection_name=f"{collection}_entities").delete_col()


@pytest.mark.usefixtures("removed")
def test_three_commands_lead_to_a_report(tmp_path, opensearch_url, collection):
    memory, question = re.findall(r"```json\n(.*?)\n```", PAGE, flags=re.DOTALL)
    lines = [memory, *(json.dumps(one, ensure_ascii=False) for one in MORE)]
    (tmp_path / "memories.jsonl").write_text("\n".join(lines), "utf-8")
    (tmp_path / "questions.jsonl").write_text(question, "utf-8")
    (block,) = (block for block in re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL) if " label " in block)
    commands = [shlex.split(line) for line in block.strip().splitlines()]
    assert len(commands) == 3
    said = ""
    for words in commands:
        given = [{"local": opensearch_url, "trial": collection}.get(word, word) for word in words]
        if given[1] == "label":
            digit = press(given, tmp_path, "q").split(json.loads(memory)["text"])[0].splitlines()[-1].split()[0]
            said = press(given, tmp_path, f"{digit}\n")
        else:
            said = press(given, tmp_path, "")
    report = (tmp_path / "report.html").read_text("utf-8")
    assert collection in report
    assert "hit@1" in report
    assert "mrr@10" in said.lower()


@pytest.mark.unit
def test_every_screenshot_of_the_docs_is_drawn_by_tests():
    script = (ROOT / "scripts" / "draw-docs").read_text(encoding="utf-8")
    pictures = sorted(path.stem for path in (ROOT / "docs").glob("*.png"))
    assert pictures == sorted(re.search(r"for picture in ([^;]+);", script).group(1).split())


def press(words, folder, keys):
    """Run a command with these keys; return what it said."""
    command = [sys.executable, "-m", "mem_opensearch", *words[1:]]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": "200"}
    done = subprocess.run(
        command, input=keys, capture_output=True, text=True, cwd=folder, env=environment, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr
