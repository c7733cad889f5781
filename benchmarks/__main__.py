"""Run one benchmark: ``python -m benchmarks refresh --json -``, ``python -m benchmarks ner FOLDER``."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path

NAMES = ("refresh", "delete", "ner")


def main() -> None:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("folder", nargs="?", type=Path, help="of 'ner': holds sentences.jsonl")
    parser.add_argument("--json", metavar="FILE", help="write the result there; - is standard output")
    parser.add_argument("--rounds", type=int, default=20, help="interleaved rounds (default 20)")
    given = parser.parse_args()
    if (given.name == "ner") != (given.folder is not None):
        parser.error("a folder is for 'ner', and 'ner' wants one")
    module = importlib.import_module(f"benchmarks.{given.name}")
    if given.name == "ner":
        result = module.run(given.folder)
        if given.json is None:
            sys.stdout.write(module.table(result))
            return
    else:
        from mem_opensearch.node import LocalNode

        url = os.environ.get("OPENSEARCH_URL")
        with nullcontext() if url else LocalNode(heap="1g") as node:
            result = module.run(url or node.url, rounds=given.rounds)
    text = json.dumps(result, indent=2, ensure_ascii=False)
    if given.json in (None, "-"):
        sys.stdout.write(text + "\n")
    else:
        Path(given.json).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
