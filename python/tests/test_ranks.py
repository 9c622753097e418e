"""Metrics over ranks of torch.distributed."""

import pickle
import time

import pytest
import ranks
import tally
import torch
import torch.distributed as dist

torch.manual_seed(0)
PREDS = torch.rand(64)
TARGET = torch.randint(2, (64,))


def part(rank, world):
    """Uneven, and nothing on the last of three."""
    ends = {2: [0, 20, 64], 3: [0, 20, 64, 64]}[world]
    return slice(ends[rank], ends[rank + 1])


def make():
    return tally.MetricCollection(
        {"accuracy": tally.BinaryAccuracy(), "auroc": tally.BinaryAUROC(),
         "roc": tally.BinaryROC()}
    )


def values(rank, world):
    metrics = make()
    own = part(rank, world)
    if own.stop > own.start:
        metrics.update(PREDS[own], TARGET[own])
    synced = metrics.compute()
    again = metrics.compute()
    assert all(torch.equal(synced[name], again[name]) for name in synced)
    metrics.sync()
    count = metrics["accuracy"].update_count
    metrics.unsync()
    assert metrics["accuracy"].update_count == (own.stop > own.start)
    alone = tally.BinaryAccuracy(sync_on_compute=False)
    alone.update(PREDS[:1], TARGET[:1])
    alone.compute()
    return synced, count


@pytest.mark.parametrize("world", [2, 3])
def test_values_are_those_of_one_process(world):
    metrics = make()
    metrics.update(PREDS, TARGET)
    expected = metrics.compute()
    for synced, _ in ranks.run(world, values):
        for name, value in expected.items():
            torch.testing.assert_close(synced[name], value)


def on_step(rank, world):
    metric = tally.MeanSquaredError(dist_sync_on_step=True, gradient_flow="all_ranks")
    own = part(rank, world)
    x = PREDS[own].clone().requires_grad_()
    value = metric(x, TARGET[own].float())
    value.backward()
    return value.detach(), x.grad / world


def test_forward_with_dist_sync_on_step():
    x = PREDS.clone().requires_grad_()
    expected = tally.MeanSquaredError()(x, TARGET.float())
    expected.backward()
    results = ranks.run(2, on_step)
    for value, _ in results:
        torch.testing.assert_close(value, expected.detach())
    torch.testing.assert_close(torch.cat([grad for _, grad in results]), x.grad)


def with_group(rank, world):
    first = dist.new_group([0])
    pair = dist.new_group([1, 2])
    if rank == 0:
        with pytest.raises(ValueError, match="member"):
            tally.MeanMetric(process_group=pair)
    mean = tally.MeanMetric(process_group=first if rank == 0 else pair)
    mean.update(float(rank))
    assert mean.clone().compute() == mean.compute()
    with pytest.raises(TypeError, match="process_group"):
        pickle.dumps(mean)
    return mean.compute().item()


def test_a_group_that_is_given():
    assert ranks.run(3, with_group) == [0.0, 1.5, 1.5]


def mismatch(rank, world):
    metric = tally.BinaryAccuracy() if rank == 0 else tally.BinaryAUROC()
    metric.update(PREDS, TARGET)
    with pytest.raises(tally.SyncError, match="kMismatch") as caught:
        metric.compute()
    error = caught.value
    assert isinstance(error, RuntimeError)
    assert error.code is tally.SyncErrorCode.MISMATCH
    assert error.rank == rank and error.sequence >= 0
    # The group goes on.
    mean = tally.MeanMetric()
    mean.update(rank)
    assert mean.compute() == 0.5
    failing = tally.MeanSquaredError(dist_sync_on_step=True)
    if rank == 0:
        with pytest.raises(ValueError):
            failing(PREDS, TARGET[:3])
    else:
        with pytest.raises(tally.SyncError) as caught:
            failing(PREDS, TARGET)
        assert caught.value.code is tally.SyncErrorCode.PEER_FAILED
        assert caught.value.peers == (0,)
    return True


def test_errors_are_the_same_on_every_rank():
    assert ranks.run(2, mismatch) == [True, True]


def late(rank, world):
    metric = tally.MeanMetric(timeout=0.5)
    metric.update(1.0)
    if rank == 1:
        time.sleep(2)
        return True
    with pytest.raises(tally.SyncError) as caught:
        metric.compute()
    assert caught.value.code is tally.SyncErrorCode.TIMEOUT
    assert metric.update_count == 1
    return True


def late_and_leave(rank, world):
    late(rank, world)
    return True


def test_a_rank_that_is_late():
    with pytest.raises(AssertionError, match="barrier"):
        # The group is finished for whatever comes after, the barrier too.
        ranks.run(2, late_and_leave)


def groups_come_and_go(rank, world):
    mean = tally.MeanMetric()
    mean.update(rank)
    assert mean.compute() == 0.5
    store = dist.distributed_c10d._get_default_store()
    dist.barrier()
    dist.destroy_process_group()
    mean.update(rank)
    assert mean.compute() == rank
    dist.init_process_group(
        "gloo", store=dist.PrefixStore("again", store), rank=rank, world_size=world
    )
    mean.update(rank)
    assert mean.compute() == 0.5
    return True


def test_groups_may_come_and_go():
    assert ranks.run(2, groups_come_and_go) == [True, True]


def gathered(rank, world):
    x = torch.full((rank + 1, 2), float(rank), requires_grad=True)
    everyone = tally.gather_all_tensors(x)
    assert [tuple(each.shape) for each in everyone] == [(1, 2), (2, 2)]
    assert everyone[rank] is x or everyone[rank].requires_grad
    torch.manual_seed(rank)
    model = torch.nn.Linear(2, 1)
    tally.broadcast_parameters(model.parameters())
    model(x).sum().backward()
    tally.average_gradients(model.parameters())
    return [p.detach() for p in model.parameters()] + [p.grad for p in model.parameters()]


def test_tensors_over_ranks():
    for a, b in zip(*ranks.run(2, gathered)):
        assert torch.equal(a, b)


def checkpoints(rank, world, folder):
    metric = tally.BinaryAUROC()
    own = part(rank, world)
    metric.update(PREDS[own], TARGET[own])
    expected = metric.compute()
    metric.save(f"{folder}/all", ranks="one_file")
    metric.reset()
    metric.load(f"{folder}/all", ranks="one_file")
    assert torch.equal(metric.compute(), expected)
    return True


def test_checkpoints_of_all_ranks(tmp_path):
    assert ranks.run(2, checkpoints, str(tmp_path)) == [True, True]
