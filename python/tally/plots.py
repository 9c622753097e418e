"""Drawings of results, as SVG that a notebook shows and a page can contain.

    roc = tally.BinaryROC()
    roc.update(preds, target)
    roc.plot()                                    # the last line of a notebook's cell
    roc.plot().save("roc.svg")

Each has a title and a description for screen readers, and tells nothing by color alone.
NaN and infinities are not drawn.
"""

import math
from collections.abc import Mapping, Sequence

import torch

from tally._inputs import tensor_of
from tally._library import classes

_plots = classes.Plots


class Plot:
    """A plot, which notebooks display; ``svg`` is the text of an SVG file."""

    def __init__(self, svg):
        #: The element ``<svg>``, as text.
        self.svg = svg

    def _repr_svg_(self):
        return self.svg

    def _repr_html_(self):
        return self.svg

    def __str__(self):
        return self.svg

    def save(self, path):
        """Writes an SVG file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write('<?xml version="1.0" encoding="UTF-8"?>\n' + self.svg)


def _points(curve, parts):
    """The two tensors of a curve, given as such or as a metric's result."""
    if isinstance(curve, Mapping):
        missing = [part for part in parts if part not in curve]
        if missing:
            raise ValueError(f"expected a result with {' and '.join(parts)}, got {list(curve)}")
        curve = [curve[part] for part in parts]
    if not isinstance(curve, Sequence) or len(curve) < 2:
        raise TypeError(f"expected {' and '.join(parts)} of a curve, got {curve!r:.80}")
    return tensor_of(curve[0]), tensor_of(curve[1])


def _curves(curves, parts):
    """Names, x and y: of one curve, of several by name, and of a result with a row for each."""
    if not isinstance(curves, Mapping) or all(part in curves for part in parts):
        curves = {"": curves}
    names, xs, ys = [], [], []
    for name, curve in curves.items():
        x, y = _points(curve, parts)
        rows = [(name, x, y)]
        if x.ndim == 2 and y.ndim == 2:
            rows = [
                (f"{name} {i}".strip(), *_without_end(*row)) for i, row in enumerate(zip(x, y))
            ]
        for each in rows:
            names.append(str(each[0]))
            xs.append(each[1])
            ys.append(each[2])
    return names, xs, ys


def _without_end(x, y):
    """A class's curve: behind its end there is NaN."""
    used = (~(x.isnan() | y.isnan())).nonzero()
    end = int(used.max()) + 1 if used.numel() else 0
    return x[:end], y[:end]


def roc_plot(curves, *, title="", width=480):
    """Receiver operating characteristic, with the area under each curve.

    ``curves``: a result of ``BinaryROC`` or ``MulticlassROC``, a pair of tensors (false
    and true positive rates), or a dict of these by name; 8 curves at most.
    """
    return Plot(_plots.roc(*_curves(curves, ("fpr", "tpr")), title, float(width)))


def precision_recall_plot(curves, *, prevalence=None, title="", width=480):
    """Precision over recall as steps, with their area and lines of equal F1.

    ``curves``: a result of ``BinaryPrecisionRecallCurve`` or its like, a pair of tensors
    (recall and precision), or a dict of these by name; 8 curves at most. ``prevalence``:
    the ratio of positives, the precision of chance.
    """
    prevalence = float("nan") if prevalence is None else float(prevalence)
    curves = _curves(curves, ("recall", "precision"))
    return Plot(_plots.precision_recall(*curves, prevalence, title, float(width)))


def calibration_plot(preds, target, *, bins=10, title="", width=480):
    """Reliability of predicted probabilities [N] of targets [N] of 0 and 1."""
    return Plot(
        _plots.calibration(tensor_of(preds), tensor_of(target), bins, title, float(width))
    )


def confusion_matrix_plot(matrix, *, labels=(), title="", width=480):
    """A matrix [C, C] of counts, rows the true and columns the predicted classes."""
    labels = [str(label) for label in labels]
    return Plot(_plots.confusion_matrix(tensor_of(matrix), labels, title, float(width)))


def bar_plot(values, *, labels=(), low=None, high=None, title="", width=480):
    """A bar for each of `values` [C], or for each number of a dict, by name.

    ``low`` and ``high`` [C]: the ends of their intervals.
    """
    if isinstance(values, Mapping):
        labels = labels or list(values)
        values = torch.stack([tensor_of(v).detach().double().cpu() for v in values.values()])
    labels = [str(label) for label in labels]
    low, high = (None if end is None else tensor_of(end) for end in (low, high))
    return Plot(_plots.bars(tensor_of(values), labels, low, high, title, float(width)))


def runs_plot(runs, *, title="", width=480):
    """A value of several runs, one below the other, with intervals where there are any.

    ``runs``: a dict of names and numbers, ``tally.Interval``s of numbers, or triples of a
    value and the ends of its interval.
    """
    names, columns = [], ([], [], [])
    for name, run in runs.items():
        ends = run[:3] if isinstance(run, tuple) else (run, math.nan, math.nan)
        if len(ends) != 3:
            raise ValueError(f"'{name}': expected a value, low and high, got {run!r:.80}")
        names.append(str(name))
        for column, number in zip(columns, ends):
            column.append(float(number))
    return Plot(_plots.runs(names, *columns, title, float(width)))


def steps_plot(curves, *, title="", width=480):
    """Values over steps.

    ``curves``: a dict of names and values, each a list of numbers, for the steps 0, 1,
    ..., or a pair of steps and values, both tensors.
    """
    names, xs, ys = [], [], []
    for name, values in curves.items():
        if not (isinstance(values, tuple) and len(values) == 2):
            values = _numbers(values)
            values = torch.arange(len(values)), values
        names.append(str(name))
        xs.append(tensor_of(values[0]))
        ys.append(tensor_of(values[1]))
    return Plot(_plots.steps(names, xs, ys, title, float(width)))


def _numbers(values):
    if isinstance(values, torch.Tensor):
        return values
    return torch.tensor([float(value) for value in values], dtype=torch.float64)


def _is_number(value):
    return isinstance(value, (int, float)) or (
        isinstance(value, torch.Tensor) and value.numel() == 1
    )


def plot_results(name, results, *, labels=(), title="", width=480):
    """What ``plot()`` of a metric or collection draws."""
    shape = {"title": title, "width": width}
    if isinstance(results, (list, tuple)):
        return steps_plot(_over_steps(name, results), **shape)
    if isinstance(results, Mapping):
        if "fpr" in results and "tpr" in results:
            return roc_plot(_named_rows(results, ("fpr", "tpr"), labels), **shape)
        if "recall" in results and "thresholds" in results:
            rows = _named_rows(results, ("recall", "precision"), labels)
            return precision_recall_plot(rows, **shape)
        numbers = {key: value for key, value in results.items() if _is_number(value)}
        if numbers:
            return bar_plot({k: tensor_of(v).reshape(()) for k, v in numbers.items()}, **shape)
        raise ValueError(
            f"{name}: expected results with single numbers or a curve to plot, got "
            + ", ".join(f"{key} {list(tensor_of(v).shape)}" for key, v in results.items())
        )
    value = tensor_of(results).detach()
    if value.ndim == 2 and value.shape[0] == value.shape[1]:
        return confusion_matrix_plot(value, labels=labels, **shape)
    if value.ndim > 1:
        raise ValueError(
            f"{name}: expected a number, a vector or a square matrix to plot, got "
            f"{list(value.shape)}"
        )
    if value.ndim == 0:
        return bar_plot({name: value}, **shape)
    return bar_plot(value, labels=labels, **shape)


def _named_rows(results, parts, labels):
    """A result's curves, by the labels if there are some."""
    if not labels:
        return results
    x, y = (results[part] for part in parts)
    if x.ndim != 2 or len(labels) != len(x):
        raise ValueError(f"expected a label for each curve, got {len(labels)} for {list(x.shape)}")
    return {label: _without_end(a, b) for label, a, b in zip(labels, x, y)}


def _over_steps(name, results):
    """The values of each number in a list of results."""
    if not results:
        raise ValueError(f"{name}: expected results of one step at least, got none")
    if not isinstance(results[0], Mapping):
        results = [{name: each} for each in results]
    curves = {}
    for key, value in results[0].items():
        if not _is_number(value):
            continue
        curves[key] = [float(each[key]) for each in results]
    if not curves:
        raise ValueError(f"{name}: expected results with single numbers, got {list(results[0])}")
    return curves


__all__ = [
    "Plot", "bar_plot", "calibration_plot", "confusion_matrix_plot", "precision_recall_plot",
    "roc_plot", "runs_plot", "steps_plot",
]
