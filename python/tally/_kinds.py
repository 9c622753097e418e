"""What arguments may be, by their annotations and defaults."""

import functools
import inspect
import operator
from collections.abc import Iterable

from torch import Tensor


def _as(kind):
    def converted(value):
        if not isinstance(value, kind):
            raise TypeError
        return value

    return converted


def _number(value):
    if isinstance(value, str):  # float() reads texts
        raise TypeError
    return float(value)


def _or_none(convert):
    return lambda value: None if value is None else convert(value)


# How a value becomes one of a kind, which raises for others, and the kind in words.
_KINDS = {
    bool: (_as(bool), "True or False"),
    int: (operator.index, "an integer"),
    float: (_number, "a number"),
    str: (_as(str), "a text"),
    Tensor: (_as(Tensor), "a tensor"),
    float | None: (_or_none(_number), "None or a number"),
    str | None: (_or_none(_as(str)), "None or a text"),
}


def of_kind(what, value, kind):
    """The value as one of a kind; TypeError for another, with `what` in front."""
    convert, words = _KINDS[kind]
    try:
        return convert(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise TypeError(f"{what}: expected {words}, got {value!r:.80}") from None


def list_of(what, values, words, kind=None):
    """The values as a list, each of a kind; TypeError for others. `words` are plural."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{what}: expected a list of {words}, got {values!r:.80}")
    return [value if kind is None else of_kind(what, value, kind) for value in values]


def _kind_of(parameter):
    """By the annotation, or else by the default; None where neither says it."""
    for kind in (parameter.annotation, type(parameter.default)):
        if kind in _KINDS:
            return kind
    return None


def checked(function):
    """The function, or method of that name, which refuses arguments of another kind.

    It names the argument, and hands numbers on as numbers of Python.
    """
    signature = inspect.signature(function)
    kinds = {
        name: kind for name, each in signature.parameters.items() if (kind := _kind_of(each))
    }
    is_constructor = function.__name__ == "__init__"

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # raises it in Python's own words
        given = bound.arguments
        owner = type(args[0]).__name__ if is_constructor else function.__name__
        argument = "option" if is_constructor else "argument"
        for name in kinds.keys() & given.keys():
            given[name] = of_kind(f"{owner}: {argument} '{name}'", given[name], kinds[name])
        return function(*bound.args, **bound.kwargs)

    return call
