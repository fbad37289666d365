"""Errors that a user can meet; a command ends with one line on these, and on these only.

Each is also of the built-in type that fits it, such as ValueError. Every other exception is a fault
of the program and keeps its traceback. This module imports nothing, so that any other may use it.
"""


class AgentsError(Exception):
    """Base of the errors of this package."""


class UsageError(AgentsError, ValueError):
    """Raised when an argument, a setting or a flag is out of range or does not fit the others."""


class MissingPackageError(UsageError, ModuleNotFoundError):
    """Raised when a setting needs an optional package that is not installed."""


class ModelError(AgentsError, ValueError):
    """Raised when a model cannot be loaded, is too large for the machine, or lacks a feature."""


class CheckpointError(AgentsError, ValueError):
    """Raised when a checkpoint is damaged, incomplete or of another run."""


class SaveError(AgentsError, OSError):
    """Raised when a checkpoint cannot be written, because the disk is full for example."""


class RecordError(AgentsError, ValueError):
    """Raised when a JSON file of settings, metrics or responses is damaged or of another run."""


class SamplerError(AgentsError, ValueError):
    """Raised when vLLM, in this process or on a server, cannot start, fails or is unreachable."""


class ParityError(AgentsError, ValueError):
    """Raised when sampler and trainer differ in their prompts or their log-probabilities."""


class OutOfMemoryError(AgentsError, MemoryError):
    """Raised when a GPU or the machine runs out of memory in sampling or in training."""


class LostRankError(AgentsError, RuntimeError):
    """Raised when the connection to another rank breaks, usually because that rank has ended."""
