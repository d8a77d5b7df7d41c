"""Odd values for every flag of every command, and for every field of a plan."""

from __future__ import annotations

import shlex
from typing import Any

import typer

from tacit.cli.app import app
from tacit.cli.release.plan_file import _FIELDS

TEXTS = {
    "empty": "",
    "blank": " ",
    "infinite": "inf",
    "negative infinite": "-inf",
    "no number": "nan",
    "negative": "-1",
    "zero": "0",
    "fraction": "1/3",
    "through zero": "1/0",
    "large": "1" + "0" * 30,
    "many digits": "7" * 5000,
    "a million digits": "7" * 10**6,
    "dwarf": "1e-999999999",
    "giant": "1e5000000",
    "false": "false",
    "date": "2024-02-30",
    "list": "[1, 2]",
    "nested": "{" * 400,
    "brackets": "(" * 400,
    "no text": "\udcff",  # what a byte that is no UTF-8 becomes
    "null": "\x00",
    "bounds": "age:0:1e5000000",
    "infinite bounds": "age:-inf:inf",
    "turned bounds": "age:1e300:-1e300",
    "percentile": "age:1e-999999999:0:9",
    "edges": "age:0,nan,inf",
    "far edges": "age:0,1e999,1e5000000",
    "colons": ":::",
    "commas": ",,,",
    "condition": "age >= " + "9" * 5000,
    "far condition": "age >= 1e99999",
    "range": "0..99999999999",
    "long range": "1.." + "9" * 5000,
    "sign": "=",
    "folder": ".",
    "address": "postgresql://",
    "percent": "%00%ff",
    "quote": "'\"`;--",
}
"""Texts after a flag."""

VALUES: dict[str, str] = {
    "infinite": "inf",
    "negative infinite": "-inf",
    "no number": "nan",
    "negative": "-1",
    "zero": "0",
    "float": "0.5",
    "large": "1" + "0" * 30,
    "many digits": "7" * 5000,
    "dwarf": "1e-999999999",
    "giant": "1e5000000",
    "true": "true",
    "date": "2024-02-28",
    "time": "2024-02-28T10:00:00Z",
    "hour": "10:00:00",
    "empty": "''",
    "text": "'x'",
    "null": '"\\u0000"',
    "empty list": "[]",
    "list": "[1, inf]",
    "list of texts": "['a', '']",
    "odd list": "['a', 1, nan, true, 2024-02-28]",
    "nested list": "[[1], [[]]]",
    "deep list": "[" * 300 + "]" * 300,
    "table": "{}",
    "odd table": "{a = nan, '' = [1]}",
    "lists of a table": "{site = [inf, ['a']]}",
}
"""Values of a field of a plan, in TOML."""

COMMANDS = {
    "demo": "",
    "release": "people.csv --one-row-each --count --epsilon 0.01 --budget-epsilon 9 "
    "--ledger kept.ledger",
    "preview": "people.csv --one-row-each --count --epsilon 0.01",
    "sql": "people.csv 'select count(*) from people' --one-row-each --epsilon 0.01 "
    "--budget-epsilon 9 --ledger kept.ledger",
    "together": "people.csv 'select count(*) as n from people' --one-row-each --epsilon 0.01 "
    "--budget-epsilon 9 --ledger kept.ledger",
    "init": "people.csv --out drafted.toml",
    "check": "people.csv",
    "count-over-time": "people.csv --one-row-each --types day=date --time day --start "
    "2024-01-01 --every 1d "
    "--periods 3 --epsilon 0.01 --now 2024-01-03 --ledger over.ledger --budget-epsilon 9",
    "verify": "kept.json",
    "registry": "kept.json",
    "sensitivity": "mean --records 1,2,3",
    "choose-epsilon": "mean --records 1,2,3 --risk 0.5",
    "ledger create": "people.csv --one-row-each --budget-epsilon 1 --ledger made.ledger",
    "ledger show": "kept.ledger",
    "ledger verify": "kept.ledger",
    "ledger extend": "kept.ledger --budget-epsilon 20 --reason more",
    "ledger restore": "kept.ledger",
    "serve": "check .",
    "token create": "--folder . --role analyst --name ada",
    "token list": "--folder .",
    "token narrow": "00 --folder .",
    "token revoke": "00 --folder .",
    "local ask": "how --items a,b --epsilon 1",
    "local perturb": "people.csv --column site --items a,b,c --epsilon 1 --out made.reports",
    "local collect": "kept.reports --out made.tally",
    "local estimate": "kept.reports",
    "audit attacks": "--systems nobody",
    "local choose": "-n 100 --items a,b --epsilon 1",
}
"""A line of each command that works, but for what the command says it lacks."""

_WHOLE = {"statistic": "'mean'", "column": "'age'", "lower": "0", "upper": "99"}
_METHODS = {"bound": "'ptr'", "bins": "'sample_and_aggregate'", "distribution": "'smooth'"}


def plans() -> dict[str, str]:
    """A plan for each of its fields, with ``@`` where the value of that field stands."""
    bare = "[source]\npath = 'people.csv'\n"
    start = f"unit = 'row'\n{bare}"
    count = "answers = {r = {statistic = 'count'}}\n"
    asked = "[[question]]\nepsilon = 0.01\n"
    found = {"source path": f"unit = 'row'\n[source]\npath = @\n{asked}{count}"}
    for name in _FIELDS["[source]"][1:]:
        found[f"source {name}"] = f"{start}{name} = @\n{asked}{count}"
    found["unit"] = f"unit = @\n{bare}{asked}{count}"
    found["unit person"] = f"{bare}[unit]\nrows = 2\nperson = @\n{asked}{count}"
    for name in ("rows", "groups"):
        more = "rows = 2\n" if name == "groups" else ""
        unit = f"[unit]\nperson = 'person'\n{more}"
        found[f"unit {name}"] = f"{bare}{unit}{name} = @\n{asked}{count}"
    for name in _FIELDS["[budget]"]:
        more = "epsilon = 1\n" if name == "delta" else ""
        found[f"budget {name}"] = f"{start}[budget]\n{more}{name} = @\n{asked}{count}"
    for name in _FIELDS["[[question]]"]:
        line = asked.replace("epsilon = 0.01\n", "") if name in ("epsilon", "rho") else asked
        more = "by = ['site']\n" if name.startswith("keys") else ""
        rest = "" if name == "answers" else count
        found[f"question {name}"] = f"{start}{line}{more}{name} = @\n{rest}"
    cut = f"{start}{asked}by = ['x']\n{count}cut = "
    found["cut"] = f"{cut}{{x = @}}\n"
    found["cut column"] = f"{cut}{{x = {{column = @, edges = [0, 1]}}}}\n"
    found["cut edges"] = f"{cut}{{x = {{column = 'age', edges = @}}}}\n"
    found["cut edge"] = f"{cut}{{x = {{column = 'age', edges = [0, @]}}}}\n"
    found["answer"] = f"{start}{asked}answers = {{r = @}}\n"
    found["answer statistic"] = f"{start}{asked}answers = {{r = {{statistic = @}}}}\n"
    bins = "answers = {r = {statistic = 'histogram', column = 'age', edges = "
    found["answer edges"] = f"{start}{asked}{bins}@}}}}\n"
    found["answer edge"] = f"{start}{asked}{bins}[0, @]}}}}\n"
    for name in ("column", "lower", "upper", "q", "method", "bound", "bins", "distribution"):
        fields = {**_WHOLE, name: "@"}
        if name in _METHODS:
            fields["method"] = _METHODS[name]
        if name == "q":
            fields["statistic"] = "'percentile'"
        said = ", ".join(f"{key} = {value}" for key, value in fields.items())
        found[f"answer {name}"] = f"{start}{asked}answers = {{r = {{{said}}}}}\n"
    person = f"{bare}[unit]\nperson = 'person'\nrows = 2\n{asked}{count}"
    found["person"] = f"{person}per_person = {{r = @}}\n"
    found["person statistic"] = f"{person}per_person = {{r = {{statistic = @}}}}\n"
    made = "per_person = {r = {statistic = 'sum', column = 'age', lower = 0, upper = "
    found["person upper"] = f"{person}{made}@}}}}\n"
    found["person where"] = f"{person}{made}9}}}}\nwhere_person = @\n"
    for name in ("source", "unit", "budget", "question"):
        more = "" if name == "source" else "source = {path = 'people.csv'}\n"
        found[f"the {name}"] = f"{more}{name} = @\n"
    return found


def commands() -> dict[str, Any]:
    """Every command by its words, but for names of earlier versions."""
    found: dict[str, Any] = {}

    def walk(command: Any, words: tuple[str, ...]) -> None:
        for name, inner in getattr(command, "commands", {}).items():
            walk(inner, (*words, name))
        if not hasattr(command, "commands") and not command.hidden:
            found[" ".join(words)] = command

    walk(typer.main.get_command(app), ())
    return found


def places(command: Any) -> list[str]:
    """Every flag that takes a value, and each argument by its name in angles."""
    return [
        p.opts[-1] if p.param_type_name == "option" else f"<{p.name}>"
        for p in command.params
        if not getattr(p, "is_flag", False) and p.name != "help"
    ]


def line(words: str, place: str, odd: str) -> list[str]:
    """A line of a command with an odd value at one place."""
    given = shlex.split(COMMANDS[words])
    if place.startswith("<"):
        return [*words.split(), *given[1:], "--", odd]
    return [*words.split(), *given, *([f"{place}={odd}"] if place[1] == "-" else [place, odd])]
