"""Cross-encoders on this machine: the real loading code, with tiny models that are made here."""

from __future__ import annotations

import math
import threading
from importlib.util import find_spec

import pytest

from mem_opensearch.errors import ConfigError, MissingExtraError, RerankError
from mem_opensearch.rerank import models
from mem_opensearch.rerank.loading import missing_weights, refuse_untrained
from mem_opensearch.rerank.models import HuggingFace, SentenceTransformer, sigmoid
from mem_opensearch.rerank.scoring import Scorer

pytestmark = pytest.mark.unit
needs_torch = pytest.mark.skipif(
    any(find_spec(package) is None for package in ("torch", "transformers", "sentence_transformers")),
    reason="torch and sentence-transformers are not installed: several GB, so that scripts/test does not fetch them; "
    "these tests run where the extra rerank-models is",
)

QUERY = "我住在哪里？"
TEXTS = ["我住在臺北的大安區", "印表機的專案代號是ＰＸ－４４１", "我对花生过敏", "I live in Taipei"]
RELEVANT = [1.0, 0.0, 0.0, 1.0]
BOTH = pytest.mark.parametrize("make", [SentenceTransformer, HuggingFace])


@pytest.fixture(scope="module")
def tokenizer():
    """One token a character, with the pair and the segments that BERT has."""
    import tokenizers
    import transformers
    from tokenizers.pre_tokenizers import Split
    from tokenizers.processors import TemplateProcessing

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = sorted({letter for text in (QUERY, *TEXTS) for letter in text})
    vocabulary = {token: number for number, token in enumerate([*special, *letters])}
    tool = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tool.pre_tokenizer = Split(tokenizers.Regex("."), "isolated")
    tool.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tool, model_max_length=64, **dict(zip(names, special, strict=True))
    )


@pytest.fixture(scope="module")
def saved(tokenizer, tmp_path_factory):
    """Return the folder of a tiny model, trained to tell two of the texts from the others."""
    import torch
    import transformers

    def make(outputs, *, headless=False):
        folder = tmp_path_factory.mktemp("model")
        torch.manual_seed(7)
        config = transformers.BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=64,
            num_labels=outputs,
            hidden_dropout_prob=0,
            attention_probs_dropout_prob=0,
        )
        model = transformers.BertForSequenceClassification(config)
        inputs = tokenizer([QUERY] * len(TEXTS), TEXTS, padding=True, return_tensors="pt")
        wanted = torch.tensor(RELEVANT)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(60):
            logits = model(**inputs).logits
            if outputs == 1:
                loss = torch.nn.functional.binary_cross_entropy_with_logits(logits[:, 0], wanted)
            else:
                loss = torch.nn.functional.cross_entropy(logits, wanted.long())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        (model.bert if headless else model).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        with torch.no_grad():
            return str(folder), model.eval()(**inputs).logits.tolist()

    return make


@pytest.fixture(scope="module")
def one(saved):
    return saved(1)


@pytest.fixture(scope="module")
def two(saved):
    return saved(2)


@pytest.fixture(scope="module")
def headless(saved):
    return saved(1, headless=True)[0]


# -- scores


@needs_torch
@BOTH
def test_one_output_goes_through_the_sigmoid(make, one):
    """A softmax over one output is 1 for every text."""
    folder, logits = one
    scorer = make(model=folder, device="cpu")
    assert isinstance(scorer, Scorer)
    found = scorer.score(QUERY, TEXTS)
    assert found == pytest.approx([1 / (1 + math.exp(-logit)) for (logit,) in logits], abs=1e-4)
    assert [round(score) for score in found] == RELEVANT
    assert len(set(found)) == len(TEXTS)


@needs_torch
@BOTH
def test_two_outputs_give_the_share_of_the_second(make, two):
    folder, logits = two
    found = make(model=folder, device="cpu").score(QUERY, TEXTS)
    softmax = [math.exp(yes) / (math.exp(no) + math.exp(yes)) for no, yes in logits]
    assert found == pytest.approx(softmax, abs=1e-4)
    assert [round(score) for score in found] == RELEVANT


@needs_torch
@BOTH
def test_scores_as_the_model_gives_them(make, one, two):
    folder, logits = one
    found = make(model=folder, device="cpu", normalize=False).score(QUERY, TEXTS)
    assert found == pytest.approx([logit for (logit,) in logits], abs=1e-3)
    folder, logits = two
    found = make(model=folder, device="cpu", normalize=False).score(QUERY, TEXTS)
    assert found == pytest.approx([yes - no for no, yes in logits], abs=1e-3)


@needs_torch
@BOTH
@pytest.mark.parametrize("size", [1, 3, 100])
def test_batches_change_nothing(make, one, size):
    folder, _ = one
    texts = TEXTS * 3
    expected = make(model=folder, device="cpu").score(QUERY, texts)
    assert make(model=folder, device="cpu", batch_size=size).score(QUERY, texts) == pytest.approx(expected, abs=1e-4)


@needs_torch
@BOTH
def test_what_is_too_long_is_cut(make, one):
    folder, _ = one
    long = TEXTS[0] + "，" + TEXTS[1] * 50
    scorer = make(model=folder, device="cpu", max_length=40)
    whole, shorter = scorer.score(QUERY * 2, [long, long[:200]])
    assert whole == pytest.approx(shorter, abs=1e-4)
    (beyond_the_model,) = make(model=folder, device="cpu").score(QUERY, [long])
    assert 0 <= beyond_the_model <= 1


@needs_torch
@BOTH
def test_no_texts(make, one):
    assert make(model=one[0]).score(QUERY, []) == []


# -- models that are no rerankers


@needs_torch
@BOTH
def test_an_encoder_without_a_head_is_refused(make, headless, monkeypatch):
    scorer = make(model=headless, device="cpu")
    said = r"no trained reranker: classifier\.bias, classifier\.weight newly initialized"
    with pytest.raises(RerankError, match=said) as caught:
        scorer.score(QUERY, TEXTS)
    assert not caught.value.retryable
    monkeypatch.setattr(type(scorer), "_load", lambda _: pytest.fail("it was loaded again"))
    with pytest.raises(RerankError, match=said):
        scorer.score(QUERY, TEXTS)


@needs_torch
@BOTH
def test_a_classifier_of_something_else_is_refused(make, saved):
    folder, _ = saved(3)
    with pytest.raises(RerankError, match="gives 3 numbers a text, and a reranker one or two"):
        make(model=folder, device="cpu").score(QUERY, TEXTS)


@needs_torch
@BOTH
def test_a_model_that_is_not_there(make, tmp_path):
    scorer = make(model=str(tmp_path / "none"))
    for _ in range(2):  # it may be there the next time
        with pytest.raises(RerankError, match=r"none' can't be loaded: \w+: "):
            scorer.score(QUERY, TEXTS)


@needs_torch
@BOTH
def test_a_device_that_is_not_there(make, one):
    with pytest.raises(RerankError, match="can't be loaded"):
        make(model=one[0], device="cuda:99").score(QUERY, TEXTS)


@needs_torch
@BOTH
def test_a_model_that_fails_names_no_text(make, one, monkeypatch):
    def fail(*_):
        raise IndexError(TEXTS[0])

    scorer = make(model=one[0], device="cpu")
    monkeypatch.setattr(make, "_outputs", fail)
    with pytest.raises(RerankError, match=r"failed \(IndexError\)") as caught:
        scorer.score(QUERY, TEXTS)
    assert TEXTS[0] not in str(caught.value)


# -- loading


@needs_torch
@BOTH
def test_threads_load_once(make, one, monkeypatch):
    loads = []
    original = make._load
    monkeypatch.setattr(make, "_load", lambda scorer: loads.append(1) or original(scorer))
    scorer = make(model=one[0], device="cpu")
    assert loads == []
    expected, found = make(model=one[0], device="cpu").score(QUERY, TEXTS), []
    loads.clear()
    threads = [threading.Thread(target=lambda: found.append(scorer.score(QUERY, TEXTS))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
    assert found == [pytest.approx(expected, abs=1e-4)] * 6
    assert loads == [1]


@needs_torch
def test_transformers_is_left_as_it_was(one):
    import transformers

    auto_class = transformers.AutoModelForSequenceClassification
    before = dict(vars(auto_class))
    SentenceTransformer(model=one[0], device="cpu").score(QUERY, TEXTS)
    assert dict(vars(auto_class)) == before


class Auto:
    """The part of a class of transformers that is used."""

    @classmethod
    def from_pretrained(cls, name, output_loading_info=False):
        information = {"missing_keys": {"classifier.weight"} if name == "bare" else set(), "unexpected_keys": {"x"}}
        return (name, information) if output_loading_info else name


def test_what_is_missing_is_noted_and_nobody_else_sees_a_difference():
    class Derived(Auto):
        pass

    before = dict(vars(Auto)), dict(vars(Derived))
    for auto_class in (Auto, Derived):
        with missing_weights(auto_class) as missing:
            assert auto_class.from_pretrained("trained") == "trained"
            assert missing == set()
            assert auto_class.from_pretrained("bare") == "bare"
            assert missing == {"classifier.weight"}
            assert auto_class.from_pretrained("bare", output_loading_info=True)[1]["unexpected_keys"] == {"x"}
        assert auto_class.from_pretrained("bare") == "bare"
        assert missing == {"classifier.weight"}
    assert (dict(vars(Auto)), dict(vars(Derived))) == before


def test_an_error_while_loading_leaves_nothing_behind():
    class Derived(Auto):
        pass

    with pytest.raises(OSError, match="gone"), missing_weights(Derived):
        raise OSError("gone")
    assert "from_pretrained" not in vars(Derived)


def test_what_is_missing_is_named():
    refuse_untrained([], model="m", scorer="s")
    with pytest.raises(RerankError) as caught:
        refuse_untrained({"d", "c", "b", "a"}, model="bert-base-chinese", scorer="huggingface")
    assert str(caught.value).startswith("huggingface: 'bert-base-chinese' is no trained reranker: a, b, c ... newly")


def test_the_sigmoid_has_no_float32_in_it():
    assert len({sigmoid(logit) for logit in (18.0, 19.0, 20.0, 30.0)}) == 4


# -- options


@BOTH
def test_without_the_packages(make, monkeypatch):
    monkeypatch.setattr(models, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'mem-opensearch\[rerank-models\]'"):
        make(model="m")


@BOTH
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"batch_size": 0}, "option 'batch_size'"),
        ({"max_length": 1}, "option 'max_length'"),
        ({"model": ""}, "option 'model'"),
        ({"devise": "cpu"}, "option 'devise' is unknown; known are: "),
    ],
)
def test_options_that_are_wrong(make, options, said):
    with pytest.raises(ConfigError) as caught:
        make(**options)
    assert said in str(caught.value)
