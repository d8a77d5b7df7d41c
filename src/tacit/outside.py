"""Text from outside, read within public limits: JSON, the numbers in it, the name of a host."""

# A file that someone else wrote may hold anything: a number of a billion digits, 200,000 brackets
# within one another, a name twice, half of a character.  Each of these has a plain answer here
# before any work is done on it, so that no file can make a reader work for hours or fall over.

from __future__ import annotations

import ipaddress
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from tacit.errors import UsageError

# What JSON can carry.
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

MAX_BYTES = 1 << 27  # the largest file that is read as JSON
_DEEPEST = 200  # far more than any expression of a question needs
_LONGEST = 1000  # the digits of a number, as :func:`tacit.arithmetic.exact.as_fraction` has them


def read_json_file(path: str | os.PathLike[str], what: str) -> Any:
    """Read a file of JSON."""
    file_path = Path(os.path.expanduser(path))
    try:
        size = file_path.stat().st_size
        if size > MAX_BYTES:
            raise UsageError(f"{what} has {size} bytes; at most {MAX_BYTES} are read")
        with file_path.open("rb") as file:  # what is not a file may be longer than it says
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{what} cannot be read: {error.strerror}") from None
    return read_json(data, what)


def read_json(data: str | bytes, what: str = "the text") -> Any:
    """Read JSON within limits: 2^27 bytes, 200 levels, 1000 digits, no name twice, whole Unicode.

    >>> read_json('{"a": [1, 0.5]}')
    {'a': [1, 0.5]}
    >>> read_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    tacit.errors.UsageError: the text is not JSON that can be relied on: the name 'a' is given ...
    """
    if len(data) > MAX_BYTES:
        raise UsageError(f"{what} has more than {MAX_BYTES} bytes, too many to read")
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        decoded = (_SIFTING if _MANY_DIGITS.search(text) else _PLAIN).decode(text)
    except _RefusedError as error:
        raise UsageError(f"{what} is not JSON that can be relied on: {error}") from None
    except RecursionError:
        raise UsageError(_too_deep(what)) from None
    except ValueError:
        raise UsageError(f"{what} is not JSON") from None
    halves = "\\u" in text
    if not halves and text.count("[") + text.count("{") < _DEEPEST:
        return decoded  # there is no level without its bracket
    for value in _walk(decoded, what):
        if halves and isinstance(value, str):
            _check_surrogates(value, what)
    return decoded


def read_own(text: str, value: object) -> Any:
    """Read JSON that was just written from a value of this process, as :func:`read_json` does.

    >>> read_own('{"a": [1]}', {"a": [1]})
    {'a': [1]}
    """
    # What reads back equal to the value gives no name twice, and no half of a character.
    shallow = text.count("[") + text.count("{") < _DEEPEST and "\\u" not in text
    if shallow and len(text) <= MAX_BYTES and not _MANY_DIGITS.search(text):
        payload = json.loads(text)
        if payload == value:
            return payload
    return read_json(text)


class _RefusedError(ValueError):
    """JSON that says a thing twice, or too long."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _RefusedError(f"the name {name[:60]!r} is given twice in one place")
            seen.add(name)
    return fields


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST:
        raise _RefusedError(
            f"a number of {len(digits)} digits is too long, at most {_LONGEST} are read"
        )
    return int(digits)


_PLAIN = json.JSONDecoder(object_pairs_hook=_once)
_SIFTING = json.JSONDecoder(object_pairs_hook=_once, parse_int=_integer)
_MANY_DIGITS = re.compile(f"[0-9]{{{_LONGEST}}}")


def _walk(root: Any, what: str) -> Iterator[Any]:
    """Yield every name and value, level by level; refuse more levels than the limit."""
    level, deep = [root], 0
    while level:
        deep += 1
        if deep > _DEEPEST:
            raise UsageError(_too_deep(what))
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                yield from value
                inner += value.values()
            elif isinstance(value, list):
                inner += value
            else:
                yield value
        level = inner


def _too_deep(what: str) -> str:
    return f"{what} holds JSON of more than {_DEEPEST} nested levels, too many to read"


def _check_surrogates(text: str, what: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        halves = True
    else:
        halves = False
    if halves:
        raise UsageError(
            f"{what} holds text with half of a character (a lone surrogate), which is not valid "
            "Unicode"
        )


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, by its name or number alone.

    >>> hosts = ("127.0.0.1", "::1", "localhost", "0.0.0.0", "127.0.0.1.example")
    >>> [is_loopback(host) for host in hosts]
    [True, True, True, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
