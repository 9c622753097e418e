"""Metrics by slices of the rows."""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from tally._collection import MetricCollection
from tally._columns import Coded, column_of
from tally._copies import Copyable
from tally._inputs import encode
from tally._kinds import checked, list_of, of_kind
from tally._library import classes
from tally._metric import Metric
from tally._ranks import over_ranks
from tally._words import call
from tally.plots import bar_plot

_MISSING, _TEXT, _INTEGER = range(3)


def key_words(key):
    """A slice's key in words."""
    return ", ".join("(missing)" if value is None else str(value) for value in key)


class Slice(NamedTuple):
    """The values of one slice."""

    #: A value for each column: an integer, a text, or None where rows have none. Empty
    #: for what all the others are folded into.
    key: tuple
    #: Over all ranks.
    rows: int
    #: Those of one metric as it returns them; of several, a dict.
    results: object

    @property
    def is_other(self):
        """Whether this is the slice that the smallest ones are merged into."""
        return not self.key

    @property
    def name(self):
        """The key as text: "north, 3", "(missing)", "(other)"."""
        return "(other)" if self.is_other else key_words(self.key)


def _add_value(value, kinds, texts):
    if value is None:
        kinds.append(_MISSING)
    elif isinstance(value, str):
        kinds.append(_TEXT)
        texts.append(value)
    elif isinstance(value, int) or (hasattr(value, "__index__") and not isinstance(value, Tensor)):
        kinds.extend((_INTEGER, int(value)))
    else:
        raise TypeError(
            f"expected keys of integers, texts or None, got {value!r:.40} "
            f"({type(value).__name__}); put numbers with fractions into bins first"
        )


def _coded_column(column):
    """The Tensor, or the Coded, of a column of keys."""
    if isinstance(column, str):
        raise TypeError(f"expected a key for each row, got the text {column!r:.40}")
    found = column_of(column, keep_nulls=True)
    if found is not None:
        return found
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    # True and 1 are one key, as in tensors.
    places = {}
    rows = [places.setdefault(value, len(places)) for value in values]
    return Coded(torch.tensor(rows, dtype=torch.int64), list(places))


def encode_keys(keys):
    columns = list(keys.values()) if isinstance(keys, Mapping) else keys
    if not isinstance(keys, Mapping) and not isinstance(keys, tuple):
        columns = [keys]
    kinds, tensors, texts = [], [], []
    for column in map(_coded_column, columns):
        if isinstance(column, Tensor):
            kinds.append(-1)
            tensors.append(column)
            continue
        kinds.append(len(column.values))
        for value in column.values:
            _add_value(value, kinds, texts)
        tensors.append(column.codes)
    return kinds, tensors, texts


def _encode_known(keys):
    """The keys of an option, each a value or a tuple of them."""
    keys = list_of("SlicedMetric: option 'keys'", keys, "keys")
    rows = [key if isinstance(key, tuple) else (key,) for key in keys]
    kinds, texts = [], []
    for row in rows:
        if len(row) != len(rows[0]):
            raise ValueError(f"keys: expected {len(rows[0])} values in each, got {row!r}")
        for value in row:
            _add_value(value, kinds, texts)
    return (len(rows[0]) if rows else 0), kinds, texts


def decode_key(kinds, texts):
    kinds, texts = iter(kinds), iter(texts)
    return tuple(
        None if kind == _MISSING else next(texts) if kind == _TEXT else next(kinds)
        for kind in kinds
    )


def members_of(metrics, owner):
    """Names and metrics; the name of a single one is empty."""
    if isinstance(metrics, Metric):
        return [("", metrics)]
    if not isinstance(metrics, (MetricCollection, Mapping)):
        raise TypeError(
            f"{owner}: option 'metrics': expected a tally.Metric, a MetricCollection or a dict of "
            f"metrics, got {metrics!r:.80}"
        )
    members = list(metrics.items())
    for name, metric in members:
        if not isinstance(metric, Metric):
            raise TypeError(f"{owner}: '{name}': expected a tally.Metric, got {metric!r:.80}")
        of_kind(f"{owner}: option 'metrics': name", name, str)
    return members


def add_members(held, members):
    """Adds metrics to what holds them; the kinds of their inputs by name."""
    declared = {}
    for name, metric in members:
        call(held.add, name, metric._lend())
        for input_name, kind in metric._declared.items():
            declared.setdefault(input_name, kind)
    return declared


class SlicedMetric(Copyable):
    """Metrics for each value of a key, or each combination of several, in one pass.

        by_hospital = tally.SlicedMetric(tally.MulticlassAccuracy(num_classes=3))
        by_hospital.update(hospitals, preds, target)      # a key for each row
        for each in by_hospital.compute():
            print(each.name, each.rows, each.results)

    Each slice has the value that the metrics have for its rows alone, on any number of
    ranks, whichever rank has which key. Metrics are copied, as in a collection.
    ``compute()`` is a call of all ranks. Metrics whose value depends on the batches that
    rows come in are rejected.

    Args:
        metrics: A metric, a collection, or a dict of metrics by name.
        keys: All keys that occur, where they are known: values, or tuples of several
            columns. They need not be exchanged between ranks, and another one is an error.
        max_slices: More slices than this are an error.
        largest: The number of slices to show, those with the most rows; the others are
            one. 0: all.
    """

    @checked
    def __init__(self, metrics, *, keys=None, max_slices=10_000, largest=0):
        members = members_of(metrics, "SlicedMetric")
        self._hold(members, (_encode_known(keys or ()), max_slices, largest))

    def _hold(self, members, options):
        keys, max_slices, largest = self._options = options
        self._held = call(classes.SlicedMetric, *keys, max_slices, largest)
        self._is_single = len(members) == 1 and not members[0][0]
        self._declared = add_members(self._held, members)
        self._members = [(name, metric.clone()) for name, metric in members]

    def forward(self, *inputs, **named):
        """Not supported: use a separate object for the slices of one batch."""
        raise TypeError("SlicedMetric has no forward(): call update(...), then compute()")

    __call__ = forward

    def update(self, keys, *inputs, **named):
        """Accumulates one batch; if it raises, nothing has changed.

        ``keys`` has one for each row: a tensor, an array or a column of integers or texts
        (of NumPy, pandas, polars or Arrow, also as a dictionary or category, where nulls
        are None), or a list of integers, texts and None. A tuple or a dict of such columns
        makes a slice of each combination.
        """
        encoded = encode(inputs, named, self._declared)
        call(self._held.update, *encode_keys(keys), *encoded)

    def compute(self):
        """The slices over all ranks, as a list of ``tally.Slice``.

        In the order of their keys (None, integers by value, texts by bytes), then what
        others are folded into.
        """
        slices = over_ranks(self._held.compute)
        return [self._slice(*parts) for parts in slices]

    def _slice(self, kinds, texts, rows, results):
        key = decode_key(kinds, texts)
        if self._is_single and list(results) == ["value"]:
            return Slice(key, rows, results["value"])
        return Slice(key, rows, dict(results))

    def plot(self, value=None, *, result=None, title="", width=480):
        """A bar for each slice of ``compute()``, or of `value`, which it gave.

        ``result`` names the one to draw; not needed where there is one number.
        """
        value = self.compute() if value is None else value
        if not value:
            raise ValueError("expected a slice at least to plot, got none")
        alone = type(self._members[0][1]).__name__ if self._is_single else "value"
        found = [
            each.results if isinstance(each.results, dict) else {alone: each.results}
            for each in value
        ]
        numbers = [name for name, each in found[0].items() if each.numel() == 1]
        if result is None and len(numbers) == 1:
            result = numbers[0]
        if result not in numbers:
            raise ValueError(
                f"expected result to be one of {', '.join(numbers) or 'no numbers'}, "
                f"got {result!r}"
            )
        heights = [float(each[result]) for each in found]
        names = [each.name for each in value]
        # An integer and a text of one name are two slices.
        labels = [
            each.name if names.count(each.name) == 1 else ", ".join(map(repr, each.key))
            for each in value
        ]
        return bar_plot(
            torch.tensor(heights, dtype=torch.float64), labels=labels,
            title=title or result, width=width,
        )

    def keys(self):
        """Those of this rank's slices so far, as tuples; while synced, of all ranks.

        They are the first dimension of each field of ``metric_state``; one whose shape
        differs between slices is listed slice by slice instead.
        """
        return [decode_key(*parts) for parts in self._held.keys()]

    def __len__(self):
        """The number of slices of this rank so far."""
        return self._held.size()

    def _parts(self):
        return self._members, self._options

    def _rebuild(self, members, options):
        self._hold(members, options)
