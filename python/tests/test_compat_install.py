"""The drop-in in place of `import torchmetrics` in other modules, and functional forms."""

import pickle
import sys
import types

import pytest
import torch
import torchmetrics as real

import tally.compat.torchmetrics as torchmetrics

PREDS, TARGET = torch.tensor([1, 0, 1, 1]), torch.tensor([1, 1, 1, 0])

# In lists: install() renames what modules name.
REAL = [real.classification.BinaryAccuracy, real.functional.classification.binary_accuracy]


@pytest.fixture
def program():
    """A module of somebody else's that has imported TorchMetrics."""
    module = types.ModuleType("program")
    sys.modules["program"] = module
    exec(
        "import torchmetrics\n"
        "from torchmetrics import Accuracy, MetricCollection, MetricTracker\n"
        "from torchmetrics.classification import BinaryAccuracy as Right\n"
        "from torchmetrics.functional.classification import accuracy, binary_accuracy\n",
        vars(module),
    )
    yield module
    torchmetrics.uninstall()
    del sys.modules["program"]


def test_install_reaches_what_was_imported_before_and_after(program):
    torchmetrics.install()
    torchmetrics.install()
    assert program.Right is torchmetrics.classification.BinaryAccuracy
    assert type(program.Accuracy(task="binary")) is program.Right
    assert type(program.torchmetrics.classification.BinaryAccuracy()) is program.Right
    assert program.binary_accuracy is torchmetrics.functional.classification.binary_accuracy
    assert program.MetricCollection is torchmetrics.MetricCollection
    scope = {}
    exec("from torchmetrics.classification.accuracy import BinaryAccuracy", scope)
    assert scope["BinaryAccuracy"] is program.Right
    assert torchmetrics.Accuracy is program.Accuracy


def test_uninstall_gives_torchmetrics_back(program):
    before = dict(vars(program))
    torchmetrics.install()
    torchmetrics.uninstall()
    assert vars(program) == before
    assert real.classification.BinaryAccuracy is REAL[0] is program.Right
    assert real.functional.classification.binary_accuracy is REAL[1]
    assert REAL[0].__qualname__ == "BinaryAccuracy"
    torchmetrics.uninstall()


def test_uninstall_leaves_what_others_have_put_there(program):
    torchmetrics.install()
    program.Right = None
    torchmetrics.uninstall()
    assert program.Right is None


def test_objects_made_before_stay(program):
    metric = program.Right()
    collection = program.MetricCollection([program.Right()])
    saved = pickle.dumps(metric)
    torchmetrics.install()
    for each in (metric, pickle.loads(saved), pickle.loads(pickle.dumps(metric))):
        assert type(each) is REAL[0]
        assert isinstance(each, program.Right)
        each.update(PREDS, TARGET)
        assert each.compute() == 0.5
    assert isinstance(collection, program.MetricCollection)
    collection = pickle.loads(pickle.dumps(collection))
    assert type(collection["BinaryAccuracy"]) is REAL[0]
    tracker = program.MetricTracker(collection)
    tracker.increment()
    tracker.update(PREDS, TARGET)
    assert tracker.compute() == {"BinaryAccuracy": 0.5}
    mine = pickle.loads(pickle.dumps(program.Right()))
    assert type(mine) is torchmetrics.classification.BinaryAccuracy


def test_torchmetrics_classes_still_use_its_functions(program):
    torchmetrics.install()
    torchmetrics.corrections(off=["RetrievalMAP"])
    try:
        metric = program.torchmetrics.retrieval.RetrievalMAP()
        value = metric(torch.tensor([0.3, 0.2]), torch.tensor([0, 1]), torch.tensor([0, 0]))
    finally:
        torchmetrics.corrections(off=[])
    assert value == 0.5


def test_hooks_of_forward_are_called():
    metric = torchmetrics.classification.BinaryAccuracy()
    seen = []
    metric.register_forward_pre_hook(lambda _, inputs: seen.append(len(inputs)))
    metric.register_forward_hook(lambda _, inputs, value: value + 1)
    assert metric(PREDS, TARGET) == 1.5
    assert seen == [2]
    everywhere = torch.nn.modules.module.register_module_forward_hook(
        lambda module, inputs, value: value + 2
    )
    try:
        assert torchmetrics.classification.BinaryAccuracy()(PREDS, TARGET) == 2.5
    finally:
        everywhere.remove()


# scikit-learn's values are those of the classes' tests.
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name, function, options", [
    ("MulticlassRecall", "multiclass_recall", {"num_classes": 2, "ignore_index": 0}),
    ("BinaryMatthewsCorrCoef", "binary_matthews_corrcoef", {}),
])
def test_functions_are_corrected_with_their_classes(name, function, options):
    preds, target = torch.tensor([0, 0, 1]), torch.tensor([0, 1, 1])
    if "Matthews" in name:
        preds = target = torch.ones(3, dtype=torch.long)
    metric = getattr(torchmetrics.classification, name)(**options)
    expected = 0.5 if "Recall" in name else 0.0  # sklearn's recall_score, matthews_corrcoef
    call = getattr(torchmetrics.functional.classification, function)
    assert metric(preds, target) == call(preds, target, **options) == expected
    assert getattr(real.functional.classification, function)(preds, target, **options) != expected
    torchmetrics.corrections(off=[name])
    try:
        own = call(preds, target, **options)
    finally:
        torchmetrics.corrections(off=[])
    assert own == getattr(real.functional.classification, function)(preds, target, **options)


def test_functions_that_choose_by_task_choose_these():
    given = (torch.tensor([0, 0, 1]), torch.tensor([0, 1, 1]))
    value = torchmetrics.functional.recall(
        *given, task="multiclass", num_classes=2, average="macro", ignore_index=0
    )
    assert value == 0.5


def test_functions_keep_forms_of_torchmetrics():
    functional = torchmetrics.functional
    given = (torch.tensor([[1, 0, 1]]), torch.tensor([[1, 1, 1]]))
    value = functional.classification.binary_accuracy(*given, multidim_average="samplewise")
    assert value.shape == (1,)
    # Two values of different options, and of the same ones, do not meet.
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0])
    assert functional.mean_squared_error(x, y) == 2
    assert functional.mean_squared_error(x, y, squared=False) == pytest.approx(2**0.5)
    assert functional.mean_squared_error(x, y + 1) == 5
    assert functional.mean_squared_error(x.double(), y).dtype == torch.float64
    # As retrieval metrics, of one query.
    hits = torch.tensor([True, False])
    assert functional.retrieval_average_precision(torch.tensor([-1.0, -2.0]), hits) == 1
    assert functional.retrieval_average_precision(torch.tensor([-2.0, -1.0]), hits) == 0.5


def test_functions_are_differentiable():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    torchmetrics.functional.mean_squared_error(x, torch.zeros(2)).backward()
    assert x.grad.tolist() == [1, 2]


@pytest.mark.parametrize("inputs", [
    (torch.tensor([0.5, 0.2]), torch.tensor([0, 3])),
    (torch.tensor([0.5]), torch.tensor([0, 1])),
    (torch.tensor([0.5]),),
])
def test_functions_refuse_in_torchmetrics_words(inputs):
    with pytest.raises(Exception) as theirs:
        real.functional.classification.binary_accuracy(*inputs)
    with pytest.raises(theirs.type) as mine:
        torchmetrics.functional.classification.binary_accuracy(*inputs)
    assert str(mine.value) == str(theirs.value)
