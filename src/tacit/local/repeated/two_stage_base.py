"""Mechanisms of two stages: an answer that a device keeps for ever, and reports made from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from tacit.calls import public
from tacit.local.base.oracle import Oracle

__all__ = ["Staged"]


@public
class Staged(ABC):
    """A mechanism that draws a permanent answer once, and every report from that answer alone.

    **Privacy.** All reports of one permanent answer together are post-processing of it: they spend
    ``kept.epsilon``, whatever their number.
    """

    @property
    @abstractmethod
    def kept(self) -> Oracle:
        """The mechanism whose report the device keeps: the permanent stage."""

    def standing(self) -> object:
        """Draw what a device keeps whatever its answers are; nothing by default."""
        return None

    @abstractmethod
    def keep(self, value: object, standing: Any) -> object:
        """Draw the permanent answer: a report of ``kept``."""

    @abstractmethod
    def renew(self, permanent: object) -> object:
        """Draw one report from a permanent answer."""
