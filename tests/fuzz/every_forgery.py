"""``python -m tests.fuzz.every_forgery [KIND ...]``: all forgeries of small models of every kind, one by one.

Each file is loaded, and the model is asked for means, standard deviations, intervals, draws, its summary and its
findings, of a lattice at 40,000 places, too, and saved and loaded again. It must be refused by one of our errors, or
give numbers; in 10 s of computing and 1 GB. With KIND those kinds alone.
"""

from __future__ import annotations

import contextlib
import resource
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bochner import load
from bochner.exceptions import BochnerError
from tests.fuzz.forgeries import forgeries
from tests.fuzz.model_doors import answers, models
from tests.fuzz.runner import TooLong

SECONDS, BYTES, N_MANY = 10, 10**9, 40_000


def main() -> None:
    """Print what was found; exit with 1 if anything else than a refusal or numbers was."""
    warnings.simplefilter("ignore")
    total: Counter[str] = Counter()
    for kind in sys.argv[1:] or sorted(models()):
        found = Counter(each(kind, lambda told: print(told, flush=True)))
        total += found
        print(f"{kind:<12}{found.total():>8,} forgeries: {dict(found)}", flush=True)
    print(f"{'all':<12}{total.total():>8,} forgeries: {dict(total)}")
    sys.exit(bool(set(total) - {"refused", "numbers"}))


def each(kind: str, tell: Callable[[str], None]) -> list[str]:
    """What became of every forgery of a model."""
    data, places, _ = models()[kind]
    found = []
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        for told, forged in forgeries(data):
            path = Path(folder) / "forged"
            path.write_bytes(forged.file())
            found.append(_outcome(path, places, "lattice" in told or kind == "lattice"))
            if found[-1] not in ("refused", "numbers"):
                tell(f"{kind}, {told}: {found[-1]}")
    return [outcome.split(":")[0] for outcome in found]


def _outcome(path: Path, places: Any, many: bool) -> str:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    outcome = "refused"
    try:
        with contextlib.suppress(BochnerError):
            numbers = _asked(load(path), places, many, path.with_name("again"))
            outcome = "numbers" if all(np.isfinite(part).all() for part in numbers) else "no numbers"
    except TooLong:
        outcome = "too long"
    except Exception as error:
        outcome = f"raw error: {error!r:.200}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    return outcome if grown < BYTES else "too large"


def _asked(model: Any, places: Any, many: bool, again: Path) -> list[Any]:
    """All that a model can be asked for by itself; the numbers among it."""
    numbers = [*answers(model, places)]
    for part in getattr(model, "models_", [model]):
        numbers += [*part.predict_interval(places), part.sample_y(places, 3)]
        if many:
            rng = np.random.default_rng(0)
            at = np.column_stack([rng.uniform(size=(N_MANY, 2)), np.zeros((N_MANY, places.shape[1] - 2))])
            numbers.append(part.predict(at))
    assert model.summary() and isinstance(model.check(), list) and repr(model)
    model.save(again)
    load(again)
    return numbers


def _too_long(*_: Any) -> None:
    raise TooLong


if __name__ == "__main__":
    main()
