"""The flags that say what one release spends, for every command that has a price."""

from __future__ import annotations

from typing import Annotated, Protocol

from tacit.cli.shared.signature import flag

__all__ = ["PRICE", "Delta", "Epsilon", "Free", "PricedOptions", "Rho", "Total"]

PRICE = "What it may cost"
"""The panel of the help with these flags."""

Epsilon = Annotated[
    str | None,
    flag(
        "--epsilon",
        help="What this release spends; or a weight for each answer, with --total.",
        panel=PRICE,
        metavar="EPSILON",
    ),
]
Delta = Annotated[
    str | None,
    flag(
        "--delta",
        help="With --epsilon: for keys that are not public, and for some methods.",
        panel=PRICE,
        metavar="DELTA",
    ),
]
Rho = Annotated[
    str | None,
    flag(
        "--rho",
        help="Instead: rho, for zero-concentrated differential privacy.",
        panel=PRICE,
        metavar="RHO",
    ),
]
Total = Annotated[
    str | None,
    flag(
        "--total",
        help="With weights, as in --epsilon count=1,mean_age=3: the total that they split.",
        panel=PRICE,
        metavar="AMOUNT",
    ),
]

Free = Annotated[
    bool,
    flag(
        "--free",
        help="Instead of a price: answer from earlier releases at no cost, or not at all.",
        panel=PRICE,
    ),
]


class PricedOptions(Protocol):
    """Options of a command with the flags of a price."""

    @property
    def epsilon(self) -> str | None: ...  # noqa: D102

    @property
    def delta(self) -> str | None: ...  # noqa: D102

    @property
    def rho(self) -> str | None: ...  # noqa: D102

    @property
    def total(self) -> str | None: ...  # noqa: D102

    @property
    def free(self) -> bool: ...  # noqa: D102
