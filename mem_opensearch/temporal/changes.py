"""Words by which a statement announces a change, a question asks about the past, and a text begins with its subject."""

from __future__ import annotations

import re

from mem_opensearch.text import fold

# What was done or became, and particles of a new state. General verbs of change; none belongs to one subject.
_CHANGE = re.compile(
    "不再|再也不|不用再|不必再|不能再"
    "|改(?:成|为|去|用|喝|吃|练|在|叫|到|做|由|坐|走|开|住|学|养|买|穿|了)|换(?:了|成|到|去|用|上|掉|工作|公司|号)|换[^，。,.]{0,6}了"
    "|搬(?:到|进|去|来|家|完|走|了|迁)|调(?:到|去|职|任|岗|药|薪|了|整)|转(?:到|成|为|去|学|职|行|正|岗|阴|阳|做|租|让)"
    "|从(?:今天|今|此|现在)起?|[年月日号天周期]起|往后|今后|以后(?:都|就|不|每|年年|常)|辞(?:职|呈|了|掉)|离职|入职|跳槽|升(?:职|为|任|到|了)"
    "|(?:刚|已经|正式)(?:毕业|退休)|(?:毕业|退休)了|分手|分开|离婚|结婚了|订婚|复合|在一起了|退(?:租|掉|学|出|伙|订)"
    "|卖(?:掉|给|了)|停(?:用|产|掉|药|业|办|刊)|注销|销户|取消|作废|到期|收尾|关(?:门|掉|闭)了|倒闭|批(?:准|下来)|恢复|康复"
    "|戒(?:了|掉|酒|烟|咖啡|糖)|断奶|出生|去世|过世|接手|接替|代替|取代|顶替|替换|置换|撤资|收回|提车|开始(?!学)|终于|已经|学会了"
    "|第一天|现在(?:只|改|是|换|在|用|喝|吃|住|叫|由|向|能|可以|坐|骑|开|走|养|做|当|练|学)|涨(?:到|价)|降(?:到|价)"
    r"|\b(?:no longer|not?\b[^.]{0,30}\bany ?more|moved|switched|changed|swapped|quit|resigned"
    r"|left(?! (?:my|his|her|our|an?) (?!job|company|position|wife|husband))|joined|broke up"
    r"|got (?:engaged|married|divorced|promoted|hired)|divorced|sold"
    r"|cancell?ed|replaced|instead|stopped|gave up|as of|from now on|promoted|retired"
    r"|graduated|started(?! learning| to learn)|used to|relocated|passed away|(?:got|have|has) a new|my new"
    r"|(?:raised|lowered|increased|reduced|went up|went down) to|now)\b",
    re.IGNORECASE,
)
_LONG_AGO = re.compile(
    "后来|当时|那时|那会儿|那年|小时候|年轻时|从前|[读上]大学时|大学[时的毕]|曾"
    r"|\b(?:back then|at the time|later on|in college|as a (?:child|kid)|once)\b",
    re.IGNORECASE,
)
_NEW_STATE = re.compile("了(?=[，。！；、,.!;\\s]|$)")
_PAST = re.compile(
    "以前|之前|原来|原先|过去|曾|最早|最初|当初|当年|去年|前年|从前|旧的|旧[址名版号]|上一|前任|小时候"
    r"|\b(?:used to|before|previous(?:ly)?|former(?:ly)?|original(?:ly)?|earlier|old|last year"
    r"|in the past|first|did|was|were)\b",
    re.IGNORECASE,
)

_RELATIONS = (
    "太太|妻子|老婆|爱人|wife",
    "丈夫|老公|husband",
    "女朋友|女友|girlfriend",
    "男朋友|男友|boyfriend",
    "儿子|son",
    "女儿|daughter",
    "孩子|宝宝|娃|baby|kid",
    "孙子|grandson",
    "孙女|granddaughter",
    "爸妈|父母|parents",
    "爸爸?|父亲|dad|father",
    "妈妈?|母亲|mom|mum|mother",
    "爷爷|外公|姥爷|grandpa|grandfather",
    "奶奶|阿嬷|阿妈|外婆|姥姥|grandma|grandmother",
    "[大二表堂哥]哥|[小表堂弟]弟|brother",
    "[大二表堂姐]姐|[小表堂妹]妹|sister",
    "[大二叔]叔|[大二]?伯[父伯]?|[大二]?舅[舅父妈]|[大二小]姨|姑[姑妈]|uncle|aunt|cousin",
    "同事|colleague|coworker",
    "朋友|闺蜜|friend",
    "邻居|neighbou?r",
    "老板|上司|主管|领导|boss",
    "客户|client",
    "房东|landlord",
    "室友|roommate",
    "同学|classmate",
    "老师|教练|teacher|coach",
    "医生|大夫|doctor",
)
_SUBJECT = re.compile(
    rf"^(?:my |our |the )?.{{0,4}}?(?:{'|'.join(f'(?P<r{number}>{words})' for number, words in enumerate(_RELATIONS))})"
    # who does something for the speaker is not whom it is about
    "(?!给|帮|让|叫我|建议|送|说|要我"
    r"|\s(?:changed|told|said|says|prescribed|advised|suggested|recommended|gave|switched|wants)\b)",
    re.IGNORECASE,
)

SPEAKER = "speaker"
"""What `subject_of` returns for the one who speaks."""
_SON, _DAUGHTER, _CHILD = (
    f"r{_RELATIONS.index(words)}" for words in ("儿子|son", "女儿|daughter", "孩子|宝宝|娃|baby|kid")
)
_CHILDREN = ({_SON, _CHILD}, {_DAUGHTER, _CHILD})
_SPEAKER = re.compile(r"我|I\b|I'm\b|My\b")


def change_cue(text: str) -> str | None:
    """Return the word that announces a change; None where there is none.

    >>> change_cue("東西都搬完了，新房子在金雞湖邊"), change_cue("I no longer eat meat"), change_cue("我住在杭州")
    ('搬完', 'no longer', None)
    """
    found = _CHANGE.search(fold(text))
    return found[0] if found else None


def tells_of_long_ago(text: str) -> bool:
    """Whether a statement is a story of the past, whose changes are old.

    >>> tells_of_long_ago("我大學時搬到台中"), tells_of_long_ago("我搬到台中了")
    (True, False)
    """
    return _LONG_AGO.search(fold(text)) is not None


def is_new_state(text: str) -> bool:
    """Whether 了 ends a clause, which in Chinese marks a state that is new.

    >>> is_new_state("象棋攤不去了。"), is_new_state("我吃了飯去公司")
    (True, False)
    """
    return _NEW_STATE.search(fold(text)) is not None


def before_the_change(text: str) -> str:
    """Return the folded text up to the word that announces the change, which names what changed; all if none does."""
    folded = fold(text)
    found = _CHANGE.search(folded)
    return folded[: found.start()] if found else folded


def asks_about_the_past(question: str) -> bool:
    """Whether a question wants what was, so that nothing newer should push it aside.

    >>> asks_about_the_past("我以前住在哪裡？"), asks_about_the_past("我住在哪裡？")
    (True, False)
    """
    return _PAST.search(fold(question)) is not None


def may_be_the_same(one: str | None, other: str | None) -> bool:
    """Whether two subjects may be one person: equal, or a child and a son or daughter.

    >>> may_be_the_same(subject_of("孩子在讀小學"), subject_of("女兒考上初中了"))
    True
    """
    return one == other or {one, other} in _CHILDREN


def subject_of(text: str) -> str | None:
    """Return whom a statement begins with: a kind of relation, "speaker", or None for nobody in particular.

    >>> subject_of("我太太在吉隆坡") == subject_of("妻子調職了"), subject_of("我住在台北"), subject_of("醫生讓我戒咖啡")
    (True, 'speaker', None)
    """
    folded = fold(text)
    if found := _SUBJECT.match(folded):
        return found.lastgroup
    return SPEAKER if _SPEAKER.match(folded) else None
