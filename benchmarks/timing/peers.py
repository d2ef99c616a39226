"""Peers: other libraries, each timed as its own documentation uses it, on the threads of the plan."""

from __future__ import annotations

from typing import Any

import numpy as np

from .plan import NOISE, Plan, Split, Timed


def gpboost(plan: Plan, split: Split) -> Timed:
    import gpboost as library

    def answer() -> np.ndarray:
        model = library.GPModel(
            gp_coords=split.X, cov_function="exponential", gp_approx="vecchia", likelihood="gaussian"
        )
        model.fit(y=split.y, X=np.ones((len(split.y), 1)))
        found = model.predict(gp_coords_pred=split.new, X_pred=np.ones((len(split.new), 1)), predict_var=True)
        return found["mu"]

    return plan.timed(answer, split.truth)


def gpytorch(plan: Plan, split: Split) -> Timed:
    """Its exact process as its first tutorial trains it: fifty steps of Adam."""
    import gpytorch as library
    import torch

    if plan.threads:
        torch.set_num_threads(plan.threads)

    class Process(library.models.ExactGP):
        def __init__(self, x: Any, z: Any, likelihood: Any) -> None:
            super().__init__(x, z, likelihood)
            self.mean = library.means.ConstantMean()
            self.kernel = library.kernels.ScaleKernel(library.kernels.MaternKernel(nu=1.5))

        def forward(self, x: Any) -> Any:
            return library.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    def answer() -> np.ndarray:
        x, z, at = (torch.from_numpy(np.ascontiguousarray(a)) for a in (split.X, split.y, split.new))
        likelihood = library.likelihoods.GaussianLikelihood().double()
        model = Process(x, z, likelihood).double()
        optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
        objective = library.mlls.ExactMarginalLogLikelihood(likelihood, model)
        for _ in range(50):
            optimiser.zero_grad()
            loss = -objective(model(x), z)
            loss.backward()
            optimiser.step()
        model.eval()
        likelihood.eval()
        with torch.no_grad():
            found = likelihood(model(at))
            found.variance.numpy()
            return found.mean.numpy()

    return plan.timed(answer, split.truth)


def pykrige(plan: Plan, split: Split) -> Timed:
    from pykrige.ok import OrdinaryKriging

    def answer() -> np.ndarray:
        variogram = {"psill": 1.0, "range": 0.6, "nugget": NOISE}  # its range is three length scales
        model = OrdinaryKriging(*split.X.T, split.y, variogram_model="exponential", variogram_parameters=variogram)
        return np.asarray(model.execute("points", *split.new.T)[0])

    return plan.timed(answer, split.truth)


def gstools(plan: Plan, split: Split) -> Timed:
    import gstools as library

    if plan.threads:
        library.config.NUM_THREADS = plan.threads

    def answer() -> np.ndarray:
        model = library.Exponential(dim=2, var=1.0, len_scale=0.2, nugget=NOISE)
        return np.asarray(library.krige.Ordinary(model, split.X.T, split.y, exact=False)(split.new.T)[0])

    return plan.timed(answer, split.truth)


def process_of(nu: float) -> Any:
    """scikit-learn's exact process."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    return GaussianProcessRegressor(ConstantKernel() * Matern(0.2, nu=nu) + WhiteKernel(NOISE), normalize_y=True)
