"""Metrics with confidence intervals."""

from typing import NamedTuple

from torch import Tensor

from tally._copies import Copyable
from tally._errors import DistError, sync_error
from tally._inputs import encode, tensor_of
from tally._library import classes
from tally._metric import Metric
from tally._ranks import follow
from tally.plots import bar_plot, runs_plot


class Interval(NamedTuple):
    """A value with its interval, elementwise."""

    value: Tensor
    #: NaN where there is no interval.
    low: Tensor
    high: Tensor
    standard_error: Tensor
    level: float
    #: The one that was used.
    method: str
    #: Rows, over all ranks.
    n: int
    #: Or blocks; 0 for formulas.
    replicates: int
    #: Replicates or blocks without a value: the most for any element.
    undefined: int

    def __str__(self):
        """"0.83 [0.81, 0.85]", for a number."""
        if self.value.numel() != 1:
            return repr(self)
        value, low, high = (float(each) for each in (self.value, self.low, self.high))
        return f"{value:.4g} [{low:.4g}, {high:.4g}]"


class IntervalMetric(Copyable):
    """A metric with confidence intervals, the same on any split over ranks.

        accuracy = tally.IntervalMetric(tally.BinaryAccuracy())
        accuracy.update(preds, target)
        print(accuracy.compute())                  # 0.83 [0.81, 0.85]

    The metric is copied and must have accumulated nothing. ``compute()`` is a call of all
    ranks.

    Args:
        metric: The metric. Those without such an interval are refused.
        level: In (0, 1).
        method: "auto" goes by the metric: "wilson" for proportions of rows, "logit_delta"
            for other values of counts, "delong" for AUROC, "poisson" for sums, "jackknife"
            for everything else; also "clopper_pearson", "newcombe", "poisson_cells" and
            "double_or_nothing".
        ends: How the ends follow from replicates: "percentile", "bca", "normal" or
            "logit_normal".
        replicates: Number of bootstrap replicates.
        blocks: Number of blocks of the jackknife.
        seed: Of the random numbers.
        grouped: Rows with the same id belong together, such as those of a user.
    """

    def __init__(
        self, metric, *, level=0.95, method="auto", ends="percentile", replicates=1000,
        blocks=20, seed=0, grouped=False,
    ):
        if not isinstance(metric, Metric):
            raise TypeError(
                f"IntervalMetric expected a tally.Metric, got a {type(metric).__name__}"
            )
        self._options = (float(level), method, ends, replicates, blocks, seed, grouped)
        self._hold(metric)

    def _hold(self, metric):
        self._held = classes.IntervalMetric(metric._held, *self._options)
        self._metric = metric.clone()
        self._declared = metric._declared

    @property
    def method(self):
        """The method in use, never "auto"."""
        return self._held.method()

    @property
    def uses_ids(self):
        """Whether ids of rows make a difference; with several ranks they are then needed."""
        return self._held.uses_ids()

    @property
    def rows(self):
        """Rows of this rank so far."""
        return self._held.rows()

    def update(self, *inputs, ids=None, **named):
        """Accumulates one batch; if it raises, nothing has changed.

        ``ids`` has one for each row, an integer or a text: the same in every run and on
        every rank, as its number in the data set. By default rows are numbered.
        """
        texts = None
        if ids is not None and not isinstance(ids, Tensor):
            listed = ids.tolist() if hasattr(ids, "tolist") else list(ids)
            if listed and all(isinstance(each, str) for each in listed):
                ids, texts = None, listed
            else:
                ids = tensor_of(ids)
        self._held.update(ids, texts, *encode(inputs, named, self._declared))

    def compute(self):
        """An ``Interval``, or a dict of them for a result of several parts."""
        follow()
        try:
            found = self._held.compute()
        except DistError as error:
            raise sync_error(error) from None
        intervals = {name: Interval(*parts) for name, *parts in found}
        return intervals[""] if list(intervals) == [""] else intervals

    def plot(self, value=None, *, labels=(), title="", width=480):
        """A drawing of ``compute()``, or of `value`, which it gave, for notebooks and pages.

        Numbers are drawn as points with their intervals, a vector as bars; ``labels`` are
        names of classes. The title says level, method and number of rows.
        """
        value = self.compute() if value is None else value
        name = type(self._metric).__name__
        parts = {name: value} if isinstance(value, Interval) else dict(value)
        first = next(iter(parts.values()))
        title = title or f"{name}: {100 * first.level:g} % ({first.method}, {first.n} rows)"
        if isinstance(value, Interval) and value.value.ndim == 1:
            return bar_plot(
                value.value, labels=labels, low=value.low, high=value.high, title=title,
                width=width,
            )
        numbers = {key: each for key, each in parts.items() if each.value.numel() == 1}
        if not numbers:
            sizes = ", ".join(f"{key} {list(each.value.shape)}" for key, each in parts.items())
            raise ValueError(f"expected intervals of numbers or of a vector to plot, got {sizes}")
        return runs_plot({key: _drawn(each) for key, each in numbers.items()}, title=title,
                         width=width)

    def reset(self):
        """Forgets all rows."""
        self._held.reset()

    def _parts(self):
        return self._metric, self._options

    def _rebuild(self, metric, options):
        self._options = options
        self._hold(metric)


def _drawn(interval):
    """Percentiles need not contain the value; such ends are left out."""
    value, low, high = (float(each) for each in interval[:3])
    return (value, low, high) if low <= value <= high else value
