"""A demo result made by hand, for what is drawn and counted; and mem0 without telemetry or the user's own home."""

import os
import tempfile

import pytest

# Read once, when mem0 is imported; a developer's own mem0 home is not for tests.
os.environ.setdefault("MEM0_DIR", tempfile.mkdtemp(prefix="mem0-home-"))
os.environ.setdefault("MEM0_TELEMETRY", "False")

from mem_opensearch.demo.questions import QUESTIONS
from mem_opensearch.demo.results import Answer, Asked, DemoResult, ScoredHit, Stored, Versions
from mem_opensearch.demo.summarise import summarise
from mem_opensearch.demo.systems import BUILTIN, OURS

LONG = "订单 DD20240719003 的收货地址是绵阳的公司前台，" * 8


def make_answer(
    system: str, relevant: str, rank: int | None, *, milliseconds: tuple[float, ...] = (4.0, 5.0, 9.0)
) -> Answer:
    """Ten hits, the right one at `rank`; every text is longer than any line."""
    ids = [f"wrong-{place}" for place in range(1, 11)]
    if rank is not None:
        ids[rank - 1] = relevant
    hits = tuple(
        ScoredHit(id=each, text=LONG, semantic=0.5 + place / 100, bm25=0.91, entity=0.0, final=0.75)
        for place, each in enumerate(ids)
    )
    return Answer(system=system, hits=hits, rank=rank, milliseconds=milliseconds, requests=2.0)


def make_asked(number: int, ours: int | None, builtin: int | None, meaning: int) -> Asked:
    question = QUESTIONS[number]
    answers = (
        make_answer(OURS, question.relevant, ours),
        make_answer(BUILTIN, question.relevant, builtin, milliseconds=(11.0, 12.0, 40.0)),
    )
    return Asked(question=question, right_text=LONG, meaning_rank=meaning, embed_milliseconds=3.0, answers=answers)


@pytest.fixture
def result() -> DemoResult:
    """Three questions: ours finds two at rank 1, mem0's provider one at rank 3, meaning alone one at rank 2."""
    asked = (make_asked(0, 1, 3, 2), make_asked(1, 1, 4, 8), make_asked(2, 6, None, 5))
    stored = (Stored(OURS, 1572, 1.25, 11), Stored(BUILTIN, 1572, 14.5, 1573))
    versions = Versions("opensearch 3.6.0", "http://node:9200", "0.1.0", "2.2.1", "use, 512 dimensions", "ik")
    return DemoResult(
        versions=versions,
        collection="demo-1",
        memories=1572,
        users=36,
        stored=stored,
        asked=asked,
        summary=summarise(asked, stored),
    )
