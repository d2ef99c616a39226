"""Families: the law of one observation given its linear predictor.

=====================  ======================  ===============  ============================================
`Gaussian`             identity                                 measurements
`Bernoulli`            logit, probit                            presence or absence
`Binomial`             logit, probit           trials           positives out of trials: prevalence
`Poisson`              log, identity           exposure         cases per exposure
`NegativeBinomial`     log                     exposure         cases that scatter more than Poisson counts
`Gamma`                log                                      positive amounts
`Student`              identity                                 measurements with outliers
=====================  ======================  ===============  ============================================

The first link is the default. An estimator takes the name of a family, or a family with its parameters:

>>> family_named("binomial")
Binomial(link='logit', dispersion=None)
>>> Poisson(link="identity").link
'identity'
"""

from bochner import archive, spelling
from bochner.exceptions import InputError
from bochner.families.base import Derivatives, Family
from bochner.families.bernoulli import Bernoulli
from bochner.families.binomial import Binomial
from bochner.families.gamma import Gamma
from bochner.families.gaussian import Gaussian
from bochner.families.links import Link
from bochner.families.negative_binomial import NegativeBinomial
from bochner.families.poisson import Poisson
from bochner.families.student import Student

FAMILIES: dict[str, Family] = {}
"""Families by name, each with its default link."""


def register_family(family: Family) -> None:
    """Let a family be called by its name: `family=` takes it, and model files hold it."""
    archive.register(type(family))
    FAMILIES[family.name] = family
    spelling.learn(spelling.FAMILIES, family.name)


for _family in (Gaussian(), Bernoulli(), Binomial(), Poisson(), NegativeBinomial(), Gamma(), Student()):
    register_family(_family)


def family_named(family: str | Family) -> Family:
    """Family by name, or the family itself."""
    if isinstance(family, Family):
        return family
    if isinstance(family, str) and family in FAMILIES:
        return FAMILIES[family]
    if isinstance(family, type) and issubclass(family, Family):
        raise InputError(f"family={family.__name__} is a class; needed is a family: {family.__name__}().")
    raise spelling.unknown_family(family)


__all__ = [
    "FAMILIES",
    "Bernoulli",
    "Binomial",
    "Derivatives",
    "Family",
    "Gamma",
    "Gaussian",
    "Link",
    "NegativeBinomial",
    "Poisson",
    "Student",
    "family_named",
    "register_family",
]
