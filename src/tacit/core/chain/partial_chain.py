"""A chain whose last step still lacks its noise: what ``chain >> tc.laplace`` makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NoReturn

from tacit.calls import public
from tacit.core.chain.step import Step
from tacit.display.card import Shown
from tacit.errors import UsageError

__all__ = ["Unfinished", "unfinished"]


@public
class Unfinished(Shown):
    """A chain that ends in a kind of step, without the parameter that says how much noise.

    ``tc.calibrate(chain, d_in=..., d_out=...)`` finds that parameter; until then nothing can be
    asked of the chain.

    Args:
        chain: a space, or a transformation from it.
        kind: the step's class.
        given: the parameters that are known already (from a ``functools.partial`` of the class).
        after: functions of the released value that follow.

    Example:
        >>> from tacit.core import AbsoluteDistance, Number, Space
        >>> from tacit.mechanisms import Laplace
        >>> chain = Space(Number("int"), AbsoluteDistance()) >> Laplace
        >>> chain.finish(scale=2).map(1)
        Fraction(1, 2)
    """

    def __init__(
        self,
        chain: Any,
        kind: Callable[..., Step],
        given: Mapping[str, Any],
        name: str,
        fields: tuple[str, ...],
        after: tuple[Callable[[Any], Any], ...] = (),
    ) -> None:
        self.chain = chain
        self.kind = kind
        self.given = dict(given)
        self.name = name
        self.fields = fields
        self.after = after

    def finish(self, **parameters: Any) -> Any:
        """Return the measurement with the parameters that were open."""
        built: Any = self.chain >> self.kind(**self.given, **parameters)
        for function in self.after:
            built = built >> function
        return built

    def __rshift__(self, function: Callable[[Any], Any]) -> Unfinished:
        if not callable(function):
            return NotImplemented
        after = (*self.after, function)
        return Unfinished(self.chain, self.kind, self.given, self.name, self.fields, after)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise UsageError(
            f"{self.name} has no noise parameter yet: write {self.name}({self.fields[0]}=...), or "
            "let tc.calibrate(chain, d_in=..., d_out=...) find it"
        )

    __call__ = map = check = distribution = explain = _refuse

    def __repr__(self) -> str:
        return f"<Unfinished chain that ends in {self.name}: calibrate it>"


def unfinished(chain: Any, step: Any) -> Unfinished | None:
    """Return the unfinished chain if ``step`` is a class of steps (or a partial of one).

    Raises:
        UsageError: the class has no open parameter.
    """
    kind = step.func if isinstance(step, partial) else step
    if not (isinstance(kind, type) and issubclass(kind, Step)):
        return None
    names = tuple(getattr(kind, "__dataclass_fields__", {}))
    given: dict[str, Any] = {}
    if isinstance(step, partial):
        given = {**dict(zip(names, step.args, strict=False)), **step.keywords}
    opened = tuple(n for n in names if n in ("scale", "epsilon") and n not in given)
    if not opened:
        raise UsageError(f"{kind.name} has no noise to find; write it with its parameters")
    return Unfinished(chain, kind, given, kind.name, opened)
