"""Registry of the checks, the outcome of one, and the comparison of two runs."""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

PASSED, FAILED = "passed", "fails"
LONGEST = 240  # seconds after which a check is stopped
MOST_TIMES = 2.0  # that a measured number may be of the one recorded
Numbers = dict[str, float]


@dataclass(frozen=True)
class Check:
    """A function that raises where a capability is lost, and returns numbers that must not grow, or None."""

    name: str
    ask: Callable[[], Numbers | None]
    fresh: bool = False  # whether it needs a process of its own


@dataclass(frozen=True)
class Outcome:
    """What a check found."""

    outcome: str
    reason: str = ""
    seconds: float = 0.0
    numbers: Numbers = field(default_factory=dict)


CHECKS: dict[str, Check] = {}


def check(name: str, over: Iterable[Any] | None = None, *, fresh: bool = False) -> Callable[[Any], Any]:
    """Register a function as a check; with `over` as one check per case, which is its argument."""

    def register(ask: Callable[..., Numbers | None]) -> Callable[..., Numbers | None]:
        if over is None:
            CHECKS[name] = Check(name, ask, fresh)
        for case in over or ():
            full = f"{name}: {' '.join(map(str, case)) if isinstance(case, tuple) else case}"
            CHECKS[full] = Check(full, partial(ask, case), fresh)
        return ask

    return register


def outcome_of(asked: Check) -> Outcome:
    """Outcome of one check, run here; warnings are not shown."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"stopped after {LONGEST} s")

    begin = time.perf_counter()
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LONGEST)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            numbers = asked.ask() or {}
        found, reason = PASSED, ""
    except Exception as error:
        numbers, found = {}, FAILED
        reason = f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    reason = " ".join(reason.split())[:300]
    return Outcome(found, reason, round(time.perf_counter() - begin, 2), numbers)


def losses(now: Mapping[str, Outcome], recorded: Mapping[str, Outcome], names: Sequence[str]) -> list[str]:
    """What was lost since a run was recorded, among the checks of these names: one line each."""
    found = []
    for name, before in recorded.items():
        after = now.get(name)
        if before.outcome != PASSED or (names and not any(word in name for word in names)):
            continue
        if after is None:
            found.append(f"{name}: passed, and there is no such check now")
        elif after.outcome != PASSED:
            found.append(f"{name}: passed, and fails now: {after.reason}")
        else:
            for what, old in before.numbers.items():
                new = after.numbers.get(what)
                if new is None or new > MOST_TIMES * old:
                    is_now = "not measured" if new is None else f"{new:.4g}"
                    found.append(f"{name}: {what} was {old:.4g} and is {is_now}")
    return found


def as_json(found: Mapping[str, Outcome]) -> dict[str, Any]:
    """Outcomes as plain values."""
    return {name: asdict(one) for name, one in found.items()}


def from_json(told: Mapping[str, Any]) -> dict[str, Outcome]:
    """Outcomes out of plain values."""
    return {name: Outcome(**one) for name, one in told.items()}


def raises(kind: type[Exception], ask: Callable[[], Any], *words: str) -> None:
    """Require that a call raises an error whose text has these words."""
    try:
        ask()
    except kind as error:
        absent = [word for word in words if word not in str(error)]
        assert not absent, f"the error does not say {absent}: {error}"
    else:
        raise AssertionError(f"no {kind.__name__} was raised")
