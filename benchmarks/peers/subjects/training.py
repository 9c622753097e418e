"""Losses of one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn import functional

from subjects.case import Case, Function, Inputs
from subjects.sizes import BATCH

CLASSES, SIDE = 4, 256


def case(
    name: str, library: str, peer: Callable[..., Any], inputs: Callable[[str], Inputs],
    options: dict[str, Any] | None = None, gradients: tuple[int, ...] = (0,), **fields: Any,
) -> Case:
    """The peer takes the same inputs, unless it is told other ones."""
    from tally import losses
    own = getattr(losses, name)(**(options or {}))
    return Case(
        name=name, library=library, own=lambda: Function(own),
        peer=lambda: Function(peer), inputs=inputs, gradients=gradients, **fields)


def _units(size: str) -> tuple[torch.Tensor, torch.Tensor]:
    shape = (32, 64) if size == BATCH else (1024, 256)
    return tuple(functional.normalize(torch.randn(shape), dim=1) for _ in range(2))


def views(size: str) -> Inputs:
    return _units(size)


def scaled(size: str) -> Inputs:
    return *_units(size), torch.tensor(14.3)


def biased(size: str) -> Inputs:
    return *_units(size), torch.tensor(14.3), torch.tensor(-10.0)


def _contrastive() -> Iterator[Case]:
    from lightly import loss as lightly
    from open_clip import loss as open_clip
    from pytorch_metric_learning.losses import SupConLoss

    both = (0, 1)
    clip, sig_lip = open_clip.ClipLoss(), open_clip.SigLipLoss()
    yield case("ClipLoss", "OpenCLIP", clip, scaled, gradients=both)
    yield case("SigLipLoss", "OpenCLIP", sig_lip, biased, gradients=both)
    for name, options in (("NTXentLoss", {"temperature": 0.5}), ("DCLLoss", {}),
                          ("DCLWLoss", {}), ("BarlowTwinsLoss", {}), ("VICRegLoss", {})):
        yield case(name, "lightly", getattr(lightly, name)(), views, options, both)

    def labeled(size: str) -> Inputs:
        a, b = _units(size)
        return torch.stack([a, b], 1), torch.randint(8, (len(a),))

    supervised = SupConLoss(temperature=0.07)

    def of_views(features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return supervised(torch.cat(features.unbind(1)), labels.repeat(2))

    yield case("SupConLoss", "pytorch-metric-learning", of_views, labeled)


def segments(size: str) -> Inputs:
    count, side = (32, 16) if size == BATCH else (4, SIDE)
    return (torch.randn(count, CLASSES, side, side),
            torch.randint(CLASSES, (count, side, side)))


def binary_segments(size: str) -> Inputs:
    count, side = (32, 16) if size == BATCH else (16, SIDE)
    return torch.randn(count, side, side), torch.randint(2, (count, side, side))


def rows(size: str) -> Inputs:
    count, classes = (32, 10) if size == BATCH else (10_000, 100)
    return torch.randn(count, classes), torch.randint(classes, (count,))


def _segmentation() -> Iterator[Case]:
    from monai import losses as monai
    from segmentation_models_pytorch import losses as smp

    told = {"to_onehot_y": True, "softmax": True, "batch": True}

    def of_monai(loss: torch.nn.Module) -> Callable[..., torch.Tensor]:
        return lambda scores, target: loss(scores, target[:, None])

    yield case("DiceLoss", "MONAI", of_monai(monai.DiceLoss(**told)), segments)
    yield case("JaccardLoss", "MONAI", of_monai(monai.DiceLoss(jaccard=True, **told)),
               segments)
    yield case("GeneralizedDiceLoss", "MONAI",
               of_monai(monai.GeneralizedDiceLoss(**told)), segments)
    yield case("TverskyLoss", "MONAI", of_monai(monai.TverskyLoss(**told)), segments)
    focal = monai.FocalLoss(to_onehot_y=True, use_softmax=True, gamma=2.0)
    yield case("FocalLoss", "MONAI",
               lambda scores, target: CLASSES * focal(scores, target[:, None]), segments)
    yield case("LovaszSoftmaxLoss", "segmentation-models-pytorch",
               smp.LovaszLoss("multiclass"), segments)
    yield case("LovaszHingeLoss", "segmentation-models-pytorch",
               smp.LovaszLoss("binary", per_image=False), binary_segments)
    matthews = smp.MCCLoss()
    yield case("MatthewsLoss", "segmentation-models-pytorch",
               lambda scores, target: matthews(scores.sigmoid(), target), binary_segments,
               {"mode": "binary"})
    yield case("FocalTverskyLoss", "segmentation-models-pytorch",
               smp.TverskyLoss("multiclass", gamma=4 / 3, alpha=0.5, beta=0.5), segments)
    yield case("GlobalCrossEntropyLoss", "torch", functional.cross_entropy, rows)


def labeled_scores(size: str) -> Inputs:
    count = 32 if size == BATCH else 10_000
    return torch.randn(count), (torch.arange(count) % 10 == 0).long()


def boxes(size: str) -> Inputs:
    count = 32 if size == BATCH else 100_000
    corner, extent = torch.rand(count, 2), 0.1 + torch.rand(count, 2)
    target = torch.cat([corner, corner + extent], 1)
    return target + 0.05 * torch.rand(count, 4), target


def _ranking() -> Iterator[Case]:
    from libauc.losses.auc import PairwiseAUCLoss
    from torchvision.ops import generalized_box_iou_loss

    pairwise = PairwiseAUCLoss("squared_hinge")
    yield case("PairwiseAUCLoss", "LibAUC", lambda scores, target: pairwise(
        scores, target.float()), labeled_scores)
    yield case("BoxOverlapLoss", "torchvision", lambda preds, target: generalized_box_iou_loss(
        preds, target, reduction="mean"), boxes)


def tokens(size: str) -> Inputs:
    return (torch.randn((1, 32, 8) if size == BATCH else (1, 1024, 12)),)


def _codebooks() -> Iterator[Case]:
    import vector_quantize_pytorch
    from tally import losses

    for size, bits in ((BATCH, 8), ("large", 12)):
        own = losses.LFQ(dim=bits)
        peer = vector_quantize_pytorch.LFQ(dim=bits)
        yield Case(
            "LFQ", "vector-quantize-pytorch", lambda own=own: Function(
                lambda x: own(x).aux_loss),
            lambda peer=peer: Function(lambda x: peer(x).entropy_aux_loss), tokens,
            gradients=(0,), sizes=(size,))


def cases() -> Iterator[Case]:
    yield from _contrastive()
    yield from _segmentation()
    yield from _ranking()
    yield from _codebooks()
