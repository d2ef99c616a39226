"""What the laws of families are tested on: a new one is one line here."""

from __future__ import annotations

from bochner.families import Bernoulli, Binomial, Family, Gamma, Gaussian, NegativeBinomial, Poisson

FAMILIES: dict[str, Family] = {
    "gaussian": Gaussian(dispersion=1.7),
    "bernoulli-logit": Bernoulli(),
    "bernoulli-probit": Bernoulli("probit"),
    "binomial-logit": Binomial(),
    "binomial-probit": Binomial("probit"),
    "poisson-log": Poisson(),
    "poisson-identity": Poisson("identity"),
    "negative-binomial": NegativeBinomial(dispersion=0.5),
    "negative-binomial-wide": NegativeBinomial(dispersion=30.0),
    "negative-binomial-poisson": NegativeBinomial(dispersion=1e-9),
    "gamma": Gamma(dispersion=0.3),
    "gamma-wide": Gamma(dispersion=5.0),
    "gamma-narrow": Gamma(dispersion=1e-7),
}
