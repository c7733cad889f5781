"""What a filter means, in plain Python: docs/filters.md as code, written without a look at the compiler."""

import operator
import re
from datetime import date, datetime, timedelta

SCOPE = ("user_id", "agent_id", "run_id", "actor_id", "role")
JOIN = {"AND": all, "$and": all, "OR": any, "$or": any}
ORDER = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}
ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)([T ]([01]\d|2[0-3]):(\d\d)(:(\d\d)([.,](\d+))?)?(Z|[+-]([01]\d|2[0-3]):?([0-5]\d))?)?", re.ASCII
)


def matches(filters, payload):
    return all(holds(key, condition, payload) for key, condition in filters.items())


def holds(key, condition, payload):
    if key in JOIN:
        return JOIN[key](matches(each, payload) for each in condition)
    if key in ("NOT", "$not"):
        return not any(matches(each, payload) for each in ([condition] if isinstance(condition, dict) else condition))
    if isinstance(condition, str) and condition == "*":
        return any(name == key or name.startswith(f"{key}.") for name, _ in items_of(payload))
    given = condition if isinstance(condition, dict) else {"eq": condition}
    pairs = [(name.removeprefix("$"), operand) for name, operand in given.items()]
    read = text_of if key in SCOPE else value_of
    items = [read(item) for name, item in items_of(payload) if name == key]
    bounds = [(ORDER[name], value_of(operand)) for name, operand in pairs if name in ORDER]
    inside = not bounds or any(all(compare(order, item, bound) for order, bound in bounds) for item in items)
    return inside and all(test(name, operand, items, read) for name, operand in pairs if name not in ORDER)


def test(name, operand, items, read):
    if name in ("contains", "icontains") and isinstance(operand, str):
        fold = lower if name == "icontains" else str
        return any(fold(operand) in fold(item["text"]) for item in items if "text" in item)
    wanted = [read(each) for each in (operand if name in ("in", "nin") else [operand])]
    return any(compare(operator.eq, item, each) for item in items for each in wanted) != (name in ("ne", "nin"))


def compare(order, item, other):  # by the first of the kinds that the filter's value has; only like is compared
    kind = next(kind for kind in ("bool", "number", "date", "text") if kind in other)
    return kind in item and order(item[kind], other[kind])


def items_of(value, name=None):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from items_of(inner, key if name is None else f"{name}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from items_of(inner, name)
    elif value is not None:
        yield name, value


def value_of(value):
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int | float):  # a whole number of 64 bits is exact, any other number is a double
        return {"number": int(value) if -(2**63) <= value < 2**63 and int(value) == value else float(value)}
    moment = moment_of(value.isoformat() if isinstance(value, date) else value)
    return text_of(value) | ({} if moment is None else {"date": moment})


def text_of(value):
    return {"text": value} if isinstance(value, str) and len(value.encode("utf-16-le")) <= 16_000 else {}


def lower(text):
    return "".join(character.lower() if len(character.lower()) == 1 else character for character in text)


def moment_of(text):  # to the millisecond, in UTC
    if not (found := ISO.fullmatch(text)):
        return None
    day, _, hour, minute, _, second, _, fraction, zone, away_hours, away_minutes = found.groups(default="0")
    away = timedelta(hours=int(away_hours), minutes=int(away_minutes)) * (-1 if zone[0] == "-" else 1)
    try:
        return datetime.fromisoformat(f"{day}T{hour:0>2}:{minute:0>2}:{second:0>2}.{fraction[:3]:0<3}") - away
    except (ValueError, OverflowError):
        return None
