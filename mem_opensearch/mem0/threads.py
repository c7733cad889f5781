"""Run the searches of an `AsyncMemory` in threads of their own.

asyncio's default executor has a few threads more than the machine has cores, which is fewer than there are connections:
searches would wait for threads while connections are idle.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from mem_opensearch import turns
from mem_opensearch.mem0 import switching

if TYPE_CHECKING:
    from collections.abc import Callable

_Memory = Any  # mem0's AsyncMemory, which has no types

_KEPT = "_mem_opensearch_threads"


async def run(memory: _Memory, work: Callable[..., Any], *args: Any, **options: Any) -> Any:  # noqa: ANN401 - any work
    """Return what `work` returns, done in a thread that has the caller's context, and by turns, see `turns`."""
    context = contextvars.copy_context()

    def by_turns() -> Any:  # noqa: ANN401 - any work
        with turns.taken():
            return context.run(work, *args, **options)

    # Searches that begin together all get this far before the first of them has a thread compute beside the loop.
    await asyncio.sleep(0)
    with switching.sooner():
        return await asyncio.get_running_loop().run_in_executor(_executor_of(memory), by_turns)


def stop(memory: _Memory) -> None:
    """End the threads of a memory object, if it has any, when they have done what they were given."""
    executor = _kept_by(memory)
    setattr(memory, _KEPT, None)
    if executor is not None:
        executor.shutdown(wait=False)


def _executor_of(memory: _Memory) -> ThreadPoolExecutor:
    """Return the threads of a memory object, as many as its store has connections."""
    executor = _kept_by(memory)
    if executor is None:
        executor = _started(memory.vector_store.config.pool_maxsize)
        setattr(memory, _KEPT, (os.getpid(), executor))
    return executor


def _started(size: int) -> ThreadPoolExecutor:
    """Return threads that all run already.

    An executor starts them as work comes, and whoever brings it waits: that would be the event loop, once for each
    thread, beside those that work already and hold the interpreter.
    """
    executor, open_gate = ThreadPoolExecutor(size, "mem-opensearch-search"), threading.Event()
    try:
        for _ in range(size):
            executor.submit(open_gate.wait)
    finally:
        open_gate.set()
    return executor


def _kept_by(memory: _Memory) -> ThreadPoolExecutor | None:
    """Return the threads that a memory object has in this process: a child has none of its parent's."""
    kept: tuple[int, ThreadPoolExecutor] | None = getattr(memory, _KEPT, None)
    return kept[1] if kept is not None and kept[0] == os.getpid() else None
