"""Whether one of two models is better."""

from typing import NamedTuple

from torch import Tensor

from tally._kinds import checked
from tally._library import classes
from tally._rows import RowMetric


class Comparison(NamedTuple):
    """The values of two models and their difference, elementwise."""

    first: Tensor
    second: Tensor
    #: first - second.
    difference: Tensor
    #: The ends of the difference's interval; NaN where there is none.
    low: Tensor
    high: Tensor
    #: Of the hypothesis that there is no difference.
    p_value: Tensor
    level: float
    #: The one that was used.
    method: str
    #: Rows that came, over all ranks.
    n: int
    #: Or blocks; 0 for formulas.
    replicates: int
    #: Replicates or blocks in which either has no value: the most for any element.
    undefined: int
    #: Of the difference; NaN where it is not known.
    standard_error: Tensor
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
        """The difference as a float."""
        return float(self.difference)

    def ends(self):
        """Low and high as floats."""
        return float(self.low), float(self.high)

    def __str__(self):
        """"0.03 [0.01, 0.05], p = 0.003", for a number."""
        if self.difference.numel() != 1:
            return repr(self)
        difference, low, high, p_value = (float(each) for each in self[2:6])
        return f"{difference:.4g} [{low:.4g}, {high:.4g}], p = {p_value:.2g}"


class ModelComparison(RowMetric):
    """Whether one of two models is better, by a metric of both on the same rows.

        accuracy = tally.ModelComparison(tally.BinaryAccuracy())
        accuracy.update(first_preds, second_preds, target)
        print(accuracy.compute())                  # 0.03 [0.01, 0.05], p = 0.003

    The first input of the metric is given once for each model, by name as
    ``first_preds`` and ``second_preds``; the others are shared. The metric is copied and
    must have accumulated nothing. ``compute()`` is a call of all ranks, and its result
    the same on any split over them.

    Args:
        metric: The metric. Metrics without intervals are rejected.
        level: Of the difference's interval, in (0, 1).
        method: "auto" goes by the metric: "mcnemar" for fractions of correct rows,
            "delong" for AUROC, "jackknife" for everything else, with the p-value of random
            signs for means of up to 200 units; also "poisson" and "double_or_nothing".
        replicates: Number of bootstrap replicates.
        blocks: As of IntervalMetric.
        seed: Of the random numbers.
        grouped: Rows with the same id belong together, such as those of a user.
    """

    _class = classes.ModelComparison

    @checked
    def __init__(
        self, metric, *, level=0.95, method="auto", replicates=1000, blocks=0, seed=0,
        grouped=False,
    ):
        super().__init__(metric, level, method, replicates, blocks, seed, grouped)

    def _inputs_of(self, declared):
        names = list(declared)
        if not names:
            return declared
        own = {f"{which}_{names[0]}": declared[names[0]] for which in ("first", "second")}
        return own | {name: declared[name] for name in names[1:]}

    def compute(self):
        """A ``Comparison``, or a dict of them for a result of several parts."""
        return self._compute(lambda *parts: Comparison(*parts[:-1], tuple(parts[-1])))
