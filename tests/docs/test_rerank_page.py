"""The examples of docs/rerank.md run, with a stub in the place of each service and of the model."""

import json
import re
import subprocess
import sys
import uuid
from dataclasses import fields
from pathlib import Path

from mem_opensearch.rerank import Reranker, models
from mem_opensearch.rerank.configured import STAGE
from mem_opensearch.rerank.flavours import FLAVOURS
from mem_opensearch.rerank.models import SentenceTransformer
from mem_opensearch.rerank.registry import load_scorer, scorer_names
from mem_opensearch.rerank.services import Cohere, RerankService, ZeroEntropy

PAGE = (Path(__file__).parents[2] / "docs" / "rerank.md").read_text(encoding="utf-8")
SCORES = (0.9, 0.1)


def run(section, replaced=None):
    (text,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", PAGE, flags=re.DOTALL | re.MULTILINE)
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
    for here, there in (replaced or {}).items():
        assert here in code
        code = code.replace(here, there)
    names = {}
    exec(compile(code, "rerank.md", "exec"), names)
    return names


def test_a_search_with_a_second_stage(opensearch_url):
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.partition("\n## ")[0], flags=re.DOTALL))
    collection = f"t-{uuid.uuid4().hex}"
    here = 'url="local", collection_name="rerank_page"'
    assert here in code
    code = code.replace(here, f"url={opensearch_url!r}, collection_name={collection!r}")
    names = {}
    try:
        exec(compile(code, "rerank.md", "exec"), names)
    finally:
        names["store"].delete_col()
    assert {*names["stages"], "sentence_transformer", "huggingface"} == set(scorer_names())


def test_every_option_of_the_stage_is_in_the_table():
    defaults = {field.name: field.default for field in fields(Reranker) if field.init and field.name != "scorer"}
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]*) \| [^|]* \|$", PAGE, flags=re.MULTILINE))
    assert set(STAGE) == set(defaults)
    for name, default in defaults.items():
        assert rows[name].startswith(str(default).lower().removesuffix(".0")), name


def test_the_measured_page_is_what_the_numbers_give():
    script = Path(__file__).parents[2] / "scripts" / "measure-rerank"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_services(httpserver):
    ranks = [{"index": at, "score": score} for at, score in enumerate(SCORES)]
    httpserver.expect_request("/rerank").respond_with_json(ranks)
    httpserver.expect_request("/rank").respond_with_json({"data": {"ranked": ranks}})
    there = httpserver.url_for("").rstrip("/")
    run("Services", {"http://localhost:8080": there, "http://localhost:9000": there})
    own = httpserver.log[1][0].json
    assert own["passages"] == ["我住在臺北的大安區", "我对花生过敏"]
    assert own["normalize"] is True


def test_models_on_this_machine(monkeypatch):
    monkeypatch.setattr(models, "find_spec", lambda _: True)
    monkeypatch.setattr(SentenceTransformer, "_load", lambda _: "model")
    monkeypatch.setattr(SentenceTransformer, "_outputs", lambda *_: [[2.0], [-2.0]])
    first, second = run("Models on this machine")["scores"]
    assert first > second


def test_an_llm(httpserver):
    answer = json.dumps({"scores": [{"id": 1, "score": 9}, {"id": 2, "score": 0}]})
    said = {"choices": [{"finish_reason": "stop", "message": {"content": answer}}]}
    httpserver.expect_request("/v1/chat/completions").respond_with_json(said)
    run("An LLM as the reranker", {"http://localhost:8000": httpserver.url_for("").rstrip("/")})


def test_every_name_is_in_the_table():
    named = set(re.findall(r"`([a-z_]+)`", "\n".join(re.findall(r"^\| (`[^|]*) \|", PAGE, flags=re.MULTILINE))))
    assert set(scorer_names()) <= named


def test_the_defaults_of_the_page(monkeypatch):
    monkeypatch.setattr(models, "find_spec", lambda _: True)
    key = {"api_key": "k"}
    assert re.findall(r"\| ([^|]*) \| 278 M .*\(the default there\)", PAGE) == [load_scorer("huggingface").model]
    assert load_scorer("sentence_transformer").model == load_scorer("huggingface").model
    for name in ("jina", "siliconflow", "dashscope", "cohere", "zero_entropy"):
        (line,) = re.findall(rf"^\| (.*`{name}` \((?:its default|.* is its default).*)\|$", PAGE, flags=re.MULTILINE)
        assert load_scorer(name, key).model in line
    (limits,) = re.findall(r"texts in one request: (.*) \|", PAGE)
    assert limits == ("cohere, zero_entropy, jina and vllm 1,000, siliconflow 500, dashscope 50, tei 32")
    most = {name: RerankService(flavour=name, url="http://localhost/rerank").most_texts for name in FLAVOURS}
    assert most == {"jina": 1000, "vllm": 1000, "siliconflow": 500, "dashscope": 50, "tei": 32}
    assert Cohere(**key).most_texts == ZeroEntropy(**key).most_texts == 1000
