"""Parameters of a kernel inside an estimator: `kernel__length_scale` and the like."""

from __future__ import annotations

from typing import Any, Self

from bochner.kernels import Kernel


class KernelParameters:
    """Mixin that lets `set_params` reach into a frozen kernel by replacing it."""

    kernel: Any

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of the kernel are written ``kernel__name``."""
        inner = {name: params.pop(name) for name in list(params) if name.startswith("kernel__")}
        super().set_params(**params)  # type: ignore[misc]
        if inner:
            if not isinstance(self.kernel, Kernel):
                name = next(iter(inner))
                raise ValueError(
                    f"{name} was set but kernel is {self.kernel!r}; give a kernel first, e.g. kernel=Matern()."
                )
            self.kernel = self.kernel.with_params(**{k.removeprefix("kernel__"): v for k, v in inner.items()})
        return self
