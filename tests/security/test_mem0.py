"""mem0 shows no secret either: not in its errors, not in its logs, and not in what it makes of our configuration."""

import logging
import os
import tempfile
import traceback

import pytest

os.environ.setdefault("MEM0_DIR", tempfile.mkdtemp(prefix="mem0-home-"))
os.environ.setdefault("MEM0_TELEMETRY", "False")

from certificates import server_context, valid
from gateway import PASSWORD, USER, Users

import mem_opensearch.mem0 as bridge
from mem_opensearch.errors import AuthenticationError

DIMS = 512
TEXT = "絕密的病歷 StreptococcusNotes"


@pytest.fixture
def config(opensearch_url, collection, authority):
    bridge.register()
    yield {
        "vector_store": {
            "provider": "opensearch",
            "config": {
                "collection_name": collection,
                "embedding_model_dims": DIMS,
                "user": USER,
                "password": PASSWORD,
                "ca_certs": authority.file,
            },
        },
        "embedder": {"provider": "mem_opensearch", "config": {"model": "use", "embedding_dims": DIMS}},
        "llm": {"provider": "vllm", "config": {"vllm_base_url": "http://127.0.0.1:9/v1"}},
        "history_db_path": ":memory:",
    }
    bridge.unregister()


def everything(error, caplog, capfd):
    return "\n".join(
        [
            str(error),
            repr(error),
            repr(error.args),
            *traceback.format_exception(error),
            caplog.text,
            *capfd.readouterr(),
        ]
    )


WRONG = {
    "unknown": {"passwrd": "x"},
    "of another type": {"port": "x"},
    "two places": {"url": "https://a", "host": "b"},
    "a URL with the password": {"url": f"https://{USER}:{PASSWORD}@search.example"},
    "unencrypted": {"url": "http://search.example", "ca_certs": None},
    "a password that is a list": {"password": [PASSWORD]},
}


@pytest.mark.parametrize("options", WRONG.values(), ids=WRONG)
def test_a_wrong_option(options, config, caplog, capfd):
    from mem0 import Memory

    caplog.set_level(logging.DEBUG)
    config["vector_store"]["config"] |= options
    with pytest.raises(Exception, match="option|give one|unencrypted|credentials don't belong") as caught:
        Memory.from_config(config)
    assert PASSWORD not in everything(caught.value, caplog, capfd)


def test_a_server_that_refuses(config, authority, open_gateway, caplog, capfd):
    from mem0 import Memory

    caplog.set_level(logging.DEBUG)
    gateway = open_gateway(check=Users(), context=server_context(*valid(authority)))
    config["vector_store"]["config"]["url"] = gateway.url
    memory = Memory.from_config(config)
    assert PASSWORD not in repr(memory.config)
    with pytest.raises(AuthenticationError) as caught:
        memory.add(TEXT, user_id="u", infer=False)
    assert PASSWORD not in everything(caught.value, caplog, capfd)
    own = [record for record in caplog.records if not record.name.startswith("mem0.")]  # which logs text at debug level
    ours = "".join([*(record.getMessage() for record in own), *traceback.format_exception(caught.value)])
    assert not any(word in ours for word in TEXT.split())


def test_it_works_behind_tls_and_password(config, secured):
    from mem0 import Memory

    config["vector_store"]["config"]["url"] = secured.url
    memory = Memory.from_config(config)
    memory.add("我住在臺北的大安區", user_id="u", infer=False)
    assert memory.search("台北", filters={"user_id": "u"})["results"][0]["memory"] == "我住在臺北的大安區"
