"""Writes ../data/peers/: values and gradients of losses from metrics in other
libraries.

    python metric_losses.py

Each runs in one process, in float64. Options are Tally's.
"""

import importlib.metadata
import importlib.util
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from generate import case, normal, write
from generators.sampling import seeded

Loss = Callable[[Tensor, Tensor], Tensor]
Cases = list[dict[str, Any]]


def bare(*packages: str) -> None:
    """Makes modules of packages importable without what the packages import
    besides."""
    for name in packages:
        if name not in sys.modules:
            found = importlib.util.find_spec(name)
            package = types.ModuleType(name)
            package.__path__ = list(found.submodule_search_locations)
            sys.modules[name] = package


def import_smp() -> types.ModuleType:
    """smp's losses without its models, which take timm."""
    bare("segmentation_models_pytorch")
    return importlib.import_module("segmentation_models_pytorch.losses")


def import_libauc() -> types.ModuleType:
    """LibAUC's losses of areas under curves."""
    bare("libauc", "libauc.losses", "libauc.utils")
    return importlib.import_module("libauc.losses.auc")


def classes(*name: str, sizes: tuple[int, ...], below: int) -> Tensor:
    """Labels, of which `below` is not reached."""
    return torch.from_numpy(seeded(*name).integers(0, below, sizes))


def gradient_case(name: str, options: dict[str, Any], scores: Tensor,
                  labels: Tensor, loss: Loss, rtol: float = 1e-10
                  ) -> dict[str, Any]:
    """The value and the gradient of the scores."""
    x = scores.clone().requires_grad_()
    value = loss(x, labels)
    value.backward()
    return case(name, options, [scores, labels],
                {"": value.reshape(()), "grad_0": x.grad}, rtol, 1e-12)


def segmentation() -> tuple[Tensor, Tensor]:
    """Two images of four classes, one of which is absent."""
    scores = normal("soft counts", "scores", sizes=(2, 4, 3, 5))
    return scores, classes("soft counts", "labels", sizes=(2, 3, 5), below=3)


def binary() -> tuple[Tensor, Tensor]:
    """A few positions of two images."""
    return (normal("soft counts", "binary", sizes=(2, 7)),
            classes("soft counts", "positions", sizes=(2, 7), below=2))


def monai(kind: str, **options: Any) -> Loss:
    """A loss of MONAI's, of classes or labels."""
    from monai import losses

    if options.pop("binary", False):
        loss = getattr(losses, kind)(sigmoid=True, **options)
        return lambda x, y: loss(x[:, None], y[:, None])
    if options.pop("soft", False):
        return getattr(losses, kind)(softmax=True, **options)
    loss = getattr(losses, kind)(to_onehot_y=True, softmax=True, **options)
    return lambda x, y: loss(x, y[:, None])


def soft_counts() -> None:
    """Losses from soft confusion counts."""
    smp = import_smp()
    x, y = segmentation()
    b, z = binary()
    soft = normal("soft counts", "soft", sizes=(2, 4, 3, 5)).softmax(1)
    soft = torch.from_numpy(np.round(soft.numpy(), 3)).clamp(0, 1)
    smooth = {"smooth_nr": 0.1, "smooth_dr": 0.1}

    # smp's Dice is its Tversky index of halves, which adds `smooth` to half of
    # each sum.
    def smp_case(name: str, options: dict[str, Any], loss: Loss,
                 inputs: tuple[Tensor, Tensor] = (x, y)) -> dict[str, Any]:
        options = {"absent": "zero", **smooth, **options}
        return gradient_case(name, options, *inputs, loss)

    write("DiceLoss", "monai", [
        gradient_case("batch", {}, x, y, monai("DiceLoss", batch=True)),
        gradient_case("samples", {"batch": "false", **smooth}, x, y,
                      monai("DiceLoss", **smooth)),
        gradient_case("foreground", {"include_background": "false"}, x, y,
                      monai("DiceLoss", batch=True, include_background=False)),
        gradient_case("binary", {"mode": "binary"}, b, z,
                      monai("DiceLoss", batch=True, binary=True)),
        gradient_case("soft labels", {"soft_labels": "true"}, x, soft,
                      monai("DiceLoss", batch=True, soft=True,
                            soft_label=True)),
        gradient_case("products of soft labels", {}, x, soft,
                      monai("DiceLoss", batch=True, soft=True)),
        smp_case("absent classes are 0",
                 {}, smp.DiceLoss("multiclass", smooth=0.05)),
        smp_case("multilabel", {"mode": "multilabel"},
                 smp.DiceLoss("multilabel", smooth=0.05),
                 (x, classes("soft counts", "labels of each",
                             sizes=(2, 4, 3, 5), below=2).double())),
        smp_case("ignored", {"ignore_index": "1"},
                 smp.DiceLoss("multiclass", smooth=0.05, ignore_index=1)),
    ])
    write("GeneralizedDiceLoss", "monai", [
        # Weights are float32 there.
        gradient_case("batch", {}, x, y,
                      monai("GeneralizedDiceLoss", batch=True), 1e-6),
        gradient_case("samples, simple",
                      {"batch": "false", "weight": "simple"}, x, y,
                      monai("GeneralizedDiceLoss", w_type="simple"), 1e-6),
        gradient_case("uniform", {"weight": "uniform"}, x, y,
                      monai("GeneralizedDiceLoss", batch=True,
                            w_type="uniform"), 1e-6),
    ])
    write("JaccardLoss", "segmentation-models-pytorch", [
        smp_case("classes", {}, smp.JaccardLoss("multiclass", smooth=0.1)),
        smp_case("binary", {"mode": "binary"},
                 smp.JaccardLoss("binary", smooth=0.1), (b, z)),
    ])
    weights = {"alpha": 0.3, "beta": 0.7}
    write("TverskyLoss", "monai", [
        gradient_case("classes", weights, x, y,
                      monai("TverskyLoss", batch=True, **weights)),
        gradient_case("samples", {**weights, "batch": "false"}, x, y,
                      monai("TverskyLoss", **weights)),
        gradient_case("binary", {**weights, "mode": "binary"}, b, z,
                      monai("TverskyLoss", batch=True, binary=True,
                            **weights)),
    ])
    write("FocalTverskyLoss", "segmentation-models-pytorch", [
        # One class, of which the power of the mean is the mean of the power.
        smp_case("binary", {"mode": "binary", "gamma": 0.5, **weights},
                 smp.TverskyLoss("binary", smooth=0.1, gamma=2.0, **weights),
                 (b, z)),
    ])
    write("MatthewsLoss", "segmentation-models-pytorch", [
        gradient_case("binary", {"mode": "binary", "input": "probabilities",
                                 "smooth_nr": 0, "smooth_dr": 1e-12},
                      b.sigmoid(), z, smp.MCCLoss(eps=0), 1e-9),
    ])


def lovasz() -> None:
    """Lovasz losses, whose formulas take float32 only."""
    smp = import_smp()

    def narrow(loss: Loss) -> Loss:
        return lambda x, y: loss(x.float(), y).double()

    x, y = segmentation()
    b, z = binary()
    write("LovaszHingeLoss", "segmentation-models-pytorch", [
        gradient_case("batch", {}, b, z,
                      narrow(smp.LovaszLoss("binary", per_image=False)), 1e-5),
        gradient_case("images", {"per_image": "true"}, b, z,
                      narrow(smp.LovaszLoss("binary", per_image=True)), 1e-5),
        gradient_case("ignored", {"ignore_index": "2"}, b,
                      classes("lovasz", "ignored", sizes=(2, 7), below=3),
                      narrow(smp.LovaszLoss("binary", per_image=False,
                                            ignore_index=2)), 1e-5),
    ])
    write("LovaszSoftmaxLoss", "segmentation-models-pytorch", [
        gradient_case("batch", {}, x, y,
                      narrow(smp.LovaszLoss("multiclass", per_image=False)),
                      1e-5),
        gradient_case("images", {"per_image": "true"}, x, y,
                      narrow(smp.LovaszLoss("multiclass", per_image=True)),
                      1e-5),
        gradient_case("ignored", {"ignore_index": "1"}, x, y,
                      narrow(smp.LovaszLoss("multiclass", per_image=False,
                                            ignore_index=1)), 1e-5),
    ])


def areas() -> None:
    """Losses of areas under curves, of 4 positives among 16 scores: LibAUC
    rounds their fraction, and its product with the margin, to float32."""
    libauc = import_libauc()
    x = normal("areas", sizes=(16,))
    y = (torch.arange(16) % 4 == 1).long()

    def pairwise(surrogate: str, hparam: float) -> Loss:
        loss = libauc.PairwiseAUCLoss(surrogate, hparam)
        return lambda scores, labels: loss(scores, labels)

    write("PairwiseAUCLoss", "libauc", [
        gradient_case("squared", {"surrogate": "squared", "margin": 0.7},
                      x, y, pairwise("squared", 0.7)),
        gradient_case("squared hinge", {"margin": 0.7}, x, y,
                      pairwise("squared_hinge", 0.7)),
        gradient_case("fewer negatives", {}, x, 1 - y,
                      pairwise("squared_hinge", 1.0)),
        gradient_case("logistic", {"surrogate": "logistic", "scale": 2},
                      x, y, pairwise("logistic", 2.0)),
    ])

    # Version v2 has a misplaced bracket. At the best a, b and alpha; without
    # the factor of v1, the product of both fractions.
    def aucm(scores: Tensor, labels: Tensor) -> Tensor:
        loss = libauc.AUCMLoss(margin=0.75, version="v1", device="cpu").double()
        mean = [scores[labels == label].mean().item() for label in (0, 1)]
        with torch.no_grad():
            loss.a.fill_(mean[1])
            loss.b.fill_(mean[0])
            loss.alpha.fill_(max(0, 0.75 + mean[0] - mean[1]))
        return loss(scores, labels) / (0.25 * 0.75)

    write("AUCMLoss", "libauc", [
        gradient_case("closed form", {"margin": 0.75}, x, y, aucm)])


def cross_entropies() -> None:
    """Cross-entropies of torch's, and MONAI's focal losses."""
    from monai.losses import FocalLoss
    from torch.nn import functional as F

    x, y = segmentation()
    b, z = binary()
    weights = [0.5, 2.0, 1.5, 1.0]
    weight = torch.tensor(weights).double()
    several = classes("cross entropy", "labels", sizes=(2, 4, 3, 5), below=2)

    write("CrossEntropyLoss", "torch", [
        gradient_case("plain", {}, x, y, F.cross_entropy),
        gradient_case(
            "weights, smooth, ignored",
            {"class_weights": str(weights), "label_smoothing": 0.2,
             "ignore_index": 1}, x, y,
            lambda s, t: F.cross_entropy(s, t, weight, label_smoothing=0.2,
                                         ignore_index=1)),
        gradient_case(
            "binary", {"mode": "binary"}, b, z,
            lambda s, t: F.binary_cross_entropy_with_logits(s, t.double())),
    ])

    def focal(one_hot: bool, **options: Any) -> Loss:
        loss = FocalLoss(to_onehot_y=one_hot, use_softmax=one_hot, **options)
        return lambda s, t: loss(s, t[:, None] if one_hot else t.double())

    # MONAI divides by positions and classes, and computes in float32.
    write("FocalLoss", "monai", [
        gradient_case("classes", {}, x, y,
                      lambda s, t: 4 * focal(True, gamma=2.0)(s, t), 1e-5),
        gradient_case("half", {"gamma": 0.5}, x, y,
                      lambda s, t: 4 * focal(True, gamma=0.5)(s, t), 1e-5),
        gradient_case("multilabel", {"mode": "multilabel", "alpha": 0.25},
                      x, several, focal(False, gamma=2.0, alpha=0.25), 1e-5),
    ])


def import_allrank() -> types.ModuleType:
    """allRank's losses without its data sets."""
    bare("allrank", "allrank.models", "allrank.models.losses", "allrank.data")
    sys.modules["allrank.models.losses"].DEFAULT_EPS = 1e-10
    data = types.ModuleType("allrank.data.dataset_loading")
    data.PADDED_Y_VALUE = -1
    sys.modules[data.__name__] = data
    found = types.ModuleType("found")
    for name in ("approxNDCG", "lambdaLoss", "listNet"):
        module = importlib.import_module("allrank.models.losses." + name)
        vars(found).update(vars(module))
    return found


def slates() -> None:
    """Losses of slates, some places of which are padding; discounts are float32
    there."""
    allrank = import_allrank()
    x = normal("slates", sizes=(3, 5))
    y = classes("slates", "grades", sizes=(3, 5), below=4).double()
    y[1, 3:] = -1
    relevant = y.clone()
    y[2] = 0
    y[2, 4] = -1

    write("ApproxNDCGLoss", "allrank", [
        gradient_case(
            "all", {"count_irrelevant": "true"}, x, y,
            lambda s, t: 1 + allrank.approxNDCGLoss(s, t), 1e-6),
        gradient_case(
            "relevant", {"alpha": 2.5}, x, relevant,
            lambda s, t: 1 + allrank.approxNDCGLoss(s, t, alpha=2.5), 1e-6),
    ])
    schemes = {
        "rank_net": "rankNet_scheme", "ndcg1": "ndcgLoss1_scheme",
        "ndcg2": "ndcgLoss2_scheme", "lambda_rank": "lambdaRank_scheme",
        "ndcg2_plus_plus": "ndcgLoss2PP_scheme",
        "grade_difference": "rankNetWeightedByGTDiff_scheme",
        "squared_grade_difference": "rankNetWeightedByGTDiffPowed_scheme"}
    write("LambdaLoss", "allrank", [
        gradient_case(
            weight, {"weight": weight}, x, y,
            lambda s, t, scheme=scheme: allrank.lambdaLoss(
                s, t, weighing_scheme=scheme, reduction="mean"), 1e-6)
        for weight, scheme in schemes.items()] + [
        gradient_case(
            "first 3", {"weight": "ndcg2", "top_k": 3, "sigma": 1.5}, x, y,
            lambda s, t: allrank.lambdaLoss(
                s, t, weighing_scheme="ndcgLoss2_scheme", k=3, sigma=1.5,
                reduction="mean"), 1e-6),
    ])
    write("ListNetLoss", "allrank", [
        gradient_case("padding", {}, x, y,
                      lambda s, t: allrank.listNet(s, t, eps=1e-300))])


def soft_orders() -> None:
    """Soft ranks and sorted values, as a loss: their products with numbers."""
    import scipy.stats
    import torchsort

    x = normal("soft order", sizes=(2, 9))
    weight = normal("soft order", "weight", sizes=(2, 9))

    def projected(operation: Any, regularization: str, strength: float) -> Loss:
        return lambda values, w: (w * operation(
            values, regularization=regularization,
            regularization_strength=strength)).sum()

    names = {"l2": "quadratic", "kl": "entropic"}
    for loss, operation in (("SoftRank", torchsort.soft_rank),
                            ("SoftSort", torchsort.soft_sort)):
        write(loss, "torchsort", [
            gradient_case(f"{names[kind]} {strength}",
                          {"penalty": names[kind], "strength": strength},
                          x, weight, projected(operation, kind, strength),
                          1e-9)
            for kind in ("l2", "kl") for strength in (0.1, 0.5, 3.0)])

    y = classes("soft order", "targets", sizes=(12,), below=7)
    scores = normal("soft order", "scores", sizes=(12,))

    def spearman(s: Tensor, t: Tensor) -> Tensor:
        ranks = torchsort.soft_rank(s[None], regularization_strength=0.3)[0]
        other = torch.from_numpy(scipy.stats.rankdata(t.numpy()))
        return 1 - torch.corrcoef(torch.stack([ranks, other]))[0, 1]

    write("SoftSpearmanLoss", "torchsort", [
        gradient_case("ties", {"strength": 0.3, "relative": "false"}, scores,
                      y, spearman)])


def mmce(scores: Tensor, labels: Tensor) -> Tensor:
    """As calibration_unbiased_loss in 20ng_mmce.py of aviralkumar2907/MMCE
    (1987871), which is written in TensorFlow 1."""
    probabilities, predicted = scores.softmax(1).max(1)
    difference = (predicted == labels).double() - probabilities
    kernel = torch.exp(
        -(probabilities[:, None] - probabilities).abs() / (2 * 0.2))
    return (difference[:, None] * difference * kernel).sum() / len(labels) ** 2


def boxes() -> None:
    """Overlaps of boxes, without what is added to divisors."""
    from torchvision import ops

    def drawn(*name: str) -> Tensor:
        first, sides = normal(*name, sizes=(2, 7, 2))
        return torch.cat([first, first + sides.exp()], 1)

    x, y = drawn("boxes", "preds"), drawn("boxes", "target")
    # The last adds 1e-7 to the divisors of its distances all the same.
    losses = {"giou": ops.generalized_box_iou_loss,
              "diou": ops.distance_box_iou_loss,
              "ciou": ops.complete_box_iou_loss}
    write("BoxOverlapLoss", "torchvision", [
        gradient_case("iou", {"overlap": "iou"}, x, y,
                      lambda a, b: 1 - ops.box_iou(a, b).diagonal().mean()),
        *(gradient_case(name, {"overlap": name}, x, y,
                        lambda a, b, loss=loss: loss(a, b, "mean", 0.0),
                        1e-10 if name != "ciou" else 1e-6)
          for name, loss in losses.items())])


def calibration() -> None:
    """Calibration errors in the form of kernels."""
    x = normal("mmce", sizes=(14, 3))
    y = classes("mmce", "labels", sizes=(14,), below=3)
    write("MMCELoss", "torch", [
        gradient_case("squared", {"squared": "true"}, x, y, mmce),
        gradient_case("root", {}, x, y, lambda s, t: mmce(s, t).sqrt()),
    ])


def main() -> None:
    soft_orders()
    calibration()
    boxes()
    soft_counts()
    lovasz()
    areas()
    slates()
    cross_entropies()


if __name__ == "__main__":
    main()
