"""Lines along the share of the field: three factors tell what a whole line does, where it is narrow; else it is had."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bochner.features import Rows
from bochner.inference import Observations
from bochner.inference.evidence.share_evidence import Direct, ShareEvidence, Tridiagonal
from bochner.inference.tuning.share_lines import SHARES, Parabola, ShareLines, log_share_prior
from bochner.kernels import Matern


def evidence_of(n: int, noise: float, dim: int = 2, seed: int = 0) -> tuple[ShareEvidence, Rows]:
    """Of a field of range 0.2 under noise; rows of unequal weights, and a trend."""
    rng = np.random.default_rng(seed)
    coords = rng.uniform(size=(n, dim))
    root = np.linalg.cholesky(Matern(0.2, nu=1.5).covariance(coords, coords) + 1e-9 * np.eye(n))
    weight = rng.uniform(0.5, 2.0, n)
    weight /= weight.mean()  # else they stand for copies that do not scatter
    y = root @ rng.normal(size=n) + np.sqrt(noise / weight) * rng.normal(size=n)
    rows = Rows(coords, np.column_stack([np.ones(n), coords]))
    return ShareEvidence.of(Observations(rows, y, weight, np.zeros(n), np.zeros(n))), rows


@pytest.fixture
def forms(monkeypatch):
    """Tridiagonal forms that were made."""
    made, plain = [], Tridiagonal.of.__func__
    monkeypatch.setattr(Tridiagonal, "of", classmethod(lambda *a: (made.append(1), plain(*a))[1]))
    return made


@pytest.mark.parametrize(("off", "taken_for"), [(0.0, 0.8), (1.5, 1.6), (-3.0, 2.5), (1.0, 0.3)])
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_three_factors_tell_what_a_line_does(dim, off, taken_for, forms):
    """Its mass, its mean and sd, and the variances there; though it is expected elsewhere, wider or narrower."""
    evidence, rows = evidence_of(400, 0.1, dim)
    fine, lines = np.arange(-6.0, 16.0, 0.05), None
    for log_range in (-2.0, -1.6, -1.2):
        correlation = rows.covariance_within(Matern(float(np.exp(log_range)), nu=1.5))
        whole = evidence.along_shares(correlation, fine)
        log_density = whole.log_evidence + log_share_prior(fine) + 0.7
        mass = np.exp(log_density - log_density.max())
        log_mass = log_density.max() + np.log(mass.sum() * 0.05 / (SHARES[1] - SHARES[0]))
        mass /= mass.sum()
        mean = mass @ fine
        sd = np.sqrt(mass @ (fine - mean) ** 2)
        lines = lines or ShareLines(evidence, None, 1.0, (mean + off * sd, min(taken_for * sd, 0.55)))
        forms.clear()
        (found,) = lines.of(correlation, log_range, 0.7)
        assert not forms
        assert_allclose(found.log_sum, log_mass, atol=0.1)
        assert_allclose(found.peak[0], mean, atol=0.15 * sd)
        assert_allclose(found.peak[1], sd, rtol=0.1)
        assert_allclose(np.exp(found.log_density - found.log_sum).sum(), 1.0)
        for got, wanted in ((found.line.field, whole.field), (found.line.noise, whole.noise)):
            middle = np.interp(mean, found.line.logit, np.log(got))
            assert_allclose(middle, np.interp(mean, fine, np.log(wanted)), atol=0.01)


def test_a_share_that_is_left_open_has_a_whole_line(forms):
    """A weak field, no field at all, and a field without noise: whoever expects otherwise is not believed."""
    for noise, seed in ((20.0, 0), (1e6, 1), (1e-12, 2)):
        evidence, rows = evidence_of(120, noise, seed=seed)
        correlation = rows.covariance_within(Matern(0.2, nu=1.5))
        forms.clear()
        (followed,) = ShareLines(evidence, None, 1.0, (1.0, 0.3)).of(correlation, -1.6, 0.0)
        (whole,) = ShareLines(evidence, None, 1.0).of(correlation, -1.6, 0.0)
        assert len(forms) == 2
        assert_allclose(followed.log_density, whole.log_density)


def test_lines_that_cannot_be_followed_are_soon_not_tried(forms, monkeypatch):
    """Two in a row, and the others are whole at once: as quick as if none had been tried."""
    evidence, rows = evidence_of(120, 1e-12)
    tried, plain = [], Direct.shifted
    monkeypatch.setattr(Direct, "shifted", lambda *a: (tried.append(1), plain(*a))[1])
    lines, counts = ShareLines(evidence, None, 1.0, (1.0, 0.3)), []
    for log_range in (-2.0, -1.8, -1.6, -1.4):
        lines.of(rows.covariance_within(Matern(float(np.exp(log_range)), nu=1.5)), log_range, 0.0)
        counts.append(len(tried))
    assert len(forms) == 4 and counts[1] == counts[2] == counts[3] > 0


def test_a_parabola_is_sought_step_by_step():
    """Its top, width and mass are those of the law, wherever it lies; what is flat, rises on or is wide is none."""
    for top in (-4.6, -0.4, 0.0, 0.9, 5.2):
        found = Parabola.sought(lambda k, top=top: 3.0 - 0.5 * ((k - top) / 1.3) ** 2, 5.0, 6)
        assert found is not None
        assert_allclose([found.top, found.sd], [top, 1.3])
        assert_allclose(found.log_mass, 3.0 + np.log(1.3 * np.sqrt(2 * np.pi)))
    assert Parabola.sought(lambda k: 0.0, 5.0, 6) is None
    assert Parabola.sought(float, 5.0, 6) is None
    assert Parabola.sought(lambda k: -0.5 * (k / 6.0) ** 2, 5.0, 6) is None
