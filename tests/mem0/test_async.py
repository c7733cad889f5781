"""`AsyncMemory` reaches the store through threads: the same main path, and many calls at once."""

import asyncio

from mem0 import AsyncMemory


def run(config, steps):
    async def main():
        memory = AsyncMemory.from_config(config)
        try:
            return await steps(memory)
        finally:
            memory.close()

    return asyncio.run(main())


def test_the_main_path(config):
    async def steps(memory):
        added = await memory.add("订单 PX-441 寄到台北", user_id="lin", infer=False, metadata={"source": "chat"})
        await memory.add("每个星期六去骑车", user_id="lin", infer=False)
        await memory.add("别人的订单 PX-441", user_id="chen", infer=False)
        memory_id = added["results"][0]["id"]
        scope = {"user_id": "lin"}
        best = (await memory.search("PX-441 寄到哪里", filters=scope, explain=True))["results"][0]
        assert best["id"] == memory_id
        assert best["score_details"]["bm25_score"] > 0
        await memory.update(memory_id, text="订单 PX-441 改寄到高雄")
        changed = await memory.get(memory_id)
        assert changed["memory"] == "订单 PX-441 改寄到高雄"
        assert changed["metadata"] == {"source": "chat"}
        assert len((await memory.get_all(filters=scope))["results"]) == 2
        await memory.delete(memory_id)
        assert await memory.get(memory_id) is None
        assert [entry["event"] for entry in await memory.history(memory_id)] == ["ADD", "UPDATE", "DELETE"]
        await memory.reset()
        assert (await memory.get_all(filters={"user_id": "chen"}))["results"] == []

    run(config, steps)


def test_many_adds_and_searches_at_once(config):
    texts = [f"第 {number} 号包裹寄到台北" for number in range(24)]

    async def steps(memory):
        await asyncio.gather(*(memory.add(text, user_id="lin", infer=False) for text in texts))
        scope = {"user_id": "lin"}
        answers = await asyncio.gather(*(memory.search(text, filters=scope, top_k=3) for text in texts))
        assert [answer["results"][0]["memory"] for answer in answers] == texts
        await memory.delete_all(user_id="lin")
        assert (await memory.get_all(filters=scope, top_k=1000))["results"] == []

    run(config, steps)
