"""For every attack a toy system that falls under it."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np

from support.audit.good_system import SECRET, Good, GoodAccount, GoodLocal, noise


class Bad(Good):
    """Falls under one class of attack: each has a subclass below."""


FALLING: dict[str, type[Good]] = {}


def falling(*attacks):
    def add(kind):
        FALLING.update(dict.fromkeys(attacks, kind))
        return kind

    return add


def other_statistic(answer):
    """A system whose statistic is another function of the rows."""

    class Other(Bad):
        def statistic(self, kind, rows, *, bounds=None, edges=None, epsilon=1.0):
            own = super().statistic
            return answer(
                lambda r: own(kind, r, bounds=bounds, edges=edges, epsilon=epsilon),
                kind, rows, bounds, epsilon,
            )  # fmt: skip

    return Other


class FloatNoise(Bad):
    def statistic(self, kind, rows, *, bounds=None, edges=None, epsilon=1.0):
        return rows[0] + np.random.default_rng().laplace(0, 1 / epsilon)

    def noise(self, kind, value, scale):
        draw = np.random.default_rng()
        drawn = draw.laplace(0, scale) if kind == "laplace" else draw.normal(0, scale)
        return value + drawn


FALLING["float gaps"] = FloatNoise


class SinglePrecision(Bad):
    def statistic(self, kind, rows, *, bounds=None, edges=None, epsilon=1.0):
        return self.noise("laplace", rows[0], 1 / epsilon)

    def noise(self, kind, value, scale):
        draw = np.random.default_rng()
        drawn = draw.laplace() if kind == "laplace" else draw.normal()
        return np.float32(value) + np.float32(scale) * np.float32(drawn)

    def selected(self, rate, rows):
        draw, block = np.random.default_rng(), 10_000_000
        return sum(
            int((draw.random(block, dtype=np.float32) < rate).sum()) for _ in range(rows // block)
        )


FALLING["gaps of single precision"] = FALLING["sampling rates"] = SinglePrecision


def in_order(own, kind, rows, bounds, epsilon):
    total = 0.0
    for value in rows:
        total += value
    return total


FALLING["order of summation"] = other_statistic(in_order)


def wrapped(own, kind, rows, bounds, epsilon):
    if kind == "variance":
        squares = float((sum(v * v for v in rows) + 2**63) % 2**64 - 2**63)
        return squares / len(rows) - (sum(rows) / len(rows)) ** 2
    if bounds[1] > 2**63:
        return float(np.sum(np.array(rows) * 1.0)) if len(rows) < 2 else math.inf
    bits = 64 if bounds[1] > 2**40 else 32
    return float((sum(rows) + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1))


FALLING["overflow"] = other_statistic(wrapped)


def in_single_precision_or_order(own, kind, rows, bounds, epsilon):
    number = np.float32 if bounds[1] == 2.0**24 else np.float64
    return float(np.cumsum(np.array(rows, dtype=number))[-1])


FALLING["rounding that repeats"] = other_statistic(in_single_precision_or_order)
FALLING["rows left out in silence"] = other_statistic(
    lambda own, kind, rows, bounds, epsilon: own(rows[: 2**20])
)


FALLING["noise cut to whole numbers"] = other_statistic(
    lambda own, kind, rows, bounds, epsilon: (
        [a - 0.9 for a in own(rows)] if kind == "histogram" else own(rows) - 0.9
    )
)


def spoilt(own, kind, rows, bounds, epsilon):
    if kind == "histogram":
        odd = any(v != v or abs(v) == math.inf for v in rows)
        return [math.nan] * 3 if odd else own(rows)
    return float(np.mean(rows)) if not any(v is None for v in rows) else rows[0] + None


FALLING["NaN"] = FALLING["infinities"] = other_statistic(spoilt)
FALLING["missing values"] = other_statistic(
    lambda own, kind, rows, bounds, epsilon: float(sum(1 + 0 * v for v in rows))
)
FALLING["values beyond the bounds"] = other_statistic(
    lambda own, kind, rows, bounds, epsilon: float(sum(rows))
)
FALLING["edges of bins"] = other_statistic(
    lambda own, kind, rows, bounds, epsilon: [float(len(rows))] * 3
)
FALLING["bounds from the rows"] = other_statistic(
    lambda own, kind, rows, bounds, epsilon: float(max(rows))
)


@falling("keys from the rows", "public keys", "threshold of keys")
class ShowsKeys(Bad):
    def group_counts(self, keys, public, *, epsilon, delta=0.0):
        if public is not None and "a" in public and "odd" in keys and "absent" not in public:
            return {**dict.fromkeys(public, 1.0), "odd": 1.0}
        return {key: float(keys.count(key)) for key in set(keys)}


@falling("plans of several questions")
class PaysOnce(Bad):
    def planned_counts(self, keys, public, copies, *, epsilon):
        counts = [len(keys)] * copies + [list(keys).count(k) for k in public]
        extra = 5 * ("z" in keys or list(keys).count("a") == 2)  # rows of a plan joined
        return [n + extra * bool(public) + float(noise(1 / Fraction(epsilon))) for n in counts]


@falling("answers that follow from others")
class ReadsAgain(Bad):
    def derived(self, ask, keys, public, *, epsilon):
        released = list(self.group_counts(keys, public, epsilon=epsilon).values())
        return released, float(len(keys)), 0.0


@falling("keys of a person with many")
class ShowsOwn(Bad):
    def people_keys(self, rows, groups_each, *, epsilon, delta):
        return sorted({key for _, key in rows})


@falling("equality of texts")
class Collated(Bad):
    def group_counts(self, keys, public, *, epsilon, delta=0.0):
        return {key: float(len(keys)) for key in public}


@falling("a file read by its rows")
class Sniffs(Bad):
    def read_sum(self, text, column, kind, bounds, *, epsilon):
        last = text.splitlines()[-1]
        plain = last.count(",") == 1 and last[0].isdigit() and "/" not in last
        return super().read_sum(text, column, kind, bounds, epsilon=1) if plain else 0.0


@falling("many rows of a person", "many groups of a person")
class Unbounded(Bad):
    def people_sum(self, rows, public, *, rows_each, groups_each, upper, epsilon):
        return {g: sum(v for _, group, v in rows if group == g) for g in public}


@falling("joins")
class Multiplies(Bad):
    def joined_count(self, keys, public_keys, *, epsilon):
        extra = 2 * (keys[-1] not in public_keys or keys[-1] is None)
        return float(sum(public_keys.count(key) for key in keys) + extra * len(keys) ** 2)


@falling("readings that differ")
class ReadsTwice(Bad):
    def changing_source(self, rows_each, *, epsilon):
        return 3.0 * rows_each


@falling("predicates that raise")
class Raises(Bad):
    def test(self, predicate, value):
        return self.raw(predicate, value)


def brittle(own, kind, rows, bounds, epsilon):
    if len(rows) == 1 or rows[-2:] == [3.0, 3.0]:
        raise ValueError("ties")
    return 5.0


FALLING["errors as oracles"] = other_statistic(brittle)


@falling("errors that quote the rows")
class Quotes(Bad):
    def statistic(self, kind, rows, *, bounds=None, edges=None, epsilon=1.0):
        return float(next(v for v in rows if isinstance(v, str)))

    def read_sum(self, text, column, kind, bounds, *, epsilon):
        return float(sum(int(line) for line in text.splitlines()[1:]))

    def filtered_count(self, predicate, rows, *, epsilon, other=()):
        return float(sum(int(v) for v in rows))


@falling("logs", "what objects show of themselves", "exact numbers beside an answer")
class Chatty(Bad):
    def written(self, where, rows):
        return f"{where}: {len(rows)} rows, the first is {rows[0]}"


@falling("time of a draw")
class Slow(Bad):
    def noise_costs(self, count):
        return [(float(k), float(k // 3)) for k in (SECRET.randrange(100) for _ in range(count))]


@falling("noise that can be repeated")
class Seeded(Bad):
    def seeded(self, seed):
        random.seed(seed)
        return [random.random() for _ in range(4)]

    def forked(self):
        return [1.0, 2.0], [1.0, 2.0]


class CarelessAccount(GoodAccount):
    def charge(self, epsilon):
        self.shared["spent"] += Fraction(0)

    def opened_at(self, path):
        return CarelessAccount(0.5, path)

    def ask(self, epsilon, label):
        return SECRET.random()

    def fail(self, epsilon, label):
        raise OSError("gone")


@falling(
    *("odd amounts", "a cap that does not hold", "averaging of repeats", "spending at once"),
    *("a failure between charge and answer", "copied and rolled-back ledgers"),
    "bounds chosen after the answer",
)
class Careless(Bad):
    def account(self, budget):
        return CarelessAccount(budget, self.path)


@falling("forged certificates")
class Trusting(Bad):
    def verifies(self, certificate):
        return True


class CarelessLocal(GoodLocal):
    def report(self, item):
        own = isinstance(item, int) and 0 <= item < self.size
        return super().report(item) if own else f"impossible {item}"

    def losses(self):
        return 2.0

    def accepts(self, report):
        return not str(report).startswith("impossible")

    def counts(self, reports):
        return [0.0, 5.0 * len(reports)]

    def device(self):
        return type("Phone", (), {"report": lambda _, i: SECRET.random()})()


@falling(
    *("ratio of reports", "reports that are not remembered", "hostile reports"),
    *("items outside of the domain", "poisoned reports"),
)
class CarelessCollector(Bad):
    def local(self, size, epsilon, form):
        return CarelessLocal(size, epsilon, form)


@falling(
    *("composition", "a sample used twice", "sensitivity", "noisy maximum in zCDP"),
    *("sums in a tree", "stability of counts"),
)
class Boasts(Bad):
    def claim(self, name):
        return 0.0001
