"""The text of a double that is the same on every engine, for digests.

Engines write doubles as text each in its own way (``1``, ``1.0``, ``1e10``, ``1.0E10``).  Here a
double x > 0 has the text ``b.h.f`` with whole numbers b, h and f such that

    ``x = 2^(60 b) (h + f / 2^52)``,  ``1 <= h < 2^60``,  ``0 <= f < 2^52``,

except for numbers below 2^-1020, where b is -18 and h may be zero; a number below zero has the word
``minus`` before it, since a sign there would be read as that of b.  It is exact: a product with a
power of two within the range of doubles is; the fraction of a double is a double; and
a double of at least 1 has no bits below 2^-52.  So two doubles have one text if and only if
they are equal.
"""

from __future__ import annotations

from tacit.expressions.dialect import Dialect

__all__ = ["spelled"]

_WIDTH, _LOWEST, _HIGHEST = 60, -18, 17
_LARGEST = float.fromhex("0x1.fffffffffffffp+1023")


def spelled(x: str, dialect: Dialect) -> str:
    """Return the SQL of the text of a double; NULL where it is NULL.

    Args:
        x: SQL of a double that is not NaN.
        dialect: the engine's.
    """
    d = dialect
    arms = [f"when abs({x}) > {d.literal(_LARGEST)} then 'infinite'"]
    for block in range(_HIGHEST, _LOWEST, -1):
        first, scale = d.literal(2.0 ** (_WIDTH * block)), d.literal(2.0 ** (-_WIDTH * block))
        arms.append(f"when abs({x}) >= {first} then {_parts(block, f'abs({x}) * {scale}', d)}")
    half = d.literal(2.0 ** (-_WIDTH * _LOWEST // 2))  # the whole scale is beyond all doubles
    arms.append(f"else {_parts(_LOWEST, f'abs({x}) * {half} * {half}', d)}")
    sign = f"case when {x} < {d.literal(0.0)} then 'minus ' else '' end"
    return f"({sign} || case {' '.join(arms)} end)"


def _parts(block: int, scaled: str, d: Dialect) -> str:
    whole, rest = f"floor({scaled})", f"({scaled} - floor({scaled})) * {d.literal(2.0**52)}"
    parts = [d.cast(d.cast(part, "integer"), "text") for part in (whole, rest)]
    return f"'{block}.' || {parts[0]} || '.' || {parts[1]}"
