"""Kernels by name: `matern32`, `matern12+matern32`, `matern32(length_scale=50, variance=2)`."""

from __future__ import annotations

import ast
import difflib
import re
from typing import Any

from bochner.exceptions import InputError
from bochner.kernels import (
    Cauchy,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    SquaredExponential,
)

KERNELS: dict[str, Kernel] = {
    "matern12": Matern(nu=0.5),
    "exponential": Matern(nu=0.5),
    "matern32": Matern(nu=1.5),
    "matern52": Matern(nu=2.5),
    "matern": Matern(learn_nu=True),
    "squared-exponential": SquaredExponential(),
    "laplacian": Laplacian(),
    "cauchy": Cauchy(),
    "rational-quadratic": RationalQuadratic(),
    "periodic": Periodic(),
    "polynomial": Polynomial(),
    "linear": Linear(),
}


def kernel_named(text: str | None) -> Kernel | None:
    """Kernel from its name, with values in parentheses if any; names may be joined by + and *."""
    if text is None:
        return None
    try:
        # a hyphen within a name; one before a number is a sign
        tree = ast.parse(re.sub(r"(?<=[A-Za-z])-(?=[A-Za-z])", "_", text.strip()), mode="eval").body
    except SyntaxError:
        raise InputError(f"the kernel {text!r} cannot be read; {FORM}") from None
    return _built(tree, text)


FORM = "write a name such as matern32, names joined by + or *, or values: matern32(length_scale=50, variance=2)."


def _built(node: ast.expr, text: str) -> Kernel:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _built(node.left, text) + _built(node.right, text)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _built(node.left, text) * _built(node.right, text)
    if isinstance(node, ast.Name):
        return _known(node.id)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args:
        return _with_values(_known(node.func.id), node, text)
    raise InputError(f"the kernel {text!r} cannot be read; {FORM}")


def _known(name: str) -> Kernel:
    name = name.replace("_", "-").lower()
    if name not in KERNELS:
        near = difflib.get_close_matches(name, KERNELS, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise InputError(f"kernel {name!r} is not known; {hint}Choose from {', '.join(KERNELS)}, or join them by +.")
    return KERNELS[name]


def _with_values(kernel: Kernel, call: ast.Call, text: str) -> Kernel:
    values: dict[str, Any] = {}
    for word in call.keywords:
        try:
            value = ast.literal_eval(word.value)
        except ValueError:
            value = None
        if word.arg is None or not _is_numeric(value):
            raise InputError(f"{word.arg} in the kernel {text!r} is no number; {FORM}")
        values[word.arg] = value
    return kernel.replace(**values)


def _is_numeric(value: Any) -> bool:
    many = isinstance(value, tuple)
    return all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (value if many else (value,)))
