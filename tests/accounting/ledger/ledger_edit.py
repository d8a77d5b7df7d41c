"""Editing a ledger behind its back, wherever it stands."""

import sqlite3

from tacit.accounting.ledger_postgres import Address, is_address


def edit(place, statement, *values):
    """Run a statement on ``{event}`` and ``{head}``, with ``{}`` for values; return its rows."""
    if not is_address(place):
        connection = sqlite3.connect(place)
        with connection:
            rows = connection.execute(_named(statement, "event", "head", "?"), values).fetchall()
        connection.close()
        return rows
    import psycopg

    found = Address.parse(place)
    tables = f"tacit.{found.ledger}_event", f"tacit.{found.ledger}_head"
    with psycopg.connect(found.connect) as connection:
        cursor = connection.execute(_named(statement, *tables, "%s"), values)
        return cursor.fetchall() if cursor.description else []


def _named(statement, event, head, value):
    words = statement.replace("{event}", event).replace("{head}", head)
    return words.replace("{}", value)
