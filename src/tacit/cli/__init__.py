"""The command line: ``tacit release``, ``tacit ledger show`` and the others.

Exit codes: 0 done, 1 refused (the budget does not cover it, a check failed), 2 used wrongly, 70 an
error inside Tacit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from tacit.errors import RefusedError, TacitError

__all__ = ["main", "run"]

REFUSED, WRONG, INTERNAL, INTERRUPTED = 1, 2, 70, 130


def main() -> None:
    """Run the command that was typed, and exit with its code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run a command; messages go to stderr, and no error of the data reaches the terminal.

    Args:
        arguments: what was typed after ``tacit``.

    Returns:
        The exit code.

    >>> run(["--version"])
    tacit ...
    0
    """
    from tacit.cli.app import app

    try:
        app(args=list(arguments), prog_name="tacit")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else INTERNAL
    except TacitError as error:
        _say(f"Error: {error}")
        return REFUSED if isinstance(error, RefusedError) else WRONG
    except KeyboardInterrupt as error:
        _say(f"Interrupted. {_charged(error)}")
        return INTERRUPTED
    except Exception as error:
        # The message or the traceback of an error that nobody foresaw could quote the data.
        if os.environ.get("TACIT_DEBUG") == "1":
            raise
        _say(
            f"Error inside Tacit ({type(error).__name__}). Its details are withheld, since they "
            f"could quote the data; with TACIT_DEBUG=1 they are shown. {_charged(error)}"
        )
        return INTERNAL
    return 0


def _charged(error: BaseException) -> str:
    """Say what became of the budget, as the release noted it on its way out."""
    notes = getattr(error, "__notes__", ())
    return " ".join(f"{note[0].upper()}{note[1:]}." for note in notes) or (
        "What was charged to a ledger before stays charged, as tacit ledger show tells; a release "
        "that is open goes on at no further cost when the same is asked again."
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr)
