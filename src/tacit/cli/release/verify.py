"""``tacit verify``: check a certificate without the data."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated

import typer

__all__ = ["verify"]


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
    from tacit.cli.shared.output import check_files, note, print_json, working
    from tacit.errors import UsageError, VerificationError
    from tacit.report import Certificate

    if html is not None:
        if not html.endswith(".html"):
            raise UsageError(f"a page ends in .html, and {html} does not")
        check_files(None, [html])
    page = Certificate.load(certificate)
    kept = nullcontext() if ledger is None else open_ledger(ledger, create=False)
    with kept as opened, working("deriving the loss again"):
        found = page.verify(opened)
    if json:
        print_json(
            {
                "holds": bool(found),
                "checked": found.checked,
                "unchecked": found.unchecked,
                "failures": found.failures,
            }
        )
    else:
        print(found)
    if html is not None:
        with working("writing the page"):
            page.save(html, found)
        note(f"wrote {html}")
    if not found:
        raise VerificationError(f"{certificate} does not hold: do not rely on it")
