"""Which question about a person a statement answers, told by its words: residence, work, drink and so on.

The slots are those of which one value holds at a time and which change in a life. Their words are everyday vocabulary,
in simplified characters as the fold leaves them, and in English. A statement may fill several slots, or none: slots are
evidence beside other evidence, never a proof.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, get_args

from mem_opensearch.text import fold

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

Slot = Literal[
    "residence",
    "work",
    "manager",
    "project",
    "business",
    "phone",
    "device",
    "account",
    "price",
    "password",
    "drink",
    "diet",
    "health",
    "exercise",
    "transport",
    "pet",
    "relationship",
    "birth",
    "childcare",
    "school",
    "legal_status",
    "language",
    "schedule",
    "season",
    "habit",
    "looks",
]
SLOTS: tuple[Slot, ...] = get_args(Slot)

_CHINESE: Mapping[Slot, str] = {
    "residence": "住|搬|租|公寓|宿舍|新家|新房|新居|房子|房间|定居|落户|买房|乔迁|老家|小区|家在|地址",
    "work": (
        "公司|上班|入职|离职|辞职|辞呈|跳槽|任职|就职|单位|事务所|自由职业|自由接案|创业|工作|失业|裁员|退休"
        "|产假|复职|开店|当老板"
        "|岗位|职位|职务|职称|升职|晋升|调岗|调去|调到|调职|转岗|转行|担任|部门|实习|编制"
        "|当[^，。]{0,6}[师员长医生工]"
    ),
    "manager": "上司|主管|领导|汇报|直属|组长|店长|班主任|导师",
    "project": "项目|专案|代号|接手|立项|课题|论文题目",
    "business": "合伙|股份|撤资|搭档|供应商|供货|客户|外包|客服|代理|厂家|工厂|主打|门店|店面|仓库",
    "phone": "手机号|门号|号码|尾数|尾号|分机|联系电话|联系方式|邮箱|微信号",
    "device": "手机|安卓|iphone|ipad|电脑|平板|相机|智能机|耳机|键盘|打印机|笔记本|电视|手表|冰箱|空调",
    "account": "账户|账号|银行|开户|销户|信用卡|会员|套餐|保险|基金|股票",
    "price": "价格|涨价|降价|月薪|工资|薪水|房租|租金|学费|[0-9一二三四五六七八九十百千万两]+[块元]",
    "password": "密码|口令|门禁|验证码|wifi|wi-fi",
    "drink": "喝|[一两几每]杯|咖啡|美式|拿铁|茶|酒|饮料|果汁|汽水|豆浆|牛奶|奶粉|母乳|断奶",
    "diet": (
        "吃|饭|[早午晚聚用素]餐|菜|素|荤|辣|海鲜|火锅|忌口|口味|甜食|零食|早点|夜宵|牛肉|猪肉|鸡蛋|减肥|节食|辅食|过敏|不耐受|脱敏"
    ),
    "health": (
        "药|[0-9一两半]片|服用|剂量|胰岛素|处方|复查|疗程|治疗|手术|血压|血糖|体检|症状|医嘱|大夫"
        "|牙医|家庭医生|主治医生"
    ),
    "exercise": (
        "运动|锻炼|健身|跑步|游泳|瑜伽|普拉提|[篮足排网羽台棒]?球|爬山|登山|骑行|拳|跳舞|太极|下棋|象棋|围棋|钓鱼"
    ),
    "transport": (
        "通勤|上下班|怎么去|出行|交通|地铁|公交|捷运|轻轨|高铁|电动车|自行车|单车|机车|摩托|骑车|开车|步行|班车|打车|汽车"
        "|轿车|提车|买车|换车|旧车|新车|我的车|辆[^，。]{0,8}车|驾照"
    ),
    "pet": "宠物|猫|狗|犬|仓鼠|兔子|鹦鹉|乌龟|领养|养了",
    "relationship": (
        "女朋友|男朋友|女友|男友|对象|单身|恋爱|分手|分开|复合|在一起|求婚|订婚|结婚|离婚|前任|未婚|婚姻|感情"
    ),
    "birth": "怀孕|预产期|出生|生了|生下|二胎|取名|起名",
    "childcare": "保姆|阿姨|育儿嫂|月嫂|带孩子|带娃|住家|托班|托管",
    "school": "幼儿园|小学|初中|中学|高中|读大学|上大学|年级|上学|念书|读书|转学|考上|研究生|读研|读博|专业|学院",
    "legal_status": "签证|永久居民|绿卡|居留|国籍|入籍|身份|护照|户口|居住证",
    "language": "语言|英语|英文|日语|日文|韩语|法语|法文|德语|德文|西语|西班牙语|粤语|普通话|外语|方言",
    "schedule": (
        "每天|每日|每周|每月|每年|周[一二三四五六日末]|星期[一二三四五六日天]|礼拜[一二三四五六日天]|固定|例会"
        "|[零一二两三四五六七八九十0-9]点"
    ),
    "season": "冬天|夏天|春天|秋天|冬季|夏季|过冬|避寒|避暑|过年|暑假|寒假|过节|度假",
    "habit": "抽烟|戒烟|烟|熬夜|早睡|早起|睡觉|几点睡|起床|午睡",
    "looks": "头发|发型|染发|剪发|眼镜|近视|体重|身高|公斤",
}
_ENGLISH: Mapping[Slot, str] = {
    "residence": r"lives?|living|moved?|moving|rent(?:s|ed|ing)?|apartment|flat|house|settled|relocat\w+|address",
    "work": (
        r"work(?:s|ing|ed)?|job|company|employer|employed|quit|resign\w*|joined|hired|laid off|retired?"
        r"|freelanc\w+|startup"
        r"|position|role|title|promot\w+|engineer|designer|teacher|director|nurse|lawyer|editor|accountant|intern\w*"
    ),
    "manager": r"boss|manager|supervisor|team lead|reports? to|reporting to",
    "project": r"projects?|codenamed?|thesis|initiative",
    "business": (
        r"business partner|co-?founder|shares|supplier|clients?|customers?|contractor|agency|factory|warehouse"
    ),
    "phone": r"(?:phone|mobile|cell) number|extension|e-?mail address|handle",
    "device": r"phone|laptop|computer|tablet|camera|headphones|keyboard|printer|tv|watch",
    "account": r"accounts?|bank|credit card|membership|subscription|insurance",
    "price": r"price|costs?|salary|rent|fee|tuition|[$€£][0-9]+",
    "password": r"passwords?|passcode|pin|wi-?fi",
    "drink": r"drinks?|drinking|coffee|tea|beer|wine|juice|milk|soda",
    "diet": (
        r"eats?|eating|food|diet|vegetarian|vegan|meat|spicy|seafood|breakfast|lunch|dinner|allerg\w+"
        r"|intoleran\w+"
    ),
    "health": (
        r"medicine|medication|pills?|tablets?|doses?|prescri\w+|treatment|surgery|blood pressure"
        r"|diagnos\w+|doctor|dentist"
    ),
    "exercise": r"exercise|gym|run(?:s|ning)?|swim\w*|yoga|pilates|tennis|football|basketball|hik\w+|danc\w+|chess",
    "transport": r"commut\w+|subway|metro|bus|train|bikes?|cycl\w+|driv\w+|cars?|truck|motorcycle|scooter|vehicle",
    "pet": r"pets?|cats?|dogs?|puppy|kitten|rabbit|hamster|parrot",
    "relationship": (
        r"girlfriend|boyfriend|partner|single|dating|broke up|engaged|married|divorced|fianc\w+|wife|husband"
    ),
    "birth": r"pregnan\w+|due date|born|gave birth|newborn",
    "childcare": r"nanny|babysitter|daycare|au pair",
    "school": r"school|grade|kindergarten|college|university|graduat\w+|major",
    "legal_status": r"visa|permanent resident|green card|citizen\w*|passport|residency",
    "language": r"language|english|french|german|spanish|japanese|korean|chinese|mandarin",
    "schedule": r"(?:every|each) (?:\w+ )?(?:day|week|month|morning|evening|\w+day)|weekly|daily|weekends?|schedule",
    "season": r"winters?|summers?|holidays?|vacation",
    "habit": r"smok\w+|sleeps?|wakes? up|bedtime",
    "looks": r"hair|glasses|weight|kilos?|pounds",
}
EXCLUSIVE_SLOTS: frozenset[Slot] = frozenset(
    {"residence", "work", "manager", "phone", "password", "price", "legal_status", "relationship", "childcare"}
)
"""Slots of which a person has one value at a time as a rule: who likes pears may like peaches too."""

LOOSE_SLOTS: frozenset[Slot] = frozenset({"schedule", "price"})
"""Slots that many things have: the canteen and the phone contract both have a price, so one alone is no evidence."""

# Two patterns for each slot, in small letters: one that has to ask for the ends of words is many times slower.
_CHINESE_PATTERNS = {slot: re.compile(words) for slot, words in _CHINESE.items()}
_ENGLISH_PATTERNS = {slot: re.compile(rf"\b(?:{words})\b") for slot, words in _ENGLISH.items()}
_MAY_BE_ENGLISH = re.compile(r"[a-z$€£]")


@lru_cache(maxsize=4096)
def slots_of(text: str) -> frozenset[Slot]:
    """Return the slots whose words a statement or a question holds.

    >>> sorted(slots_of("我住在臺北市大安區")), sorted(slots_of("I moved to Berlin")), sorted(slots_of("天空很藍"))
    (['residence'], ['residence'], [])
    """
    return frozenset(_filled(text, SLOTS))


def fills(text: str, slots: Collection[Slot]) -> bool:
    """Whether a statement fills one of these slots; of many statements, that is less work than all of their slots.

    >>> fills("我住在臺北市大安區", {"residence", "work"}), fills("天空很藍", {"residence"}), fills("我搬家了", ())
    (True, False, False)
    """
    return bool(slots) and any(True for _ in _filled(text, slots))


def _filled(text: str, slots: Collection[Slot]) -> Iterator[Slot]:
    folded = fold(text).lower()
    may_be_english = _MAY_BE_ENGLISH.search(folded) is not None
    for slot in slots:
        if _CHINESE_PATTERNS[slot].search(folded) or (may_be_english and _ENGLISH_PATTERNS[slot].search(folded)):
            yield slot
