"""Transformations: deterministic functions between spaces, with a stability map."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar, overload

from tacit.arithmetic.exact import Number, as_fraction
from tacit.calls import public
from tacit.core.metrics import Witness
from tacit.core.space import (
    Builds,
    ChainLink,
    EndsChain,
    Space,
    Step,
    Unfinished,
    advised,
    as_step,
    build_or_advise,
    chain_card,
    chain_text,
    steps_between,
    unfinished,
)
from tacit.display.card import Card, Shown
from tacit.errors import UsageError

Made = TypeVar("Made")

StabilityMap = Callable[[Fraction], Fraction]


@public
class Transformation(Shown):
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
        witness: which pairs attain the map, where it is known: the losses of several releases add
            up only on a pair that they share.

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
        function: Callable[..., object],
        stability: StabilityMap,
        *,
        step: Step | None = None,
        name: str = "",
        attained: bool = False,
        onto: bool = False,
        witness: Witness | None = None,
    ) -> None:
        self.input = input
        self.output = output
        self.function = function
        self.stability = stability
        self.attained = attained
        self.onto = onto
        self._witness = witness
        self.links: tuple[ChainLink, ...] = (
            ChainLink(name or (step.name if step else "function"), step, output, stability),
        )

    @property
    def witness(self) -> Witness:
        """Which pairs attain the map, if it is attained: as given, or a pair of its own."""
        self._witness = self._witness or Witness.own()
        return self._witness

    @witness.setter
    def witness(self, known: Witness) -> None:
        self._witness = known

    def map(self, d_in: Number) -> Fraction:
        """Return the largest output distance at an input distance: the sensitivity at ``d_in``.

        Args:
            d_in: the distance between two inputs.

        Raises:
            UsageError: ``d_in`` is negative, or not an integer where records are counted.
        """
        return self.stability(read_distance(self.input, d_in))

    def check(self, d_in: Number, d_out: Number) -> bool:
        """Return whether inputs at distance ``d_in`` always end within ``d_out``.

        Args:
            d_in: the distance between two inputs.
            d_out: the distance between their outputs.
        """
        return self.map(d_in) <= as_fraction(d_out, "d_out")

    def __call__(self, data: object) -> object:
        """Evaluate on data.  The answer is exact and *not private*: never publish it."""
        return self.output.domain.present(self.function(self.input.domain.read(data)))

    @overload
    def __rshift__(self, other: Transformation) -> Transformation: ...
    @overload
    def __rshift__(self, other: EndsChain[Made]) -> Made: ...
    @overload
    def __rshift__(self, other: Builds[Made]) -> Made: ...
    @overload
    def __rshift__(self, other: type[Step] | partial[Step]) -> Unfinished: ...
    def __rshift__(self, other: object) -> object:
        if isinstance(other, Step):  # first, for a name that is not there takes long to look for
            return self.then(build_or_advise(other, self.output))
        still_open = unfinished(self, other)
        if still_open is not None:
            return still_open
        if isinstance(other, Transformation) or hasattr(other, "after"):
            return self.then(other)
        return self.then(build_or_advise(as_step(other), self.output))

    @overload
    def then(self, other: Transformation) -> Transformation: ...
    @overload
    def then(self, other: EndsChain[Made]) -> Made: ...
    def then(self, other: object) -> object:
        """Chain another transformation, or the measurement that ends the chain.

        Args:
            other: what starts from the output of this one.

        Raises:
            MismatchError: the spaces differ; carries both.
        """
        following: Any = other
        if following.input != self.output:
            raise advised(
                f"the chain ends in ({self.output}), and the next part starts from "
                f"({following.input})",
                self.output,
                following.input,
                steps_between(self.output, lambda reached: reached == following.input),
            )
        if not isinstance(following, Transformation):
            return following.after(self)
        first, second = self.function, following.function
        stable_first, stable_second = self.stability, following.stability
        attained = self.onto and following.attained
        chained = Transformation(
            self.input,
            following.output,
            lambda data: second(first(data)),
            lambda d: stable_second(stable_first(d)),
            attained=attained,
            onto=self.onto and following.onto,
            witness=self.witness & following.witness if attained else None,
        )
        chained.links = self.links + following.links
        return chained

    def explain(self, d_in: Number = 1) -> str:
        """Return the chain as text, with the distance after each step.

        Args:
            d_in: the distance between two inputs; 1, two neighbours, by default.
        """
        return chain_text(self.input, self.links, read_distance(self.input, d_in))

    def card(self) -> Card:
        """Return what a notebook displays: each step with the distance after it."""
        return chain_card("Transformation", self.input, self.links, Fraction(1))

    def __repr__(self) -> str:
        steps = " >> ".join(link.title for link in self.links)
        return f"<Transformation {steps}: ({self.input}) -> ({self.output})>"


def read_distance(space: Space, d_in: Number) -> Fraction:
    """Read an input distance and refuse one that the metric cannot take."""
    distance = as_fraction(d_in, "d_in")
    if distance.numerator < 0:
        raise UsageError(f"a distance is not negative; got {distance}")
    if space.metric.counts_records and distance.denominator != 1:
        raise UsageError(f"a distance in records is a whole number; got {distance}")
    return distance
