"""Statements of the wire: a text split, its parameters written in, its values as bytes."""

from __future__ import annotations

import datetime
import math
import re
import struct
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from tacit.arithmetic.exact import as_fraction
from tacit.errors import need
from tacit.service.problem import Problem
from tacit.sql.parse import MAX_LENGTH

# Types of PostgreSQL: their numbers, and a value in the two formats of the protocol.


BOOL, INT8, INT4, TEXT, FLOAT8 = 16, 20, 23, 25, 701
DATE, TIMESTAMP, TEXT_ARRAY = 1082, 1114, 1009
_SIZES = {BOOL: 1, INT8: 8, INT4: 4, FLOAT8: 8, DATE: 4, TIMESTAMP: 8}
_EPOCH = datetime.date(2000, 1, 1)
# Types of parameters that are numbers, and the layout of those that have a binary form.
_NUMBERS = {INT8: "!q", 21: "!h", INT4: "!i", 26: "!I", 700: "!f", FLOAT8: "!d", 1700: ""}
_TEXTS = (0, TEXT, 18, 19, 705, 1042, 1043)
_ARRAYS = (TEXT_ARRAY, 1002, 1003, 1015)
_TRUE = {b"t", b"true", b"1", b"on", b"yes", b"y"}


class Field(NamedTuple):
    """A column of a result."""

    name: str
    type: int  # its number in PostgreSQL

    @property
    def size(self) -> int:
        """Its bytes; -1 where they vary."""
        return _SIZES.get(self.type, -1)


@dataclass(frozen=True)
class Result:
    """The rows of a statement, and its tag."""

    tag: str
    fields: tuple[Field, ...] | None = None  # None of a statement that has no rows
    rows: Sequence[Sequence[Any]] = ()
    notice: str = ""


def encoded(value: Any, type_: int, binary: bool) -> bytes | None:
    """Return a value in a format of the protocol; None is NULL.

    >>> encoded(1.5, FLOAT8, False), encoded(3, INT8, True)[-1], encoded(True, BOOL, False)
    (b'1.5', 3, b't')
    """
    if value is None:
        return None
    if type_ == FLOAT8:
        return struct.pack("!d", value) if binary else _float_text(float(value))
    if type_ == BOOL:
        return (b"\1" if value else b"\0") if binary else (b"t" if value else b"f")
    if type_ in (INT8, INT4) and binary:
        return struct.pack("!q" if type_ == INT8 else "!i", value)
    if type_ == DATE and binary:
        day = value if isinstance(value, datetime.date) else datetime.date.fromisoformat(str(value))
        return struct.pack("!i", (day - _EPOCH).days)
    if type_ == TEXT_ARRAY:
        return _array(list(value), binary)
    return str(value).encode()


def _float_text(value: float) -> bytes:
    if math.isinf(value):
        return b"Infinity" if value > 0 else b"-Infinity"
    return b"NaN" if math.isnan(value) else repr(value).removesuffix(".0").encode()


def _array(values: list[Any], binary: bool) -> bytes:
    """Return a list of texts in one dimension."""
    texts = [None if one is None else str(one) for one in values]
    if not binary:
        parts = ["NULL" if one is None else _in_array(one) for one in texts]
        return ("{" + ",".join(parts) + "}").encode()
    body = struct.pack("!iii", 1 if texts else 0, int(None in texts), TEXT)
    if texts:
        body += struct.pack("!ii", len(texts), 1)
    for one in texts:
        data = b"" if one is None else one.encode()
        body += struct.pack("!i", -1 if one is None else len(data)) + data
    return body


def _in_array(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# A text split into statements.


MAX_STATEMENTS = 50  # of one text


@dataclass(frozen=True)
class Statement:
    """One statement of a text."""

    text: str
    start: int  # its position in the text that was sent
    tokens: tuple[Any, ...]  # its words, with positions in its own text

    @property
    def word(self) -> str:
        """Its first word, in capitals."""
        return str(self.tokens[0].text).upper()

    def words(self, number: int = 8) -> list[str]:
        """Return its first words, in small letters."""
        return [str(token.text).lower() for token in self.tokens[:number]]

    @property
    def parameters(self) -> int:
        """How many parameters it has: the highest ``$n``."""
        return max((number for _, _, number, _ in self._parameters()), default=0)

    @property
    def casts(self) -> dict[int, int]:
        """Of the parameters that stand in a cast, ``$n::int``, the type that it states."""
        return {number: type_ for _, _, number, type_ in self._parameters() if type_}

    def with_values(self, literals: Sequence[str]) -> Statement:
        """Return the statement with a literal in place of each parameter."""
        if not literals and not self.parameters:
            return self
        parts, end, left = [], 0, MAX_LENGTH - len(self.text)
        for first, last, number, _ in self._parameters():
            if not 1 <= number <= len(literals):
                raise Problem("invalid_request", f"there is no parameter ${number}")
            # Spaces: a value is a word of its own, and no part of the one beside it.
            parts += [self.text[end:first], f" {literals[number - 1]} "]
            end, left = last, left - len(parts[-1])
            if left < 0:
                raise Problem(
                    "too_large", f"a text with its values has at most {MAX_LENGTH} characters"
                )
        (made,) = split("".join([*parts, self.text[end:]]))
        return made

    def _parameters(self) -> list[tuple[int, int, int, int]]:
        found, words = [], self.tokens
        for index, (one, next_) in enumerate(pairwise(words)):
            if one.token_type.name == "PARAMETER" and next_.text.isdecimal():
                last, type_ = next_, 0
                after = words[index + 2 : index + 4]
                if [a.token_type.name for a in after[:1]] == ["DCOLON"] and len(after) == 2:
                    # Drivers write the type of the value that they send: ``limit $1::INTEGER``.
                    type_ = _CASTS.get(after[1].text.lower(), 0)
                    last = after[1] if type_ else next_
                found.append((one.start, last.end + 1, int(next_.text[:6]), type_))
        return found

    def question_text(self, dataset: str, tables: Collection[str]) -> str | None:
        """Return the text without the schema ``public``; None where FROM names none of the tables.

        Every other character stays where it was, so that positions in errors are those of the text.
        """
        known = {name.lower() for name in tables}
        text, asks, words = list(self.text), False, self.tokens
        for index, token in enumerate(words):
            before = words[index - 1].token_type.name if index else ""
            if before == "DOT" and index >= 2:
                schema = words[index - 2].text.lower()
                before = "" if schema in ("pg_catalog", "information_schema") else "FROM"
                if schema == "public" and "public" not in known:
                    start = words[index - 2].start
                    four = [one.text for one in words[max(0, index - 4) : index - 2]]
                    if [name.lower() for name in four] == [dataset.lower(), "."]:
                        start = words[index - 4].start
                    text[start : token.start] = " " * (token.start - start)
            if before in ("FROM", "JOIN", "COMMA") and token.text.lower() in known:
                asks = True
        return "".join(text) if asks else None

    def table(self, protected: Sequence[str]) -> str | None:
        """Return the protected table that it names first; None where it names none."""
        names = {name.lower(): name for name in protected}
        found = (names.get(token.text.lower()) for token in self.tokens if _is_name(token))
        return next((name for name in found if name is not None), None)


_CASTS = {
    **dict.fromkeys(("integer", "bigint", "smallint", "int", "int2", "int4", "int8"), INT8),
    **dict.fromkeys(("varchar", "text"), TEXT),
    "float": FLOAT8,
}


def _is_name(token: Any) -> bool:
    return token.token_type.name not in ("STRING", "NUMBER")


@cache
def _dialect() -> Any:
    return need("sqlglot.dialects.postgres", "sql").Postgres()


_NO_PARAMETER = re.compile(
    # One that is not closed goes to the end, so that no text is looked at many times.
    r"""[eE]'(?:\\.|''|[^'\\])*(?:'|\Z) | '[^']*(?:'|\Z) | "[^"]*(?:"|\Z) | --[^\n]*
    | /\*.*?(?:\*/|\Z) | (?<![\w$])(?P<tag>\$(?:[A-Za-z_]\w*)?\$).*?(?:(?P=tag)|\Z)
    | (?P<number>(?<![\w$])\$[0-9]+)""",
    re.VERBOSE | re.DOTALL,
)


def spaced(text: str) -> str:
    """Return a text with a space after each parameter: ``$1,$`` would begin a quote.

    >>> spaced("a in ($1,$2) or b = '$1,$'")
    "a in ($1 ,$2 ) or b = '$1,$'"
    """
    return _NO_PARAMETER.sub(lambda m: m[0] + " " * (m["number"] is not None), text)


def split(text: str) -> list[Statement]:
    """Return the statements of a text; comments are part of none.

    >>> [one.text for one in split("select 1; set a = ';' -- b")]
    ['select 1', "set a = ';'"]
    """
    errors = need("sqlglot.errors", "sql")
    try:
        tokens = _dialect().tokenize(text)
    except errors.TokenError:
        raise Problem(
            "invalid_request",
            "the text cannot be split into words: a quote or a comment is not closed",
        ) from None
    parts: list[list[Any]] = [[]]
    for token in tokens:
        if token.token_type.name == "SEMICOLON":
            parts.append([])
        else:
            parts[-1].append(token)
    made = [_statement(text, part) for part in parts if part]
    if len(made) > MAX_STATEMENTS:
        raise Problem("too_large", f"a text has at most {MAX_STATEMENTS} statements")
    return made


class _Token(NamedTuple):
    """A word of a statement."""

    token_type: Any
    text: str
    start: int
    end: int


def _statement(text: str, tokens: Sequence[Any]) -> Statement:
    start = tokens[0].start
    moved = (_Token(t.token_type, t.text, t.start - start, t.end - start) for t in tokens)
    return Statement(text[start : tokens[-1].end + 1], start, tuple(moved))


_WRAPPED = ("SELECT", "STAR", "FROM", "L_PAREN")


def unwrapped(statement: Statement) -> Statement:
    """Return ``select * from (QUERY) as x limit n`` as ``QUERY limit n``.

    Tools write queries of people in this way: to show some rows, or with ``where false`` and
    ``limit 0`` to learn the columns.

    >>> unwrapped(split("select * from (select 1 ) as x where false limit 5")[0]).text
    'select 1 limit 0'
    """
    names = [token.token_type.name for token in statement.tokens]
    if tuple(names[:4]) != _WRAPPED:
        return statement
    depth, close = 1, 4
    while depth and close < len(names):
        depth += {"L_PAREN": 1, "R_PAREN": -1}.get(names[close], 0)
        close += 1
    inner, after = statement.tokens[4 : close - 1], list(statement.tokens[close:])
    if depth or not inner or inner[0].token_type.name not in ("SELECT", "WITH"):
        return statement
    if after and after[0].token_type.name == "ALIAS":
        after.pop(0)
    if after and _is_name(after[0]) and after[0].text.lower() not in ("where", "limit"):
        after.pop(0)
    words = [token.text.lower() for token in after]
    limits = []
    if words[:2] == ["where", "false"]:
        limits, words = [0], words[2:]
    elif words[:4] in (["where", "1", "=", other] for other in "02"):
        limits, words = [0], words[4:]
    if words[:1] == ["limit"] and len(words) == 2 and words[1].isdecimal():
        limits, words = [*limits, int(words[1][:9])], []
    last = [token.text.lower() for token in inner[-2:]]
    if limits and last[0] == "limit" and last[-1].isdecimal():
        limits, inner = [*limits, int(last[-1][:9])], inner[:-2]
    if words or (limits and _limited(inner)):
        return statement
    text = statement.text[inner[0].start : inner[-1].end + 1]
    (made,) = split(f"{text} limit {min(limits)}" if limits else text)
    return made


def _limited(tokens: Sequence[Any]) -> bool:
    """Return whether a query has LIMIT, OFFSET or FETCH of its own."""
    depth = 0
    for token in tokens:
        depth += {"L_PAREN": 1, "R_PAREN": -1}.get(token.token_type.name, 0)
        if not depth and token.text.lower() in ("limit", "offset", "fetch"):
            return True
    return False


# Parameters of the extended protocol, as literals of SQL.


def literal(data: bytes | None, type_: int, binary: bool) -> str:
    """Return a parameter as SQL text.

    >>> literal(b"it's", 25, False), literal(b"12", 23, False), literal(None, 25, False)
    ("'it''s'", '12', 'NULL')
    """
    if data is None:
        return "NULL"
    if type_ == BOOL:
        return "TRUE" if (data[:1] != b"\0" if binary else data.lower() in _TRUE) else "FALSE"
    if type_ in _NUMBERS:
        return _number(data, _NUMBERS[type_] if binary else None)
    if type_ == DATE:
        return f"DATE {_quoted(_day(data) if binary else _text(data))}"
    if type_ in _ARRAYS and not binary:
        return "ARRAY[" + ", ".join(map(_quoted, _elements(_text(data)))) + "]"
    if type_ in _TEXTS:
        return _quoted(_text(data))
    raise Problem(
        "invalid_request",
        f"a parameter has the type {type_}, which is not read",
        "send a number, a text, a truth value or a date, or write the value into the query",
    )


def placeholder(type_: int) -> str:
    """Return a literal of a type, for a statement that is described before it has values."""
    if type_ in _NUMBERS:
        return "0"
    if type_ in _ARRAYS:
        return "ARRAY['']"
    return {BOOL: "TRUE", DATE: "DATE '2000-01-01'"}.get(type_, "''")


def _number(data: bytes, layout: str | None) -> str:
    try:
        if layout:
            value = struct.unpack(layout, data)[0]
            if not math.isfinite(value):
                raise ValueError
            return _signed(repr(value))
        text = data.decode("ascii")
        float(text)
        if layout == "" or not set(text) <= set("0123456789+-.eE"):
            raise ValueError
        return _signed(text)
    except (ValueError, struct.error):
        raise Problem("invalid_request", "a parameter is not a number that can be read") from None


def _signed(text: str) -> str:
    """Return a number that cannot begin a comment: ``2 -$1`` with -1 is not ``2 --1``."""
    return f"({text})" if text.startswith("-") else text


def _day(data: bytes) -> str:
    try:
        return (_EPOCH + datetime.timedelta(days=struct.unpack("!i", data)[0])).isoformat()
    except (struct.error, OverflowError):
        raise Problem("invalid_request", "a parameter is not a date that can be read") from None


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Problem("invalid_request", "a parameter is not text in UTF-8") from None


def _elements(text: str) -> list[str]:
    inner = text.removeprefix("{").removesuffix("}")
    return [one.strip('"') for one in inner.split(",")] if inner else []


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


# Settings of a connection: what each query may spend, and what clients of PostgreSQL set.


PRICE = ("epsilon", "delta", "rho", "tag")  # settings with ``tacit.`` before them
_MAX_SETTINGS, _MAX_VALUE, _MAX_SAVEPOINTS = 100, 200, 20


class Variables:
    """Settings of a connection, with what a transaction restores."""

    def __init__(self, fixed: dict[str, str]) -> None:
        self._fixed = fixed  # what the server states of itself
        self._values: dict[str, str] = {}
        self._start: dict[str, str] = {}  # what RESET goes back to
        self._before: dict[str, str] | None = None
        self._local: dict[str, str | None] = {}
        self._saved: list[tuple[str, dict[str, str], dict[str, str | None]]] = []  # savepoints

    def price(self) -> dict[str, str]:
        """Return the price of a query, as it was set; nothing where it was not."""
        values = {name: self._values.get(f"tacit.{name}", "") for name in PRICE}
        return {name: value for name, value in values.items() if value}

    def set(self, name: str, value: str | None, *, local: bool = False) -> None:
        """Set a variable, or reset it with None."""
        name = name.lower()
        if name.startswith("tacit.") and name[6:] not in PRICE:
            names = ", ".join(f"tacit.{one}" for one in PRICE)
            raise Problem("not_found", f"there is no setting {name[:80]!r}", f"those are {names}")
        encoding = (value or "utf8").strip("'\" ").lower().replace("-", "")
        if name == "client_encoding" and encoding not in ("utf8", "unicode"):
            raise Problem("invalid_request", "the service speaks UTF8 alone")
        if value is not None and (len(value) > _MAX_VALUE or not value.isprintable()):
            raise Problem("invalid_request", f"a setting has at most {_MAX_VALUE} characters")
        if local and self._before is None:
            return  # outside a transaction it has no effect, as in PostgreSQL
        if local:
            self._local.setdefault(name, self._values.get(name))
        else:
            self._local.pop(name, None)
        if value and name in ("tacit.epsilon", "tacit.delta", "tacit.rho"):
            as_fraction(value, name)
        value = self._start.get(name) if value is None else value
        if value is None:
            self._values.pop(name, None)
        elif name in self._values or len(self._values) < _MAX_SETTINGS:
            self._values[name] = value
        else:
            raise Problem("too_many", f"a connection has at most {_MAX_SETTINGS} settings")

    def get(self, name: str) -> str:
        """Return a variable; raise if there is none."""
        name = name.lower()
        known = self._values.get(name, self._fixed.get(name))
        if known is None and name.startswith("tacit.") and name[6:] in PRICE:
            return ""
        if known is None:
            raise Problem("not_found", f"there is no setting {name[:80]!r}")
        return known

    def started(self) -> None:
        """Note that the startup is over: what is set now is what RESET restores."""
        self._start = dict(self._values)

    def reset(self) -> None:
        self._values, self._local = dict(self._start), {}

    def save(self, name: str) -> None:
        """Keep the settings under the name of a savepoint."""
        if len(self._saved) >= _MAX_SAVEPOINTS:
            raise Problem("too_many", f"a transaction has at most {_MAX_SAVEPOINTS} savepoints")
        self._saved.append((name, dict(self._values), dict(self._local)))

    def release(self, name: str, *, restore: bool) -> None:
        """Forget a savepoint and those after it; or restore its settings, and keep it."""
        at = next((i for i, one in reversed([*enumerate(self._saved)]) if one[0] == name), None)
        if at is None:
            state = {"sqlstate": "3B001"}
            raise Problem("not_found", f"there is no savepoint {name[:80]!r}", "", state)
        if restore:
            self._values, self._local = dict(self._saved[at][1]), dict(self._saved[at][2])
        del self._saved[at + restore :]

    def begin(self) -> None:
        self._before = dict(self._values)

    def end(self, *, commit: bool) -> None:
        """End a transaction: one that is rolled back takes its settings with it."""
        if self._before is None:
            return
        if not commit:
            self._values = self._before
        else:
            for name, value in self._local.items():
                if value is None:
                    self._values.pop(name, None)
                else:
                    self._values[name] = value
        self._before, self._local, self._saved = None, {}, []

    def command(self, statement: Statement) -> Result | None:
        """Carry out SET, SHOW, RESET and the like; None of another statement."""
        word = statement.word
        act: Callable[[Statement], Result] | None = {
            "SET": self._set,
            "SHOW": self._show,
            "RESET": self._reset,
        }.get(word)
        if act is not None:
            return act(statement)
        if word == "DISCARD":
            self.reset()
            return Result("DISCARD ALL")
        if word in ("LISTEN", "UNLISTEN", "ANALYZE", "CHECKPOINT"):
            return Result(word)
        return None

    def _set(self, statement: Statement) -> Result:
        tokens = list(statement.tokens)
        # The tokenizer takes what follows some words of SET as one piece of text.
        words = statement.text.split(None, 1)[1:] or [""]
        rest = words[0].strip()
        local, scope = False, rest.split(None, 1)[0].lower() if rest else ""
        if scope in ("session", "local") and len(rest.split(None, 1)) == 2:
            local, rest = scope == "local", rest.split(None, 1)[1]
        first = rest.split(None, 1)[0].lower() if rest else ""
        if first in ("transaction", "characteristics", "constraints"):
            return Result("SET")
        if first == "time" and rest.lower().startswith("time zone"):
            rest = "timezone = " + rest[9:].strip()
        if first == "names":
            rest = "client_encoding = " + rest[5:].strip()
        name, sign, value = _assignment(rest)
        if not name or not sign or not tokens:
            raise Problem("invalid_request", "write SET tacit.epsilon = '0.1'")
        value = value.strip()
        self.set(name, None if value.lower() == "default" else unquoted(value), local=local)
        return Result("SET")

    def _show(self, statement: Statement) -> Result:
        name = statement.text.split(None, 1)[1].strip() if len(statement.tokens) > 1 else ""
        name = {
            "transaction isolation level": "transaction_isolation",
            "time zone": "timezone",
        }.get(" ".join(name.lower().split()), name)
        return Result("SHOW", (Field(name.lower(), TEXT),), [(self.get(name),)])

    def _reset(self, statement: Statement) -> Result:
        name = statement.text.split(None, 1)[1].strip() if len(statement.tokens) > 1 else "all"
        if name.lower() == "all":
            self.reset()
        else:
            self.set(name, None)
        return Result("RESET")


def _assignment(text: str) -> tuple[str, str, str]:
    """Split ``name = value`` or ``name to value``."""
    head = text.split(None, 1)
    name, sign, value = text.partition("=")
    if len(head) == 2 and head[1].lower().startswith("to "):
        return head[0], "to", head[1][3:]
    return name.strip(), sign, value


def unquoted(text: str) -> str:
    """Return a value without its quotes.

    >>> unquoted("'it''s'"), unquoted("0.1")
    ("it's", '0.1')
    """
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text.strip('"')


def startup_options(text: str) -> list[tuple[str, str]]:
    r"""Return the settings of the startup parameter ``options``: ``-c tacit.epsilon=0.1``.

    >>> startup_options("-c tacit.epsilon=0.1 --tacit.tag=weekly\\ one")
    [('tacit.epsilon', '0.1'), ('tacit.tag', 'weekly one')]
    """
    words: list[str] = [""]
    signs = iter(text)
    for sign in signs:
        if sign == "\\":
            words[-1] += next(signs, "")
        elif sign.isspace():
            words.append("")
        else:
            words[-1] += sign
    words = [word for word in words if word]
    found = []
    while words:
        word = words.pop(0)
        if word == "-c" and words:
            word = words.pop(0)
        elif word.startswith(("-c", "--")):
            word = word[2:]
        name, sign, value = word.partition("=")
        if not sign:
            raise Problem("invalid_request", "options are written -c tacit.epsilon=0.1")
        found.append((name.replace("-", "_"), value))
    return found
