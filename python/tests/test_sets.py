"""Metrics of several named data sets."""

import copy
import math
import pickle

import pytest
import ranks
import tally
import torch


def two_sets(**options):
    """2 of 4 and 1 of 1."""
    sets = tally.NamedSets(["noisy", "clean"], tally.BinaryAccuracy(), **options)
    sets.update("noisy", torch.tensor([1, 0, 0, 1]), torch.tensor([1, 1, 0, 0]))
    sets.update("clean", preds=torch.tensor([0]), target=torch.tensor([0]))
    return sets


def test_values_of_each_set_and_both_means():
    sets = two_sets()
    assert sets.compute() == {
        "noisy/BinaryAccuracy": 0.5, "clean/BinaryAccuracy": 1.0,
        "mean/BinaryAccuracy": 0.75, "weighted_mean/BinaryAccuracy": 0.6,
    }
    assert sets.sets == ["noisy", "clean"]
    assert (sets.rows("noisy"), sets.rows("clean")) == (4, 1)
    sets.reset()
    assert math.isnan(sets.compute()["mean/BinaryAccuracy"])


def test_weights_are_a_list_or_by_name():
    for weights in ([1, 3], {"clean": 3, "noisy": 1}):
        assert two_sets(weights=weights).compute()["weighted_mean/BinaryAccuracy"] == 0.875
    with pytest.raises(ValueError, match="one for each of noisy, clean, got clean"):
        two_sets(weights={"clean": 3})


def test_several_metrics():
    sets = tally.NamedSets(["a"], {"acc": tally.BinaryAccuracy(), "f1": tally.BinaryF1Score()})
    sets.update("a", torch.tensor([1]), torch.tensor([1]))
    assert set(sets.compute()) == {
        f"{name}/{metric}" for name in ("a", "mean", "weighted_mean") for metric in ("acc", "f1")
    }


def test_years_are_names():
    sets = tally.NamedSets([2023, 2024], tally.BinaryAccuracy())
    sets.update(2024, torch.tensor([1]), torch.tensor([1]))
    assert sets.rows(2024) == sets.rows("2024") == 1


def test_refusals():
    sets = two_sets()
    with pytest.raises(ValueError, match="did you mean 'noisy'"):
        sets.update("nosiy", torch.tensor([1]), torch.tensor([1]))
    with pytest.raises(TypeError, match="expected the name of a set first, got a Tensor"):
        sets.update(torch.tensor([1]), torch.tensor([1]))
    with pytest.raises(TypeError, match="expected a list of names"):
        tally.NamedSets("ab", tally.MeanMetric())
    with pytest.raises(TypeError, match="NamedSets: .* expected a tally.Metric"):
        tally.NamedSets(["a"], 3)
    with pytest.raises(TypeError, match="no forward"):
        sets(torch.tensor([1]), torch.tensor([1]))


def test_copies_and_bytes():
    sets = two_sets(weights=[1, 3])
    for other in (
        sets.clone(), copy.deepcopy(sets), pickle.loads(pickle.dumps(sets)),
        tally.from_bytes(sets.to_bytes()),
    ):
        assert repr(other) == repr(sets)
        assert other.sets == sets.sets
        assert other.compute() == sets.compute()
    whole = tally.merge([sets, two_sets(weights=[1, 3])])
    assert whole.rows("noisy") == 8


def _on_rank(rank, size):
    sets = tally.NamedSets(["a", "b"], tally.MeanMetric())
    if rank < 2:
        sets.update("a", torch.tensor([float(rank)]))
    if rank == 0:
        sets.update("b", torch.tensor([4.0, 6.0]))
    return {name: float(value) for name, value in sets.compute().items()}


def test_ranks():
    for values in ranks.run(3, _on_rank):
        assert values == {
            "a/MeanMetric": 0.5, "b/MeanMetric": 5.0, "mean/MeanMetric": 2.75,
            "weighted_mean/MeanMetric": 2.75,
        }
