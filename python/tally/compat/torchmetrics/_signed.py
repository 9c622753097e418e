"""Functions of this package that look like TorchMetrics': for help(), IDEs and Sphinx."""

import functools
import types

from tally.compat.torchmetrics._names import here


def signed_as(function, real):
    """The same function with the name, signature and documentation of TorchMetrics'."""
    mine = types.FunctionType(
        function.__code__, function.__globals__, real.__name__, function.__defaults__,
        function.__closure__,
    )
    mine.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(mine, real)
    mine.__module__ = here(real)
    return mine


def is_same(method, function):
    """Whether it is that function, under whatever name."""
    return getattr(method, "__code__", None) is function.__code__
