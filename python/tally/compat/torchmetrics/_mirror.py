"""Modules of TorchMetrics' names, with Tally's classes in their places."""

import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import sys
import types

import torchmetrics
from torchmetrics.classification.base import _ClassificationTaskWrapper

import tally
from tally.compat.torchmetrics import _table
from tally.compat.torchmetrics._collections import MetricCollection
from tally.compat.torchmetrics._drop_in import drop_in
from tally.compat.torchmetrics._fitting import fits
from tally.compat.torchmetrics._functions import functions_of
from tally.compat.torchmetrics._names import HERE, here


def _import_domains():
    """TorchMetrics leaves some of its modules to be imported by name."""
    for domain in {entry["domain"] for entry in tally._METRICS.values()} | {"multimodal"}:
        if importlib.util.find_spec("torchmetrics." + domain) is not None:
            importlib.import_module("torchmetrics." + domain)


def _classes():
    """Drop-in classes by TorchMetrics' own."""
    _import_domains()
    found = {}
    for module in list(sys.modules.values()):
        parts = getattr(module, "__name__", "").split(".")
        if parts[0] != "torchmetrics" or len(parts) != 2 or parts[1] == "functional":
            continue
        for name, value in vars(module).items():
            if (
                inspect.isclass(value)
                and issubclass(value, torchmetrics.Metric)
                and value.__name__ == name
                and name in tally._METRICS
                and name not in _table.LEFT_OUT
                and fits(value)
            ):
                found[value] = None
    return {real: drop_in(real) for real in found}


CLASSES = _classes()
FUNCTIONS = functions_of(CLASSES)
_BY_NAME = {real.__name__: mine for real, mine in CLASSES.items()}


def _dispatcher(real):
    """A class such as Accuracy(task=...), which gives one of ours."""
    new = real.__dict__["__new__"]
    new = getattr(new, "__func__", new)
    mine = types.FunctionType(
        new.__code__,
        {**sys.modules[real.__module__].__dict__, **_BY_NAME},
        new.__name__,
        new.__defaults__,
        new.__closure__,
    )
    functools.update_wrapper(mine, new)
    mine.__kwdefaults__ = new.__kwdefaults__
    fields = {"__new__": mine, "__module__": here(real), "__doc__": real.__doc__}
    return type(real.__name__, (real,), fields)


_dispatchers = {}


def replaced(value):
    """What stands in the place of something of TorchMetrics'."""
    if inspect.isfunction(value):
        return FUNCTIONS.get(value, value)
    if not inspect.isclass(value):
        return value
    if value in CLASSES:
        return CLASSES[value]
    if value is MetricCollection._real:
        return MetricCollection
    if (
        issubclass(value, _ClassificationTaskWrapper)
        and value is not _ClassificationTaskWrapper
        and "__new__" in value.__dict__
    ):
        if value in _dispatchers.values():
            return value  # installed
        if value not in _dispatchers:
            _dispatchers[value] = _dispatcher(value)
        return _dispatchers[value]
    return value


def fill(name, real, namespace):
    """Gives a module what TorchMetrics' has; submodules are found when imported."""
    prefix = real.__name__ + "."
    for key, value in vars(real).items():
        if key.startswith("__") and key != "__all__":
            continue
        if inspect.ismodule(value) and value.__name__ == prefix + key:
            value = importlib.import_module(f"{name}.{key}")
        namespace[key] = replaced(value)


class _Loader(importlib.abc.Loader):
    def exec_module(self, module):
        real = importlib.import_module(
            module.__name__.replace(HERE, "torchmetrics", 1)
        )
        fill(module.__name__, real, vars(module))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds tally.compat.torchmetrics.X where there is a torchmetrics.X."""

    def find_spec(self, fullname, path=None, target=None):
        if not fullname.startswith(HERE + ".") or fullname.startswith(HERE + "._"):
            return None
        try:
            real = importlib.util.find_spec(fullname.replace(HERE, "torchmetrics", 1))
        except ModuleNotFoundError:
            return None
        if real is None:
            return None
        return importlib.machinery.ModuleSpec(
            fullname, _Loader(), is_package=real.submodule_search_locations is not None
        )


# First, as folders of stubs look like packages.
sys.meta_path.insert(0, _Finder())
