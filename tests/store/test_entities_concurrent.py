"""Many writers of few entities lose no link and make no second row."""

import threading
from concurrent.futures import ThreadPoolExecutor

from mem_opensearch import Link

THREADS, LINKS, NAMES = 32, 1000, 10
BATCH = 100
LIN = {"user_id": "lin"}


def run_together(actions):
    """Run the actions at the same time, each in a thread; the first error is raised."""
    ready = threading.Barrier(len(actions))

    def work(action):
        ready.wait()
        action()

    with ThreadPoolExecutor(len(actions)) as pool:
        for done in [pool.submit(work, action) for action in actions]:
            done.result()


def test_32_threads_link_1000_memories_each_to_10_entities(make_entities):
    """Two spellings and two types of five names: ten entities, which every thread writes to in every request."""
    shared = make_entities()
    wanted = {}
    plans = []
    for thread in range(THREADS):
        plan = []
        for number in range(LINKS):
            # Half the threads' memories are the same ones: what two link at once is there once.
            memory_id = f"m{thread // 2}-{number}"
            entity_type = ("school", "team")[number % 2]
            spelling = ("臺灣大學{}", "台湾大学{}")[thread % 2].format(number % 5)
            plan.append(Link(spelling, memory_id, LIN, entity_type))
            wanted.setdefault((f"台湾大学{number % 5}", entity_type), set()).add(memory_id)
        plans.append(plan)

    def linking(thread):
        store = shared if thread % 2 else make_entities()  # one object for half of them, and an own one for the others
        return lambda: [store.link_many(plans[thread][at : at + BATCH]) for at in range(0, LINKS, BATCH)]

    run_together([linking(thread) for thread in range(THREADS)])
    rows = shared.list()[0]
    assert len(rows) == NAMES == len(wanted)
    for (name, entity_type), memory_ids in wanted.items():
        (found,) = shared.find(name, LIN, entity_type=entity_type)
        assert len(found.memory_ids) == len(memory_ids)
        assert set(found.memory_ids) == memory_ids


def test_single_links_and_removals_at_once(make_entities):
    """Every thread links its own memories one by one to one entity, and removes every other one."""
    store = make_entities()

    def work(thread):
        def act():
            for number in range(10):
                store.link("甲", f"m{thread}-{number}", LIN)
                if number % 2:
                    store.unlink("甲", f"m{thread}-{number}", LIN)

        return act

    run_together([work(thread) for thread in range(8)])
    (found,) = store.find("甲", LIN)
    assert sorted(found.memory_ids) == sorted(
        f"m{thread}-{number}" for thread in range(8) for number in range(0, 10, 2)
    )


def test_a_row_that_goes_and_comes_at_once(make_entities):
    """Links and unlinks of one memory by many threads: whatever comes last, there is one row or none."""
    store = make_entities()

    def work(thread):
        def act():
            for _ in range(10):
                store.link("甲", "m", LIN)
                store.unlink("甲", "m", LIN)
            store.link("甲", f"kept{thread}", LIN)

        return act

    run_together([work(thread) for thread in range(8)])
    (found,) = store.find("甲", LIN)
    assert set(found.memory_ids) - {"m"} == {f"kept{thread}" for thread in range(8)}


def test_aliases_and_merges_at_once(make_entities):
    store = make_entities()
    store.link_many([Link(f"名{n}", f"m{n}", LIN) for n in range(8)])
    first = store.find("名0", LIN)[0]

    def merging(number):
        def act():
            store.add_aliases("名0", [f"号{number}"], LIN)
            store.merge(first, store.find(f"名{number}", LIN)[0])

        return act

    run_together([merging(number) for number in range(1, 8)])
    found = store.read("名0", LIN)
    assert set(found.memory_ids) == {f"m{n}" for n in range(8)}
    assert set(found.aliases) == {f"{kind}{n}" for kind in "名号" for n in range(1, 8)}
    assert len(store.list()[0]) == 1
