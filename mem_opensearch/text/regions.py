"""Say a query in the words of the other region: 软件 for 軟體, and the reverse.

The fold makes characters equal, not words: 軟體 becomes 软体, and the mainland says 软件. OpenCC's phrase tables
(`tw2sp`, `s2twp`, Apache-2.0) know such pairs. They are used on the query only, as further words to look for; the
stored text stays as it was written, and its offsets with it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from mem_opensearch.text.fold import fold

if TYPE_CHECKING:
    import opencc


def regional_variants(query: str) -> tuple[str, ...]:
    """Return the query in mainland and in Taiwan wording, folded, each only if it differs from the folded query.

    Both scripts of one query give the same variants.

    >>> regional_variants("軟體"), regional_variants("软件"), regional_variants("早饭")
    (('软件',), ('软体',), ())
    """
    folded = fold(query)
    to_traditional, to_mainland, to_taiwan = _converters()
    mainland = fold(to_mainland.convert(to_traditional.convert(folded)))
    taiwan = fold(to_taiwan.convert(folded))
    return tuple(variant for variant in dict.fromkeys((mainland, taiwan)) if variant != folded)


@lru_cache(maxsize=1)
def _converters() -> tuple[opencc.OpenCC, opencc.OpenCC, opencc.OpenCC]:
    import opencc

    return opencc.OpenCC("s2t"), opencc.OpenCC("tw2sp"), opencc.OpenCC("s2twp")
