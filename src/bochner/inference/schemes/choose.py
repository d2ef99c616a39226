"""The choice of a scheme: a pure function of sizes and kernel, with its reason."""

from __future__ import annotations

from bochner import archive, spelling
from bochner.choices import Choice
from bochner.exceptions import PartError
from bochner.frequencies import RULES
from bochner.inference.schemes.adaptive_waves import Learned, Leverage, Nonstationary
from bochner.inference.schemes.base import Case, Scheme
from bochner.inference.schemes.lattice_scheme import LatticeScheme
from bochner.inference.schemes.rule_waves import Nystroem, RuleWaves
from bochner.inference.schemes.whole_kernel import ConjugateGradients, ExactKernel, NearestRows
from bochner.kernels import Kernel, Matern

SCHEMES: dict[str, Scheme] = {}
AUTO = ["exact", "nystroem", "lattice", "orthogonal"]  # asked in this order; the first that suits is taken


def register_scheme(scheme: Scheme, *, auto: bool = False) -> None:
    """Let a scheme be called by its name: `features=` takes it, and model files hold what it `saves`.

    With `auto`, it is asked before all others whether it suits a case.
    """
    archive.register(*scheme.saves)
    SCHEMES[scheme.name] = scheme
    spelling.learn(spelling.FEATURES, scheme.name)
    if auto:
        AUTO.insert(0, scheme.name)


_OWN: tuple[Scheme, ...] = (
    *(ExactKernel(), Nystroem(), LatticeScheme(), ConjugateGradients(), NearestRows()),
    *(Leverage(), Learned(), Nonstationary()),
)
for _scheme in _OWN:
    register_scheme(_scheme)


def scheme_named(name: str) -> Scheme:
    """Scheme of this name; every frequency rule is one."""
    if not isinstance(name, str):
        raise spelling.unknown_features(name)
    if name in SCHEMES:
        return SCHEMES[name]
    if name in RULES:
        return RuleWaves(RULES[name])
    raise spelling.unknown_features(name)


def choose(
    n: int,
    dim: int,
    kernel: Kernel | None = None,
    *,
    features: str = "auto",
    memory_limit: int | None = None,
    has_areas: bool = False,
) -> Choice:
    """Scheme that a fit of n distinct rows in `dim` dimensions would begin with, and why.

    A lattice may still hand over to another scheme, once the kernel is learned: `SpatialRegressor.choices_` tells.

    Parameters
    ----------
    n, dim : int
        Distinct rows, and coordinates.
    kernel : Kernel, optional
        Default: a Matern, as any other shift-invariant kernel.
    features : str
        As in `SpatialRegressor`.
    memory_limit : int, optional
        Bytes.
    has_areas : bool
        Whether rows are means over areas.

    Examples
    --------
    >>> from bochner import choose
    >>> choose(400, 2).value
    'exact'
    >>> choose(1_000_000, 2).value
    'lattice'
    """
    case = Case(n, dim, Matern() if kernel is None else kernel, memory_limit, has_areas)
    if not isinstance(features, str) or features != "auto":
        scheme = scheme_named(features)
        if has_areas and features != ExactKernel.name:
            raise PartError(f"features={features!r} with areal observations; they need features='exact' or 'auto'.")
        scheme.refuse(case)
        return _told(scheme, case, "as asked", given=True)
    for name in AUTO:
        scheme = scheme_named(name)
        reason = scheme.suits(case)
        if reason is not None:
            return _told(scheme, case, reason, given=False)
    raise PartError(f"no scheme suits {n:,} rows in {dim} dimensions with {case.kernel!r}; name one with features=.")


def _told(scheme: Scheme, case: Case, reason: str, *, given: bool) -> Choice:
    more = scheme.explain(case.dim)
    return Choice("features", scheme.name, f"{reason} ({more})" if more else reason, given=given)
