"""The real security plugin: who may do what, and what the error says when they may not."""

import json
import re
from pathlib import Path

import pytest
from certificates import Authority
from plugin_node import PluginNode, make_token

from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.errors import AuthenticationError, JavaError, PermissionDenied

VECTOR = [1.0, 0.0, 0.0, 0.0]
USER, PASSWORD = "geheimnisträger", "秘密-Passwort-§42-lang-genug"
DOCUMENTED = re.findall(
    r"```json\n(.*?)```", (Path(__file__).parents[2] / "docs" / "security.md").read_text(), re.DOTALL
)
WRITER, READER = (json.loads(role) for role in DOCUMENTED)


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    try:
        running = PluginNode(Authority(tmp_path_factory.mktemp("plugin")))
    except JavaError as error:
        pytest.skip(f"OpenSearch 2.19 needs a Java 17 to 21, and none is here: {error}")
    running.add_role("agent", WRITER)
    running.add_role("reader", READER)
    (on_rows, _) = WRITER["index_permissions"]
    rows_only = on_rows | {"allowed_actions": READER["index_permissions"][0]["allowed_actions"]}
    running.add_role("half", WRITER | {"index_permissions": [rows_only]})
    running.add_user(USER, PASSWORD, role="agent")
    running.add_user("leserin", PASSWORD, role="reader")
    running.add_user("halb", PASSWORD, role="half")
    running.map_role("agent", "agent-by-token", "agent-by-certificate")
    yield running
    running.stop()


@pytest.fixture
def store_as(node):
    made = []

    def make(**options):
        defaults = {"url": node.url, "collection_name": "memories", "embedding_model_dims": 4}
        made.append(OpenSearchVectorStore(**(defaults | {"ca_certs": node.authority.file} | options)))
        return made[-1]

    yield make
    for store in made:
        store.close()
    admin = make(user="admin", password="admin")
    admin.delete_col()
    admin.close()


def use(store):
    store.insert([VECTOR], [{"data": "臺北", "user_id": "u"}], ["1"])
    store.insert([VECTOR], [{"data": "上海", "user_id": "u"}], ["2"])
    assert {hit.id for hit in store.search("x", VECTOR, filters={"user_id": "u"})} == {"1", "2"}
    assert [len(hits) for hits in store.search_batch(["x", "y"], [VECTOR, VECTOR], top_k=2)] == [2, 2]
    assert [hit.id for hit in store.keyword_search("台北")] == ["1"]
    store.update("1", payload={"data": "高雄", "user_id": "u"})
    store.delete("2")
    assert store.get("1").payload["data"] == "高雄"
    assert [hit.id for hit in store.list()[0]] == ["1"]
    assert store.col_info()["count"] == 1
    store.reset()
    store.delete_col()


def test_a_password_and_the_role_of_the_documentation(store_as):
    use(store_as(user=USER, password=PASSWORD))


def test_the_same_role_reads_pages_beyond_the_first(store_as):
    store = store_as(user=USER, password=PASSWORD)
    store.insert([VECTOR] * 3, [{"data": str(n)} for n in range(3)])
    assert len(store.list(top_k=20_000)[0]) == 3


def test_a_token(store_as):
    use(store_as(bearer_token=make_token("agent-by-token")))


@pytest.mark.parametrize("connection_class", ["Urllib3HttpConnection", "RequestsHttpConnection"])
def test_a_client_certificate(store_as, node, connection_class):
    certificate, key = node.authority.sign("agent.example", name="agent-by-certificate")
    use(store_as(client_cert=certificate, client_key=key, connection_class=connection_class))


WRONG = {
    "a wrong password": {"user": USER, "password": "falsch"},
    "an unknown user": {"user": "niemand", "password": PASSWORD},
    "no credentials": {},
    "a token that is none": {"bearer_token": "nonsense"},
    "a token of another key": {"bearer_token": make_token("agent-by-token", b"another key" * 10)},
    "a key that the plugin does not know": {"api_key": "nonsense"},
}


@pytest.mark.parametrize("options", WRONG.values(), ids=WRONG)
def test_wrong_credentials(options, store_as):
    for call in (
        lambda store: store.insert([VECTOR], [{"data": "a"}], ["1"]),
        lambda store: store.search("a", VECTOR),
        lambda store: store.update("1", payload={"data": "b"}),
    ):
        with pytest.raises(AuthenticationError, match="status 401: Unauthorized; check the credentials") as caught:
            call(store_as(**options))
        assert caught.value.status == 401


def test_a_reader_reads_and_does_not_write(store_as):
    store_as(user=USER, password=PASSWORD).insert([VECTOR], [{"data": "a"}], ["1"])
    reader = store_as(user="leserin", password=PASSWORD)
    assert [hit.id for hit in reader.search("a", VECTOR)] == ["1"]
    assert [hit.id for hit in reader.keyword_search("a")] == ["1"]
    for call in (
        lambda: reader.insert([VECTOR], [{"data": "b"}], ["2"]),
        lambda: reader.update("1", payload={"data": "b"}),
        lambda: reader.delete("1"),
        reader.delete_col,
    ):
        with pytest.raises(PermissionDenied, match=r"lack the permission indices:.+: give it to a role") as caught:
            call()
        assert caught.value.status == 403
    assert [hit.payload for hit in reader.list()[0]] == [{"data": "a"}]


def test_rows_that_are_refused_one_by_one(store_as):
    """The plugin lets the bulk request pass and refuses every row in it, with status 200."""
    store_as(user=USER, password=PASSWORD).insert([VECTOR], [{"data": "a"}], ["1"])
    with pytest.raises(PermissionDenied, match="indices:data/write/bulk") as caught:
        store_as(user="halb", password=PASSWORD).insert([VECTOR, VECTOR], [{"data": "b"}, {"data": "c"}], ["2", "3"])
    assert caught.value.status == 403
