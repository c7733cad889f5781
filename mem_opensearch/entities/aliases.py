"""Read other names of an entity off a text: 表弟覃小川, 新来的总监叫盛怀瑾, X（Y）, 外号, my cousin Tom.

Only what a text says in so many words counts. Who 她 is, or which 医生 is meant, is not read off it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from mem_opensearch.entities import words as known
from mem_opensearch.entities.extraction import extract
from mem_opensearch.entities.mentions import EntityMention, EntityType
from mem_opensearch.text import fold, fold_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class AliasKind(StrEnum):
    """What kind of other name it is."""

    NAME = "name"
    """Another name of the same: 铁蛋, IEA. Whatever is said of one is said of the other."""
    DESCRIPTION = "description"
    """What the entity is to the user: 表弟, 面馆. It may fit another one as well."""


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of an entity, as one text gives it; it holds for the user whose memory the text is.

    Attributes:
        name: the entity's name, as it stands in the text.
        alias: what else it is called there.
        evidence: the piece of text that says so.
        kind: whether it is a name or a description.
    """

    name: str
    alias: str
    evidence: str
    kind: AliasKind


_SHORTEST, _LONGEST_NOUN = 2, 5  # characters of what something is called by
_OWNER_WITHIN = 20  # characters before a role
_NEAR = 2  # characters between a name and 又叫

_NAMED = frozenset((EntityType.PERSON, EntityType.ORGANISATION, EntityType.PLACE, EntityType.NAME))
_END = re.compile("\\s*(?:[\\s」』”’》）)]*(?:$|[，。；！、,.;!（(]|老师|先生|女士|小姐))")
_QUESTION = re.compile("[？?]|吗[。！]?$")
_SENTENCE = re.compile("[^。！？!?\n]+[。！？!?\n]?")

_IS = "(?:的名字)?(?:叫做|叫作|名叫|叫|就是|是|名为)"
_ROLE_LINK = re.compile(f"[」』”’]?(?P<link>\\s*|[，,]?{_IS})\\s*[「『“‘《]?")
_CALLED = re.compile(
    "(?P<noun>[\u4e00-\u9fffA-Za-z]{1,12})(?:的名字)?(?:叫做|叫作|名叫|叫|(?<![更改定命易取])名为)\\s*[「『“《]?"
)
_LATER = re.compile("[，,](?:他|她|名字|全名)?(?:叫|名叫)\\s*[「『“]?")
_BEFORE_NOUN = re.compile(
    "^.*(?:的(?!人)|我们家|我们|我家|我|咱们|有)|^(?:那|这|有|某|一)?[一]?(?:家|个|位|条|座|间|只|所|艘|支)(?!长)"
)
_MEASURED = re.compile("(?:那|这)[家个位条座间只所艘支][\u4e00-\u9fff]$")
_NOT_A_NOUN = re.compile(
    "^(?:他|她|它|你|人|都|也|被|就|不|大家|别人|有人|名字|[大本真原全学小艺笔]名|外号|绰号|所谓|现在|以前|它们|他们|她们)+$|[更改定命易取]$|之所以|[年月日号]|(?:名|名字|[家个位条座间只所艘支])$"
)

_NICKNAME = re.compile(
    "(?:外号|绰号|小名|乳名|昵称|英文名|中文名|笔名|艺名|网名|花名|人称|大家都?[叫称][他她它]|我们都?[叫称][他她它])"
    '(?:就?叫做?|是|为|：|:)?\\s*[「『“‘"]?'
)
_OTHER_NAME = re.compile(
    '(?:又叫做?|又名|又称|也叫做?|也称|别名|别称|简称|俗称|旧称|曾用名)(?:叫|是|为|：|:)?\\s*[「『“‘"《]?'
)
_REAL_NAME = re.compile(
    "[」』”’]?(?:的)?(?:大名|本名|真名|原名|全名|学名|真实姓名)(?:就?叫做?|是|为|：|:)?\\s*[「『“‘]?"
)
_SHORT = re.compile("[\u4e00-\u9fff]{2,4}|[A-Z][\\w.'’-]*(?: [A-Z][\\w.'’-]*)*")
_IN_BRACKETS = re.compile(
    "[」』”》]?\\s?[（(]"
    "(?:(?P<mark>又名|又叫|也叫|简称|即|旧称|原名|本名|别名|外号|绰号|英文名|小名|alias|aka|a\\.k\\.a\\.)[：: ]*)?"
    "[「“]?(?P<alias>[^（）()，,。；;]{1,30}?)[」”]?[）)]"
)

_FAMILY = "老婆|老公|太太|先生|妻子|丈夫|儿子|女儿|孩子|妈妈|爸爸|妈|爸|弟弟|妹妹|哥哥|姐姐"
_KIN = re.compile("|".join(sorted(known.KIN, key=len, reverse=True)))
_OWNER = re.compile(
    f"(?:(?P<role>{known.ROLE.pattern}|孩子|[妈爸])|(?P<other>[他她你您][们]?家?|别人|人家))(?P<of>的)?(?:[^，,。的]{{0,4}}的)?$"
)

_NAME_EN = r"(?P<name>[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*)"
_ROLE_EN = re.compile(rf"(?:,| is| is called| is named|,? whose name is|, named)? {_NAME_EN}(?=$|[\s,.;:!)']|’)")
_MARK_EN = r"(?:,? ?\(?(?:alias|aka|a\.k\.a\.|also known as|also called|nicknamed|goes by)) \"?“?"
_OTHER_EN = re.compile(rf"(?<!\w){_NAME_EN}{_MARK_EN}(?P<alias>[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*)")


def aliases_of(text: str, mentions: Sequence[EntityMention] | None = None) -> list[Alias]:
    """Return the other names that a text gives to entities, in its order, each once.

    Questions give none. Whose memory it is, and whether an alias is worth storing that fits several entities, is for
    the caller: see `closeness`, which shares it among them.

    Args:
        text: of one memory.
        mentions: what it names, see `extract`; found here where not given.
    """
    folded = fold(text)
    found = extract(text) if mentions is None else mentions
    out: dict[tuple[str, str], Alias] = {}
    for sentence in _SENTENCE.finditer(folded):
        if _QUESTION.search(sentence.group()):
            continue
        inside = [each for each in found if sentence.start() <= each.start and each.end <= sentence.end()]
        for name, alias, kind in _aliases_in(folded[: sentence.end()], sentence.start(), inside):
            first, last = min(name.start, alias.start), max(name.end, alias.end)
            one = Alias(text[name.start : name.end], text[alias.start : alias.end], text[first:last], kind)
            if fold_name(one.name) != fold_name(one.alias):
                out.setdefault((fold_name(one.name), fold_name(one.alias)), one)
    return list(out.values())


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int


_Found = tuple["_Span | EntityMention", "_Span | EntityMention", AliasKind]


def _aliases_in(text: str, start: int, mentions: Sequence[EntityMention]) -> Iterator[_Found]:
    named = [each for each in mentions if each.type in _NAMED]
    yield from _real_names(text, start, named)
    yield from _nicknames(text, start, mentions)
    yield from _brackets(text, named)
    yield from _roles(text, mentions)
    yield from _called(text, start, mentions)
    for hit in _OTHER_EN.finditer(text, start):
        yield _Span(*hit.span("name")), _Span(*hit.span("alias")), AliasKind.NAME


def _roles(text: str, mentions: Sequence[EntityMention]) -> Iterator[_Found]:
    """Yield 表弟覃小川, 总监叫盛怀瑾, 大伯在港口做领航员，叫戚伯豪, my cousin Tom."""
    for role in (each for each in mentions if each.type == EntityType.ROLE):
        if role.name.isascii():
            if hit := _ROLE_EN.match(text, role.end):
                yield _Span(*hit.span("name")), role, AliasKind.DESCRIPTION
            continue
        if not _is_the_users(text, role):
            continue
        if name := _named_after(text, role, mentions):
            yield name, role, AliasKind.DESCRIPTION


def _named_after(text: str, role: EntityMention, mentions: Sequence[EntityMention]) -> EntityMention | None:
    later = [each for each in mentions if each.start >= role.end and each.type in _NAMED]
    for name in later[:1]:
        between = _ROLE_LINK.fullmatch(text, role.end, name.start)
        if between is None:
            break
        if not between.group("link").strip():
            quoted = text[name.start - 1] in "「『“‘"
            fits = name.type == EntityType.PERSON or (name.type == EntityType.NAME and (quoted or name.name.isascii()))
            return name if fits and not text.startswith(("们", "家"), role.end) else None
        if _END.match(text, name.end):
            called = "叫" in between.group("link") or "名" in between.group("link")
            organisation = re.search("东家|客户|供应商", role.name)
            return name if called or name.type == EntityType.PERSON or organisation else None
    roles = [each for each in mentions if each.type == EntityType.ROLE]
    for name in later if len(roles) == 1 else ():
        later_on = _LATER.search(text, role.end, name.start)
        if later_on and later_on.end() == name.start and _END.match(text, name.end):
            return name
    return None


def _is_the_users(text: str, role: EntityMention) -> bool:
    """Return whether it is the user's own relation: 朋友的妈妈 is not; 儿子的班主任 is one whom the user deals with."""
    owner = _OWNER.search(text[max(0, role.start - _OWNER_WITHIN) : role.start])
    if owner is None:
        # 带着儿子, 失业家庭父亲: whose they are is not told
        return _KIN.fullmatch(role.name) is None or not known.modifier_before(text, role.start)
    if owner.group("other"):
        return False
    if _KIN.fullmatch(role.name):
        return False
    return re.fullmatch(_FAMILY, owner.group("role") or "") is not None


def _called(text: str, start: int, mentions: Sequence[EntityMention]) -> Iterator[_Found]:
    """Yield 面馆 of 我常去的那家面馆叫「半碗春」."""
    for hit in _CALLED.finditer(text, start):
        name = next((each for each in mentions if each.start == hit.end() and each.type in _NAMED), None)
        if name is None or not _END.match(text, name.end):
            continue
        noun_start, noun_end = hit.span("noun")
        noun = text[noun_start:noun_end]
        if before := _BEFORE_NOUN.match(noun):
            cut = noun[before.end() :]
            if measured := re.match("^(?:那|这|一)?[家个位条座间只所艘支](?!长)", cut):
                short = len(cut) == measured.end() + 1 and _MEASURED.search(cut)
                cut = cut if short else cut[measured.end() :]
            noun = cut
        inside = any(each.start < noun_end and each.end > noun_end - len(noun) for each in mentions)
        owned = before and _OWNER.search(text[noun_start : noun_start + before.end()])
        if not inside and not owned and _fits_as_noun(noun):
            yield name, _Span(noun_end - len(noun), noun_end), AliasKind.DESCRIPTION


def _fits_as_noun(noun: str) -> bool:
    return _SHORTEST <= len(noun) <= _LONGEST_NOUN and not _NOT_A_NOUN.search(noun) and not known.TIME.search(noun)


def _real_names(text: str, start: int, named: Sequence[EntityMention]) -> Iterator[_Found]:
    """Yield 铁蛋 of 发小「铁蛋」大名叫单雨泽."""
    for hit in _REAL_NAME.finditer(text, start):
        known_as = next((each for each in named if each.end == hit.start()), None)
        if known_as is None:
            continue
        name = _name_at(text, hit.end(), named)
        if name:
            yield name, known_as, AliasKind.NAME


def _nicknames(text: str, start: int, mentions: Sequence[EntityMention]) -> Iterator[_Found]:
    """Yield 质子 of 室友汪蓁蓁，绰号「质子」, and 女儿 of 我女儿小名叫豆豆."""
    for pattern, persons in ((_NICKNAME, True), (_OTHER_NAME, False)):
        for hit in pattern.finditer(text, start):
            alias = _name_at(text, hit.end(), mentions, quoted=hit.group()[-1:] in tuple('「『“‘"《'))
            before = [each for each in mentions if each.end <= hit.start()]
            owners = [each for each in before if each.type in _NAMED]
            if text[: hit.start()].endswith("的"):  # X的小名; what has more between is about something else
                owners = [each for each in owners if each.end == hit.start() - 1]
            elif persons:
                owners = [each for each in owners if each.type == EntityType.PERSON] or owners
            elif owners and hit.start() - owners[-1].end > _NEAR:
                continue  # 颐和园原是清朝的行宫, 又称…: what is meant may be something named between
            if alias is None:
                continue
            if owners:
                yield (owners[0] if persons else owners[-1]), alias, AliasKind.NAME
            elif before and before[-1].end == hit.start() and _is_the_users(text, before[-1]):
                yield alias, before[-1], AliasKind.DESCRIPTION  # without a name before it, only a role can stand here


def _name_at(
    text: str, position: int, mentions: Sequence[EntityMention], *, quoted: bool = False
) -> _Span | EntityMention | None:
    """Return the name that begins here: one that was found, or what stands alone up to the next mark."""
    for each in mentions:
        if each.start == position and (quoted or _END.match(text, each.end)):
            return each
    short = _SHORT.match(text, position)
    if short and _END.match(text, short.end()) and short.group()[0] not in "我你他她它的是在":
        return _Span(*short.span())
    return None


def _brackets(text: str, named: Sequence[EntityMention]) -> Iterator[_Found]:
    """Yield Y of X（Y）, where Y is marked as a name, is in Latin letters, or both are persons."""
    for each in named:
        hit = _IN_BRACKETS.match(text, each.end)
        if hit is None:
            continue
        alias = _Span(*hit.span("alias"))
        inside = next((other for other in named if (other.start, other.end) == (alias.start, alias.end)), None)
        latin = known.LATIN_NAME.fullmatch(hit.group("alias")) and not each.name.isascii()
        same = inside and inside.type == each.type == EntityType.PERSON
        if hit.group("mark") or latin or same:
            yield each, alias, AliasKind.NAME
        elif each.type == EntityType.PERSON and known.ROLE.fullmatch(hit.group("alias")):
            yield each, alias, AliasKind.DESCRIPTION
