"""Intervals, tests and numbers of rows, as functions of counts and estimates."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import Tensor

from tally._inputs import tensor_of
from tally._kinds import checked, of_kind
from tally._library import classes

_statistics = classes.Statistics


class IntervalBounds(NamedTuple):
    """The bounds of an interval; NaN if there is none."""

    low: float
    high: float


class AreaEstimate(NamedTuple):
    """An area under the ROC curve with its standard error."""

    area: float
    standard_error: float
    #: Samples, whatever their weights.
    positives: float
    negatives: float
    #: Of samples with weights their effective numbers; 0: the numbers themselves.
    effective_positives: float = 0.0
    effective_negatives: float = 0.0


class McnemarResult(NamedTuple):
    """The two-sided p-values of McNemar's test."""

    exact: float
    #: Counts the observed outcome half: closer to the level than the exact one.
    mid: float


class AreaComparison(NamedTuple):
    """Two areas under ROC curves and their difference, first - second."""

    first: float
    second: float
    difference: float
    low: float
    high: float
    p_value: float
    standard_error: float


class ProportionComparison(NamedTuple):
    """Two independent proportions and their difference, first - second."""

    first: float
    second: float
    difference: float
    low: float
    high: float
    p_value: float


class SampleSummary(NamedTuple):
    """The summary of a sample that Welch's test needs."""

    mean: float
    #: With n - 1 as divisor.
    standard_deviation: float
    n: float


class WelchResult(NamedTuple):
    """The difference of two means, first - second."""

    difference: float
    low: float
    high: float
    p_value: float
    standard_error: float
    #: Of freedom.
    degrees: float


class EquivalenceResult(NamedTuple):
    """Tests of a difference against a margin."""

    #: The interval of the difference, of level 1 - 2 alpha.
    low: float
    high: float
    #: One-sided, of the hypothesis that the difference is -margin or less.
    non_inferiority_p: float
    #: Of the hypothesis that it is margin or more.
    non_superiority_p: float
    #: The larger of both.
    equivalence_p: float
    is_non_inferior: bool
    is_equivalent: bool


class ExpectedAreas(NamedTuple):
    """The expected areas under two ROC curves of the same rows."""

    first: float
    second: float
    #: Of the two estimates, over data sets; 0 for models on different rows.
    correlation: float
    #: The part of the rows that are positive.
    prevalence: float


def _numbers(name: str, kind: Any, values: Any) -> list[float]:
    """The fields of such a tuple, also of a plain one."""
    fields = kind._fields
    needed = len(fields) - len(kind._field_defaults)
    if not isinstance(values, Sequence) or not needed <= len(values) <= len(fields):
        raise ValueError(f"{name}: expected {', '.join(fields)}, got {values!r:.80}")
    return [
        of_kind(f"{name}: {field}", value, float) for field, value in zip(fields, kind(*values))
    ]


@checked
def wilson_interval(successes: float, n: float, level: float = 0.95) -> IntervalBounds:
    """Wilson's score interval for ``successes`` of ``n`` independent trials.

        tally.wilson_interval(95, 100)             # IntervalBounds(low=0.888, high=0.978)

    In [0, 1], NaN if n is 0. ``ValueError`` for a level outside (0, 1), and unless
    0 <= successes <= n.
    """
    return IntervalBounds(*_statistics.wilson_interval(successes, n, level))


@checked
def clopper_pearson_interval(successes: float, n: float, level: float = 0.95) -> IntervalBounds:
    """The same by Clopper and Pearson: never below its nominal coverage, and wider."""
    return IntervalBounds(*_statistics.clopper_pearson_interval(successes, n, level))


@checked
def newcombe_interval(
    area: float, positives: float, negatives: float, level: float = 0.95
) -> IntervalBounds:
    """Newcombe's interval (method 5) for an area under the ROC curve.

    Wider than DeLong's, but not empty at areas of 0 and 1. NaN without samples of either
    class.
    """
    return IntervalBounds(*_statistics.newcombe_interval(area, positives, negatives, level))


def delong(scores: Any, target: Any, weight: Any = None) -> AreaEstimate:
    """The area under the ROC curve with DeLong's standard error.

    ``scores``: real [N]. ``target``: 0 and 1 [N]. ``weight``: real [N], by default 1. NaN
    unless both classes occur, without weights twice.
    """
    weight = None if weight is None else tensor_of(weight)
    return AreaEstimate(*_statistics.delong(tensor_of(scores), tensor_of(target), weight))


@checked
def delong_interval(estimate: AreaEstimate, level: float = 0.95) -> IntervalBounds:
    """The interval of a result of ``delong``, on the logit scale with Student's t.

    Newcombe's where the standard error is 0 or undefined.
    """
    numbers = _numbers("delong_interval", AreaEstimate, estimate)
    return IntervalBounds(*_statistics.delong_interval(numbers, level))


@checked
def mcnemar(first_only: int, second_only: int) -> McnemarResult:
    """Whether two models are correct equally often on the same rows.

        tally.mcnemar(12, 30).mid                  # 0.0054

    By the rows on which the first model alone is correct, and the second.
    """
    return McnemarResult(*_statistics.mcnemar(first_only, second_only))


@checked
def paired_difference_interval(
    both: int, first_only: int, second_only: int, neither: int, level: float = 0.95
) -> IntervalBounds:
    """Newcombe's interval (method 10) for the difference of two proportions of the same rows.

    Of those that the first model has right, minus the second; numbers of rows by which of
    them are right.
    """
    return IntervalBounds(
        *_statistics.paired_difference_interval(both, first_only, second_only, neither, level)
    )


@checked
def compare_areas(first: Any, second: Any, target: Any, level: float = 0.95) -> AreaComparison:
    """Compares the areas under the ROC curves of two models' scores for the same rows.

    By DeLong's covariance. Scores real [N], target 0 and 1 [N]. NaN unless each class
    occurs twice.
    """
    return AreaComparison(
        *_statistics.compare_areas(
            tensor_of(first), tensor_of(second), tensor_of(target), level
        )
    )


@checked
def difference_interval(
    successes1: float, n1: float, successes2: float, n2: float, level: float = 0.95
) -> IntervalBounds:
    """Newcombe's hybrid score interval for the difference of two independent proportions.

    Of successes1 / n1 - successes2 / n2; NaN if n1 or n2 is 0.
    """
    return IntervalBounds(
        *_statistics.difference_interval(successes1, n1, successes2, n2, level)
    )


@checked
def compare_proportions(
    successes1: float, n1: float, successes2: float, n2: float, level: float = 0.95
) -> ProportionComparison:
    """Compares two independent proportions by the score test, two-sided.

    That is Pearson's chi-squared test without a correction for continuity; the interval is
    that of ``difference_interval``. The p-value is NaN where nothing varies.
    """
    return ProportionComparison(
        *_statistics.compare_proportions(successes1, n1, successes2, n2, level)
    )


@checked
def compare_areas_unpaired(
    first: AreaEstimate, second: AreaEstimate, level: float = 0.95
) -> AreaComparison:
    """Compares areas under the ROC curves of different rows, whose variances add.

        tally.compare_areas_unpaired(tally.delong(x, t), tally.delong(y, u)).p_value
    """
    numbers = (_numbers("compare_areas_unpaired", AreaEstimate, e) for e in (first, second))
    return AreaComparison(*_statistics.compare_areas_unpaired(*numbers, level))


@checked
def welch_test(
    first: SampleSummary | tuple[float, float, float],
    second: SampleSummary | tuple[float, float, float],
    level: float = 0.95,
) -> WelchResult:
    """Welch's t-test of two independent samples, two-sided, and the difference's interval.

        tally.welch_test((5.1, 0.8, 30), (4.6, 1.1, 25)).p_value

    Of mean, standard deviation and n. All but the difference is NaN if n is below 2 for
    one sample or the standard deviation 0 for both.
    """
    numbers = (_numbers("welch_test", SampleSummary, sample) for sample in (first, second))
    return WelchResult(*_statistics.welch_test(*numbers, level))


@checked
def equivalence_test(
    difference: float, standard_error: float, degrees: float, margin: float, alpha: float = 0.05
) -> EquivalenceResult:
    """Non-inferiority and equivalence by two one-sided tests (TOST) against a margin.

    ``degrees``: of freedom, ``math.inf`` for a normal distribution. Where lower values are
    better, ``non_superiority_p`` is that of non-inferiority. NaN, with verdicts of False, if
    something is NaN or the standard error 0.
    """
    return EquivalenceResult(
        *_statistics.equivalence_test(difference, standard_error, degrees, margin, alpha)
    )


def holm(p_values: Any) -> Tensor:
    """Holm's adjusted p-values, which control the family-wise error rate.

        tally.holm([0.01, 0.04, 0.03])             # tensor([0.03, 0.06, 0.06])

    Under any dependence between the tests. Real numbers of any shape; returns float64 of
    the same shape. NaN stay NaN and do not count.
    """
    return _statistics.holm(tensor_of(p_values))


def hochberg(p_values: Any) -> Tensor:
    """Hochberg's: the same for independent or positively dependent tests, never larger."""
    return _statistics.hochberg(tensor_of(p_values))


def benjamini_hochberg(p_values: Any) -> Tensor:
    """Benjamini's and Hochberg's, which control the false discovery rate.

    For independent and positively dependent tests.
    """
    return _statistics.benjamini_hochberg(tensor_of(p_values))


@checked
def rows_for_proportion(proportion: float, width: float, level: float = 0.95) -> int:
    """The fewest rows for which Wilson's interval of a proportion is at most so wide.

        tally.rows_for_proportion(0.9, width=0.05) # 557
    """
    return _statistics.rows_for_proportion(proportion, width, level)


@checked
def mcnemar_power(first_only: float, second_only: float, rows: int, alpha: float = 0.05) -> float:
    """The power of McNemar's test (mid-p) on so many rows, summed over all outcomes.

    ``first_only``, ``second_only``: the probabilities that one model alone has a row right.
    """
    return _statistics.mcnemar_power(first_only, second_only, rows, alpha)


@checked
def rows_for_mcnemar(
    first_only: float, second_only: float, power: float, alpha: float = 0.05
) -> int:
    """A number of rows for which ``mcnemar_power`` is at least ``power``.

    For one row fewer, it is not.
    """
    return _statistics.rows_for_mcnemar(first_only, second_only, power, alpha)


@checked
def expected_area_error(area: float, positives: float, negatives: float) -> float:
    """The standard error to be expected of an area under the ROC curve.

    Hanley's and McNeil's, with Newcombe's mean of both numbers of samples: a little large
    for normal scores.
    """
    return _statistics.expected_area_error(area, positives, negatives)


@checked
def expected_area_width(
    area: float, prevalence: float, rows: float, level: float = 0.95
) -> float:
    """The width to be expected of ``delong_interval``.

    ``prevalence``: the part of the rows that are positive. NaN for fewer than one row of
    either class.
    """
    return _statistics.expected_area_width(area, prevalence, rows, level)


@checked
def rows_for_area(area: float, prevalence: float, width: float, level: float = 0.95) -> int:
    """The fewest rows, at least two per class, whose interval is at most this wide."""
    return _statistics.rows_for_area(area, prevalence, width, level)


@checked
def compared_areas_power(
    areas: ExpectedAreas | tuple[float, float, float, float], rows: float, alpha: float = 0.05
) -> float:
    """The power of DeLong's test of two areas under ROC curves of the same rows.

        tally.compared_areas_power(tally.ExpectedAreas(0.9, 0.87, 0.5, 0.2), rows=2000)
    """
    numbers = _numbers("compared_areas_power", ExpectedAreas, areas)
    return _statistics.compared_areas_power(numbers, rows, alpha)


@checked
def rows_for_compared_areas(
    areas: ExpectedAreas | tuple[float, float, float, float], power: float, alpha: float = 0.05
) -> int:
    """The fewest rows, at least two per class, with at least this power."""
    numbers = _numbers("rows_for_compared_areas", ExpectedAreas, areas)
    return _statistics.rows_for_compared_areas(numbers, power, alpha)


__all__ = [
    "AreaComparison", "AreaEstimate", "EquivalenceResult", "ExpectedAreas", "IntervalBounds",
    "McnemarResult", "ProportionComparison", "SampleSummary", "WelchResult",
    "benjamini_hochberg", "clopper_pearson_interval", "compare_areas", "compare_areas_unpaired",
    "compare_proportions", "compared_areas_power", "delong", "delong_interval",
    "difference_interval", "equivalence_test", "expected_area_error", "expected_area_width",
    "hochberg", "holm", "mcnemar", "mcnemar_power", "newcombe_interval",
    "paired_difference_interval", "rows_for_area", "rows_for_compared_areas",
    "rows_for_mcnemar", "rows_for_proportion", "welch_test", "wilson_interval",
]
