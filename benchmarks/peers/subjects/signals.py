"""Audio, and features of generated samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from subjects.case import Case, Inputs, function_case, torchmetrics_case
from subjects.sizes import BATCH

RATE = 16_000


def signals(size: str) -> Inputs:
    shape = (32, 64) if size == BATCH else (16, 64_000)
    target = torch.randn(shape)
    return target + 0.3 * torch.randn(shape), target


def long_signals(size: str) -> Inputs:
    """Of filters with 512 taps."""
    shape = (32, 1024) if size == BATCH else (8, 32_000)
    target = torch.randn(shape)
    return target + 0.3 * torch.randn(shape), target


def speakers(size: str) -> Inputs:
    shape = (32, 2, 64) if size == BATCH else (16, 3, 20_000)
    target = torch.randn(shape)
    return target.flip(1) + 0.3 * torch.randn(shape), target


def spectra(size: str) -> Inputs:
    shape = (32, 8, 8, 2) if size == BATCH else (16, 129, 250, 2)
    target = torch.randn(shape)
    return target + 0.3 * torch.randn(shape), target


def speech(size: str) -> Inputs:
    shape = (2, RATE) if size == BATCH else (4, 4 * RATE)
    target = torch.randn(shape, dtype=torch.float64)
    return target + 0.3 * torch.randn(shape, dtype=torch.float64), target


def _audio() -> Iterator[Case]:
    for name, inputs in (
        ("SignalNoiseRatio", signals),
        ("ScaleInvariantSignalNoiseRatio", signals),
        ("ScaleInvariantSignalDistortionRatio", signals),
        ("SourceAggregatedSignalDistortionRatio", speakers),
        ("ComplexScaleInvariantSignalNoiseRatio", spectra),
        ("SignalDistortionRatio", long_signals),
    ):
        yield torchmetrics_case(name, inputs, gradients=(0,))
    from torchmetrics.functional.audio import scale_invariant_signal_noise_ratio
    yield torchmetrics_case(
        "PermutationInvariantTraining", speakers,
        {"metric_func": scale_invariant_signal_noise_ratio}, gradients=(0,))
    import pystoi

    def intelligibility(preds: np.ndarray, target: np.ndarray) -> float:
        return np.mean([pystoi.stoi(t, p, RATE) for p, t in zip(preds, target)])

    yield function_case("ShortTimeObjectiveIntelligibility", "pystoi", intelligibility,
                        speech, {"fs": RATE})


class Same(torch.nn.Module):
    """Features are the inputs; TorchMetrics asks how many there are."""

    num_features = 64

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return features


def _features(size: str) -> torch.Tensor:
    count = 32 if size == BATCH else 4000
    return torch.randn(count, Same.num_features) + torch.randn(Same.num_features)


def of_kinds(size: str) -> Inputs:
    features = _features(size)
    real = torch.arange(len(features)) % 2 == 0
    return features + 0.2 * (~real)[:, None], real


class BothKinds:
    """Takes real and generated samples in one batch, as Tally's metrics do."""

    def __init__(self, metric: Any):
        self._metric = metric
        self._defaults = metric._defaults

    def reset(self) -> None:
        self._metric.reset()

    def update(self, real: torch.Tensor, generated: torch.Tensor) -> None:
        self._metric.update(real, real=True)
        self._metric.update(generated, real=False)

    def compute(self) -> Any:
        return self._metric.compute()

    def __call__(self, *inputs: torch.Tensor) -> Any:
        self.reset()
        self.update(*inputs)
        return self.compute()


def apart(inputs: Inputs) -> Inputs:
    features, real = inputs
    return features[real], features[~real]


def _of_features() -> Iterator[Case]:
    import tally
    from torchmetrics import image

    def case(name: str, options: dict[str, Any], theirs: dict[str, Any],
             sizes: tuple[str, ...] = (BATCH, "large"), **fields: Any) -> Case:
        real = getattr(image, name)
        return Case(
            name, "TorchMetrics", lambda: getattr(tally, name)(**options),
            lambda: BothKinds(real(feature=Same(), **theirs)), of_kinds, sizes=sizes,
            peer_inputs=apart, **fields)

    normal = {"normalize": True}
    yield case("FrechetInceptionDistance", {},
               {**normal, "input_img_size": (64,)}, floor=_products, floor_name="products")
    yield case("MemorizationInformedFrechetInceptionDistance", {}, normal)
    for size, count in ((BATCH, 10), ("large", 1000)):
        subsets = {"subsets": 20, "subset_size": count}
        yield case("KernelInceptionDistance", subsets, {**normal, **subsets}, (size,),
                   floor=_kernels, floor_name="products")
    yield from _of_sets()


def _products(inputs: Inputs) -> None:
    """What moments cannot do without."""
    wide = inputs[0].double()
    wide.t().mm(wide)


def _kernels(inputs: Inputs) -> None:
    """Three matrices of kernels for each of 20 subsets, in float64."""
    some = inputs[0][:1000].double()
    for _ in range(60):
        some.mm(some.t())


def _of_sets() -> Iterator[Case]:
    from prdc import compute_prdc
    from torch_fidelity.metric_isc import isc_features_to_metric
    from torch_fidelity.metric_prc import prc_features_to_metric

    def precision(real: torch.Tensor, generated: torch.Tensor) -> list[float]:
        found = prc_features_to_metric(
            generated, real, prc_neighborhood=3, prc_batch_size=10_000, save_cpu_ram=False,
            verbose=False)
        return [found["precision"], found["recall"]]

    def density(real: torch.Tensor, generated: torch.Tensor) -> list[float]:
        found = compute_prdc(real.numpy(), generated.numpy(), nearest_k=5)
        return [found["density"], found["coverage"]]

    yield function_case("ImprovedPrecisionRecall", "torch-fidelity", precision, of_kinds,
                        peer_inputs=apart)
    yield function_case("DensityCoverage", "prdc", density, of_kinds, peer_inputs=apart)

    def logits(size: str) -> Inputs:
        return (torch.randn((32, 10) if size == BATCH else (10_000, 100)),)

    def score(values: torch.Tensor) -> list[float]:
        found = isc_features_to_metric(values, splits=1, shuffle=False)
        return [found["inception_score_mean"], found["inception_score_std"]]

    yield function_case("InceptionScore", "torch-fidelity", score, logits, {"splits": 1},
                        peer_inputs=lambda inputs: inputs)


def cases() -> Iterator[Case]:
    yield from _audio()
    yield from _of_features()
