"""What slices, intervals and comparisons have in common with metrics: states."""

import pytest
import ranks
import tally
import torch

ROWS = torch.arange(120)
PREDS = (ROWS * ROWS + ROWS // 3) % 2
OTHER = (ROWS // 2) % 2
TARGET = (ROWS * 5 + ROWS // 7) % 2
NAMES = [("north", "south", None)[int(row) % 3] for row in ROWS]


class Slices:
    def make():
        return tally.SlicedMetric(tally.BinaryAccuracy())

    def update(metric, rows):
        metric.update([NAMES[i] for i in rows.tolist()], PREDS[rows], TARGET[rows])


class Interval:
    def make():
        return tally.IntervalMetric(tally.BinaryAccuracy(), method="jackknife", blocks=4)

    def update(metric, rows):
        metric.update(PREDS[rows], TARGET[rows], ids=rows)


class Comparison:
    def make():
        return tally.ModelComparison(tally.BinaryAccuracy(), method="jackknife", blocks=4)

    def update(metric, rows):
        metric.update(PREDS[rows], OTHER[rows], TARGET[rows], ids=rows)


CASES = [Slices, Interval, Comparison]


def updated(case, *rows):
    metric = case.make()
    for each in rows:
        case.update(metric, each)
    return metric


@pytest.mark.parametrize("case", CASES)
def test_states_are_saved_merged_and_shown(case, tmp_path):
    whole = updated(case, ROWS[:50], ROWS[50:])
    half = updated(case, ROWS[:50])
    half.merge_state(updated(case, ROWS[50:]))
    assert str(half.compute()) == str(whole.compute())
    assert half.update_count == 2
    path = tmp_path / "state"
    whole.save(path)
    loaded = case.make()
    loaded.load(path)
    assert str(loaded.compute()) == str(whole.compute())
    assert loaded.metric_state.keys() == whole.metric_state.keys()
    assert repr(loaded) == repr(whole)
    assert whole.to("cpu") is whole
    with pytest.raises(TypeError, match="merge_state expected a"):
        whole.merge_state(tally.BinaryAccuracy())
    with whole.sync_context():
        assert whole.is_synced
        with pytest.raises(Exception, match="while synced"):
            case.update(whole, ROWS[:3])
    assert not whole.is_synced


def test_the_state_of_slices_is_a_table():
    metric = updated(Slices, ROWS)
    assert metric.keys() == [(None,), ("north",), ("south",)]
    state = metric.metric_state
    assert state["total"].shape == (3,)
    # What no batch had is None, as in the state of a metric without slices.
    assert state["samples"] is None
    assert all(field is None or field.shape[0] == 3 for field in state.values())


def test_ids_of_texts_that_are_integers():
    numbers = updated(Interval, ROWS)
    texts = Interval.make()
    texts.update(PREDS, TARGET, ids=[str(int(row)) for row in ROWS])
    assert str(texts.compute()) == str(numbers.compute())


def of_rank(rank, world):
    found = []
    for case in CASES:
        metric = updated(case, ROWS[rank::world])
        own = metric.serialize()
        with metric.sync_context():
            assert metric.update_count == world
            synced = metric.compute()
        assert metric.serialize() == own
        assert str(metric.compute()) == str(synced)
        found.append(str(synced))
    return found


def test_over_ranks():
    expected = [str(updated(case, ROWS).compute()) for case in CASES]
    assert ranks.run(2, of_rank) == [expected, expected]
