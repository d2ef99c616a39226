"""Forged model files: whatever a file says, loading it takes no more than the file, and gives a model or an error."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import resource
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from bochner import SpatialRegressor, load
from bochner.diagnostics import diagnostics_of, remember
from bochner.exceptions import ArchiveError, BochnerError
from bochner.kernels import Matern
from tests.estimators.fields import KINDS, field, new_places
from tests.estimators.test_storage import rewrite
from tests.fuzz.forgeries import Opened, some_forgery
from tests.fuzz.model_doors import answers, models


@pytest.fixture
def saved(tmp_path):
    X, y = field(20)
    KINDS["exact"](covariates=[2]).fit(np.column_stack([X, np.cos(9 * y)]), y).save(tmp_path / "m")
    return tmp_path / "m"


def npy(array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def arrays_of(path) -> dict[str, np.ndarray]:
    with zipfile.ZipFile(path) as file:
        names = [name for name in file.namelist() if name.endswith(".npy")]
        return {name[:-4]: np.load(io.BytesIO(file.read(name))) for name in names}


@pytest.mark.parametrize("version", [0, -5, 1.5, True, None, "2", [2]])
def test_formats_that_never_were_are_refused(version, saved, tmp_path):
    rewrite(saved, tmp_path / "bad", change=lambda m: {**m, "format": version})
    with pytest.raises(ArchiveError, match="there are formats 1 to"):
        load(tmp_path / "bad")


def test_a_compressed_manifest_is_not_unpacked(saved, tmp_path):
    """80 MB of blanks in a file of 80 kB: refused before they are read."""
    with zipfile.ZipFile(saved) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED) as file:
        with file.open("manifest.json", "w", force_zip64=True) as entry:
            for _ in range(8):
                entry.write(b" " * 10_000_000)
        for name in parts:
            if name != "manifest.json":
                file.writestr(name, parts[name])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ArchiveError, match="compressed or encrypted"):
        load(tmp_path / "bomb")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000  # kB


def test_a_manifest_that_is_too_long_is_not_read(saved, tmp_path, monkeypatch):
    monkeypatch.setattr("bochner.archive.bounded.MAX_MANIFEST", 1000)
    with pytest.raises(ArchiveError, match=r"has a manifest of [0-9,]+ bytes; up to 1,000"):
        load(saved)


@pytest.mark.parametrize(
    ("shape", "of"),
    [
        *(((10**13,), "<f8"), ((10**6, 10**6), "<f8"), ((3,), "<f8"), ((0, 2**40), "<f8"), ((-3, -1), "<f8")),
        *(((10**9,), "<U0"), ((10**9,), "|S0")),
    ],
)
def test_an_array_is_as_large_as_it_says(shape, of, saved, tmp_path):
    """Numpy would make room for what a header tells of before it looks for the data."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": of, "fortran_order": False, "shape": shape})
    rewrite(saved, tmp_path / "bad", arrays={"a0": buffer.getvalue()}, rehash=True)
    with pytest.raises(ArchiveError, match="not as large as it says"):
        load(tmp_path / "bad")


def test_entries_that_share_their_bytes_are_refused(saved, tmp_path):
    """Twice the same name, or more than the file can hold."""
    with zipfile.ZipFile(saved) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(tmp_path / "bad", "w") as file:
        for name, data in [*parts.items(), ("a0.npy", parts["a0.npy"])]:
            file.writestr(name, data)
    with pytest.raises(ArchiveError, match="too many or some twice"):
        load(tmp_path / "bad")


def test_deep_manifests_are_refused(saved, tmp_path):
    rewrite(saved, tmp_path / "bad", change=lambda m: {**m, "state": json.loads("[" * 900 + "]" * 900)})
    with pytest.raises(ArchiveError):
        load(tmp_path / "bad")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders there")
def test_pipes_devices_and_folders_are_refused(tmp_path):
    """At once: a pipe that nobody writes to would be waited for, and /dev/zero never ends."""
    os.mkfifo(tmp_path / "pipe")
    for path, word in ((tmp_path / "pipe", "pipe"), ("/dev/zero", "device"), (tmp_path, "folder")):
        with pytest.raises(ArchiveError, match=word):
            load(path)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_no_array_holds_what_is_no_number(value, saved, tmp_path):
    for name, array in arrays_of(saved).items():
        if array.dtype.kind == "f" and array.size:
            bad = np.array(array)
            bad.flat[-1] = value
            rewrite(saved, tmp_path / "bad", arrays={name: npy(bad)}, rehash=True)
            with pytest.raises(ArchiveError, match=f"NaN or infinite values in its array {name}; fit the model again"):
                load(tmp_path / "bad")


@pytest.mark.parametrize("change", [lambda a: a[..., :-1], lambda a: a[None], lambda a: np.concatenate([a, a])])
def test_arrays_of_wrong_shape_are_told_when_loading(change, saved, tmp_path):
    """Or make no difference: never a raw error, and never at the first prediction."""
    new, n_refused = np.column_stack([new_places(5), np.zeros(5)]), 0
    for name, array in arrays_of(saved).items():
        if array.ndim == 0:
            continue
        rewrite(saved, tmp_path / "bad", arrays={name: npy(change(array))}, rehash=True)
        try:
            model = load(tmp_path / "bad")
        except ArchiveError:
            n_refused += 1
            continue
        assert np.isfinite(model.predict(new)).all()
    assert n_refused > 0


def test_fields_have_the_types_that_they_are_declared_with(saved, tmp_path):
    def forged(manifest):
        manifest["state"]["map"]["fitted"]["fields"]["layout"]["fields"]["centre"] = "hello"
        return manifest

    rewrite(saved, tmp_path / "bad", change=forged)
    with pytest.raises(ArchiveError, match="its Layout has a str for the field 'centre', which should be"):
        load(tmp_path / "bad")


@pytest.mark.parametrize("name", ["predict", "save", "fitted_", "__class__", "_training"])
def test_files_set_no_attribute_but_the_fitted_value(name, saved, tmp_path):
    """Neither as a parameter nor beside it."""

    def in_params(manifest):
        manifest["state"]["map"]["params"]["map"][name] = "hello"
        return manifest

    def beside(manifest):
        manifest["state"]["map"][name] = "hello"
        return manifest

    rewrite(saved, tmp_path / "bad", change=in_params)
    with pytest.raises(ArchiveError, match="not a complete bochner model"):
        load(tmp_path / "bad")
    rewrite(saved, tmp_path / "odd", change=beside)
    assert callable(load(tmp_path / "odd").predict)


def test_a_file_can_be_asked_for_by_its_digest(saved, tmp_path):
    """Who forges an array forges its hash within the file, but not the digest that was told apart."""
    digest = hashlib.sha256(saved.read_bytes()).hexdigest()
    load(saved, sha256=digest.upper() + "\n")
    bad = -arrays_of(saved)["a1"]
    rewrite(saved, tmp_path / "forged", arrays={"a1": npy(bad)}, rehash=True)
    with pytest.raises(ArchiveError, match=f"is not the file that was meant: its SHA-256 is [0-9a-f]+, not {digest}"):
        load(tmp_path / "forged", sha256=digest)
    with pytest.raises(ArchiveError, match="needed are 64 hexadecimal digits"):
        load(saved, sha256="abc")


@pytest.mark.parametrize("change", [lambda a: 3 * a, lambda a: 1e300 * a, lambda a: 0 * a])
def test_masses_of_a_mixture_sum_to_one(change, saved, tmp_path):
    """Arrays of one number are masses and noise variances: a file whose masses are others is refused."""
    arrays = arrays_of(saved)
    masses = [name for name, array in arrays.items() if array.shape == (1,) and array[0] == 1.0]
    assert masses
    for name in masses:
        rewrite(saved, tmp_path / "bad", arrays={name: npy(change(arrays[name]))}, rehash=True)
        with pytest.raises(ArchiveError):
            load(tmp_path / "bad").predict(np.column_stack([new_places(), np.zeros(len(new_places()))]))


def _with(name, value):
    """A change of one field of the state of a manifest."""

    def change(manifest):
        manifest["state"]["map"][name] = value
        return manifest

    return change


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_features_in_", "hello"), ("n_features_in_", -1), ("n_features_in_", True), ("feature_names_in_", 5)],
)
def test_a_table_that_never_was_is_refused(name, value, saved, tmp_path):
    rewrite(saved, tmp_path / "bad", change=_with(name, value))
    with pytest.raises(ArchiveError, match="columns"):
        load(tmp_path / "bad")


def test_columns_that_are_not_there_are_refused(saved, tmp_path):
    def change(manifest):
        columns = manifest["state"]["map"]["fitted"]["fields"]["layout"]["fields"]["columns"]["fields"]["coords"]
        columns["tuple"][1] = 99
        return manifest

    rewrite(saved, tmp_path / "bad", change=change)
    with pytest.raises(ArchiveError, match="not among its"):
        load(tmp_path / "bad")


def test_a_negative_noise_variance_is_refused(saved, tmp_path):
    noise = load(saved).fitted_.model.mixture.noise_variance
    name = next(name for name, array in arrays_of(saved).items() if np.array_equal(array, noise))
    rewrite(saved, tmp_path / "bad", {name: npy(-1 - noise)}, rehash=True)
    with pytest.raises(ArchiveError, match="negative noise variance"):
        load(tmp_path / "bad")


@pytest.fixture
def on_lattice(tmp_path):
    X, y = field(20)
    SpatialRegressor(Matern(0.5), features="lattice", n_frequencies=6, tune=None).fit(X, y).save(tmp_path / "waves")
    return tmp_path / "waves"


def lattice_arrays(path) -> dict[str, str]:
    """Names of the arrays of a lattice, by its fields."""
    with zipfile.ZipFile(path) as file:
        manifest = json.loads(file.read("manifest.json"))
    posterior = manifest["state"]["map"]["fitted"]["fields"]["model"]["fields"]["mixture"]["fields"]["components"][0]
    lattice = posterior["fields"]["features"]["fields"]["frequencies"]["fields"]["lattice"]["fields"]
    return {name: part["array"] for name, part in lattice.items()}


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("index", lambda a: np.full_like(a, 2**62), "reaches beyond"),
        ("index", lambda a: np.full_like(a, -(2**63)), "reaches beyond"),
        ("index", lambda a: a + 1, "does not lie on the lattice"),
        ("index", lambda a: a[:-1], "does not lie on the lattice"),
        ("index", lambda a: a[:, :1], "positions of a lattice"),
        ("spacing", lambda a: -a, "spacing of a lattice"),
        ("spacing", lambda a: 0 * a, "spacing of a lattice"),
        ("spacing", lambda a: 2 * a, "does not lie on the lattice"),
    ],
)
def test_a_lattice_that_never_was_is_refused(name, change, told, on_lattice, tmp_path):
    """A transform of many places would make room for its grid, and take its waves to be those of the model."""
    which = lattice_arrays(on_lattice)[name]
    rewrite(on_lattice, tmp_path / "bad", {which: npy(change(arrays_of(on_lattice)[which]))}, rehash=True)
    with pytest.raises(ArchiveError, match=told):
        load(tmp_path / "bad")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("tolerance", "x"), ("tolerance", -1), ("noise_variance", "y"), ("n_frequencies", 0), ("features", 5)],
        *[("memory_limit", "much"), ("n_jobs", 0), ("device", "abacus"), ("dtype", None), ("verbose", "loud")],
        *[("family", "cauchy"), ("kernel", 5), ("tune", 5), ("random_state", -1), ("coords", {"float": "nan"})],
    ],
)
def test_parameters_are_checked_as_for_a_fit(name, value, saved, tmp_path):
    def change(manifest):
        manifest["state"]["map"]["params"]["map"][name] = value
        return manifest

    rewrite(saved, tmp_path / "bad", change=change)
    with pytest.raises(ArchiveError, match=rf"bad: {name}"):
        load(tmp_path / "bad")


@pytest.mark.parametrize(
    ("name", "value"), [("device", "cuda"), ("tune", "KFold(n_splits=3)"), ("random_state", "RandomState(MT19937)")]
)
def test_parameters_that_only_another_fit_needs_are_let_be(name, value, saved, tmp_path):
    """A device that is elsewhere; splitters and generators, which files keep as text."""

    def change(manifest):
        manifest["state"]["map"]["params"]["map"][name] = value
        return manifest

    rewrite(saved, tmp_path / "odd", change=change)
    assert getattr(load(tmp_path / "odd"), name) == value


def test_the_wrong_kind_of_a_measured_number_is_refused(saved, tmp_path):
    def change(manifest):
        manifest["state"]["map"]["fitted"]["fields"]["model"]["fields"]["spare_sd"] = "hello"
        return manifest

    rewrite(saved, tmp_path / "bad", change=change)
    with pytest.raises(ArchiveError, match="its Model has a str for the field 'spare_sd'"):
        load(tmp_path / "bad")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["lattice", "nystroem", "classifier"])
def test_forgeries_one_by_one(kind, tmp_path):
    """A sample of those of `make fuzz`: refused, or the model predicts numbers."""
    (data, places, _), rng = models()[kind], np.random.default_rng(0)
    for _ in range(40):
        (tmp_path / "forged").write_bytes(some_forgery(rng, Opened.of(data)).file())
        with contextlib.suppress(BochnerError):
            assert all(np.isfinite(part).all() for part in answers(load(tmp_path / "forged"), places))


@pytest.mark.parametrize(
    "change",
    [
        lambda d: {},
        lambda d: {**d, "n_rows": "<script>"},
        lambda d: {**d, "region": {"names": 5}},
        lambda d: {**d, "region": {**d["region"], "high": [1e300, 1e300]}},
    ],
)
def test_summaries_of_rows_that_are_none_are_told(change):
    X, y = field(60)
    model = KINDS["exact"]().fit(X, y)
    remember(model)
    model.set_fitted(replace(model.fitted_, diagnostics=change(dict(model.fitted_.diagnostics))))
    with pytest.raises(ArchiveError, match="summaries of its rows"):
        diagnostics_of(model)
