"""Whether a class of Tally takes what TorchMetrics' of that name does."""

import inspect

import tally
from tally.compat.torchmetrics import _corrections, _table


def without_self(method):
    signature = inspect.signature(method)
    return signature.replace(parameters=list(signature.parameters.values())[1:])


def known_options(real):
    """The options of Tally's class."""
    return {option["name"] for option in tally._METRICS[real.__name__]["options"]}


def told_options(real):
    """Tally's names of the options of TorchMetrics' constructor that it is told."""
    known = known_options(real)
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {
        name: _table.RENAMED.get(name, name)
        for name, parameter in without_self(real.__init__).parameters.items()
        if parameter.kind not in kinds
        and name != "validate_args"
        and not (name in _table.NEEDLESS and name not in known)
    }


def fits(real):
    """Whether Tally's class of that name takes the same options and inputs."""
    inputs = [each["name"] for each in tally._METRICS[real.__name__]["inputs"]]
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = without_self(real.update).parameters.items()
    names = _table.INPUTS | _table.INPUTS_OF.get(real.__name__, {})
    taken = [names.get(name, name) for name, p in parameters if p.kind not in kinds]
    known = known_options(real) | _table.LOOKED_AFTER.get(real.__name__, set())
    return set(told_options(real).values()) <= known and taken == inputs[: len(taken)]


def arguments_of(real, args, kwargs):
    """What the constructor is given and what it takes in their places, by name."""
    bound = inspect.signature(real.__init__).bind(None, *args, **kwargs)
    bound.apply_defaults()
    given = dict(bound.arguments)
    for name in ("self", "args"):
        given.pop(name, None)
    return given | given.pop("kwargs", {})  # some are for the constructor of a base


def takes(real, args, kwargs):
    """Whether Tally's class takes a constructor's arguments."""
    name = real.__name__
    try:
        given = arguments_of(real, args, kwargs)
    except TypeError:
        return True  # and says so
    return (
        not _corrections.is_off(name)
        and given.get("dist_sync_fn") is None
        and not (name.startswith("Multiclass") and given.get("num_classes") is None)
        and (name not in _table.ONLY_WITH or _table.ONLY_WITH[name](**given))
    )
