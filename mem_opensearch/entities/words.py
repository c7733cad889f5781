"""What names are made of, and what stands around them: surnames, titles, endings; folded, and of closed classes."""

from __future__ import annotations

import re


def listed(*lines: str) -> tuple[str, ...]:
    """Return the words of some lines."""
    return tuple(" ".join(lines).split())


SURNAMES = frozenset(
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜戚谢邹喻柏水窦章云苏潘葛奚范彭郎鲁韦昌马苗凤花方"
    "俞任袁柳酆鲍史唐费廉岑薛雷贺倪汤滕殷罗毕郝邬安常乐于时傅皮卞齐康伍余元卜顾孟平黄和穆萧尹姚邵湛汪祁毛禹狄米贝明臧"
    "计伏成戴谈宋茅庞熊纪舒屈项祝董梁杜阮蓝闵席季麻强贾路娄危江童颜郭梅盛林刁钟徐邱骆高夏蔡田樊胡凌霍虞万支柯昝管卢莫"
    "经房裘缪干解应宗丁宣贲邓郁单杭洪包诸左石崔吉钮龚程嵇邢滑裴陆荣翁荀羊惠甄曲家封芮羿储靳汲邴糜松井段富巫乌焦巴弓牧"
    "隗山谷车侯宓蓬全郗班仰秋仲伊宫宁仇栾暴甘厉戎祖武符刘景詹束龙叶幸司韶郜黎蓟薄印宿白怀蒲邰从鄂索咸籍赖卓蔺屠蒙池乔"
    "阴胥能苍双闻莘党翟谭贡劳逄姬申扶堵冉宰郦雍璩桑桂濮牛寿通边扈燕冀郏浦尚农温别庄晏柴瞿阎充慕连茹习宦艾鱼容向古易慎"
    "戈廖庾终暨居衡步都耿满弘匡国文寇广禄阙东欧殳沃利蔚越夔隆师巩厍聂晁勾敖融冷訾辛阚那简饶空曾毋沙乜养鞠须丰巢关蒯相"
    "查后荆红游竺权逯盖益桓公覃尧佟肖涂闫麦岳池苟佘佴伯赏墨鹿"
)
DOUBLE_SURNAMES = listed(
    "万俟 司马 上官 欧阳 夏侯 诸葛 闻人 东方 赫连 皇甫 尉迟 公羊 澹台 公冶 宗政 濮阳 淳于 单于 太叔",
    "申屠 公孙 仲孙 轩辕 令狐 钟离 宇文 长孙 慕容 鲜于 闾丘 司徒 司空 亓官 司寇 呼延 端木 南宫 羊舌",
    "段干 百里 东郭 南门 西门 独孤 贺兰 拓跋",
)
KIN = frozenset(
    listed(
        "爸爸 妈妈 父亲 母亲 老爸 老妈 爷爷 奶奶 外公 外婆 姥姥 姥爷 阿公 阿嬷 哥哥 姐姐 姊姊 弟弟 妹妹",
        "大哥 二哥 大姐 二姐 大弟 小弟 小妹 堂哥 堂弟 堂姐 堂妹 表哥 表弟 表姐 表姊 表妹 伯父 伯母 大伯",
        "叔叔 婶婶 姑姑 姑妈 姑父 姑丈 姑姐 大姑姐 小姑子 舅舅 舅妈 舅父 姨妈 姨丈 阿姨 老公 老婆 先生",
        "太太 丈夫 妻子 女友 男友 女朋友 男朋友 未婚夫 未婚妻 前夫 前妻 岳父 岳母 老丈人 丈母娘 公公 婆婆",
        "女婿 儿媳 儿子 女儿 大儿子 小儿子 大女儿 小女儿 二女儿 侄子 侄女 外甥 外甥女 孙子 孙女 干妈 干爸",
        "干儿子 干女儿 嫂子 弟媳 姐夫 妹夫",
    )
)
OFFICES = listed(
    "总监 经理 主管 主任 主席 主委 老板 老板娘 店主 店长 老师 班主任 导师 教授 指导教授 教练 校长",
    "院长 医生 大夫 牙医 护士 律师 法务 会计 秘书 助理 助教 前台 同事 前同事 领导 上司 老总 董事长",
    "总裁 组长 班长 队长 社长 排长 连长 里长伯 里长 村长 房东 房客 租客 室友 邻居 同学 老同学 同桌",
    "闺蜜 发小 好友 朋友 合伙人 客户 大客户 供应商 中介 管家 保姆 月嫂 师傅 老师傅 徒弟 主厨 副厨",
    "向导 导游 外教 家教 咨询师 心理咨询师 主唱 司机 保安 保洁 前东家 东家 学长 学姐 学弟 学妹",
)
ROLE = re.compile("|".join(sorted({*KIN, *OFFICES}, key=len, reverse=True)))
"""Who somebody is to the user: kinship and office."""

ROLE_BEFORE = re.compile(f"(?:{ROLE.pattern})(?:是|叫|名叫)?$")
"""A role that a name stands behind."""

INTRODUCED = re.compile(
    f"(?:{ROLE.pattern})(?:名叫|叫|就是|是)(?P<name>[\u4e00-\u9fff]{{2,4}})(?=[，。；！、,.;!（(]|$)"
)
"""A role, and who it is: a name if it begins with a surname."""

TITLES = listed(
    "先生 女士 小姐 太太 老师 教授 博士 医生 大夫 律师 经理 总监 主任 总裁 总经理 董事长 院长 校长",
    "教练 师傅 阿姨 叔叔 伯伯 同学 总统 总理 主席 部长 省长 市长 县长 将军 上校 中校 少校 皇帝 天皇",
    "国王 女王 王后 公主 王子 伯爵 公爵 贝勒 主教 神父",
)
TITLE_END = re.compile(f"(?:{'|'.join(TITLES)})$")

_LATIN_LETTER = "[A-Za-z0-9_\u00c0-\u024f'’&-]"
_LATIN_WORD = rf"(?:[A-Z]\.(?=[ A-Z])|[A-Z\u00c0-\u00de]{_LATIN_LETTER}*)"
LATIN_NAME = re.compile(
    rf"(?<!{_LATIN_LETTER}){_LATIN_WORD}(?:[ ](?:(?:al|el|de|del|von|van|der|la|le|of|bin|ibn)[ -])?{_LATIN_WORD})*"
    "(?<!['’-])"
)
"""A run of capitalised words: The National Museum, Gamal al-Banna, IAU."""

PLACE_END = re.compile(
    "(?:特别行政区|自治区|自治州|自治县|省|市|县|区|州|郡|镇|乡|村|邨|屯|岛|群岛|半岛|屿|山|山脉|峰|岭|高地|高原|盆地|平原|沙漠|"
    "河|江|湖|海|洋|海峡|湾|溪|川|泉|温泉|港|军港|码头|机场|车站|站|总站|火车站|地铁站|大道|公路|高速|铁路|街|路|巷|胡同|道|桥|"
    "广场|公园|小区|校区|城|堡|门|宫|殿|寺|庙|塔|教堂|遗址|旧居|故居|陵|博物馆|美术馆|体育馆|体育场|图书馆|大厦|大楼|中心|饭店|"
    "酒店|戏院|剧院|教区|国)$"
)
"""What the name of a place may end in."""
FIRM_PLACE_END = re.compile("(?:特别行政区|自治[区州县]|[省市县区州郡镇乡村邨岛屿]|高地)$")
"""Endings that no name of a person has."""
NATURE_END = re.compile("[山峰岭河江湖海洋湾溪川港城堡路街]$")
"""Endings of places that a given name may have too: 孙中山, 李大海."""

LONG_PLACE_END = re.compile(
    "(?:机场|车站|总站|大道|公路|高速|铁路|广场|公园|小区|校区|教堂|遗址|旧居|故居|博物馆|美术馆|体育馆|体育场|图书馆|大厦|大楼|"
    "饭店|酒店|戏院|剧院)$"
)
"""Endings that tell a place though other nouns stand between them and the place's first word."""
FACILITY_END = re.compile("(?:博物馆|美术馆|体育馆|体育场|图书馆|大厦|大楼|饭店|酒店|戏院|剧院|机场|车站|遗址|校区)$")
"""Endings of places that taggers take for organisations."""

ORGANISATION_END = re.compile(
    "(?:大学|学院|学校|中学|小学|学堂|幼儿园|公司|集团|银行|企业|工厂|出版社|杂志社|报社|电视台|电台|通讯社|委员会|协会|学会|商会|"
    "公会|工会|总会|联合会|基金会|理事会|议会|众议院|参议院|国会|法院|审判厅|检察院|政府|党|部队|红军|联军|军团|军队|"
    "舰队|警察局|办事处|研究所|研究院|研究中心|实验室|医院|诊所|事务所|俱乐部|足球队|篮球队|国家队|代表队|乐团|管乐团|合唱团|剧团|"
    "航空|保险|证券|汽车|软件|科技|铁路局|分局|管理局|民航局|教育局|公安局|总局|组织)$"
)
"""What the name of an organisation may end in."""

ARMY = re.compile(
    "[美英法德日俄苏中韩清明宋元辽金魏蜀吴汉唐秦晋楚齐赵燕越国红盟联伪敌]军(?![事官人区校阀舰港师长车团刀种])"
)
"""The army of a state, by the state's one-character name."""

NOT_PLACE_AFTER = re.compile(
    "人(?![口民工类事士文家力才马员])|[籍裔族]|语(?!言中心)|话(?!题)|文(?![化学明物件])|式(?!微)|菜|料理"
)
"""After the name of a place: who comes from there, or a language. Then no place is meant."""
NOT_PERSON_AFTER = re.compile("人(?![口民工类事士])|[语族科属目种号桐犬]")
"""After a word that a tagger takes for a person: a people, a language, a taxon, a ship."""
PLACE_BEFORE = re.compile(
    "(?:位于|坐落于|地处|生于|出生于|逝于|前往|来自|飞往|抵达|到达|途经|迁至|迁往|攻占|攻陷|占领|收复|城市|首都)$"
)
"""Before the name of a place."""
PLACE_AFTER = re.compile("失守|气候|属.{0,4}气候|地处|位于|地区|境内|市区|郊外|以[东南西北]")

DIRECTION_END = re.compile("(?:[东南西北中]部|[东西][南北]部|地区|一带|境内|市区|时期|部[分份]|[东南西北]缘)$")
"""What is no part of a place's name at its end."""
PERSON_TAIL = re.compile("(?:先后|[亦曾之余则乃所])$")
"""Particles and adverbs that taggers leave at a person's name."""

TIME = re.compile(
    "今天|明天|昨天|前天|后天|今年|明年|去年|前年|现在|目前|最近|上周|下周|这周|本周|上个月|下个月|这个月|周末|星期.|周[一二三四五六日天]|"
    "早上|上午|中午|下午|晚上|凌晨|夜里|以前|之前|以后|之后"
)
"""Time words, which are no names however a tagger labels them."""


def is_surname(text: str) -> bool:
    """Return whether a folded text begins with a Chinese surname.

    >>> is_surname("诸葛柯"), is_surname("的士")
    (True, False)
    """
    return text[:1] in SURNAMES or text.startswith(DOUBLE_SURNAMES)


_MODIFIER = re.compile("[\u4e00-\u9fff]{1,4}$")
_NO_MODIFIER = re.compile(
    "[的我你他她它们是让和跟与给被把说在那这位个名叫找问请向对约见由有了去来到从为也都就还不没和及、]"
)


def modifier_before(text: str, position: int) -> str:
    """Return what a role is narrowed by, at most four characters: 插花 of 插花老师; empty where nothing is.

    >>> modifier_before("周三插花老师请假", 4), modifier_before("我的老师", 2)
    ('插花', '')
    """
    run = _MODIFIER.search(text[max(0, position - 4) : position])
    if not run:
        return ""
    left = run.group()
    for stop in _NO_MODIFIER.finditer(left):
        left = run.group()[stop.end() :]
    for time in TIME.finditer(left):
        left = left[time.end() :]
    return left if not ROLE.search(left) else ""
