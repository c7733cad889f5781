"""Tell which type of answer a question asks for, and whether a text holds one.

The types and their words are everyday vocabulary, in simplified characters as the fold leaves them, and in English. A
text that holds a number of hours may answer "how long"; one that holds none can't. That is evidence against what only
repeats the question's words, never a proof.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from mem_opensearch.text import fold

if TYPE_CHECKING:
    from collections.abc import Mapping

AnswerType = Literal[
    "phone",
    "rating",
    "duration",
    "age",
    "people",
    "money",
    "clock",
    "title",
    "date",
    "reason",
    "place",
    "several",
    "number",
]
"""From the most special to the most general: a question of "how many people" is also one of a number."""

_N: Final = "[0-9零一二两三四五六七八九十百千万半几]"
_WORK: Final = "(?:电影|书|歌曲?|剧|节目|专辑|作品|小说|游戏|软件|应用|杂志)"
_ENGLISH_WORK: Final = "(?:movies?|films?|books?|songs?|shows?|albums?|novels?|games?|apps?|software)"
_MONTHS: Final = "January|February|March|April|May|June|July|August|September|October|November|December"

_ASKED: Final[Mapping[AnswerType, str]] = {
    "phone": "电话|号码|手机号|门号|座机|phone number|telephone",
    "rating": r"评分|几分|打分|\brating\b",
    "duration": "多久|多长时间|几个?(?:小时|分钟|天|星期|周|月)|几年|时长|片长|how long",
    "age": r"几岁|多大(?:年纪|岁数)?了?\W*$|年龄|how old|\bage\b",
    "people": "多少人|几个?人|几位|多少名|how many people",
    "money": (
        "多少钱|价格|价位|票价|花了多少|消费|费用|门票|票房|成本|预算|工资|薪水|房租"
        r"|how much (?:money|does|did|is|was)|\b(?:price|cost|budget|salary|rent)\b"
    ),
    "clock": "几点|营业时间|开放时间|作息|what time|opening hours",
    "title": (
        f"(?:哪[些部本两首个几]{{1,2}}|什么|[一两几这那][部本首个档款]).{{0,6}}{_WORK}"
        f"|{_WORK}.{{0,8}}(?:名字|叫什么|哪些|是什么|是哪|名称)"
        rf"|(?:which|what) (?:\w+ )?{_ENGLISH_WORK}\b|name of the"
    ),
    "date": r"哪年|哪一年|何时|什么时[候间]|几号|哪天|几月|哪一天|日期|生日|出生|上映|\bwhen\b|what (?:date|day|year)",
    "reason": r"为什么|为何|原因|怎么会|\bwhy\b|\breason\b",
    "place": (
        "哪里|哪儿|在哪|什么地方|哪个?(?:城市|国家|地方)|地址|位于"
        r"|\bwhere\b|\baddress\b|which (?:city|country|place)"
    ),
    "several": (
        "哪些|哪[两几]|有什么|什么建议|什么方法|什么方式"
        r"|which (?:two|three|\w+s)\b|what (?:kinds?|suggestions?|advice|methods?|ways?)\b"
    ),
    "number": r"多少|几[个只条本次张件辆台位]|how many|how much",
}
_HELD: Final[Mapping[AnswerType, str]] = {
    "phone": r"[0-9][0-9\- ]{5,}[0-9]",
    "rating": r"[0-9](?:\.[0-9])?分|[0-9](?:\.[0-9])? (?:stars|points)|[0-9]/[0-9]+",
    "duration": (
        rf"{_N}+个?多?半?(?:小时|钟头|分钟|天|日|周|星期|礼拜|个月|月|年)|一会|半天|整天"
        r"|\w+ (?:hours?|minutes?|days?|weeks?|months?|years?)\b"
    ),
    "age": rf"{_N}+岁|{_N}{{4}}年|[0-9]+ years? old",
    "people": rf"{_N}+个?多?[人位名口]|\w+ people",
    "money": (
        rf"{_N}+[0-9,.]*多?[万亿千百]?(?:元|块|美元|欧元|港币|台币)|[¥$€£][0-9]|免费"
        r"|\bfree\b|[0-9]+ (?:dollars|euros|yuan)"
    ),
    "clock": rf"{_N}+点|[0-9]{{1,2}}:[0-9]{{2}}|[0-9]+ ?[ap]\.?m",
    "title": r"《|\"[^\"]{2,}\"|“[^”]{2,}”|(?<![A-Za-z])[A-Z][A-Za-z]{2,}",
    "date": (
        rf"[0-9]{{4}}|{_N}+[月号]|(?:周|星期|礼拜){_N}|[今昨明后前]天|上周|下周"
        rf"|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|\b(?:{_MONTHS})\b"
    ),
    "reason": r"因为|由于|所以|为了|导致|原因|\b(?:because|since|so that|due to|in order to)\b",
    "place": r"[省市区县镇村路街巷号店馆园院楼层站岛山湖海寺国城]|\bin [A-Z]|\bat the ",
    "several": r"、|以及|比如|例如|包括|such as|for example|including|, \w+ and ",
    "number": rf"[0-9]|{_N}+[个只条本次张件辆台位倍]",
}
_ASKED_PATTERNS = {kind: re.compile(words, re.IGNORECASE) for kind, words in _ASKED.items()}
_HELD_PATTERNS = {kind: re.compile(words) for kind, words in _HELD.items()}


def asked_for(question: str) -> AnswerType | None:
    """Return the most special type of answer that a question asks for; None where its words name none.

    >>> asked_for("里面有多少人呢？"), asked_for("How long did I run?"), asked_for("他是誰？")
    ('people', 'duration', None)
    """
    folded = fold(question)
    return next((kind for kind, pattern in _ASKED_PATTERNS.items() if pattern.search(folded)), None)


def holds(text: str, kind: AnswerType) -> bool:
    """Whether a text holds what may be an answer of this type.

    >>> holds("八個人左右，都是挺好的同事。", "people"), holds("你也喜歡打羽毛球嗎？", "people")
    (True, False)
    """
    return _HELD_PATTERNS[kind].search(fold(text)) is not None
