"""Make words anew of rows that were taken to another index than their words were made for.

A roll moves the alias while other processes write: their next rows go to the new index, which may be of another
profile or dictionary. The server's answer names the index that each row went to, so it costs no request to notice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mem_opensearch.client.encoding import encode_lines, path_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mem_opensearch.client import SearchClient
    from mem_opensearch.profiles import WordField

_ROWS = 500  # of one request
# Only if the row is still the one that was written: somebody else may have replaced it, with words of its own.
_SCRIPT = "if (ctx._source.text == params.text) { ctx._source.putAll(params.row) } else { ctx.op = 'none' }"


def write_words(client: SearchClient, alias: str, texts: Mapping[str, str], *, words: WordField, refresh: str) -> None:
    """Give rows the words of `words`.

    Args:
        client: the server.
        alias: the collection.
        texts: id -> the text that was written; rows that are gone or have another text meanwhile are left alone.
        words: the profile of the index where they are now.
        refresh: as of the write itself.

    Raises:
        BackendError: the server failed; the rows are stored, and their other fields find them.
    """
    ids = list(texts)
    for start in range(0, len(ids), _ROWS):
        lines = []
        for row_id in ids[start : start + _ROWS]:
            params = {"text": texts[row_id], "row": words.row(texts[row_id])}
            lines.append({"update": {"_id": row_id, "retry_on_conflict": 5}})
            lines.append({"script": {"lang": "painless", "source": _SCRIPT, "params": params}})
        client.request(
            "POST",
            path_of(alias, "_bulk"),
            params={"refresh": refresh, "require_alias": "true"},
            body=encode_lines(lines),
        )
