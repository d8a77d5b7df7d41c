"""What was checked of a certificate, what could not be, and what failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tacit.errors import TacitError

__all__ = ["Verification", "short"]


@dataclass(repr=False)
class Verification:
    """What was checked of a certificate, what could not be, and what failed.

    Truthy when something was checked and nothing failed.
    """

    checked: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.checked) and not self.failures

    def __repr__(self) -> str:
        counted = f"{len(self.checked)} checked, {len(self.unchecked)} unchecked"
        return f"<Verification: {'; '.join([counted, *(f'FAILED {t}' for t in self.failures)])}>"

    def __str__(self) -> str:
        lines = [f"FAILED    {text}" for text in self.failures]
        lines += [f"ok        {text}" for text in self.checked]
        lines += [f"unchecked {text}" for text in self.unchecked]
        return "\n".join(lines)

    def check(self, claim: str, check: Callable[[], str | None]) -> None:
        """Run one check: None means that the claim holds, text says how it fails."""
        try:
            trouble = check()
        except _CANNOT as error:
            trouble = f"cannot be derived ({type(error).__name__}: {short(str(error))})"
        if trouble is None:
            self.checked.append(claim)
        else:
            self.failures.append(f"{claim}: {trouble}")


_CANNOT = (
    TacitError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    AssertionError,
)


def short(text: str) -> str:
    """Return the beginning of a long text.

    >>> short("spent")
    'spent'
    """
    return text if len(text) <= 300 else f"{text[:300]}..."
