"""Every operation of an expression, on columns of each kind."""

from __future__ import annotations

from tacit.expressions.expression import Expression, when
from tacit.expressions.functions import FAR


def of_one(x: Expression) -> list[Expression]:
    """Operations on a number."""
    return [
        x == 7,
        x != 0.5,
        x <= (1 << 100),
        x > -1e300,
        x.is_in([0, 7, (1 << 53) + 1]),
        x.is_in([0.1, 1e160]),
        x.is_null(),
        -x,
        abs(x),
        x.clip(-7, "0.5"),
        x.clip(-1e150, 1e150),
        x.cut([-5, 0, 1, 1e10]),
        x.fill_null(3),
        x.fill_null(0.5),
        when(x > 0).then(x).otherwise(None),
        (x * x) * (x * x) / (x + 1e-200),
        1 / (x - 0.5),
        x.floor(),
        x.ceil(),
        x.round(),
        (x / 3).round(),
        x.cast(int),
        (x * 0.5).cast(int) % 7,
    ]


def of_whole(x: Expression) -> list[Expression]:
    """Operations on a whole number alone."""
    return [x % 1, x % 7, x % (1 << 53), x.cast(str), x.cast(str) == "7"]


LIKES = ["", "%", "_", "__", "A'_", "%$%}", "\\n%.h_me}", "%%本", "_É%", "A%B%C"]
LIKES += ["%(a|b)*[^c]+?^$%"]


def of_two(x: Expression, y: Expression) -> list[Expression]:
    """Operations on two numbers."""
    choice = when(x < y).then(x).otherwise(y)
    near = when(x < y).then(5).otherwise(-0.25)  # is not held within what is far, but a sum may be
    sums = [near + when(y < 0).then(-3).otherwise(None), (near + FAR) + (near + FAR), near - x]
    return [*sums, x == y, x < y, x + y, x - y, x * y, x / y, x.fill_null(y), choice, choice == x]


def of_text(x: Expression) -> list[Expression]:
    return [
        x == "A'b",
        x.is_in(["", "ÉÀ"]),
        x.str.to_lowercase(),
        x.str.to_lowercase() == "a'b",
        x.str.len_chars(),
        x.str.to_uppercase(),
        x.str.strip_chars(),
        x.str.slice(1, 3),
        x.str.slice((1 << 20) - 1, 1 << 20),
        x.cast(str),
        x.str.ends_with("b"),
        x.str.ends_with("BC" * 50),
        x.str.contains("'"),
        x.str.contains("\\"),
        *(x.str.like(p) for p in LIKES),
        x.str.starts_with("\\n$"),
        x.fill_null("none"),
        when(x == "a").then(x).otherwise("no"),
    ]


def of_date(x: Expression) -> list[Expression]:
    days = [x >= "1970-01-01", x == "2000-02-29", x.is_in(["0001-01-01", "9999-12-31"])]
    days += [
        x.dt.day(),
        x.dt.weekday(),
        x.dt.quarter(),
        x.dt.ordinal_day(),
        x.dt.days_until("1969-12-31"),
    ]
    return [
        *days,
        x.dt.year(),
        x.dt.month(),
        x.dt.month() * x.dt.year() / 3,
        x.fill_null(None),
        x.is_null(),
    ]


def of_time(x: Expression) -> list[Expression]:
    since = [x.dt.seconds_until(x), (x.dt.hour() % 5) == 3, x.dt.hour() * 60 + x.dt.minute()]
    local = x.dt.convert_time_zone("Asia/Kolkata")
    since += [local.dt.hour(), local.dt.date().dt.weekday(), local.dt.seconds_until(x), x.dt.date()]
    return [x.dt.hour(), x.dt.minute(), x.dt.second(), *since]
