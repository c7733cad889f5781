"""Store the memories in both systems, ask both the ten questions, and measure."""

from __future__ import annotations

import time
import uuid
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final, Protocol

from mem_opensearch._version import __version__
from mem_opensearch.client.encoding import path_of
from mem_opensearch.demo.load import load_memories
from mem_opensearch.demo.questions import QUESTIONS
from mem_opensearch.demo.results import Answer, Asked, DemoResult, Stored, Versions
from mem_opensearch.demo.summarise import meaning_rank, parse_hit, rank_of, summarise
from mem_opensearch.demo.systems import NAMES, open_systems, quiet_mem0
from mem_opensearch.errors import BackendError, MemOpenSearchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from mem_opensearch.client import SearchClient
    from mem_opensearch.demo.load import Memory
    from mem_opensearch.demo.questions import Question
    from mem_opensearch.demo.systems import System
    from mem_opensearch.embed import Embedder

TOP_K: Final = 10
ROUNDS: Final = 5  # searches per question and system: a median over fifty tells more than one over ten
BATCH_TEXTS: Final = 128
FOREIGN: Final = frozenset({"mem0", "opensearchpy", "requests", "urllib3"})  # packages whose errors mem0 lets through
WARM_UP: Final = "今天天气怎么样？"


class Watcher(Protocol):
    """Is told what happens while it happens."""

    def found(self, versions: Versions) -> None:
        """The server answers, and both systems are ready."""

    def counting(self, what: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
        """Something countable begins; the function given is called with each portion that is done."""

    def stored(self, stored: Stored) -> None:
        """All memories are searchable in one system."""


class Silent:
    """A watcher that shows nothing."""

    def found(self, versions: Versions) -> None:
        """Do nothing."""

    def counting(self, what: str, total: int) -> AbstractContextManager[Callable[[int], None]]:  # noqa: ARG002
        """Give a function that does nothing."""
        return nullcontext(lambda _count: None)

    def stored(self, stored: Stored) -> None:
        """Do nothing."""


def run_demo(*, url: str = "local", watcher: Watcher | None = None) -> DemoResult:
    """Run the whole demo; its collections are gone afterwards, whatever happens.

    Args:
        url: of the server, or ``"local"`` for the local node, which is started if none runs.
        watcher: is told what happens.

    Raises:
        MissingExtraError: a package is not installed.
        NodeError: the local node can't be started.
        BackendError: the server can't be reached, or fails.
    """
    from mem_opensearch.embed import load_embedder

    watcher = watcher or Silent()
    memories = load_memories()
    embedder = load_embedder("use")
    name = f"demo-{uuid.uuid4().hex}"
    with quiet_mem0(), _typed_failures(), open_systems(url=url, name=name, embedder=embedder) as (client, systems):
        versions = _fetch_versions(client, systems[0], embedder)
        watcher.found(versions)
        vectors = _embed(memories, embedder, watcher)
        stored = tuple(_store(system, memories, vectors, client=client, watcher=watcher) for system in systems)
        asked = _ask_all(systems, memories, vectors, embedder)
    return DemoResult(
        versions=versions,
        collection=name,
        memories=len(memories),
        users=len({memory.user_id for memory in memories}),
        stored=stored,
        asked=asked,
        summary=summarise(asked, stored),
    )


@contextmanager
def _typed_failures() -> Iterator[None]:
    """Turn what mem0 and its own provider raise into an error of this package; a fault of ours stays what it is."""
    try:
        yield
    except MemOpenSearchError:
        raise
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in FOREIGN:
            raise
        raise BackendError(f"mem0 or its own provider failed: {type(error).__name__}: {error}") from error


def _fetch_versions(client: SearchClient, ours: System, embedder: Embedder) -> Versions:
    from mem_opensearch.index import read_spec
    from mem_opensearch.mem0.internals import mem0_version

    version = client.request("GET", "/")["version"]
    spec = read_spec(client, ours.collection)
    return Versions(
        server=f"{version.get('distribution', 'elasticsearch')} {version['number']}",
        url=client.hosts[0],
        mem_opensearch=__version__,
        mem0=mem0_version(),
        embedder=f"{embedder.name}, {embedder.dims} dimensions",
        analyzer=spec[0].profile if spec else "",
    )


def _embed(memories: Sequence[Memory], embedder: Embedder, watcher: Watcher) -> Any:  # noqa: ANN401 - numpy array
    import numpy as np

    parts = []
    with watcher.counting("Embedding memories", len(memories)) as advance:
        for start in range(0, len(memories), BATCH_TEXTS):
            batch = memories[start : start + BATCH_TEXTS]
            parts.append(embedder.embed_documents([memory.text for memory in batch]))
            advance(len(batch))
    return np.concatenate(parts)


def _store(
    system: System,
    memories: Sequence[Memory],
    vectors: Any,  # noqa: ANN401 - numpy array
    *,
    client: SearchClient,
    watcher: Watcher,
) -> Stored:
    before = system.requests()
    begin = time.perf_counter()
    with watcher.counting(f"Storing in {NAMES[system.key]}", len(memories)) as advance:
        for start in range(0, len(memories), system.rows_per_insert):
            end = start + system.rows_per_insert
            system.insert(memories[start:end], vectors[start:end])
            advance(len(memories[start:end]))
        system.refresh()
    seconds = time.perf_counter() - begin
    requests = system.requests() - before
    count = client.request("GET", path_of(system.collection, "_count"))["count"]
    stored = Stored(system=system.key, memories=count, seconds=seconds, requests=requests)
    watcher.stored(stored)
    return stored


def _ask_all(
    systems: Sequence[System],
    memories: Sequence[Memory],
    vectors: Any,  # noqa: ANN401 - numpy array
    embedder: Embedder,
) -> tuple[Asked, ...]:
    texts = {memory.id: memory.text for memory in memories}
    for system in systems:
        _search(system, WARM_UP, memories[0].user_id)  # opens connections and fills caches, which are nobody's merit
    asked = []
    for question in QUESTIONS:
        begin = time.perf_counter()
        vector = embedder.embed_queries([question.query])[0]
        embed_milliseconds = (time.perf_counter() - begin) * 1000
        cosines = {
            memory.id: float(row @ vector)
            for memory, row in zip(memories, vectors, strict=True)
            if memory.user_id == question.user_id
        }
        asked.append(
            Asked(
                question=question,
                right_text=texts[question.relevant],
                meaning_rank=meaning_rank(question.relevant, cosines),
                embed_milliseconds=embed_milliseconds,
                answers=_ask(systems, question),
            )
        )
    return tuple(asked)


def _ask(systems: Sequence[System], question: Question) -> tuple[Answer, ...]:
    """Return every system's answer; the systems take turns, and who begins changes from round to round."""
    hits = {
        # The first search embeds the question and is not timed; the others find its vector remembered.
        system.key: tuple(map(parse_hit, _search(system, question.query, question.user_id)))
        for system in systems
    }
    milliseconds: Mapping[str, list[float]] = {system.key: [] for system in systems}
    requests = dict.fromkeys(milliseconds, 0)
    for turn in range(ROUNDS):
        for system in systems if turn % 2 == 0 else reversed(systems):
            before = system.requests()
            begin = time.perf_counter()
            _search(system, question.query, question.user_id)
            milliseconds[system.key].append((time.perf_counter() - begin) * 1000)
            requests[system.key] += system.requests() - before
    return tuple(
        Answer(
            system=system.key,
            hits=hits[system.key],
            rank=rank_of(question.relevant, (hit.id for hit in hits[system.key])),
            milliseconds=tuple(milliseconds[system.key]),
            requests=requests[system.key] / ROUNDS,
        )
        for system in systems
    )


def _search(system: System, query: str, user_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = system.memory.search(query, top_k=TOP_K, filters={"user_id": user_id}, explain=True)[
        "results"
    ]
    return found
