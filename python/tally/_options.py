"""Options between Python and the texts that the library reads."""

import difflib
import inspect
import math
import numbers
from collections.abc import Mapping

import torch


def quoted(text):
    """Text that is read as a whole, whatever is in it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def text_of(value):
    """An option's value as text: what `parse_metric_spec` reads."""
    if value is None:
        return "none"
    if hasattr(value, "registry_text"):
        return value.registry_text()
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k}: {text_of(v)}" for k, v in value.items()) + "}"
    if isinstance(value, torch.Tensor) or hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(text_of(v) for v in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        value = float(value)
        if math.isnan(value):
            return "nan"
        return repr(value).replace("+", "")
    raise TypeError(
        f"expected a number, text, list or None as an option, got {type(value).__name__}"
    )


def value_of(text, expected):
    """The value that a default's text stands for, by what it may be."""
    if text == "none":
        return None
    if "true or false" in expected:
        return text == "true"
    if text.startswith("[") and text.endswith("]"):
        items = [item.strip() for item in text[1:-1].split(",") if item.strip()]
        return [value_of(item, "a number") for item in items]
    if "text" in expected or expected.startswith(("one of", "none or one of")):
        return text.strip('"')
    try:
        return int(text) if "integer" in expected else float(text)
    except ValueError:
        return text


def signature_of(options, extra):
    """Required options by position or name, the others by name alone."""
    Parameter = inspect.Parameter
    parameters = [
        Parameter(option["name"], Parameter.POSITIONAL_OR_KEYWORD)
        for option in options
        if option["is_required"]
    ] + [
        Parameter(
            option["name"],
            Parameter.KEYWORD_ONLY,
            default=value_of(option["default"], option["expected"]),
        )
        for option in options
        if not option["is_required"]
    ]
    parameters += [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default)
        for name, default in extra.items()
    ]
    return inspect.Signature(parameters)


def bind(name, signature, args, kwargs):
    """The arguments by name; TypeError as of a function of Python."""
    for given in kwargs:
        if given not in signature.parameters:
            near = difflib.get_close_matches(given, signature.parameters, 1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise TypeError(f"{name}() got an unexpected keyword argument '{given}'{hint}")
    try:
        return signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        raise TypeError(f"{name}() {error}") from None
