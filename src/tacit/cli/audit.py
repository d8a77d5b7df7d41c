"""``tacit audit attacks``: run the known attacks on systems, and draw the table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer

from tacit.cli.shared.options import Text, Texts, flag, options
from tacit.cli.shared.output import check_page, note, print_table
from tacit.errors import UsageError, VerificationError

audit_app = typer.Typer(
    help="Known attacks on software for differential privacy, run on Tacit and on others.",
    no_args_is_help=True,
)


@audit_app.callback()
def _group() -> None:
    """Known attacks on software for differential privacy, run on Tacit and on others."""


@dataclass(frozen=True)
class AttackOptions:
    """Which attacks are run, and on which systems."""

    systems: str = flag(
        "Names of systems, separated by commas. Without it, the attacks are listed.", default=""
    )
    only: Texts = flag("A class of attack, or one case. May be given several times.")
    python: Texts = flag(
        "The interpreter in which a system is installed. May be given several times.", "NAME=PATH"
    )
    timeout: float = flag(
        "Seconds after which a system is stopped; its results so far count.", default=3600, min=1
    )
    json: bool = flag("Print JSON, with the evidence.", default=False)
    html: Text = flag("Also write a page, with the evidence.")


@audit_app.command()
@options
def attacks(given: AttackOptions) -> None:
    """List the known attacks, or run them on systems and draw the table.

    The exit code is 1 if an attack succeeds against one of the systems.

    [bold]tacit audit attacks --systems tacit,opendp[/bold]
    """
    from tacit.audit.attack_suite.run import attacks as run

    html = given.html
    check_page(html)
    pairs = [python.partition("=") for python in given.python or ()]
    if any(not path for _, _, path in pairs):
        raise UsageError("write --python NAME=PATH, for example --python opendp=/venv/bin/python")
    names = [name.strip() for name in given.systems.split(",") if name.strip()]
    pythons = {name: path for name, _, path in pairs}
    results = run(names, only=given.only or (), pythons=pythons, timeout=given.timeout)
    if given.json:
        print(results.to_json())
    elif not names:
        print_table(["case", "question"], [[case.id, case.question] for case in results])
    else:
        print_table(results.header, results.rows())
        for line in results.legend:
            note(line)
    if html is not None:
        Path(html).expanduser().write_text(results.to_html(), encoding="utf-8")
    fallen = [name for name in names if results.fallen(name)]
    if given.json:  # nothing else is printed, also where both streams are read as one
        raise typer.Exit(1 if fallen else 0)
    if html is not None:
        note(f"wrote {html}")
    for result in results.results:
        for name in results.fallen(result.system):
            evidence = result.outcomes[name].evidence
            note(f"{result.system} fails under the attack {name}: {evidence}")
    if fallen:
        raise VerificationError(f"these systems did not withstand an attack: {', '.join(fallen)}")
