"""Words that a formula may hold: what formulaic evaluates as Python comes from files too, and must not do more.

Terms are names, numbers, operators and calls of the transforms below. Anything that could reach beyond the table, an
attribute, a subscript, a call of something else, is refused, whether the user wrote it or a model file did.
"""

from __future__ import annotations

import keyword
import re

from bochner.exceptions import InputError

TRANSFORMS = frozenset(
    ("C", "I", "Q", "bs", "cc", "center", "cr", "cs", "lag", "poly", "scale", "standardize", "exp", "exp2", "exp10",
     "log", "log2", "log10", "Treatment", "Helmert", "Sum", "Diff", "Poly")
)  # fmt: skip
CONTRASTS = frozenset(("treatment", "helmert", "sum", "diff", "poly", "SAS"))
FUNCTIONS = frozenset(
    ("abs", "arcsin", "arctan", "cbrt", "ceil", "clip", "cos", "cosh", "exp", "expm1", "floor", "fmax", "fmin", "hypot",
     "log", "log10", "log1p", "log2", "maximum", "minimum", "power", "round", "sign", "sin", "sinh", "sqrt", "square",
     "tan", "tanh", "where")
)  # fmt: skip
CALLABLE = TRANSFORMS | {f"np.{name}" for name in FUNCTIONS} | {f"contr.{name}" for name in CONTRASTS}
WORDS = frozenset(("True", "False", "None", "in", "not", "and", "or"))
RUNNING = frozenset(("eval", "exec", "compile", "open", "input", "breakpoint", "getattr", "globals", "vars"))

TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>`[^`]*`)|(?P<text>'[^'\\\n]*'|"[^"\\\n]*")|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
    |(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)|(?P<mark>[-+*/:^%|(),=<>!&.\[\]{}]))""",
    re.VERBOSE,
)


def check_terms(terms: str, text: str) -> None:
    """Refuse terms of a formula that are more than columns, operators and known transforms."""
    position, before = 0, ""
    terms = terms.rstrip()
    while position < len(terms):
        found = TOKEN.match(terms, position)
        if found is None:
            raise _refused(terms[position:].strip()[:1], text)
        token, kind = found.group().strip(), str(found.lastgroup)
        following = terms[found.end() :].lstrip()[:1]
        if not _fits(token, kind, before, following):
            raise _refused(token, text)
        position, before = found.end(), kind if kind != "mark" else token


def _fits(token: str, kind: str, before: str, following: str) -> bool:
    """Whether a token may follow what came before it."""
    adjacent = before in ("name", "number", "text", "quoted", ")", "]", "}")
    if kind == "name":
        called = following == "("
        known = token in CALLABLE if called else token in WORDS or _is_column(token)
        return known and (before != "text") and before != "."
    if kind == "mark":
        if token in "[{":
            return not adjacent
        # a name before a bracket is a transform, checked as a name; anything else would be a call of a value
        return not (token == "(" and before in ("number", "text", "quoted", ")", "]", "}"))
    return not (kind == "text" and adjacent)


def _is_column(name: str) -> bool:
    dotted, private = "." in name, "__" in name
    return not (dotted or private or keyword.iskeyword(name) or name in RUNNING)


def _refused(part: str, text: str) -> InputError:
    return InputError(
        f"formula {text!r}: {part!r} is neither a column nor a transform that formulas know "
        f"(log, exp, center, scale, poly, bs, C, np.sqrt, ...); compute it as a column of the table first, and put "
        f"names with odd characters between backticks."
    )
