"""mem0's telemetry stays as the user set it, and leaves no index behind."""

import os
import subprocess
import sys

import pytest

CODE = """
import asyncio, os, sys
import mem_opensearch.mem0 as bridge
bridge.register()
from mem0 import AsyncMemory, Memory
from mem0.memory import main, telemetry

url, collection = sys.argv[1:]
config = {
    "vector_store": {
        "provider": "opensearch",
        "config": {"url": url, "collection_name": collection, "embedding_model_dims": 512},
    },
    "embedder": {"provider": "mem_opensearch", "config": {"model": "use"}},
    "llm": {"provider": "vllm", "config": {"vllm_base_url": "http://127.0.0.1:9/v1"}},
    "history_db_path": ":memory:",
}

async def once():
    memory = AsyncMemory.from_config(config)
    await memory.search("花生", filters={"user_id": "lin"})
    return memory

memories = [Memory.from_config(config), asyncio.run(once())]
memories[0].add("我女儿对花生过敏", user_id="lin", infer=False)
memories[0].search("花生", filters={"user_id": "lin"})
stores = [type(memory._telemetry_vector_store).__name__ for memory in memories if telemetry.MEM0_TELEMETRY]
print(telemetry.MEM0_TELEMETRY, stores, sorted(memories[0].vector_store.list_cols()), flush=True)
os._exit(0)  # events that wait to be sent would hold the exit for ten seconds
"""


@pytest.mark.parametrize("setting", ["True", "False"])
def test_telemetry_is_left_alone_and_makes_no_index(opensearch_url, collection, tmp_path, setting):
    environment = {
        **os.environ,
        "MEM0_TELEMETRY": setting,
        "MEM0_DIR": str(tmp_path),
        "HTTPS_PROXY": "http://127.0.0.1:9",  # nothing listens there: no event leaves the machine
        "NO_PROXY": "127.0.0.1,localhost",
    }
    ran = subprocess.run(
        [sys.executable, "-c", CODE, opensearch_url, collection],
        env=environment, capture_output=True, text=True, timeout=90,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-2000:]
    last = ran.stdout.strip().splitlines()[-1]
    assert last.startswith(f"{setting} ")
    assert ("Mem0VectorStore" in last) is (setting == "True")
    assert collection in last
    assert "mem0migrations" not in last
