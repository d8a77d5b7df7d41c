"""A toy system that withstands every attack."""

from __future__ import annotations

import math
import random
import threading
from fractions import Fraction
from pathlib import Path

import tacit as tc
from tacit.audit.attack_suite.system import LocalMechanism, System, SystemBudget

SECRET = random.SystemRandom()


def exact(value, low, high):
    if value is None or value != value:
        return Fraction(low)
    return min(
        max(
            Fraction(low),
            Fraction(value) if abs(value) < math.inf else Fraction(high if value > 0 else low),
        ),
        Fraction(high),
    )


def noise(scale):
    """Noise of a scale on a grid of 2^-20 of it."""
    if not scale:
        return Fraction(0)
    grid = Fraction(scale) / 2**20
    return int(tc.noise.discrete_laplace(2**20)) * grid


class GoodAccount(SystemBudget):
    def __init__(self, budget, path=None):
        self.path = path
        self.shared = {"budget": Fraction(str(budget)), "spent": Fraction(0), "answers": {}}
        self.lock = threading.Lock()

    def charge(self, epsilon):
        price = Fraction(str(epsilon)) if math.isfinite(epsilon) else None
        if price is None or price <= 0 or self.shared["spent"] + price > self.shared["budget"]:
            raise ValueError("refused")
        self.shared["spent"] += price

    def ask(self, epsilon, label):
        with self.lock:
            if label not in self.shared["answers"]:
                self.charge(epsilon)
                self.shared["answers"][label] = 100 + float(noise(1 / Fraction(str(epsilon))))
            return self.shared["answers"][label]

    def spent(self):
        return float(self.shared["spent"])

    def again(self):
        return self

    def files(self):
        return [str(self.path)]

    def opened_at(self, path):
        raise ValueError("another name")

    def fail(self, epsilon, label):
        self.charge(epsilon)
        raise OSError("gone")


class GoodLocal(LocalMechanism):
    def __init__(self, size, epsilon, form):
        self.oracle = (
            tc.local.RandomizedResponse(epsilon=epsilon)
            if form == "binary"
            else tc.local.DirectEncoding(range(size), epsilon=epsilon)
        )
        self.size, self.form = size, form

    def report(self, item):
        return int(self.oracle.perturb(item))

    def losses(self):
        return float(self.oracle.epsilon)

    def accepts(self, report):
        return isinstance(report, int) and 0 <= report < self.size

    def impossible(self):
        return [self.size, -1, "x", 0.5]

    def counts(self, reports):
        p, n, yes = math.e / (1 + math.e), len(reports), sum(reports)
        found = (yes - n * (1 - p)) / (2 * p - 1)
        return [n - found, found]

    def device(self):
        kept = {}
        return type("Phone", (), {"report": lambda _, i: kept.setdefault(i, self.report(i))})()


class Good(System):
    name = "good"

    def version(self):
        return "1"

    def statistic(self, kind, rows, *, bounds=None, edges=None, epsilon=1.0):
        if kind not in ("count", "histogram") and bounds is None:
            raise ValueError("bounds")
        if kind == "histogram":
            if edges is None:
                raise ValueError("edges")
            found = [0] * (len(edges) - 1)
            for value in rows:
                if value is not None and value == value:
                    for place in range(len(found)):
                        last = place == len(found) - 1 and value == edges[-1]
                        found[place] += edges[place] <= value < edges[place + 1] or last
            return [float(n + noise(1 / Fraction(epsilon))) for n in found]
        if kind == "count":
            return float(len(rows) + noise(1 / Fraction(epsilon)))
        low, high = bounds
        texts = any(isinstance(v, str) for v in rows)
        values = sorted(Fraction(low) if texts else exact(v, low, high) for v in rows)
        wide, n = Fraction(high) - Fraction(low), max(len(values), 1)
        total = sum(values)
        if kind == "sum":
            answer, reach = total, max(abs(Fraction(low)), abs(Fraction(high)))
        elif kind == "mean":
            answer, reach = total / n, wide
        elif kind == "variance":
            answer = sum((v - total / n) ** 2 for v in values) / n
            reach = wide**2
        else:
            answer = values[len(values) // 2] if values else Fraction(low)
            reach = wide
        largest = Fraction(1.7976931348623157e308)
        return float(min(largest, answer + noise(reach / Fraction(epsilon))))

    def group_counts(self, keys, public, *, epsilon, delta=0.0):
        if public is None:
            if not delta:
                raise ValueError("keys")
            shown = {}
            for key in set(keys):
                noisy = keys.count(key) + float(noise(1 / Fraction(epsilon)))
                if noisy > 1 + math.log(1 / (2 * delta)) / epsilon:
                    shown[key] = noisy
            return shown
        return {k: list(keys).count(k) + float(noise(1 / Fraction(epsilon))) for k in public}

    def planned_counts(self, keys, public, copies, *, epsilon):
        price = Fraction(epsilon) / 2
        whole = len(keys) + float(noise(1 / price))
        return [whole] * copies + [list(keys).count(k) + float(noise(1 / price)) for k in public]

    def derived(self, ask, keys, public, *, epsilon):
        released = list(self.group_counts(keys, public, epsilon=epsilon).values())
        return released, sum(released) if ask == "total" else None, 0.0

    def people_keys(self, rows, groups_each, *, epsilon, delta):
        each, small = Fraction(epsilon) / groups_each, delta / groups_each
        keys = [key for _, key in rows]
        bar = 1 + math.log(1 / (2 * small)) / float(each)
        return [k for k in set(keys) if keys.count(k) + float(noise(1 / each)) > bar]

    def people_sum(self, rows, public, *, rows_each, groups_each, upper, epsilon):
        most, seen, sums = rows_each * groups_each, {}, dict.fromkeys(public, 0.0)
        for person, group, value in rows:
            seen[person] = seen.get(person, 0) + (group in sums)
            if group in sums and seen[person] <= most:
                sums[group] += float(exact(value, 0, upper))
        return sums

    def joined_count(self, keys, public_keys, *, epsilon):
        known = {key for key in public_keys if key is not None}
        return sum(key in known for key in keys)

    def filtered_count(self, predicate, rows, *, epsilon, other=()):
        return float(sum(self.test(predicate, value) for value in rows))

    def test(self, predicate, value):
        try:
            return self.raw(predicate, value)
        except (ValueError, ZeroDivisionError):
            return False

    def raw(self, predicate, value):
        return {
            "quotient": lambda: 1 / value > 0,
            "logarithm": lambda: math.log(value) > 0,
            "number": lambda: int(value) > 0,
        }[predicate]()

    def read_sum(self, text, column, kind, bounds, *, epsilon):
        total = 0.0
        for line in text.splitlines()[1:]:
            cell = line.split(",")[0]
            total += float(exact(int(cell), *bounds)) if cell.isdigit() else 0.0
        return total

    def changing_source(self, rows_each, *, epsilon):
        return float(min(rows_each, SECRET.randrange(400, 600)))

    def account(self, budget):
        return GoodAccount(budget, self.path)

    path: Path | None = None

    def noise(self, kind, value, scale):
        return float(Fraction(value) + noise(Fraction(scale)))

    def selected(self, rate, rows):
        block = 10_000_000
        chance = Fraction(str(rate))
        return sum(int(tc.noise.bernoulli(chance, block).sum()) for _ in range(rows // block))

    def noise_costs(self, count):
        return [(float(SECRET.random()), 1.0) for _ in range(count)]

    def seeded(self, seed):
        random.seed(seed)
        return [float(noise(Fraction(1000))) for _ in range(4)]

    def forked(self):
        return [SECRET.random()], [SECRET.random()]

    def written(self, where, rows):
        return f"the {where} of a release, with noise of 10^6"

    def certificate(self):
        return "right"

    def forgeries(self):
        names = ("smaller epsilon", "narrower bound", "larger noise", "other statistic")
        return dict.fromkeys((*names, "other unit"), "changed")

    def verifies(self, certificate):
        return certificate == "right"

    def local(self, size, epsilon, form):
        return GoodLocal(size, epsilon, form)

    def claim(self, name):
        return 1000.0
