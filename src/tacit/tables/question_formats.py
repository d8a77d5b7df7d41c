"""Questions as text, TOML and JSON."""

from __future__ import annotations

import datetime
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tacit.accounting.budget import Budget, read_loss
from tacit.arithmetic.exact import Number
from tacit.errors import UsageError, did_you_mean
from tacit.expressions.expression import Expression, called, col, literal, when
from tacit.expressions.functions import FUNCTIONS, constants_of
from tacit.tables.dataset.table import mapping
from tacit.tables.plan.price import Amount, Price
from tacit.tables.question import Question
from tacit.tables.session import Session
from tacit.tables.statistics.base import TableStatistic, statistics
from tacit.tables.statistics.method import Options

# A join as the command line and plans write it, such as ``patients`` or ``sites on home``.
#
# The words are those of SQL, in the same meaning; what is left out is what
# :meth:`tacit.tables.question.Question.join` does by default.


_FORM = re.compile(r"(?:(left|inner)\s+)?(\S.*?)(?:\s+on\s+(\S.*))?")


class JoinText(NamedTuple):
    """A join, as :meth:`tacit.tables.question.Question.join` takes it."""

    table: str
    on: tuple[str, ...] | None = None
    how: str | None = None


def join_text(text: str) -> JoinText:
    """Read a join.

    >>> join_text("patients")
    JoinText(table='patients', on=None, how=None)
    >>> join_text("inner sites on home, year")
    JoinText(table='sites', on=('home', 'year'), how='inner')
    """
    match = _FORM.fullmatch(text.strip())
    columns = None if match is None or match[3] is None else match[3].split(",")
    if match is None or (columns is not None and not all(map(str.strip, columns))):
        raise UsageError(
            f"a join is the name of a table, such as patients, 'left patients' or 'sites on home', "
            f"not {text!r}"
        )
    on = None if columns is None else tuple(map(str.strip, columns))
    return JoinText(match[2], on, match[1])


# One question in writing: what is asked of a table, and what the answer may spend.


@dataclass(frozen=True)
class QuestionRequest:
    """One question: what is asked, what it may spend, where the answer goes."""

    aggregates: Mapping[str, TableStatistic]
    joins: tuple[JoinText, ...] = ()
    where: tuple[Expression, ...] = ()
    derived: Mapping[str, Expression] = field(default_factory=dict)
    per_person: Mapping[str, TableStatistic] = field(default_factory=dict)
    where_person: tuple[Expression, ...] = ()
    cuts: Mapping[str, Expression] = field(default_factory=dict)
    by: tuple[str, ...] = ()
    keys: Any = None
    rounds: int = 1
    sql: str | None = None  # the question in SQL, instead of everything before ``epsilon``
    epsilon: Amount | None = None
    delta: Number | None = None
    rho: Amount | None = None
    total: Number | None = None
    free: bool = False  # whether it is answered from earlier releases, and not released
    tag: str | None = None
    name: str | None = None
    plot: str | None = None
    certificates: tuple[str, ...] = ()
    flag: str = ""  # what stands before a field where it was typed: ``--`` on the command line

    @property
    def parts(self) -> tuple[QuestionRequest, ...]:
        """The questions whose answers go somewhere: this one."""
        return (self,)

    def question(self, session: Session) -> Question:
        """Return the question to a session."""
        if self.sql is not None:
            return session.sql(self.sql)
        if not self.aggregates:
            raise UsageError(
                self._words(
                    "nothing is asked: say --count, --mean age:0:100 or another; see --help",
                    "nothing is asked: give answers, such as n = { statistic = 'count' }",
                )
            )
        built = self._rows(session).agg(**self.aggregates)
        if self.by:
            keys = self._keys(built)
            for name in self.by if keys is None else ():
                if name not in built.schema:
                    raise UsageError(
                        f"there is no column {name!r}; {did_you_mean(name, built.schema)}"
                    )
                if built.schema[name].kind in ("float", "decimal"):
                    raise UsageError(
                        f"{name!r} holds numbers with fractions, too many values to be groups: "
                        + self._words(
                            f"cut it, --cut {name}:0,10,20 --by {name}_group, or list whole "
                            "numbers, --keys 1,2,3, or those with a label in the file, "
                            "--keys labels",
                            "group by bins of it (cut), or list whole numbers, or take those "
                            "with a label in the file (keys)",
                        )
                    )
            if keys is None and self.delta is None:
                raise UsageError(
                    f"the values of {', '.join(self.by)} are not known to be public. Either list "
                    + self._words("them (--keys a,b,c or --keys-file public.csv), or ", "keys, or ")
                    + "release only the groups above a threshold (partition selection), which "
                    + self._words(
                        "takes a delta: --delta 1e-7, from a budget with --budget-delta",
                        "takes a delta, from a budget that has one",
                    )
                )
            built = built.group_by(*self.by, keys=keys, rounds=self.rounds)
        elif self.rounds != 1:
            raise UsageError(
                "rounds are for groups that nobody listed: name the column"
                + self._words(", --by plan", " in by")
            )
        return built

    def _words(self, typed: str, in_fields: str) -> str:
        """Return words for whoever typed options, or for a reader of fields."""
        return typed if self.flag else in_fields

    def _rows(self, session: Session) -> Question:
        """Return the rows, or the people, that the question is about."""
        if self.where_person and not self.per_person:
            raise UsageError(
                self._words("--where-person", "where_person")
                + " chooses among people, in a table of one row per person: make it with "
                + self._words("--per-person total=sum:cost:0:5000", "per_person")
            )
        rows = session.filter()
        for join in self.joins:
            rows = rows.join(join.table, on=join.on, how=join.how)
        for name, expression in self.derived.items():
            rows = rows.with_columns(**{name: expression})
        if self.per_person:
            rows = _filtered(rows, self.where).per_person(**self.per_person)
        for name, cut in self.cuts.items():
            rows = rows.with_columns(**{name: cut})
        return _filtered(rows, self.where_person if self.per_person else self.where)

    def _keys(self, question: Question) -> Any:
        """Return the public keys: given, declared, or those that a computed column can have."""
        made = {**({} if self.per_person else self.derived), **self.cuts}
        known = [question.declared.keys_of([name], list(made.items())) or {} for name in self.by]
        public = {name: values for declared in known for name, values in declared.items()}
        keys = self.keys(question.schema) if callable(self.keys) else self.keys
        if keys is None:
            return public if set(public) == set(self.by) else None
        return {**public, **keys} if isinstance(keys, Mapping) else keys

    @property
    def price(self) -> Price:
        """What the release may spend and its tag, as the methods of a question take them."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rho": self.rho,
            "total": self.total,
            "tag": self.tag,
        }

    def loss(self) -> Budget | None:
        """Return what the release may spend in all; None where that is not said."""
        flag = self.flag
        amounts = (self.epsilon, self.delta, self.rho, self.total)
        if self.free and any(amount is not None for amount in amounts):
            raise UsageError(
                f"{flag}free takes no price: it answers from earlier releases, at no cost"
            )
        whole = [self.total if isinstance(e, Mapping) else e for e in (self.epsilon, self.rho)]
        weighted = any(isinstance(each, Mapping) for each in (self.epsilon, self.rho))
        if weighted is (self.total is None):
            raise UsageError(
                f"{flag}total goes with weights, and weights with a {flag}total: "
                + self._words(
                    "--epsilon n=1,cost=3 --total 0.5",
                    "epsilon = { n = 1, cost = 3 } and a total of 0.5",
                )
            )
        return read_loss(whole[0], self.delta, whole[1], flag)


def _filtered(rows: Question, conditions: Sequence[Expression]) -> Question:
    """Return the rows that conditions keep, which were read from text: a word names a column."""
    for condition in conditions:
        for name in sorted(condition.columns() - {*rows.schema}):
            near = did_you_mean(name, rows.schema)
            remedy = "" if near.endswith("?") else f". A text is written in quotes: '{name}'"
            raise UsageError(f"there is no column {name!r}; {near}{remedy}")
    return rows.filter(*conditions)


# Read a condition such as ``age >= 18 and not (state in ('NY', 'NJ') or pay / 2 is missing)``.
#
# A small grammar and nothing else: what is read becomes a total expression
# (:mod:`tacit.expressions.expression`), and no text is ever handed to Python or to the engine to
# run.  The parser of SQL (:mod:`tacit.sql`) is not used here, since a text would mean something
# else there: ``not age < 18`` keeps the rows without an age, as in Python, and SQL leaves them out;
# ``"a"`` is a text, and in SQL a column; functions have the names of Python.  It is an extra too,
# and takes a thousand times as long to load as a condition takes to read::
#
#     or     := and ("or" and)*
#     and    := not ("and" not)*
#     not    := "not" not | comparison
#     comparison := sum [ ("=" | "==" | "!=" | "<" | "<=" | ">" | ">=") sum
#                       | "between" sum "and" sum
#                       | ["not"] "in" "(" sum ("," sum)* ")"
#                       | ["not"] "like" 'text'
#                       | "is" ["not"] "missing" ]
#     sum     := product (("+" | "-") product)*
#     product := value (("*" | "/") value)*
#     value   := ("-" | "+") value | number | 'text' | true | false | "(" or ")"
#              | date 'text'
#              | column | `column with spaces` | function "(" argument ("," argument)* ")"
#     argument := or | missing
#
# A function is one of :mod:`tacit.expressions.functions` or ``abs``, ``clamp``, ``cut``, ``fill``,
# ``starts_with`` and the readings of text, its first operand in the position of the column:
# ``clamp(cost, 0, 100)``.  ``when(condition, value, other)`` chooses.


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
# A day without quotes: as arithmetic it is a number near 2000, with which no day compares.
_BARE_DAY = re.compile(r"\s*(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))(?![\w.])")
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
# Of each function: how many values it takes, and how many constants behind them.
_CALLS: dict[str, tuple[int, int]] = {
    **{name: (f.operands, len(f.checks)) for name, f in FUNCTIONS.items()},
    **dict.fromkeys(("abs", *_READINGS), (1, 0)),
    "clamp": (1, 2),
    "fill": (2, 0),
    "starts_with": (1, 1),
    "in_zone": (1, 1),
    "when": (3, 0),
}
_DIGITS = 1000
_RESERVED = {"and", "or", "not", "in", "is", "between", "missing", "null", "true", "false"}
_DEEPEST = 50
_MAX_TOKENS = 1000
_HELP_DERIVED = "write it like: rate = cost / visits, or group = when(age < 18, 'young', 'old')"
_HELP = "write it like: age >= 18 and not (state in ('NY', 'NJ') or pay is missing)"


def condition(text: str) -> Expression:
    """Return the expression that a text spells.

    >>> print(condition("age >= 18 and not sex is missing"))
    ((age >= 18) & ~(sex is missing))
    """
    return _ConditionReader(text, "condition", _HELP).whole()


def computed(text: str) -> Expression:
    """Return the expression of a column that a text spells.

    >>> computed("cost * 2")
    (cost * 2)
    """
    return _ConditionReader(text, "column", _HELP_DERIVED).whole()


def columns_of(texts: Sequence[str]) -> dict[str, Expression]:
    """Return the columns that ``name = expression`` texts spell, by name, in their order.

    >>> columns_of(["share = clamp(cost / (visits + 1), 0, 100)"])
    {'share': (cost / (visits + 1)).clip(0.0, 100.0)}
    """
    columns: dict[str, Expression] = {}
    for text in texts:
        reader = _ConditionReader(text, "column", _HELP_DERIVED)
        name = reader.named()
        if name in columns:
            raise UsageError(f"the column {name!r} is given twice; name each once")
        columns[name] = reader.whole()
    return columns


class _ConditionReader:
    def __init__(self, text: str, what: str, help: str) -> None:
        self.text, self.what, self.help = text, what, help
        self.tokens = list(_tokens(text, what, help))
        self.position = 0
        self.depth = 0

    def _wrong(self, expected: str) -> UsageError:
        kind, token, at = self.tokens[self.position]
        seen = "the end" if kind == "end" else repr(token)
        return UsageError(
            f"the {self.what} {self.text!r} has {seen} at character {at + 1}, where {expected} is "
            f"expected; {self.help}"
        )

    def _word(self, *words: str) -> bool:
        """Step over one of these words or signs, if it stands here."""
        kind, token, _ = self.tokens[self.position]
        here = kind in ("word", "sign") and token.lower() in words
        self.position += here
        return here

    def _require(self, *words: str) -> None:
        if not self._word(*words):
            raise self._wrong(" or ".join(repr(word) for word in words))

    def end(self) -> None:
        if self.tokens[self.position][0] != "end":
            raise self._wrong("'and', 'or' or the end")

    def whole(self) -> Expression:
        condition = self.either()
        self.end()
        return condition

    def named(self) -> str:
        """Step over ``name =``, and return the name."""
        kind, name, _ = self.tokens[self.position]
        if kind not in ("word", "quoted"):
            raise self._wrong("the name of a column")
        self.position += 1
        self._require("=")
        return name

    def either(self) -> Expression:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise UsageError(f"a {self.what} is nested at most {_DEEPEST} deep")
        condition = self._both()
        while self._word("or"):
            condition = condition | self._both()
        self.depth -= 1
        return condition

    def _both(self) -> Expression:
        condition = self._single()
        while self._word("and"):
            condition = condition & self._single()
        return condition

    def _single(self) -> Expression:
        negated = False
        while self._word("not"):
            negated = not negated
        condition = self._comparison()
        return ~condition if negated else condition

    def _comparison(self) -> Expression:
        left = self._sum()
        kind, sign, _ = self.tokens[self.position]
        if kind == "sign" and sign in _COMPARE:
            self.position += 1
            compared: Expression = _COMPARE[sign](left, self._sum())
            return compared
        if self._word("between"):
            low = self._sum()
            self._require("and")
            return left.is_between(low, self._sum())
        if self._word("is"):
            negated = self._word("not")
            self._require("missing", "null")
            return ~left.is_null() if negated else left.is_null()
        negated = self._word("not")
        if self._word("like"):
            condition = left.str.like(self._text())
        elif negated or self._word("in"):
            if negated:
                self._require("in", "like")
            condition = left.is_in(self._listed())
        else:
            return left
        return ~condition if negated else condition

    def _listed(self) -> list[Expression]:
        self._require("(")
        values = [self._sum()]
        while self._word(","):
            values.append(self._sum())
        self._require(")")
        return values

    def _text(self) -> str:
        kind, token, _ = self.tokens[self.position]
        if kind != "text":
            raise self._wrong("a text in quotes")
        self.position += 1
        return token[1:-1].replace(token[0] * 2, token[0])

    def _date(self) -> datetime.date:
        """Read the text behind ``date``, as SQL writes a day."""
        text, at = self._text(), self.tokens[self.position - 1][2]
        try:
            return datetime.date.fromisoformat(text)
        except ValueError:
            raise UsageError(
                f"the {self.what} {self.text!r} has {text!r} at character {at + 1}, which is not "
                "a day; write it like: date '2024-06-01'"
            ) from None

    def _sum(self) -> Expression:
        value = self._product()
        while True:
            if self._word("+"):
                value = value + self._product()
            elif self._word("-"):
                value = value - self._product()
            else:
                return value

    def _product(self) -> Expression:
        value = self._signed()
        while True:
            if self._word("*"):
                value = value * self._signed()
            elif self._word("/"):
                value = value / self._signed()
            else:
                return value

    def _signed(self) -> Expression:
        """Read a value with its signs; a number below zero is a constant, as it is in Python."""
        # Two dashes side by side begin a comment in SQL: they are no sign.
        negated = False
        while (
            self.tokens[self.position][1] in ("-", "+") and self.tokens[self.position][0] == "sign"
        ):
            negated ^= self._word("-")
            self._word("+")
        number = self.tokens[self.position][0] == "number"
        value = self._value()
        if negated and number:
            return literal(-constants_of(value)[0])
        return -value if negated else value

    def _value(self) -> Expression:
        kind, token, _ = self.tokens[self.position]
        lowered = token.lower()
        if kind == "sign" and self._word("("):
            value = self.either()
            self._require(")")
            return value
        if kind in ("sign", "end") or (kind == "word" and lowered in _RESERVED - {"true", "false"}):
            raise self._wrong("a column, a number or a text")
        if kind == "text":
            return literal(self._text())
        self.position += 1
        if kind == "word" and lowered == "date" and self.tokens[self.position][0] == "text":
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
        return called(name, given[0], *given[1:values], *behind)

    def _argument(self) -> Expression:
        return literal(None) if self._word("missing", "null") else self.either()

    def _constant(self, name: str, given: Expression) -> Any:
        if given.operation != "literal":
            raise UsageError(f"{name} takes constants after the column, and {given} is not one")
        return given.parameters[0]


def _tokens(text: str, what: str, help: str) -> list[tuple[str, str, int]]:
    tokens: list[tuple[str, str, int]] = []
    position = 0
    while text[position:].strip():
        if day := _BARE_DAY.match(text, position):
            raise UsageError(
                f"the {what} {text!r} has {day[1]} at character {day.start(1) + 1}, which is a "
                f"subtraction without quotes; write a day as '{day[1]}'"
            )
        match = _TOKEN.match(text, position)
        if match is None:
            at = position + len(text[position:]) - len(text[position:].lstrip())
            raise UsageError(
                f"the {what} {text!r} has {text[at]!r} at character {at + 1}, which has no "
                f"meaning there; {help}"
            )
        kind = str(match.lastgroup)
        tokens.append((kind, match[kind], match.start(kind)))
        position = match.end()
        if len(tokens) > _MAX_TOKENS:
            raise UsageError(f"a {what} has at most {_MAX_TOKENS} words and signs")
    return [*tokens, ("end", "", len(text))]


# The fields of one question, as a plan has them in ``[[question]]`` and a service in JSON.


# What is asked, where it is not in SQL.
ROWS = (
    *("join", "with", "where", "per_person", "where_person", "cut", "by", "keys"),
    *("rounds", "answers"),
)
PRICE = ("epsilon", "delta", "rho", "total", "tag")  # what it may spend
_BOUNDS = ("lower", "upper")


def read_question(
    question: Mapping[str, Any],
    declared: bool,
    keys: Callable[[Sequence[str]], Any] | None = None,
) -> QuestionRequest:
    """Return the question that fields describe.

    >>> asked = read_question(
    ...     {"answers": {"n": {"statistic": "count"}}, "where": "age >= 18", "epsilon": "1/2"}, True
    ... )
    >>> str(asked.aggregates["n"]), [str(where) for where in asked.where]
    ('count()', ['(age >= 18)'])
    """
    # keys: reads keys that stand elsewhere, for the grouping columns; None where none do.
    answers = mapping(question.get("answers", {}), "answers")
    sql = text_of(question, "sql", "[[question]]")
    beside = sorted(set(ROWS) & set(question)) if sql is not None else []
    if beside or (sql is not None and keys is not None):
        spec = beside[0] if beside else "keys_file"
        raise UsageError(f"sql says all that is asked: leave {spec} out, or write it in sql")
    where = _conditions(question, "where")
    people = mapping(question.get("per_person", {}), "per_person")
    by = listed(question, "by")
    made = _columns(question)
    declared = declared or bool(people) or bool(made)
    request = QuestionRequest(
        aggregates={label: _answer(spec, label, declared) for label, spec in answers.items()},
        joins=tuple(map(join_text, listed(question, "join"))),
        derived=made,
        where=where,
        per_person={label: _answer(spec, label, True) for label, spec in people.items()},
        where_person=_conditions(question, "where_person"),
        cuts=_cuts(question),
        by=by,
        keys=_keys(question, by, keys),
        rounds=question.get("rounds", 1),
        sql=sql,
        epsilon=question.get("epsilon"),
        delta=question.get("delta"),
        rho=question.get("rho"),
        total=question.get("total"),
        tag=text_of(question, "tag", "[[question]]"),
    )
    request.loss()
    return request


def _conditions(question: Mapping[str, Any], name: str) -> tuple[Expression, ...]:
    text = text_of(question, name, "[[question]]")
    return () if text is None else (condition(text),)


def _answer(spec: Any, label: str, declared: bool) -> TableStatistic:
    if not isinstance(spec, Mapping):
        raise _malformed(label)
    fields = mapping(spec, f"the answer {label!r}")
    if isinstance(fields.get("bounds"), list):
        raise UsageError(
            f"the answer {label!r} has its bounds as lower = 0, upper = 100; bounds are a table "
            "for several columns, { age = [0, 100] }"
        )
    for name in ("statistic", "column", "y", "method", "distribution"):
        text_of(fields, name, f"the answer {label!r}")
    if not isinstance(fields.get("edges", []), list):
        raise UsageError(f"edges in the answer {label!r} must be a list such as [0, 18, 65]")
    mapping(fields.get("bounds", {}), f"bounds in the answer {label!r}")
    return statistic(fields, label, declared)


def _columns(question: Mapping[str, Any]) -> dict[str, Expression]:
    spec = mapping(question.get("with", {}), "with")
    return {name: computed(str(text_of(spec, name, "with"))) for name in spec}


def _cuts(question: Mapping[str, Any]) -> dict[str, Expression]:
    cuts = {}
    for name, spec in mapping(question.get("cut", {}), "cut").items():
        part = mapping(spec, f"the cut {name!r}")
        if set(part) != {"column", "edges"} or not isinstance(part["edges"], list):
            raise UsageError(
                f'the cut {name!r} must be like {{ column = "age", edges = [0, 18, 65] }}'
            )
        column = text_of(part, "column", f"the cut {name!r}", required=True)
        cuts[name] = col(str(column)).cut(part["edges"])
    return cuts


def _keys(
    question: Mapping[str, Any],
    by: Sequence[str],
    elsewhere: Callable[[Sequence[str]], Any] | None,
) -> Any:
    keys = question.get("keys")
    if (keys is not None or elsewhere is not None) and not by:
        raise UsageError('keys are the values of a grouping column: by = ["column"]')
    if keys is not None and elsewhere is not None:
        raise UsageError("give keys or keys_file, not both")
    return keys if elsewhere is None else elsewhere(by)


def _malformed(label: str) -> UsageError:
    return UsageError(
        f"the answer {label!r} must be like "
        '{ statistic = "mean", column = "age", lower = 0, upper = 100 }'
    )


def statistic(described: object, label: str, declared: bool = False) -> TableStatistic:
    """Return the statistic that a table of a plan describes.

    >>> print(statistic({"statistic": "mean", "column": "age", "lower": 0, "upper": 99}, "age"))
    mean(age, 0, 99)
    """
    if not isinstance(described, Mapping) or "statistic" not in described:
        raise _malformed(label)
    name = described["statistic"]
    known = {each.kind: each for each in statistics(of_plans=True)}
    if name not in known:
        elsewhere = {also: each.kind for each in statistics() for also in each.elsewhere}
        meant = elsewhere.get(str(name).lower(), str(name))
        raise UsageError(f"the answer {label!r} asks {name!r}; {did_you_mean(meant, known)}")
    of = known[name]
    more = (*of.optional, *(Options.__annotations__ if of.methods else ()))
    fields = (*of.fields, *more)
    for given in described:
        if given not in ("statistic", *fields):
            raise UsageError(
                f"the answer {label!r} has a field {given!r}; {did_you_mean(given, fields)}"
            )
    described = {**of.bare, **described}
    missing = [field for field in of.fields if field not in described]
    of_column = {*_BOUNDS, "bounds", "keys"}  # what a declared column has
    if declared and {*missing} & of_column in ({*_BOUNDS}, {"bounds"}, {"keys"}):
        missing = [field for field in missing if field not in of_column]
    if missing:
        raise UsageError(f"the answer {label!r} ({name}) lacks {', '.join(missing)}")
    options = {field: described[field] for field in more if field in described}
    given = [described[field] for field in of.fields if field in described]
    made: TableStatistic = of.make(*given, **options)
    return made


def text_of(part: Mapping[str, Any], name: str, where: str, required: bool = False) -> str | None:
    """Return a field that is text, or None where it is not said."""
    value = part.get(name)
    if value is None and required:
        raise UsageError(f"{where} lacks {name}")
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{name} in {where} must be text in quotes")
    return value


def listed(part: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a field that is a text or a list of texts."""
    value = part.get(name, [])
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise UsageError(f"{name} must be a text or a list of texts")
    return tuple(listed)
