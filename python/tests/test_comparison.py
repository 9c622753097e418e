"""Comparisons of two models on the same rows."""

import copy
import pickle

import pytest
import ranks
import tally
import torch

torch.manual_seed(0)
TARGET = (torch.rand(300) < 0.5).long()
FIRST = (TARGET + 0.9 * torch.randn(300)).sigmoid()
SECOND = (TARGET + 1.8 * torch.randn(300)).sigmoid()
IDS = torch.arange(300)


def test_accuracies_are_compared_as_by_statsmodels():
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    stats = pytest.importorskip("scipy.stats")
    models = tally.ModelComparison(tally.BinaryAccuracy(threshold=0.6), level=0.9)
    assert models.method == "mcnemar" and not models.uses_ids
    models.update(FIRST[:100], SECOND[:100], TARGET[:100])
    models.update(target=TARGET[100:], second_preds=SECOND[100:], first_preds=FIRST[100:])
    result = models.compute()
    first, second = (((preds > 0.6) == TARGET.bool()) for preds in (FIRST, SECOND))
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    table = [[int((first & second).sum()), only_first],
             [only_second, int((~first & ~second).sum())]]
    # mid-p: what was seen counts half in either tail.
    seen = stats.binom.pmf(only_second, only_first + only_second, 0.5)
    expected = tables.mcnemar(table, exact=True).pvalue - seen
    assert result.p_value.item() == pytest.approx(expected)
    assert result.first.item() == pytest.approx(first.double().mean().item())
    assert result.second.item() == pytest.approx(second.double().mean().item())
    assert result.difference.item() == pytest.approx((only_first - only_second) / 300)
    assert result.low < result.difference < result.high
    assert (result.level, result.method, result.n, result.replicates) == (0.9, "mcnemar", 300, 0)
    difference, low, high, p = (float(each) for each in result[2:6])
    assert str(result) == f"{difference:.4g} [{low:.4g}, {high:.4g}], p = {p:.2g}"


def test_other_metrics_have_other_methods():
    areas = tally.ModelComparison(tally.BinaryAUROC())
    areas.update(FIRST, SECOND, TARGET)
    result = areas.compute()
    assert result.method == "delong" and 0 < result.p_value < 0.1
    assert result.first == tally.BinaryAUROC()(FIRST, TARGET)
    assert result.second == tally.BinaryAUROC()(SECOND, TARGET)
    recalls = tally.ModelComparison(
        tally.MulticlassRecall(num_classes=2, average="none"), method="poisson", replicates=50
    )
    assert recalls.uses_ids
    recalls.update((FIRST > 0.5).long(), (SECOND > 0.5).long(), TARGET)
    result = recalls.compute()
    assert result.difference.shape == result.p_value.shape == (2,)
    assert result.replicates == 50 and "poisson" in str(result)
    losses = tally.ModelComparison(tally.MeanMetric(), replicates=50)
    losses.update(FIRST, SECOND, weight=TARGET)
    assert losses.compute().method == "jackknife"
    points = tally.ModelComparison(tally.BinaryPrecisionAtFixedRecall(min_recall=0.5))
    points.update(FIRST, SECOND, TARGET)
    found = points.compute()
    assert isinstance(found, dict)
    assert all(isinstance(each, tally.Comparison) for each in found.values())


def test_users_are_drawn_as_a_whole():
    names = [f"user {i}" for i in IDS // 3]
    users = tally.ModelComparison(tally.MeanSquaredError(), replicates=50, grouped=True)
    users.update(FIRST, SECOND, TARGET, ids=names)
    found = users.compute()
    assert (found.n, found.units, found.unit) == (300, 100, "group")
    assert found.standard_error > 0 and found.flags == ()
    with pytest.raises(ValueError, match="groups"):
        users.update(FIRST, SECOND, TARGET)


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: tally.ModelComparison(3), TypeError, "ModelComparison: .* expected a tally.Metric"),
        (lambda: tally.ModelComparison(tally.MaxMetric()), ValueError, "MaxMetric"),
        (lambda: tally.ModelComparison(tally.BinaryAUROC(), level=1), ValueError, "level"),
        (lambda: tally.ModelComparison(tally.BinaryAUROC(), method="t"), ValueError, "delong"),
        (lambda: tally.ModelComparison(tally.BinaryAUROC(), method="mcnemar"), ValueError, "mcnemar"),
        (lambda: tally.ModelComparison(tally.BinaryAUROC(), ends="bca"), TypeError, "ends"),
    ],
)
def test_options_are_checked(make, error, match):
    with pytest.raises(error, match=match):
        make()


@pytest.mark.parametrize(
    ("inputs", "named", "match"),
    [
        ((FIRST,), {}, "twice, once for each model"),
        ((FIRST, SECOND[:9], TARGET), {}, "300|9"),
        ((), {"preds": FIRST, "target": TARGET}, "first_preds, second_preds, target"),
        ((), {"first_preds": FIRST, "target": TARGET}, "second_preds"),
        ((FIRST, SECOND, TARGET + 1), {}, "target"),
    ],
)
def test_bad_input_changes_nothing(inputs, named, match):
    models = tally.ModelComparison(tally.BinaryAccuracy())
    models.update(FIRST, SECOND, TARGET)
    expected = models.compute()
    with pytest.raises((ValueError, IndexError), match=match):
        models.update(*inputs, **named)
    assert models.rows == 300 and models.compute() == expected
    with pytest.raises(TypeError, match="given twice"):
        models.update(FIRST, SECOND, first_preds=FIRST, target=TARGET)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
@pytest.mark.parametrize("metric", [tally.BinaryAccuracy, tally.BinaryAUROC, tally.BinaryF1Score])
def test_copies_are_of_their_own(copied, metric):
    models = tally.ModelComparison(metric(), level=0.9)
    models.update(FIRST, SECOND, TARGET, ids=IDS)
    expected = models.compute()
    other = copied(models)
    models.reset()
    assert other.compute() == expected and other.rows == 300 and models.rows == 0


def of_rank(rank, world):
    found = []
    for metric in (tally.BinaryAccuracy(), tally.BinaryAUROC(), tally.BinaryF1Score()):
        models = tally.ModelComparison(metric)
        if rank < max(world - 1, 1):
            rows = IDS[rank :: max(world - 1, 1)]
            models.update(FIRST[rows], SECOND[rows], target=TARGET[rows], ids=rows)
        found.append(models.compute())
    return [tuple(each) for each in found]


def test_over_ranks():
    expected = of_rank(0, 1)
    assert [each[7] for each in expected] == ["mcnemar", "delong", "jackknife"]
    for found in ranks.run(3, of_rank):
        assert found == expected


def without_ids(rank, world):
    models = tally.ModelComparison(tally.BinaryF1Score())
    models.update(FIRST, SECOND, TARGET)
    with pytest.raises((ValueError, tally.SyncError), match="ids"):
        models.compute()
    return models.rows


def test_ranks_need_ids():
    assert ranks.run(2, without_ids) == [300, 300]
