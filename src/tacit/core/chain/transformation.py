"""Transformations: deterministic functions between spaces, with a stability map."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tacit.arithmetic.exact import Number, as_fraction
from tacit.core.chain.explain import Link, chain_html, chain_text
from tacit.core.chain.join_hints import advised, build_or_advise, steps_between
from tacit.core.chain.partial_chain import unfinished
from tacit.core.chain.protocols import Ended
from tacit.core.chain.space import Space
from tacit.core.chain.step import Step
from tacit.errors import UsageError

__all__ = ["Transformation", "read_distance"]

StabilityMap = Callable[[Fraction], Fraction]


class Transformation:
    """A function from one space to another that is ``map(d)``-stable.

    For all members ``u, v`` of the input domain,
    ``output.metric.distance(f(u), f(v)) <= map(input.metric.distance(u, v))``.

    Args:
        input, output: the two spaces.
        function: internal members to internal members; must be total.
        stability: the stability map; monotone, answers for every distance from zero up.
        step: the recipe it was built from, if there is one.
        attained: whether it is proven that at every distance some pair of members attains the map.
        onto: whether it is proven that every two members of the output are the images of two
            members of the input as far apart as they are.

    Two transformations with matching spaces chain by ``>>``; their maps compose, since
    ``d(g(f(u)), g(f(v))) <= map_g(d(f(u), f(v))) <= map_g(map_f(d(u, v)))`` by monotonicity.

    Example:
        >>> from tacit.core import SymmetricDistance, Vector
        >>> space = Space(Vector(int), SymmetricDistance())
        >>> doubled = Transformation(
        ...     space, space, lambda column: 2 * column, lambda d: d, name="double"
        ... )
        >>> doubled([1, 2]).tolist(), doubled.map(3)
        ([2, 4], Fraction(3, 1))
    """

    def __init__(
        self,
        input: Space,
        output: Space,
        function: Callable[[Any], Any],
        stability: StabilityMap,
        *,
        step: Step | None = None,
        name: str = "",
        attained: bool = False,
        onto: bool = False,
    ) -> None:
        self.input = input
        self.output = output
        self.function = function
        self.stability = stability
        self.attained = attained
        self.onto = onto
        self.links: tuple[Link, ...] = (
            Link(name or (step.name if step else "function"), step, output, stability),
        )

    def map(self, d_in: Number) -> Fraction:
        """Return the output distance that an input distance can cause at most.

        Raises:
            UsageError: ``d_in`` is negative, or no whole number where records are counted.
        """
        return self.stability(read_distance(self.input, d_in))

    def check(self, d_in: Number, d_out: Number) -> bool:
        """Return whether inputs at distance ``d_in`` always end within ``d_out``."""
        return self.map(d_in) <= as_fraction(d_out, "d_out")

    def __call__(self, data: Any) -> Any:
        """Evaluate on data.  The answer is exact and *not private*: never publish it."""
        return self.output.domain.present(self.function(self.input.domain.read(data)))

    def __rshift__(self, other: Any) -> Any:
        if isinstance(other, Step):
            return self.then(build_or_advise(other, self.output))
        still_open = unfinished(self, other)
        if still_open is not None:
            return still_open
        if isinstance(other, Transformation) or hasattr(other, "measure"):
            return self.then(other)
        return NotImplemented

    def then(self, other: Transformation | Ended) -> Any:
        """Chain another transformation, or the measurement that ends the chain.

        Raises:
            MismatchError: the spaces differ; carries both.
        """
        if other.input != self.output:
            raise advised(
                f"the chain ends in ({self.output}), and the next part starts from ({other.input})",
                self.output,
                other.input,
                steps_between(self.output, lambda reached: reached == other.input),
            )
        if not isinstance(other, Transformation):
            return other.after(self)
        first, second = self.function, other.function
        stable_first, stable_second = self.stability, other.stability
        chained = Transformation(
            self.input,
            other.output,
            lambda data: second(first(data)),
            lambda d: stable_second(stable_first(d)),
            attained=self.onto and other.attained,
            onto=self.onto and other.onto,
        )
        chained.links = self.links + other.links
        return chained

    def explain(self, d_in: Number = 1) -> str:
        """Return the chain as text, with the distance after each step."""
        return chain_text(self.input, self.links, read_distance(self.input, d_in))

    def _repr_html_(self) -> str:
        return chain_html(self.input, self.links, Fraction(1))

    def __repr__(self) -> str:
        steps = " >> ".join(link.title for link in self.links)
        return f"<Transformation {steps}: ({self.input}) -> ({self.output})>"


def read_distance(space: Space, d_in: Number) -> Fraction:
    """Read an input distance and refuse one that the metric cannot take."""
    distance = as_fraction(d_in, "d_in")
    if distance < 0:
        raise UsageError(f"a distance is not negative; got {distance}")
    if space.metric.counts_records and distance.denominator != 1:
        raise UsageError(f"a distance in records is a whole number; got {distance}")
    return distance
