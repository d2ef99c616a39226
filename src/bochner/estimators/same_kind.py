"""Same kind: what was asked with is what is answered with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from bochner.exceptions import InputError
from bochner.layout.answers import like_given

KINDS = ("default", "same")


class SameKind:
    """Predictions as tables and images, for estimators."""

    def set_output(self, *, predict: str | None = None) -> Self:
        """Say what predictions about pandas and polars tables are.

        In the manner of scikit-learn's `set_output`, which is for transformers: it is kept by `clone`, and not a
        parameter.

        Parameters
        ----------
        predict : {"default", "same"}, optional
            ``"same"``: a table of the kind that was given, with its index: columns mean and sd of `predict`, lower and
            upper of `predict_interval`, and so on. ``"default"``: arrays, as everywhere in scikit-learn. None leaves
            it as it is. GeoDataFrames and xarray objects are always answered in kind.
        """
        if predict is not None and predict not in KINDS:
            raise InputError(f"set_output(predict={predict!r}); needed is one of {list(KINDS)}.")
        if predict is not None:
            # the name under which scikit-learn's clone looks for it
            self._sklearn_output_config = {**getattr(self, "_sklearn_output_config", {}), "predict": predict}
        return self

    @property
    def _answers_tables(self) -> bool:
        return getattr(self, "_sklearn_output_config", {}).get("predict") == "same"

    def _same_kind(self, X: Any, columns: Mapping[str, Any], plain: Any = None) -> Any:
        """Columns of predictions as what `X` is; `plain`, or the columns as arrays, where it is an array."""
        found = like_given(X, columns, self.fitted_.layout, tables=self._answers_tables)  # type: ignore[attr-defined]
        if found is not None:
            return found
        values = tuple(columns.values())
        return plain if plain is not None else values[0] if len(values) == 1 else values
