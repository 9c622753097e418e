"""Metrics with confidence intervals."""

from typing import NamedTuple

from torch import Tensor

from tally._kinds import checked
from tally._library import classes
from tally._rows import RowMetric
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
    #: Rows that came, over all ranks.
    n: int
    #: Or blocks; 0 for formulas.
    replicates: int
    #: Replicates or blocks without a value: the most for any element.
    undefined: int
    #: Of Student's t; infinite for methods that do not use it.
    degrees_of_freedom: Tensor
    #: Rows that count, neither ignored nor without weight; of weighted rows the sum of their
    #: weights.
    counted: float
    #: What is drawn as a whole, and how many of them count.
    units: float
    unit: str
    #: What a reader has to know: "few_units", "no_variation", ...; docs/statistics.md.
    flags: tuple

    def number(self):
        """The value as a float."""
        return float(self.value)

    def ends(self):
        """The bounds as floats."""
        return float(self.low), float(self.high)

    def __str__(self):
        """"0.83 [0.81, 0.85]", for a number."""
        if self.value.numel() != 1:
            return repr(self)
        value, low, high = (float(each) for each in (self.value, self.low, self.high))
        return f"{value:.4g} [{low:.4g}, {high:.4g}]"


class IntervalMetric(RowMetric):
    """A metric with confidence intervals, the same on any split over ranks.

        accuracy = tally.IntervalMetric(tally.BinaryAccuracy())
        accuracy.update(preds, target)
        print(accuracy.compute())                  # 0.83 [0.81, 0.85]

    The metric is copied and must have accumulated nothing. ``compute()`` is a call of all
    ranks.

    Args:
        metric: The metric. Metrics without such an interval are rejected.
        level: In (0, 1).
        method: "auto" goes by the metric: "wilson" for proportions of rows, "mover" for
            means of classes, "logit_delta" for other values of counts, "delong_newcombe" for
            AUROC ("obuchowski" of rows in groups), "delete_one" for average precision,
            "order_statistic" for medians, "debiased_gaps" for the L2 calibration error,
            "jackknife" for everything else; also "clopper_pearson", "delong", "newcombe",
            "poisson_cells", "poisson" and "double_or_nothing".
        ends: How the ends follow from replicates: "percentile", "bca", "normal" or
            "logit_normal".
        replicates: Number of bootstrap replicates.
        blocks: Up to this many units, the jackknife omits one at a time; of more, it
            divides them into so many blocks. 0: 250.
        seed: Of the random numbers.
        grouped: Rows with the same id belong together, such as those of a patient. The
            queries of a retrieval metric are units without it.
        stratified: Replicates keep the number of rows of each class of the target, as for
            samples of cases and controls: with "poisson_cells", and replicates of AUROC and
            average precision.
    """

    _class = classes.IntervalMetric

    @checked
    def __init__(
        self, metric, *, level=0.95, method="auto", ends="percentile", replicates=1000,
        blocks=0, seed=0, grouped=False, stratified=False,
    ):
        super().__init__(
            metric, level, method, ends, replicates, blocks, seed, grouped, stratified
        )

    def compute(self):
        """An ``Interval``, or a dict of them for a result of several parts."""
        return self._compute(lambda *parts: Interval(*parts[:-1], tuple(parts[-1])))

    def plot(self, value=None, *, labels=(), title="", width=480):
        """A drawing of ``compute()``, or of `value`, which it gave, for notebooks and pages.

        Numbers are drawn as points with their intervals, a vector as bars; ``labels`` are
        names of classes. The title says level, method and number of rows.
        """
        value = self.compute() if value is None else value
        name = type(self._metric).__name__
        parts = {name: value} if isinstance(value, Interval) else dict(value)
        first = next(iter(parts.values()))
        title = title or f"{name}: {100 * first.level:g}% ({first.method}, {_counted(first)})"
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


def _counted(interval):
    """"900 rows", "20 queries"."""
    units = f"{interval.units:.0f} "
    if interval.units == 1:
        return units + interval.unit
    return units + ("queries" if interval.unit == "query" else f"{interval.unit}s")


def _drawn(interval):
    """Percentiles need not contain the value; such ends are omitted."""
    value, low, high = (float(each) for each in interval[:3])
    return (value, low, high) if low <= value <= high else value
