"""Names that a text shows by itself: quotes, identifiers, titles, listed words, and who somebody is to the user."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mem_opensearch.entities import words as known
from mem_opensearch.entities.mentions import EntityMention, EntityType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SOURCE = "rules"
_SHORTEST_CODE = 3
_LONGEST_NAME = 20  # characters between quotes; what is longer is speech
_QUOTED = re.compile(
    '[「『“](?P<name>[^「」『』“”]+)[」』”]|"(?P<plain>[^"]+)"|《(?P<work>[^《》]+)》|〈(?P<part>[^〈〉]+)〉'
)
_SPEECH = re.compile("[，。！？；：,!?;]|^(?:我|你|他|她|它)")
_CODE = re.compile(r"(?<![\w@])[A-Za-z0-9]+(?:[-_./][A-Za-z0-9]+)*(?![\w@])", re.ASCII)
_MEASURE = re.compile(r"\d[\d.,/:-]*(?:[a-zA-Z]{1,3}|[a-z]+)?|v?\d+(?:\.\d+)+", re.ASCII)  # 5km, 10am, 16:9, 2nd

_COMMON_SURNAME = (
    "[王李张刘陈杨黄赵吴周徐孙马朱胡郭何林罗郑梁谢宋唐许邓韩冯曹彭曾萧田董"
    "潘袁蔡蒋余杜叶程魏苏吕丁任卢姚沈钟姜崔谭陆范廖汪]"
)
_ADDRESS = (
    "(?:老师|先生|女士|小姐|太太|教授|博士|医生|大夫|律师|经理|主任|总监|师傅|阿姨|叔叔|伯伯|校长|院长|教练|总(?![是共的会])|"
    "工(?![作人厂程具资会]))"
)
_FREE = "(?<![\u4e00-\u9fff])|(?<=[的是和跟找问给叫请让与向对约见被由在有了])"  # 二胡老师 is no 胡老师
_TITLED = re.compile(f"(?:{_FREE}){_COMMON_SURNAME}{_ADDRESS}")
_FAMILIAR = re.compile(  # 老王, 小李; not 小程序, 老黄牛, 小苏打
    rf"(?:{_FREE})[老小阿]{_COMMON_SURNAME}(?![序历牛车鱼瓜打驹野务同子醋米麦区溪镇村])"
)


def find_quoted(text: str) -> Iterator[EntityMention]:
    """Yield what stands in quotes, unless it is speech, and the works in 《》. `text` may be folded or not."""
    for hit in _QUOTED.finditer(text):
        group = hit.lastgroup or ""
        start, end = hit.span(group)
        name = hit.group(group)
        if group in ("work", "part"):
            yield EntityMention(start, end, name, EntityType.WORK, SOURCE)
        elif len(name) <= _LONGEST_NAME and not _SPEECH.search(name) and name.strip() == name:
            yield EntityMention(start, end, name, EntityType.NAME, SOURCE)


def find_codes(text: str) -> Iterator[EntityMention]:
    """Yield identifiers: letters and digits together, three characters at least; measures and times are none."""
    for hit in _CODE.finditer(text):
        code = hit.group()
        mixed = any(c.isdigit() for c in code) and any(c.isalpha() for c in code)
        if mixed and len(code) >= _SHORTEST_CODE and not _MEASURE.fullmatch(code):
            yield EntityMention(hit.start(), hit.end(), code, EntityType.CODE, SOURCE)


def find_titled(text: str) -> Iterator[EntityMention]:
    """Yield surnames with a title: 王老师, 李总, 老王."""
    for pattern in (_TITLED, _FAMILIAR):
        for hit in pattern.finditer(text):
            yield EntityMention(hit.start(), hit.end(), hit.group(), EntityType.PERSON, SOURCE)


def find_introduced(text: str) -> Iterator[EntityMention]:
    """Yield persons whom a text introduces by a role: 总监叫盛怀瑾."""
    for hit in known.INTRODUCED.finditer(text):
        if known.is_surname(hit.group("name")):
            yield EntityMention(*hit.span("name"), hit.group("name"), EntityType.PERSON, SOURCE)


def find_roles(text: str) -> Iterator[EntityMention]:
    """Yield who somebody is to the user, with what narrows it: 表弟, 插花老师."""
    for hit in known.ROLE.finditer(text):
        narrowed = hit.group() not in known.KIN  # there are teachers of many things; a mother is a mother
        start = hit.start() - len(known.modifier_before(text, hit.start())) if narrowed else hit.start()
        yield EntityMention(start, hit.end(), text[start : hit.end()], EntityType.ROLE, SOURCE)


def find_listed(text: str, listed: Iterable[str]) -> Iterator[EntityMention]:
    """Yield the words of a list wherever a folded text has them; a Latin one stands by itself."""
    lower = text.lower()
    for word in listed:
        pattern = f"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])" if word.isascii() else re.escape(word)
        for hit in re.finditer(pattern, lower):
            yield EntityMention(hit.start(), hit.end(), text[hit.start() : hit.end()], EntityType.NAME, "dictionary")
