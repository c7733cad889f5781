"""The collection as a whole in the page: its entities, its health, and that nothing of it changes."""

from __future__ import annotations

import pytest
from inspect_memories import TEA
from inspect_pages import every, text_of

from mem_opensearch import EntityStore, Link
from mem_opensearch.client.transport import NoAnswer
from mem_opensearch.inspect.health import bins_of
from mem_opensearch.inspect.transport import is_read


def names(html):
    return [text_of(each) for each in every(html, "bdi", class_="name")]


def test_entities_of_a_scope(remember, open_page):
    searcher = remember(TEA)
    writer = EntityStore.beside(searcher.store, embed=searcher.entities._embed)
    writer.link_many([Link("臺北", "t1", {"user_id": "amei"}), Link("臺北", "t2", {"user_id": "amei"})])
    writer.add_aliases("臺北", ["Taipei"], {"user_id": "amei"})
    writer.link("柏林", "x", {"user_id": "other"})
    writer.count()
    writer.close()
    page = open_page(searcher)
    answer = page.post("/entities", json={"user": "amei"})
    assert names(answer.text)[0] == "臺北"  # most links
    assert {"Alice", "柏林"} <= set(names(answer.text))
    assert names(page.post("/entities", json={"user": "amei", "name": "台"}).text) == ["臺北"]
    assert names(page.post("/entities", json={"user": "amei", "name": "taip"}).text) == ["臺北"]
    assert names(page.post("/entities", json={"user": "other"}).text) == ["柏林"]
    assert "No entity of this name" in page.post("/entities", json={"user": "nobody"}).text
    assert page.post("/entities", json={"name": "臺北"}).status_code == 400
    answer = page.post("/entity", json={"user": "amei", "entity": "臺北", "owner": {"user_id": "amei"}})
    assert TEA["t1"] in answer.text
    assert "Taipei" in answer.text


def test_an_entity_of_somebody_else_is_not_shown(remember, open_page):
    page = open_page(remember(TEA))
    answer = page.post("/entity", json={"user": "other", "entity": "Alice", "owner": {"user_id": "amei"}})
    assert answer.status_code == 400
    assert TEA["t5"] not in answer.text
    answer = page.post("/entity", json={"user": "other", "entity": "Alice", "type": "person"})
    assert answer.status_code == 404


def test_many_entities_have_pages(remember, open_page):
    searcher = remember({"t1": TEA["t1"]}, link=False)
    writer = EntityStore.beside(searcher.store)
    writer.link_many([Link(f"name {number}", "t1", {"user_id": "amei"}) for number in range(70)])
    writer.count()
    writer.close()
    page = open_page(searcher)
    shown = [names(page.post("/entities", json={"user": "amei", "page": number}).text) for number in (1, 2)]
    assert [len(each) for each in shown] == [50, 20]
    assert len({*shown[0], *shown[1]}) == 70


def test_health(remember, open_page):
    page = open_page(remember(TEA))
    answer = page.post("/health", json={})
    tiles = {
        text_of(tile[1]): text_of(tile[0]) for group in every(answer.text, "div", class_="tiles") for tile in group
    }
    assert tiles["memories"] == "9"
    assert tiles["analyser"] == "ik"
    assert tiles["dimensions"] == "512"
    rows = [text_of(row) for row in every(answer.text, "tr")]
    assert rows == ["amei9"]
    bars = every(every_svg(answer.text), "rect", class_="passes")
    assert len(bars) >= 1
    for text in TEA.values():
        assert text not in answer.text


def every_svg(html):
    """Return the part of a page that is the histogram of lengths."""
    return html[html.index('<figure class="norms">') : html.index("</figure>")]


def test_lengths_of_vectors_are_counted():
    bins = bins_of([0.0, 0.5, 0.99, 1.0, 1.0])
    assert sum(each.count for each in bins) == 5
    assert (bins[0].low, bins[0].count) == (0.0, 1)
    assert bins[-1].high == pytest.approx(1.1)
    assert bins_of([0.0, 0.0])[0].count == 2
    assert bins_of([]) == []


def test_nothing_is_written(remember, open_page, look, opensearch_url):
    searcher = remember(TEA)
    client, name = searcher.store.client, searcher.store.collection_name
    paths = [f"/{name}/_stats/indexing", f"/{name}_entities/_stats/indexing"]

    def written():
        stats = [client.request("GET", path)["_all"]["primaries"]["indexing"] for path in paths]
        mappings = client.request("GET", f"/{name}/_mapping")
        return [(each["index_total"], each["delete_total"]) for each in stats], mappings

    before = written()
    page = open_page(searcher)
    key = look(page, "使用者住在哪里？", compare=True, rerank="answers")
    for path, body in (
        ("/rank", {"look": key, "threshold": 0.3}),
        ("/memory", {"look": key, "id": "m2"}),
        ("/why", {"look": key, "id": "m2"}),
        ("/entities", {"user": "amei"}),
        ("/entity", {"user": "amei", "entity": "Alice", "type": "person"}),
        ("/health", {}),
    ):
        assert page.post(path, json=body).status_code == 200, path
    assert written() == before


def test_what_is_measured_of_the_embedder_counts_though_it_is_not_kept(page, look):
    answer = page.post("/memory", json={"look": look(page), "id": "t1"})
    assert '"source": "measured"' in text_of(every(answer.text, "details")[1])
    assert page.inspector._searcher.store.spec().background is None


def test_what_would_write_is_not_sent(page):
    page.inspector.connect()
    transport = page.inspector._transports[0]
    for method, path in (
        ("PUT", "/x/_doc/1"),
        ("POST", "/x/_update/1"),
        ("POST", "/_bulk"),
        ("DELETE", "/x"),
        ("POST", "/x/_search/../_doc"),
    ):
        assert not is_read(method, path)
        with pytest.raises(NoAnswer):
            transport.send(method, path, params={}, body=None, timeout=1)
    for path in ("/x/_search", "/_msearch", "/x/_count", "/x/_analyze", "/x/_search/point_in_time"):
        assert is_read("POST", path)
