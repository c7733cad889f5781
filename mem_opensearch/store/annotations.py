"""Note with a memory what a search needs to know of it."""

from __future__ import annotations

import hashlib


def text_hash(text: str) -> str:
    """Return a short hash of a memory's text."""
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()
