"""Lets TorchMetrics' own tests meet Tally's classes, and counts which did.

`pytest -p torchmetrics_plugin`: whatever module of TorchMetrics names a class or function
that Tally has one for names that one from then on. With TALLY_RESULTS=FILE, a line of JSON
for each case: whether it met one of them, and how it ended.
"""

import functools
import inspect
import json
import os
import warnings

import pytest
import tally.compat.torchmetrics
import torch
from tally.compat.torchmetrics import _drop_in, _mirror
from torchmetrics.utilities import imports

_met = []


def _note_functions():
    """Of which the pairwise ones have no class that notes them."""
    for real, mine in _mirror.FUNCTIONS.items():

        @functools.wraps(mine)
        def noted(*args, _function=mine, **kwargs):
            _met.append(_function.__name__)
            return _function(*args, **kwargs)

        _mirror.FUNCTIONS[real] = noted


def _note_objects():
    """Also those that were made when cases were collected, by what they are used for."""
    for name in ("__init__", "__setstate__", "_carefully", "_given_out", "compute", "reset"):
        method = getattr(_drop_in.DropIn, name)

        @functools.wraps(method)
        def noted(self, *args, _method=method, **kwargs):
            _met.append(type(self).__name__)
            return _method(self, *args, **kwargs)

        setattr(_drop_in.DropIn, name, noted)


_note_functions()
_note_objects()
tally.compat.torchmetrics.install()

# Its tests of ClusterAccuracy are skipped without that package, which Tally needs not.
imports._TORCH_LINEAR_ASSIGNMENT_AVAILABLE = True


def _write(line):
    if "TALLY_RESULTS" in os.environ:
        with open(os.environ["TALLY_RESULTS"], "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def pytest_collection_modifyitems(config, items):
    """Functional forms are those of classes, or TorchMetrics' own: counted, and not run."""
    functional = [
        item for item in items
        if "functional" in item.name.partition("[")[0] and "/pairwise/" not in item.nodeid
    ]
    for item in functional:
        _write({"file": item.location[0], "case": "", "met": False, "outcome": "functional"})
    if functional:
        config.hook.pytest_deselected(items=functional)
        items[:] = [item for item in items if item not in set(functional)]


def _tell_parts(testers):
    """Says which part of a result differs."""
    compare = testers._assert_allclose

    def told(tm_result, ref_result, *args, **kwargs):
        if not isinstance(tm_result, (list, tuple)):
            return compare(tm_result, ref_result, *args, **kwargs)
        for i, parts in enumerate(zip(tm_result, ref_result)):
            try:
                told(*parts, *args, **kwargs)
            except AssertionError as error:
                raise AssertionError(f"part {i}: {error}") from None

    testers._assert_allclose = told


def pytest_collection_finish(session):
    """Cases over ranks construct in other processes."""
    from unittests._helpers import testers
    from unittests._helpers.testers import MetricTester

    _tell_parts(testers)
    mine = set(_mirror.CLASSES.values())
    method = MetricTester.run_class_metric_test

    def noted(self, *args, **kwargs):
        metric = inspect.signature(method).bind(self, *args, **kwargs).arguments["metric_class"]
        metric = getattr(metric, "func", metric)
        if metric in mine:
            _met.append(metric.__name__)
        return method(self, *args, **kwargs)

    MetricTester.run_class_metric_test = noted


def _error(text):
    """With the numbers of 32 samples and five classes, on both sides."""
    return text[:8000]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if call.when == "setup":
        _met.clear()
    if call.when != "call" and not (call.when == "setup" and report.outcome != "passed"):
        return
    _write(
        {
            "file": item.location[0],
            "case": item.nodeid.partition("::")[2],
            "met": bool(_met),
            "outcome": report.outcome,
            "error": _error(call.excinfo.exconly()) if report.failed else "",
        }
    )


def pytest_runtest_teardown():
    """What a test that fails leaves behind must not fail others."""
    torch.set_default_dtype(torch.float32)


warnings.filterwarnings("ignore", category=UserWarning)
