"""Row: one measurement beside another, and what the second stands for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Beside:
    """What a row compares with, and how that is told.

    Attributes
    ----------
    name : str
        In speed.json.
    words : str
        The ratio in words.
    other_over_ours : bool
        Which of the two numbers is divided by the other.
    more_is_better : bool
        Whether a goal is a least or a largest ratio.
    """

    name: str
    words: str
    other_over_ours: bool = True
    more_is_better: bool = True

    def ratio(self, ours: float, other: float) -> float:
        return other / ours if self.other_over_ours else ours / other

    def met(self, ratio: float, goal: float) -> bool:
        return ratio >= goal if self.more_is_better else ratio <= goal


RIVAL = Beside("rival", "{:.1f} times as fast")
MEMORY = Beside("memory of a rival", "1/{:.1f} of the memory")
LIMIT = Beside("limit", "{:.0%} of the limit's speed")
WANTED = Beside("wanted", "{:.0%} of the time wanted", other_over_ours=False, more_is_better=False)
OURSELVES = Beside("ourselves", "{:.2f} times its time", other_over_ours=False, more_is_better=False)
GOAL_WORDS = {RIVAL: "{:g} times", MEMORY: "1/{:g}", LIMIT: "{:.0%}", WANTED: "{:.0%}", OURSELVES: "{:g} times"}


@dataclass(frozen=True)
class Score:
    """RMSE of ours and of theirs on held-out rows, and one standard error of their difference over the same rows."""

    ours: float
    theirs: float
    chance: float | None = None

    @classmethod
    def of(cls, ours: np.ndarray, theirs: np.ndarray) -> Score:
        """From errors at the same rows."""
        mine, other = (float(np.sqrt(np.mean(errors**2))) for errors in (ours, theirs))
        gap = np.std(ours**2 - theirs**2) / np.sqrt(len(ours))
        return cls(mine, other, float(gap / (mine + other)))


@dataclass(frozen=True)
class Row:
    """One comparison.

    Attributes
    ----------
    case, size : str
        What is measured, and of how many rows.
    ours, theirs : float
        Seconds, or megabytes.
    other : str
        What the second number is of.
    beside : Beside
        What that stands for.
    goal : float, optional
        Ratio that is wanted.
    unit, clock : str
        Whether seconds are those on the "clock" or of the "processor"; the plan's, if empty.
    """

    case: str
    size: str
    ours: float
    other: str
    theirs: float
    beside: Beside = RIVAL
    goal: float | None = None
    score: Score | None = None
    unit: str = "s"
    clock: str = ""

    @property
    def ratio(self) -> float:
        return self.beside.ratio(self.ours, self.theirs)

    @property
    def told(self) -> str:
        """The ratio in words."""
        return self.beside.words.format(self.ratio).replace("%", " %")

    @property
    def verdict(self) -> str:
        """The goal, and whether it is met; seconds that are wanted are a goal themselves."""
        goal = 1.0 if self.beside is WANTED else self.goal
        if goal is None:
            return ""
        bound = "at least" if self.beside.more_is_better else "at most"
        met = "met" if self.beside.met(self.ratio, goal) else "**missed**"
        return f"{bound} {GOAL_WORDS[self.beside].format(goal).replace('%', ' %')}: {met}"

    @property
    def seconds_of(self) -> str:
        """What the seconds are of; empty for megabytes."""
        return self.clock if self.unit == "s" else ""


def wanted(case: str, size: str, seconds: float, allowed: float) -> Row:
    """A row beside the seconds that it may take."""
    return Row(case, size, seconds, "what is wanted", allowed, WANTED)
