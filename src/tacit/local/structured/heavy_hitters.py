"""Heavy hitters of a large domain: prefixes that are frequent are extended, others dropped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tacit.arithmetic.exact import Number, as_integer
from tacit.calls import public
from tacit.errors import UsageError
from tacit.local.base.estimate import Estimate
from tacit.local.base.oracle import Oracle, oracle_from
from tacit.local.base.raw_answers import plain, values_of, whole_number
from tacit.local.frequency.count_mean_sketch import HadamardCountMeanSketch
from tacit.local.structured.attributes import AttributeSampling

__all__ = ["PrefixExtending"]


@public
class PrefixExtending(AttributeSampling):
    """Draw a prefix length at random, and report the prefix of that length through a sketch.

    Answers are numbers of ``bits`` bits.  The server looks at all prefixes of the first length,
    keeps the most frequent, extends them to the next length, and so on: it looks at some thousands
    of words, not at 2**bits.  **Privacy**: that of the sketch; the length does not depend on the
    answer.

    Source: T. Wang, N. Li, S. Jha, *Locally differentially private heavy hitter identification*,
    TDSC 2019 (with sketches, so that sums merge).

    Args:
        bits: the size of an answer, from 2 to 63.
        epsilon: the greatest loss allowed.
        step: how many bits a prefix grows by, at most 12.
        functions, buckets: the size of each sketch.

    Example:
        >>> words = PrefixExtending(16, epsilon=4, step=4)
        >>> state = words.aggregate(words.perturb_many([51966] * 6000 + list(range(2000))))
        >>> words.heaviest(state, 3).items[0]
        51966
    """

    def __init__(
        self,
        bits: int | None = None,
        epsilon: Number | None = None,
        step: int = 8,
        functions: int = 64,
        buckets: int = 1024,
        *,
        levels: Mapping[str, Oracle] | None = None,
    ) -> None:
        if levels is None:
            if bits is None or epsilon is None:
                raise UsageError("give the bits of an answer and epsilon")
            size, grow = as_integer(bits, "bits", minimum=2), as_integer(step, "step", minimum=1)
            if size > 63 or grow > 12 or grow >= size:
                raise UsageError("bits are at most 63; step is at most 12 and below bits")
            sketch = HadamardCountMeanSketch(epsilon, functions=functions, buckets=buckets)
            lengths = [*range(grow, size, grow), size]
            levels = {str(length): sketch for length in lengths}
        super().__init__(levels)

    @property
    def lengths(self) -> list[int]:
        """The lengths of prefixes; the last is that of a whole answer."""
        return [int(name) for name, _ in self.parts]

    def _row(self, value: Any) -> list[str]:
        whole = self.lengths[-1]
        answer = plain(value)
        number = whole_number(answer)
        if isinstance(answer, str):
            number = int(answer) if re.fullmatch(r"[0-9]{1,19}", answer) else None
        if number is None or not 0 <= number < 1 << whole:
            return ["outside"] * len(self.parts)
        return [str(number >> (whole - length)) for length in self.lengths]

    def read(self, values: Iterable[object]) -> NDArray[np.int64]:
        """Return the digest of every prefix; any other answer is reported as "outside".

        Args:
            values: the answers of many people, as they were given.
        """
        rows = [self._row(value) for value in values_of(values)]
        columns = [o.read([row[j] for row in rows]) for j, o in enumerate(self.oracles)]
        return np.stack(columns, axis=1)

    def heaviest(self, reports: object, count: int, kept: int | None = None) -> Estimate:
        """Return the ``count`` most frequent answers found, by estimated number of people.

        Those who reported whole answers are a random share of all people, and others than those who
        reported prefixes: so the words that are looked up last do not depend on the reports that
        count them, and the intervals, which hold for all of them at once, hold for those chosen.

        Args:
            reports: a state or a batch.
            count: how many answers.
            kept: how many prefixes are extended at each length; by default 4 count.

        Raises:
            UsageError: reports that this mechanism cannot have made, a count below 1.
        """
        wanted = as_integer(count, "count", minimum=1)
        most = 4 * wanted if kept is None else as_integer(kept, "kept", minimum=wanted)
        states, prefixes, before = self.states(reports), [0], 0
        parts: Any = self.parts
        for name, oracle in parts:
            grow = int(name) - before
            longer = [p << grow | tail for p in prefixes for tail in range(1 << grow)]
            found: Estimate = oracle.estimate(states[name], [str(p) for p in longer])
            order = np.argsort(-found.counts, kind="stable")[:most]
            prefixes, before = [longer[i] for i in order.tolist()], int(name)
        top, share = order[:wanted], len(self.parts)
        return Estimate(
            tuple(prefixes[:wanted]),
            self._state(reports).n,
            found.counts[top] * share,
            np.asarray(found.base)[top] * share**2,
            share - 1.0,
            "the largest of many",
            chosen_from=len(longer),
        )

    def estimate(self, reports: object) -> NoReturn:
        """Refuse: answers are looked for with :meth:`heaviest`.

        Args:
            reports: a state, or a batch of reports.

        Raises:
            UsageError: always.
        """
        raise UsageError("ask for .heaviest(reports, count): the domain is too large to list")

    @classmethod
    def _build(cls, description: Mapping[str, Any]) -> Oracle:
        return cls(levels={name: oracle_from(part) for name, part in description["parts"]})
