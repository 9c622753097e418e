"""Metrics, and arithmetic on them."""

from collections.abc import Mapping

import torch

from tally._accumulator import OneMetric
from tally._held import METRIC_OPTIONS, STATE_OPTIONS, SYNC_OPTIONS, Held
from tally._intervals import IntervalMetric
from tally._library import METRICS, classes
from tally._options import bind, signature_of, text_of
from tally._words import REFUSED, reworded, reworded_option


class Metric(OneMetric):
    """Accumulates what it needs to know of batches, and computes a value from it.

    ``tally.Metric("MulticlassAccuracy(num_classes=10)")`` makes any metric from text,
    and each has a class of its own: ``tally.MulticlassAccuracy(num_classes=10)``.
    Inputs are tensors, arrays (of NumPy, or any that support DLPack), numbers, or
    texts; by position or by name.

    With several ranks ``compute()``, ``sync()``, and ``forward()`` with
    ``dist_sync_on_step`` are calls of all ranks. One thread at a time may use an object.
    """

    _entry = None

    def __init__(self, *args, **kwargs):
        super().__init__()
        entry = self._entry
        name = type(self).__name__
        signature = _TEXT_SIGNATURE if entry is None else self.__signature__
        given = bind(name, signature, args, kwargs)
        options = {k: given.pop(k, default) for k, default in METRIC_OPTIONS.items()}
        if entry is None:
            text = given["text"]
            if not isinstance(text, str):
                raise TypeError(f"Metric: expected the text of a metric, got {text!r}")
        else:
            self._take_over(given, options, kwargs)
            texts = ", ".join(f"{name}={text_of(v)}" for name, v in given.items())
            text = f"{entry['name']}({texts})"
        try:
            self._start(text, options)
        except REFUSED as error:
            raise reworded_option(error, entry["name"], given) if entry else reworded(error)

    def _take_over(self, given, options, kwargs):
        """What metrics inside do with their inputs is the wrapper's business, too."""
        kinds = {each["name"]: each["expected"] for each in self._entry["options"]}
        for key, value in given.items():
            inside = value.values() if isinstance(value, Mapping) else (value,)
            is_metric = kinds[key].startswith(("a metric", "metrics by name"))
            for metric in inside:
                if is_metric and not isinstance(metric, (Metric, str)):
                    raise TypeError(
                        f"{type(self).__name__}: option '{key}': expected {kinds[key]}, got "
                        f"{metric!r}"
                    )
                if isinstance(metric, Metric):
                    for name in STATE_OPTIONS:
                        if name not in kwargs:
                            options[name] = metric._options[name]

    def _start(self, recipe, options):
        held = Held.made(type(self), recipe, options)
        self._hold(held)
        entry = self._entry
        if entry is None and isinstance(recipe, str):
            entry = METRICS.get(recipe.partition("(")[0].strip())
        kinds = {i["name"]: i["kind"] for i in entry["inputs"]} if entry else {}
        self.__dict__["_declared"] = {
            name: kinds.get(name) for name in held.input_names()
        }

    @staticmethod
    def _make(recipe, options):
        if isinstance(recipe, str):
            return classes.Metric(recipe, *(options[name] for name in STATE_OPTIONS))
        return _compose(recipe)

    def registry_text(self):
        """The metric as text, for ``tally.Metric`` and the program ``tally``."""
        if not isinstance(self._held.recipe, str):
            raise ValueError(f"{self!r} cannot be written as text")
        return self._held.recipe

    @property
    def is_differentiable(self):
        """Whether ``forward()`` returns a value with a graph."""
        return self._held.is_differentiable()

    @property
    def higher_is_better(self):
        """True, False, or None if neither is better."""
        answer = self._held.higher_is_better()
        return None if answer is None else bool(answer)

    def interval(self, **options):
        """An ``IntervalMetric`` around one like this, which must have accumulated nothing.

        An interval needs the rows: give them to what this returns. The options are those
        of ``tally.IntervalMetric``: ``level``, ``method``, ``replicates``, ...
        """
        return IntervalMetric(self, **options)

    # ---- arithmetic

    def __add__(self, other):
        return _operation("+", self, other)

    def __radd__(self, other):
        return _operation("+", other, self)

    def __sub__(self, other):
        return _operation("-", self, other)

    def __rsub__(self, other):
        return _operation("-", other, self)

    def __mul__(self, other):
        return _operation("*", self, other)

    def __rmul__(self, other):
        return _operation("*", other, self)

    def __truediv__(self, other):
        return _operation("/", self, other)

    def __rtruediv__(self, other):
        return _operation("/", other, self)

    def __pow__(self, other):
        return _operation("pow", self, other)

    def __rpow__(self, other):
        return _operation("pow", other, self)

    def __neg__(self):
        return _operation("-", 0.0, self)

    def __abs__(self):
        return _operation("abs", self)


_TEXT_SIGNATURE = signature_of(
    [{"name": "text", "is_required": True}], METRIC_OPTIONS
)


class CompositionalMetric(Metric):
    """Arithmetic on metrics, which is a metric: ``2 * p * r / (p + r)``.

    It takes the options of its metrics, not the objects; one that occurs twice is
    updated once.
    """

    def __init__(self, recipe):
        torch.nn.Module.__init__(self)
        self._start(recipe, dict(METRIC_OPTIONS))


class DerivedMetric(Metric):
    """The value of one metric, and the state of another, from which its own derives.

    Both have accumulated nothing, and options as text; those that every metric has are
    the first one's.
    """

    def __init__(self, value, source):
        torch.nn.Module.__init__(self)
        self._start((value.registry_text(), source.registry_text()), dict(value._options))

    @staticmethod
    def _make(recipe, options):
        state_options = [options[name] for name in STATE_OPTIONS]
        return classes.Metric.derived(*(classes.Metric(text, *state_options) for text in recipe))


def _recipe_of(operand):
    if isinstance(operand, Metric):
        recipe = operand._held.recipe
        if isinstance(recipe, str):
            state_options = tuple(operand._options[name] for name in STATE_OPTIONS)
            return ("metric", recipe, state_options)
        return recipe
    return float(operand)


def _check_operand(metric):
    if metric.update_count:
        raise ValueError(
            "expected metrics in arithmetic that have accumulated nothing, got "
            f"{metric!r} whose update_count is {metric.update_count}"
        )
    for name in (*SYNC_OPTIONS, "process_group"):
        if metric._options[name] != METRIC_OPTIONS[name]:
            raise ValueError(f"{name}: tell the result of the arithmetic, not {metric!r}")


def _operation(symbol, *operands):
    for operand in operands:
        if not isinstance(operand, (Metric, int, float)):
            return NotImplemented
        if isinstance(operand, Metric):
            _check_operand(operand)
    return CompositionalMetric((symbol, *map(_recipe_of, operands)))


def _compose(recipe):
    symbol, *operands = recipe
    if symbol == "metric":
        text, state_options = operands
        return classes.Metric(text, *state_options)
    arguments = []
    for operand in operands:
        arguments += [None, operand] if isinstance(operand, float) else [
            _compose(operand), 0.0]
    if len(operands) == 1:
        arguments += [None, 0.0]
    return classes.Metric.compose(symbol, *arguments, len(operands) == 1)


def minimum(a, b):
    """The smaller of two metrics' values, or of a metric's and a number: a metric."""
    return _operation("minimum", a, b)


def maximum(a, b):
    """The larger of two metrics' values, or of a metric's and a number: a metric."""
    return _operation("maximum", a, b)


def sqrt(metric):
    """The square root of a metric's value: a metric."""
    return _operation("sqrt", metric)
