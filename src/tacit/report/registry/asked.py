"""What an entry of the registry says that no certificate knows: what a person is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tacit.errors import UsageError, did_you_mean

__all__ = ["ASKED", "Asked", "read_answers"]


@dataclass(frozen=True)
class Asked:
    """One thing that a person is asked.

    Attributes:
        name: of the answer, in Python; behind ``--`` on the command line.
        question: as a person reads it.
        tier: of the registry's three tiers, the first that wants it; 0 where a certificate has an
            answer already, which this one replaces or adds to.
        choices: the answers that there are, each with the word of the registry; none for free text.
        several: whether there may be several answers.
    """

    name: str
    question: str
    tier: int
    choices: tuple[tuple[str, str], ...] = ()
    several: bool = False

    @property
    def flag(self) -> str:
        """The flag of the command line.

        >>> ASKED[2].flag
        '--intended-use'
        """
        return f"--{self.name.replace('_', '-')}"


_ONE_OR_MANY = (("one", "One release"), ("many", "Many releases"))
_DATA = (("static", "Static"), ("dynamic", "Dynamic"))
_ACCESS = (("interactive", "Interactive"), ("non-interactive", "Non-interactive"))

ASKED: tuple[Asked, ...] = (
    Asked("name", "The name of what is published", 1),
    Asked("curator", "Who publishes it", 1, several=True),
    Asked("intended_use", "What it is for", 1),
    Asked("region", "Which region the data describe", 1),
    Asked("sector", "Of which sector it is, such as Healthcare, Government or Technology", 1),
    Asked("author", "Who writes this entry", 1, several=True),
    Asked("releases", "Whether there is one release of these data, or many", 2, _ONE_OR_MANY),
    Asked("data_source", "Whether the data are static, or dynamic: more of them come", 2, _DATA),
    Asked("access", "Whether people can ask the data themselves (interactive) or not", 2, _ACCESS),
    Asked("actors", "Who sees the data or the answers, and who is trusted with what", 3),
    Asked("unprotected", "What is published of the same data without noise; write 'nothing'", 3),
    Asked("tuning", "How bounds, listed groups and epsilon were chosen; was the data used", 3),
    Asked("security", "How the raw data are kept, and who has access to them", 3),
    Asked("justification", "Why these choices were made, and who checked them", 3),
    Asked("description", "A description, in place of the question in words", 0),
    Asked("published", "The day of publication, YYYY-MM-DD; the day of the release otherwise", 0),
    Asked("source", "Where more is to be read: an address or a citation", 0, several=True),
    Asked("notes", "Notes", 0),
    Asked("slug", "The short name of the entry in addresses; made of the names otherwise", 0),
)
"""In the order in which they are asked."""


def read_answers(
    answers: Mapping[str, str | Sequence[str] | None],
) -> dict[str, list[str]]:
    """Return the answers that were given, each as a list of texts in the registry's words.

    Args:
        answers: by the names of :data:`ASKED`; None and blank text are no answers.

    Raises:
        UsageError: a name or a choice that there is not.

    >>> read_answers({"name": "Visits", "releases": "many", "curator": ["Ada", " "], "notes": ""})
    {'name': ['Visits'], 'curator': ['Ada'], 'releases': ['Many releases']}
    """
    known = {asked.name: asked for asked in ASKED}
    for name in answers:
        if name not in known:
            near = did_you_mean(str(name), list(known))
            raise UsageError(f"an entry of the registry has no answer called {name!r}; {near}")
    given = {name: _texts(known[name], answers.get(name)) for name in known}
    return {name: texts for name, texts in given.items() if texts}


def _texts(asked: Asked, answer: str | Sequence[str] | None) -> list[str]:
    listed = list(answer) if isinstance(answer, (list, tuple)) else [answer]
    texts = []
    for one in listed:
        if not isinstance(one, (str, type(None))):
            raise UsageError(f"{asked.name} must be text, not a {type(one).__name__}")
        texts += [one.strip()] if one and one.strip() else []
    if len(texts) > 1 and not asked.several:
        raise UsageError(f"{asked.name} has one answer, not {len(texts)}")
    if not asked.choices:
        return texts
    words = {word: said for pair in asked.choices for word, said in [pair, (pair[1], pair[1])]}
    for text in texts:
        if text not in words:
            known = " or ".join(word for word, _ in asked.choices)
            raise UsageError(f"{asked.name} is {known}, not {text[:60]!r}")
    return [words[text] for text in texts]
