"""``tacit choose-epsilon``: the largest epsilon that keeps a disclosure risk."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import typer

from tacit.cli.sensitivity.domain_options import Population, domain_of
from tacit.cli.shared.signature import options
from tacit.errors import UsageError

__all__ = ["choose_epsilon"]


@dataclass(frozen=True)
class Risk:
    """What is published, and how sure anybody may become."""

    statistic: Annotated[str, typer.Argument(help="count, sum, mean, median, percentile:25, ...")]
    risk: Annotated[
        str,
        typer.Option(
            "--risk", help="How sure anybody may become which data set is the true one, below 1."
        ),
    ]
    relation: Annotated[
        str, typer.Option("--relation", help="unbounded, add, remove or bounded.")
    ] = "unbounded"
    plot: Annotated[
        str | None, typer.Option("--plot", help="Draw to a .png, .svg or .pdf file.")
    ] = None
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@options
def choose_epsilon(ask: Risk, over: Population) -> None:
    """Choose epsilon from a disclosure risk, over all possible data sets of a small population.

    [bold]tacit choose-epsilon median --records 1,2,3,10 --size 3 --risk 1/3[/bold]
    """
    from tacit.accounting.epsilon_choice.choose_epsilon import choose_epsilon as choose
    from tacit.cli.sensitivity.sensitivity import relations_of
    from tacit.cli.shared.output import check_files, note, print_json, save_plot, working
    from tacit.statistics import Records

    check_files(ask.plot, ())
    domain = domain_of(over)
    if not isinstance(domain, Records) or domain.columns is not None or domain.size is None:
        raise UsageError(
            "a risk is for releases of some records of a known population: --records 1,2,3,10 "
            "--size 3"
        )
    if ask.relation == "both":
        raise UsageError("the noise is for one relation: --relation unbounded or bounded")
    (relation,) = relations_of(ask.relation)
    with working("going through the possible worlds"):
        found = choose(ask.statistic, domain.sample.values(), domain.size, ask.risk, relation)
    if ask.json:
        print_json(
            {
                "statistic": found.statistic.name,
                "risk": str(found.risk),
                "epsilon": _plain(found.tight),
                "bound": _plain(found.bound),
                "worlds": found.worlds,
                "sensitivity": float(found.sensitivity),
                "largest_difference": float(found.largest_difference),
            }
        )
    else:
        print(found)
        note(
            "This holds for this population, and for readers who consider all worlds equally "
            "likely; differential privacy itself assumes neither."
        )
    if ask.plot is not None:
        with working("drawing"):
            save_plot(found.plot(), ask.plot)
        note(f"wrote {ask.plot}")


def _plain(value: Fraction | float) -> float | None:
    """Return a float that is not above the value; None where every epsilon keeps the risk."""
    from tacit.arithmetic.exact import float_down

    if isinstance(value, float):
        return None if math.isinf(value) else value
    return float_down(value)
