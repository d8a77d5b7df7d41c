"""A ledger in PostgreSQL under a role of few rights, and the remedy that an error names."""

import re

from tacit.accounting import epsilon

COST = epsilon("1/100")


def as_role(postgres, name, ledger="clinic"):
    return f"{postgres.dsn(postgres.server.role(name))}?ledger={ledger}"


def remedy_of(error):
    """The statements that a message tells the owner to run."""
    return re.search(r"gives it: (.*)$", str(error.value)).group(1).split("; ")
