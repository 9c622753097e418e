"""Confidence intervals of metrics."""

import copy
import pickle

import pytest
import ranks
import tally
import torch

torch.manual_seed(0)
PREDS = torch.rand(200)
TARGET = (torch.rand(200) < PREDS).long()
IDS = torch.arange(200)
ERRORS = torch.randn(200)


def test_proportions_are_those_of_statsmodels():
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    metric = tally.IntervalMetric(tally.BinaryAccuracy(), level=0.9)
    assert metric.method == "wilson" and not metric.uses_ids
    metric.update(PREDS[:50], TARGET[:50])
    metric.update(target=TARGET[50:], preds=PREDS[50:])
    interval = metric.compute()
    right = int(((PREDS > 0.5) == TARGET.bool()).sum())
    for method in ("wilson", "clopper_pearson"):
        metric = tally.IntervalMetric(tally.BinaryAccuracy(), level=0.9, method=method)
        metric.update(PREDS, TARGET)
        interval = metric.compute()
        expected = proportion.proportion_confint(
            right, 200, 0.1, {"clopper_pearson": "beta"}.get(method, method)
        )
        assert interval.value.item() == pytest.approx(right / 200)
        assert (interval.low.item(), interval.high.item()) == pytest.approx(expected)
        assert (interval.level, interval.method, interval.n) == (0.9, method, 200)
        assert interval.replicates == interval.undefined == 0
    value, low, high = (f"{each:.4g}" for each in (right / 200, *expected))
    assert str(interval) == f"{value} [{low}, {high}]"


def test_a_metric_gives_its_own():
    metric = tally.BinaryAUROC().interval(level=0.99)
    assert isinstance(metric, tally.IntervalMetric)
    metric.update(PREDS, TARGET)
    interval = metric.compute()
    assert interval.method == "delong_newcombe" and interval.level == 0.99
    assert interval.value == tally.BinaryAUROC()(PREDS, TARGET)
    assert 0 < interval.low < interval.value < interval.high < 1
    assert metric.rows == 200
    metric.reset()
    assert metric.rows == 0 and metric.compute().value.isnan()
    used = tally.BinaryAUROC()
    used.update(PREDS, TARGET)
    with pytest.raises(ValueError, match="accumulated"):
        used.interval()


def test_results_of_several_parts_and_elements():
    metric = tally.MulticlassRecall(num_classes=3, average="none").interval()
    metric.update(torch.rand(60, 3), torch.randint(3, (60,)))
    interval = metric.compute()
    assert interval.low.shape == interval.high.shape == (3,)
    assert "wilson" in str(interval)
    point = tally.BinaryPrecisionAtFixedRecall(min_recall=0.5).interval()
    point.update(PREDS, TARGET)
    found = point.compute()
    assert isinstance(found, dict) and all(isinstance(v, tally.Interval) for v in found.values())


def interval_of(ids, rows, **options):
    metric = tally.MeanSquaredError().interval(replicates=100, **options)
    assert metric.uses_ids
    for part in rows.split(70):
        metric.update(PREDS[part], ERRORS[part], ids=None if ids is None else ids[part])
    return metric.compute()


@pytest.mark.parametrize("method", ["poisson", "double_or_nothing", "jackknife"])
def test_ids_decide_and_not_the_order(method):
    expected = interval_of(IDS, IDS, method=method)
    assert expected.low < expected.value < expected.high
    shuffled = interval_of(IDS, torch.randperm(200), method=method)
    torch.testing.assert_close(shuffled.low, expected.low)
    torch.testing.assert_close(shuffled.standard_error, expected.standard_error)
    numbered = interval_of(None, IDS, method=method)
    torch.testing.assert_close(numbered.low, expected.low)
    other = interval_of(IDS + 1000, IDS, method=method)
    # The jackknife of so few rows leaves out one at a time, whatever their ids.
    assert (other.low == expected.low) == (method == "jackknife")


def test_stratified_replicates_keep_the_classes():
    def error(metric, **options):
        metric = metric.interval(replicates=400, **options)
        metric.update(PREDS, TARGET, ids=IDS)
        return metric.compute().standard_error.item()

    drawn = error(tally.BinaryAveragePrecision(), method="poisson")
    assert 0 < error(tally.BinaryAveragePrecision(), method="poisson", stratified=True) < drawn
    with pytest.raises(ValueError, match="for stratified, got jackknife"):
        tally.MeanSquaredError().interval(stratified=True)


def test_calibration_error_without_its_bias():
    metric = tally.BinaryCalibrationError(norm="l2").interval()
    metric.update(PREDS, TARGET)
    with pytest.warns(UserWarning, match="biased"):
        found = metric.compute()
    assert found.method == "debiased_gaps" and "biased" in found.flags
    assert found.low == 0  # the model is calibrated
    with pytest.raises(ValueError, match="use norm l2"):
        tally.BinaryCalibrationError().interval()


def test_ids_as_texts_and_groups():
    names = [f"{i}.png" for i in range(200)]
    metric = tally.MeanSquaredError().interval(replicates=50)
    metric.update(PREDS, ERRORS, ids=names)
    first = metric.compute()
    metric.reset()
    metric.update(PREDS[:100], ERRORS[:100], ids=names[:100])
    metric.update(PREDS[100:], ERRORS[100:], ids=tuple(names[100:]))
    torch.testing.assert_close(metric.compute().low, first.low)
    users = tally.MeanSquaredError().interval(replicates=50, grouped=True)
    users.update(PREDS, ERRORS, ids=(IDS // 10).numpy())
    found = users.compute()
    assert (found.n, found.counted, found.units, found.unit) == (200, 200, 20, "group")
    assert found.degrees_of_freedom == 19 and found.flags == ()


def test_results_say_what_they_do_not_know():
    few = tally.MeanSquaredError().interval()
    few.update(torch.rand(4), torch.rand(4))
    with pytest.warns(UserWarning, match="few units"):
        assert "few_units" in few.compute().flags
    same = tally.MeanSquaredError().interval()
    same.update(torch.ones(30), torch.zeros(30))
    with pytest.warns(UserWarning, match="no variation"):
        found = same.compute()
    assert found.low.isnan() and found.high.isnan() and found.flags == ("no_variation",)
    padded = tally.BinaryAccuracy().interval()
    padded.update(PREDS, TARGET, IDS < 150, ids=IDS % 150)
    assert (padded.compute().n, padded.compute().counted) == (200, 150)
    queries = tally.RetrievalMAP().interval()
    queries.update(PREDS, TARGET, IDS // 10)
    found = queries.compute()
    assert (found.unit, found.units, found.n) == ("query", 20, 200)
    with pytest.raises(ValueError, match="draws each query"):
        queries.update(PREDS, TARGET, IDS // 10, ids=IDS)
    with pytest.raises(ValueError, match="no interval: the gaps"):
        tally.BinaryCalibrationError().interval()


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: tally.IntervalMetric(3), TypeError, "tally.Metric"),
        (lambda: tally.MaxMetric().interval(), ValueError, "MaxMetric"),
        (lambda: tally.BinaryAccuracy().interval(level=1), ValueError, "level"),
        (lambda: tally.BinaryAccuracy().interval(method="mine"), ValueError, "method.*wilson"),
        (lambda: tally.BinaryAccuracy().interval(method="delong"), ValueError, "delong"),
        (lambda: tally.BinaryAccuracy().interval(ends="mine"), ValueError, "ends.*bca"),
        (lambda: tally.BinaryAccuracy().interval(levl=0.9), TypeError, "levl"),
    ],
)
def test_options_are_checked(make, error, match):
    with pytest.raises(error, match=match):
        make()


@pytest.mark.parametrize(
    ("ids", "error", "match"),
    [
        (IDS[:3], ValueError, "200|3"),
        (torch.rand(200), TypeError, "int"),
        ([0.5] * 200, TypeError, "int"),
    ],
)
def test_bad_ids_change_nothing(ids, error, match):
    metric = tally.MeanSquaredError().interval(replicates=20)
    metric.update(PREDS, ERRORS, ids=IDS + 500)
    with pytest.raises(error, match=match):
        metric.update(PREDS, ERRORS, ids=ids)
    assert metric.rows == 200


def test_ids_that_repeat():
    metric = tally.MeanSquaredError().interval(replicates=20)
    metric.update(PREDS, ERRORS, ids=IDS)
    metric.update(PREDS[:1], ERRORS[:1], ids=[7])
    with pytest.raises(ValueError, match="7"):
        metric.compute()


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda m: pickle.loads(pickle.dumps(m))])
@pytest.mark.parametrize("method", ["poisson", "jackknife"])
def test_copies_are_of_their_own(copied, method):
    metric = tally.MeanSquaredError().interval(replicates=100, method=method, level=0.9)
    metric.update(PREDS, ERRORS, ids=IDS)
    expected = metric.compute()
    other = copied(metric)
    metric.reset()
    assert other.compute() == expected and other.rows == 200 and metric.rows == 0
    other.update(PREDS[:1], ERRORS[:1], ids=[7])
    with pytest.raises(ValueError, match="7"):
        other.compute()
    counted = copied(tally.BinaryAccuracy().interval())
    counted.update(PREDS, TARGET)
    assert counted.compute().n == 200


def test_plots_show_the_ends():
    metric = tally.BinaryAccuracy().interval()
    metric.update(PREDS, TARGET)
    svg = metric.plot()._repr_svg_()
    assert "BinaryAccuracy: 95% (wilson, 200 rows)" in svg and "of 1 runs" in svg
    classes = tally.MulticlassRecall(num_classes=3, average="none").interval()
    classes.update(torch.rand(60, 3), torch.randint(3, (60,)))
    assert ">owl<" in classes.plot(labels=["cat", "dog", "owl"], title="mine").svg
    runs = tally.plots.runs_plot({"a": metric.compute(), "b": 0.5, "c": (1, 0.5, 2)}, title="x")
    assert "x of 3 runs" in runs.svg
    with pytest.raises(ValueError, match="a value, low and high"):
        tally.plots.runs_plot({"a": (1, 2)})
    with pytest.raises(ValueError, match="at least 1 run"):
        tally.plots.runs_plot({})


def of_rank(rank, world):
    metric = tally.MeanSquaredError().interval(replicates=100)
    if rank < world - 1:
        rows = IDS[rank :: world - 1]
        metric.update(PREDS[rows], ERRORS[rows], ids=rows)
    proportion = tally.BinaryAccuracy().interval()
    rows = IDS[rank::world]
    proportion.update(PREDS[rows], TARGET[rows])
    return tuple(metric.compute()), tuple(proportion.compute())


def test_over_ranks():
    expected = interval_of(IDS, IDS)
    proportion = tally.BinaryAccuracy().interval()
    proportion.update(PREDS, TARGET)
    for sums, counts in ranks.run(3, of_rank):
        torch.testing.assert_close(sums[:4], tuple(expected)[:4])
        assert sums[4:9] == tuple(expected)[4:9]
        assert counts == tuple(proportion.compute())


def resampled(rank, world):
    metric = tally.BootStrapper(tally.MeanSquaredError(), num_bootstraps=20, raw=True)
    if rank < world - 1 or world == 1:
        rows = IDS[rank :: max(world - 1, 1)]
        names = [f"{i}.png" for i in rows]
        metric.update(preds=PREDS[rows], target=ERRORS[rows], ids=names)
    return metric.compute()


def test_a_bootstrapper_draws_by_ids():
    expected = resampled(0, 1)
    assert expected["std"] > 0 and expected["raw"].shape == (20,)
    for values in ranks.run(3, resampled):
        torch.testing.assert_close(values, expected)
    metric = tally.BootStrapper(
        tally.MeanMetric(), num_bootstraps=20, raw=True, sampling_strategy="multinomial"
    )
    with pytest.raises(ValueError, match="expected ids with sampling_strategy poisson"):
        metric.update(PREDS, ids=IDS)


def without_ids(rank, world):
    metric = tally.MeanSquaredError().interval(replicates=20)
    metric.update(PREDS, ERRORS)
    with pytest.raises((ValueError, tally.SyncError), match="ids"):
        metric.compute()
    return True


def test_ranks_need_ids():
    assert ranks.run(2, without_ids) == [True, True]
