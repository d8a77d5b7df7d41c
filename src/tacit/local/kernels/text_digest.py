"""Answers from an open domain, any text, known by a digest that is the same on every device."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.mixing import GOLDEN, mixed
from tacit.local.base.raw_answers import is_missing, text_of, values_of

__all__ = ["digest", "digests", "places_under"]

Words = NDArray[np.uint64]


def digest(value: Any) -> int:
    """Return the 64-bit BLAKE2b digest of an answer's text; a missing answer has one of its own.

    >>> digest("Paris") == digest(b"Paris"), digest(None) == digest(float("nan"))
    (True, True)
    """
    text = b"\xff" if is_missing(value) else text_of(value).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def digests(values: Iterable[Any]) -> Words:
    """Return the digest of each answer."""
    return np.fromiter((digest(v) for v in values_of(values)), np.uint64)


def places_under(words: Words, function: Any, size: int) -> NDArray[np.int64]:
    """Return the place below ``size``, a power of two, of each digest under a numbered function.

    ``digest + (function + 1) golden``, mixed (:mod:`tacit.arithmetic.mixing`).

    >>> places_under(np.array([5], np.uint64), 0, 16).tolist()
    [10]
    """
    with np.errstate(over="ignore"):
        z = words + (np.asarray(function, np.uint64) + np.uint64(1)) * GOLDEN
    found: NDArray[np.int64] = (mixed(z) & np.uint64(size - 1)).astype(np.int64)
    return found
