"""Every error and warning that bochner raises on purpose.

An error says what was given, what is needed and what to change. Each one is also a
built-in exception, so that callers need not import this module to catch it.
"""


class BochnerError(Exception):
    """Base of every error raised on purpose."""


class InputError(BochnerError, ValueError):
    """Data or a parameter that cannot be used as given."""


class ColumnError(BochnerError, KeyError, ValueError):
    """A column that is asked for by name and is not there."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0]) if self.args else ""


class KernelError(BochnerError, ValueError):
    """A kernel that is not valid, or not valid for what is asked of it."""


class PartError(BochnerError, ValueError):
    """Two parts (features, solver, family, kernel) that do not go together."""


class MemoryLimitError(BochnerError, MemoryError):
    """Work that would need more memory than the limit allows."""


class ConvergenceError(BochnerError, RuntimeError):
    """An iteration that diverged, or a matrix that could not be factored."""


class ArchiveError(BochnerError, ValueError):
    """A model file that is damaged, foreign or too new."""


class MissingExtraError(BochnerError, ImportError):
    """An optional dependency that the call needs and that is not installed."""


class BochnerWarning(UserWarning):
    """Base of every warning raised on purpose."""


class ApproximationWarning(BochnerWarning):
    """An approximation that is coarser than was asked for."""


class CollinearityWarning(BochnerWarning):
    """Columns that carry the same information."""


class TuningWarning(BochnerWarning):
    """Hyperparameters that could not be learned well."""


class FallbackWarning(BochnerWarning):
    """Input for which a simpler model than the one asked for is used."""


class CheckWarning(BochnerWarning):
    """A fitted model that looks wrong."""
