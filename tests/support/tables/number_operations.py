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
        x.clamp(-7, "0.5"),
        x.clamp(-1e150, 1e150),
        x.cut([-5, 0, 1, 1e10]),
        x.fill(3),
        x.fill(0.5),
        when(x > 0).then(x).otherwise(None),
        (x * x) * (x * x) / (x + 1e-200),
        1 / (x - 0.5),
        x.floor(),
        x.ceil(),
        x.round(),
        (x / 3).round(),
        x.to_integer(),
        (x * 0.5).to_integer().modulo(7),
    ]


def of_whole(x: Expression) -> list[Expression]:
    """Operations on a whole number alone."""
    return [x.modulo(1), x.modulo(7), x.modulo(1 << 53), x.to_text(), x.to_text() == "7"]


LIKES = ["", "%", "_", "__", "A'_", "%$%}", "\\n%.h_me}", "%%本", "_É%", "A%B%C"]
LIKES += ["%(a|b)*[^c]+?^$%"]


def of_two(x: Expression, y: Expression) -> list[Expression]:
    """Operations on two numbers."""
    choice = when(x < y).then(x).otherwise(y)
    near = when(x < y).then(5).otherwise(-0.25)  # is not held within what is far, but a sum may be
    sums = [near + when(y < 0).then(-3).otherwise(None), (near + FAR) + (near + FAR), near - x]
    return [*sums, x == y, x < y, x + y, x - y, x * y, x / y, x.fill(y), choice, choice == x]


def of_text(x: Expression) -> list[Expression]:
    return [
        x == "A'b",
        x.is_in(["", "ÉÀ"]),
        x.lower(),
        x.lower() == "a'b",
        x.length(),
        x.upper(),
        x.strip(),
        x.substring(2, 3),
        x.substring(1 << 20, 1 << 20),
        x.to_text(),
        x.ends_with("b"),
        x.ends_with("BC" * 50),
        x.contains("'"),
        x.contains("\\"),
        *(x.like(p) for p in LIKES),
        x.starts_with("\\n$"),
        x.fill("none"),
        when(x == "a").then(x).otherwise("no"),
    ]


def of_date(x: Expression) -> list[Expression]:
    days = [x >= "1970-01-01", x == "2000-02-29", x.is_in(["0001-01-01", "9999-12-31"])]
    days += [x.day(), x.weekday(), x.quarter(), x.day_of_year(), x.days_until("1969-12-31")]
    return [*days, x.year(), x.month(), x.month() * x.year() / 3, x.fill(None), x.is_null()]


def of_time(x: Expression) -> list[Expression]:
    since = [x.seconds_until(x), x.hour().modulo(5) == 3, x.hour() * 60 + x.minute()]
    local = x.in_zone("Asia/Kolkata")
    since += [local.hour(), local.date().weekday(), local.seconds_until(x), x.date()]
    return [x.hour(), x.minute(), x.second(), *since]
