"""Texts that are nearly right: seeds of a corpus, changed at random."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tacit.errors import TacitError

CORPUS = Path(__file__).parent / "corpus"
"""A folder for each parser: what it reads, and every input that it once fell over."""

MOST_SECONDS = 60
"""Of the processor, for one text; the slowest that is right takes less than one."""

PIECES = [
    *(b"", b"\0", b"\xff", b"\xef\xbb\xbf", "\u202e".encode(), "é".encode(), b"\xed\xa0\x80"),
    *(b"-1", b"0", b"1e400", b"-0.0", b"nan", b"inf", b"1/0", b"1/3", b"9" * 400, b"0x10"),
    *(b"null", b"true", b"{}", b"[]", b'""', b"'", b'"', b"\\", b"\\u0000", b"\\ud800"),
    *(b"(", b")", b"[" * 300, b"{" * 300, b";", b",", b"\n", b"\r\n", b"\t", b"--", b"/*", b"#"),
    *(
        b"select",
        b"from",
        b"group by",
        b"null",
        b" or 1=1",
        b"not ",
        b" join visits" * 40,
        b"date '0000-00-00'",
    ),
    *(b"true", b"2024-02-30", b"9999-12-31", b"1e-400", b"18446744073709551616", b"\x1b[31m"),
]


def corpus(name: str) -> list[bytes]:
    """Return the seeds of a parser, in order."""
    return [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]


def mutated(seeds: Sequence[bytes], draw: random.Random) -> Iterator[bytes]:
    """Yield the seeds, and then changes of them without end."""
    yield from seeds
    while True:
        text = bytearray(draw.choice(seeds))
        for _ in range(draw.choice([1, 1, 2, 3, 8])):
            _change(text, seeds, draw)
        yield bytes(text)


def _change(text: bytearray, seeds: Sequence[bytes], draw: random.Random) -> None:
    at = draw.randrange(len(text) + 1)
    end = min(len(text), at + draw.choice([1, 1, 2, 4, 16, 64]))
    kind = draw.randrange(6)
    if kind == 0:
        text[at:end] = b""
    elif kind == 1:
        text[at:at] = draw.choice(PIECES)
    elif kind == 2:
        text[at:end] = draw.choice(PIECES)
    elif kind == 3 and at < len(text):
        text[at] ^= 1 << draw.randrange(8)
    elif kind == 4:
        text[at:at] = text[at:end] * draw.choice([1, 2, 30])
    else:
        other = draw.choice(seeds)
        start = draw.randrange(len(other) + 1)
        text[at:end] = other[start : start + draw.choice([4, 16, 64])]


class HangError(BaseException):
    """A parser is at work on a text for longer than on any that it can mean."""


def fall_over(parse: Callable[[bytes], object], text: bytes) -> str | None:
    """Return the name of the error where a parser falls over; its own refusals are none.

    A text that keeps it busy is one too: so could somebody keep a service busy.
    """
    try:
        with _not_for_ever():
            parse(text)
    except TacitError:
        return None
    except (Exception, HangError) as error:
        return f"{type(error).__name__}: {error}"[:300]
    return None


@contextmanager
def _not_for_ever() -> Iterator[None]:
    """Raise where the processor of this process was busy for long."""

    def busy(*_: object) -> None:
        raise HangError(f"more than {MOST_SECONDS} s of the processor")

    before = signal.signal(signal.SIGVTALRM, busy)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def fuzz(
    name: str, parse: Callable[[bytes], object], runs: int, seed: int | None = None
) -> list[tuple[str, bytes]]:
    """Give a parser so many texts; return the errors that are no refusals, each kind once."""
    found: dict[str, bytes] = {}
    for _, text in zip(range(runs), mutated(corpus(name), random.Random(seed)), strict=False):
        error = fall_over(parse, text)
        if error is not None:
            found.setdefault(error.partition(":")[0], text)
            print(name, error, text[:500])
    return list(found.items())
