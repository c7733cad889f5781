"""Words made on the client: what is one, that it is always the same, and that nobody else notices."""

import os
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_opensearch.text import fold, load_dictionary, segmentation_fingerprint, segmenter
from mem_opensearch.text.segment import Segmenter


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("專案代號", ["专案", "代号"]),
        ("电子书，猫！", ["电子书", "猫"]),
        ("北京大学", ["北京大学"]),
        ("型号ＰＸ－４４１", ["型号", "px-441", "px", "441"]),
        ("Mail user@host", ["mail", "user@host", "user", "host"]),
        ("2026-08-01到v2.0", ["2026-08-01", "2026", "08", "01", "到", "v2.0", "v", "2", "0"]),
        ("A型血", ["a", "型", "血"]),
        ("𠮷野㐂😂", ["𠮷", "野", "㐂"]),
        ("café カタカナ Москва", ["café", "カタカナ", "москва"]),
        ("snake_case", ["snake_case", "snake", "case"]),
        ("-x- ... --", ["x"]),
        ("我不吃 not no", ["我", "不吃", "not", "no"]),
        ("", []),
    ],
)
def test_words(text, words):
    assert segmenter().segment(text) == words


@given(st.text())
def test_a_word_has_no_blank_and_is_folded_and_nothing_readable_is_lost(text):
    words = segmenter().segment(text)
    assert all(word.split() == [word] for word in words)
    assert [fold(word) for word in words] == words
    letters = {c for c in fold(text).lower() if c.isalnum()}
    assert letters <= set("".join(words))


@given(st.text(alphabet="吃不大安区台北专案代号", min_size=1))
def test_the_fold_comes_first(text):
    assert segmenter().segment(text) == segmenter().segment(text.replace("台", "臺").replace("专", "專"))


def test_the_users_words_are_kept_whole():
    without = segmenter()
    with_them = Segmenter(load_dictionary(["裴若谷", "黑貓宅急便", "夜16", "C++", "AT&T", "𠮷野家"]))
    text = "裴若谷用C++写黑猫宅急便，住夜16，吃𠮷野家，打AT&T"
    assert not {"裴若谷", "黑猫宅急便", "夜16", "c++", "at&t", "𠮷野家"} & set(without.segment(text))
    assert {"裴若谷", "黑猫宅急便", "夜16", "c++", "at&t", "𠮷野家"} <= set(with_them.segment(text))
    assert "裴若谷" not in without.segment("裴若谷")


def test_the_fingerprint_tells_of_every_change_and_of_nothing_else():
    base = segmentation_fingerprint()
    one = segmentation_fingerprint(load_dictionary(["裴若谷"]))
    assert len({base, one, segmentation_fingerprint(load_dictionary(["裴若谷", "夜16"]))}) == 3
    assert segmentation_fingerprint(load_dictionary(("裴若谷",))) == one
    assert segmentation_fingerprint(load_dictionary(["夜16", "專案"])) == segmentation_fingerprint(
        load_dictionary(["专案", "夜１６", "夜16"])
    )


def test_many_threads_at_once_load_it_once(monkeypatch):
    loads = []
    load = Segmenter._load
    monkeypatch.setattr(Segmenter, "_load", lambda self: loads.append(1) or load(self))
    one, gate, results = Segmenter(), threading.Barrier(8), []

    def work():
        gate.wait()
        results.append(one.segment("專案代號是ＰＸ－４４１"))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loads == [1]
    assert results == [["专案", "代号", "是", "px-441", "px", "441"]] * 8


def test_no_cache_file_no_noise_and_jiebas_own_state_untouched(tmp_path):
    code = """
import logging, sys
logging.basicConfig(level=logging.DEBUG)
from mem_opensearch.text import load_dictionary, segmenter, segmentation_fingerprint
segmentation_fingerprint()
assert "jieba" not in sys.modules
assert "裴若谷" in segmenter(load_dictionary(["裴若谷"])).segment("裴若谷")
import jieba
assert not jieba.dt.initialized and not jieba.dt.FREQ
assert not jieba.finalseg.Force_Split_Words
assert jieba.default_logger.level == logging.DEBUG  # as it comes: whoever uses jieba itself may want its log
"""
    environment = os.environ | {"TMPDIR": str(tmp_path), "PYTHONWARNINGS": "default"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []
