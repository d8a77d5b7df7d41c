"""Read a condition such as ``age >= 18 and not (state in ('NY', 'NJ') or pay / 2 is missing)``.

A small grammar and nothing else: what is read becomes a total expression
(:mod:`tacit.expressions.expression`), and no text is ever handed to Python or to the engine to
run::

    or     := and ("or" and)*
    and    := not ("and" not)*
    not    := "not" not | comparison
    comparison := sum [ ("=" | "==" | "!=" | "<" | "<=" | ">" | ">=") sum
                      | "between" sum "and" sum
                      | ["not"] "in" "(" sum ("," sum)* ")"
                      | ["not"] "like" 'text'
                      | "is" ["not"] "missing" ]
    sum     := product (("+" | "-") product)*
    product := value (("*" | "/") value)*
    value   := ("-" | "+") value | number | 'text' | true | false | "(" or ")"
             | date 'text'
             | column | `column with spaces` | function "(" argument ("," argument)* ")"
    argument := or | missing

A function is one of :mod:`tacit.expressions.functions` or ``abs``, ``clamp``, ``cut``, ``fill``,
``starts_with`` and the readings of text, its first operand in the place of the column:
``clamp(cost, 0, 100)``.  ``when(condition, value, other)`` chooses.
"""

from __future__ import annotations

import datetime
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

from tacit.errors import UsageError, did_you_mean
from tacit.expressions.expression import Expression, col, literal, when
from tacit.expressions.functions.table import FUNCTIONS
from tacit.expressions.node import constants_of

__all__ = ["columns_of", "computed", "condition"]

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    | (?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
    | `(?P<quoted>[^`]+)`
    | (?P<sign><=|>=|==|!=|<>|=|<|>|\(|\)|,|\+|-(?!-)|\*|/)
    | (?P<word>[^\W\d]\w*)
    )""",
    re.VERBOSE,
)
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_READINGS = ("read_number", "read_date", "read_time", "read_boolean")
_CALLS: dict[str, tuple[int, int]] = {
    **{name: (f.operands, len(f.checks)) for name, f in FUNCTIONS.items()},
    **dict.fromkeys(("abs", *_READINGS), (1, 0)),
    "clamp": (1, 2),
    "fill": (2, 0),
    "starts_with": (1, 1),
    "in_zone": (1, 1),
    "when": (3, 0),
}
"""Of each function: how many values it takes, and how many constants behind them."""
_DIGITS = 1000
_RESERVED = {"and", "or", "not", "in", "is", "between", "missing", "null", "true", "false"}
_DEEPEST = 50
_MOST_TOKENS = 1000
_HELP_DERIVED = "write it like: rate = cost / visits, or group = when(age < 18, 'young', 'old')"
_HELP = "write it like: age >= 18 and not (state in ('NY', 'NJ') or pay is missing)"


def condition(text: str) -> Expression:
    """Return the expression that a text spells.

    Raises:
        UsageError: text that is no condition; the message says where.

    >>> print(condition("age >= 18 and not sex is missing"))
    ((age >= 18) & ~(sex is missing))
    """
    return _Reader(text, "condition", _HELP).whole()


def computed(text: str) -> Expression:
    """Return the expression of a column that a text spells.

    Raises:
        UsageError: text that is none; the message says where.

    >>> computed("cost * 2")
    (cost * 2)
    """
    return _Reader(text, "column", _HELP_DERIVED).whole()


def columns_of(texts: Sequence[str]) -> dict[str, Expression]:
    """Return the columns that ``name = expression`` texts spell, by name, in their order.

    Raises:
        UsageError: a text that is none, or a name twice; the message says where.

    >>> columns_of(["share = clamp(cost / (visits + 1), 0, 100)"])
    {'share': clamp((cost / (visits + 1)), 0.0, 100.0)}
    """
    found: dict[str, Expression] = {}
    for text in texts:
        reader = _Reader(text, "column", _HELP_DERIVED)
        name = reader.named()
        if name in found:
            raise UsageError(f"the column {name!r} is given twice; name each once")
        found[name] = reader.whole()
    return found


class _Reader:
    def __init__(self, text: str, what: str, help: str) -> None:
        self.text, self.what, self.help = text, what, help
        self.tokens = list(_tokens(text, what, help))
        self.place = 0
        self.depth = 0

    def _wrong(self, expected: str) -> UsageError:
        kind, token, at = self.tokens[self.place]
        seen = "the end" if kind == "end" else repr(token)
        return UsageError(
            f"the {self.what} {self.text!r} has {seen} at character {at + 1}, where {expected} is "
            f"expected; {self.help}"
        )

    def _word(self, *words: str) -> bool:
        """Step over one of these words or signs, if it stands here."""
        kind, token, _ = self.tokens[self.place]
        here = kind in ("word", "sign") and token.lower() in words
        self.place += here
        return here

    def _require(self, *words: str) -> None:
        if not self._word(*words):
            raise self._wrong(" or ".join(repr(word) for word in words))

    def end(self) -> None:
        if self.tokens[self.place][0] != "end":
            raise self._wrong("'and', 'or' or the end")

    def whole(self) -> Expression:
        found = self.either()
        self.end()
        return found

    def named(self) -> str:
        """Step over ``name =``, and return the name."""
        kind, name, _ = self.tokens[self.place]
        if kind not in ("word", "quoted"):
            raise self._wrong("the name of a column")
        self.place += 1
        self._require("=")
        return name

    def either(self) -> Expression:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise UsageError(f"a {self.what} is nested at most {_DEEPEST} deep")
        found = self._both()
        while self._word("or"):
            found = found | self._both()
        self.depth -= 1
        return found

    def _both(self) -> Expression:
        found = self._single()
        while self._word("and"):
            found = found & self._single()
        return found

    def _single(self) -> Expression:
        negated = False
        while self._word("not"):
            negated = not negated
        found = self._comparison()
        return ~found if negated else found

    def _comparison(self) -> Expression:
        left = self._sum()
        kind, sign, _ = self.tokens[self.place]
        if kind == "sign" and sign in _COMPARE:
            self.place += 1
            compared: Expression = _COMPARE[sign](left, self._sum())
            return compared
        if self._word("between"):
            low = self._sum()
            self._require("and")
            return left.between(low, self._sum())
        if self._word("is"):
            negated = self._word("not")
            self._require("missing", "null")
            return ~left.is_null() if negated else left.is_null()
        negated = self._word("not")
        if self._word("like"):
            found = left.like(self._text())
        elif negated or self._word("in"):
            if negated:
                self._require("in", "like")
            found = left.is_in(self._listed())
        else:
            return left
        return ~found if negated else found

    def _listed(self) -> list[Expression]:
        self._require("(")
        found = [self._sum()]
        while self._word(","):
            found.append(self._sum())
        self._require(")")
        return found

    def _text(self) -> str:
        kind, token, _ = self.tokens[self.place]
        if kind != "text":
            raise self._wrong("a text in quotes")
        self.place += 1
        return token[1:-1].replace(token[0] * 2, token[0])

    def _date(self) -> datetime.date:
        """Read the text behind ``date``, as SQL writes a day."""
        text, at = self._text(), self.tokens[self.place - 1][2]
        try:
            return datetime.date.fromisoformat(text)
        except ValueError:
            raise UsageError(
                f"the {self.what} {self.text!r} has {text!r} at character {at + 1}, which is not "
                "a day; write it like: date '2024-06-01'"
            ) from None

    def _sum(self) -> Expression:
        found = self._product()
        while True:
            if self._word("+"):
                found = found + self._product()
            elif self._word("-"):
                found = found - self._product()
            else:
                return found

    def _product(self) -> Expression:
        found = self._signed()
        while True:
            if self._word("*"):
                found = found * self._signed()
            elif self._word("/"):
                found = found / self._signed()
            else:
                return found

    def _signed(self) -> Expression:
        """Read a value with its signs; a number below zero is a constant, as it is in Python.

        Two dashes side by side begin a comment in SQL: they are no sign.
        """
        negated = False
        while self.tokens[self.place][1] in ("-", "+") and self.tokens[self.place][0] == "sign":
            negated ^= self._word("-")
            self._word("+")
        number = self.tokens[self.place][0] == "number"
        found = self._value()
        if negated and number:
            return literal(-constants_of(found)[0])
        return -found if negated else found

    def _value(self) -> Expression:
        kind, token, _ = self.tokens[self.place]
        lowered = token.lower()
        if kind == "sign" and self._word("("):
            found = self.either()
            self._require(")")
            return found
        if kind in ("sign", "end") or (kind == "word" and lowered in _RESERVED - {"true", "false"}):
            raise self._wrong("a column, a number or a text")
        if kind == "text":
            return literal(self._text())
        self.place += 1
        if kind == "word" and lowered == "date" and self.tokens[self.place][0] == "text":
            return literal(self._date())
        if kind == "number":
            if len(token) > _DIGITS:
                raise UsageError(f"a number in a {self.what} has at most {_DIGITS} digits")
            return literal(int(token) if re.fullmatch(r"\d+", token) else float(token))
        if kind == "word" and self._word("("):
            return self._call(token)
        if kind == "word" and lowered in ("true", "false"):
            return literal(lowered == "true")
        return col(token)

    def _call(self, name: str) -> Expression:
        """Read the arguments of a function behind its bracket, and call it."""
        given = [self._argument()]
        while self._word(","):
            given.append(self._argument())
        self._require(")")
        if name == "cut":
            return given[0].cut([self._constant(name, g) for g in given[1:]])
        if name not in _CALLS:
            near = did_you_mean(name, ["cut", *_CALLS])
            raise UsageError(
                f"the {self.what} {self.text!r} calls {name!r}, which is not a function; {near}"
            )
        values, constants = _CALLS[name]
        if len(given) != values + constants:
            raise UsageError(
                f"{name} takes {values + constants} arguments, not {len(given)}, in {self.text!r}"
            )
        if name == "when":
            return when(given[0]).then(given[1]).otherwise(given[2])
        if name == "abs":
            return abs(given[0])
        behind = [self._constant(name, g) for g in given[values:]]
        called: Expression = getattr(given[0], name)(*given[1:values], *behind)
        return called

    def _argument(self) -> Expression:
        return literal(None) if self._word("missing", "null") else self.either()

    def _constant(self, name: str, given: Expression) -> Any:
        if given.operation != "literal":
            raise UsageError(f"{name} takes constants after the column, and {given} is not one")
        return given.parameters[0]


def _tokens(text: str, what: str, help: str) -> list[tuple[str, str, int]]:
    found: list[tuple[str, str, int]] = []
    place = 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        if match is None:
            at = place + len(text[place:]) - len(text[place:].lstrip())
            raise UsageError(
                f"the {what} {text!r} has {text[at]!r} at character {at + 1}, which has no "
                f"meaning there; {help}"
            )
        kind = str(match.lastgroup)
        found.append((kind, match[kind], match.start(kind)))
        place = match.end()
        if len(found) > _MOST_TOKENS:
            raise UsageError(f"a {what} has at most {_MOST_TOKENS} words and signs")
    return [*found, ("end", "", len(text))]
