"""What can be evaluated: the seam between the runner and a way to search, and the systems by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from mem_opensearch.errors import ConfigError
from mem_opensearch.evaluate.filtered import FilteredSystem
from mem_opensearch.evaluate.own import Bm25System, OwnIndex, SearcherSystem, SemanticSystem
from mem_opensearch.search import Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mem_opensearch.client import SearchClient
    from mem_opensearch.entities import Extractor
    from mem_opensearch.evaluate.datasets import Dataset, Query
    from mem_opensearch.evaluate.metrics import Candidates
    from mem_opensearch.evaluate.own import Tick
    from mem_opensearch.evaluate.vectors import CachingEmbedder, Vectors
    from mem_opensearch.rerank import Reranker
    from mem_opensearch.search import SearchOptions


class System(Protocol):
    """A way to search, over a collection of its own for one data set.

    Attributes:
        name: as in the registry.
    """

    name: str

    @property
    def requests(self) -> int:
        """HTTP requests sent so far."""

    def index(self, dataset: Dataset, vectors: Vectors, tick: Tick) -> None:
        """Store every memory and make it searchable; a second call does nothing.

        Args:
            dataset: what to store.
            vectors: one row per memory, in order.
            tick: called with the number of rows stored so far, and of all rows.
        """

    def search(self, query: Query, vector: Any, *, top_k: int) -> list[str]:  # noqa: ANN401 - a row of an array
        """Return at most `top_k` ids, best first. This is what is timed."""

    def candidates(self, query: Query, vector: Any, *, top_k: int) -> Candidates:  # noqa: ANN401 - a row of an array
        """Return what the same search looked at; asked for missed queries only, and not timed."""

    def drop(self) -> None:
        """Remove everything that `index` made, finished or not; nothing there is no error."""


@dataclass(frozen=True)
class Bench:
    """What the systems of one data set are made from.

    Attributes:
        url: as the user gave it; ``"local"`` is the local node.
        client: a connection to that server.
        collection: prefix of every collection's name; nothing else on the server starts with it.
        embedder: for systems that embed by themselves.
        analyzer: Chinese analysis of this package's store, as `StoreConfig.analyzer`.
        annotate: whether this package's store notes all that a search by every signal needs.
        extractor: finds the names that memories are linked to; None links nothing.
        is_as_of: whether each query searches what was there when it was asked.
        rerankers: name -> second stage, of the systems that have one.
        search_options: of union, rrf and mem0; None takes the defaults.
    """

    url: str
    client: SearchClient
    collection: str
    embedder: CachingEmbedder
    analyzer: str = "auto"
    annotate: bool = False
    extractor: Extractor | None = None
    is_as_of: bool = False
    rerankers: Mapping[str, Reranker] = field(default_factory=dict)
    search_options: SearchOptions | None = None

    @cached_property
    def own(self) -> OwnIndex:
        """The index that all systems over this package's store share."""
        return OwnIndex(
            url=self.url,
            collection=f"{self.collection}-own",
            embedder=self.embedder,
            analyzer=self.analyzer,
            annotate=self.annotate,
            extractor=self.extractor,
            options=self.search_options,
        )


def _searcher(mode: Mode) -> Callable[[Bench], System]:
    return lambda bench: SearcherSystem(bench.own, mode, is_as_of=bench.is_as_of)


def _filtered(operator: Literal["in", "contains"]) -> Callable[[Bench], System]:
    return lambda bench: FilteredSystem(bench.own, operator, is_as_of=bench.is_as_of)


def _mem0_builtin(bench: Bench) -> System:
    from mem_opensearch.evaluate.mem0_builtin import Mem0BuiltinSystem

    return Mem0BuiltinSystem(client=bench.client, collection=f"{bench.collection}-mem0", embedder=bench.embedder)


SYSTEMS: Mapping[str, Callable[[Bench], System]] = {
    "union": _searcher("union"),
    "rrf": _searcher("rrf"),
    "mem0": _searcher("mem0"),
    "semantic": lambda bench: SemanticSystem(bench.own),
    "bm25": lambda bench: Bm25System(bench.own),
    "mem0-builtin": _mem0_builtin,
    "filter-in": _filtered("in"),
    "filter-contains": _filtered("contains"),
}
"""Name -> what makes the system for one data set."""

ANNOTATED = frozenset((*get_args(Mode), "filter-in", "filter-contains"))
"""Systems that need all that the store can note with a memory, and its links."""

DEFAULT_SYSTEMS = ("union", "mem0", "semantic", "bm25")

WITH = "+"
"""Between the name of a system and that of its reranker."""

TAGGERS = ("auto", "lac", "rules", "none")
"""What finds the names that memories are linked to; any other name is a spaCy pipeline's."""


def extractor_for(tagger: str) -> Extractor | None:
    """Return what finds names in texts, with its model loaded; None for "none", which links nothing.

    Args:
        tagger: "auto" takes what is installed; see `TAGGERS`.

    Raises:
        ConfigError: it is not installed.
    """
    from mem_opensearch.entities import Extractor, LacTagger, SpacyTagger

    if tagger == "none":
        return None
    if tagger not in TAGGERS and not SpacyTagger.is_installed(tagger):
        raise ConfigError(
            f"tagger '{tagger}' is neither one of {', '.join(TAGGERS)}, nor a spaCy pipeline of this machine"
        )
    named = {"auto": None, "rules": [], "lac": [LacTagger()]} if tagger in TAGGERS else {tagger: [SpacyTagger(tagger)]}
    extractor = Extractor(taggers=named[tagger])
    extractor.warm_up().join()
    return extractor


def check_systems(names: Sequence[str], rerankers: Sequence[str] = ()) -> tuple[str, ...]:
    """Return `names`, each once; where none of them says which reranker it has, each of ours also with every reranker.

    Args:
        names: of `SYSTEMS`; a mode of ours may have a reranker behind it, as "union+answers".
        rerankers: their names.

    Raises:
        ConfigError: none is given, or one is unknown: lists the known ones; or no system can be reranked.

    >>> check_systems(["union", "bm25"], ["answers"]), check_systems(["mem0", "union+answers"], ["answers"])
    (('union', 'union+answers', 'bm25'), ('mem0', 'union+answers'))
    """
    modes = get_args(Mode)
    known = (*SYSTEMS, *(f"{mode}{WITH}{reranker}" for mode in modes for reranker in rerankers))
    if not names:
        raise ConfigError(f"no system was given; known are: {', '.join(known)}")
    for name in names:
        if name not in known:
            raise ConfigError(f"system '{name}' is unknown; known are: {', '.join(known)}")
    if not rerankers or any(WITH in name for name in names):
        return tuple(dict.fromkeys(names))
    if not set(names) & set(modes):
        raise ConfigError(f"nothing to rerank: give a system of {', '.join(modes)}")
    found: list[str] = []
    for name in names:
        found += [name, *(f"{name}{WITH}{reranker}" for reranker in rerankers if name in modes)]
    return tuple(dict.fromkeys(found))


def system_for(name: str, bench: Bench) -> System:
    """Return the system of a name that `check_systems` gave."""
    mode, _, reranker = name.partition(WITH)
    if not reranker:
        return SYSTEMS[name](bench)
    return SearcherSystem(bench.own, mode, is_as_of=bench.is_as_of, reranker=bench.rerankers[reranker])  # type: ignore[arg-type] # a mode
