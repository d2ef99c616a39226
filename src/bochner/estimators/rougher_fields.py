"""Single trials of a rough field: Laplace's evidence favours a weaker and smoother one."""

from __future__ import annotations

import numpy as np

from bochner.estimators import limits
from bochner.estimators.summary import is_flat
from bochner.inference import Model, Responses, next_order_evidence
from bochner.kernels import Kernel, Matern


def rougher_field(model: Model, responses: Responses) -> str | None:
    """What to say where a rougher and larger field is likelier than the one learned, by the next order of the evidence.

    None where none is, where rows are not single trials, and where they are too many to ask.
    """
    learned = "tuning" in model.decided and model.decided["tuning"].value is not None
    single = model.family.bounded_by_size and bool(np.all(responses.size == 1))
    few = np.count_nonzero(responses.weight) <= limits.MAX_EXACTLY_JUDGED and not responses.rows.has_areas
    kernel = model.kernel
    if not (learned and single and few and isinstance(kernel, Matern)) or is_flat(model):
        return None
    rows = model.working(responses)[0]
    if np.any(rows.weight != 1) or np.any(rows.size != 1):  # trials at one place were put together
        return None
    noise = model.fits[0].noise_variance
    values = {rival: next_order_evidence(rival, noise, rows) for rival in (kernel, *_rivals(kernel))}
    best = max(values, key=values.__getitem__)
    gain = values[best] - values[kernel]
    if gain < limits.RIVAL_NATS:
        return None
    return (
        f"a rougher field with a larger variance is likelier by {gain:.1f} nats, if the evidence of single trials is "
        f"taken to the next order: Laplace's method favours weak and smooth fields. 95 % intervals of the surface may "
        f"be too narrow (of such a simulated one they held three quarters); those of new observations hold. Compare "
        f"with kernel={best!r} and tune=None, or add rows close to each other."
    )


def _rivals(kernel: Matern) -> list[Kernel]:
    """Exponential fields of larger variances, as long and shorter."""
    return [
        kernel.replace(
            nu=0.5,
            learn_nu=False,
            variance=float(f"{larger * kernel.variance:.3g}"),
            length_scale=_times(kernel.length_scale, shorter),
        )
        for shorter, larger in limits.RIVALS
    ]


def _times(length_scale: float | tuple[float, ...], factor: float) -> float | tuple[float, ...]:
    if isinstance(length_scale, tuple):
        return tuple(float(f"{factor * one:.3g}") for one in length_scale)
    return float(f"{factor * length_scale:.3g}")
