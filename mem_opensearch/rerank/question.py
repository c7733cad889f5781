"""Take a question apart for the second stage: which clause asks, what of it is no name, and whose words it is about."""

from __future__ import annotations

import re
from typing import Final

from mem_opensearch.entities import extract
from mem_opensearch.entities.words import listed
from mem_opensearch.text import fold, segmenter, without_question_words

_CLAUSE_ENDS = re.compile(r"[,;!?。]+\s*|\.\s+")
_ASKS = re.compile(
    r"为什么|什么|怎么|怎样|如何|哪|谁|多少|几|多久|多大|多长|吗|呢"
    r"|\b(?:what|which|who|whom|whose|when|where|why|how)\b",
    re.IGNORECASE,
)
_SAID_BY_THE_ASSISTANT = re.compile(
    r"你(?:之前|曾经?|上次)?(?:[给跟对向]我)?(?:推荐|建议|告诉|介绍|说|提|教|讲|给了我|安慰)"
    r"|\b(?:did|have) you (?:\w+ )?(?:recommend|suggest|tell|told|advise|mention|give|say|said)",
    re.IGNORECASE,
)
_ASSISTANTS_LINE = re.compile(r"^(?:助手|助理|机器人|assistant|ai|bot)\s*:", re.IGNORECASE | re.MULTILINE)

_NO_ASPECT: Final = frozenset(
    listed(
        "我 你 他 她 它 的 了 是 在 和 有 也 都 就 还 不 啊 吧 呀 这 那 个 上次 之前 一下 过 给 去 想 要 会",
        "多 做 看 用 让 为 名字 名称 叫 时候 事 事情 地方 推荐 告诉 建议 喜欢 介绍 觉得 认为 提到 聊到 聊 说",
        "问 曾经 最近 一个 这个 那个 记得 知道 过去 the a an of in on at to for is are was were do does did i",
        "me my you your he she it they we us that this what which who when where how why and or with from",
        "about have has had be been can could would should will one",
    )
)
"""Words that tell nothing about which side of a thing is asked for."""


def asking_clause(question: str) -> str:
    """Return the last clause of a question that asks, folded; the whole where none does.

    >>> asking_clause("有了這家公司的發行，還記得導演是誰嗎？")
    '还记得导演是谁吗'
    """
    folded = fold(question)
    clauses = [clause for clause in _CLAUSE_ENDS.split(folded) if clause]
    return next((clause for clause in reversed(clauses) if _ASKS.search(clause)), folded)


def aspect_words(question: str) -> list[str]:
    """Return the words that say which side of a named thing is asked for; none where no name stands in the question.

    >>> aspect_words("上次問過你，「和平飯店」的評分是多少？")
    ['评分']
    """
    names = [fold(mention.name).lower() for mention in extract(question)]
    if not names:
        return []
    left = asking_clause(question).lower()
    for name in sorted(names, key=len, reverse=True):
        left = left.replace(name, " ")
    words = segmenter().segment(without_question_words(left))
    return [
        word
        for word in dict.fromkeys(words)
        if word not in _NO_ASPECT and not word.isdigit() and any(map(str.isalnum, word))
    ]


def share_of(words: list[str], text: str) -> float:
    """Return which share of words a text holds, in [0, 1]; Latin words count only whole.

    >>> share_of(["评分", "art"], "評分是 4 分，part two")
    0.5
    """
    if not words:
        return 0.0
    folded = fold(text).lower()
    return sum(_holds_word(word, folded) for word in words) / len(words)


def answering_side(question: str, text: str) -> str:
    r"""Return the lines of an exchange that can answer: the assistant's, where the question is what it said.

    >>> answering_side("你推薦過哪些書？", "用户：想看書\n助手：《紅樓夢》")
    '助手:《红楼梦》'
    """
    folded = fold(text)
    if _SAID_BY_THE_ASSISTANT.search(fold(question)):
        said = [line for line in folded.splitlines() if _ASSISTANTS_LINE.match(line)]
        return "\n".join(said) or folded
    return folded


def is_exchange(text: str) -> bool:
    """Whether a text is several lines of a talk, of which one may name a thing and a later one say more of it."""
    return len([line for line in text.splitlines() if line.strip()]) > 1


def _holds_word(word: str, folded: str) -> bool:
    if not word.isascii():
        return word in folded
    return re.search(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])", folded) is not None
