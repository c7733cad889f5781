"""The user's words: how they are read, and what is said of those that can't be meant."""

import pytest

from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.config import StoreConfig
from mem_opensearch.errors import ConfigError
from mem_opensearch.text import load_dictionary


def test_a_file_and_a_list_give_the_same(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("\ufeff# 产品\n裴若谷\r\n\n  黑貓宅急便 \nＰＸ－４４１\n", encoding="utf-8")
    assert load_dictionary(path).words == ("px-441", "裴若谷", "黑猫宅急便")
    assert load_dictionary(str(path)) == load_dictionary(["黑猫宅急便", "PX-441", "裴若谷", "裴若谷"])


def test_the_words_are_not_shown_where_the_object_is():
    assert repr(load_dictionary(["裴若谷"])).startswith("UserDictionary(1 words, ")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("裴若谷 3 nr", "line 2: a word holds no blank; write one word a line, without frequency or tag"),
        ("裴若谷\u3000盛怀瑾", "line 2: a word holds no blank"),
        ("……", "line 2: this holds no letter, digit or ideograph"),
        ("裴" * 51, "line 2: 51 characters are more than the 50"),
        ("裴\x07若谷", "line 2: this holds a control character"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, reason):
    path = tmp_path / "words.txt"
    path.write_text(f"好词\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_dictionary(path)
    assert f"dictionary {path}, {reason}" in str(caught.value)


def test_a_bad_file_is_named(tmp_path):
    path = tmp_path / "words.txt"
    with pytest.raises(ConfigError, match=rf"dictionary {path} can't be read: No such file"):
        load_dictionary(path)
    path.write_bytes("好词\n裴若谷".encode("gb18030"))
    with pytest.raises(ConfigError, match=rf"dictionary {path} is not UTF-8 in line 1"):
        load_dictionary(path)
    path.write_text("# 空\n")
    with pytest.raises(ConfigError, match=rf"dictionary {path} holds no word"):
        load_dictionary(path)


def test_a_bad_list_is_named():
    with pytest.raises(ConfigError, match="dictionary, word 2: int is no word"):
        load_dictionary(["好", 3])
    with pytest.raises(ConfigError, match="dictionary holds no word"):
        load_dictionary([])


def test_a_store_says_it_before_anything_is_sent(tmp_path):
    with pytest.raises(ConfigError, match=r"absent\.txt can't be read"):
        OpenSearchVectorStore(url="http://127.0.0.1:9", dictionary=str(tmp_path / "absent.txt"))


def test_the_option_clashes_with_analysers_that_have_no_use_for_it(monkeypatch):
    with pytest.raises(ConfigError, match="'dictionary' has no effect with analyzer=smartcn: use ik or jieba"):
        StoreConfig.build(analyzer="smartcn", dictionary=["裴若谷"])
    monkeypatch.setenv("MEM_OPENSEARCH_DICTIONARY", "/somewhere/words.txt")
    assert StoreConfig.build().dictionary == "/somewhere/words.txt"
