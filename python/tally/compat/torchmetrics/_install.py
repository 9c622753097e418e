"""Puts the drop-in in TorchMetrics' place, in all modules of a program."""

import sys
import types

from tally.compat.torchmetrics import _mirror

_PACKAGE = "torchmetrics"
_REPLACED = (*_mirror.CLASSES, _mirror.MetricCollection._real)

# Names that were changed: module, name, and what was there.
_changed = []


def _is_in(module, package):
    name = getattr(module, "__name__", None)
    return isinstance(name, str) and (name + ".").startswith(package + ".")


def _modules():
    for module in list(sys.modules.values()):
        if isinstance(module, types.ModuleType) and not _is_in(module, "tally"):
            yield module


def _may_stand_in(module, value):
    """TorchMetrics' own classes are made of its functions."""
    is_class_of = _is_in(module, _PACKAGE) and not _is_in(module, _PACKAGE + ".functional")
    return isinstance(value, type) or not is_class_of


def install():
    """Gives programs that import torchmetrics the classes and functions of this package.

    Also modules that have imported them already: their names stand for this package's from
    now on. Objects and subclasses that there are stay as they are. uninstall() undoes it.
    """
    if _changed:
        return
    for module in _modules():
        for name, value in list(vars(module).items()):
            if not issubclass(type(value), (type, types.FunctionType)):
                continue
            if not str(value.__module__).startswith(_PACKAGE) or not _may_stand_in(module, value):
                continue
            mine = _mirror.replaced(value)
            if mine is not value:
                _changed.append((module, name, value))
                setattr(module, name, mine)
    for real in _REPLACED:
        real.__qualname__ = real.__name__ + "._real"  # by which pickle finds it


def uninstall():
    """Gives programs TorchMetrics' own classes and functions again."""
    for module, name, value in _changed:
        mine = vars(module).get(name)
        if mine is _mirror.replaced(value):  # and nobody else's
            setattr(module, name, value)
    _changed.clear()
    for real in _REPLACED:
        real.__qualname__ = real.__name__
