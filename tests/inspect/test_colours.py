"""Whether what the page writes can be read, in both schemes: the contrasts that WCAG 2.2 asks for at level AA."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

STYLES = files("mem_opensearch.inspect").joinpath("static", "inspect.css").read_text(encoding="utf-8")
TEXTS = [
    *((ink, ground) for ink in ("ink", "soft", "accent", "good", "bad") for ground in ("page", "card", "hover")),
    ("accent-ink", "accent"),
    ("warn-ink", "warn"),
    *(("m-ink", f"m-{kind}") for kind in ("word", "part", "identifier")),
]
SIGNALS = ("meaning", "words", "identifiers", "entity", "context", "time", "slot", "recency", "replaces")


def colours(dark):
    """Return name -> colour of a scheme."""
    light_part, dark_part = re.findall(r":root \{(.*?)\}", STYLES, re.DOTALL)[:2]
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", light_part))
    return found | dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", dark_part)) if dark else found


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_texts_can_be_read(dark):
    known = colours(dark)
    low = {pair: contrast(known[pair[0]], known[pair[1]]) for pair in TEXTS}
    assert {pair: ratio for pair, ratio in low.items() if ratio < 4.5} == {}


@pytest.mark.parametrize("dark", [False, True])
def test_bars_can_be_seen(dark):
    known = colours(dark)
    low = {name: contrast(known[name], known["card"]) for name in SIGNALS}
    assert {name: ratio for name, ratio in low.items() if ratio < 3} == {}
