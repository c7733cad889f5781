"""Cut folded text into words on the client, for servers that have no Chinese analyser."""

from __future__ import annotations

import hashlib
import re
import warnings
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from mem_opensearch import forks
from mem_opensearch.text.dictionary import UserDictionary, fingerprint_of
from mem_opensearch.text.fold import fold

if TYPE_CHECKING:
    from collections.abc import Iterator

    import jieba

RULES = 1
"""Version of what this file makes of a text beside jieba's dictionary; raise it when the words change."""

# The ideographs that jieba's dictionary knows, and the rest, each of which is a word of its own.
_COMMON = "\u4e00-\u9fd5"
_RARE = "\u3007\u3400-\u4dbf\u9fd6-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_LETTER = rf"(?:(?![_{_COMMON}{_RARE}])\w)"
_RUNS = re.compile(
    # Letters and digits with separators inside, as the server's tokenizer `code` has them, and in any alphabet.
    rf"(?P<code>{_LETTER}+(?:[\-_.:/@#+]{_LETTER}+)*)|(?P<han>[{_COMMON}]+)|[{_RARE}]"
)


_PARTS = re.compile(r"\d+|[^\W\d_]+")


class Segmenter:
    """Words of a text, by jieba's dictionary and the user's.

    jieba's own global tokenizer, cache file and log are left alone: another library of the process may use them, and a
    cache file in a shared temporary folder can be written by anybody. The dictionary is read at the first text, which
    takes about half a second, once per process and user dictionary; threads that come meanwhile wait.

    Args:
        dictionary: the user's words, which are kept whole.
    """

    def __init__(self, dictionary: UserDictionary | None = None) -> None:
        self._words = dictionary.words if dictionary else ()
        self._lock = forks.Lock()
        self._jieba: jieba.Tokenizer | None = None
        self._mixed: dict[str, list[str]] = {}

    def segment(self, text: str) -> list[str]:
        """Return the words in their order, in lower case.

        Of an identifier its parts are given too: without them, one query in 35 of keyword_zh lost its first place.

        >>> Segmenter().segment("印表機的專案代號是ＰＸ－４４１")
        ['印表机', '的', '专案', '代号', '是', 'px-441', 'px', '441']
        """
        tokenizer = self._tokenizer()
        folded = fold(text).lower()
        words: list[str] = []
        for run in _RUNS.finditer(folded):
            if run.lastgroup == "han":
                # Without the hidden Markov model: it makes words of unknown characters by what stands around them, so
                # the same name can be cut one way in the memory and another way in the question. Measured, it found
                # nothing more (MRR@10 on CMRC 0.984 with it, 0.986 without). And not in search mode, which adds the
                # pairs and triples inside a word: the bigram field has them already, and counted twice they rank worse
                # (MRR@10 on MemoryBank 0.660, without them 0.668).
                words += tokenizer.cut(run.group(), HMM=False)
                continue
            words.append(run.group())
            if run.lastgroup == "code" and len(parts := _PARTS.findall(run.group())) > 1:
                words += parts
        words += self._mixed_words(folded)
        return words

    def _mixed_words(self, folded: str) -> Iterator[str]:
        """Yield the user's words that no run can hold, such as 夜16 or C++, wherever they stand."""
        if not self._mixed:
            return
        for position, character in enumerate(folded):
            for word in self._mixed.get(character, ()):
                if folded.startswith(word, position):
                    yield word

    def _tokenizer(self) -> jieba.Tokenizer:
        with self._lock:
            if self._jieba is None:
                self._jieba = self._load()
            return self._jieba

    def _load(self) -> jieba.Tokenizer:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # jieba's sources warn on newer Pythons, and nobody here can mend them
            import jieba
        tokenizer = jieba.Tokenizer()
        with tokenizer.get_dict_file() as stream:
            tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(stream)
        tokenizer.initialized = True  # or it would do the same again, with a cache file and lines on stderr
        for word in self._words:
            run = _RUNS.fullmatch(word)
            if run is None:
                self._mixed.setdefault(word[0], []).append(word)
            elif run.lastgroup == "han":
                tokenizer.add_word(word)
        return tokenizer


@lru_cache(maxsize=4)  # some 60 MB each
def segmenter(dictionary: UserDictionary | None = None) -> Segmenter:
    """Return the process's segmenter for a user dictionary."""
    return Segmenter(dictionary)


def segmentation_fingerprint(dictionary: UserDictionary | None = None) -> str:
    """Return a short hash of all that decides how texts are cut, the fold aside; jieba isn't loaded for it."""
    return fingerprint_of((str(RULES), _base_fingerprint(), dictionary.fingerprint if dictionary else ""))


@lru_cache(maxsize=1)
def _base_fingerprint() -> str:
    spec = find_spec("jieba")  # and not an import, which would take a tenth of a second
    (folder,) = (spec and spec.submodule_search_locations) or [""]
    return hashlib.sha256((Path(folder) / "dict.txt").read_bytes()).hexdigest()[:12]
