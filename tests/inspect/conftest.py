"""A page over a collection of the real node, asked in this process and, for a browser, as a server of its own."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest
import uvicorn
from starlette.testclient import TestClient

from mem_opensearch import EntityLinker, EntityStore, MemoryText
from mem_opensearch.embed import UniversalSentenceEncoder
from mem_opensearch.inspect.app import make_app
from mem_opensearch.inspect.inspector import Inspector
from mem_opensearch.rerank.configured import load_reranker
from mem_opensearch.search import Searcher

sys.path.insert(0, str(Path(__file__).parent))  # the modules beside this file; pytest's importlib mode adds nothing

from inspect_memories import START, TEA, USER
from inspect_pages import PORT, TOKEN


@pytest.fixture(scope="session")
def encoder():
    return UniversalSentenceEncoder()


@pytest.fixture
def remember(make_store, encoder):
    """Store {id: text}; return a searcher over them, as another process would make it."""
    made = []

    def store_all(texts, *, link=True, **payload):
        first = make_store(embedding_model_dims=encoder.dims)
        payloads = [
            {"data": text, **USER, "created_at": (START + timedelta(days=14 * place)).isoformat(), **payload}
            for place, text in enumerate(texts.values())
        ]
        first.insert(list(encoder.embed_documents(list(texts.values()))), payloads, list(texts))
        entities = EntityStore.beside(first, embed=encoder.embed_documents)
        if link:
            rows = zip(texts, payloads, strict=True)
            EntityLinker(entities, embed=encoder.embed_documents).link(MemoryText.of(*row) for row in rows)
        first.count()  # shows what was written
        entities.count()
        entities.close()
        store = make_store(embedding_model_dims=encoder.dims)
        made.append(EntityStore.beside(store, embed=encoder.embed_documents))
        return Searcher(store, embedder=encoder, entities=made[-1])

    yield store_all
    for entities in made:
        entities.close()


@pytest.fixture
def open_page(encoder):
    """Return the page over a searcher, as a client that has come in by the token."""

    def make(searcher, **options):
        options.setdefault("rerankers", {"answers": load_reranker("answers")})
        inspector = Inspector(searcher, embedder=encoder, **options)
        app = make_app(inspector, token=TOKEN, port=PORT)
        client = TestClient(app, base_url=f"http://127.0.0.1:{PORT}", raise_server_exceptions=False)
        client.get("/", params={"token": TOKEN})
        client.inspector = inspector
        return client

    return make


@pytest.fixture
def page(remember, open_page):
    """The page over the memories of `TEA`."""
    return open_page(remember(TEA))


@pytest.fixture
def look():
    """Search through a page; return the name that it gave to the search."""

    def search(page, query="龙井茶的水温", **options):
        answer = page.post("/search", json={"query": query, "user": "amei", **options})
        assert answer.status_code == 200, answer.text
        return re.search(r'data-look="([^"]+)"', answer.text)[1]

    return search


@pytest.fixture
def served(opensearch_url, tmp_path):
    """Start `mem-opensearch inspect` on a collection; return its address. Its output is in the file `log`."""
    started = []

    def start(collection, *options, env=None):
        log = tmp_path / f"log-{len(started)}"
        command = [sys.executable, "-m", "mem_opensearch", "inspect", "--url", opensearch_url]
        with log.open("wb") as file:
            process = subprocess.Popen(
                [*command, "--collection", collection, *options],
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONUNBUFFERED": "1", **(env or {})},
                cwd=Path(__file__).parents[2],
            )
        started.append(process)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if found := re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", log.read_text()):
                return found[0], log, process
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
        pytest.fail(f"the page did not start: {log.read_text()}")

    yield start
    for process in started:
        process.terminate()
        process.wait(30)


@pytest.fixture
def live():
    """Serve the application of a page from this process; return the address that lets a browser in."""
    servers = []

    def serve(page):
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(page.app, log_level="warning", access_log=False, lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{listening.getsockname()[1]}/?token={TOKEN}"

    yield serve
    for server, thread in servers:
        server.should_exit = True
        thread.join(30)


@pytest.fixture
def open_browser(browser_programs):
    """Open an address in Chromium, of a size, in dark or light, with the languages that it asks for."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    opened = []

    def start(address, *, dark=False, languages="en", width=1360, height=900):
        program, driver = browser_programs
        options = webdriver.ChromeOptions()
        options.binary_location = program
        for argument in (
            "--headless=new",
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--hide-scrollbars",
            "--disable-background-networking",
            f"--window-size={width},{height}",
            f"--lang={languages.partition(',')[0]}",
        ):
            options.add_argument(argument)
        options.add_experimental_option("prefs", {"intl.accept_languages": languages})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        browser = webdriver.Chrome(options=options, service=Service(driver))
        opened.append(browser)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(address)
        return browser

    yield start
    for browser in opened:
        browser.quit()


@pytest.fixture
def screenshot(screenshots):
    """Keep a picture of a page."""

    def keep(browser, name):
        path = screenshots / f"inspect-{name}.png"
        assert browser.save_screenshot(str(path))
        return path

    return keep
