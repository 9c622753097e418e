"""Images, video, segmentation and shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from subjects.case import Case, Inputs, function_case, torchmetrics_case
from subjects.sizes import BATCH

CLASSES = 4


def _noisy(shape: tuple[int, ...]) -> Inputs:
    target = torch.rand(shape)
    return 0.75 * target + 0.25 * torch.rand(shape), target


def images(size: str) -> Inputs:
    return _noisy((32, 3, 32, 32) if size == BATCH else (5, 3, 256, 256))


def wide(size: str) -> Inputs:
    """Of what halves images several times."""
    return _noisy((2, 3, 176, 176) if size == BATCH else (5, 3, 256, 256))


def videos(size: str) -> Inputs:
    return _noisy((4, 8, 3, 32, 32) if size == BATCH else (1, 5, 3, 256, 256))


def grey(size: str) -> Inputs:
    return _noisy((32, 1, 32, 32) if size == BATCH else (16, 1, 256, 256))


def one_image(size: str) -> Inputs:
    return images(size)[:1]


def sharpened(size: str) -> Inputs:
    """What pan-sharpening made, the original, and what it was sharpened by."""
    side = 32 if size == BATCH else 256
    count = 32 if size == BATCH else 4
    small = torch.rand(count, 3, side // 4, side // 4)
    large = torch.nn.functional.interpolate(small, scale_factor=4.0)
    noise = torch.rand(count, 3, side, side)
    return 0.75 * large + 0.25 * noise, small, torch.rand(count, 3, side, side)


def _of_images() -> Iterator[Case]:
    ranged: dict[str, Any] = {"data_range": 1.0}
    for name, options, inputs, places in (
        ("ErrorRelativeGlobalDimensionlessSynthesis", {}, images, (0,)),
        ("MultiScaleStructuralSimilarityIndexMeasure", ranged, wide, (0,)),
        ("PeakSignalNoiseRatio", ranged, images, (0,)),
        ("PeakSignalNoiseRatioWithBlockedEffect", ranged, grey, (0,)),
        ("RelativeAverageSpectralError", {}, images, (0,)),
        ("RootMeanSquaredErrorUsingSlidingWindow", {}, images, (0,)),
        ("SpatialCorrelationCoefficient", {}, images, (0,)),
        ("SpectralAngleMapper", {}, images, (0,)),
        ("SpectralDistortionIndex", {}, images, (0,)),
        ("StructuralSimilarityIndexMeasure", ranged, images, (0,)),
        ("TotalVariation", {}, one_image, (0,)),
        ("UniversalImageQualityIndex", {}, images, (0,)),
        # TorchMetrics changes what its graph needs.
        ("VisualInformationFidelity", {}, wide, ()),
    ):
        yield torchmetrics_case(name, inputs, options, gradients=places)
    yield from _of_video()
    yield from _of_sharpening()


def _of_video() -> Iterator[Case]:
    """Of the frames as images."""
    import torchmetrics.functional.image as functional

    def frames(inputs: Inputs) -> Inputs:
        return tuple(x.flatten(0, 1) for x in inputs)

    def volumes(inputs: Inputs) -> Inputs:
        return tuple(x.movedim(1, 2).contiguous() for x in inputs)

    yield function_case(
        "VideoPeakSignalNoiseRatio", "TorchMetrics",
        lambda preds, target: functional.peak_signal_noise_ratio(
            preds, target, data_range=1.0, dim=(1, 2, 3), reduction="elementwise_mean"),
        videos, {"data_range": 1.0}, peer_inputs=frames)
    yield function_case(
        "VideoStructuralSimilarityIndexMeasure", "TorchMetrics",
        lambda preds, target: functional.structural_similarity_index_measure(
            preds, target, data_range=1.0),
        videos, {"data_range": 1.0}, peer_inputs=frames)


def _of_sharpening() -> Iterator[Case]:
    import tally

    from subjects.case import torchmetrics_classes

    def dictionaries(inputs: Inputs) -> Inputs:
        preds, ms, pan = inputs
        return preds, {"ms": ms, "pan": pan}

    for name in ("SpatialDistortionIndex", "QualityWithNoReference"):
        yield Case(
            name, "TorchMetrics", getattr(tally, name), torchmetrics_classes()[name],
            sharpened, peer_inputs=dictionaries)


def segments(size: str) -> Inputs:
    """Labels of two that differ at some places."""
    count, side = (32, 16) if size == BATCH else (16, 256)
    rough = torch.randint(CLASSES, (count, side // 8, side // 8))
    target = rough.repeat_interleave(8, 1).repeat_interleave(8, 2)
    other = torch.randint(CLASSES, target.shape)
    return torch.where(torch.rand(target.shape) < 0.02, other, target.roll(1, 1)), target


def one_hot(inputs: Inputs) -> Inputs:
    return tuple(torch.nn.functional.one_hot(x, CLASSES).movedim(-1, 1) for x in inputs)


def hot(size: str) -> Inputs:
    return tuple(x.contiguous() for x in one_hot(segments(size)))


def few_segments(size: str) -> Inputs:
    """Of surfaces, which take the peers long; TorchMetrics wants every class in each image."""
    labels = segments(size)
    if size != BATCH:
        labels = tuple(x[:1, :96, :96].contiguous() for x in labels)
    for each in labels:
        each[:, 0, :CLASSES] = torch.arange(CLASSES)
    return labels


def _of_segments() -> Iterator[Case]:
    for name in ("DiceScore", "GeneralizedDiceScore", "MeanIoU"):
        for inputs, form in ((hot, "one-hot"), (segments, "index")):
            yield torchmetrics_case(
                name, inputs, {"num_classes": CLASSES, "input_format": form}, note=form)
    yield torchmetrics_case(
        "HausdorffDistance", few_segments, {"num_classes": CLASSES, "input_format": "index"})
    import monai.metrics

    def average(preds: torch.Tensor, target: torch.Tensor) -> float:
        return monai.metrics.compute_average_surface_distance(
            preds, target, symmetric=True, include_background=False).mean()

    def within(preds: torch.Tensor, target: torch.Tensor) -> float:
        return monai.metrics.compute_surface_dice(
            preds, target, [1.0] * (CLASSES - 1), include_background=False).mean()

    options = {"num_classes": CLASSES, "input_format": "index", "include_background": False}
    yield function_case("AverageSymmetricSurfaceDistance", "MONAI", average, few_segments,
                        options, peer_inputs=one_hot)
    yield function_case("NormalizedSurfaceDistance", "MONAI", within, few_segments,
                        {**options, "tolerance": 1.0}, peer_inputs=one_hot)


def clouds(size: str) -> Inputs:
    shape = (32, 10, 3) if size == BATCH else (3000, 100, 3)
    target = torch.rand(shape)
    return target + 0.1 * torch.rand(shape), target


def faces(size: str) -> Inputs:
    shape = (32, 20, 3) if size == BATCH else (500, 700, 3)
    return torch.rand(shape), torch.rand(shape)


def _of_shapes() -> Iterator[Case]:
    yield torchmetrics_case("ProcrustesDisparity", clouds)
    yield torchmetrics_case("LipVertexError", faces, {"mouth_map": list(range(10))})


def cases() -> Iterator[Case]:
    yield from _of_images()
    yield from _of_segments()
    yield from _of_shapes()
