"""Would the tests notice? Small faults put into the source, one at a time, and the tests run against each.

    python benchmarks/mutants.py                        200 sampled faults in the mathematical rooms
    python benchmarks/mutants.py --n 40 --seed 1        another sample
    python benchmarks/mutants.py --only geo/earth.py --n 50

A fault is an operator, comparison, constant, sign or condition changed, or a statement left out. Each is written into a
scratch copy of the tree, and the tests that reach its line are run, the fastest first, until one fails: the fault is
killed. Which tests reach a line is known from `make coverage` (out/coverage); without it, the tests of the file's room
are run. A fault whose tests run out of time is killed, too: a user would notice a program that hangs. Faults that
cannot matter are left out beforehand: texts, types, logging, guards below 1e-5, keywords such as strict=True, and
`limits.py` (thresholds are measured, not proved). A fault on a line that no test reaches has survived. Every result is
a line of out/mutants/SEED.jsonl, from which a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.util
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import xml.etree.ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "bochner"
ROOMS = ("kernels", "frequencies", "features", "moments", "solvers", "posterior", "families", "neighbours", "inference")
TESTS = {  # of a room, where it is not known which tests reach a line
    **{room: (f"tests/{room}", "tests/laws") for room in ROOMS if room != "families"},
    "families": ("tests/laws/test_families.py", "tests/laws/test_links.py", "tests/laws/test_distributions.py"),
    "geo": ("tests/geo",),
}
COVERAGE = ROOT / "out" / "coverage"
MAX_TESTS, MAX_TEST_SECONDS = 60, 60.0
TIMEOUT, ROOM_TIMEOUT = 300.0, 3_600.0  # of those tests, and of all tests of a room
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
QUIET = ("logger", "warn", "logging")  # calls that tell and do nothing


@dataclass(frozen=True)
class Mutant:
    """A fault: which node of a file, as `ast.walk` counts them, and what is done to it."""

    file: str
    line: int
    node: int
    told: str


# --------------------------------------------------------------------------------------------------------- the faults


def mutants_of(path: Path) -> list[Mutant]:
    """Every fault that can be put into a file."""
    tree = ast.parse(path.read_text())
    skipped = _skipped(tree)
    found = []
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in skipped:
            continue
        told = _told(node)
        if told:
            found.append(Mutant(str(path.relative_to(SOURCE)), node.lineno, number, told))
    return found


def mutated(path: Path, mutant: Mutant) -> str:
    """Source of a file with the fault in it."""
    tree = ast.parse(path.read_text())
    target = next(node for number, node in enumerate(ast.walk(tree)) if number == mutant.node)
    new = _changed(copy.deepcopy(target))

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is target else super().generic_visit(node)

    return ast.unparse(ast.fix_missing_locations(Replace().visit(tree)))


def _changed(node: ast.AST) -> ast.AST:
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign):
        node.op = SWAPPED[type(node.op)]()
    elif isinstance(node, ast.Compare):
        node.ops[0] = SWAPPED[type(node.ops[0])]()
    elif isinstance(node, ast.UnaryOp):
        return node.operand
    elif isinstance(node, ast.Constant):
        value = node.value
        node.value = (not value) if isinstance(value, bool) else value + 1 if isinstance(value, int) else 1.5 * value
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
        if isinstance(node, ast.FunctionDef):
            leave(node.returns)
            for arg in (*node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg):
                leave(arg and arg.annotation)
            for decorator in node.decorator_list:
                leave(decorator)
        elif isinstance(node, ast.ClassDef):
            for decorator in node.decorator_list:
                leave(decorator)
        elif isinstance(node, ast.AnnAssign):
            leave(node.annotation)
        elif isinstance(node, ast.JoinedStr | ast.Raise | ast.Assert):
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
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            name = ast.unparse(node.value.func).split(".")[0]
            if name in QUIET:
                leave(node)
    return skipped


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
            self.files = {f.split("/src/bochner/")[-1]: f for f in self.data.measured_files()}
            for report in COVERAGE.glob("tests*.xml"):
                for case in xml.etree.ElementTree.parse(report).iter("testcase"):
                    name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
                    self.seconds[name] = float(case.get("time") or 0)

    def tests(self, mutant: Mutant) -> list[str] | None:
        """Tests that reach a mutant's line, the fastest of every file first; None: not known."""
        if self.data is None or mutant.file not in self.files:
            return None
        measured = Path(self.files[mutant.file])
        if not measured.exists() or measured.read_text() != (SOURCE / mutant.file).read_text():
            return None  # lines have moved
        lines = self.data.contexts_by_lineno(self.files[mutant.file])
        names = {context.split("|")[0] for context in lines.get(mutant.line, ())} - {""}
        names = {name for name in names if name in self.seconds}
        if not names and mutant.line not in lines:
            return []
        room = mutant.file.split("/")[0]
        near = sorted(names, key=lambda t: (f"/{room}/" not in t and "/laws/" not in t, self.seconds[t]))
        chosen, total = [], 0.0
        for name in near:
            if len(chosen) < MAX_TESTS and total + self.seconds[name] <= MAX_TEST_SECONDS:
                chosen.append(name)
                total += self.seconds[name]
        return chosen or near[:1] or None


def survives(mutant: Mutant, scratch: Path, tests: list[str]) -> str:
    """`killed`, `timeout` or `survived`."""
    at = scratch / "src" / "bochner" / mutant.file
    original = at.read_text()
    at.write_text(mutated(SOURCE / mutant.file, mutant))
    try:
        code = in_a_fork(scratch, tests, TIMEOUT if "::" in tests[0] else ROOM_TIMEOUT)
    finally:
        at.write_text(original)
    if code is None:
        return "timeout"
    return "survived" if code in (0, 5) else "killed"


def in_a_fork(scratch: Path, tests: list[str], timeout: float) -> int | None:
    """Exit code of pytest in a child that has the heavy imports of its parent; None: it ran out of time."""
    child = os.fork()
    if child == 0:
        os.setsid()
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os.chdir(scratch)
        sys.path.insert(0, str(scratch / "src"))
        sys.dont_write_bytecode = True
        os.environ["PYTHONPATH"] = str(scratch / "src")
        import pytest

        options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", "--tb=no"]
        os._exit(int(pytest.main([*options, *tests])))
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def import_what_is_heavy() -> None:
    """What every run of the tests would import anew, but not the library itself."""
    sys.path = [path for path in sys.path if Path(path or ".").resolve() != ROOT / "benchmarks"]  # it has a coverage.py
    for name in (
        "numpy",
        "scipy.optimize",
        "scipy.stats",
        "scipy.spatial",
        "sklearn.cluster",
        "sklearn.model_selection",
    ):
        importlib.import_module(name)
    for name in ("pandas", "hypothesis", "pytest", "xdist", "numba"):
        if importlib.util.find_spec(name):
            importlib.import_module(name)


# -------------------------------------------------------------------------------------------------------------- the run


def sampled(n: int, seed: int, only: str) -> list[Mutant]:
    """Faults drawn from all of the rooms, or of files whose name holds `only`; files weigh by their faults."""
    rooms = ("geo",) if only.startswith("geo") else ROOMS
    files = [
        p for room in rooms for p in sorted((SOURCE / room).rglob("*.py")) if p.name not in ("limits.py", "__init__.py")
    ]
    every = [m for p in files if only in str(p.relative_to(SOURCE)) for m in mutants_of(p)]
    return random.Random(seed).sample(every, min(n, len(every)))


def main() -> None:
    """Try the sample, print what survived and the share that was killed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="files whose path under src/bochner holds this")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many; go on by another call")
    parser.add_argument("--again", action="store_true", help="try those again that survived")
    args = parser.parse_args()
    results = ROOT / "out" / "mutants" / f"{args.seed}{args.only.replace('/', '-')}.jsonl"
    results.parent.mkdir(parents=True, exist_ok=True)
    done = dict(_done(results, args.again))
    import_what_is_heavy()
    reached, end = Reached(), time.monotonic() + 60 * args.minutes
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for part in ("src", "tests", "docs", "benchmarks"):
            shutil.copytree(ROOT / part, scratch / part, ignore=shutil.ignore_patterns("__pycache__", "_build"))
        for part in ("pyproject.toml", "README.md"):
            shutil.copy(ROOT / part, scratch / part)
        for mutant in sampled(args.n, args.seed, args.only):
            key = f"{mutant.file}:{mutant.line}:{mutant.node}"
            if key in done or time.monotonic() > end:
                continue
            tests = reached.tests(mutant)
            if tests is None:
                tests = [t for t in TESTS[mutant.file.split("/")[0]] if (ROOT / t).exists()]
            fate = survives(mutant, scratch, tests) if tests else "not reached"
            done[key] = fate
            with results.open("a") as lines:
                lines.write(json.dumps({"key": key, "told": mutant.told, "fate": fate, "tests": len(tests)}) + "\n")
            print(f"{fate:12} {mutant.file}:{mutant.line}  {mutant.told}  ({len(tests)} tests)", flush=True)
    wanted = {f"{m.file}:{m.line}:{m.node}" for m in sampled(args.n, args.seed, args.only)}
    fates = [fate for key, fate in done.items() if key in wanted]
    killed = sum(fate in ("killed", "timeout") for fate in fates)
    print(f"seed {args.seed}: {killed} of {len(fates)} killed ({killed / max(len(fates), 1):.1%})")


def _done(results: Path, again: bool) -> Iterator[tuple[str, str]]:
    for line in results.read_text().splitlines() if results.exists() else ():
        one = json.loads(line)
        if one["fate"] in ("killed", "timeout") or not again:
            yield one["key"], one["fate"]


if __name__ == "__main__":
    main()
