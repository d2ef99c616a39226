"""The contract of the NUFFT, on every back end that is installed, against direct sums."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from bochner import nufft
from bochner.exceptions import InputError, MemoryLimitError
from bochner.nufft.backends import ON_DEVICE
from tests.nufft.registry import SLACK, error, every_backend, every_shape, problem, waves

every_precision = pytest.mark.parametrize(
    ("dtype", "eps"),
    [
        *[(np.complex128, eps) for eps in (0.1, 1e-3, 1e-6, 1e-9, 1e-12)],
        *[(np.complex64, eps) for eps in (0.1, 1e-4, 1e-6)],
    ],
)
every_sign = pytest.mark.parametrize("sign", [-1, 1])


@every_backend
@every_shape
@every_precision
def test_types_1_and_2_are_the_direct_sums(backend, shape, dtype, eps):
    """Error within eps, in the precision of the input, modes in increasing order on the right axes."""
    coords, strengths, modes = problem(shape, dtype=dtype)
    phases = waves(coords, shape)
    spectrum = nufft.type1(coords, strengths, shape, eps=eps, backend=backend)
    values = nufft.type2(coords, modes, eps=eps, backend=backend)
    assert spectrum.dtype == values.dtype == dtype
    assert spectrum.shape == shape and values.shape == (len(coords),)
    assert error(spectrum.ravel(), phases.conj().T @ strengths.astype(complex)) < SLACK[backend] * eps
    assert error(values, phases @ modes.ravel().astype(complex)) < SLACK[backend] * eps


@every_backend
@every_precision
@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("extent", [0.02, 1.0], ids=["no full wave", "many waves"])
def test_type_3_is_the_direct_sum(backend, dim, extent, dtype, eps):
    """Any coords and any targets, neither centred."""
    rng = np.random.default_rng(dim)
    coords, strengths, _ = problem((1,) * dim, dtype=dtype)
    coords *= extent
    targets = rng.normal(1.0, 1.5, size=(45, dim))
    result = nufft.type3(coords, strengths, targets, eps=eps, backend=backend)
    assert result.dtype == dtype and result.shape == (45,)
    assert error(result, np.exp(-1j * targets @ coords.T) @ strengths.astype(complex)) < SLACK[backend] * eps


@every_backend
@every_shape
def test_a_plan_that_trusts_is_the_same_plan(backend, shape):
    coords, strengths, modes = problem(shape)
    plans = [kind(coords, shape, eps=1e-8, n_jobs=1, backend=backend) for kind in (nufft.Plan, nufft.Plan.trusting)]
    checked, trusting = ((plan.type1(strengths), plan.type2(modes)) for plan in plans)
    for one, other in zip(checked, trusting, strict=True):
        if backend == ON_DEVICE:  # which adds in the order in which it finds the time
            assert_allclose(one, other, rtol=1e-12, atol=1e-12)
        else:
            assert_array_equal(one, other)
    with pytest.raises(InputError, match="NaN or infinite"):
        nufft.Plan(np.full_like(coords, np.nan), shape, eps=1e-8, backend=backend)


@every_backend
@every_sign
def test_sign_is_the_sign_of_the_exponent(backend, sign):
    """All three types, both signs."""
    coords, strengths, modes = problem((6, 9))
    targets = np.random.default_rng(1).normal(size=(20, 2))
    phases = waves(sign * coords, (6, 9))
    options, bound = {"eps": 1e-9, "sign": sign, "backend": backend}, SLACK[backend] * 1e-9
    assert error(nufft.type1(coords, strengths, (6, 9), **options).ravel(), phases.T @ strengths) < bound
    assert error(nufft.type2(coords, modes, **options), phases @ modes.ravel()) < bound
    direct = np.exp(sign * 1j * targets @ coords.T) @ strengths
    assert error(nufft.type3(coords, strengths, targets, **options), direct) < bound


@every_backend
@every_shape
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64, np.float64, np.float32])
def test_many_vectors_are_each_vector(backend, shape, dtype):
    """A leading axis of vectors, also of length one, equals a loop over it."""
    coords, strengths, modes = problem(shape, n_vectors=3, dtype=dtype)
    plan = nufft.Plan(coords, shape, eps=1e-4, dtype=strengths.real.dtype, backend=backend)
    for n_vectors in (1, 2, 3):
        spectra, values = plan.type1(strengths[:n_vectors]), plan.type2(modes[:n_vectors])
        assert spectra.shape == (n_vectors, *shape) and values.shape == (n_vectors, len(coords))
        # the same transform twice: only rounding of the precision (float32: 60 terms of size 1) is left
        assert error(spectra, np.stack([plan.type1(row) for row in strengths[:n_vectors]])) < 1e-5
        assert error(values, np.stack([plan.type2(row) for row in modes[:n_vectors]])) < 1e-5
    targets = np.linspace(-2, 3, 30).repeat(len(shape)).reshape(30, -1)
    together = nufft.type3(coords, strengths, targets, eps=1e-4, backend=backend)
    apart = [nufft.type3(coords, row, targets, eps=1e-4, backend=backend) for row in strengths]
    # two layers of kernels enlarge the rounding of float32: the same type 3 of FINUFFT, called twice, differs by 2e-5
    assert error(together, np.stack(apart)) < (1e-5 if strengths.real.dtype == np.float64 else 1e-4)


@every_backend
@every_shape
def test_types_1_and_2_are_adjoint(backend, shape):
    """<type1 c, f> = <c, type2 f>."""
    coords, strengths, modes = problem(shape)
    left = np.vdot(nufft.type1(coords, strengths, shape, eps=1e-10, backend=backend), modes)
    right = np.vdot(strengths, nufft.type2(coords, modes, eps=1e-10, backend=backend))
    # both sides err by eps times the product of the norms
    bound = np.linalg.norm(strengths) * np.linalg.norm(modes) * np.sqrt(len(coords) * np.prod(shape))
    assert abs(left - right) < 1e-10 * bound


@every_backend
@pytest.mark.parametrize("shape", [(5,), (6,), (4, 7), (3, 6, 5)], ids=str)
def test_each_mode_stands_at_its_index(backend, shape):
    """A pure wave exp(1j j.x) on a regular grid has one mode, n, at index j + N // 2."""
    j = [(count - 1) // 2 if axis % 2 else -(count // 2) for axis, count in enumerate(shape)]
    axes = [2 * np.pi * np.arange(8) / 8] * len(shape)
    coords = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(shape))
    spectrum = nufft.type1(coords, np.exp(1j * coords @ j), shape, eps=1e-10, backend=backend)
    expected = np.zeros(shape)
    expected[tuple(k + count // 2 for k, count in zip(j, shape, strict=True))] = len(coords)
    assert_allclose(spectrum, expected, atol=1e-8)


@every_backend
@pytest.mark.parametrize(("dtype", "eps"), [(np.complex128, 1e-9), (np.complex64, 1e-6)])
def test_coords_are_wrapped_in_float64(backend, dtype, eps):
    """Places a thousand periods away are the same places, also in float32."""
    coords, strengths, modes = problem((10, 11), dtype=dtype)
    far = coords + 2 * np.pi * np.array([1000, -777])
    phases = waves(coords, (10, 11))
    spectrum = nufft.type1(far, strengths, (10, 11), eps=eps, backend=backend)
    assert error(spectrum.ravel(), phases.conj().T @ strengths.astype(complex)) < SLACK[backend] * eps
    values = nufft.type2(far, modes, eps=eps, backend=backend)
    assert error(values, phases @ modes.ravel().astype(complex)) < SLACK[backend] * eps


@every_backend
@pytest.mark.parametrize("edge", [-np.pi, np.pi, 0.0, 3 * np.pi, np.nextafter(np.pi, 4), np.nextafter(-np.pi, -4)])
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_places_on_the_edge(backend, edge, dtype):
    """The seam of the period is a place like any other."""
    coords = np.full((3, 2), edge)
    spectrum = nufft.type1(coords, np.ones(3, dtype), (5, 6), eps=1e-5, backend=backend)
    assert error(spectrum.ravel(), waves(coords, (5, 6)).conj().sum(axis=0)) < SLACK[backend] * 1e-5


@every_backend
@pytest.mark.parametrize(("shape", "eps"), [((3000,), 1e-6), ((1500, 8), 1e-5), ((3000,), 1e-4)])
def test_float32_keeps_eps_for_many_modes(backend, shape, eps):
    """High modes turn fast: rounded coordinates would cost 3e-8 of error per radian of phase."""
    coords, strengths, modes = problem(shape, n=30, dtype=np.complex64)
    phases = waves(coords, shape)
    spectrum = nufft.type1(coords, strengths, shape, eps=eps, backend=backend)
    assert spectrum.dtype == np.complex64
    assert error(spectrum.ravel(), phases.conj().T @ strengths.astype(complex)) < SLACK[backend] * eps
    values = nufft.type2(coords, modes, eps=eps, backend=backend)
    assert error(values, phases @ modes.ravel().astype(complex)) < SLACK[backend] * eps


@every_backend
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_type_3_with_offsets_of_a_map(backend, dtype):
    """Metres of a national grid against waves per kilometre: the offset costs neither memory nor accuracy."""
    rng = np.random.default_rng(5)
    coords = np.array([500_000.0, 5_400_000.0]) + rng.uniform(0, 1e4, size=(50, 2))
    targets = np.array([3e-3, -2e-3]) + rng.normal(0, 2e-3, size=(40, 2))
    strengths = rng.normal(size=50).astype(dtype)
    result = nufft.type3(coords, strengths, targets, eps=1e-6, backend=backend)
    # float64 phases up to 4e4 radians carry 1e-11 of error: far below eps
    assert error(result, np.exp(-1j * targets @ coords.T) @ strengths) < SLACK[backend] * 1e-6


@every_backend
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_type_3_of_degenerate_sets(backend, dim):
    """One place, one target, all targets zero, all places alike."""
    rng = np.random.default_rng(dim)
    coords, targets = rng.normal(size=(20, dim)), rng.normal(size=(15, dim))
    for x in (coords, coords[:1], np.zeros((4, dim)), np.ones((3, dim))):
        for s in (targets, targets[:1], np.zeros((4, dim)), np.ones((3, dim))):
            result = nufft.type3(x, np.ones(len(x)), s, eps=1e-8, backend=backend)
            assert error(result, np.exp(-1j * s @ x.T).sum(axis=1)) < SLACK[backend] * 1e-8


@every_backend
@every_shape
def test_chunks_add(backend, shape):
    """Type 1 is a sum over places."""
    coords, strengths, _ = problem(shape)
    options = {"eps": 1e-9, "backend": backend}
    parts = [nufft.type1(coords[k::3], strengths[k::3], shape, **options) for k in range(3)]
    assert error(sum(parts), nufft.type1(coords, strengths, shape, **options)) < 1e-8


@every_backend
@every_shape
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_real_strengths_are_complex_ones_without_imaginary_part(backend, shape, dtype):
    """Same result, and Hermitian on the modes that have a partner."""
    coords, strengths, _ = problem(shape, dtype=dtype)
    spectrum = nufft.type1(coords, strengths, shape, eps=1e-5, backend=backend)
    assert spectrum.dtype == np.result_type(dtype, np.complex64)
    assert error(spectrum, nufft.type1(coords, strengths + 0j, shape, eps=1e-5, backend=backend)) < 1e-5
    paired = spectrum[tuple(slice(1 - count % 2, None) for count in shape)]
    assert np.linalg.norm(paired - np.flip(paired).conj()) <= SLACK[backend] * 1e-5 * np.linalg.norm(spectrum)


@every_backend
@every_shape
def test_nothing_gives_zeros(backend, shape):
    """No places, no vectors, no targets."""
    none = np.empty((0, len(shape)))
    options = {"eps": 1e-6, "backend": backend}
    assert_array_equal(nufft.type1(none, np.empty(0), shape, **options), np.zeros(shape))
    assert_array_equal(nufft.type1(none, np.empty((2, 0)), shape, **options), np.zeros((2, *shape)))
    assert nufft.type2(none, np.ones(shape), **options).shape == (0,)
    assert nufft.type2(none, np.ones((2, *shape)), **options).shape == (2, 0)
    coords, strengths, modes = problem(shape, n_vectors=1)
    assert nufft.type1(coords, strengths[:0], shape, **options).shape == (0, *shape)
    assert nufft.type2(coords, modes[:0], **options).shape == (0, len(coords))
    assert nufft.type3(coords, strengths, none, **options).shape == (1, 0)
    assert_array_equal(nufft.type3(none, np.empty(0), coords, **options), np.zeros(len(coords)))


@every_backend
def test_plan_serves_many_calls_and_threads(backend):
    """Calls do not disturb each other, in any order, also from several threads at once."""
    shape = (12, 9)
    coords, strengths, modes = problem(shape, n_vectors=6)
    plan = nufft.Plan(coords, shape, eps=1e-9, backend=backend)
    assert plan.backend == backend
    phases = waves(coords, shape)

    def both(k):
        sign = (-1) ** k
        spectrum, values = plan.type1(strengths[:k], sign=sign), plan.type2(modes[k - 1], sign=sign)
        chosen = phases if sign > 0 else phases.conj()
        return error(spectrum.reshape(k, -1), strengths[:k] @ chosen), error(values, chosen @ modes[k - 1].ravel())

    with ThreadPoolExecutor(3) as pool:
        assert np.max(list(pool.map(both, [1, 2, 3, 4, 5, 6] * 3))) < SLACK[backend] * 1e-9


@every_backend
@pytest.mark.parametrize("n_jobs", [1, 2, -1, None])
def test_any_number_of_threads(backend, n_jobs):
    """All within eps of the truth; the built-in one to the last bit (tested with the gridding)."""
    coords, strengths, _ = problem((20, 20), n=5_000)
    result = nufft.type1(coords, strengths, (20, 20), eps=1e-6, n_jobs=n_jobs, backend=backend)
    assert error(result.ravel(), waves(coords, (20, 20)).conj().T @ strengths) < SLACK[backend] * 1e-6


@every_backend
@pytest.mark.parametrize("at_once", [2_000, 1_000_000])
def test_a_plan_with_as_many_threads_gives_the_same_bits_again(backend, at_once, monkeypatch):
    """Of types 1 and 2, in one run of the places or in three; other numbers of threads leave twelve digits alone."""
    if backend in ("jax", "torch"):
        pytest.skip("not promised")
    monkeypatch.setattr(nufft.limits, "ADDED_AT_ONCE", at_once)
    coords, strengths, modes = problem((20, 20), n=5_000, n_vectors=2)
    one, two, again = (nufft.Plan(coords, (20, 20), eps=1e-6, n_jobs=k, backend=backend) for k in (1, 2, 2))
    for _ in range(3):
        assert_array_equal(two.type1(strengths), again.type1(strengths))
        assert_array_equal(two.type2(modes), again.type2(modes))
    assert error(two.type1(strengths), one.type1(strengths)) < 1e-12
    assert error(two.type2(modes), one.type2(modes)) < 1e-12
    assert error(one.type1(strengths).reshape(2, -1), strengths @ waves(coords, (20, 20)).conj()) < 1e-5


@every_backend
def test_inputs_are_left_alone(backend):
    """Read-only, Fortran-ordered, strided and integer input; results are fresh and writable."""
    coords, strengths, _ = problem((8, 6), n=40, n_vectors=4)
    strengths = np.asfortranarray(strengths)
    coords.flags.writeable = strengths.flags.writeable = False
    result = nufft.type1(coords[::2], strengths[::2, ::2], (8, 6), eps=1e-8, backend=backend)
    phases = waves(coords[::2], (8, 6))
    assert error(result.reshape(2, -1), strengths[::2, ::2] @ phases.conj()) < SLACK[backend] * 1e-8
    assert result.flags.writeable
    ones = nufft.type1(coords, np.ones(40, int), [8, 6], eps=1e-8, backend=backend)
    assert error(ones.ravel(), waves(coords, (8, 6)).conj().sum(axis=0)) < SLACK[backend] * 1e-8


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(1, 50),
    shape=st.lists(st.integers(1, 12), min_size=1, max_size=3).map(tuple),
    digits=st.floats(1, 11),
    seed=st.integers(0, 99),
)
@pytest.mark.parametrize("backend", ["built-in"])
def test_built_in_holds_its_tolerance_anywhere(backend, n, shape, digits, seed):
    """Any size, odd or even, any eps."""
    coords, strengths, modes = problem(shape, n=n, seed=seed)
    phases, eps = waves(coords, shape), 10**-digits
    result = nufft.type1(coords, strengths, shape, eps=eps, backend=backend).ravel()
    # the outermost mode errs by up to 6 eps (test_gridding); sizes this small may consist of such modes
    scale = np.linalg.norm(strengths) * np.sqrt(n)
    assert np.abs(result - phases.conj().T @ strengths).max() < 6 * eps * scale
    values = nufft.type2(coords, modes, eps=eps, backend=backend)
    scale = np.linalg.norm(modes) * np.sqrt(modes.size)
    assert np.abs(values - phases @ modes.ravel()).max() < 6 * eps * scale


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"eps": 1e-7, "strengths": np.ones(4, np.float32)}, "float64"),
        ({"eps": 1e-13}, "larger eps"),
        ({"eps": 0.5}, "at most 0.1"),
        ({"eps": 0}, "> 0"),
        ({"sign": 2}, "-1 or \\+1"),
        ({"n_jobs": 0}, "threads"),
        ({"shape": (3,)}, "2 numbers of modes"),
        ({"shape": (3, 0)}, ">= 1"),
        ({"shape": (3, 2.5)}, "whole numbers"),
        ({"strengths": np.ones(5)}, "strengths has shape"),
        ({"strengths": np.ones((2, 3, 4))}, "strengths has shape"),
        ({"strengths": np.array([1, 2, np.nan, 4])}, "NaN"),
        ({"strengths": np.array(list("abcd"))}, "real or complex"),
        ({"coords": np.full((4, 2), np.inf)}, "infinite"),
        ({"coords": np.ones((4, 4))}, "1, 2 or 3"),
        ({"backend": "fftw"}, "built-in"),
    ],
)
def test_wrong_input_says_what_to_change(change, words):
    """Every check at the door."""
    arguments = {"coords": np.ones((4, 2)), "strengths": np.ones(4), "shape": (3, 3), "eps": 1e-6} | change
    with pytest.raises(InputError, match=words):
        nufft.type1(**arguments)


def test_plan_wants_a_real_type_of_its_own():
    """The dtype of a plan is the real one."""
    with pytest.raises(InputError, match="float32 or float64"):
        nufft.Plan(np.ones((4, 2)), (3, 3), eps=1e-6, dtype=np.complex64)


@every_backend
def test_hopeless_grids_are_refused_before_they_are_allocated(backend):
    """Memory that no machine has."""
    with pytest.raises(MemoryLimitError, match="fewer modes"):
        nufft.Plan(np.ones((4, 3)), (5000, 5000, 5000), eps=1e-6, backend=backend)
    far = np.array([[0.0, 0.0], [1e9, 1e9]])
    with pytest.raises(MemoryLimitError, match="smaller range"):
        nufft.type3(far, np.ones(2), far, eps=1e-6, backend=backend)
