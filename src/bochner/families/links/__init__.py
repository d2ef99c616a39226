"""Links: how a linear predictor and a mean hang together. Each family names those that it takes."""

from collections.abc import Mapping
from types import MappingProxyType

from bochner.families.links.base import Link, ProbabilityLink
from bochner.families.links.identity import Identity, Rectified
from bochner.families.links.log import Log
from bochner.families.links.logit import Logit
from bochner.families.links.probit import Probit


def by_name(*links: Link) -> Mapping[str, Link]:
    """Links under their names, in this order; the first is a family's default."""
    return MappingProxyType({link.name: link for link in links})


__all__ = ["Identity", "Link", "Log", "Logit", "ProbabilityLink", "Probit", "Rectified", "by_name"]
