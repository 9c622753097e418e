"""Slices against all other rows."""

import copy
import math
import pickle

import pytest
import ranks
import tally
import torch

torch.manual_seed(0)
ROWS = 1200
SITES = [["north", "south", "west", None][i % 4] for i in range(ROWS)]
TARGET = torch.ones(ROWS, dtype=torch.int64)
# One site is right for half of its rows, the others for 90 %.
RIGHT = torch.tensor([0.5 if site == "south" else 0.9 for site in SITES])
PREDS = (torch.rand(ROWS) < RIGHT).long()
IDS = torch.arange(ROWS)


def compared(metric=None, **options):
    return tally.SliceComparison(metric or tally.BinaryAccuracy(), **options)


def test_the_worst_comes_first():
    metric = compared(level=0.9)
    assert metric.unit == "row"
    metric.update(SITES[:500], IDS[:500], PREDS[:500], TARGET[:500])
    metric.update(SITES[500:], ids=IDS[500:], target=TARGET[500:], preds=PREDS[500:])
    slices = metric.compute()
    assert {each.name for each in slices} == {"north", "south", "west", "(missing)"}
    worst = slices[0]
    assert worst.key == ("south",) and (worst.rows, worst.units) == (300, 300)
    assert worst.value == pytest.approx(PREDS[1::4].double().mean().item())
    assert worst.difference == pytest.approx(worst.value - worst.rest)
    assert worst.low < worst.difference < worst.high < 0
    assert worst.q_value < 1e-6 and worst.flags == () and math.isinf(worst.degrees_of_freedom)
    assert str(worst).startswith(f"south: {worst.difference:.4g} [")
    metric.reset()
    assert metric.compute() == []


def test_p_is_fishers_with_mid_p():
    stats = pytest.importorskip("scipy.stats")
    metric = compared()
    metric.update(SITES, IDS, PREDS, TARGET)
    for each in metric.compute():
        own = sum(int(PREDS[i]) for i, site in enumerate(SITES) if site == each.key[0])
        drawn = stats.hypergeom(ROWS, int(PREDS.sum()), 300)
        tail = drawn.sf(own) + drawn.pmf(own) / 2
        assert each.p_value == pytest.approx(2 * min(tail, 1 - tail), rel=1e-9)


def test_groups_count_as_one():
    metric = compared(grouped=True)
    metric.update(SITES, [f"patient {i // 40}" for i in range(ROWS)], PREDS, TARGET)
    assert metric.unit == "group"
    for each in metric.compute():
        assert each.units == 30 and each.degrees_of_freedom < 40
    one = compared(grouped=True)
    one.update(SITES, [site or "none" for site in SITES], PREDS, TARGET)
    for each in one.compute():
        assert each.units == 1 and "few_units" in each.flags
        assert math.isnan(each.low) and math.isnan(each.q_value)


def test_queries_are_the_units_of_retrieval():
    queries = IDS // 10
    metric = compared(tally.RetrievalMRR())
    assert metric.unit == "query"
    sites = (queries % 2).tolist()
    metric.update(sites, None, torch.rand(ROWS), IDS % 10 == 3, indexes=queries)
    assert {(each.key, each.rows, each.units) for each in metric.compute()} == {
        ((0,), 600, 60), ((1,), 600, 60)
    }
    with pytest.raises(ValueError, match="expected no ids, as RetrievalMRR draws each query"):
        metric.update(sites, IDS, torch.rand(ROWS), IDS % 10 == 3, indexes=queries)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: compared(3), TypeError, "SliceComparison: .* expected a tally.Metric"),
        (lambda: compared(tally.MeanMetric()), ValueError, "higher or lower"),
        (lambda: compared(min_rows=1), ValueError, "min_rows to be at least 2, got 1"),
        (lambda: compared(level=1), ValueError, "level"),
        (lambda: compared().update(SITES, None, PREDS, TARGET), ValueError, "expected ids"),
        (lambda: compared().update(SITES, IDS[:3], PREDS, TARGET), ValueError, "an id for each"),
        (lambda: compared()(SITES), TypeError, "has no forward"),
    ],
)
def test_mistakes(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_an_id_that_repeats_is_refused():
    metric = compared()
    metric.update(SITES, IDS % 1199, PREDS, TARGET)
    with pytest.raises(ValueError, match="expected each id once, got 0 again"):
        metric.compute()


def test_copies_and_files(tmp_path):
    metric = compared(min_rows=40)
    metric.update(SITES, IDS, PREDS, TARGET)
    expected = metric.compute()
    metric.save(tmp_path / "slices")
    loaded = compared(min_rows=40)
    loaded.load(tmp_path / "slices")
    for each in (copy.deepcopy(metric), pickle.loads(pickle.dumps(metric)), loaded):
        assert each.compute() == expected


def of_rank(rank, world):
    own = slice(rank, None, world)
    metric = compared()
    metric.update(SITES[own], IDS[own], PREDS[own], TARGET[own])
    return [(each.name, each.p_value) for each in metric.compute()]


def test_the_same_on_any_number_of_ranks():
    metric = compared()
    metric.update(SITES, IDS, PREDS, TARGET)
    expected = [(each.name, each.p_value) for each in metric.compute()]
    assert ranks.run(2, of_rank) == [expected] * 2
