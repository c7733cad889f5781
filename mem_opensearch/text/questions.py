"""Take the question words out of a question before it is looked up by words."""

from __future__ import annotations

import re

from mem_opensearch.text.fold import fold

# Interrogatives and question particles: a closed class, and never part of what is asked for. Words of negation and of
# quantity (不, 没, 一) are not among them, nor are particles that also stand in answers (的, 了, 是).
_QUESTION_WORDS = re.compile(
    "请问|为什么|什么|怎么样|怎样|怎么|如何|哪些|哪里|哪儿|哪个|哪|谁|多少|吗|呢"  # as the fold leaves them
)


def without_question_words(query: str) -> str:
    """Return the folded query without its question words; a query of nothing else stays whole.

    A memory that holds 什么 or 哪里 is more often another question than the answer to this one.

    >>> without_question_words("我在哪裡買了什麼？").split()
    ['我在', '买了', '?']
    """
    folded = fold(query)
    left = _QUESTION_WORDS.sub(" ", folded)
    return left if any(character.isalnum() for character in left) else folded
