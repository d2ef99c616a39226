"""The shape of the library: imports point down the floors, private stays private, files say what they are."""

from __future__ import annotations

import ast
import gc
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

# Data flows down this list; a room imports rooms of earlier floors (and itself), never of its own or later ones.
FLOORS = (
    ("exceptions",),
    ("formats", "spelling"),
    ("outputs",),
    ("archive",),
    ("arrays", "choices", "random", "resources"),
    ("device",),
    ("nufft",),
    ("kernels",),
    ("neighbours",),
    ("families",),
    ("validation",),
    ("geo",),
    ("sources",),
    ("frequencies",),
    ("features",),
    ("moments",),
    ("solvers",),
    ("posterior",),
    ("inference",),
    ("layout",),
    ("estimators",),
    ("diagnostics",),
    ("maps",),
    ("report",),
    ("demo",),
    ("studio",),
    ("paper",),
    ("cli",),
    ("__main__",),
)
FLOOR = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}

# The same within two rooms: the story of a fit, and that of a map. Their `__init__` shows what is in them.
INNER_FLOORS = {
    "inference": (
        ("observed",),
        ("fits",),
        ("schemes",),
        ("learning",),
        ("curvature", "fit_checks"),
        ("model",),
        ("chunked",),
    ),
    "maps": (
        ("limits",),
        ("mappable",),
        ("grids",),
        ("files",),
        ("lazy_maps",),
        ("filling", "grid_maps", "hot_places", "rows_within"),
        ("aggregation",),
        ("plots",),
    ),
}

# `from bochner import SpatialRegressor` is for users, and for the two rooms that write as users do.
FACE = "the public face"
WRITES_AS_USER = {"cli", "paper"}

# Families are known by their traits. The paper is about some of them; the other room is to be taken off.
NAMES_FAMILIES = {"inference", "paper"}
CONCRETE = {
    f"bochner.families.{name}" for name in ("Gaussian", "Bernoulli", "Binomial", "Poisson", "NegativeBinomial", "Gamma")
}

# Imported by the function that needs them, so that `import bochner` stays quick and installs stay small.
HEAVY = {
    *("dask", "distributed", "torch", "jax", "jax_finufft", "finufft", "ducc0", "numba"),
    *("pandas", "polars", "pyarrow", "geopandas", "pyogrio", "pyproj", "shapely", "rasterio"),
    *("xarray", "rioxarray", "zarr", "h5netcdf", "matplotlib", "formulaic", "statsmodels"),
    *("fastapi", "starlette", "uvicorn"),
}
TERMINAL = {"rich", "typer"}
IMPORTED_LATE = {
    "bochner.neighbours.compiled_loops",
    "bochner.studio.server",
}  # as a whole, by the function that needs it

# Rooms that ask an estimator, a fitted value or a model for what they need, and code outside the package that does.
ASKING_ROOMS = {"diagnostics", "maps", "report", "demo", "studio", "paper", "cli"}
ASKING_FOLDERS = ("benchmarks", "docs", "tests")

# A file is found by its name alone; these stand for their room. Exhibits and commands are named by what they show.
COMMON_NAMES = {"__init__", "base", "limits"}
NAMED_BY_WHAT_THEY_SHOW = {"paper", "cli"}

# Thresholds stand in the table of their room. What these hold are none: formats, units, exit codes, the shape of the
# Earth, nodes of a quadrature, sizes of a drawing. Exhibits and the demo have numbers of their own; `resources` is a
# table itself.
NO_THRESHOLDS = {
    *("archive", "cli", "demo", "families", "paper", "resources"),
    *(
        "geo.earth",
        "kernels.bessel",
        "kernels.matern",
        "kernels.radial_table",
        "nufft.kaiser_bessel",
        "report.colours",
        "report.raster",
    ),
    *("report.svg", "frequencies.structured.RADIX", "nufft.checks.FINEST"),
    *("diagnostics.diagnostics.QUANTILES", "validation.transforms.LEVELS"),
}
OWN_NUMBERS = {"demo", "paper"}
ATTRIBUTE_CALLS = {"getattr", "hasattr", "setattr", "delattr"}

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
PATHS = sorted((SOURCE / "bochner").rglob("*.py"))
GENERATED = {"_build", "auto_gallery", "generated"}
ASKING = [path for path in PATHS if path.relative_to(SOURCE / "bochner").parts[0] in ASKING_ROOMS] + sorted(
    path for folder in ASKING_FOLDERS for path in (ROOT / folder).rglob("*.py") if not GENERATED & set(path.parts)
)


@pytest.fixture(autouse=True, scope="module")
def forgets_trees() -> Iterator[None]:
    """A million nodes would slow down the collection of garbage in the tests that follow."""
    yield
    parsed.cache_clear()
    nodes_of.cache_clear()


Law = Callable[[Path], None]


def holds_for(paths: list[Path]) -> Callable[[Law], Callable[[], None]]:
    """One test of all files, which lists every one that breaks the law: a test each would be thousands."""

    def decorate(law: Law) -> Callable[[], None]:
        def test() -> None:
            broken = [told for path in paths if (told := what_breaks(law, path))]
            assert not broken, "\n" + "\n".join(broken)

        test.__name__, test.__doc__ = law.__name__, law.__doc__
        return test

    return decorate


def what_breaks(law: Law, path: Path) -> str:
    """What a law has to say against a file, with its name; nothing where it holds."""
    try:
        law(path)
    except AssertionError as error:
        return f"{path.relative_to(ROOT)}: {str(error).splitlines()[0]}"
    return ""


every_module = holds_for(PATHS)


@every_module
def test_imports_point_down_the_floors(path: Path) -> None:
    """A room imports only rooms listed before it; imports for type checking count too."""
    room = room_of(module_name(path))
    if room is None:  # bochner/__init__.py shows every room, bochner/_version.py is seen by every room
        return
    assert room in FLOOR, f"{room} has no floor: give it one in FLOORS and in ARCHITECTURE.md"
    wrong = [target for target in rooms_imported(path) if not may_import(room, target)]
    assert not wrong, f"{room} must not import {', '.join(wrong)}"


@every_module
def test_imports_point_down_the_floors_within_a_room(path: Path) -> None:
    """The same for the files of a room that has floors of its own."""
    room, part = parts_of(module_name(path))
    if room not in INNER_FLOORS or part is None:
        return
    floor = {name: height for height, names in enumerate(INNER_FLOORS[room]) for name in names}
    assert part in floor, f"{room}.{part} has no floor: give it one in INNER_FLOORS"
    targets = {parts_of(name) for name in modules_imported(path)}
    inside = sorted({target for where, target in targets if where == room and target is not None})
    wrong = [target for target in inside if target != part and floor[target] >= floor[part]]
    assert not wrong, f"{room}.{part} must not import {', '.join(wrong)} of its room"


def test_files_do_not_import_each_other_in_circles() -> None:
    """The import graph of all files is a hierarchy; late imports and those for type checking count too."""
    found = circles({module_name(path): modules_imported(path) for path in PATHS})
    told = [sorted(circle) for circle in found]
    assert not told, f"circles of imports: {told}; move what both ends need to a file below them"


@holds_for(ASKING)
def test_private_means_private(path: Path) -> None:
    """Whoever asks a model for something uses public names: no attribute of another object is private."""
    found = private_reads(parsed(path))
    assert not found, f"reads private attributes: {found}; ask for a public method, or add one"


def test_names_of_files_are_unique() -> None:
    """A file of the library is found by its name alone, whatever its room."""
    rooms: dict[str, list[str]] = {}
    for path in PATHS:
        if room_of(module_name(path)) not in NAMED_BY_WHAT_THEY_SHOW and path.stem not in COMMON_NAMES:
            rooms.setdefault(path.stem, []).append(str(path.relative_to(SOURCE)))
    twice = {name: paths for name, paths in rooms.items() if len(paths) > 1}
    assert not twice, f"files of one name: {twice}; name one of them after what is its own"


@every_module
def test_numbers_say_what_they_mean(path: Path) -> None:
    """A number with a name has its unit and meaning on its line, or a row in the `limits.py` of its room."""
    module = module_name(path).removeprefix("bochner.")
    if path.stem == "limits":
        table = ast.get_docstring(parsed(path)) or ""
        untold = [name for name in numbers_in(parsed(path)) if not re.search(rf"^`?{name}\b", table, re.MULTILINE)]
        assert not untold, f"{untold} have no row in the table"
        return
    told = set(re.findall(r"^([A-Z][A-Z_0-9]*)\b.*  # \S", path.read_text(encoding="utf-8"), re.MULTILINE))
    apart = [name for name in numbers_in(parsed(path)) if not is_private(name) and not is_exempt(f"{module}.{name}")]
    untold = sorted(set(apart) - told)
    assert not untold, f"{untold}: say on the line what each is, and in which unit"


def test_a_name_has_one_value() -> None:
    """No two tables of limits mean different numbers by one name."""
    found: dict[str, dict[str, list[str]]] = {}
    for path in PATHS:
        if path.stem == "limits" and room_of(module_name(path)) not in OWN_NUMBERS:
            for name, value in numbers_in(parsed(path)).items():
                found.setdefault(name.strip("_"), {}).setdefault(value, []).append(str(path.relative_to(SOURCE)))
    twice = {name: values for name, values in found.items() if len(values) > 1}
    assert not twice, f"names with several values: {twice}"


@every_module
def test_nobody_counts_the_calls_above(path: Path) -> None:
    """Warnings point at the user's line by `exceptions.warn`, which looks for it."""
    if module_name(path) == "bochner.exceptions":
        return
    lines = [node.value.lineno for node in nodes_of(path) if isinstance(node, ast.keyword) and node.arg == "stacklevel"]
    assert not lines, f"stacklevel= on lines {lines}: use exceptions.warn"


@every_module
def test_heavy_libraries_are_imported_where_they_are_needed(path: Path) -> None:
    """No module pays for a large or optional library before a function asks for it."""
    if module_name(path) in IMPORTED_LATE:
        return
    late = HEAVY if room_of(module_name(path)) == "cli" else HEAVY | TERMINAL
    early = {name.split(".")[0] for name in imports(path, run_at_import(parsed(path)))} & late
    assert not early, f"import {', '.join(sorted(early))} inside the function that needs it"


@every_module
def test_a_family_is_asked_what_it_is(path: Path) -> None:
    """No room but their own names a concrete family or compares the name of a link: traits say what matters."""
    if room_of(module_name(path)) in {"families", *NAMES_FAMILIES}:
        return
    named = {name for name in imports(path, nodes_of(path)) if name in CONCRETE}
    compared = [
        node.lineno
        for node in nodes_of(path)
        if isinstance(node, ast.Compare)
        and any(is_name_of_family(operand) for operand in (node.left, *node.comparators))
    ]
    assert not named and not compared, f"names {sorted(named)}, compares names on lines {compared}: ask for a trait"


@every_module
def test_file_is_named_after_one_noun(path: Path) -> None:
    """No attic: what has no better name than `utils` belongs elsewhere."""
    attics = {"utils", "util", "helpers", "helper", "common", "misc"}
    names = {part.strip("_") for part in path.relative_to(SOURCE).with_suffix("").parts}
    assert not names & attics, f"is named {names & attics}"


@every_module
def test_first_line_says_what_the_file_is(path: Path) -> None:
    """A module begins with its docstring, and that with a sentence."""
    docstring = ast.get_docstring(parsed(path)) or ""
    assert docstring.split("\n")[0].strip(), "the module has no docstring"
    assert path.read_text(encoding="utf-8").lstrip("r").startswith('"""'), "the docstring is not on the first line"


@every_module
def test_library_does_not_print(path: Path) -> None:
    """Only the command line speaks to the terminal; the library logs."""
    if room_of(module_name(path)) == "cli":
        return
    lines = [
        node.lineno
        for node in nodes_of(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not lines, f"print( on lines {lines}: use logging"


@pytest.mark.parametrize(
    "use",
    [
        pytest.param("", id="import"),
        pytest.param("[getattr(bochner, name) for name in getattr(bochner, '__all__', ())]", id="every public name"),
    ],
)
def test_import_loads_nothing_heavy(use: str) -> None:
    """A fresh interpreter that imports bochner has loaded no heavy library that scikit-learn does not load itself."""
    # from 1.9 on, scikit-learn imports pandas, pyarrow and rich where they are installed
    own = libraries_loaded_by(f"import bochner\n{use}") - libraries_loaded_by("import sklearn.model_selection")
    assert not own & (HEAVY | TERMINAL)


@pytest.mark.parametrize(
    ("module", "code", "rooms"),
    [
        ("bochner.kernels.sum", "import bochner.frequencies.rule", {"frequencies"}),
        ("bochner.kernels.sum", "from bochner.features import dense", {"features"}),
        ("bochner.kernels.sum", "from bochner import features, load", {"features", FACE}),
        ("bochner.kernels.sum", "from .matern import Matern", {"kernels"}),
        ("bochner.kernels.sum", "from .. import solvers", {"solvers"}),
        ("bochner.kernels.sum", "from ..moments.dense import Dense", {"moments"}),
        ("bochner.kernels", "from . import matern", {"kernels"}),
        ("bochner.archive", "from . import estimators", {"estimators"}),
        ("bochner.archive", "from bochner._version import __version__", set()),
        ("bochner.archive", "def late():\n    from bochner import maps", {"maps"}),
        ("bochner.archive", "if TYPE_CHECKING:\n    from bochner.maps import Map", {"maps"}),
        ("bochner.archive", "import numpy.random, random", set()),
    ],
)
def test_every_way_to_import_is_seen(module: str, code: str, rooms: set[str]) -> None:
    """The reader of imports above finds absolute, relative, late and type-checking imports."""
    found = imported_names(module, module == "bochner.kernels", ast.walk(ast.parse(code)))
    assert {target for target in map(target_room, found) if target} == rooms


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("model._law(rows)", ["model._law"]),
        ("model.fitted_._cache", ["model.fitted_._cache"]),
        ("getattr(model, '_columns', None)", ["getattr(model, '_columns', None)"]),
        ("setattr(model, '_columns', 1)", ["setattr(model, '_columns', 1)"]),
        ("model.__class__, model.fitted_, bochner._version", []),
        ("import tiles\ntiles._nodes()", []),
        ("from bochner.maps.grids import tiles\ntiles._nodes()", []),
        ("class A:\n    def f(self):\n        return self._x, self._x._y", ["self._x._y"]),
        ("class A:\n    _x: int = 0\nA()._x", []),
    ],
)
def test_every_private_read_is_seen(code: str, found: list[str]) -> None:
    """The reader of private attributes above: what is one's own, or a module's, is no read."""
    assert private_reads(ast.parse(code)) == found


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"a"}, "c": {"a"}}, [{"a", "b"}]),
        ({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}}, [{"a", "b", "c"}, {"d", "e"}]),
    ],
)
def test_circles_are_found(graph: dict[str, set[str]], expected: list[set[str]]) -> None:
    """The finder of circles above tells those who reach each other from those who are reached."""
    assert circles(graph) == expected


@cache
def libraries_loaded_by(program: str) -> set[str]:
    """Top-level names in `sys.modules` after a program has run in an interpreter of its own."""
    path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH")]))
    result = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport json, sys\nprint(json.dumps(list(sys.modules)))"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return {name.split(".")[0] for name in json.loads(result.stdout)}


def may_import(room: str, target: str) -> bool:
    """Whether `room` may import `target`."""
    if target == FACE:
        return room in WRITES_AS_USER
    return target == room or FLOOR[target] < FLOOR[room]


def rooms_imported(path: Path) -> list[str]:
    """Rooms that a file imports anywhere: at the top, in a function, for type checking."""
    return sorted({room for room in map(target_room, imports(path, nodes_of(path))) if room})


def private_reads(tree: ast.Module) -> list[str]:
    """Reads of private attributes that are not one's own: of self, of cls, of an imported module, or of this file."""
    nodes = list(ast.walk(tree))
    imported = {
        (alias.asname or alias.name).split(".")[0]
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    own = {"self", "cls", "bochner", *imported}
    here = {node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    here |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    found = []
    for node in nodes:
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in here:
            if not (isinstance(node.value, ast.Name) and node.value.id in own):
                found.append(ast.unparse(node))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ATTRIBUTE_CALLS:
            name = node.args[1] if len(node.args) > 1 else None
            if isinstance(name, ast.Constant) and is_private(str(name.value)) and ast.unparse(node.args[0]) not in own:
                found.append(ast.unparse(node))
    return found


def is_private(name: str) -> bool:
    """Whether a name begins with one underscore."""
    return name.startswith("_") and not name.startswith("__")


def is_exempt(name: str) -> bool:
    """Whether a dotted name lies in what holds no thresholds."""
    parts = name.split(".")
    return any(".".join(parts[:i]) in NO_THRESHOLDS for i in range(1, len(parts) + 1))


def numbers_in(tree: ast.Module) -> dict[str, str]:
    """Names in capitals that a module gives to numbers, or to tuples of them, with their values as written."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=False))  # `*rest` may take several
            found |= {ast.unparse(t): ast.unparse(v) for t, v in pairs if ast.unparse(t).isupper() and is_number(v)}
    return found


def is_number(node: ast.AST) -> bool:
    """Whether an expression is a number, arithmetic with numbers, or a tuple or a mapping of them."""
    match node:
        case ast.Constant(value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ast.UnaryOp(operand=operand):
            return is_number(operand)
        case ast.BinOp(left=left, right=right):
            return is_number(left) and is_number(right)
        case ast.Tuple(elts) | ast.Dict(values=elts):
            return bool(elts) and all(map(is_number, elts))
    return False


def is_name_of_family(node: ast.AST) -> bool:
    """Whether an expression is the name of a family or of its link."""
    return isinstance(node, ast.Attribute) and (
        node.attr == "link" or (node.attr == "name" and ast.unparse(node.value).endswith("family"))
    )


@cache
def every_name() -> set[str]:
    """Dotted names of all source files."""
    return {module_name(path) for path in PATHS}


@cache
def modules_imported(path: Path) -> set[str]:
    """Files of bochner that a file imports anywhere, itself left out."""
    names = every_name()
    found = set()
    for name in imports(path, nodes_of(path)):
        while name and name not in names:  # what is imported may be a name in a module
            name = name.rpartition(".")[0]
        found.add(name)
    return found - {"", module_name(path)}


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Groups of nodes that all reach each other, in the order of the graph."""
    reached = {node: reachable(graph, node) for node in graph}
    groups: list[set[str]] = []
    for node in graph:
        group = {other for other in reached[node] if node in reached[other]}
        if group and group not in groups:
            groups.append(group)
    return groups


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    """Nodes that can be reached from one, itself only if there is a way back."""
    seen: set[str] = set()
    ahead = [start]
    while ahead:
        new = graph[ahead.pop()] - seen
        seen |= new
        ahead += new
    return seen


def target_room(name: str) -> str | None:
    """Room that an imported name belongs to; None outside bochner and for its version."""
    package, _, rest = name.partition(".")
    if package != "bochner" or rest.startswith("_version"):
        return None
    room = rest.split(".")[0]
    return room if room in FLOOR else FACE


def imports(path: Path, nodes: Iterable[ast.AST]) -> set[str]:
    """Dotted names imported by some nodes of a file."""
    return imported_names(module_name(path), path.name == "__init__.py", nodes)


def imported_names(module: str, is_package: bool, nodes: Iterable[ast.AST]) -> set[str]:
    """Dotted names imported by some nodes of a module, relative ones made absolute."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = module.split(".")[: len(module.split(".")) - node.level + is_package] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            names |= {f"{base}.{alias.name}" for alias in node.names}
    return names


def run_at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes that run when the module is imported: not function bodies, not type-checking blocks."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from run_at_import(child)


def parts_of(module: str) -> tuple[str | None, str | None]:
    """Room of a module, and the file or folder within it; None for what stands for the whole."""
    _, room, part, *_ = [*module.split("."), "", ""]
    return room or None, part or None


def room_of(module: str) -> str | None:
    """Room of a module of bochner; None for the package itself and its version."""
    room = module.partition(".")[2].split(".")[0]
    return None if room in {"", "_version"} else room


@cache
def module_name(path: Path) -> str:
    """Dotted name of a source file."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def parsed(path: Path) -> ast.Module:
    """Syntax tree of a source file."""
    gc.disable()  # it would look through all trees again and again, for six times as long as parsing takes
    try:
        return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    finally:
        gc.enable()


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Every node of the syntax tree of a source file."""
    return tuple(ast.walk(parsed(path)))
