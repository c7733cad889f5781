"""How well entities are found: precision, recall and F1 by type and script, of each chain of taggers.

A folder holds ``sentences.jsonl``: `id`, `text`, `entities` (list of `type`, `start`, `end`, in code points) and
optionally `script`. An entity counts as found where its type and both its ends are right.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import orjson

from mem_opensearch.entities import EntityType, Extractor, LacTagger, Tagger, installed_taggers
from mem_opensearch.entities.mentions import Word

if TYPE_CHECKING:
    from pathlib import Path

TYPES = {"PER": EntityType.PERSON, "LOC": EntityType.PLACE, "ORG": EntityType.ORGANISATION}
MICRO = "micro"


class PlainLac(LacTagger):
    """LAC as it comes, for comparison: the folded text's words, nothing mended."""

    def names(self, text: str) -> list[Word]:
        """Return what LAC itself calls a name."""
        words, position = [], 0
        for piece, tag in self._model.get().run(text):
            if tag in TYPES:
                words.append(Word(position, position + len(piece), TYPES[tag]))
            position += len(piece)
        return words


def run(folder: Path) -> dict[str, Any]:
    """Return {"systems": {name: {script: {type: [precision, recall, F1, entities]}}}}."""
    rows = [orjson.loads(line) for line in (folder / "sentences.jsonl").read_bytes().splitlines() if line.strip()]
    chains: dict[str, list[Tagger]] = {"rules alone": [], "installed": installed_taggers()}
    if LacTagger.is_installed():
        chains = {"plain LAC": [PlainLac()], **chains}
    systems = {name: _measure(rows, chain, alone=name == "plain LAC") for name, chain in chains.items()}
    return {"folder": folder.name, "sentences": len(rows), "systems": systems}


def _measure(rows: list[dict[str, Any]], chain: list[Tagger], *, alone: bool) -> dict[str, Any]:
    extractor = Extractor(taggers=chain)
    counts: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in rows:
        right = {(each["start"], each["end"], TYPES[each["type"]]) for each in row["entities"] if each["type"] in TYPES}
        found = {
            (each.start, each.end, each.type)
            for each in extractor.extract(row["text"])
            if each.type in TYPES.values() and (not alone or each.source == "lac")
        }
        for script in ("all", row.get("script", "?")):
            for name, kind in [*TYPES.items(), (MICRO, None)]:
                count = counts[script, name]
                expected = {one for one in right if kind in (None, one[2])}
                given = {one for one in found if kind in (None, one[2])}
                count[0] += len(expected & given)
                count[1] += len(given)
                count[2] += len(expected)
    result: defaultdict[str, dict[str, list[float]]] = defaultdict(dict)
    for (script, name), (hits, given_number, expected_number) in counts.items():
        precision, recall = hits / max(1, given_number), hits / max(1, expected_number)
        f1 = 2 * precision * recall / max(1e-9, precision + recall)
        result[script][name] = [round(precision, 3), round(recall, 3), round(f1, 3), expected_number]
    return dict(result)


def table(result: dict[str, Any]) -> str:
    """Return the result as text, a line for each system, script and type."""
    lines = [f"{'system':14}{'script':8}{'type':8}{'precision':>10}{'recall':>8}{'F1':>7}{'entities':>10}"]
    for system, scripts in result["systems"].items():
        for script, types in scripts.items():
            for name, (precision, recall, f1, number) in types.items():
                lines.append(f"{system:14}{script:8}{name:8}{precision:10.3f}{recall:8.3f}{f1:7.3f}{number:10}")
    return "\n".join(lines) + "\n"
