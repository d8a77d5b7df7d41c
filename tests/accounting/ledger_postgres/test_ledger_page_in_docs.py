"""The examples of the page on ledgers in PostgreSQL run, on the server of the tests."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.accounting import epsilon, open_ledger
from tacit.data import health_insurance

PAGE = Path(__file__).parents[3] / "docs" / "ledger-in-postgresql.md"
BLOCK = re.compile(r"^```(sql|python no-run|console no-run)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_page_runs_from_top_to_bottom(postgres, tmp_path, monkeypatch, capsys):
    shutil.copy(health_insurance(), tmp_path)
    monkeypatch.chdir(tmp_path)
    server, names = postgres.server, {}
    for role in ("keeper", "ann", "rita"):
        server.role(role)
    here = rf"postgresql://\1:{server.password}@127.0.0.1:{server.port}/{postgres.name}"
    text = re.sub(r"postgresql://(\w+)@db\.example/budgets", here, PAGE.read_text("utf-8"))
    ran = []
    for match in BLOCK.finditer(text):
        kind, block = match[1].split()[0], match[2]
        ran.append(kind)
        if kind == "sql":
            postgres.run(*filter(str.strip, block.split(";")))
        elif kind == "python":
            exec(compile(block, str(PAGE), "exec"), names)
        else:
            printed = [run(line) for line in block.splitlines()]
            assert all(server.password not in told for told in printed)
    assert ran == ["sql", "python", "sql", "python", "console", "console"]
    assert "epsilon 0.75" in capsys.readouterr().out
    names["session"].close()
    with open_ledger(f"{postgres.dsn()}?ledger=clinic") as ledger:
        assert ledger.spent == epsilon("1/4")


def run(line):
    words = shlex.split(line.removeprefix("$ "))
    assert words[0] == "tacit"
    program = Path(sys.executable).with_name("tacit")
    done = subprocess.run([program, *words[1:]], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("named", ["tacit.clinic_event", "tacit.clinic_head", "PostgreSQL 13"])
def test_the_page_names_what_the_code_does(named):
    from tacit.accounting import ledger_postgres as postgres_tables

    tables = postgres_tables.Tables("clinic", "the ledger")
    assert {tables.event, tables.head, f"PostgreSQL {postgres_tables._OLDEST}"} >= {named}
    assert named in PAGE.read_text("utf-8")
