"""Writes ../data/image/ and ../data/shape/: what scikit-image, piq, sewar and TorchMetrics make of images.

    python image.py

Each image has a value, of which these are the means. TorchMetrics' functions take
float64 images one by one, as most of their values depend on the other images of a batch;
where they are wrong even so, a formula in NumPy takes their place.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import piq
import torch
import torchmetrics.functional.image as tm
from scipy.ndimage import uniform_filter
from sewar.full_ref import rmse_sw, scc
from skimage.metrics import (peak_signal_noise_ratio, structural_similarity)
from torch.nn.functional import conv2d, interpolate
from torchmetrics.functional.multimodal.lve import lip_vertex_error

sys.path.append(str(Path(__file__).resolve().parents[1]))

from generators.fixture import Case, Fixture, to_text  # noqa: E402
from generators.sampling import seeded, split  # noqa: E402

DATA = Path(__file__).resolve().parents[1] / "data"
SIZES = {4: (2, 1, 0, 1), 2: (1, 0, 1)}
SKIMAGE = "scikit-image 0.26.0"
PIQ = "piq 0.8.0"
SEWAR = "sewar 0.4.10"
TM = "TorchMetrics 1.9.0 of each image"
SPLATTING = "PyTorch 2.15.0: the operations of graphdeco-inria/gaussian-splatting"
OWN = "NumPy: by definition"

Images = tuple[np.ndarray, ...]


def drawn(metric: str, label: str, places: tuple[int, ...], count: int = 0,
          top: float = 1.0, dtype: str = "float64") -> Images:
    """Smooth images [N, *places] from 0 to `top`, and others like them: four, or two
    of more than a few pixels."""
    count = count or (4 if np.prod(places) <= 60 else 2)
    rng = seeded(metric, label)
    coarse = tuple((n + 3) // 4 for n in places[1:])
    target = rng.random((count, places[0], *coarse))
    for axis in range(2, target.ndim):
        target = np.repeat(target, 4, axis)
    target = target[(..., *(slice(n) for n in places[1:]))]
    target = 0.8 * target + 0.2 * rng.random(target.shape)
    preds = np.clip(0.8 * target + 0.2 * rng.random(target.shape), 0, 1)
    digits = 2 if top <= 1 else 0
    return tuple(np.round(x * top, digits).astype(dtype) for x in (preds, target))


def tensor(images: np.ndarray) -> torch.Tensor:
    """A float64 tensor."""
    return torch.from_numpy(np.asarray(images, "float64"))


def case(label: str, images: Images, score: Callable[..., float], source: str,
         rtol: float = 1e-9, expected: float | None = None, **options) -> Case:
    """The mean of score() of all images [C, ...]."""
    if expected is None:
        expected = np.mean([score(*one) for one in zip(*images, strict=True)])
    return Case(label, options, split(*images, sizes=SIZES[len(images[0])]), np.float64(expected),
                source, rtol=rtol, atol=1e-12)


def of_tm(function: Callable, **options) -> Callable[..., float]:
    """TorchMetrics' function of single images."""
    return lambda *images: function(*(tensor(x)[None] for x in images),
                                    **options).item()


def psnr() -> Fixture:
    """PeakSignalNoiseRatio."""
    metric = "PeakSignalNoiseRatio"
    places = (2, 4, 5)

    def pooled(p: np.ndarray, t: np.ndarray, data_range: float) -> float:
        return peak_signal_noise_ratio(t.astype("float64"), p.astype("float64"),
                                       data_range=data_range)

    default = drawn(metric, "default", places)
    integers = drawn(metric, "integers", places, top=255, dtype="uint8")
    each = drawn(metric, "per_image", places)
    return Fixture(metric, SKIMAGE, [
        case("default", default, pooled, SKIMAGE, data_range=1.0,
             expected=pooled(*default, 1.0)),
        case("integers", integers, pooled, SKIMAGE, data_range=255.0,
             expected=pooled(*integers, 255.0)),
        case("base", default, pooled, SKIMAGE, data_range=1.0, base=2.0,
             expected=pooled(*default, 1.0) * np.log(10) / np.log(2)),
        case("per_image", each, lambda p, t: pooled(p, t, 1.0), SKIMAGE,
             data_range=1.0, per_image=True),
        case("sum", each, pooled, SKIMAGE, data_range=1.0, per_image=True,
             reduction="sum", expected=sum(pooled(p, t, 1.0) for p, t in
                                           zip(*each, strict=True))),
    ])


def total_variation() -> Fixture:
    """TotalVariation."""
    metric = "TotalVariation"

    def one(label: str, top: float, dtype: str, reduction: str) -> Case:
        img = drawn(metric, label, (3, 4, 5), top=top, dtype=dtype)[:1]
        value = piq.total_variation(tensor(img[0]), reduction=reduction,
                                    norm_type="l1").item()
        return case(label, img, None, PIQ, expected=value, reduction=reduction)

    return Fixture(metric, PIQ, [one("default", 1, "float64", "sum"),
                                 one("integers", 255, "uint8", "mean")])


def volumes(metric: str, places: tuple[int, ...]) -> Images:
    """Small ones."""
    return drawn(metric, "volume", places)


def zero_padded_ssim(preds: np.ndarray, target: np.ndarray, size: int = 11,
                     sigma: float = 1.5) -> float:
    """That of programs of Gaussian splatting (graphdeco-inria's utils/loss_utils.py), in
    their operations: a convolution that pads with zeros."""
    weights = torch.tensor([np.exp(-((i - size // 2) ** 2) / (2 * sigma**2))
                            for i in range(size)])
    weights = weights / weights.sum()
    channels = len(preds)
    window = torch.outer(weights, weights).expand(channels, 1, size, size).contiguous()

    def mean(image: torch.Tensor) -> torch.Tensor:
        return conv2d(image, window, padding=size // 2, groups=channels)

    x, y = tensor(preds)[None], tensor(target)[None]
    mu_x, mu_y = mean(x), mean(y)
    var_x, var_y = mean(x * x) - mu_x**2, mean(y * y) - mu_y**2
    covariance = mean(x * y) - mu_x * mu_y
    c1, c2 = 0.01**2, 0.03**2
    similarity = ((2 * mu_x * mu_y + c1) * (2 * covariance + c2)
                  / ((mu_x**2 + mu_y**2 + c1) * (var_x + var_y + c2)))
    return similarity.mean().item()


def zero_padded_cases(metric: str, small: Images) -> list[Case]:
    """Also of images smaller than half a window, and of the window that MrNeRF's program
    has in effect."""
    tiny = drawn(metric, "tiny", (3, 4, 5))
    return [
        case("zero", small, zero_padded_ssim, SPLATTING, data_range=1.0, border="zero"),
        case("zero_tiny", tiny, zero_padded_ssim, SPLATTING, data_range=1.0,
             border="zero"),
        case("zero_sigma", small, lambda p, t: zero_padded_ssim(p, t, sigma=2 / 3),
             SPLATTING, data_range=1.0, border="zero", sigma=2 / 3),
    ]


def ssim() -> Fixture:
    """StructuralSimilarityIndexMeasure."""
    metric = "StructuralSimilarityIndexMeasure"

    def skimage(**options) -> Callable[..., float]:
        options = {"data_range": 1.0, "use_sample_covariance": False, **options}
        return lambda p, t: np.mean([
            structural_similarity(b, a, **options)
            for a, b in zip(p.astype("float64"), t.astype("float64"), strict=True)])

    gaussian = {"gaussian_weights": True, "sigma": 1.5}
    small = drawn(metric, "small", (2, 9, 8))
    floats = tuple(x.astype("float32") for x in drawn(metric, "floats", (1, 15, 19)))
    return Fixture(metric, SKIMAGE, [
        case("default", drawn(metric, "default", (2, 12, 14)), skimage(**gaussian),
             SKIMAGE, data_range=1.0),
        case("float32", floats, skimage(**gaussian), SKIMAGE, rtol=2e-6,
             data_range=1.0),
        case("integers", drawn(metric, "integers", (1, 13, 12), top=255,
                               dtype="uint8"),
             skimage(**gaussian, data_range=255), SKIMAGE, rtol=2e-6,
             data_range=255.0),
        case("sigma", small, skimage(gaussian_weights=True, sigma=0.6), SKIMAGE,
             data_range=1.0, sigma=0.6, kernel_size=5),
        case("uniform", small, skimage(win_size=7), SKIMAGE, data_range=1.0,
             kernel_size=7, gaussian_kernel=False),
        case("constants", small, skimage(win_size=5, K1=0.02, K2=0.05), SKIMAGE,
             data_range=1.0, kernel_size=5, gaussian_kernel=False, k1=0.02, k2=0.05),
        case("volume", volumes(metric, (1, 4, 5, 6)), skimage(win_size=3), SKIMAGE,
             data_range=1.0, kernel_size=3, gaussian_kernel=False),
        case("reflect", small, of_tm(tm.structural_similarity_index_measure,
                                     data_range=1.0), TM,
             data_range=1.0, border="reflect"),
        case("reflected_volume", volumes(metric, (1, 6, 7, 6)),
             of_tm(tm.structural_similarity_index_measure, data_range=1.0), TM,
             data_range=1.0, border="reflect"),
        *zero_padded_cases(metric, small),
    ])


def ms_ssim() -> Fixture:
    """MultiScaleStructuralSimilarityIndexMeasure."""
    metric = "MultiScaleStructuralSimilarityIndexMeasure"

    def by_piq(betas: list[float], sigma: float) -> Callable[..., float]:
        return lambda p, t: piq.multi_scale_ssim(
            tensor(p)[None], tensor(t)[None], kernel_size=5, kernel_sigma=sigma,
            data_range=1.0, scale_weights=torch.tensor(betas, dtype=torch.float64)
        ).item()

    def one(label: str, places: tuple[int, ...], betas: list[float],
            sigma: float = 1.5) -> Case:
        scaled = [b / sum(betas) for b in betas]
        return case(label, drawn(metric, label, places), by_piq(scaled, sigma), PIQ,
                    data_range=1.0, kernel_size=5, sigma=sigma, betas=scaled)

    return Fixture(metric, PIQ, [one("two", (2, 12, 10), [0.5, 0.5]),
                                 one("three", (1, 20, 24), [0.25, 0.25, 0.5], 1.0)])


def windows(image: np.ndarray, size: int) -> np.ndarray:
    """Those of [H, W], along the last dimension."""
    view = np.lib.stride_tricks.sliding_window_view(image, (size, size))
    return view.reshape(*view.shape[:2], -1)


def uqi(p: np.ndarray, t: np.ndarray, size: int = 8) -> float:
    """Wang and Bovik's index of images [C, H, W], by its definition."""
    values = []
    for a, b in zip(p.astype("float64"), t.astype("float64"), strict=True):
        x, y = windows(a, size), windows(b, size)
        mx, my = x.mean(-1), y.mean(-1)
        sxy = (x * y).mean(-1) - mx * my
        values.append(np.mean(4 * sxy * mx * my / (
            (x.var(-1) + y.var(-1)) * (mx ** 2 + my ** 2))))
    return float(np.mean(values))


def universal() -> Fixture:
    """UniversalImageQualityIndex."""
    metric = "UniversalImageQualityIndex"
    return Fixture(metric, OWN, [
        case("default", drawn(metric, "default", (2, 9, 11)), uqi, OWN),
        case("gaussian", drawn(metric, "gaussian", (2, 12, 13)),
             of_tm(tm.universal_image_quality_index), TM, gaussian_kernel=True,
             kernel_size=11),
        case("integers", drawn(metric, "integers", (1, 6, 7), top=255,
                               dtype="uint8"),
             lambda p, t: uqi(p, t, 5), OWN, kernel_size=5),
        case("small", drawn(metric, "small", (2, 5, 4), 2),
             lambda p, t: uqi(p, t, 3), OWN, kernel_size=3),
    ])


def spectral_angle() -> Fixture:
    """SpectralAngleMapper."""
    metric = "SpectralAngleMapper"
    pair = drawn(metric, "default", (3, 4, 5))
    return Fixture(metric, TM, [case("default", pair,
                                     of_tm(tm.spectral_angle_mapper), TM)])


def ergas() -> Fixture:
    """ErrorRelativeGlobalDimensionlessSynthesis."""
    metric = "ErrorRelativeGlobalDimensionlessSynthesis"
    function = tm.error_relative_global_dimensionless_synthesis
    pair = drawn(metric, "default", (3, 4, 5))
    return Fixture(metric, TM, [
        case("default", pair, of_tm(function), TM),
        case("ratio", pair, of_tm(function, ratio=2.0), TM, ratio=2.0)])


def cropped(image: np.ndarray, size: int) -> np.ndarray:
    """Without half a window at each side."""
    half = round(size / 2)
    return image[..., half:-half, half:-half]


def mean_squares(p: np.ndarray, t: np.ndarray, size: int) -> np.ndarray:
    """Of windows around each pixel of [C, H, W]."""
    return np.array([uniform_filter(e, size, mode="reflect") for e in (p - t) ** 2])


def sliding() -> Fixture:
    """RootMeanSquaredErrorUsingSlidingWindow."""
    metric = "RootMeanSquaredErrorUsingSlidingWindow"

    def score(size: int) -> Callable[..., float]:
        def one(p: np.ndarray, t: np.ndarray) -> float:
            value = cropped(np.sqrt(mean_squares(p, t, size)), size).mean()
            peer = rmse_sw(t.transpose(1, 2, 0), p.transpose(1, 2, 0), ws=size)[0]
            assert np.isclose(value, peer, rtol=1e-9)
            other = of_tm(tm.root_mean_squared_error_using_sliding_window,
                          window_size=size)(p, t)
            assert np.isclose(value, other, rtol=1e-9)
            return value
        return one

    return Fixture(metric, SEWAR, [
        case("default", drawn(metric, "default", (2, 10, 11)), score(8), SEWAR),
        case("odd", drawn(metric, "odd", (1, 7, 6)), score(3), SEWAR,
             window_size=3)])


def rase() -> Fixture:
    """RelativeAverageSpectralError."""
    metric = "RelativeAverageSpectralError"

    def score(size: int) -> Callable[..., float]:
        def one(p: np.ndarray, t: np.ndarray) -> float:
            means = np.array([uniform_filter(x, size, mode="reflect") for x in t])
            error = np.sqrt(mean_squares(p, t, size).mean(0))
            value = cropped(100 * error / means.mean(0), size).mean()
            # Which divides the means by the window's area once more.
            peer = of_tm(tm.relative_average_spectral_error, window_size=size)(p, t)
            assert np.isclose(value * size ** 2, peer, rtol=1e-6), (value, peer)
            return value
        return one

    return Fixture(metric, OWN, [
        case("default", drawn(metric, "default", (2, 10, 11)), score(8), OWN),
        case("odd", drawn(metric, "odd", (3, 7, 6)), score(3), OWN,
             window_size=3)])


def spatial_correlation() -> Fixture:
    """SpatialCorrelationCoefficient."""
    metric = "SpatialCorrelationCoefficient"

    def score(size: int) -> Callable[..., float]:
        def one(p: np.ndarray, t: np.ndarray) -> float:
            value = scc(t.transpose(1, 2, 0), p.transpose(1, 2, 0), ws=size)
            peer = of_tm(tm.spatial_correlation_coefficient, window_size=size)(p, t)
            assert np.isclose(value, peer, rtol=1e-4), (value, peer)
            return value
        return one

    return Fixture(metric, SEWAR, [
        case("default", drawn(metric, "default", (2, 9, 10)), score(8), SEWAR),
        case("odd", drawn(metric, "odd", (1, 7, 6)), score(3), SEWAR,
             window_size=3)])


def d_lambda(preds: np.ndarray, ms: np.ndarray, p: int = 1,
             index: Callable[..., float] = uqi) -> float:
    """Of preds and low-resolution bands [C, H, W]."""
    bands = len(preds)
    total = 0.0
    for i in range(bands):
        for j in range(bands):
            if i != j:
                total += abs(index(preds[i:i + 1], preds[j:j + 1])
                             - index(ms[i:i + 1], ms[j:j + 1])) ** p
    return (total / (bands * (bands - 1))) ** (1 / p)


GAUSSIAN = {"gaussian_kernel": True, "kernel_size": 11}


def spectral_distortion() -> Fixture:
    """SpectralDistortionIndex."""
    metric = "SpectralDistortionIndex"

    def one(label: str, places: tuple[int, ...], score: Callable, source: str,
            rtol: float = 1e-9, **options) -> Case:
        return case(label, drawn(metric, label, places), score, source, rtol,
                    **options)

    return Fixture(metric, OWN, [
        one("default", (3, 9, 9), d_lambda, OWN),
        one("p", (3, 9, 9), lambda a, b: d_lambda(a, b, 2), OWN, p=2),
        one("small", (3, 4, 5), lambda a, b: d_lambda(a, b, index=small_index), OWN,
            kernel_size=3),
        # In float32: it collects the indexes in a tensor of that dtype.
        one("gaussian", (3, 12, 12), of_tm(tm.spectral_distortion_index), TM, 2e-5,
            **GAUSSIAN)])


def fusion(metric: str, label: str, bands: int, size: int, small: int,
           count: int = 2) -> Images:
    """Fused images, bands of low resolution, and a panchromatic image."""
    preds, pan = drawn(metric, label, (bands, size, size), count)
    ms = np.round(preds[:, :, ::size // small, ::size // small] * 0.9 + 0.05, 3)
    return preds, ms, pan


def lowered(pan: np.ndarray, size: int, window: int = 7) -> np.ndarray:
    """The panchromatic image [C, H, W] in low resolution."""
    means = np.array([uniform_filter(x, window, mode="reflect") for x in pan])
    return interpolate(tensor(means)[None], size=(size, size),
                       mode="bilinear")[0].numpy()


def d_s(preds: np.ndarray, ms: np.ndarray, pan: np.ndarray,
        low: np.ndarray | None = None, order: int = 1,
        index: Callable[..., float] = uqi, window: int = 7) -> float:
    """Of a fused image [C, H, W]."""
    low = lowered(pan, ms.shape[-1], window) if low is None else low
    terms = [abs(index(ms[i:i + 1], low[i:i + 1])
                 - index(preds[i:i + 1], pan[i:i + 1])) ** order
             for i in range(len(ms))]
    return np.mean(terms) ** (1 / order)


def small_index(p: np.ndarray, t: np.ndarray) -> float:
    """With windows of 3 x 3 pixels."""
    return uqi(p, t, 3)


def gaussian_index(p: np.ndarray, t: np.ndarray) -> float:
    """TorchMetrics' index."""
    return of_tm(tm.universal_image_quality_index)(p, t)


def checked(function: Callable, own: Callable) -> Callable[..., float]:
    """A formula that gives TorchMetrics' value of single images in float32."""
    def score(*images: np.ndarray) -> float:
        value = own(*images)
        assert np.isclose(value, of_tm(function)(*images), rtol=1e-3, atol=1e-6)
        return value
    return score


def spatial_distortion() -> Fixture:
    """SpatialDistortionIndex."""
    metric = "SpatialDistortionIndex"
    low = fusion(metric, "pan_lr", 2, 16, 8)
    low = (*low, np.round(low[2][:, :, 1::2, 1::2] * 0.9, 3))
    return Fixture(metric, OWN, [
        case("default", fusion(metric, "default", 2, 16, 8), d_s, OWN),
        case("pan_lr", low, d_s, OWN),
        case("small", fusion(metric, "small", 2, 6, 3),
             lambda a, b, c: d_s(a, b, c, index=small_index, window=3), OWN,
             kernel_size=3, window_size=3),
        case("norm_order", fusion(metric, "norm_order", 2, 16, 8),
             lambda a, b, c: d_s(a, b, c, order=2), OWN, norm_order=2),
        case("gaussian", fusion(metric, "gaussian", 2, 24, 12),
             checked(tm.spatial_distortion_index,
                     lambda a, b, c: d_s(a, b, c, index=gaussian_index)),
             OWN, **GAUSSIAN)])


def no_reference() -> Fixture:
    """QualityWithNoReference."""
    metric = "QualityWithNoReference"

    def quality(a: np.ndarray, b: np.ndarray, c: np.ndarray, alpha: float = 1,
                beta: float = 1, **how) -> float:
        index = how.get("index", uqi)
        return ((1 - d_lambda(a, b, index=index)) ** alpha
                * (1 - d_s(a, b, c, **how)) ** beta)

    return Fixture(metric, OWN, [
        case("default", fusion(metric, "default", 2, 16, 8), quality, OWN),
        case("small", fusion(metric, "small", 2, 6, 3),
             lambda a, b, c: quality(a, b, c, index=small_index, window=3), OWN,
             kernel_size=3, window_size=3),
        case("exponents", fusion(metric, "exponents", 2, 16, 8),
             lambda a, b, c: quality(a, b, c, 2, 0.5), OWN, alpha=2.0, beta=0.5),
        case("gaussian", fusion(metric, "gaussian", 2, 24, 12),
             checked(tm.quality_with_no_reference,
                     lambda a, b, c: quality(a, b, c, index=gaussian_index)),
             OWN, **GAUSSIAN)])


def fidelity() -> Fixture:
    """VisualInformationFidelity."""
    metric = "VisualInformationFidelity"
    score = of_tm(tm.visual_information_fidelity)
    images = drawn(metric, "default", (1, 42, 41), 2, top=255)
    return Fixture(metric, TM, [
        case("default", images, score, TM, data_range=255.0)])


def blocked() -> Fixture:
    """PeakSignalNoiseRatioWithBlockedEffect."""
    metric = "PeakSignalNoiseRatioWithBlockedEffect"

    def one(label: str, places: tuple[int, ...], size: int) -> Case:
        preds, target = drawn(metric, label, places)
        step = size // 2
        coarse = preds[..., ::step, ::step].repeat(step, -1).repeat(step, -2)
        blocks = np.round(0.5 * preds + 0.5 * coarse[..., :places[1], :places[2]], 3)
        blocks[:, :, :, size:] += 0.125
        score = of_tm(tm.peak_signal_noise_ratio_with_blocked_effect,
                      data_range=1.0, block_size=size)
        return case(label, (blocks, target), score, TM, 1e-6, data_range=1.0,
                    **({"block_size": size} if size != 8 else {}))

    return Fixture(metric, TM, [one("default", (1, 16, 17), 8),
                                one("block_size", (1, 9, 8), 4)])


def lips() -> Fixture:
    """LipVertexError."""
    metric = "LipVertexError"
    rng = seeded(metric, "default")
    pair = tuple(np.round(rng.standard_normal((4, 7, 3)), 2) for _ in range(2))
    mouth = [1, 2, 4, 6]
    value = lip_vertex_error(*(tensor(x) for x in pair), mouth).item()
    return Fixture(metric, "TorchMetrics 1.9.0", [
        case("default", pair, None, "TorchMetrics 1.9.0", expected=value,
             mouth_map=mouth)])


def frames() -> list[Fixture]:
    """Metrics of videos, averaged over frames."""
    def video(name: str, score: Callable, places: tuple[int, ...],
              **options) -> Fixture:
        preds, target = drawn(name, "default", (3 * places[0], *places[1:]), 2)
        pair = tuple(x.reshape(2, 3, *places) for x in (preds, target))

        def mean(p: np.ndarray, t: np.ndarray) -> float:
            return np.mean([score(a, b) for a, b in zip(p, t, strict=True)])

        return Fixture(name, SKIMAGE, [
            case("default", pair, mean, SKIMAGE, data_range=1.0, **options)])

    def ssim_of(p: np.ndarray, t: np.ndarray) -> float:
        return structural_similarity(t, p, win_size=5, data_range=1.0,
                                     channel_axis=0, use_sample_covariance=False)

    return [
        video("VideoPeakSignalNoiseRatio",
              lambda p, t: peak_signal_noise_ratio(t, p, data_range=1.0), (2, 3, 4)),
        video("VideoStructuralSimilarityIndexMeasure", ssim_of, (2, 6, 7),
              kernel_size=5, gaussian_kernel=False)]


def main() -> None:
    """Writes the files."""
    for fixture in (psnr(), total_variation(), ssim(), ms_ssim(), universal(),
                    spectral_angle(), ergas(), sliding(), rase(),
                    spatial_correlation(), spectral_distortion(),
                    spatial_distortion(), no_reference(), fidelity(), blocked(),
                    lips(), *frames()):
        domain = "shape" if fixture.metric == "LipVertexError" else "image"
        path = DATA / domain / f"{fixture.metric}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(to_text(fixture), encoding="utf-8")


if __name__ == "__main__":
    main()
