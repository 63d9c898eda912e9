"""The errors a user can meet. Each message says what happened, where, and what to do about it.

Only `fxscope.cli.main` catches `FxscopeError`; everything else lets it pass.
"""


class FxscopeError(Exception):
    """A mistake or a limit that one clear line can explain.

    Attributes:
        exit_code: what the command line returns: 2 for bad input, 3 where no graph was captured.
    """

    exit_code = 2


class UsageError(FxscopeError):
    """A verb was called in another way than it can be: its usage is printed, too."""


class CaptureError(FxscopeError):
    """A program could not be recorded."""


class NothingCapturedError(CaptureError):
    """The program ran, but no graph and no op was captured."""

    exit_code = 3


class TraceError(FxscopeError):
    """A trace, a compile log or a debug folder could not be read."""


class PassError(FxscopeError):
    """A pass met a recording it cannot work on."""


class RenderError(FxscopeError):
    """A picture, a page or a file could not be made."""


def one_line(error: BaseException) -> str:
    """`ValueError: message`, of the message its first line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"


# What Python raises of a text that is none of its own; the last two: brackets in brackets, signs before signs.
NOT_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError)
# What reading a file that is not what it seems to be may raise, deep in a reader that takes its form for granted.
_WRONG_VALUES = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
FOREIGN = (*_WRONG_VALUES, AssertionError, SyntaxError, RecursionError)
