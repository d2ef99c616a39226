"""Choices: what was decided during a fit, why, and whether the user had asked for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

from bochner.exceptions import ArchiveError


class Choice(str):
    """One decision as a value; as text it is the sentence that users read.

    Code asks for `value` and `given`, never for words of the sentence.

    Attributes
    ----------
    name : str
        What was decided: "features", "solver", "kernel", ...
    value : str, number or None
        What was chosen.
    reason : str
        Why, for people.
    given : bool
        Whether the user asked for it.
    """

    name: str
    value: Any
    reason: str
    given: bool

    def __new__(cls, name: str, value: Any, reason: str = "", *, given: bool = False, text: str | None = None) -> Self:
        """A choice; `text` where the sentence is not "value: reason"."""
        choice = super().__new__(cls, f"{_shown(value)}: {reason}" if text is None else text)
        choice.name, choice.value, choice.reason, choice.given = name, value, reason, given
        return choice

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.name, self.value, self.reason, self.given, str(self))

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON and the model file."""
        return {"name": self.name, "value": self.value, "reason": self.reason, "given": self.given, "text": str(self)}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Back from `as_dict`."""
        if not all(isinstance(state[name], str) for name in ("name", "reason", "text")):
            raise ArchiveError("a choice has a name, a reason or a sentence that is no text; save it again")
        return cls(state["name"], state["value"], state["reason"], given=bool(state["given"]), text=state["text"])


def collected(choices: Iterable[Choice]) -> dict[str, Choice]:
    """Choices by name, in the order in which they were made; a later one of the same name takes the place."""
    return {choice.name: choice for choice in choices}


def _restored(name: str, value: Any, reason: str, given: bool, text: str) -> Choice:
    return Choice(name, value, reason, given=given, text=text)


def _shown(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}" if isinstance(value, float) else str(value)
