"""Model files: the same bits back, nothing executed, nothing half-written, nothing foreign read."""

from __future__ import annotations

import io
import json
import os
import pickle
import warnings
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import KFold

from bochner import SpatialRegressor, archive, load
from bochner.exceptions import ArchiveError, CheckWarning, CollinearityWarning, InputError
from bochner.kernels import Laplacian, Matern, Polynomial, RationalQuadratic, SquaredExponential
from tests.estimators.fields import KINDS, field, new_places

every_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())


def same_bits(a: SpatialRegressor, b: SpatialRegressor, new: np.ndarray) -> None:
    for x, y in zip(a.predict(new, return_std=True), b.predict(new, return_std=True), strict=True):
        assert_array_equal(x, y)
    for x, y in zip(a.predict(new, return_cov=True), b.predict(new, return_cov=True), strict=True):
        assert_array_equal(x, y)
    assert_array_equal(a.predict_interval(new, include_noise=True), b.predict_interval(new, include_noise=True))
    assert_array_equal(a.predict_exceedance(new, 1.0), b.predict_exceedance(new, 1.0))
    assert_array_equal(a.sample_y(new, 3, random_state=1), b.sample_y(new, 3, random_state=1))


@every_kind
def test_loaded_models_predict_the_same_bits(make, tmp_path):
    X, y = field()
    model = make(covariates=[2]).fit(np.column_stack([X, np.cos(9 * y)]), y)
    path = tmp_path / "model.bochner"
    model.save(path)
    again = load(path)
    same_bits(model, again, np.column_stack([new_places(), np.linspace(-1, 1, 20)]))
    assert again.kernel_ == model.kernel_ and again.choices_ == model.choices_
    assert_array_equal(again.coef_, model.coef_)
    assert again.summary() == model.summary()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CheckWarning)
        assert again.check() == model.check()
    assert again.get_params() == model.get_params()
    for name in ("intercept_", "noise_variance_", "log_evidence_", "log_likelihood_", "n_frequencies_"):
        np.testing.assert_equal(getattr(again, name), getattr(model, name))


def test_a_file_holds_what_the_fit_warned_of_and_what_its_rows_said(tmp_path):
    """Collinear covariates are warned of by fit, few counts by the checks that need the training rows."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 100, (61, 2))
    trials = rng.integers(20, 60, 61)
    positive = rng.binomial(trials, 1 / (1 + np.exp(-np.sin(X[:, 0] / 15))))
    table = np.column_stack([X, X[:, 0], 2 * X[:, 0]])
    model = SpatialRegressor(Matern(20.0), family="binomial", covariates=[2, 3])
    with pytest.warns(CollinearityWarning, match="collinear"):
        model.fit(table, positive, trials=trials)
    model.save(tmp_path / "model.bochner")  # without check() before
    again = load(tmp_path / "model.bochner")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CheckWarning)
        found = again.check()
        assert found == model.check() and len(found) == len(set(found))
    assert any("collinear" in one for one in found)
    assert any("61 rows of binomial responses say little" in one for one in found)


@pytest.mark.parametrize(
    "kernel",
    [
        Matern((0.4, 0.5), nu=0.7),
        Matern((0.4, 0.9), rotation=0.5),
        SquaredExponential() * Laplacian() + RationalQuadratic(0.3),
        Polynomial(degree=3),
    ],
)
def test_every_kernel_is_kept(kernel, tmp_path):
    X, y = field()
    model = SpatialRegressor(kernel, noise_variance=0.1, tune=None).fit(X, y)
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").kernel_ == kernel
    same_bits(model, load(tmp_path / "m"), new_places())


def test_saved_twice_is_the_same_model(tmp_path):
    X, y = field()
    model = KINDS["nystroem"]().fit(X, y)
    model.save(tmp_path / "a")
    load(tmp_path / "a").save(tmp_path / "b")
    same_bits(model, load(tmp_path / "b"), new_places())


def test_column_names_are_kept(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = field()
    frame = pd.DataFrame(X, columns=["lon", "lat"]).assign(name="a village", height=np.cos(y))
    for columns in (["lon", "lat"], frame.columns[:2], np.array(["lon", "lat"]), ("lon", "lat")):
        model = SpatialRegressor(Matern(0.4), coords=columns, covariates="height", tune=None).fit(frame, y)
        model.save(tmp_path / "m")
        again = load(tmp_path / "m")
        assert list(again.feature_names_in_) == ["lon", "lat", "height"]
        assert_array_equal(again.predict(frame), model.predict(frame))


def test_parameters_that_are_no_plain_values_are_kept_as_text(tmp_path):
    X, y = field()
    model = SpatialRegressor(Matern(), tune=KFold(3), random_state=np.random.RandomState(0)).fit(X, y)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.tune == repr(KFold(3))
    assert_array_equal(again.predict(X), model.predict(X))


def test_loaded_models_hold_no_training_response(tmp_path):
    X, y = field()
    KINDS["primal"]().fit(X, y).save(tmp_path / "m")
    with pytest.raises(InputError, match="needs the training rows"):
        load(tmp_path / "m").cross_validate()
    with zipfile.ZipFile(tmp_path / "m") as file:
        shapes = [np.load(io.BytesIO(file.read(n))).shape for n in file.namelist() if n.endswith(".npy")]
    assert not [shape for shape in shapes if shape and shape[0] == len(y)]  # no array has a row per observation


def test_files_are_read_without_pickle(tmp_path):
    """Nothing in a file is executed: an array of objects is refused, and no class is built that is not ours."""

    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "exploded"),)

    X, y = field()
    KINDS["exact"]().fit(X, y).save(tmp_path / "m")
    buffer = io.BytesIO()
    np.save(buffer, np.array([Bomb()], dtype=object), allow_pickle=True)
    rewrite(tmp_path / "m", tmp_path / "bad", arrays={"a0": buffer.getvalue()}, rehash=True)
    with pytest.raises(ArchiveError):
        load(tmp_path / "bad")
    (tmp_path / "pickled").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ArchiveError, match="not a complete bochner model"):
        load(tmp_path / "pickled")
    assert not (tmp_path / "exploded").exists()


def rewrite(source, target, arrays=None, rehash=False, change=None) -> None:
    """Copy of a model file with arrays replaced and the manifest changed."""
    import hashlib

    with zipfile.ZipFile(source) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    manifest = json.loads(parts["manifest.json"])
    for name, data in (arrays or {}).items():
        parts[f"{name}.npy"] = data
        if rehash:
            manifest["hashes"][name] = hashlib.sha256(data).hexdigest()
    if change is not None:
        manifest = change(manifest)
    parts["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(target, "w") as file:
        for name, data in parts.items():
            file.writestr(name, data)


@pytest.fixture
def saved(tmp_path):
    X, y = field(20)
    KINDS["exact"]().fit(X, y).save(tmp_path / "m")
    return tmp_path / "m"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: {**m, "format": archive.FORMAT + 1}, r"reads up to format \d+. Upgrade bochner"),
        (lambda m: {**m, "kind": "moments"}, "holds a 'moments'; needed is a bochner model"),
        (lambda m: {**m, "library": "other"}, "needed is a bochner model"),
        (lambda m: {k: v for k, v in m.items() if k != "state"}, "not a complete bochner model"),
        (lambda m: {k: v for k, v in m.items() if k != "hashes"}, "not a complete bochner model"),
        (lambda m: {**m, "state": {"class": "Popen", "fields": {"args": "ls"}}}, "does not know"),
        (lambda m: {**m, "state": {"class": "Matern", "fields": {"colour": 3}}}, "not a complete bochner model"),
        (lambda m: {**m, "state": {"map": {}}}, "not a complete bochner model"),
        (lambda m: [1, 2, 3], "not a complete bochner model"),
    ],
)
def test_foreign_newer_and_broken_manifests_are_refused(change, message, saved, tmp_path):
    rewrite(saved, tmp_path / "bad", change=change)
    with pytest.raises(ArchiveError, match=message):
        load(tmp_path / "bad")


def test_altered_arrays_are_refused(saved, tmp_path):
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    rewrite(saved, tmp_path / "bad", arrays={"a0": buffer.getvalue()})
    with pytest.raises(ArchiveError, match="does not match its hash"):
        load(tmp_path / "bad")


@pytest.mark.parametrize("content", [b"", b"PK", b"not a model", b"\x00" * 1000])
def test_files_that_are_no_archive_are_refused(content, tmp_path):
    (tmp_path / "bad").write_bytes(content)
    with pytest.raises(ArchiveError, match="not a complete bochner model file"):
        load(tmp_path / "bad")


def test_other_zip_files_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", x=np.ones(3))
    with pytest.raises(ArchiveError, match="not a complete bochner model file"):
        load(tmp_path / "other.npz")


def test_missing_files_are_python_s_own_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")


def test_damage_anywhere_is_noticed(saved, tmp_path):
    """A byte changed anywhere, or the end cut off, gives an ArchiveError or the same model, never another one."""
    data, new = saved.read_bytes(), new_places()
    expected = load(saved).predict(new)
    rng = np.random.default_rng(0)
    for position in rng.integers(len(data), size=150):
        bad = bytearray(data)
        bad[position] ^= 1 << rng.integers(8)
        (tmp_path / "bad").write_bytes(bad)
        try:
            found = load(tmp_path / "bad").predict(new)
        except ArchiveError:
            continue
        assert_array_equal(found, expected)
    for end in rng.integers(len(data) - 1, size=20):
        (tmp_path / "bad").write_bytes(data[:end])
        with pytest.raises(ArchiveError):
            load(tmp_path / "bad")


def test_a_failed_save_leaves_the_old_file_and_nothing_else(saved, monkeypatch):
    before = saved.read_bytes()
    model = load(saved)

    def full(*args, **kwargs):
        raise OSError("No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(OSError, match="No space left"):
        model.save(saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_values_that_the_format_does_not_know_are_refused(tmp_path):
    with pytest.raises(ArchiveError, match="a set cannot be saved"):
        archive.write(tmp_path / "x", "test", {"value": {1, 2}})
    assert not list(tmp_path.iterdir())


def test_plain_values_come_back_as_they_were(tmp_path):
    state = {
        "text": "ü", "whole": 3, "number": 0.1, "nan": float("nan"), "infinity": -np.inf, "none": None, "yes": True,
        "list": [1, [2.5, "x"]], "tuple": (1, (2, 3)), "map": {"a": {"array": "b"}}, "empty": np.zeros((0, 3)),
        "scalar": np.array(2.0), "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "type": np.float32,
        "words": np.array(["a", "bc"]), "integers": np.arange(3), "numpy": np.float64(0.1),
    }  # fmt: skip
    archive.write(tmp_path / "x", "test", state)
    again = archive.read(tmp_path / "x", "test")
    np.testing.assert_equal(again, state)
    assert again["fortran"].flags.f_contiguous and again["scalar"].shape == ()
    assert again["type"] is np.float32 and isinstance(again["tuple"], tuple)
