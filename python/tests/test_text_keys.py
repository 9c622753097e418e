"""Texts where numbers are only keys."""

import copy

import numpy as np
import pandas as pd
import pytest
import ranks
import tally
import torch
from tally import functional
from test_values import batches_of, cases

torch.manual_seed(0)
PREDS = torch.rand(24)
TARGET = torch.randint(2, (24,))
QUERIES = [f"q{i % 5}" for i in range(24)]
# As texts that are integers have the keys of these.
NUMBERS = torch.tensor([i % 5 for i in range(24)])
SIDES = [["north", "south"][i % 2] for i in range(24)]


def takes_texts(given):
    return "texts" in given["words"] and given["kind"] in ("integer", "real")


def names_of(labels):
    if labels.ndim > 1:
        return [names_of(row) for row in labels]
    return [f"key {int(label)}" for label in labels]


def metrics_with_keys():
    for case in cases():
        name, _, content = case.values
        places = [i for i, each in enumerate(tally._METRICS[name]["inputs"]) if takes_texts(each)]
        options = content["options"]
        # Documents, or the values of queries, in the order of keys.
        is_ordered = options.get("ties") == "ids" or options.get("aggregation") == "none"
        is_numbered = {"num_classes", "centroids"} & options.keys()
        if places and not is_ordered and not is_numbered:
            yield pytest.param(name, places, content, id=case.id)


FORMS = [
    list, tuple, np.array, lambda names: np.array(names, dtype=object), pd.Series,
    pd.Categorical, lambda names: pd.Series(names, dtype="category"),
    lambda names: pd.Series(names, dtype="string"), pd.Index,
]


@pytest.mark.parametrize(("name", "places", "case"), metrics_with_keys())
def test_values_are_those_of_numbers(name, places, case):
    options = {k: v for k, v in case["options"].items()
               if k in {option["name"] for option in tally._METRICS[name]["options"]}}
    of_numbers, of_texts = getattr(tally, name)(**options), getattr(tally, name)(**options)
    changed = False
    for number, batch in enumerate(batches_of(case["batches"])):
        of_numbers.update(*batch)
        for i in places:
            if i < len(batch) and not batch[i].is_floating_point() and batch[i].numel():
                form = FORMS[number % len(FORMS)] if batch[i].ndim == 1 else list
                batch[i] = form(names_of(batch[i]))
                changed = True
        of_texts.update(*batch)
    if not changed:
        pytest.skip("scores, or no ids")
    torch.testing.assert_close(
        of_texts.compute(), of_numbers.compute(), rtol=1e-9, atol=1e-9, equal_nan=True
    )


@pytest.mark.parametrize("form", FORMS)
def test_any_form(form):
    metric = tally.RetrievalMAP()
    metric.update(PREDS, TARGET, form(QUERIES))
    wanted = tally.RetrievalMAP()
    wanted.update(PREDS, TARGET, indexes=QUERIES)
    assert torch.equal(copy_of(metric), copy_of(wanted))
    torch.testing.assert_close(metric.compute(), functional.retrieval_map(PREDS, TARGET, NUMBERS))
    integers = tally.RetrievalMAP()
    integers.update(PREDS, TARGET, form([str(int(number)) for number in NUMBERS]))
    numbers = tally.RetrievalMAP()
    numbers.update(PREDS, TARGET, NUMBERS)
    assert torch.equal(copy_of(integers), copy_of(numbers))


def copy_of(metric):
    return metric.metric_state["indexes"].clone()


def test_everything_takes_them():
    wanted = functional.retrieval_map(PREDS, TARGET, NUMBERS)
    assert functional.retrieval_map(PREDS, TARGET, QUERIES) == pytest.approx(float(wanted))
    metrics = tally.MetricCollection({"map": tally.RetrievalMAP(), "mrr": tally.RetrievalMRR()})
    assert float(metrics(PREDS, TARGET, indexes=QUERIES)["map"]) == pytest.approx(float(wanted))
    interval, numbered = tally.RetrievalMAP().interval(), tally.RetrievalMAP().interval()
    interval.update(PREDS, TARGET, np.array(QUERIES))
    numbered.update(PREDS, TARGET, NUMBERS)
    assert interval.compute().units == numbered.compute().units == 5
    assert float(interval.compute().value) == pytest.approx(float(wanted))
    sliced = tally.SlicedMetric(tally.RetrievalMAP())
    sliced.update(pd.Series(SIDES), PREDS, TARGET, pd.Series(QUERIES))
    for each in sliced.compute():
        rows = torch.tensor([side == each.key[0] for side in SIDES])
        alone = functional.retrieval_map(PREDS[rows], TARGET[rows], NUMBERS[rows])
        assert float(each.results) == pytest.approx(float(alone))
    pairs = [["a", "x"], ["b", "y"], ["a", "x"], ["b", "x"]]
    numbers = torch.tensor([[0, 0], [1, 1], [0, 0], [1, 0]])
    for data in (pairs, np.array(pairs), pd.DataFrame(pairs)):
        torch.testing.assert_close(
            tally.CramersVMatrix()(data), tally.CramersVMatrix()(numbers)
        )
    assert copy.deepcopy(sliced).compute()[0].name == "north"


def test_no_rows():
    for none in ([], np.array([], dtype=str), pd.Series([], dtype=object)):
        metric = tally.RetrievalMAP()
        metric.update(torch.rand(0), torch.rand(0), none)
        assert metric.compute().isnan()


@pytest.mark.parametrize(("queries", "message"), [
    (["a", 1, "b"], r"not both: got 'a' at \[0\] and 1 \(int\) at \[1\]"),
    ([1, 2, "b"], r"not both: got 'b' at \[2\] and 1 \(int\) at \[0\]"),
    (["a", "b", None], r"not both: got 'a' at \[0\] and None \(NoneType\) at \[2\]"),
    ([["a"], ["b", 2.5], ["c"]], r"not both: got 'a' at \[0\]\[0\] and 2.5 \(float\) at \[1\]\[1\]"),
    (np.array([b"a", b"b", b"c"]), "expected texts as str, got bytes"),
    ([[["a"]]], r"expected numbers, got the text 'a' at \[0\]\[0\]\[0\]"),
])
def test_refused(queries, message):
    metric = tally.RetrievalMAP()
    with pytest.raises(TypeError, match=message):
        metric.update(torch.rand(3), torch.ones(3), queries)
    assert metric.update_count == 0


def test_other_inputs_stay_numbers():
    ones = torch.tensor([0, 1])
    with pytest.raises(TypeError, match="expected groups to be .*pass the number of each text"):
        tally.BinaryFairness(num_groups=2)(ones, ones, ["F", "M"])
    with pytest.raises(ValueError, match=r"expected preds in \[0, 2\), got the text 'a'"):
        tally.ClusterAccuracy(num_classes=2)(["a", "b"], ones)
    with pytest.raises(TypeError, match="expected target to be"):
        tally.MeanSquaredError()(torch.rand(2), ["a", "b"])


def test_series_of_numbers_are_arrays():
    preds, target = pd.Series([0.5, 2.0]), pd.Series([1, 2], dtype="Int64")
    assert tally.MeanSquaredError()(preds, target) == 0.125


def over_ranks(rank, world):
    metric = tally.RetrievalMAP()
    metric.update(PREDS[rank::world], TARGET[rank::world], QUERIES[rank::world])
    return metric.compute()


@pytest.mark.parametrize("world", [2, 3])
def test_ranks_have_the_same_keys(world):
    wanted = functional.retrieval_map(PREDS, TARGET, NUMBERS)
    values = ranks.run(world, over_ranks)
    assert all(torch.equal(value, values[0]) for value in values)
    torch.testing.assert_close(values[0], wanted)
