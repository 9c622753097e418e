"""Metrics over the steps of a run."""

import copy
import math
import pickle
import warnings

import pytest
import ranks
import tally
import torch


def mean_tracker(**options):
    return tally.MetricTracker(tally.MeanMetric(), maximize=True, **options)


def run_of(tracker, values):
    answers = []
    for value in values:
        tracker.increment()
        tracker.update(torch.tensor([value]))
        answers.append((tracker.improved(), tracker.should_stop(2)))
    return answers


def test_keeps_every_step():
    tracker = tally.MetricTracker(tally.MeanSquaredError())
    for epoch, error in enumerate([3.0, 1.0, 2.0]):
        tracker.increment(f"epoch {epoch}")
        tracker.update(torch.tensor([error]), torch.tensor([0.0]))
        assert tracker(torch.tensor([error]), target=torch.tensor([0.0])) == error**2
        assert tracker.compute() == error**2
    assert tracker.n_steps == 3
    assert tracker.labels == ["epoch 0", "epoch 1", "epoch 2"]
    assert tracker.compute_all().tolist() == [9, 1, 4]
    assert tracker.best_metric() == (1, 1, "epoch 1")
    assert tracker.best_metric().label == "epoch 1"
    assert "steps=3" in repr(tracker)
    tracker.reset()
    assert math.isnan(tracker.compute())
    tracker.reset_all()
    assert tracker.n_steps == 0


def test_says_when_to_stop():
    assert run_of(mean_tracker(), [1.0, 3.0, 3.0, 2.0, 4.0]) == [
        (True, False), (True, False), (False, False), (False, True), (True, False)
    ]
    tracker = mean_tracker()
    run_of(tracker, [1.0, 1.2])
    assert tracker.improved() and not tracker.improved(min_delta=0.5)
    assert tracker.should_stop(1, min_delta=0.5)
    with pytest.raises(ValueError, match="min_delta to be at least 0, got -1"):
        tracker.improved(min_delta=-1)
    with pytest.raises(ValueError, match="patience to be at least 1, got 0"):
        tracker.should_stop(0)


def test_nan_is_never_better():
    tracker = tally.MetricTracker(tally.MeanMetric(nan_strategy="disable"), maximize=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert run_of(tracker, [math.nan, math.nan, 1.0]) == [
            (False, False), (False, True), (True, False)
        ]
    assert sum("never counts as an improvement" in str(each.message) for each in caught) == 1


def test_a_collection_has_results_by_name():
    metrics = {"mean": tally.MeanMetric(), "low": tally.MinMetric()}
    tracker = tally.MetricTracker(metrics, maximize={"mean": True, "low": False})
    for label, value in [(100, 1.0), (200, 2.0)]:
        tracker.increment(label)
        tracker.update(torch.tensor([value]))
    assert set(tracker.compute()) == {"mean", "low"}
    assert tracker.improved("mean") and not tracker.improved("low")
    assert tracker.best_metric("low") == (1, 0, "100")
    assert tracker.compute_all()["mean"].tolist() == [1, 2]
    with pytest.raises(IndexError, match="expected the name of a result, got none; there are 2"):
        tracker.improved()
    with pytest.raises(TypeError, match="expected a dict by member of a collection"):
        tally.MetricTracker(metrics, maximize=True)
    with pytest.raises(ValueError, match="got 'median'"):
        tally.MetricTracker(metrics, maximize={"median": True})


@pytest.mark.parametrize("again", [
    copy.deepcopy, copy.copy, lambda each: pickle.loads(pickle.dumps(each)),
    lambda each: tally.from_bytes(each.to_bytes()), lambda each: each.clone(),
])
@pytest.mark.parametrize("single", [True, False])
def test_is_a_value(again, single):
    metrics = tally.MeanMetric() if single else {"MeanMetric": tally.MeanMetric()}
    tracker = tally.MetricTracker(metrics, maximize={"MeanMetric": True})
    run_of(tracker, [2.0, 1.0])
    other = again(tracker)
    assert repr(other) == repr(tracker)
    assert type(other.compute()) is type(tracker.compute())
    assert run_of(other, [1.5, 3.0]) == [(False, True), (True, False)]
    assert tracker.n_steps == 2 and other.n_steps == 4


def test_merges_batches_of_the_same_step():
    parts = []
    for value in [1.0, 4.0]:
        part = mean_tracker()
        part.increment("first")
        part.update(torch.tensor([value]))
        parts.append(part.to_bytes())
    assert tally.merge(parts).compute_all().tolist() == [2.5]
    other = mean_tracker()
    other.increment("another")
    with pytest.raises(ValueError, match=r"same labels, got step 0 \(first\)"):
        other.merge_state(tally.from_bytes(parts[0]))


def test_calls_in_the_wrong_order():
    with pytest.raises(RuntimeError, match=r"expected increment\(\) before update\(\)"):
        mean_tracker().update(torch.tensor([1.0]))
    used = tally.MeanMetric()
    used.update(torch.tensor([1.0]))
    with pytest.raises(ValueError, match="accumulated nothing"):
        tally.MetricTracker(tally.MetricCollection({"a": used}))


def rank_answers(rank, world):
    tracker = mean_tracker()
    answers = []
    for value in [1.0, 2.0, 2.0, 1.0, 5.0]:
        tracker.increment()
        if rank + 1 < world:
            tracker.update(torch.tensor([value + rank]))
        answers.append((tracker.improved(), tracker.should_stop(2)))
    return answers


@pytest.mark.parametrize("world", [2, 3])
def test_all_ranks_do_the_same(world):
    expected = [(True, False), (True, False), (False, False), (False, True), (True, False)]
    assert ranks.run(world, rank_answers) == [expected] * world
