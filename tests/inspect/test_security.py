"""Who is let in, what an answer allows the browser, and what the process says of what is asked."""

from __future__ import annotations

import json
import signal
import socket
import urllib.error
import urllib.request
from pathlib import Path
from queue import SimpleQueue

import pytest
from inspect_memories import TEA
from inspect_pages import PORT, TOKEN
from starlette.testclient import TestClient
from typer.testing import CliRunner

from mem_opensearch.cli import app as commands
from mem_opensearch.inspect import server

PATHS = ("/search", "/rank", "/memory", "/why", "/entities", "/entity", "/health")


@pytest.fixture
def stranger(page):
    """A client of the same page without the cookie."""
    return TestClient(page.app, base_url=f"http://127.0.0.1:{PORT}")


def test_the_token_lets_in_and_leaves_the_address(stranger):
    answer = stranger.get("/", params={"token": TOKEN}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert stranger.get("/").status_code == 200


@pytest.mark.parametrize("params", [{}, {"token": ""}, {"token": "wrong"}, {"token": TOKEN[:-1]}, {"token": "é"}])
def test_without_the_token_nothing_is_shown(stranger, page, params):
    for path in ("/", "/static/inspect.js"):
        answer = stranger.get(path, params=params)
        assert answer.status_code == 403
        assert page.inspector.collection not in answer.text
    for path in PATHS:
        assert stranger.post(path, params=params, json={"user": "amei", "query": "x"}).status_code == 403
    for cookie in ("wrong", TOKEN + "x"):
        answer = stranger.get("/", headers={"cookie": f"mem-opensearch-inspect-{PORT}={cookie}"})
        assert answer.status_code == 403
    answer = stranger.get("/", headers={b"cookie": f"mem-opensearch-inspect-{PORT}=é".encode()})
    assert answer.status_code == 403


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1.evil.example", "", "["])
def test_another_host_name_is_refused(page, host):
    assert page.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:1"])
def test_another_origin_is_refused(page, origin):
    answer = page.post("/search", json={"query": "x", "user": "amei"}, headers={"origin": origin})
    assert answer.status_code == 403


def test_forms_of_other_sites_are_no_requests(page):
    answer = page.post("/search", data={"query": "x", "user": "amei"})
    assert answer.status_code == 400
    answer = page.post("/search", content=b"[1]", headers={"content-type": "application/json"})
    assert answer.status_code == 400
    answer = page.post("/search", content=b"{", headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert page.post("/search", json={"query": "x" * 200_000, "user": "amei"}).status_code == 413


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(page, method):
    for path in ("/", *PATHS, "/static/inspect.js"):
        assert page.request(method, path).status_code == 405
    assert page.get("/search").status_code == 405
    assert page.post("/").status_code == 405


def test_what_an_answer_allows_the_browser(page, stranger):
    answers = [page.get("/"), page.get("/static/inspect.css"), page.get("/nothing"), stranger.get("/"), page.put("/")]
    answers.append(page.post("/search", json={"query": "茶", "user": "amei"}))
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
    assert "style=" not in answers[0].text
    assert " on" + "click=" not in answers[0].text


def test_what_nobody_foresaw_is_shown_and_logged_without_what_was_asked(page, monkeypatch, caplog):
    def fail(body):
        raise RuntimeError(body.query)

    monkeypatch.setattr(page.inspector, "search", fail)
    answer = page.post("/search", json={"query": "秘密的提问", "user": "amei"})
    assert answer.status_code == 500
    assert "秘密" not in answer.text
    assert "Traceback" not in answer.text
    assert "RuntimeError" in caplog.text
    assert "秘密" not in caplog.text


def ask(url, path, body, cookie):
    request = urllib.request.Request(
        url + path,
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json", "cookie": cookie},
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def test_the_command_serves_this_machine_and_logs_no_question(remember, served):
    searcher = remember(TEA)
    address, log, process = served(searcher.store.collection_name, "--user", "amei")
    url, _, token = address.partition("/?token=")
    with pytest.raises(urllib.error.HTTPError) as came_in:
        urllib.request.build_opener(_Stay).open(address)
    cookie = came_in.value.headers["set-cookie"].partition(";")[0]
    status, html = ask(url, "/search", {"query": "秘密的龙井提问", "user": "amei"}, cookie)
    assert status == 200
    assert "龙井" in html
    assert ask(url, "/search", {"query": "秘密的龙井提问"}, cookie)[0] == 400
    assert ask(url, "/search", {"query": "秘密的龙井提问"}, "none=1")[0] == 403
    with urllib.request.urlopen(urllib.request.Request(url, headers={"cookie": cookie})) as answer:
        assert 'value="amei"' in answer.read().decode()
    port = int(url.rpartition(":")[2])
    sockets = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [each[1] for each in sockets if each[1].endswith(f":{port:04X}") and each[3] == "0A"]
    assert listening == [f"0100007F:{port:04X}"]  # 127.0.0.1 and no other
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    said = log.read_text()
    assert said.count(token) == 1
    assert "秘密" not in said
    assert "Traceback" not in said


def test_the_browser_is_opened_by_a_file_that_nobody_else_reads(monkeypatch):
    opened = SimpleQueue()
    monkeypatch.setattr(server.webbrowser, "open", opened.put)
    with server._opened("http://127.0.0.1:1/?token=abc"):
        address = opened.get(timeout=60)
        path = Path(address.removeprefix("file://"))
        assert "token=abc" in path.read_text()
        assert "abc" not in address
        assert path.stat().st_mode & 0o777 == 0o600
    assert not path.exists()


def test_a_port_that_is_taken(opensearch_url):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(commands, ["inspect", "--url", opensearch_url, "--port", port])
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert f"port {port} of 127.0.0.1 can't be had" in line
