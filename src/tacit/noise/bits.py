"""Secure random bits: OpenSSL's generator, or the operating system's."""

# OpenSSL's generator (``ssl.RAND_bytes``) reseeds itself in a forked child, is safe across
# threads, and needs no dependency.  It is asked for at most 64 KiB at once, which is the most that
# its default generator gives for one request.  Releases 1.1.1 to 1.1.1c could repeat their
# stream in a forked child (CVE-2019-1549): with those, or with the environment variable
# ``TACIT_RANDOM=os``, all bits come from :func:`os.urandom`.
#
# Nothing is kept between calls, so no bit can serve twice, nor be read later from memory or from
# a copied process.  There is no seed.

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import as_integer
from tacit.calls import public

LARGEST_REQUEST = 1 << 16

_Drawn = TypeVar("_Drawn")

Generator: TypeAlias = Callable[[int], bytes]


def fork_safe(version: tuple[int, ...]) -> bool:
    """True if an OpenSSL of this ``ssl.OPENSSL_VERSION_INFO`` reseeds after a fork.

    >>> fork_safe((1, 1, 1, 3, 15)), fork_safe((1, 1, 1, 4, 15)), fork_safe((3, 0, 0, 19, 0))
    (False, True, True)
    """
    return not (1, 1, 1, 0) <= tuple(version[:4]) < (1, 1, 1, 4)


def _choose(mode: str | None, version: tuple[int, ...]) -> Generator:
    return os.urandom if mode == "os" or not fork_safe(version) else ssl.RAND_bytes


_DEFAULT = _choose(os.environ.get("TACIT_RANDOM"), ssl.OPENSSL_VERSION_INFO)
_generator: ContextVar[Generator] = ContextVar("generator", default=_DEFAULT)


@contextmanager
def injected(generator: Generator) -> Iterator[None]:
    """Draw from ``generator(n) -> bytes`` inside the block."""
    # For tests, and for a device's permanent answers, whose bits come from a secret key.
    token = _generator.set(generator)
    try:
        yield
    finally:
        _generator.reset(token)


@dataclass(frozen=True)
class CategoricalDistribution:
    """Distribution of a draw from finitely many outcomes."""

    name: str  # of the function that draws it
    # what decides its probabilities, so that equal ones give equal laws
    parameters: tuple[Any, ...]


# Gets a distribution, a size, and what draws from it; returns what the caller is to have.
Watcher: TypeAlias = Callable[[Any, Any, Callable[[], Any]], Any]

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


def watcher() -> Watcher | None:
    """Return who watches the draws of this context; None but inside of a replay."""
    return _watcher.get()


@contextmanager
def watched(by: Watcher | None) -> Iterator[None]:
    """Have every draw inside of the block go through a watcher; None lets them alone.

    >>> from tacit.noise import bernoulli
    >>> with watched(lambda distribution, size, draw: (distribution.name, size)):
    ...     bernoulli("1/2", 3)
    ('bernoulli', 3)
    """
    # For audits that replay a run, :mod:`tacit.audit.replaying`.
    token = _watcher.set(by)
    try:
        yield
    finally:
        _watcher.reset(token)


def observed(distribution: Any, size: Any, draw: Callable[[], _Drawn]) -> _Drawn:
    """Draw from a law, through the watcher where there is one."""
    seen = _watcher.get()
    if seen is None:
        return draw()
    return seen(distribution, size, draw)  # type: ignore[no-any-return]


def observed_choice(
    name: str, parameters: tuple[Any, ...], size: Any, draw: Callable[[], _Drawn]
) -> _Drawn:
    """Draw one of finitely many outcomes: :func:`observed` of a categorical distribution.

    >>> observed_choice("two", (), None, lambda: 2)
    2
    """
    return (
        draw()
        if _watcher.get() is None
        else observed(CategoricalDistribution(name, parameters), size, draw)
    )


@public
def random_bytes(n: int) -> bytes:
    """Return ``n`` secure random bytes.

    Raises:
        UsageError: ``n`` is negative or not whole.

    >>> len(random_bytes(100_000))
    100000
    """
    return _read(as_integer(n, "n", minimum=0))


def _read(n: int) -> bytes:
    generator = _generator.get()
    if n <= LARGEST_REQUEST:
        return generator(n)
    complete, rest = divmod(n, LARGEST_REQUEST)
    return b"".join([*(generator(LARGEST_REQUEST) for _ in range(complete)), generator(rest)])


def words8(n: int) -> NDArray[np.uint8]:
    """Return ``n`` uniform words of 8 bits."""
    return np.frombuffer(_read(n), np.uint8)


def words16(n: int) -> NDArray[np.uint16]:
    """Return ``n`` uniform words of 16 bits."""
    return np.frombuffer(_read(2 * n), np.uint16)


def words32(n: int) -> NDArray[np.uint32]:
    """Return ``n`` uniform words of 32 bits."""
    return np.frombuffer(_read(4 * n), np.uint32)


def words64(n: int) -> NDArray[np.uint64]:
    """Return ``n`` uniform words of 64 bits."""
    return np.frombuffer(_read(8 * n), np.uint64)


def one_word64() -> int:
    """Return the number that ``words64(1)`` would hold, of the same bits."""
    return int.from_bytes(_read(8), "little")


def word(bits: int) -> int:
    """Return a uniform integer below ``2**bits``.

    >>> 0 <= word(100) < 2**100
    True
    """
    return int.from_bytes(_read((bits + 7) // 8), "little") >> (-bits % 8)
