"""Threads take turns more often while searches of an AsyncMemory run, and as before when they have ended."""

from __future__ import annotations

import asyncio
import multiprocessing
import sys

import pytest

import mem_opensearch.mem0 as bridge
from mem_opensearch.mem0 import switching

SCOPE = {"user_id": "lin"}


@pytest.fixture(autouse=True)
def interval():
    before = sys.getswitchinterval()
    yield before
    sys.setswitchinterval(before)


def test_it_is_put_back_when_the_last_has_ended(interval):
    first, second = switching.sooner(), switching.sooner()
    first.__enter__()
    second.__enter__()
    assert sys.getswitchinterval() == pytest.approx(switching.INTERVAL)
    first.__exit__(None, None, None)
    assert sys.getswitchinterval() == pytest.approx(switching.INTERVAL)
    second.__exit__(None, None, None)
    assert sys.getswitchinterval() == interval


def test_a_failure_puts_it_back(interval):
    with pytest.raises(ValueError, match="x"), switching.sooner():
        raise ValueError("x")
    assert sys.getswitchinterval() == interval


def test_what_the_user_has_set_is_kept():
    sys.setswitchinterval(0.0001)
    chosen = sys.getswitchinterval()
    for _ in range(3):
        with switching.sooner():
            assert sys.getswitchinterval() == chosen
        assert sys.getswitchinterval() == chosen
    with switching.sooner():
        sys.setswitchinterval(0.02)
    assert sys.getswitchinterval() == pytest.approx(0.02)


def test_a_child_process_has_none_of_the_searches(interval):
    context = multiprocessing.get_context("fork")
    told = context.SimpleQueue()
    with switching.sooner():
        child = context.Process(target=lambda: told.put(sys.getswitchinterval()))
        child.start()
        child.join(60)
    assert told.get() == interval


def test_searches_switch_sooner_and_put_it_back(config, monkeypatch, interval):
    seen = []

    async def steps():
        memory = bridge.AsyncMemory.from_config(config)
        try:
            await memory.add("我住在柏林", **SCOPE, infer=False)
            embed = memory.embedding_model.embed

            def watched(*args, **options):
                seen.append(sys.getswitchinterval())
                return embed(*args, **options)

            monkeypatch.setattr(memory.embedding_model, "embed", watched)
            await asyncio.gather(*(memory.search("住在哪里？", filters=SCOPE) for _ in range(3)))
        finally:
            memory.close()

    asyncio.run(steps())
    assert seen
    assert seen == pytest.approx([switching.INTERVAL] * len(seen))
    assert sys.getswitchinterval() == interval
