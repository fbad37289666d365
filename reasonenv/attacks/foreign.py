"""Another grader, a function of a response and a reference, as a judge for a `WorkerPool`."""

import os
import resource
import sys
from collections.abc import Callable
from pkgutil import resolve_name

from reasonenv.errors import UsageError

WARM_UP = ()
"""No pairs warm this judge up."""
_MEMORY = 8 << 30
_MAX_MESSAGE = 300


def load(name: str, folder: str) -> Callable[..., tuple[bool, str]]:
    """The judge that a function makes; without a pair, it says why there is no such function.

    Its reply is the verdict, and what the function raised, if it did. The function runs with all
    the imports of its module, and sees neither the requests nor the replies.

    Args:
        name: "module:function".
        folder: Where modules are found, beside the usual folders.
    """
    # The process of the workers has the package without its __init__.
    for module in [each for each in sys.modules if each.partition(".")[0] == "reasonenv"]:
        del sys.modules[module]
    sys.path.append(folder)
    try:
        function = _function(name)
    # The module is a user's code, which may raise anything.
    except Exception as error:
        fault = _described(error)
        return lambda: (False, fault)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)

    def judge(*pair: str) -> tuple[bool, str]:
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, resource.RLIM_INFINITY))
        try:
            return _as_bool(function(*pair)) if pair else True, ""
        # Also SystemExit, and time limits that derive from BaseException.
        except BaseException as error:
            return False, _described(error)

    return judge


def _function(name: str) -> Callable[..., object]:
    if ":" not in name:
        raise UsageError("give module:function")
    function = resolve_name(name)
    if not callable(function):
        raise UsageError(f"a function was expected, not a {type(function).__name__}")
    return function


def _as_bool(verdict: object) -> bool:
    if verdict not in (True, False):
        raise TypeError(f"a bool was expected, not {verdict!r:.100}")
    return bool(verdict)


def _described(error: BaseException) -> str:
    text = str(error) if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"
    return text.partition("\n")[0][:_MAX_MESSAGE]
