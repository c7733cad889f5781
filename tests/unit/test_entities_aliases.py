"""Other names that a text gives; and what looks like one and is none."""

from __future__ import annotations

import pytest

from mem_opensearch.entities import AliasKind, aliases_of

NAME, DESCRIPTION = AliasKind.NAME, AliasKind.DESCRIPTION


def pairs(text):
    return {(each.name, each.alias, each.kind) for each in aliases_of(text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("表弟覃小川今年考上了大学。", {("覃小川", "表弟", DESCRIPTION)}),
        ("新来的总监叫盛怀瑾，之前做风控。", {("盛怀瑾", "总监", DESCRIPTION)}),
        ("新來的總監叫盛懷瑾，之前做風控。", {("盛懷瑾", "總監", DESCRIPTION)}),
        ("我儿子的班主任是尧玉茹，教语文。", {("尧玉茹", "班主任", DESCRIPTION)}),
        ("我大伯在港口做領航員，叫戚伯豪。", {("戚伯豪", "大伯", DESCRIPTION)}),
        ("女儿的外教叫 Leonor，葡萄牙人。", {("Leonor", "外教", DESCRIPTION)}),
        ("我常去的那家面馆叫“半碗春”，老板很和气。", {("半碗春", "面馆", DESCRIPTION)}),
        ("我們去的那座山叫「閉月山」，沒有訊號。", {("閉月山", "那座山", DESCRIPTION)}),
        ("发小“铁蛋”大名叫单雨泽，现在跑货运。",
         {("单雨泽", "铁蛋", NAME), ("铁蛋", "发小", DESCRIPTION)}),
        ("汪蓁蓁是物理系的，綽號「質子」。", {("汪蓁蓁", "質子", NAME)}),
        ("我女儿小名叫豆豆。", {("豆豆", "女儿", DESCRIPTION)}),
        ("国际能源署（IEA）发了报告。", {("国际能源署", "IEA", NAME)}),
        ("王小明（外号小胖）来了。", {("王小明", "小胖", NAME)}),
        ("王小明的外号是小胖。", {("王小明", "小胖", NAME)}),
        ("鲁小迅（周小树）来了。", {("鲁小迅", "周小树", NAME)}),
        ("My cousin Tom moved to Berlin.", {("Tom", "cousin", DESCRIPTION)}),
        ("My landlord is called Mr Brown", {("Mr Brown", "landlord", DESCRIPTION)}),
        ("My boss, Sarah, is away.", {("Sarah", "boss", DESCRIPTION)}),
        ("Thomas Lee (alias Tom) called.", {("Thomas Lee", "Tom", NAME)}),
    ],
)  # fmt: skip
def test_found(text, expected):
    assert pairs(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "妈妈叫王小明吃饭。",  # called him, not called so
        "排长叫我去搬床架。",
        "朋友的妈妈张丽来了。",  # not the user's mother
        "他弟弟叫王小明。",
        "先生的公司叫「耕石科技」。",  # not the user's company
        "班主任是尧玉茹吗？",
        "老板是兰州人。",
        "王小明（北京）来了。",
        "上海（中国）很大。",
        "我在看一部电影叫《围城》。",
        "同学们王小明都认识。",
        "学校1952年更名为北京林业大学。",
        "周小明执导的电影的中文名：大海。",
        "五月天（中国台湾摇滚乐团）来了。",
        "教练说儿子下个月可以考绿带。",
        "",
    ],
)
def test_no_alias(text):
    assert pairs(text) == set()


def test_the_evidence_is_a_piece_of_the_text():
    (alias,) = aliases_of("昨天，新來的總監叫盛懷瑾，之前做風控。")
    assert alias.evidence == "總監叫盛懷瑾"
