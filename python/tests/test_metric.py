"""Metrics as Python sees them."""

import copy
import inspect
import pickle
import threading

import numpy as np
import pytest
import tally
import torch

PREDS = torch.tensor([0.1, 0.8, 0.6, 0.3])
TARGET = torch.tensor([0, 1, 0, 1])


def accuracy():
    return tally.BinaryAccuracy()


def test_update_compute_reset():
    metric = accuracy()
    metric.update(PREDS, TARGET)
    assert metric.compute().item() == 0.5
    assert metric.update_count == 1
    metric.reset()
    assert metric.update_count == 0
    assert metric.compute().isnan()


def test_forward_gives_the_value_of_its_batch():
    metric = accuracy()
    assert metric(PREDS[:2], TARGET[:2]) == 1
    assert metric(PREDS[2:], TARGET[2:]) == 0
    assert metric.compute() == 0.5


def test_inputs_by_name():
    metric = accuracy()
    metric.update(target=TARGET, preds=PREDS)
    metric.update(PREDS, target=TARGET)
    assert metric.compute() == 0.5
    with pytest.raises(TypeError, match="'preds' is given twice"):
        metric.update(PREDS, preds=PREDS)
    with pytest.raises(ValueError, match="target"):
        metric.update(preds=PREDS)
    with pytest.raises(ValueError, match="predz"):
        metric.update(predz=PREDS, target=TARGET)
    with pytest.raises(TypeError, match="by position"):
        metric.update(PREDS, TARGET, None, PREDS, weight=PREDS)
    assert metric.update_count == 2


class Exchanged:
    """What has DLPack and nothing else."""

    def __init__(self, tensor):
        self._tensor = tensor

    def __dlpack__(self, **kwargs):
        return self._tensor.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self._tensor.__dlpack_device__()


@pytest.mark.parametrize(
    "convert",
    [
        lambda x: x.numpy(),
        lambda x: x.numpy()[::-1].copy()[::-1],
        lambda x: np.frombuffer(x.numpy().tobytes(), x.numpy().dtype),
        lambda x: x.numpy().astype(x.numpy().dtype.newbyteorder(">")),
        lambda x: x.tolist(),
        Exchanged,
        lambda x: torch.nn.Parameter(x, requires_grad=False),
    ],
    ids=["numpy", "reversed", "read-only", "big-endian", "list", "dlpack", "parameter"],
)
def test_arrays_are_taken_as_tensors(convert):
    metric = accuracy()
    metric.update(convert(PREDS), convert(TARGET))
    assert metric.compute() == 0.5
    assert metric(convert(PREDS), convert(TARGET)) == 0.5


def test_numbers():
    mean = tally.MeanMetric()
    mean.update(0.25)
    mean.update(1)
    mean.update(np.float32(0.5))
    assert mean.compute() == (0.25 + 1 + 0.5) / 3


@pytest.mark.parametrize(
    ("inputs", "error", "match"),
    [
        ((PREDS, TARGET + 2), IndexError, "target"),
        ((PREDS, TARGET[:3]), ValueError, "shape|rows|size"),
        ((PREDS,), ValueError, "input"),
        ((PREDS, object()), TypeError, "object"),
        ((PREDS, [TARGET]), TypeError, "list of tensors"),
        ((PREDS, ["a"]), TypeError, "target"),
    ],
)
def test_bad_input_changes_nothing(inputs, error, match):
    metric = accuracy()
    metric.update(PREDS, TARGET)
    with pytest.raises(error, match=match) as caught:
        metric.update(*inputs)
    assert "\n" not in str(caught.value).strip()
    assert metric.update_count == 1
    assert metric.compute() == 0.5


def test_options():
    metric = tally.MulticlassAccuracy(5, average="micro", top_k=2, nan_policy="error")
    assert repr(metric).startswith("MulticlassAccuracy(num_classes=5, top_k=2")
    assert "average=none" in repr(tally.MulticlassAccuracy(num_classes=3, average=None))
    assert "[0.1, 0.5]" in repr(tally.BinaryROC(thresholds=torch.tensor([0.1, 0.5], dtype=torch.float64)))
    assert "labels=[\"a, b\", c]" in repr(
        tally.ClasswiseWrapper(tally.MulticlassAccuracy(2, average="none"), labels=["a, b", "c"])
    )


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: tally.MulticlassAccuracy(), TypeError, "num_classes"),
        (lambda: tally.MulticlassAccuracy(num_class=3), TypeError, "did you mean 'num_classes'"),
        (lambda: tally.MulticlassAccuracy(0), ValueError, "num_classes"),
        (lambda: tally.MulticlassAccuracy(True), ValueError, "an integer"),
        (lambda: tally.MulticlassAccuracy(3, average="mean"), ValueError, "one of micro"),
        (lambda: tally.MulticlassAccuracy(3, average=object()), TypeError, "object"),
        (lambda: tally.BinaryAccuracy(nan_policy="drop"), ValueError, "nan_policy"),
        (lambda: tally.BinaryAccuracy(timeout=-1), ValueError, "timeout"),
        (lambda: tally.BinaryAccuracy(process_group=-100), ValueError, "member"),
        (lambda: tally.BinaryAccuracy(gradient_flow="up"), ValueError, "gradient_flow"),
        (lambda: tally.Metric("Accuracy()"), ValueError, "did you mean|unknown metric"),
    ],
)
def test_bad_options(make, error, match):
    with pytest.raises(error, match=match):
        make()


def test_metric_from_text():
    metric = tally.Metric("MulticlassAccuracy(num_classes=3)")
    metric.update(torch.tensor([0, 1]), target=torch.tensor([0, 2]))
    assert metric.update_count == 1


def test_classes_describe_themselves():
    signature = inspect.signature(tally.MulticlassAccuracy)
    assert list(signature.parameters)[0] == "num_classes"
    assert signature.parameters["average"].default == "macro"
    assert signature.parameters["sync_on_compute"].default is True
    for name in tally._METRICS:
        cls = getattr(tally, name)
        assert cls.__doc__.startswith(cls._entry["what"])
        assert cls.__module__ == "tally"


def test_results_with_parts():
    roc = tally.BinaryROC()
    roc.update(PREDS, TARGET)
    assert set(roc.compute()) == {"fpr", "tpr", "thresholds"}


def test_pickle_and_copies():
    metric = accuracy()
    metric.update(PREDS, TARGET)
    metric.set_dtype(torch.float32)
    for copied in (
        pickle.loads(pickle.dumps(metric)), copy.deepcopy(metric), copy.copy(metric), metric.clone()
    ):
        assert type(copied) is tally.BinaryAccuracy
        assert copied.compute() == 0.5
        assert copied.compute().dtype == torch.float32
        copied.update(PREDS, 1 - TARGET)
        assert copied.update_count == 2
        assert metric.update_count == 1


def test_state_dict_has_tensors_only(tmp_path):
    metric = accuracy()
    metric.update(PREDS, TARGET)
    assert metric.state_dict() == {}
    model = torch.nn.ModuleDict({"metric": metric.persistent()})
    torch.save(model.state_dict(), tmp_path / "model.pt")
    state = torch.load(tmp_path / "model.pt")  # weights_only
    assert list(state) == ["metric.state"]
    other = torch.nn.ModuleDict({"metric": accuracy().persistent()})
    other.load_state_dict(state)
    assert other["metric"].compute() == 0.5
    with pytest.raises(RuntimeError, match="metric.state"):
        other.load_state_dict({})
    with pytest.raises(RuntimeError, match="BinaryAccuracy"):
        torch.nn.ModuleDict({"metric": tally.MeanMetric().persistent()}).load_state_dict(state)


def test_save_and_load(tmp_path):
    metric = accuracy()
    metric.update(PREDS, TARGET)
    metric.save(tmp_path / "a.tally")
    other = accuracy()
    other.load(tmp_path / "a.tally")
    assert other.compute() == 0.5
    other = accuracy()
    other.deserialize(metric.serialize())
    assert other.update_count == 1
    with pytest.raises(FileNotFoundError):
        other.load(tmp_path / "b.tally")
    with pytest.raises(ValueError):
        other.deserialize(b"nothing of the kind")
    with pytest.raises(ValueError):
        tally.MeanMetric().load(tmp_path / "a.tally")
    with pytest.raises(ValueError, match="ranks"):
        metric.save(tmp_path / "a.tally", ranks="all")


def test_merge_state():
    a, b = accuracy(), accuracy()
    a.update(PREDS[:2], TARGET[:2])
    b.update(PREDS[2:], TARGET[2:])
    a.merge_state(b)
    assert a.compute() == 0.5
    a.merge_state([b, b])
    assert a.update_count == 4
    with pytest.raises(ValueError, match="itself"):
        a.merge_state(a)
    with pytest.raises(TypeError, match="MeanMetric"):
        a.merge_state(tally.MeanMetric())


def test_sync_alone():
    metric = accuracy()
    metric.update(PREDS, TARGET)
    with metric.sync_context():
        assert metric.is_synced
        with pytest.raises(RuntimeError, match="sync"):
            metric.update(PREDS, TARGET)
        assert metric.compute() == 0.5
    assert not metric.is_synced
    with pytest.raises(RuntimeError):
        metric.unsync()


def test_gradients():
    metric = tally.MeanSquaredError()
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    metric(x, torch.zeros(2)).backward()
    assert x.grad.tolist() == [1.0, 3.0]
    assert not metric.compute().requires_grad
    assert metric.is_differentiable and metric.higher_is_better is False


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
        self.accuracy = accuracy()


def test_modules():
    model = Model().to(torch.float64)
    assert isinstance(model.accuracy, torch.nn.Module)
    assert model.accuracy.device == torch.device("cpu")
    copied = pickle.loads(pickle.dumps(model))
    assert isinstance(copied.accuracy, tally.BinaryAccuracy)
    assert list(model.parameters()) and not list(model.accuracy.parameters())


def test_wrappers():
    best = tally.MinMaxMetric(accuracy())
    best.update(PREDS, TARGET)
    assert set(best.compute()) == {"raw", "min", "max"}
    running = tally.Running(tally.MeanSquaredError(nan_policy="ignore"), window=2)
    running.update(torch.tensor([1.0, torch.nan]), torch.zeros(2))
    assert running.compute() == 1
    tasks = tally.MultitaskWrapper(
        {"age": tally.MeanSquaredError(), "animal": tally.MulticlassAccuracy(2)}
    )
    tasks.update(
        {"age": torch.ones(2), "animal": torch.tensor([0, 1])},
        {"age": torch.zeros(2), "animal": torch.tensor([0, 1])},
    )
    assert {k: v.item() for k, v in tasks.compute().items()} == {"age": 1.0, "animal": 1.0}
    assert pickle.loads(pickle.dumps(tasks)).compute()["age"] == 1


def test_arithmetic():
    p, r = tally.BinaryPrecision(), tally.BinaryRecall()
    f1 = 2 * p * r / (p + r)
    f1.update(PREDS, TARGET)
    expected = tally.BinaryF1Score()
    expected.update(PREDS, TARGET)
    assert f1.compute() == expected.compute()
    assert pickle.loads(pickle.dumps(f1)).compute() == f1.compute()
    best = tally.maximum(tally.sqrt(abs(-p)) ** 2, 0.25)
    best.update(PREDS, TARGET)
    torch.testing.assert_close(best.compute(), torch.tensor(0.5, dtype=torch.float64))
    with pytest.raises(TypeError):
        p + "r"
    with pytest.raises(ValueError, match="accumulated"):
        f1 + p
    with pytest.raises(ValueError, match="dist_sync_on_step"):
        p + tally.BinaryRecall(dist_sync_on_step=True)
    with pytest.raises(ValueError, match="text"):
        tally.MinMaxMetric(p + r)


def test_threads_are_refused_or_take_turns():
    metric = tally.BinaryAUROC()
    preds = torch.rand(200_000)
    target = torch.randint(2, (200_000,))
    metric.update(preds, target)
    errors = []

    def work():
        for _ in range(20):
            try:
                metric.update(preds, target)
                metric.compute()
            except RuntimeError as error:
                errors.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("one thread" in error for error in errors)
    assert not metric.compute().isnan()


def test_other_threads_run_meanwhile():
    metric = tally.KendallRankCorrCoef()
    metric.update(torch.rand(2_000_000), torch.rand(2_000_000))
    ticks = 0
    done = threading.Event()

    def compute():
        metric.compute()
        done.set()

    thread = threading.Thread(target=compute)
    thread.start()
    while not done.wait(0.001):
        ticks += 1
    thread.join()
    assert ticks > 10


def test_compile():
    metric = accuracy()

    @torch.compile(backend="eager")
    def step(x, y):
        scores = (x * 2).clamp(max=1) / 2 + x / 2
        metric.update(scores, y)
        value = metric(scores, y)
        return value + 1

    assert step(PREDS, TARGET) == 1 + metric.compute()
    step(PREDS, TARGET)
    assert metric.update_count == 4


def collection(**options):
    return tally.MetricCollection(
        {"accuracy": accuracy(), "f1": tally.BinaryF1Score(), "roc": tally.BinaryROC()}, **options
    )


def test_collection():
    metrics = collection(prefix="val/")
    value = metrics(PREDS, TARGET)
    assert list(value) == [
        "val/accuracy", "val/f1", "val/roc.fpr", "val/roc.tpr", "val/roc.thresholds"
    ]
    metrics.update(preds=PREDS, target=TARGET)
    assert metrics.compute()["val/accuracy"] == 0.5
    assert metrics.keys() == ["accuracy", "f1", "roc"]
    assert len(metrics) == 3 and "f1" in metrics
    assert metrics["f1"].update_count == 2
    assert type(metrics["f1"]) is tally.BinaryF1Score
    assert len(metrics.compute_groups) < 3
    with pytest.raises(KeyError, match="accuracy"):
        metrics["f2"]
    for copied in (pickle.loads(pickle.dumps(metrics)), copy.deepcopy(metrics)):
        assert copied.compute()["val/accuracy"] == 0.5
    assert list(metrics.clone(prefix="test/").compute())[0] == "test/accuracy"
    other = collection(prefix="val/")
    other.update(PREDS, TARGET)
    metrics.merge_state(other)
    assert metrics.update_count == 3
    metrics.reset()
    assert metrics["accuracy"].update_count == 0


def test_collections_are_made_of_lists_and_of_each_other():
    metrics = tally.MetricCollection([accuracy(), tally.BinaryRecall()])
    assert metrics.keys() == ["BinaryAccuracy", "BinaryRecall"]
    nested = tally.MetricCollection({"a": metrics, "b": accuracy()})
    assert nested.keys() == ["a.BinaryAccuracy", "a.BinaryRecall", "b"]
    with pytest.raises(ValueError, match="twice"):
        tally.MetricCollection([accuracy(), accuracy()])
    with pytest.raises(TypeError, match="got 1.0"):
        tally.MetricCollection({"a": 1.0})
    with pytest.raises(ValueError, match="sync"):
        tally.MetricCollection({"a": tally.BinaryAccuracy(dist_sync_on_step=True)})


def test_a_collection_takes_inputs_by_name():
    metrics = tally.MetricCollection({"accuracy": accuracy(), "loss": tally.MeanMetric()})
    metrics.update(preds=PREDS, target=TARGET, value=0.5)
    assert metrics.compute()["loss"] == 0.5
    with pytest.raises(ValueError, match="value"):
        metrics.update(preds=PREDS, target=TARGET)
    assert metrics["accuracy"].update_count == 1
