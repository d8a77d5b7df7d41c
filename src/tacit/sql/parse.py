"""SQL text to a checked syntax tree."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NoReturn

from tacit.calls import rewritten
from tacit.errors import UnsupportedQueryError, UsageError, need

# Positions in the text, and errors at them.


def position_of(node: Any) -> tuple[int, int]:
    """Return line and column of the first word below a node with a known position."""
    # If there is none below, those of the nearest node above.
    while node is not None:
        known = [each.meta for each in node.walk() if "line" in each.meta]
        if known:
            first = min(known, key=lambda meta: int(meta["start"]))
            wide = int(first["end"]) - int(first["start"])
            return int(first["line"]), max(1, int(first["col"]) - wide)
        node = node.parent
    return 1, 1


def refuse(node: Any, reason: str) -> NoReturn:
    """Raise the error of a part of a query."""
    raise UnsupportedQueryError(reason, position_of(node))


def only(node: Any, *understood: str) -> None:
    """Raise if a node has arguments that are not translated."""
    for name, argument in node.args.items():
        if (
            name not in understood
            and argument is not None
            and argument is not False
            and argument != []
        ):
            reason = _ARGUMENTS.get(name.rstrip("_"))
            what = type(node).__name__.upper()
            refuse(node, reason or f"{name.rstrip('_')} of {what} has no translation; leave it out")


@contextmanager
def placed(node: Any) -> Iterator[None]:
    """Add the position of a part of the query to an error that it causes in the question."""
    try:
        yield
    except UnsupportedQueryError:
        raise
    except UsageError as error:
        raise UnsupportedQueryError(_in_sql(str(error)), position_of(node)) from None


def _in_sql(message: str) -> str:
    """Return a message in which an aggregate with bounds is written as in SQL."""
    kind, computed, rest = message.partition(_NONE_FOLLOW)
    if computed:  # of an expression, which stands in SQL at the position of the error
        given = rest.rpartition(": give them, ")[2]
        message = f"{kind.partition(' ')[0]} of this needs public bounds: give them, "
        message += _CLIP.sub("", given)
    return rewritten(message, _bounded)


_NONE_FOLLOW = " needs public bounds: none follow for "
_CLIP = re.compile(r", or clip it, \(\.\.\.\)\.clip\([^()]*\)")


def _bounded(name: str, given: list[str], bounds: Mapping[str, tuple[str, str]]) -> str | None:
    for column, (low, high) in bounds.items():  # of a statistic of two columns, those of one
        return f"clamp({column}, {low}, {high}) inside it"
    if len(given) != 3:
        return None
    column, low, high = given
    inner = f"clamp({column}, {low}, {high})"
    if name in _BOUNDED:
        return f"{_BOUNDED[name]}({inner})"
    return f"{inner} inside it" if high.isdigit() else None


# SQL names of the statistics that need bounds.
_BOUNDED = {
    **{name: name for name in ("sum", "median", "mad", "min", "max")},
    "geometric_mean": "geomean",
    "mean": "avg",
    "var": "var_samp",
    "std": "stddev",
}


# Messages for arguments without a translation, with the nearest accepted form.
_ARGUMENTS = {
    "distinct": "DISTINCT has no translation: group by the columns, and ask for count(*)",
    "qualify": "windows have no translation: group by columns instead",
    "windows": "windows have no translation: group by columns instead",
    "into": "SELECT INTO writes a table; a question only reads: leave INTO out",
    "locks": "FOR UPDATE and its like lock rows; a question only reads: leave it out",
    "sample": "samples have no translation: ask all rows, and the noise protects them",
    "laterals": "LATERAL has no translation: write the subquery in FROM",
    "pivots": "PIVOT has no translation: group by the column, and turn the answer round yourself",
    "recursive": "a recursive expression is not row by row: write its steps out",
    "materialized": "MATERIALIZED is for an engine, which never sees this text: leave it out",
    "hint": "hints are for an engine, which never sees this text: leave it out",
    "limit_options": "LIMIT takes a number of groups: limit 10",
    "direction": "FETCH FIRST has no translation: limit 10",
    "query": "a subquery is allowed only in FROM, row by row: IN takes a list of values",
    "db": "a table is named only by its name: leave the schema out",
    "catalog": "a table is named only by its name: leave the database out",
    "kind": "this kind of join or select has no translation: write JOIN or LEFT JOIN",
    "method": "NATURAL and ASOF joins have no translation: write JOIN ... ON a.key = b.key",
    "rollup": "ROLLUP has no translation: ask one query for each grouping",
    "cube": "CUBE has no translation: ask one query for each grouping",
    "grouping_sets": "GROUPING SETS have no translation: ask one query for each grouping",
    "all": "GROUP BY ALL has no translation: name the columns",
    "with_fill": "WITH FILL has no translation: public keys already give every group",
    "except": "* EXCEPT has no translation: name the columns",
    "replace": "* REPLACE has no translation: name the columns",
    "rename": "* RENAME has no translation: name the columns",
}


# From text to a tree: the limits of a text, and the parser's errors in plain words.
#
# The dialect is DuckDB's.  What decides whether a text is read at all is before the parser: its
# size, its bytes, how deep its parentheses are, and that it starts as a query does (the parser logs
# what it does not know of other statements; nothing of that kind reaches it).  Comments become
# spaces before anything else looks at the text, so that none is in a question, an error or a log.


MAX_LENGTH = 65_536  # characters of a query
_MAX_WORDS = 20_000
_MAX_DEPTH = 40  # of parentheses, CASE and chains of signs
_FIRST_TOKENS = ("SELECT", "WITH", "FROM", "L_PAREN")
_CHANGES = {
    *("INSERT", "UPDATE", "DELETE", "MERGE", "CREATE", "DROP", "ALTER", "TRUNCATE", "COPY", "SET"),
    *("ATTACH", "DETACH", "INSTALL", "LOAD", "EXPORT", "IMPORT", "PRAGMA", "GRANT", "REVOKE"),
    *("CALL", "EXECUTE", "PREPARE", "VACUUM", "BEGIN", "COMMIT", "ROLLBACK", "USE", "COMMAND"),
}
# How many joins may be before the condition of the first: the parser reads each of them twice,
# with and without those after it, so that thirty in a row took hours.
_MAX_OPEN_JOINS = 6
_JOINS = {"JOIN", "STRAIGHT_JOIN"}
_CHAINED = {"NOT", "DASH", "PLUS", "TILDE", "TILDA", "CASE"}


def parse(text: str) -> Any:
    """Return the tree of one query."""
    if not isinstance(text, str):
        raise UsageError(f"a query is text, not {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise UnsupportedQueryError(f"a query has at most {MAX_LENGTH} characters: split it")
    _check_characters(text)
    trees = [tree for tree in _trees(without_comments(text)) if tree is not None]
    if len(trees) != 1:
        raise UnsupportedQueryError("ask one query at a time")
    return trees[0]


def without_comments(text: str) -> str:
    """Return a query with spaces in place of its comments: every word stays where it was.

    >>> without_comments("select '--' /* all /* of */ them */ -- so")
    "select '--'                              "
    """
    # Line comments, block comments (nested ones too), hints and the comments of templates
    # (``{# ... #}``) are comments; within quotes they are text.  All that is between two words of
    # the tokenizer is white space and comments, so only the words remain.
    if not any(mark in text for mark in _OPEN):
        return text
    parts, end = [], 0
    for token in _tokens(text):
        parts += [_BETWEEN.sub(" ", text[end : token.start]), text[token.start : token.end + 1]]
        end = token.end + 1
    parts.append(_BETWEEN.sub(" ", text[end:]))
    return "".join(parts)


_OPEN = ("--", "/*", "{#")
_BETWEEN = re.compile(r"[^\n\r]")
_QUOTED = re.compile(
    r"""--[^\n\r]*|\{\#.*?\#\}|\b[eE]'(?:\\.|''|[^'\\])*+'|'(?:''|[^'])*+'|"(?:""|[^"])*+"|"""
    r"""\$(\w*)\$.*?\$\1\$|/\*|\{\#|['"]""",
    re.DOTALL,
)
_BLOCK = re.compile(r"/\*|\*/")


def _tokens(text: str) -> Any:
    """Return the tokens of a text; the error of an unclosed quote or comment has its position."""
    errors = need("sqlglot.errors", "sql")
    try:
        return _dialect().tokenize(text)
    except errors.TokenError:
        raise UnsupportedQueryError(
            "the text cannot be split into words: a quote or a comment is not closed",
            _position(text, _unclosed(text)),
        ) from None


def _unclosed(text: str) -> int:
    """Return the position of the first unclosed quote or comment; the end if there is none.

    >>> _unclosed("select 'a--b' /* c /* d */ e"), _unclosed('select "a'), _unclosed("'a' -- '")
    (14, 7, 8)
    """
    position = 0
    while match := _QUOTED.search(text, position):
        position = match.end()
        if match[0] in ("'", '"', "{#"):
            return match.start()
        if match[0] == "/*":
            depth = 1
            while depth:
                mark = _BLOCK.search(text, position)
                if mark is None:
                    return match.start()
                depth, position = depth + (1 if mark[0] == "/*" else -1), mark.end()
    return len(text)


def _trees(text: str) -> list[Any]:
    """Return the trees of a text; errors of the parser become our own."""
    errors = need("sqlglot.errors", "sql")
    try:
        tokens = _tokens(text)
        _check_tokens(tokens)
        trees: list[Any] = _dialect().parser().parse(tokens, text)
    except UnsupportedQueryError:
        raise
    except errors.ParseError as error:
        raise _unparsed(error) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise UnsupportedQueryError("this is not SQL that can be parsed") from None
    return trees


@cache
def _dialect() -> Any:
    return need("sqlglot.dialects.duckdb", "sql").DuckDB()


def _check_characters(text: str) -> None:
    """Raise for invisible characters: control characters, marks of reading direction."""
    if text.isascii() and text.isprintable():
        return
    for offset, sign in enumerate(text):
        if not sign.isprintable() and sign not in "\n\r\t":
            shown = f"U+{ord(sign):04X}"
            raise UnsupportedQueryError(
                f"the character {shown} is invisible, and not allowed in a query: remove it",
                _position(text, offset),
            )


def _position(text: str, offset: int) -> tuple[int, int]:
    before = text[:offset]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def _check_tokens(tokens: Sequence[Any]) -> None:
    if not tokens:
        raise UnsupportedQueryError("there is no query: write select count(*) from ...")
    first = tokens[0].token_type.name
    if first not in _FIRST_TOKENS:
        _refuse_beginning(tokens[0])
    if len(tokens) > _MAX_WORDS:
        raise UnsupportedQueryError(f"a query has at most {_MAX_WORDS} words and signs: split it")
    depth = chain = 0
    waiting = [0]  # joins without a condition yet, in each parenthesis that is open
    for index, token in enumerate(tokens):
        name = token.token_type.name
        if name == "SEMICOLON" and index < len(tokens) - 1:
            raise UnsupportedQueryError("ask one query at a time", _start(tokens[index + 1]))
        day = "".join(each.text for each in tokens[index : index + 5])
        adjacent = token.start + len(day) == tokens[min(index + 4, len(tokens) - 1)].end + 1
        if name == "NUMBER" and adjacent and _BARE_DAY.fullmatch(day):
            raise UnsupportedQueryError(
                f"{day} without quotes is a subtraction: write a day as date '{day}'", _start(token)
            )
        listed = name == "L_BRACKET" and _numbers_are_listed(tokens, index)
        if name in ("L_BRACKET", "L_BRACE") and not listed:
            raise UnsupportedQueryError(_enclosed(tokens, index), _start(token))
        if name in ("L_PAREN", "CASE"):
            depth += 1
        elif name in ("R_PAREN", "END"):
            depth -= 1
        if name == "L_PAREN":
            waiting.append(0)
        elif name == "R_PAREN":
            waiting = waiting[:-1] or [0]
        elif name in _JOINS:
            waiting[-1] += 1
        elif name in ("ON", "USING"):
            waiting[-1] = max(0, waiting[-1] - 1)
        if waiting[-1] > _MAX_OPEN_JOINS:
            raise UnsupportedQueryError(
                f"more than {_MAX_OPEN_JOINS} joins have no condition: write "
                "join TABLE on KEY = KEY, or join TABLE using (KEY), for each",
                _start(token),
            )
        chain = chain + 1 if name in _CHAINED else 0
        if max(depth, chain) > _MAX_DEPTH:
            raise UnsupportedQueryError(
                f"the query is nested more than {_MAX_DEPTH} deep: name its parts with WITH",
                _start(token),
            )


_BARE_DAY = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")


def _enclosed(tokens: Sequence[Any], index: int) -> str:
    """Return why a bracket or a brace is refused: a name, a template, or a list."""
    names = [token.token_type.name for token in tokens[index : index + 3]]
    if names == ["L_BRACKET", "VAR", "R_BRACKET"]:
        return f'a name is written in double quotes, "{tokens[index + 1].text}", not in brackets'
    if names[:2] == ["L_BRACE", "L_BRACE"]:
        return "a query has no templates: write the name or the value itself"
    return (
        f"{names[0][2:]} has no translation: the only lists are of the shares of percentiles, "
        "quantile_cont(cost, [0.25, 0.5, 0.75])"
    )


def _refuse_beginning(token: Any) -> None:
    word = token.text.upper()[:20]
    changes = token.token_type.name in _CHANGES or word in _CHANGES
    message = f"{word!r} does not start a query"
    if changes:
        message = f"{word} changes something or runs a command"
    raise UnsupportedQueryError(
        f"{message}; a question only reads: select count(*) from ...", _start(token)
    )


def _numbers_are_listed(tokens: Sequence[Any], index: int) -> bool:
    """True if a bracket opens a list of numbers, which the parser does not change."""
    # What it logs, and changes, are brackets after a value, braces, and entries of other kinds.
    before = tokens[index - 1].token_type.name if index else ""
    names = (token.token_type.name for token in tokens[index + 1 :])
    inside = list(itertools.takewhile(lambda name: name != "R_BRACKET", names))
    alternate = ["COMMA" if i % 2 else "NUMBER" for i in range(len(inside))]
    return before in ("L_PAREN", "COMMA", "ARRAY") and inside == alternate and len(inside) % 2 == 1


def _start(token: Any) -> tuple[int, int]:
    return token.line, max(1, token.col - (token.end - token.start))


# What other dialects write up to the word where the parser stops, and what is written instead.
_OTHER_DIALECTS = (
    (re.compile(r"`$"), 'a name is written in double quotes, "site"'),
    (re.compile(r"(?i)\bselect\s+top\s+\d+$"), "the number of groups is at the end, limit 10"),
    (re.compile(r"%\(\w+\)\s*\w+$"), "a query has no placeholders: write the value"),
)


def _unparsed(error: Any) -> UnsupportedQueryError:
    details = error.errors[0] if error.errors else {}
    written = str(details.get("highlight") or "").strip()
    word = " ".join(written.split())[:40]  # GROUP and BY are one, with what is between them
    line, column = details.get("line") or 1, details.get("col") or 1
    near = f" near {word!r}" if word else ""
    description = str(details.get("description"))
    context = f"{details.get('start_context') or ''}{details.get('highlight') or ''}"
    hint = ""
    if "provided arguments" in description or "arguments for" in description:
        hint = "; the call that ends here has too many arguments: bounds are given by clamp, as in "
        hint += "sum(clamp(cost, 0, 100))"
    elif other := next((said for before, said in _OTHER_DIALECTS if before.search(context)), ""):
        hint = f": {other}"
    elif word.upper() in _dialect().tokenizer_class.KEYWORDS and word.isalpha():
        hint = f'; a column with the name of a word of SQL is written in quotes, "{word}"'
    return UnsupportedQueryError(
        f"this is not SQL that can be parsed{near}; the dialect is DuckDB's{hint}",
        (line, max(1, column - max(0, len(written) - 1))),
    )
