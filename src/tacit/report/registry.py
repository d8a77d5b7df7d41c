"""Entries of a public registry of releases."""

from __future__ import annotations

import datetime
import json
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.accounting import Budget
from tacit.arithmetic.exact import as_fraction, decimal, show
from tacit.calls import public
from tacit.errors import UsageError, did_you_mean
from tacit.report.text import (
    budget_words,
    declared_words,
    distance_words,
    people_words,
    question_words,
    step_words,
    unit_words,
)

# Plain values as YAML, the form in which the registry of deployments keeps its entries.
#
# Written are mappings, lists, texts, numbers and nothing else, in a form that YAML 1.1 and 1.2 read
# alike: every text is quoted, or a literal block where it has several lines.


def yaml_text(value: Mapping[str, object]) -> str:
    r"""Return a mapping as a YAML document.

    >>> print(yaml_text({"tier": 3, "authors": ["Ada"], "delta": 1e-06, "notes": "one\ntwo"}))
    tier: 3
    authors:
      - "Ada"
    delta: 1.0e-06
    notes: |-
      one
      two
    <BLANKLINE>
    """
    return "\n".join(_mapping(value)) + "\n"


def _mapping(value: Mapping[str, object]) -> Iterator[str]:
    for name, part in value.items():
        if isinstance(part, Mapping):
            yield f"{name}:" if part else f"{name}: {{}}"
            yield from _inside(_mapping(part))
        elif isinstance(part, (list, tuple)):
            yield f"{name}:" if part else f"{name}: []"
            yield from _inside(f"- {_scalar(one)}" for one in part)
        elif isinstance(part, str) and _is_block(part):
            yield f"{name}: |-"
            yield from _inside(part.split("\n"))
        else:
            yield f"{name}: {_scalar(part)}"


def _inside(lines: Iterator[str] | Sequence[str]) -> Iterator[str]:
    return (f"  {line}" if line else "" for line in lines)


def _is_block(text: str) -> bool:
    """Return whether a text can stand as it is, line by line."""
    lines = text.split("\n")
    plain = all(line.isprintable() and line == line.rstrip() for line in lines)
    return len(lines) > 1 and plain and bool(lines[-1]) and text[:1] not in ("", " ", "\n")


def _scalar(value: object) -> str:
    r"""Write a text or a number.

    >>> _scalar('a "b"'), _scalar(1e-06), _scalar(0.5)
    ('"a \\"b\\""', '1.0e-06', '0.5')
    """
    if isinstance(value, float):
        head, exponent, tail = repr(value).partition("e")
        return f"{head}{exponent}{tail}" if "." in head or not exponent else f"{head}.0e{tail}"
    if isinstance(value, int):
        return str(value)
    return f'"{"".join(map(_character, str(value)))}"'


def _character(one: str) -> str:
    if one in '"\\':
        return f"\\{one}"
    return one if one.isprintable() else f"\\U{ord(one):08x}"


@dataclass(frozen=True)
class RegistryField:
    """One thing that a person is asked."""

    name: str  # of the answer, in Python; behind ``--`` on the command line
    question: str  # as a person reads it
    # of the registry's three tiers, the first that wants it; 0 where a certificate has an answer
    # already, which this one replaces or adds to
    tier: int
    # the answers that there are, each with the word of the registry; none for free text
    choices: tuple[tuple[str, str], ...] = ()
    several: bool = False  # whether there may be several answers

    @property
    def flag(self) -> str:
        """The flag of the command line.

        >>> REGISTRY_FIELDS[2].flag
        '--intended-use'
        """
        return f"--{self.name.replace('_', '-')}"


_ONE_OR_MANY = (("one", "One release"), ("many", "Many releases"))
_DATA = (("static", "Static"), ("dynamic", "Dynamic"))
_ACCESS = (("interactive", "Interactive"), ("non-interactive", "Non-interactive"))

# In the order in which they are asked.
REGISTRY_FIELDS: tuple[RegistryField, ...] = (
    RegistryField("name", "The name of what is published", 1),
    RegistryField("curator", "Who publishes it", 1, several=True),
    RegistryField("intended_use", "What it is for", 1),
    RegistryField("region", "Which region the data describe", 1),
    RegistryField(
        "sector", "Of which sector it is, such as Healthcare, Government or Technology", 1
    ),
    RegistryField("author", "Who writes this entry", 1, several=True),
    RegistryField(
        "releases", "Whether there is one release of these data, or many", 2, _ONE_OR_MANY
    ),
    RegistryField(
        "data_source", "Whether the data are static, or dynamic: more of them come", 2, _DATA
    ),
    RegistryField(
        "access", "Whether people can ask the data themselves (interactive) or not", 2, _ACCESS
    ),
    RegistryField("actors", "Who sees the data or the answers, and who is trusted with what", 3),
    RegistryField(
        "unprotected", "What is published of the same data without noise; write 'nothing'", 3
    ),
    RegistryField(
        "tuning", "How bounds, listed groups and epsilon were chosen; was the data used", 3
    ),
    RegistryField("security", "How the raw data are kept, and who has access to them", 3),
    RegistryField("justification", "Why these choices were made, and who checked them", 3),
    RegistryField("description", "A description, in place of the question in words", 0),
    RegistryField(
        "published", "The day of publication, YYYY-MM-DD; the day of the release otherwise", 0
    ),
    RegistryField("source", "Where more is to be read: an address or a citation", 0, several=True),
    RegistryField("notes", "Notes", 0),
    RegistryField(
        "slug", "The short name of the entry in addresses; made of the names otherwise", 0
    ),
)


def read_answers(answers: Mapping[str, str | Sequence[str] | None]) -> dict[str, list[str]]:
    """Return the answers that were given, each as a list of texts in the registry's words.

    >>> read_answers({"name": "Visits", "releases": "many", "curator": ["Ada", " "], "notes": ""})
    {'name': ['Visits'], 'curator': ['Ada'], 'releases': ['Many releases']}
    """
    known = {field.name: field for field in REGISTRY_FIELDS}
    for name in answers:
        if name not in known:
            near = did_you_mean(str(name), list(known))
            raise UsageError(f"an entry of the registry has no answer called {name!r}; {near}")
    given = {name: _texts(known[name], answers.get(name)) for name in known}
    return {name: texts for name, texts in given.items() if texts}


def _texts(field: RegistryField, answer: str | Sequence[str] | None) -> list[str]:
    listed = list(answer) if isinstance(answer, (list, tuple)) else [answer]
    texts = []
    for one in listed:
        if not isinstance(one, (str, type(None))):
            raise UsageError(f"{field.name} must be text, not a {type(one).__name__}")
        texts += [one.strip()] if one and one.strip() else []
    if len(texts) > 1 and not field.several:
        raise UsageError(f"{field.name} has one answer, not {len(texts)}")
    if not field.choices:
        return texts
    words = {word: label for pair in field.choices for word, label in [pair, (pair[1], pair[1])]}
    for text in texts:
        if text not in words:
            known = " or ".join(word for word, _ in field.choices)
            raise UsageError(f"{field.name} is {known}, not {text[:60]!r}")
    return [words[text] for text in texts]


# What a certificate knows of an entry of the registry, in the registry's words.


Body = Mapping[str, Any]  # a certificate, as JSON

VARIANTS = {
    "PureDP": "Pure DP",
    "ApproximateDP": "Approximate DP",
    "ZeroConcentratedDP": "Zero-concentrated DP",
}


def parameters(body: Body) -> dict[str, float]:
    """Return the privacy parameters of the release, never below the exact ones."""
    # They are those in which the release was proven: a conversion to others would lose something.
    return {name: decimal(exact) for name, exact in _loss(body).items()}


def parameters_words(body: Body) -> str:
    """Describe the exact parameters, and the total budget of the ledger."""
    spent = {n: Budget.from_json(body["spent"][n]) for n in ("cost", "budget", "remaining")}
    exact = ", ".join(f"{name} = {value}" for name, value in _loss(body).items())
    return (
        f"Exactly: {exact}. This is one release; all releases that are paid from the same ledger "
        f"together are at most {budget_words(spent['budget'])}, of which this one took "
        f"{budget_words(spent['cost'])}; {budget_words(spent['remaining'])} was left after it. "
        "What would go beyond is refused."
    )


def _loss(body: Body) -> dict[str, Fraction]:
    loss, measure = body["composition"]["loss"], body["composition"]["measure"]["measure"]
    if isinstance(loss, list):
        return dict(zip(("epsilon", "delta"), map(as_fraction, loss), strict=True))
    return {"rho" if measure == "ZeroConcentratedDP" else "epsilon": as_fraction(loss)}


def unit_name(body: Body) -> str:
    """Name the unit of privacy in a word."""
    return "Row" if body["protects"]["unit"]["column"] is None else "Person"


def unit_sentences(body: Body) -> str:
    """Describe which data sets are neighbours, exactly."""
    unit = unit_words(body["protects"]["unit"])
    tables = body["question"]["query"].get("tables", ())
    several = f" In several tables: {people_words(tables)}." if len(tables) > 1 else ""
    return (
        f"The guarantee is about {unit}.{several} Adjacent are {body['protects']['meaning']} "
        "(unbounded: the number of units is not public). The metric is the number of units in "
        "which two data sets differ, and adjacent data sets are at distance 1."
    )


def data_domain(body: Body) -> str:
    """Describe the possible data sets."""
    columns = body.get("table") or [[n] for n in body["chains"][0]["space"]["domain"]["columns"]]
    named = ", ".join(f"{c[0]} ({c[1]})" if len(c) > 1 else str(c[0]) for c in columns)
    return (
        f"All tables with the columns {named}: any number of rows, with any values of these kinds, "
        "missing ones among them."
    )


def description(body: Body) -> str:
    """Describe the question."""
    return f"{question_words(body['question'])}. Of the data set {body['dataset']}."


def grows(body: Body) -> bool:
    """Return whether the release is of data that more are added to."""
    kinds = [str(aggregate["kind"]) for _, aggregate in body["question"]["query"]["aggregates"]]
    return any(kind.endswith("_over_time") for kind in kinds)


def many_releases(body: Body) -> bool:
    """Return whether the ledger shows that there were other releases of the same data."""
    spent = {n: Budget.from_json(body["spent"][n]) for n in ("cost", "budget", "remaining")}
    return spent["budget"].amount - spent["remaining"].amount > spent["cost"].amount


def release_words(body: Body) -> str:
    """Describe the position of the release in its ledger."""
    ledger = body["ledger"]
    if grows(body):
        return "Counts are published period by period, all of them paid for at once."
    note = "Other releases were paid from it before. " if many_releases(body) else ""
    return (
        f"Paid from the ledger {ledger['id']} on {str(ledger['when'])[:10]}. {note}A question "
        "that was answered is not answered a second time: asked again, the recorded answer is "
        "shown."
    )


def composition(body: Body) -> str:
    """Describe the composition of the losses of the parts."""
    parts = []
    for chain in body["chains"]:
        last = chain["steps"][-1]
        distance = distance_words(last, str(chain["measure"]["measure"]), True)
        parts.append(f"- {chain['title']}: {distance}")
    total = ", ".join(f"{name} {show(value)}" for name, value in _loss(body).items())
    add = "Sequential composition; the losses of the parts add up to"
    return "\n".join([f"{add if len(parts) > 1 else 'One part, of'} {total}:", *parts])


def preparation(body: Body) -> str:
    """Describe the steps before the noise; the proof covers all of them."""
    lines = []
    for chain in body["chains"]:
        for step in chain["steps"][:-1]:
            line = f"- {step_words(step)}"
            if line not in lines:
                lines.append(line)
    sentences = declared_words(body.get("declared", {}), body["question"]["query"])
    return "\n".join(
        [
            "All preparation is part of the chain whose sensitivity is proven:",
            *lines,
            *(f"- Declared: {one}" for one in sentences),
        ]
    )


def mechanisms(body: Body) -> str:
    """Describe the sampling of the noise, and the defences against known attacks."""
    noise = list(dict.fromkeys(f"- {step_words(c['steps'][-1])}" for c in body["chains"]))
    versions = ", ".join(f"{name} {one}" for name, one in body["versions"].items())
    return "\n".join(
        [
            *noise,
            f"- Library: Tacit ({versions}).",
            "- Floating point: values are clamped to public bounds, put on a public grid and "
            "summed as integers; the noise is an exact integer draw, and floats appear after it.",
            "- Timing: the time of a draw does not depend on its size; the time of a query shows "
            "roughly how large the table is.",
            "- Platform: random bits are those of OpenSSL and of the operating system, with no "
            "seed; the budget is charged durably before a row is read; errors quote no value.",
        ]
    )


# The entry itself: what the certificate knows, what a person answered, and what is missing.
#
# Source: the registry of deployments that OpenDP keeps and NIST proposed to host, in the form of
# its published data (``opendp/deployments-registry-data``); its tiers are those of
# https://registry.opendp.org/transparency-tiers.


@public
@dataclass(frozen=True)
class RegistryEntry:
    r"""A draft of an entry of the public registry of deployments of differential privacy.

    Attributes:
        fields: the entry, with the registry's own names; what is missing is empty text.
        missing: what a person has yet to answer, by the names that
            :meth:`tacit.Certificate.registry_entry` takes.

    Example:
        >>> entry = RegistryEntry({"tier": 1}, ("name",))
        >>> entry.missing, entry.to_yaml()
        (('name',), 'tier: 1\n')
    """

    fields: Mapping[str, object]
    missing: tuple[str, ...]

    def to_yaml(self) -> str:
        """Return the entry as YAML, the form of the registry."""
        return yaml_text(self.fields)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the entry: as YAML, or as JSON where the name ends in .json.

        Raises:
            UsageError: the file cannot be written.
        """
        as_json = str(path).endswith(".json")
        plain = json.dumps(self.fields, indent=2, ensure_ascii=False) + "\n"
        try:
            Path(os.path.expanduser(path)).write_text(
                plain if as_json else self.to_yaml(), encoding="utf-8"
            )
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from None


def registry_entry(
    body: Mapping[str, Any], answers: Mapping[str, str | Sequence[str] | None]
) -> RegistryEntry:
    """Return the entry of a certificate, with a person's answers."""
    given = read_answers(answers)
    if many_releases(body) or grows(body):
        given.setdefault("releases", ["Many releases"])
    if grows(body):
        given.setdefault("data_source", ["Dynamic"])
    missing = [field for field in REGISTRY_FIELDS if field.tier and field.name not in given]
    tier = max(1, min([field.tier - 1 for field in missing], default=3))
    text = {field.name: "\n".join(given.get(field.name, [])) for field in REGISTRY_FIELDS}
    date = text["published"] or str(body["ledger"]["when"])[:10]
    _check_date(date)
    fields = {
        "url_slug": text["slug"] or _slug(text["name"], given.get("curator", []), date),
        "status": "Draft",
        "tier": tier,
        "deployment": _deployment(body, text, given, date),
    }
    return RegistryEntry(fields, tuple(field.name for field in missing))


def _check_date(text: str) -> None:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"published is a day such as 2026-11-30, not {text[:60]!r}") from None


def _slug(name: str, curators: Sequence[str], date: str) -> str:
    """Make the short name of an entry as the registry's entries have theirs.

    >>> _slug("Visits by site", ["Région Nord"], "2026-11-30")
    'visits-by-site-region-nord-2026'
    """
    ascii_name = unicodedata.normalize("NFKD", " ".join([name, *curators])).encode(
        "ascii", "ignore"
    )
    words = re.findall("[a-z0-9]+", ascii_name.decode().lower())
    return "-".join([*words, date[:4]]) if words else ""


def _deployment(
    body: Mapping[str, Any], text: Mapping[str, str], given: Mapping[str, list[str]], date: str
) -> dict[str, object]:
    """Return the parts of an entry, in the order and with the names of the registry."""
    own = "Nothing in this release is published without noise but the question itself: its bounds, "
    own += "bins, listed groups and conditions, which are public."
    after = "Values, standard errors and 95% intervals are computed from the noisy numbers alone"
    after += "; the certificate lists these." if "released" in body["answer"] else "."
    seal = f"{str(body['format']).capitalize()}, digest {body['digest']}; anybody who has it can "
    seal += "derive the loss again without the data: tacit verify certificate.json"
    return {
        "basic": {
            "name": text["name"],
            "data_curators": given.get("curator", []),
            "intended_use": text["intended_use"],
            "data_product_type": "Summary statistics",
            "data_product_region": text["region"],
            "description": text["description"] or description(body),
            "publication_date": date,
            "data_product_sector": text["sector"],
        },
        "dp_variant": {
            "variant_name": VARIANTS[str(body["composition"]["measure"]["measure"])],
            "data_domain": data_domain(body),
            "unprotected_quantities": _both(own, "Besides", text["unprotected"]),
        },
        "privacy_loss": {
            "privacy_unit": unit_name(body),
            "privacy_unit_details": unit_sentences(body),
            "privacy_parameters": parameters(body),
            "privacy_parameters_details": parameters_words(body),
        },
        "deployment_model": {
            "model_name": "Central",
            "model_name_details": "A curator holds the raw data; noise is added before "
            "publication.",
            "actors": text["actors"],
            "release_type": text["releases"],
            "release_type_details": release_words(body),
            "data_source_type": text["data_source"],
            "data_source_type_details": "",
            "access_type": text["access"],
            "access_type_details": "",
        },
        "accounting": {"post_processing": after, "composition": composition(body)},
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": _both(
                preparation(body), "Choices", text["tuning"]
            ),
            "mechanisms": _both(mechanisms(body), "Security of the raw data", text["security"]),
            "justification": text["justification"],
        },
        "administrative": {
            "sources": "\n".join(f"- {one}" for one in [seal, *given.get("source", [])]),
            "notes": text["notes"],
            "registry_authors": given.get("author", []),
        },
    }


def _both(known_part: str, word: str, answer: str) -> str:
    """Put what a person answered below what the certificate knows."""
    return f"{known_part}\n{word}: {answer}" if answer else known_part
