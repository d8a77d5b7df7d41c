"""The commands `tacit verify` and `tacit registry`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.shared.options import dressed
from tacit.cli.shared.output import check_page, note, print_json, working
from tacit.errors import UsageError, VerificationError

if TYPE_CHECKING:
    from tacit.report import RegistryEntry
    from tacit.report.registry import RegistryField

# ``tacit verify``: check a certificate without the data.


def verify(
    certificate: Annotated[str, typer.Argument(help="A certificate, as JSON.")],
    ledger: Annotated[
        str | None, typer.Option("--ledger", help="Also look the charge up in this ledger.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    html: Annotated[
        str | None, typer.Option("--html", help="Also write the certificate as a page.")
    ] = None,
) -> None:
    """Compute the privacy loss again from a certificate, and list what cannot be checked.

    The exit code is 0 if everything holds that can be derived, else 1.

    [bold]tacit verify ages.json[/bold]
    """
    from tacit.accounting import open_ledger
    from tacit.report import Certificate

    check_page(html)
    page = Certificate.load(certificate)
    opened_ledger = nullcontext() if ledger is None else open_ledger(ledger, create=False)
    with opened_ledger as opened, working("deriving the loss again"):
        verification = page.verify(opened)
    if json:
        print_json(
            {
                "holds": bool(verification),
                "checked": verification.checked,
                "unchecked": verification.unchecked,
                "failures": verification.failures,
            }
        )
    else:
        print(verification)
    if html is not None:
        with working("writing the page"):
            page.save(html, verification)
        note(f"wrote {html}")
    if not verification:
        raise VerificationError(f"{certificate} does not hold: do not rely on it")


# ``tacit registry``: an entry of the public registry of deployments, from a certificate.


_PANELS = {
    0: "Answered by the certificate, unless you give another answer",
    1: "Asked for the first tier",
    2: "Asked for the second tier",
    3: "Asked for the third tier",
}


def registry(
    certificate: Annotated[str, typer.Argument(help="A certificate, as JSON.")],
    out: Annotated[
        str | None,
        typer.Option(
            "--out", help="The file to write, .yaml or .json; else it is printed.", metavar="FILE"
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON: the entry, and the missing fields.")
    ] = False,
) -> None:
    """Draft an entry of the public registry of deployments (registry.opendp.org).

    What the certificate states is filled in. On a terminal the rest is asked for.

    The exit code is 0 if nothing is missing, else 1.

    [bold]tacit registry ages.json --name "Ages by site" --out ages.yaml[/bold]
    """


def _run(certificate: str, out: str | None, json: bool, given: dict[str, Any]) -> None:
    from tacit.report import Certificate

    if out is not None and not out.endswith((".yaml", ".yml", ".json")):
        raise UsageError(f"an entry ends in .yaml or .json, and {out} does not")
    page = Certificate.load(certificate)
    with working("deriving the loss again"):
        entry = page.registry_entry(given)
    if entry.missing and sys.stdin.isatty() and sys.stderr.isatty():
        given |= _answers(entry.missing)
        with working("deriving the loss again"):
            entry = page.registry_entry(given)
    if out is not None:
        entry.save(out)
    if json:
        print_json({"entry": entry.fields, "missing": list(entry.missing)})
    elif out is None:
        sys.stdout.write(entry.to_yaml())
    _report(entry, out)


def _answers(missing: tuple[str, ...]) -> dict[str, Any]:
    """Prompt for missing fields on the terminal; an empty line leaves one open."""
    from tacit.report.registry import REGISTRY_FIELDS

    note("The certificate does not know the following. An empty line leaves a question open.")
    return {field.name: _ask(field) for field in REGISTRY_FIELDS if field.name in missing}


def _ask(field: RegistryField) -> list[str]:
    from tacit.report.registry import read_answers

    words = f" ({' or '.join(word for word, _ in field.choices)})" if field.choices else ""
    more = "; several with a semicolon between them" if field.several else ""
    while True:
        text = typer.prompt(f"{field.question}{words}{more}", "", show_default=False, err=True)
        answer = text.split(";") if field.several else [text]
        try:
            read_answers({field.name: answer})
        except UsageError as error:
            note(str(error))
        else:
            return answer


def _report(entry: RegistryEntry, out: str | None) -> None:
    """Print what was written and what is missing; exit with 1 if something is missing."""
    from tacit.report.registry import REGISTRY_FIELDS

    if out is not None:
        note(f"wrote {out}: tier {entry.fields['tier']} of 3")
    if not entry.missing:
        return
    fields = [one for one in REGISTRY_FIELDS if one.name in entry.missing]
    note(f"{len(fields)} missing, left empty in the entry:")
    for one in fields:
        note(f"  {one.flag}: {one.question}")
    raise typer.Exit(1)


def with_questions() -> Callable[..., None]:
    """Return the command with a flag for each question; they are loaded when it is run."""
    from tacit.report.registry import REGISTRY_FIELDS

    def collected(certificate: str, out: str | None, json: bool, **given: Any) -> None:
        _run(certificate, out, json, given)

    signature = inspect.signature(registry, eval_str=True)
    return dressed(
        collected, registry, [*signature.parameters.values(), *map(_flag, REGISTRY_FIELDS)]
    )


def _flag(field: RegistryField) -> inspect.Parameter:
    words = " or ".join(word for word, _ in field.choices)
    text = f"{field.question}: {words}." if words else f"{field.question}."
    option = typer.Option(
        field.flag,
        help=f"{text} May be repeated." if field.several else text,
        rich_help_panel=_PANELS[field.tier],
    )
    kind: Any = list[str] | None if field.several else str | None
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, option]
    )
