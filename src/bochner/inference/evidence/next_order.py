"""Evidence with the exact kernel by Laplace's method and the next order of its expansion."""

from __future__ import annotations

from bochner.inference.evidence.laplace import ExactBound
from bochner.inference.observed.responses import Responses
from bochner.kernels import Kernel


def next_order_evidence(kernel: Kernel, noise_variance: float, responses: Responses) -> float:
    """Log evidence of rows without copies; O(n^3).

    Laplace's method alone takes from the evidence of single trials the more, the more each of their latent values is
    left open: weak and smooth fields are favoured (2,000 trials of a rough field: by 17 nats, of which 2 are left).
    """
    point = ExactBound(kernel, noise_variance, responses).point(responses, None)
    return point.value + point.next_order
