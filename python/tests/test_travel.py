"""Metrics go to other processes, however these are made and whatever carries them."""

import concurrent.futures
import io
import logging
import multiprocessing
import pickle

import cloudpickle
import distributed.protocol
import pytest
import tally
import tally.compat.torchmetrics
import torch

pytestmark = pytest.mark.timeout(180)

torch.manual_seed(0)
PREDS = torch.rand(80)
OTHER = torch.rand(80)
TARGET = torch.randint(2, (80,))
NAMES = ["north", "south", None, "east"] * 20


def of_rows(metric, rows):
    metric.update(PREDS[rows], TARGET[rows])


def by_slice(metric, rows):
    metric.update(NAMES[rows], PREDS[rows], TARGET[rows])


def with_ids(metric, rows):
    metric.update(PREDS[rows], TARGET[rows], ids=torch.arange(80)[rows])


def of_two(metric, rows):
    metric.update(PREDS[rows], OTHER[rows], TARGET[rows], ids=torch.arange(80)[rows])


def by_slice_with_ids(metric, rows):
    metric.update(NAMES[rows], torch.arange(80)[rows], PREDS[rows], TARGET[rows])


def of_texts(metric, rows):
    metric.update(["a-b c", "d"], ["a-b d", "d"])


def collection():
    return tally.MetricCollection(
        {"accuracy": tally.BinaryAccuracy(threshold=0.3), "auroc": tally.BinaryAUROC()},
        prefix="val/", compute_with_cache=False,
    )


def arithmetic():
    p, r = tally.BinaryPrecision(), tally.BinaryRecall(nan_policy="ignore")
    return 2 * p * r / (p + r)


def told():
    metric = tally.BinaryAUROC(sync_on_compute=False, timeout=9.0)
    return metric.set_dtype(torch.float64).persistent().eval()


CASES = {
    "metric": (tally.BinaryAUROC, of_rows),
    "options": (told, of_rows),
    "arithmetic": (arithmetic, of_rows),
    "tokens": (lambda: tally.ROUGEScore(tokenizer=str.split), of_texts),
    "collection": (collection, of_rows),
    "slices": (lambda: tally.SlicedMetric(collection()), by_slice),
    "interval": (lambda: tally.IntervalMetric(tally.BinaryAUROC(), replicates=20), with_ids),
    "comparison": (lambda: tally.ModelComparison(tally.BinaryAUROC()), of_two),
    "slice comparison": (
        lambda: tally.SliceComparison(tally.BinaryAccuracy(), min_rows=5), by_slice_with_ids,
    ),
    "drop-in": (tally.compat.torchmetrics.classification.BinaryAUROC, of_rows),
}
FIRST, SECOND = slice(0, 50), slice(50, 80)


def by_torch(metric):
    file = io.BytesIO()
    torch.save(metric, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def by_dask(metric):
    return distributed.protocol.deserialize(
        *distributed.protocol.serialize(metric, on_error="raise")
    )


def in_parts(metric):
    """As Dask sends what a task has in a container."""
    return by_dask([{"state": metric}])[0]["state"]


WAYS = [
    lambda metric: pickle.loads(pickle.dumps(metric)),
    lambda metric: pickle.loads(pickle.dumps(metric, 2)),
    lambda metric: cloudpickle.loads(cloudpickle.dumps(metric)),
    by_torch, by_dask, in_parts,
]
NAMES_OF_WAYS = ["pickle", "pickle, 2", "cloudpickle", "torch.save", "dask", "dask, in parts"]


def updated(case, *parts):
    make, update = CASES[case]
    metric = make()
    for rows in parts:
        update(metric, rows)
    return metric


def same(metric, expected):
    assert str(metric.compute()) == str(expected.compute())
    assert metric.update_count == expected.update_count
    assert repr(metric) == repr(expected)


@pytest.mark.parametrize("rows", [[], [FIRST]], ids=["empty", "updated"])
@pytest.mark.parametrize("way", WAYS, ids=NAMES_OF_WAYS)
@pytest.mark.parametrize("case", CASES)
def test_what_arrives_goes_on(case, way, rows, caplog):
    sent = updated(case, *rows)
    with caplog.at_level(logging.ERROR):
        arrived = way(sent)
    assert not caplog.records
    CASES[case][1](arrived, SECOND)
    same(arrived, updated(case, *rows, SECOND))
    CASES[case][1](sent, SECOND)
    same(sent, arrived)
    if hasattr(sent, "reset"):
        arrived.reset()
        same(sent, updated(case, *rows, SECOND))


@pytest.mark.parametrize("way", WAYS, ids=NAMES_OF_WAYS)
def test_what_it_was_told_arrives(way):
    arrived = way(updated("options", FIRST))
    assert arrived.compute().dtype == torch.float64
    assert arrived._options == told()._options
    assert not arrived.training and "state" in arrived.state_dict()
    assert way(updated("collection", FIRST)).keys() == ["accuracy", "auroc"]
    member = way(updated("collection", FIRST)["auroc"])
    same(member, updated("metric", FIRST))
    assert way(collection().clone(prefix="test/"))(PREDS, TARGET).keys() == {
        "test/accuracy", "test/auroc"
    }


@pytest.mark.parametrize("way", WAYS, ids=NAMES_OF_WAYS)
def test_modules_take_theirs_along(way):
    model = torch.nn.Linear(2, 1)
    model.seen = updated("metric", FIRST)
    same(way(model).seen, model.seen)


def continued(case, metric):
    CASES[case][1](metric, SECOND)
    return metric


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_processes_send_them_back(start):
    context = multiprocessing.get_context(start)
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        answers = {
            case: pool.submit(continued, case, updated(case, FIRST)) for case in CASES
        }
        for case, answer in answers.items():
            same(answer.result(timeout=150), updated(case, FIRST, SECOND))


def test_a_process_group_stays():
    metric = tally.BinaryAccuracy()
    # One of torch.distributed needs ranks (test_ranks.py).
    metric._options["process_group"] = object()
    for way in WAYS[:4]:
        with pytest.raises(TypeError, match="cannot pickle a BinaryAccuracy with a process_group"):
            way(metric)
    with pytest.raises(TypeError, match="Could not serialize"):
        by_dask(metric)
