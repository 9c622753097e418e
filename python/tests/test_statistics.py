"""Functions of counts and estimates, and how many rows are needed."""

import math

import pytest
import tally
import torch

torch.manual_seed(0)
TARGET = torch.arange(80) % 3 == 0
SCORES = torch.rand(80) + 0.4 * TARGET
OTHERS = torch.rand(80) + 0.2 * TARGET


def test_proportions_are_those_of_statsmodels():
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    for name, method in (("wilson", "wilson"), ("clopper_pearson", "beta")):
        ends = getattr(tally, f"{name}_interval")(95, 100, level=0.9)
        assert isinstance(ends, tally.IntervalBounds)
        assert tuple(ends) == pytest.approx(proportion.proportion_confint(95, 100, 0.1, method))
    result = tally.compare_proportions(56, 70, 48, 80)
    expected = proportion.confint_proportions_2indep(56, 70, 48, 80, "newcomb", "diff")
    assert (result.low, result.high) == pytest.approx(expected)
    assert tally.difference_interval(56, 70, 48, 80) == (result.low, result.high)
    assert result.p_value == pytest.approx(proportion.proportions_ztest([56, 48], [70, 80])[1])
    assert result.difference == pytest.approx(0.2) and result.first == 0.8


def test_areas_are_those_of_metrics():
    estimate = tally.delong(SCORES, TARGET)
    assert estimate.area == pytest.approx(tally.BinaryAUROC(input="scores")(SCORES, TARGET))
    assert (estimate.positives, estimate.negatives) == (27, 53)
    interval = tally.BinaryAUROC(input="scores").interval(method="delong")
    interval.update(SCORES, TARGET)
    assert tally.delong_interval(estimate) == pytest.approx(interval.compute().ends())
    ends = tally.newcombe_interval(estimate.area, 27, 53)
    assert ends.low < estimate.area < ends.high
    models = tally.ModelComparison(tally.BinaryAUROC(input="scores"), level=0.9)
    models.update(SCORES, OTHERS, TARGET)
    areas = tally.compare_areas(SCORES, OTHERS, TARGET, level=0.9)
    assert (areas.low, areas.high) == pytest.approx(models.compute().ends())
    assert areas.p_value == pytest.approx(models.compute().p_value)
    weighted = tally.delong(SCORES.tolist(), TARGET.tolist(), weight=[2.0] * 80)
    assert weighted.area == pytest.approx(estimate.area)


def test_areas_of_different_rows_have_variances_that_add():
    first, second = tally.delong(SCORES, TARGET), tally.delong(OTHERS[:60], TARGET[:60])
    areas = tally.compare_areas_unpaired(first, tuple(second))
    assert areas.standard_error == pytest.approx(
        math.hypot(first.standard_error, second.standard_error)
    )
    z = abs(areas.difference) / areas.standard_error
    assert areas.p_value == pytest.approx(math.erfc(z / math.sqrt(2)))


def test_pairs_are_those_of_a_comparison():
    p = tally.mcnemar(3, 12)
    assert p.exact == pytest.approx(0.03515625)      # 2 P(X <= 3) of 15
    assert p.mid == pytest.approx(0.03515625 - 455 / 2**15)
    models = tally.ModelComparison(tally.BinaryAccuracy())
    target = torch.ones(100, dtype=torch.long)
    first, second = target.clone(), target.clone()
    first[:12], second[12:15], first[15:20], second[15:20] = 0, 0, 0, 0
    models.update(first, second, target)
    ends = tally.paired_difference_interval(80, 3, 12, 5)
    assert ends == pytest.approx(models.compute().ends())
    assert p.mid == pytest.approx(models.compute().p_value)


def test_samples_are_those_of_scipy():
    stats = pytest.importorskip("scipy.stats")
    result = tally.welch_test((5.1, 0.8, 30), tally.SampleSummary(4.6, 1.1, 25))
    expected = stats.ttest_ind_from_stats(5.1, 0.8, 30, 4.6, 1.1, 25, equal_var=False)
    assert result.p_value == pytest.approx(expected.pvalue)
    both = tally.equivalence_test(
        result.difference, result.standard_error, result.degrees, margin=1
    )
    t = stats.t(result.degrees)
    assert both.non_inferiority_p == pytest.approx(t.sf(1.5 / result.standard_error))
    assert both.equivalence_p == both.non_superiority_p
    assert both.equivalence_p == pytest.approx(t.cdf(-0.5 / result.standard_error))
    assert both.is_non_inferior is True
    assert both.is_equivalent is (both.low >= -1 and both.high <= 1)
    normal = tally.equivalence_test(0, 1, math.inf, 2, alpha=0.025)
    assert normal.high == pytest.approx(1.959963984540054)
    assert math.isnan(tally.equivalence_test(math.nan, 1, 5, 2).equivalence_p)


def test_p_values_are_those_of_statsmodels():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    p = torch.tensor([[0.01, 0.04], [0.03, 0.5]], dtype=torch.float64)
    for name, method in (("holm", "holm"), ("hochberg", "simes-hochberg"),
                         ("benjamini_hochberg", "fdr_bh")):
        adjust = getattr(tally, name)
        expected = multitest.multipletests(p.flatten().numpy(), method=method)[1]
        adjusted = adjust(p)
        assert adjusted.shape == p.shape and adjusted.dtype == torch.float64
        assert adjusted.flatten().tolist() == pytest.approx(expected)
        assert adjust(p.flatten().tolist()).tolist() == pytest.approx(expected)
        assert adjust(p.numpy()).equal(adjusted)
        assert adjust([math.nan, 0.5])[0].isnan()


def test_rows_suffice():
    def width(rows):
        low, high = tally.wilson_interval(0.9 * rows, rows)
        return high - low

    rows = tally.rows_for_proportion(0.9, width=0.05)
    assert rows == 557 and width(rows) <= 0.05 < width(rows - 1)
    rows = tally.rows_for_mcnemar(0.3, 0.1, power=0.8)
    powers = [tally.mcnemar_power(0.3, 0.1, n) for n in (rows, rows - 1)]
    assert rows == 76 and powers[0] >= 0.8 > powers[1]
    rows = tally.rows_for_area(0.9, prevalence=0.2, width=0.05)
    widths = [tally.expected_area_width(0.9, 0.2, n) for n in (rows, rows - 1)]
    assert widths[0] <= 0.05 < widths[1]
    error = tally.expected_area_error(0.9, 0.2 * rows, 0.8 * rows)
    ends = tally.delong_interval((0.9, error, 0.2 * rows, 0.8 * rows))
    assert ends.high - ends.low == pytest.approx(widths[0])
    areas = tally.ExpectedAreas(0.9, 0.85, correlation=0.5, prevalence=0.3)
    rows = tally.rows_for_compared_areas(areas, power=0.8)
    powers = [tally.compared_areas_power(tuple(areas), n) for n in (rows, rows - 1)]
    assert powers[0] >= 0.8 > powers[1]


@pytest.mark.parametrize(("call", "message"), [
    (lambda: tally.wilson_interval(3, 2), "expected 0 to n successes, got 3 of 2"),
    (lambda: tally.wilson_interval(1, 2, level=95), r"expected a level in \(0, 1\), got 95"),
    (lambda: tally.holm([2.0]), r"holm: expected p-values in \[0, 1\], got 2"),
    (lambda: tally.welch_test((1, 2), (1, 2, 3)),
     r"welch_test: expected mean, standard_deviation, n, got \(1, 2\)"),
    (lambda: tally.delong_interval(0.9), "delong_interval: expected area, standard_error"),
    (lambda: tally.equivalence_test(0, 1, 5, -1), "expected a margin above 0, got -1"),
    (lambda: tally.rows_for_mcnemar(0.1, 0.1, 0.8), "expected rates that differ"),
    (lambda: tally.delong([0.1, 0.2], [0, 2]), "expected 0 and 1 in target, got 2"),
])
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_counts_are_integers():
    with pytest.raises(TypeError):
        tally.mcnemar(1.5, 2)
    with pytest.raises(TypeError):
        tally.mcnemar_power(0.1, 0.2, 10.5)
