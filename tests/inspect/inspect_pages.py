"""Read what the page answers, as a browser does."""

from __future__ import annotations

import re

import html5lib

TOKEN = "a-token-of-this-test"
PORT = 8123
"""That the pages of these tests are made for; only a browser needs one that is listened at."""


def parse(html):
    return html5lib.parse(html)


def every(html, tag, **attributes):
    """Return the elements of a tag that have all attributes; `class_` is one of its classes."""
    wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    found = []
    for each in parse(html).iter():
        if not isinstance(each.tag, str) or each.tag.rpartition("}")[2] != tag:
            continue
        classes = each.get("class", "").split()
        if all(value in classes if name == "class" else each.get(name) == value for name, value in wanted.items()):
            found.append(each)
    return found


def text_of(element):
    return re.sub(r"\s+", " ", "".join(element.itertext())).strip()


def results(html, *, mem0=False):
    """Return the ids of the results, best first, of ours or of mem0's; those below the threshold are left out."""
    items = [item for item in every(html, "li") if "below" not in item.get("class", "").split()]
    rows = [row for item in items for row in item if "row" in row.get("class", "").split()]
    return [row.get("data-id") for row in rows if (row.get("data-quiet") is not None) == mem0]


def below(html):
    return [row.get("data-id") for item in every(html, "li", class_="below") for row in item]


def threshold_of(html):
    """Return (fails, passes): how many bins of the histogram lie on each side of the threshold."""
    return len(every(html, "rect", class_="fails")), len(every(html, "rect", class_="passes"))
