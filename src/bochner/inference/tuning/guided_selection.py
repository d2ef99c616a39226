"""Selection of a kernel by two evidences: a cheap one tries them all, the dear one those that may win."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bochner.choices import Choice
from bochner.inference.tuning import limits
from bochner.inference.tuning.guided_search import GuidedSearch, LedAstrayError
from bochner.inference.tuning.search import Tuned
from bochner.inference.tuning.selection import Selected, best_per_axis, select_kernel, told_of_turned


def select_guided(search: GuidedSearch, n_rows: float, dim: int) -> Selected:
    """As `select_kernel`, whose climbs begin where the guide has led, and do not begin where it sees no hope.

    Where it has found length scales along axes better by far, the evidence is asked for those alone.
    """
    draft = select_kernel(search.before, n_rows, dim)
    search.leads.update(search.before.peaks)
    order = [t.kernel.nu for t in sorted(_alike(draft), key=lambda t: -t.value)]  # type: ignore[attr-defined]
    try:
        if draft.tuned.failed or draft.margin < limits.GUIDED_SURE:
            return select_kernel(search, n_rows, dim, order=order or limits.SELECTED_SMOOTHNESS)
        return _turned(search, draft, n_rows) if draft.turned else _per_axis(search, draft)
    except LedAstrayError:
        search.leads.clear()
        return select_kernel(search, n_rows, dim)


def _turned(search: GuidedSearch, draft: Selected, n_rows: float) -> Selected:
    found: list[Tuned] = []
    for lead in draft.turned:
        must = None if search.prior or not found else max(t.value for t in found)  # of few rows all are averaged over
        found.append(search.maximise(lead.kernel, lead.noise_variance, against=must))
    found.sort(key=lambda t: -t.value)
    best = replace(found[0], n_evaluations=draft.tuned.n_evaluations + sum(t.n_evaluations for t in found))
    gain = draft.turned[0].value - max(t.value for t in _alike(draft))
    return replace(draft, tuned=best, choice=told_of_turned(best, gain, float(np.log(n_rows))), turned=tuple(found))


def _per_axis(search: GuidedSearch, draft: Selected) -> Selected:
    split = search.maximise(draft.tuned.kernel, draft.tuned.noise_variance)
    found = best_per_axis(search, split, 0.0)
    best = replace(found[0], n_evaluations=draft.tuned.n_evaluations + sum(t.n_evaluations for t in found))
    nu = best.kernel.nu  # type: ignore[attr-defined]
    gain = draft.tuned.value - max(t.value for t in _alike(draft))
    text = f"Matern with nu = {nu:g} and a length scale for each axis, which gain {gain:.1f}"
    choice = Choice("kernel", f"matern {nu:g} per axis", text=text)
    return replace(draft, tuned=best, per_axis=best, choice=choice, each=(*_alike(draft), *found))


def _alike(draft: Selected) -> tuple[Tuned, ...]:
    """Those of every smoothness with one length scale."""
    return tuple(t for t in draft.each if not isinstance(t.kernel.length_scale, tuple))  # type: ignore[attr-defined]
