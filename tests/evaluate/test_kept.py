"""Vectors that are kept on the disk from one run to the next."""

from __future__ import annotations

import multiprocessing
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from mem_opensearch.errors import ConfigError
from mem_opensearch.evaluate.kept import KeptEmbedder, named_embedder

TEXTS = ["龙井茶", "龍井茶", "A\x00B", "茶" * 5000]


class Counting:
    """An embedder whose vectors depend on text, kind and model, and that notes what it was asked for."""

    name, dims = "counting", 3

    def __init__(self, model=0.0):
        self.model, self.asked = model, []

    def _embed(self, texts, kind):
        self.asked += [(kind, text) for text in texts]
        angles = [sum(map(ord, text)) % 628 / 100 + self.model + (kind == "q") for text in texts]
        return np.array([[np.cos(angle), np.sin(angle), 0] for angle in angles], "float32").reshape(len(texts), 3)

    def embed_queries(self, texts):
        return self._embed(texts, "q")

    def embed_documents(self, texts):
        return self._embed(texts, "d")


@pytest.fixture
def file(tmp_path):
    return tmp_path / "vectors.sqlite"


def test_a_second_run_embeds_one_text_of_each_kind(file):
    first, second = Counting(), Counting()
    for inner in (first, second):
        kept = KeptEmbedder(inner, file)
        for _ in range(2):
            assert (kept.embed_documents(TEXTS) == Counting().embed_documents(TEXTS)).all()
            assert (kept.embed_queries(TEXTS[:2]) == Counting().embed_queries(TEXTS[:2])).all()
    assert len(first.asked) == len(TEXTS) + 2
    assert second.asked == [("d", TEXTS[0]), ("q", TEXTS[0])]


def test_new_texts_are_embedded_among_kept_ones(file):
    KeptEmbedder(Counting(), file).embed_documents(TEXTS[:2])
    inner = Counting()
    vectors = KeptEmbedder(inner, file).embed_documents([TEXTS[3], TEXTS[1], TEXTS[3]])
    assert (vectors == Counting().embed_documents([TEXTS[3], TEXTS[1], TEXTS[3]])).all()
    assert inner.asked == [("d", TEXTS[1]), ("d", TEXTS[3])]


def test_another_model_of_the_same_name_is_noticed(file):
    KeptEmbedder(Counting(), file).embed_documents(TEXTS)
    other = Counting(model=0.5)
    kept = KeptEmbedder(other, file)
    assert (kept.embed_documents(TEXTS) == Counting(model=0.5).embed_documents(TEXTS)).all()
    assert (KeptEmbedder(Counting(0.5), file).embed_documents(TEXTS) == kept.embed_documents(TEXTS)).all()


@pytest.mark.parametrize("content", [b"no database at all" * 100, None])
def test_a_broken_file_is_made_anew(file, content):
    KeptEmbedder(Counting(), file).embed_documents(TEXTS)
    whole = file.read_bytes()
    file.write_bytes(content or whole[: len(whole) // 2] + b"\xff" * 3000)
    inner = Counting()
    assert (KeptEmbedder(inner, file).embed_documents(TEXTS) == Counting().embed_documents(TEXTS)).all()
    again = Counting()
    KeptEmbedder(again, file).embed_documents(TEXTS)
    assert len(again.asked) == 1


def test_no_text_is_in_the_file(file):
    KeptEmbedder(Counting(), file).embed_documents(TEXTS)
    assert not [text for text in TEXTS if text.encode() in file.read_bytes()]


def test_no_texts(file):
    assert KeptEmbedder(Counting(), file).embed_documents([]).shape == (0, 3)


def embed_many(file, start):
    for number in range(20):
        KeptEmbedder(Counting(), file).embed_documents([f"text {start + number} {each}" for each in range(5)])


def test_two_processes_at_once(file):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=embed_many, args=(file, start)) for start in (0, 10)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
        assert worker.exitcode == 0
    inner = Counting()
    KeptEmbedder(inner, file).embed_documents([f"text {number} {each}" for number in range(30) for each in range(5)])
    assert len(inner.asked) == 1


def test_a_name_and_a_folder(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "user_module", SimpleNamespace(Counting=Counting))
    assert isinstance(named_embedder("user_module:Counting", None), Counting)
    named_embedder("user_module:Counting", tmp_path / "new" / "er").embed_queries(TEXTS)
    assert [path.name for path in (tmp_path / "new" / "er").iterdir()] == ["user_module-Counting-3.sqlite"]
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="can't be made"):
        named_embedder("use", tmp_path / "file")


def test_a_file_that_can_not_be_written_is_said(tmp_path):
    with pytest.raises(ConfigError, match="give another --cache"):
        KeptEmbedder(Counting(), tmp_path / "none" / "vectors.sqlite").embed_queries(TEXTS)
