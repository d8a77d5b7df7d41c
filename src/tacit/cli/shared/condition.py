"""Read a condition such as ``age >= 18 and not (state in ('NY', 'NJ') or pay is missing)``.

A small grammar and nothing else: what is read becomes a total expression
(:mod:`tacit.expressions.expression`), and no text is ever handed to Python or to the engine to
run::

    or     := and ("or" and)*
    and    := not ("and" not)*
    not    := "not" not | "(" or ")" | comparison
    comparison := value [ ("=" | "==" | "!=" | "<" | "<=" | ">" | ">=") value
                        | "between" value "and" value
                        | ["not"] "in" "(" value ("," value)* ")"
                        | "is" ["not"] "missing" ]
    value  := number | 'text' | "text" | true | false | column | `column with spaces`
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from tacit.errors import UsageError
from tacit.expressions.expression import Expression, col, literal

__all__ = ["condition"]

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    | (?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
    | `(?P<quoted>[^`]+)`
    | (?P<sign><=|>=|==|!=|<>|=|<|>|\(|\)|,)
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
_DIGITS = 1000
_RESERVED = {"and", "or", "not", "in", "is", "between", "missing", "null", "true", "false"}
_DEEPEST = 50
_MOST_TOKENS = 1000
_HELP = "write it like: age >= 18 and not (state in ('NY', 'NJ') or pay is missing)"


def condition(text: str) -> Expression:
    """Return the expression that a text spells.

    Raises:
        UsageError: text that is no condition; the message says where.

    >>> print(condition("age >= 18 and not sex is missing"))
    ((age >= 18) & ~(sex is missing))
    """
    reader = _Reader(text)
    found = reader.either()
    reader.end()
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(_tokens(text))
        self.place = 0
        self.depth = 0

    def _wrong(self, expected: str) -> UsageError:
        kind, token, at = self.tokens[self.place]
        seen = "the end" if kind == "end" else repr(token)
        return UsageError(
            f"the condition {self.text!r} has {seen} at character {at + 1}, where {expected} is "
            f"expected; {_HELP}"
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

    def either(self) -> Expression:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise UsageError(f"a condition is nested at most {_DEEPEST} deep")
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
        if self._word("("):
            found = self.either()
            self._require(")")
        else:
            found = self._comparison()
        return ~found if negated else found

    def _comparison(self) -> Expression:
        left = self._value()
        kind, sign, _ = self.tokens[self.place]
        if kind == "sign" and sign in _COMPARE:
            self.place += 1
            compared: Expression = _COMPARE[sign](left, self._value())
            return compared
        if self._word("between"):
            low = self._value()
            self._require("and")
            return left.between(low, self._value())
        if self._word("is"):
            negated = self._word("not")
            self._require("missing", "null")
            return ~left.is_null() if negated else left.is_null()
        negated = self._word("not")
        if negated or self._word("in"):
            if negated:
                self._require("in")
            found = left.is_in(self._listed())
            return ~found if negated else found
        return left

    def _listed(self) -> list[Expression]:
        self._require("(")
        found = [self._value()]
        while self._word(","):
            found.append(self._value())
        self._require(")")
        return found

    def _value(self) -> Expression:
        kind, token, _ = self.tokens[self.place]
        lowered = token.lower()
        if kind in ("sign", "end") or (kind == "word" and lowered in _RESERVED - {"true", "false"}):
            raise self._wrong("a column, a number or a text")
        self.place += 1
        if kind == "number":
            if len(token) > _DIGITS:
                raise UsageError(f"a number in a condition has at most {_DIGITS} digits")
            return literal(int(token) if re.fullmatch(r"[-+]?\d+", token) else float(token))
        if kind == "text":
            return literal(token[1:-1].replace(token[0] * 2, token[0]))
        if kind == "word" and lowered in ("true", "false"):
            return literal(lowered == "true")
        return col(token)


def _tokens(text: str) -> list[tuple[str, str, int]]:
    found: list[tuple[str, str, int]] = []
    place = 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        if match is None:
            at = place + len(text[place:]) - len(text[place:].lstrip())
            raise UsageError(
                f"the condition {text!r} has {text[at]!r} at character {at + 1}, which has no "
                f"meaning there; {_HELP}"
            )
        kind = str(match.lastgroup)
        found.append((kind, match[kind], match.start(kind)))
        place = match.end()
        if len(found) > _MOST_TOKENS:
            raise UsageError(f"a condition has at most {_MOST_TOKENS} words and signs")
    return [*found, ("end", "", len(text))]
