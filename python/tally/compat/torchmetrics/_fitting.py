"""Whether a class of Tally takes what TorchMetrics' of that name does."""

import inspect

import tally
from tally.compat.torchmetrics import _table


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
