"""What segmentation_benchmark.cc has peers for; see peer_metrics.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import edt
import monai.metrics
import numpy as np
import surface_distance
import torch
from scipy import ndimage
from torchmetrics import segmentation

SIDE = 128
SPACING = [1.0, 1.0, 2.0]

Work = Callable[[], Any]
Peers = dict[str, Work]
Cases = dict[str, Callable[[], Peers]]


def axes(shift: float) -> tuple[np.ndarray, ...]:
    """Places along each axis."""
    return tuple(np.ogrid[:SIDE, :SIDE, :SIDE][i] + shift for i in range(3))


def ball(center: tuple[float, float, float], radius: float) -> np.ndarray:
    """Places within the radius."""
    return sum((a - c) ** 2 for a, c in zip(axes(0.0), center,
                                            strict=True)) <= radius ** 2


def gyroid(shift: float) -> np.ndarray:
    """Much surface, with a period of 40 places."""
    z, y, x = (0.157 * a for a in axes(shift))
    return (np.sin(z) * np.cos(y) + np.sin(y) * np.cos(x)
            + np.sin(x) * np.cos(z)) > 0


def pairs() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Predictions and targets."""
    return {"ball": (ball((66, 63, 64), 39), ball((64, 64, 64), 40)),
            "gyroid": (gyroid(1.5), gyroid(0.0))}


def of_surface_distance(preds: np.ndarray, target: np.ndarray) -> list[Any]:
    """Hausdorff, its 95th percentile, both averages, and within 1."""
    found = surface_distance.compute_surface_distances(target, preds, SPACING)
    return [surface_distance.compute_robust_hausdorff(found, 100),
            surface_distance.compute_robust_hausdorff(found, 95),
            surface_distance.compute_average_surface_distance(found),
            surface_distance.compute_surface_dice_at_tolerance(found, 1)]


def of_monai(preds: torch.Tensor, target: torch.Tensor) -> list[Any]:
    """The same four."""
    both = (preds, target, True)
    return [
        monai.metrics.compute_hausdorff_distance(*both, spacing=SPACING),
        monai.metrics.compute_hausdorff_distance(*both, percentile=95,
                                                 spacing=SPACING),
        monai.metrics.compute_average_surface_distance(
            *both, symmetric=True, spacing=SPACING),
        monai.metrics.compute_surface_dice(preds, target, [1.0], True,
                                           spacing=SPACING)]


def masks(mask: np.ndarray) -> torch.Tensor:
    """One class of one sample."""
    return torch.from_numpy(mask[None, None]).float()


def surface_cases() -> Cases:
    """The four measures of surfaces."""
    cases: Cases = {}
    for name in ("ball", "gyroid"):
        def elements(name: str = name) -> Peers:
            pair = pairs()[name]
            return {"surface-distance": lambda: of_surface_distance(*pair)}

        def voxels(name: str = name) -> Peers:
            pair = tuple(map(masks, pairs()[name]))
            return {"MONAI": lambda: of_monai(*pair)}

        cases["elements/" + name] = elements
        cases["voxels/" + name] = voxels
    return cases


def other_cases() -> Cases:
    """The transform, and overlaps."""
    def transform() -> Peers:
        target = pairs()["ball"][1]
        outside = ~(target ^ ndimage.binary_erosion(target))
        return {
            "edt": lambda: edt.edtsq(outside, anisotropy=SPACING, parallel=1),
            "SciPy": lambda: ndimage.distance_transform_edt(
                outside, sampling=SPACING)}

    def overlap(make: Callable[[], Any]) -> Callable[[], Peers]:
        def peers() -> Peers:
            preds, target = (torch.from_numpy(x).long()[None]
                             for x in pairs()["ball"])

            def run() -> Any:
                metric = make()
                metric.update(preds, target)
                return metric.compute()

            return {"TorchMetrics": run}

        return peers

    return {
        "transform/128": transform,
        "DiceScore/128": overlap(
            lambda: segmentation.DiceScore(2, input_format="index")),
        "MeanIoU/128": overlap(
            lambda: segmentation.MeanIoU(2, input_format="index")),
    }


def cases() -> Cases:
    """By the names of segmentation_benchmark.cc."""
    return {**surface_cases(), **other_cases()}
