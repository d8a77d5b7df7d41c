"""``tacit audit attacks``: run the known attacks on systems, and draw the table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.shared.output import check_files, note, print_table
from tacit.errors import UsageError, VerificationError

audit_app = typer.Typer(
    help="Known attacks on software for differential privacy, run on Tacit and on others.",
    no_args_is_help=True,
)


@audit_app.callback()
def _group() -> None:
    """Known attacks on software for differential privacy, run on Tacit and on others."""


@audit_app.command()
def attacks(
    systems: Annotated[
        str,
        typer.Option(
            "--systems",
            help="Names of systems, separated by commas. Without it, the attacks are listed.",
        ),
    ] = "",
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="A class of attack, or one case. May be given several times."),
    ] = None,
    python: Annotated[
        list[str] | None,
        typer.Option(
            "--python",
            help="The interpreter in which a system is installed. May be given several times.",
            metavar="NAME=PATH",
        ),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout",
            help="Seconds after which a system is stopped; its results so far count.",
            min=1,
        ),
    ] = 3600,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, with the evidence.")] = False,
    html: Annotated[
        str | None, typer.Option("--html", help="Also write a page, with the evidence.")
    ] = None,
) -> None:
    """List the known attacks, or run them on systems and draw the table.

    The exit code is 1 if an attack succeeds against one of the systems.

    [bold]tacit audit attacks --systems tacit,opendp[/bold]
    """
    from tacit.audit.attack_suite.run import attacks as run

    if html is not None:
        if not html.endswith(".html"):
            raise UsageError(f"a page ends in .html, and {html} does not")
        check_files(None, [html])
    pairs = [given.partition("=") for given in python or ()]
    if any(not path for _, _, path in pairs):
        raise UsageError("write --python NAME=PATH, for example --python opendp=/venv/bin/python")
    names = [name.strip() for name in systems.split(",") if name.strip()]
    pythons = {name: path for name, _, path in pairs}
    results = run(names, only=only or (), pythons=pythons, timeout=timeout)
    if json:
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
    if json:  # nothing else is printed, also where both streams are read as one
        raise typer.Exit(1 if fallen else 0)
    if html is not None:
        note(f"wrote {html}")
    for result in results.results:
        for name in results.fallen(result.system):
            evidence = result.outcomes[name].evidence
            note(f"{result.system} fails under the attack {name}: {evidence}")
    if fallen:
        raise VerificationError(f"these systems did not withstand an attack: {', '.join(fallen)}")
