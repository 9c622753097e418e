"""Losses as modules, alone and over ranks."""

import copy
import pathlib
import pickle
import re

import pytest
import ranks
import tally
import torch
from tally import functional, losses

torch.manual_seed(0)
A = torch.nn.functional.normalize(torch.randn(12, 8, dtype=torch.float64), dim=1)
B = torch.nn.functional.normalize(torch.randn(12, 8, dtype=torch.float64), dim=1)
LABELS = torch.randint(3, (12,))
WEIGHT = torch.randn(8, 8, dtype=torch.float64)
SPLIT = [slice(0, 5), slice(5, 12)]


def clip(a, b, rows, **options):
    scale = torch.tensor(10.0, dtype=torch.float64)
    return losses.ClipLoss(**options)(a, b, scale)


def sig_lip(a, b, rows):
    return losses.SigLipLoss()(a, b, torch.tensor(10.0).double(), torch.tensor(-10.0).double())


CASES = {
    "clip": clip,
    "clip_gathered": lambda a, b, rows: clip(a, b, rows, pairwise_logits="gathered"),
    "sig_lip": sig_lip,
    "nt_xent": lambda a, b, rows: losses.NTXentLoss()(a, b),
    "sup_con": lambda a, b, rows: losses.SupConLoss()(torch.stack([a, b], 1), LABELS[rows]),
    "dcl": lambda a, b, rows: losses.DCLLoss()(a, b),
    "dclw": lambda a, b, rows: losses.DCLWLoss()(a, b),
    "dcl_weighted": lambda a, b, rows: losses.DCLLoss(
        weight_fn=lambda x, y: (x * y).sum(1) + x[:, 0])(a, b),
    "barlow_twins": lambda a, b, rows: losses.BarlowTwinsLoss()(a, b),
    "vicreg": lambda a, b, rows: losses.VICRegLoss()(a, b),
    "coca": lambda a, b, rows: sum(losses.CoCaLoss(2.0, 1.0)(
        a, b, (a[:, None] @ WEIGHT.T), LABELS[rows][:, None] + 1, torch.tensor(10.0).double())),
    "distill": lambda a, b, rows: sum(losses.DistillClipLoss()(
        a, b, torch.tensor(10.0).double(), A[rows], B[rows], torch.tensor(5.0).double())),
    "dice": lambda a, b, rows: losses.DiceLoss(average="weighted")(a[:, :3], LABELS[rows]),
    "lovasz": lambda a, b, rows: losses.LovaszSoftmaxLoss()(a[:, :3], LABELS[rows]),
    "auc": lambda a, b, rows: losses.PairwiseAUCLoss()(a[:, 0], LABELS[rows].eq(1)),
    "aucm": lambda a, b, rows: losses.AUCMLoss(learned=True)(a[:, 0], LABELS[rows].eq(1)),
    "smooth_ap": lambda a, b, rows: losses.SmoothAPLoss(temperature=0.1)(a[:, 0], LABELS[rows].eq(1)),
    "lambda": lambda a, b, rows: losses.LambdaLoss(weight="ndcg2")(
        a, b.detach().mul(3).round().abs()),
    "ap_by_query": lambda a, b, rows: losses.FastAPLoss()(
        a[:, 0], LABELS[rows].eq(1), LABELS[rows].eq(0).long()),
    "spearman": lambda a, b, rows: losses.SoftSpearmanLoss()(a[:, 0], b[:, 0].detach()),
    "mmce": lambda a, b, rows: losses.MMCELoss(squared=True)(a[:, :3], LABELS[rows]),
    "soft_rank": lambda a, b, rows: losses.MetricLoss(tally.MeanSquaredError())(
        functional.soft_rank(a, strength=0.1), b),
    "boxes": lambda a, b, rows: losses.BoxOverlapLoss(overlap="ciou")(
        torch.cat([a[:, :2], a[:, :2] + a[:, 2:4].exp()], 1),
        torch.cat([b[:, :2], b[:, :2] + b[:, 2:4].exp()], 1).detach()),
    "metric": lambda a, b, rows: losses.MetricLoss(tally.MeanSquaredError())(a, b),
    "functional": lambda a, b, rows: functional.nt_xent_loss(a, b, temperature=0.2),
}


def value_and_gradient(case, rows):
    weight = WEIGHT.clone().requires_grad_()
    a = torch.nn.functional.normalize(A[rows] @ weight, dim=1)
    b = torch.nn.functional.normalize(B[rows] @ weight, dim=1)
    loss = CASES[case](a, b, rows)
    loss.backward()
    return loss.detach(), weight


def on_ranks(rank, world):
    results = {}
    for case in CASES:
        loss, weight = value_and_gradient(case, SPLIT[rank])
        tally.average_gradients([weight])
        results[case] = loss, weight.grad
    return results


@pytest.fixture(scope="module")
def of_ranks():
    return ranks.run(2, on_ranks)


@pytest.mark.parametrize("case", CASES)
def test_value_and_gradient_are_those_of_one_process(case, of_ranks):
    loss, weight = value_and_gradient(case, slice(0, 12))
    for results in of_ranks:
        torch.testing.assert_close(results[case][0], loss, rtol=1e-9, atol=1e-12)
        torch.testing.assert_close(results[case][1], weight.grad, rtol=1e-7, atol=1e-9)


def test_all_losses_of_the_library_are_there():
    """By the headers' own declarations."""
    folder = pathlib.Path(__file__).resolve().parents[2] / "losses"
    text = "".join(file.read_text(encoding="utf-8") for file in folder.rglob("*.h"))
    names = re.findall(r"^TORCH_MODULE\((\w+)\);", text, re.M)
    assert len(names) > 30
    assert set(names) <= set(losses.__all__)
    assert all(getattr(losses, name).__doc__ for name in names)


def test_clip_loss_equals_the_formula():
    scale = torch.tensor(10.0, dtype=torch.float64)
    logits = scale * A @ B.T
    rows = torch.arange(12)
    expected = (
        torch.nn.functional.cross_entropy(logits, rows)
        + torch.nn.functional.cross_entropy(logits.T, rows)
    ) / 2
    torch.testing.assert_close(functional.clip_loss(A, B, scale), expected)
    given = losses.ClipLoss().logits(A, B, 10.0)
    torch.testing.assert_close(given.per_image, logits)
    torch.testing.assert_close(given.per_text, logits.T)


def test_inputs():
    loss = losses.ClipLoss()
    named = loss(text_features=B, image_features=A, logit_scale=10.0)
    assert named == loss(A, B, 10.0)
    with pytest.raises(TypeError, match="logit_scale.* missing"):
        loss(A, B)
    with pytest.raises(TypeError, match="'scale' is none of"):
        loss(A, B, scale=1.0)
    with pytest.raises(TypeError, match="given twice"):
        loss(A, B, 10.0, image_features=A)
    with pytest.raises(TypeError, match="at most 4"):
        loss(A, B, 10.0, None, A)
    with pytest.raises(TypeError, match="a list"):
        loss(A, [1.0], 10.0)
    with pytest.raises(ValueError):
        loss(A, B[:, :3], 10.0)
    with pytest.raises(TypeError, match="did you mean 'local_loss'"):
        losses.ClipLoss(local_los=True)
    with pytest.raises(ValueError, match="pairwise_logits"):
        losses.ClipLoss(pairwise_logits="none")
    with pytest.raises(TypeError, match="dim"):
        losses.VectorQuantize(codebook_size=8)


def test_metric_loss():
    loss = losses.MetricLoss(tally.MeanSquaredError())
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    loss(x, torch.zeros(2)).backward()
    assert x.grad.tolist() == [1.0, 3.0]
    loss(x, torch.tensor([1.0, 3.0]))
    assert loss.metric.compute() == 2.5
    for copied in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert copied.metric.update_count == 2
        copied(x, x)
    assert loss.metric.update_count == 2
    loss.metric.reset()
    assert loss.metric.update_count == 0
    with pytest.raises(ValueError, match="differentiable"):
        losses.MetricLoss(tally.BinaryAUROC())
    with pytest.raises(TypeError, match="tally.Metric"):
        losses.MetricLoss(torch.nn.MSELoss())


def test_lfq_is_a_module_with_parameters():
    torch.manual_seed(0)
    lfq = losses.LFQ(dim=6, codebook_size=16)
    names = {name for name, _ in lfq.named_parameters()}
    assert names == {
        "project_in.weight", "project_in.bias", "project_out.weight", "project_out.bias"
    }
    optimizer = torch.optim.SGD(lfq.parameters(), lr=0.1)
    x = torch.randn(2, 5, 6)
    before = lfq(x).aux_loss
    before.backward()
    assert all(p.grad is not None for n, p in lfq.named_parameters() if "in" in n)
    optimizer.step()
    assert lfq(x).aux_loss != before
    restored = losses.LFQ(dim=6, codebook_size=16)
    restored.load_state_dict(lfq.state_dict())
    for other in (restored, copy.deepcopy(lfq), pickle.loads(pickle.dumps(lfq))):
        assert torch.equal(other(x).quantized, lfq(x).quantized)
    assert torch.equal(lfq.indices_to_codes(lfq(x).indices), lfq(x).quantized)
    assert lfq.double().project_in.weight.dtype == torch.float64
    lfq(x.double())


def test_vector_quantize_learns_and_is_saved():
    torch.manual_seed(1)
    vq = losses.VectorQuantize(4, codebook_size=8, seed=3)
    x = torch.randn(64, 4)
    before = vq.state_dict()["codebook"].clone()
    for _ in range(3):
        out = vq(x[None])
    assert not torch.equal(vq.state_dict()["codebook"], before)
    vq.eval()
    expected = vq(x[None])
    other = losses.VectorQuantize(4, codebook_size=8, seed=3).eval()
    other.load_state_dict(vq.state_dict())
    assert torch.equal(other(x[None]).quantized, expected.quantized)
    copied = copy.deepcopy(vq)
    copied.train()
    copied(x[None])
    assert not torch.equal(copied.codebook, vq.codebook)
    assert out.indices.shape == (1, 64)


def test_memory_bank():
    loss = losses.NTXentLoss(memory_bank_size=16)
    loss(A, B)
    bank = loss.state_dict()["memory_bank"]
    assert bank.shape == (16, 8)
    other = losses.NTXentLoss(memory_bank_size=16)
    other.load_state_dict(loss.state_dict())
    assert other(A, B) == loss(A, B)


def test_autocast():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = losses.ClipLoss()(A.float(), B.float(), 10.0)
    assert value.dtype == torch.float32


def test_losses_are_made_from_text():
    a, b = torch.rand(5), torch.tensor([0, 1, 1, 0, 1])
    made = losses.make_loss('DiceLoss(mode="binary", smooth_nr=1)', timeout=9)
    same = losses.DiceLoss(mode="binary", smooth_nr=1.0)
    assert made(a, b).equal(same(a, b))
    assert made._given["timeout"] == 9
    quantizer = losses.make_loss("VectorQuantize(dim=4, codebook_size=8, kmeans_init=true)")
    assert quantizer(torch.rand(9, 4)).quantized.shape == (9, 4)
    with pytest.raises(ValueError, match="unknown loss 'DiseLoss'; did you mean 'DiceLoss'"):
        losses.make_loss("DiseLoss")
    with pytest.raises(TypeError, match="smoth_nr"):
        losses.make_loss("DiceLoss(smoth_nr=1)")
