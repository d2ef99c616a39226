"""Spelling: names and lengths as users write them, and names compared with those that are known.

Families, kernels and features live in rooms that import SciPy, which takes a second. Their names are known here,
without any import: the library's own from the start, others from when they are registered. So a misspelt name is told
at once.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from bochner.exceptions import ColumnError, InputError, PartError

FAMILIES = ["gaussian", "bernoulli", "binomial", "poisson", "negative-binomial", "gamma", "student"]


class Size(NamedTuple):
    """What a row of a family is out of: trials or exposure, and whether it must be given."""

    name: str | None
    needed: bool = False


SIZES = {
    **dict.fromkeys(("gaussian", "bernoulli", "gamma", "student"), Size(None)),
    **dict.fromkeys(("poisson", "negative-binomial"), Size("exposure")),
    "binomial": Size("trials", needed=True),
}
KERNELS = [
    *("matern12", "exponential", "matern32", "matern52", "matern", "squared-exponential", "se", "laplacian", "cauchy"),
    *("rational-quadratic", "periodic", "polynomial", "linear"),
]
FEATURES = [
    *("auto", "exact", "nystroem", "lattice", "conjugate-gradients", "nearest", "leverage", "learned", "nonstationary"),
    *("monte-carlo", "quasi", "orthogonal", "structured"),
]
CRITERIA = ("evidence", "likelihood", "spatial-cv")

FORM = "write a name such as matern32, names joined by + or *, or values: matern32(length_scale=50, variance=2)."


def nearest_name(word: str, names: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The name that a word was meant to be: the one most alike, of those the one of the same letters; or none."""

    def alike(name: str) -> tuple[float, bool]:
        written, known = word.lower(), name.lower()
        return difflib.SequenceMatcher(None, known, written).ratio(), sorted(written) == sorted(known)

    best = max(names, key=alike, default=None)
    return best if best is not None and alike(best)[0] >= cutoff else None


def learn(names: list[str], name: str) -> None:
    """Know one name more."""
    if name not in names:
        names.append(name)


def check_family(name: str) -> None:
    """Refuse the name of a family that is not known."""
    if name not in FAMILIES:
        raise unknown_family(name)


def unknown_family(family: Any) -> InputError:
    """What to say of what is no family."""
    nearest = nearest_name(str(family).replace("_", "-"), FAMILIES, cutoff=0.0)
    return InputError(f"family={family!r} is not known; did you mean {nearest!r}? Choose from {', '.join(FAMILIES)}.")


def check_features(name: str) -> None:
    """Refuse features that are not known."""
    if name not in FEATURES:
        raise unknown_features(name)


def unknown_features(name: Any) -> InputError:
    """What to say of features that are none."""
    near = nearest_name(name, FEATURES) if isinstance(name, str) else None
    hint = f": did you mean {near!r}?" if near else "."
    return InputError(f"features={name!r} is not known; choose from {', '.join(FEATURES)}{hint}")


def check_kernel(text: str) -> None:
    """Refuse a kernel that cannot be read, or one of whose names is not known; its values are not looked at."""
    ahead = [kernel_tree(text)]
    while ahead:
        node = ahead.pop(0)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mult)):
            ahead += [node.left, node.right]
        elif isinstance(node, ast.Name):
            kernel_name(node.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args:
            kernel_name(node.func.id)
        else:
            raise unreadable_kernel(text)


def kernel_tree(text: str) -> ast.expr:
    """A kernel as an expression of Python, in which hyphens within names are underscores."""
    try:
        # a hyphen within a name; one before a number is a sign
        return ast.parse(re.sub(r"(?<=[A-Za-z])-(?=[A-Za-z])", "_", text.strip()), mode="eval").body
    except (SyntaxError, ValueError):
        raise unreadable_kernel(text) from None


def kernel_name(name: str) -> str:
    """The name of a kernel in an expression, as it is known."""
    name = name.replace("_", "-").lower()
    if name not in KERNELS:
        near = nearest_name(name, KERNELS)
        hint = f"did you mean {near!r}? Choose" if near else "choose"
        raise InputError(f"kernel {name!r} is not known; {hint} from {', '.join(KERNELS)}, or join them by +.")
    return name


def unreadable_kernel(text: str) -> InputError:
    """What to say of a text that is no kernel."""
    return InputError(f"the kernel {text!r} cannot be read; {FORM}")


def check_sizes(family: str, size: Size, given: Mapping[str, str | None]) -> None:
    """Refuse columns of trials or exposure that a family has not, and none of those that it needs."""
    for name, column in given.items():
        if column is not None and size.name != name:
            has = f"has {size.name}" if size.name else "has neither trials nor exposure"
            raise PartError(f"--{name} was given, but the family {family!r} {has}; leave it out, or set --family.")
    if size.needed and size.name is not None and given[size.name] is None:
        raise InputError(f"the family is {family} and no {size.name} were given; name their column with --{size.name}.")


def check_criterion(name: str) -> None:
    """Refuse what hyperparameters cannot be learned by; none is for not learning them."""
    if name.lower() != "none":
        one_of(name, "tune", CRITERIA, "or none")


def check_columns(wanted: Sequence[str], names: Sequence[str], source: str) -> None:
    """Refuse columns that are not there, or twice; the nearest name is suggested."""
    for name in wanted:
        if name not in names:
            near = nearest_name(name, names)
            hint = f"did you mean {near!r}?" if near else f"its columns are {list(names)}."
            raise ColumnError(f"{source} has no column {name!r}; {hint}")
        if list(names).count(name) > 1:
            raise ColumnError(f"{source} has {list(names).count(name)} columns {name!r}; rename all but one.")


def check_covariate_names(known: Sequence[str], given: Iterable[str]) -> None:
    """Refuse an input of a map that its model does not know."""
    for name in given:
        if name not in known:
            near = nearest_name(name, known)
            uses = f"it uses {list(known)}" if known else "it uses none beside the coordinates"
            hint = f"did you mean {near!r}?" if near else f"{uses}."
            raise ColumnError(f"the covariate {name!r} was given, but the model has no such column; {hint}")


def check_covariates(needed: Iterable[str], given: Mapping[str, Any]) -> None:
    """Refuse a map that lacks an input of its model, or has one that the model does not know."""
    needed = list(needed)
    check_covariate_names(needed, given)
    missing = [name for name in needed if name not in given]
    if missing:
        raise InputError(
            f"the model uses {missing[0]!r}, and nothing was given for it; pass its raster, a number, or of a column "
            f"of dates one date: covariates={{{missing[0]!r}: RASTER}}, or --covariate {missing[0]}=RASTER."
        )


def length_and_unit(text: str | float) -> tuple[float, str]:
    """Side of a pixel, written as `5km`, `250 m`, `0.05deg` or a number: its value, and km, m, deg or nothing."""
    found = re.fullmatch(r"([-+0-9.eE]+)\s*(km|m|deg|degrees?|°|)", str(text).strip())
    try:
        value = float(found[1]) if found else 0.0
    except ValueError:
        value = 0.0
    if not found or not 0 < value < float("inf"):
        raise InputError(f"the resolution is {text!r}; needed is a positive length such as 5km, 250m, 0.05deg or 0.1.")
    return value, "deg" if found[2][:1] in {"d", "°"} else found[2]


def one_of(value: Any, name: str, allowed: Sequence[Any], more: str = "") -> Any:
    """A value out of those allowed."""
    try:
        hash(value)  # arrays and lists cannot be compared
        known = value in allowed
    except TypeError:
        known = False
    if not known:
        tail = f", {more}" if more else ""
        raise InputError(f"{name}={value!r}; needed is one of {', '.join(map(repr, allowed))}{tail}.")
    return value
