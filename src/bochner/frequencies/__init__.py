"""Frequencies: a kernel as a handful of waves.

By Bochner's theorem a shift-invariant kernel is a distribution of waves. A rule draws
`Frequencies` from it: angular frequencies `omega` (m, dim) and the `mass` (m,), the
variance that each carries, so that k(tau) is close to sum_j mass_j cos(omega_j'tau)::

    rule = QuasiMonteCarlo()
    waves = rule.draw(Matern(nu=1.5), 1024, dim=2, rng=np.random.default_rng(0))
    waves.covariance(lag)  # compare with kernel.at(lag)
    measure_error(waves, kernel, extent=(10, 10)).rms  # relative to the variance
    choose_number(rule, kernel, 2, (10, 10), tolerance=0.01)  # how many are enough, and why

Every rule takes every shift-invariant kernel. A sum of kernels is the union of the
frequencies of its terms, a product the sum of independent frequencies of its factors.

============== ====================== ====================================================
name           rule                   when
============== ====================== ====================================================
`monte-carlo`  `MonteCarlo`           the reference: error 1 / sqrt(m), whatever the kernel
`quasi`        `QuasiMonteCarlo`      the best of the four in one to about eight dimensions
`orthogonal`   `Orthogonal`           many dimensions
`structured`   `StructuredOrthogonal` hundreds of dimensions, where a block should be cheap
============== ====================== ====================================================
"""

from bochner import spelling
from bochner.exceptions import InputError
from bochner.frequencies.base import Frequencies, Rule, shares_of
from bochner.frequencies.lattice import Lattice, lattice_frequencies, lattice_mass
from bochner.frequencies.leverage import Resampled, leverage_scores, leverage_scores_of_rows, resample
from bochner.frequencies.monte_carlo import MonteCarlo
from bochner.frequencies.number import MeasuredError, NumberChosen, choose_number, measure_error
from bochner.frequencies.orthogonal import Orthogonal
from bochner.frequencies.pairs import PairedFrequencies, draw_pairs, tied
from bochner.frequencies.quasi_monte_carlo import QuasiMonteCarlo
from bochner.frequencies.structured import StructuredOrthogonal

RULES: dict[str, Rule] = {
    rule.name: rule for rule in (MonteCarlo(), QuasiMonteCarlo(), Orthogonal(), StructuredOrthogonal())
}


def register_rule(rule: Rule) -> None:
    """Let a rule be called by its name: `features=` takes it."""
    RULES[rule.name] = rule
    spelling.learn(spelling.FEATURES, rule.name)


def rule_named(name: str | Rule) -> Rule:
    """Rule of this name; a rule is returned as it is."""
    if isinstance(name, Rule):
        return name
    if name not in RULES:
        raise InputError(f"{name!r} is not a frequency rule; needed is one of {sorted(RULES)}, or a Rule.")
    return RULES[name]


__all__ = [
    "RULES",
    "Frequencies",
    "Lattice",
    "MeasuredError",
    "MonteCarlo",
    "NumberChosen",
    "Orthogonal",
    "PairedFrequencies",
    "QuasiMonteCarlo",
    "Resampled",
    "Rule",
    "StructuredOrthogonal",
    "choose_number",
    "draw_pairs",
    "lattice_frequencies",
    "lattice_mass",
    "leverage_scores",
    "leverage_scores_of_rows",
    "measure_error",
    "register_rule",
    "resample",
    "rule_named",
    "shares_of",
    "tied",
]
