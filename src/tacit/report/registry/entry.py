"""The entry itself: what the certificate knows, what a person answered, and what is missing.

Source: the registry of deployments that OpenDP keeps and NIST proposed to host, in the form of its
published data (``opendp/deployments-registry-data``); its tiers are those of
https://registry.opendp.org/transparency-tiers.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.calls import public
from tacit.errors import UsageError
from tacit.report.registry import known
from tacit.report.registry.asked import ASKED, read_answers
from tacit.report.registry.yaml_text import yaml_text

__all__ = ["RegistryEntry", "registry_entry"]


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
    """Return the entry of a certificate, with a person's answers.

    Args:
        body: a whole certificate.
        answers: what it does not know, by the names of
            :data:`~tacit.report.registry.asked.ASKED`.

    Raises:
        UsageError: an answer to what is not asked, a choice that there is not, or no date.
    """
    given = read_answers(answers)
    if known.many_releases(body) or known.grows(body):
        given.setdefault("releases", ["Many releases"])
    if known.grows(body):
        given.setdefault("data_source", ["Dynamic"])
    missing = [asked for asked in ASKED if asked.tier and asked.name not in given]
    tier = max(1, min([asked.tier - 1 for asked in missing], default=3))
    text = {asked.name: "\n".join(given.get(asked.name, [])) for asked in ASKED}
    date = text["published"] or str(body["ledger"]["when"])[:10]
    _check_date(date)
    fields = {
        "url_slug": text["slug"] or _slug(text["name"], given.get("curator", []), date),
        "status": "Draft",
        "tier": tier,
        "deployment": {
            "basic": _basic(body, text, given, date),
            **_guarantee(body, text),
            "deployment_model": _model(body, text),
            **_making(body, text),
            "administrative": _administrative(body, text, given),
        },
    }
    return RegistryEntry(fields, tuple(asked.name for asked in missing))


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
    whole = unicodedata.normalize("NFKD", " ".join([name, *curators])).encode("ascii", "ignore")
    words = re.findall("[a-z0-9]+", whole.decode().lower())
    return "-".join([*words, date[:4]]) if words else ""


def _basic(
    body: Mapping[str, Any], text: Mapping[str, str], given: Mapping[str, list[str]], date: str
) -> dict[str, object]:
    return {
        "name": text["name"],
        "data_curators": given.get("curator", []),
        "intended_use": text["intended_use"],
        "data_product_type": "Summary statistics",
        "data_product_region": text["region"],
        "description": text["description"] or known.description(body),
        "publication_date": date,
        "data_product_sector": text["sector"],
    }


def _guarantee(body: Mapping[str, Any], text: Mapping[str, str]) -> dict[str, object]:
    own = "Nothing in this release is published without noise but the question itself: its bounds, "
    own += "bins, listed groups and conditions, which are public."
    return {
        "dp_variant": {
            "variant_name": known.VARIANTS[str(body["composition"]["measure"]["measure"])],
            "data_domain": known.data_domain(body),
            "unprotected_quantities": _both(own, "Besides", text["unprotected"]),
        },
        "privacy_loss": {
            "privacy_unit": known.unit_name(body),
            "privacy_unit_details": known.unit_sentences(body),
            "privacy_parameters": known.parameters(body),
            "privacy_parameters_details": known.parameters_words(body),
        },
    }


def _model(body: Mapping[str, Any], text: Mapping[str, str]) -> dict[str, object]:
    return {
        "model_name": "Central",
        "model_name_details": "A curator holds the raw data; noise is added before publication.",
        "actors": text["actors"],
        "release_type": text["releases"],
        "release_type_details": known.release_words(body),
        "data_source_type": text["data_source"],
        "data_source_type_details": "",
        "access_type": text["access"],
        "access_type_details": "",
    }


def _making(body: Mapping[str, Any], text: Mapping[str, str]) -> dict[str, object]:
    after = "Values, standard errors and 95% intervals are computed from the noisy numbers alone"
    listed = "; the certificate lists these." if "released" in body["answer"] else "."
    return {
        "accounting": {
            "post_processing": after + listed,
            "composition": known.composition(body),
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": _both(
                known.preparation(body), "Choices", text["tuning"]
            ),
            "mechanisms": _both(
                known.mechanisms(body), "Security of the raw data", text["security"]
            ),
            "justification": text["justification"],
        },
    }


def _administrative(
    body: Mapping[str, Any], text: Mapping[str, str], given: Mapping[str, list[str]]
) -> dict[str, object]:
    seal = f"{str(body['format']).capitalize()}, digest {body['digest']}; anybody who has it can "
    seal += "derive the loss again without the data: tacit verify certificate.json"
    return {
        "sources": "\n".join(f"- {one}" for one in [seal, *given.get("source", [])]),
        "notes": text["notes"],
        "registry_authors": given.get("author", []),
    }


def _both(known_part: str, word: str, answer: str) -> str:
    """Put what a person answered below what the certificate knows."""
    return f"{known_part}\n{word}: {answer}" if answer else known_part
