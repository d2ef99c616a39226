"""Would the tests notice? Small faults put into the source, one at a time, and the tests run against each.

    python benchmarks/mutants.py                        200 sampled faults in the mathematical rooms
    python benchmarks/mutants.py --n 40 --seed 1        another sample
    python benchmarks/mutants.py --only geo/earth.py --n 50

A fault is an operator, comparison, constant, sign or condition changed, or a statement left out. Each is written into a
scratch copy of the tree, and the tests that reach its line are run, the fastest first, until one fails: the fault is
killed, if that test passes without it. Which tests reach a line is known from `make coverage` (out/coverage); without
it, the tests of the file's room are run. A fault whose tests run out of time is killed, too: a user would notice a
program that hangs. A fault on a line that no test reaches has survived.

Left out beforehand are faults that cannot matter: texts, and what words them in a block that ends in an error; types;
logging; guards below 1e-5 and their signs; keywords such as strict=True; `limits.py` (thresholds are measured, not
proved); sizes of blocks (`max(1, ROWS // n)`: how much is treated at once changes memory and no result); and on
machines without a device the code for one: `device_*.py`, functions that take a `Device`, and when one is asked for. A
fault that was drawn, survived, and was read and found to change no result that the library promises stands in
EQUIVALENT with the reason; such faults are counted apart, and the share that was killed is told with and without them.
Every result is a line of out/mutants/SEED.jsonl, from which a run that was stopped goes on.

The parent has the library and the tests imported. A child is forked for each fault, in which the code of the one
function at fault is exchanged; only faults outside of functions, and in compiled loops, take a fresh import.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import functools
import gc
import hashlib
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import types
import xml.etree.ElementTree
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "bochner"
ROOMS = ("kernels", "frequencies", "features", "moments", "solvers", "posterior", "families", "neighbours", "inference")
TESTS = {  # of a room, where it is not known which tests reach a line
    **{room: (f"tests/{room}", "tests/laws") for room in ROOMS if room != "families"},
    "families": ("tests/laws/test_families.py", "tests/laws/test_links.py", "tests/laws/test_distributions.py"),
    "geo": ("tests/geo",),
}
# compiled loops are not traced: what compares them with NumPy's
COMPILED = {
    "neighbours/place_loops.py": ["tests/neighbours/test_compiled_searches.py"],
    "neighbours/tree_loops.py": ["tests/neighbours/test_compiled_searches.py"],
    "neighbours/compiled_loops.py": [
        "tests/laws/test_compiled.py",
        "tests/neighbours/test_compiled_loops.py",
    ],
    "neighbours/cell_loops.py": ["tests/laws/test_compiled.py", "tests/neighbours/test_cells.py"],
    "neighbours/remainder_loops.py": ["tests/features/test_remainder.py"],
}
# defaults are read, not run: no line tells which test reads them
DEFAULTS = "tests/laws/test_answers.py::test_parts_give_the_numbers_that_were_written_down[defaults of {}]"
COVERAGE = ROOT / "out" / "coverage"
MAX_TESTS, MAX_ROOM_SECONDS = 2_000, 120.0  # a fault that is not killed by then has survived
MAX_RECORDED_SECONDS = 150.0  # of the tests of a line, by the clock of `make coverage`, which is slow, ...
MAX_TEST_SECONDS = 30.0  # ... and of computing
TIMEOUT, ROOM_TIMEOUT = 60, 400  # seconds of computing, of those tests and of all tests of a room
OPTIONS = ("-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", "--tb=no")
ENOUGH = "enough"
NOT_FOUND, NO_TESTS = 4, 5  # exit codes of pytest: of tests that are no longer there, a new `make coverage` is needed
OPTIMISED = 0x1  # flag of the code of functions, which the code of modules and classes has not
SWAPPED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
CHECKS = ("strict", "copy", "check_finite", "overwrite_a", "overwrite_b")  # keywords that change no result
GUARD = 1e-5  # constants below keep from dividing by zero, or say when to stop: their size is of no account
BLOCK = "AT_ONCE"  # end of the names of constants that say how much is treated at once
HAS_DEVICE = shutil.which("nvidia-smi") is not None
QUIET = ("logger", "warn", "logging")  # calls that tell and do nothing
# file, part of its line (or of the key, which ends with the number of such faults in it), fault, and why it changes no
# result: read one by one after they had survived
EQUIVALENT: tuple[tuple[str, str, str, str], ...] = (
    ("neighbours/compiled_loops.py", "MOST_LANES)", "FloorDiv -> Mult", "how many systems are solved side by side"),
    ("neighbours/compiled_loops.py", "at_once * m, False)", "constant False", "room for slopes that nobody asks for"),
    ("inference/fits/iterative.py", "obs.n_trend > 3", "Gt -> LtE", "which of two operators gives the same products"),
    ("frequencies/lattice.py", "LARGEST_BOX // (2", "constant 2", "a bound of memory, far beyond any kernel tried"),
    ("posterior/quantiles.py", "_MOST_TURNS = 300", "constant 300", "turns that a search never needs"),
    ("posterior/ranked.py", "_ENTRIES_AT_ONCE //", "constant 1", "rows that are treated at once"),
    ("families/links/base.py", "NARROW**2", "Pow -> Mult", "which of two quadratures, both exact there, is taken"),
    ("families/averages.py", "_ROWS_AT_ONCE = 2**17", "constant 17", "rows that are treated at once"),
    (
        "features/operators/split.py",
        "MIN_COEFFICIENTS",
        "constant 3",
        "how much goes by waves, of one product",
    ),
    ("features/operators/split.py", "COEFFICIENTS_PER_ROW", "Mult -> Div", "how much goes by waves, of one product"),
    ("posterior/quadrature.py", "tail = np.minimum", "constant 25", "how far nodes reach where nothing is left"),
    (
        "inference/chunked.py",
        "prior_variance(obs.rows.coords[:1])",
        "constant 1",
        "the prior of waves is one everywhere",
    ),
    (
        "inference/schemes/learned_spectra.py",
        'getattr(features, "missing"',
        "constant 0.0",
        "all of them have it",
    ),
    (
        "features/operators/split.py",
        "np.zeros((1, self.coords.shape[1]))",
        "constant 1",
        "a second zero that is not read",
    ),
    (
        "features/operators/grid.py",
        "mesh = np.stack(np.meshgrid",
        "constant 1",
        "any negative number is a length to be found",
    ),
    ("solvers/primal.py", "n_trend: int = 0", "constant 0", "a default that no call takes"),
    ("inference/fits/fixed_effects.py", "return 1.0", "constant 1.0", "compared with a small threshold alone"),
    ("kernels/periodic.py", "order = np.arange(len(along)) if j == 0", "constant 1", "a line too light to be kept"),
    ("inference/evidence/profile.py", "by_trend = np.zeros(0) if self.reml", "constant 0", "one and none make none"),
    ("moments/dense_sums.py", "def scaled(self, mass", "constant 1.0", "a default that no call takes"),
    ("posterior/quantiles.py", "chosen & again]] *= 0.5", "constant 0.5", "how fast a search closes in"),
    ("neighbours/nearest_kriging.py", "np.where(absent, 0.0, values[rows])", "constant 0.0", "their weights are zero"),
    ("neighbours/batches.py", "n_pairs = k * (k + 1) // 2", "constant 1", "systems that are treated at once"),
    (
        "features/operators/grid.py",
        "size = max(1, limits.PAIRS_AT_ONCE",
        "FloorDiv -> Mult",
        "lags that are treated at once",
    ),
    ("kernels/measure.py", "omega, mass = np.zeros((1, self.dim))", "constant 1", "a second zero that is not read"),
    ("frequencies/lattice.py", "return np.ones((1, 1))", "constant 1", "the one direction of a line, twice"),
    ("posterior/ranked.py", "np.linspace(0, 1, _PANELS + 1)[:, None] * (last", "constant 1", "one node more of a sum"),
    ("neighbours/vecchia.py", "else np.empty(0, dtype=np.intp)", "constant 0", "close rows are not asked for there"),
    (
        "inference/schemes/adaptive_waves.py",
        "if n < features.n_columns",
        "condition turned round",
        "by rows or by columns, one sum",
    ),
    ("posterior/quadrature.py", "(eta >= low) & (eta <= high)", "LtE -> Gt", "halving finds the same mode, later"),
    ("posterior/quadrature.py", "(eta >= low) & (eta <= high)", "GtE -> Lt", "halving finds the same mode, later"),
    ("kernels/empirical.py", "COSINES_AT_ONCE // rows", "constant 1", "cosines that are treated at once"),
    ("inference/evidence/profile.py", "(seen.z - part.offset) * root", "Mult -> Div", "where a search begins"),
    ("posterior/ranked.py", "if needed <= _MOST_NODES", "LtE -> Gt", "by nodes or one by one, the same sum"),
    ("frequencies/lattice.py", "MARGINS = tuple(", "constant 2", "one of a dozen margins that are tried"),
    ("frequencies/lattice.py", "MARGINS = tuple(", "constant 10", "one of a dozen margins that are tried"),
    ("families/stirling.py", "1 / 1680", "constant 1680", "the last digit of a double"),
    ("inference/fits/iterative.py", "default_rng(0).choice(n", "constant 0", "which rows are watched"),
    ("inference/observed/responses.py", "np.all(self.weight > 0)", "constant 0", "whether a copy is made"),
    (
        "inference/fit_checks.py",
        "workers=n_searchers(len(doubted)))[1][:, 1:]",
        "constant 1",
        "rows that a median is of, forty or less",
    ),
    (
        "neighbours/vecchia.py",
        "0.5 * counts @ (noise_variance",
        "Mult -> Div",
        "slopes are of counts of one",
    ),
    ("frequencies/structured.py", "walsh_hadamard(rows) * d2", "Mult -> Div", "signs are their own inverses"),
    ("posterior/ranked.py", "_MOST_NODES = 512", "constant 512", "by nodes or one by one, the same sum"),
    (
        "inference/evidence/informed_laplace.py",
        "if tiny and gained < 0",
        "And -> Or",
        "a search that goes on by another way to the same peak",
    ),
    ("inference/evidence/profile.py", "self.inverse_hessian[0, 0]", "constant 0", "where a search begins"),
    (
        "inference/evidence/informed_laplace.py",
        "value: float = 0.0",
        "constant 0.0",
        "not read before there is a theta",
    ),
    (
        "neighbours/compiled_loops.py",
        "for f in range(begins[t], begins[t + 1]):: Add -> Sub: 1",
        "Add -> Sub",
        "values of all terms at the first of them, or of each at its own",
    ),
    (
        "neighbours/close_pairs.py",
        "if len(apart) else 0.0",
        "constant 0.0",
        "rows with others at their place, all of them",
    ),
    ("posterior/patches.py", "*_, second, first = (0.0", "constant 0.0", "how large patches of a line are"),
    ("posterior/ranked.py", "width = np.minimum(width, 1 / np.sqrt", "constant 1", "nodes that are more than enough"),
    ("kernels/periodic.py", "order = np.arange(int(8 *", "constant 8", "harmonics that are too light to be kept"),
    (
        "inference/chunked.py",
        "np.maximum(d.curvature, 0.0) + 1 / variance",
        "constant 0.0",
        "how fast steps come to the effect of a row",
    ),
    ("inference/evidence/profile.py", '"gtol": 1e-5', "constant 1e-05", "when a search has come near enough"),
    ("features/operators/remainder.py", "_padded(series.step, 1.0)", "constant 1.0", "unit of an axis without lags"),
    ("posterior/patches.py", "near = np.minimum(limits.NEAR_SHARE", "Mult -> Div", "how large patches are begun with"),
    ("kernels/matern.py", "tabulate: bool = True", "constant True", "by a table or by the formula, the same number"),
    ("neighbours/inverse_root.py", "index = np.int32 if", "Pow -> Mult", "whole numbers of four or of eight bytes"),
    (
        "posterior/operator.py",
        "_cache: dict[str, Any] = field(",
        "constant False",
        "how it is printed, or compared",
    ),
    (
        "kernels/empirical.py",
        "rows = max(1, int(np.prod(shape[:-2]))",
        "USub left out",
        "cosines that are treated at once",
    ),
    ("neighbours/sectors.py", "PAIRS_OF_SECTORS // max", "FloorDiv -> Mult", "places that are treated at once"),
    ("kernels/names.py", "get_close_matches(name, NAMED_KERNELS", "constant 1", "of a hint, the first is told"),
    ("posterior/quantiles.py", "np.where(short, -1, 1)", "constant 1", "only the signs are read"),
    ("neighbours/left_out.py", "in_batches(krige, len(rows)", "constant 1", "systems that are treated at once"),
    ("kernels/gneiting.py", "cumulative = np.r_[0, np.cumsum", "Div -> Mult", "a factor that is divided out"),
)


@dataclass(frozen=True)
class Mutant:
    """A fault: which node of a file, as `ast.walk` counts them, and what is done to it."""

    file: str
    line: int
    node: int
    told: str
    key: str  # the same as long as its line is, wherever that moves


# --------------------------------------------------------------------------------------------------------- the faults


@functools.cache
def mutants_of(path: Path) -> list[Mutant]:
    """Every fault that can be put into a file."""
    tree = ast.parse(path.read_text())
    skipped, lines = _skipped(tree), path.read_text().splitlines()
    found, seen = [], Counter[str]()
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in skipped:
            continue
        told = _told(node)
        if told:
            file = str(path.relative_to(SOURCE))
            key = f"{file}: {lines[node.lineno - 1].strip()}: {told}"
            seen[key] += 1
            found.append(Mutant(file, node.lineno, number, told, f"{key}: {seen[key]}"))
    return found


def mutated_tree(path: Path, mutant: Mutant) -> ast.AST:
    """Syntax of a file with the fault in it, its lines where they were."""
    tree = ast.parse(path.read_text())
    target = next(node for number, node in enumerate(ast.walk(tree)) if number == mutant.node)
    new = ast.copy_location(_changed(copy.deepcopy(target)), target)

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is target else super().generic_visit(node)

    return ast.fix_missing_locations(Replace().visit(tree))


def mutated(path: Path, mutant: Mutant) -> str:
    """Source of a file with the fault in it."""
    return ast.unparse(mutated_tree(path, mutant))


def _changed(node: ast.AST) -> ast.AST:
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign):
        node.op = SWAPPED[type(node.op)]()
    elif isinstance(node, ast.Compare):
        node.ops[0] = SWAPPED[type(node.ops[0])]()
    elif isinstance(node, ast.UnaryOp):
        return node.operand
    elif isinstance(node, ast.Constant):
        value = node.value
        whole = isinstance(value, int) or value == 0
        node.value = (not value) if isinstance(value, bool) else value + 1 if whole else 1.5 * value
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    else:
        return ast.Pass()
    return node


def _told(node: ast.AST) -> str:
    """What would be done to a node, or nothing."""
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPPED:
        return f"{type(node.op).__name__} -> {SWAPPED[type(node.op)].__name__}"
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        return f"{type(node.ops[0]).__name__} -> {SWAPPED[type(node.ops[0])].__name__}"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        return f"{type(node.op).__name__} left out"
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        return f"constant {node.value!r}"
    if isinstance(node, ast.If | ast.IfExp):
        return "condition turned round"
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return "call left out"
    return ""


def _skipped(tree: ast.AST) -> set[int]:
    """Nodes whose faults nobody could notice, or that are not code: types, texts, decorators, errors, logging."""
    skipped: set[int] = set()

    def leave(node: ast.AST | None) -> None:
        if node is not None:
            skipped.update(id(n) for n in ast.walk(node))

    for node in ast.walk(tree):
        if isinstance(node, ast.If):
            for told in (*_only_told(node.body), *_only_told(node.orelse)):
                leave(told)
        if isinstance(node, ast.FunctionDef):
            leave(node.returns)
            for arg in (*node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg):
                leave(arg and arg.annotation)
            for decorator in node.decorator_list:
                leave(decorator)
            if not HAS_DEVICE and any(_is_device(arg.annotation) for arg in node.args.args):
                leave(node)
        elif isinstance(node, ast.ClassDef):
            for decorator in node.decorator_list:
                leave(decorator)
        elif isinstance(node, ast.AnnAssign):
            leave(node.annotation)
        elif isinstance(node, ast.JoinedStr | ast.Raise | ast.Assert) or _is_block(node):
            leave(node)
        elif isinstance(node, ast.keyword) and node.arg in CHECKS:
            leave(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, float) and 0 < node.value < GUARD:
            leave(node)
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            leave(node)
        elif isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            leave(node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            leave(node)  # a union of types
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            if _is_guard(node.left) or _is_guard(node.right):
                skipped.add(id(node))  # its sign is of no account, either
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "device_for" and not HAS_DEVICE:
            leave(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            name = ast.unparse(node.value.func).split(".")[0]
            if name in QUIET:
                leave(node)
    return skipped


def _is_block(node: ast.AST) -> bool:
    """Whether a node is the size of a block: a constant `..._AT_ONCE`, or `max(1, CONSTANT // n)`, as many as fit."""
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id.endswith(BLOCK) for target in node.targets)
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "max"):
        return False
    shares = (part.left for part in node.args if isinstance(part, ast.BinOp) and isinstance(part.op, ast.FloorDiv))
    return any(_name(share).isupper() for share in shares)


def _name(node: ast.AST) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _only_told(block: list[ast.stmt]) -> list[ast.stmt]:
    """Statements of a block that ends in an error, before it: they make its text."""
    return block[:-1] if block and isinstance(block[-1], ast.Raise) else []


def _is_guard(node: ast.AST) -> bool:
    """Whether an operand is a tiny number, or such a share of something."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _is_guard(node.left) or _is_guard(node.right)
    return isinstance(node, ast.Constant) and isinstance(node.value, float) and 0 < node.value < GUARD


def _is_device(annotation: ast.AST | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id == "Device"


# ----------------------------------------------------------------------------------------------------------- the tests


class Reached:
    """Which tests reach a line, and how long they take: from `make coverage`, where that was run."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.data = None
        if (COVERAGE / "data").exists():
            from coverage import CoverageData

            self.data = CoverageData(str(COVERAGE / "data"))
            self.data.read()
            self.stamp = (COVERAGE / "data").stat().st_mtime
            self.files = {f.split("/src/bochner/")[-1]: f for f in self.data.measured_files()}
            for report in COVERAGE.glob("tests*.xml"):
                for case in xml.etree.ElementTree.parse(report).iter("testcase"):
                    if case.find("failure") is not None or case.find("skipped") is not None:
                        continue
                    name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
                    self.seconds[name] = float(case.get("time") or 0)

    def tests(self, mutant: Mutant) -> list[str] | None:
        """Tests that reach a mutant's line: near ones, the fastest of every law first; None: not known."""
        if self.data is None or mutant.file not in self.files:
            return None
        measured, source = Path(self.files[mutant.file]), SOURCE / mutant.file
        if not measured.exists() or measured.read_text() != source.read_text() or source.stat().st_mtime > self.stamp:
            return None  # lines have moved
        lines = self.data.contexts_by_lineno(self.files[mutant.file])
        names = {context.split("|")[0] for context in lines.get(mutant.line, ())} - {""}
        names = {name for name in names if name in self.seconds}
        if not names and mutant.line not in lines:
            return []
        if not names:  # run when the file is imported: whatever uses the file
            names = {c.split("|")[0] for contexts in lines.values() for c in contexts} & set(self.seconds)
        room = mutant.file.split("/")[0]
        names |= {DEFAULTS.format(room)} & set(self.seconds)
        turn, seen = {}, Counter[str]()
        for name in sorted(names, key=self.seconds.__getitem__):  # one case of every law, then the next of each
            seen[name.split("[")[0]] += 1
            turn[name] = seen[name.split("[")[0]]
        near = sorted(names, key=lambda t: (f"/{room}/" not in t and "/laws/" not in t, turn[t], self.seconds[t]))
        # cases of the same laws that were not seen on the line come last: compiling hides some from `make coverage`
        laws = {name.split("[")[0] for name in names}
        rest = [t for t in self.seconds if t not in names and "[" in t and t.split("[")[0] in laws]
        chosen, total = [], 0.0
        for name in [*near, *sorted(rest, key=self.seconds.__getitem__)]:
            if len(chosen) < MAX_TESTS and total + self.seconds[name] <= MAX_RECORDED_SECONDS:
                chosen.append(name)
                total += self.seconds[name]
        return chosen or near[:1] or None


class Trials:
    """Faults tried in children of this process, which has the library and its tests imported from a scratch tree."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.sound: dict[str, bool] = {}  # tests, and whether they pass without a fault

    def fate(self, mutant: Mutant, tests: list[str]) -> tuple[str, str]:
        """`killed`, `timeout` or `survived`, and the test that failed."""
        at, tests = self.scratch / "src" / "bochner" / mutant.file, list(tests)
        original, stamp = at.read_text(), at.stat()
        while tests:
            at.write_text(mutated(SOURCE / mutant.file, mutant))
            try:
                code, failed = self._in_a_fork(tests, lambda: put_in(mutant, at, original))
            finally:
                at.write_text(original)
                os.utime(at, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # what Numba has cached stays good
            if code is None:  # a program that hangs, if it does not without the fault
                return ("survived" if self._in_a_fork(tests, lambda: None)[0] is None else "timeout"), ""
            if code in (0, NO_TESTS, NOT_FOUND) or failed == ENOUGH:
                return "survived", ""
            if not failed or self._passes(failed):
                return "killed", failed
            tests = [test for test in tests if test != failed] if failed in tests else []
        return "survived", ""

    def _passes(self, test: str) -> bool:
        if test not in self.sound:
            self.sound[test] = self._in_a_fork([test], lambda: None)[1] in ("", ENOUGH)
        return self.sound[test]

    def _in_a_fork(self, tests: list[str], prepare: Callable[[], None]) -> tuple[int | None, str]:
        """Exit code of pytest in a child, None if it ran out of time, and the test that failed first."""
        listen, tell = os.pipe()
        limit, seconds = (TIMEOUT, MAX_TEST_SECONDS) if "::" in tests[0] else (ROOM_TIMEOUT, MAX_ROOM_SECONDS)
        child = os.fork()
        if child == 0:
            os.setsid()
            os.close(listen)
            resource.setrlimit(resource.RLIMIT_CPU, (_spent() + limit, _spent() + limit))
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            prepare()
            import pytest

            os._exit(int(pytest.main([*OPTIONS, *tests], plugins=[Told(tell, seconds)])))
        os.close(tell)
        status = _waited(child, 4 * limit)
        with os.fdopen(listen) as told:
            lines = told.read().split("\n")
            failed = next((line for line in lines if line and line != ENOUGH), ENOUGH if ENOUGH in lines else "")
        return status, failed


class Told:
    """Plugin of pytest that tells the first test that fails, and begins none once enough was computed."""

    def __init__(self, pipe: int, seconds: float) -> None:
        self.pipe, self.end, self.session = pipe, time.process_time() + seconds, None

    def pytest_sessionstart(self, session: Any) -> None:
        """Called by pytest before tests are collected."""
        self.session = session

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Called by pytest after every phase of a test."""
        if report.failed:
            os.write(self.pipe, f"{report.nodeid}\n".encode())
        elif time.process_time() > self.end:
            os.write(self.pipe, f"{ENOUGH}\n".encode())
            self.session.shouldstop = ENOUGH  # type: ignore[attr-defined]


def _spent() -> int:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return int(used.ru_utime + used.ru_stime) + 1


def _waited(child: int, seconds: float) -> int | None:
    """Exit code of a child; None if it was ended for the time that it took."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return None if code in (-signal.SIGXCPU, -signal.SIGKILL) else code
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def put_in(mutant: Mutant, at: Path, original: str) -> None:
    """Put a fault into this process: into the function at fault, or by a fresh import of all that may hold it."""
    new = functions_of(compile(mutated_tree(SOURCE / mutant.file, mutant), str(at), "exec"))
    old = functions_of(compile(original, str(at), "exec"))
    changed = [name for name in old if old[name] != new.get(name)]
    compiles = mutant.file in COMPILED
    if changed and MODULE not in changed and not compiles:
        found = {name: _loaded(str(at), name) for name in changed}
        if all(found.values()):
            for name, functions in found.items():
                for function in functions:
                    function.__code__ = new[name]
            return
    for name in [name for name in sys.modules if name.split(".")[0] in ("bochner", "tests")]:
        del sys.modules[name]
    if compiles:
        import numba

        numba.config.CACHE_DIR = tempfile.mkdtemp(dir=at.parents[3])
    importlib.invalidate_caches()


MODULE = ("", 0)  # stands for all that is not inside of a function


def functions_of(code: types.CodeType) -> dict[tuple[str, int], Any]:
    """Code of the functions and methods of a module by name and line, and what else it does."""
    found: dict[tuple[str, int], Any] = {}
    outside: list[Any] = []
    twice = False
    rest = [code]
    while rest:
        one = rest.pop()
        outside += [one.co_code, one.co_names, [c for c in one.co_consts if not isinstance(c, types.CodeType)]]
        for part in (c for c in one.co_consts if isinstance(c, types.CodeType)):
            if part.co_flags & OPTIMISED:
                name = (part.co_qualname, part.co_firstlineno)
                twice |= name in found
                found[name] = part
            else:
                rest.append(part)
    # two lambdas of one line cannot be told apart: then all of it counts as outside
    found[MODULE] = repr((outside, [c.co_code for c in found.values()] if twice else []))
    return found


def _loaded(file: str, name: tuple[str, int]) -> list[types.FunctionType]:
    """Functions of a file in this process, however they are wrapped."""
    return [
        one
        for one in gc.get_objects()
        if type(one) is types.FunctionType
        and one.__code__.co_filename == file
        and (one.__code__.co_qualname, one.__code__.co_firstlineno) == name
    ]


def import_all(scratch: Path, folders: list[str]) -> None:
    """The library and the tests, from the scratch tree, into this process."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(scratch / "src"))
    os.environ["PYTHONPATH"] = str(scratch / "src")
    os.chdir(scratch)
    import pytest

    for path in sorted((scratch / "src" / "bochner").rglob("*.py")):
        room = path.relative_to(scratch / "src").with_suffix("").parts
        if room[1] in (*ROOMS, "geo", "layout", "estimators") and room[-1] != "__init__":
            with contextlib.suppress(ImportError):  # of an extra that is not installed
                importlib.import_module(".".join(room))
    with open(os.devnull, "w") as quiet, contextlib.redirect_stdout(quiet):
        pytest.main(["--collect-only", "-q", "-n", "0", "-p", "no:cacheprovider", *folders])


# -------------------------------------------------------------------------------------------------------------- the run


def sampled(n: int, seed: int, only: str) -> list[Mutant]:
    """Faults drawn from all of the rooms, or of files whose name holds `only`; files weigh by their faults.

    They are those of the smallest hashes, so that a change to the source leaves the rest of the sample as it is.
    """
    rooms = ("geo",) if only.startswith("geo") else ROOMS
    files = [p for room in rooms for p in sorted((SOURCE / room).rglob("*.py")) if _is_tried(p)]
    every = [m for p in files if only in str(p.relative_to(SOURCE)) for m in mutants_of(p)]
    return sorted(every, key=lambda mutant: hashlib.sha256(f"{seed}: {mutant.key}".encode()).digest())[:n]


def _is_tried(path: Path) -> bool:
    """Whether faults of a file are drawn: not of thresholds, and of code for a device only where there is one."""
    if path.name.startswith("device_"):
        return HAS_DEVICE
    return path.name not in ("limits.py", "__init__.py")


def main() -> None:
    """Try the sample, print what survived and the share that was killed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="files whose path under src/bochner holds this")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many; go on by another call")
    parser.add_argument("--again", action="store_true", help="try those again that survived")
    parser.add_argument("--show", action="store_true", help="print the sample with its lines and try nothing")
    args = parser.parse_args()
    if args.show:
        return _show(sampled(args.n, args.seed, args.only))
    results = ROOT / "out" / "mutants" / f"{args.seed}{args.only.replace('/', '-')}.jsonl"
    results.parent.mkdir(parents=True, exist_ok=True)
    done = dict(_done(results, args.again))
    sys.path = [path for path in sys.path if Path(path or ".").resolve() != ROOT / "benchmarks"]  # it has a coverage.py
    end, drawn = time.monotonic() + 60 * args.minutes, sampled(args.n, args.seed, args.only)
    reached = Reached()
    with _folder_of_this_process() as folder:
        trials = Trials(_scratch(folder))
        if any(mutant.key not in done for mutant in drawn):
            import_all(
                trials.scratch, sorted({f"tests/{test.split('/')[1]}" for m in drawn for test in tests_of(m, reached)})
            )
        for mutant in sorted(drawn, key=lambda one: one.file in COMPILED):  # compiling anew takes a minute
            if mutant.key in done or time.monotonic() > end:
                continue
            tests = tests_of(mutant, reached)
            if args.again and why_equivalent(mutant):
                fate, by = "survived", ""  # as it was read to do
            else:
                fate, by = trials.fate(mutant, tests) if tests else ("not reached", "")
            done[mutant.key] = fate
            with results.open("a") as lines:
                told = {"key": mutant.key, "told": mutant.told, "fate": fate, "tests": len(tests), "by": by}
                lines.write(json.dumps(told) + "\n")
            print(f"{fate:12} {mutant.file}:{mutant.line}  {mutant.told}  ({by or f'{len(tests)} tests'})", flush=True)
    _sum_up(drawn, done, args.seed)


def _show(drawn: list[Mutant]) -> None:
    """The sample, a line each."""
    for mutant in drawn:
        print(f"{mutant.file}:{mutant.line}  {mutant.told}: {_line(mutant).strip()}")


def _line(mutant: Mutant) -> str:
    return (SOURCE / mutant.file).read_text().splitlines()[mutant.line - 1]


def _sum_up(drawn: list[Mutant], done: dict[str, str], seed: int) -> None:
    """Survivors with their lines, those that change nothing with the reason, and the share that was killed."""
    tried = [mutant for mutant in drawn if mutant.key in done]
    left = [mutant for mutant in tried if done[mutant.key] not in ("killed", "timeout")]
    same = [mutant for mutant in left if why_equivalent(mutant)]
    print("\nSurvived:" if left else "")
    for mutant in left:
        why = why_equivalent(mutant)
        same_as = f"  -- equivalent: {why}" if why else ""
        print(f"  {mutant.file}:{mutant.line}  {mutant.told}: {_line(mutant).strip()}{same_as}")
    killed = len(tried) - len(left)
    print(
        f"seed {seed}: {killed} of {len(tried)} killed ({killed / max(len(tried), 1):.1%}); "
        f"without {len(same)} that change no result: {killed / max(len(tried) - len(same), 1):.1%}"
    )


def tests_of(mutant: Mutant, reached: Reached) -> list[str]:
    """Tests that reach a mutant, or those of its room."""
    known = COMPILED[mutant.file] if mutant.file in COMPILED else reached.tests(mutant)
    return known if known is not None else [t for t in TESTS[mutant.file.split("/")[0]] if (ROOT / t).exists()]


def _folder(test: str) -> str:
    return "/".join(test.split("::")[0].split("/")[:2])


def why_equivalent(mutant: Mutant) -> str:
    """Why a fault changes no result, from the list of those that were read; empty if it is not on it."""
    ours = [one for one in EQUIVALENT if (one[0], one[2]) == (mutant.file, mutant.told)]
    found = (why for _, part, _, why in ours if part in mutant.key)
    return next(found, "")


@contextlib.contextmanager
def _folder_of_this_process() -> Iterator[Path]:
    """A folder that this process removes, and no child of a test that leaves by another way."""
    folder, owner = Path(tempfile.mkdtemp()).resolve(), os.getpid()
    try:
        yield folder
    finally:
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)


def _scratch(folder: Path) -> Path:
    """A copy of the tree, with what Numba has compiled."""
    for part in ("src", "tests", "docs", "benchmarks"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("*.pyc", "_build"))
    for part in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / part, folder / part)
    return folder


def _done(results: Path, again: bool) -> Iterator[tuple[str, str]]:
    for line in results.read_text().splitlines() if results.exists() else ():
        one = json.loads(line)
        if one["fate"] in ("killed", "timeout") or not again:
            yield one["key"], one["fate"]


if __name__ == "__main__":
    main()
