"""The ten questions of the demo, each with the memory that answers it.

How they were chosen: by a rule that uses no result of this package or of mem0's provider. Ten kinds of question were
fixed first. Seven kinds occur in the three data sets, and the question is the first of its kind in the order of the
files; for three of these (`hard`), the first whose answer is *not* among the three memories that meaning alone ranks
highest (the exact cosine, which needs no server). Two change the script of a whole sentence: they take the first
question whose name is written in another script, and the first of a traditional writer about a person. The everyday one
is our own, about an early memory of the first user. So both systems find some, both miss some, and mem0's provider may
win one. `tests/demo/test_questions.py` checks the rule where it can be computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Question:
    """A question to one user's memories.

    Attributes:
        kind: what makes it a question of its own, as a short title.
        query: the question as it is asked.
        user_id: whose memories are searched.
        relevant: id of the one memory that answers it.
        why: what it tests, in one line.
        source: id of the query in the data sets that it is, or that it rewrites; None when it is our own.
        hard: whether it was chosen because meaning alone does not find it.
    """

    kind: str
    query: str
    user_id: str
    relevant: str
    why: str
    source: str | None = None
    hard: bool = False


QUESTIONS: Final[tuple[Question, ...]] = (
    Question(
        kind="a model number, exact",
        query="PX-441 的滤芯多久换一次？",
        user_id="k01",
        relevant="kw-k01-m37",
        why="ten other memories differ from the right one only in a digit or a letter of the model",
        source="kw-k01-q0",
    ),
    Question(
        kind="a number without its hyphen",
        query="T10482PG 工单的结论是什么？",
        user_id="k07",
        relevant="kw-k07-m07",
        why="the memory writes T10482-PG",
        source="kw-k07-q0",
        hard=True,
    ),
    Question(
        kind="a full-width number",
        query="ＶＩＰ００７３１ 还有多少余额？",
        user_id="k09",
        relevant="kw-k09-m47",
        why="the memory writes VIP00731 in plain letters",
        source="kw-k09-q3",
        hard=True,
    ),
    Question(
        kind="a rare personal name",
        query="阚蔚然老师负责哪个学院的答辩？",
        user_id="k01",
        relevant="kw-k01-m00",
        why="the other names sound or look alike: 阚尉然, 阚未然, 阚蔚燃",
        source="kw-k01-q4",
    ),
    Question(
        kind="traditional question, simplified memory",
        query="逄若虛醫生週幾出門診？",
        user_id="k07",
        relevant="kw-k07-m06",
        why="the memory is written in simplified characters throughout",
        source="kw-k07-q4",
    ),
    Question(
        kind="simplified question, traditional memory",
        query="郏小棠教练教什么？",
        user_id="k04",
        relevant="kw-k04-m50",
        why="the memory writes 郟, beside look-alikes such as 頰小棠 and 夾小棠",
        source="kw-k04-q4",
    ),
    Question(
        kind="an order number",
        query="DD20240719003 这个订单寄到哪里？",
        user_id="k01",
        relevant="kw-k01-m02",
        why="thirteen characters that must all be right, in ten look-alikes",
        source="kw-k01-q1",
        hard=True,
    ),
    Question(
        kind="an old fact and a new one",
        query="我现在住在哪个城市？",
        user_id="t01",
        relevant="tmp-t01-m036",
        why="the old home is worded like the question, the new one is not",
        source="tmp-t01-q0",
    ),
    Question(
        kind="somebody the answer does not name",
        query="裴若谷建议我什么时候拔智齿？",
        user_id="e01",
        relevant="ent-e01-m18",
        why="the answer says only 她; another memory says who 裴若谷 is",
        source="ent-e01-q0",
    ),
    Question(
        kind="everyday words",
        query="我喜欢《三体》里的哪个人物？",
        user_id="t01",
        relevant="tmp-t01-m001",
        why="no trick: whoever searches by meaning should find it",
    ),
)
