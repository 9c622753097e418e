"""In what TorchMetrics' classes of images differ from Tally's of the same name."""

from collections.abc import Sequence


def _reduction(options):
    """Tally's name of the mean."""
    if options.get("reduction") == "elementwise_mean":
        return {**options, "reduction": "mean"}
    return options


def pooled(options):
    """There is nothing to reduce."""
    return {k: v for k, v in options.items() if k != "reduction"}


def _number(value):
    """That of a sequence of equal ones; else None."""
    if isinstance(value, Sequence):
        return value[0] if len(set(value)) == 1 else None
    return value


def structural(options):
    """Windows across the border count in TorchMetrics, and sigma says how large they are."""
    options = _windows(options)
    return {**options, "border": "reflect"}


def _windows(options):
    options = _reduction(options)
    sigma, size = _number(options["sigma"]), _number(options["kernel_size"])
    if options["gaussian_kernel"]:
        size = 2 * int(3.5 * sigma + 0.5) + 1
    return {**options, "sigma": sigma, "kernel_size": size}


def multi_scale(options):
    """Tally has a name for no normalization."""
    options = _windows(options)
    return {**options, "betas": list(options["betas"]), "normalize": options["normalize"] or "none"}


def universal(options):
    """Windows are Gaussian in TorchMetrics."""
    sizes = {"kernel_size": (11, 11), "sigma": (1.5, 1.5), **options}
    numbers = {name: _number(sizes[name]) for name in ("kernel_size", "sigma")}
    return {**_reduction(options), **numbers, "gaussian_kernel": True}


def fidelity(options):
    """TorchMetrics takes all images for images from 0 to 255."""
    return {**options, "data_range": 255.0}


def _reduces(reduction, **others):
    """Whether a value for each image is not asked for."""
    return reduction not in (None, "none")


def _averages(reduction, **others):
    """Whether the mean is asked for: TorchMetrics' sums are over pixels, and over bands."""
    return reduction == "elementwise_mean"


def _has_range(data_range, **others):
    """Whether the range of values is a number."""
    return isinstance(data_range, (int, float))


def _whole(data_range, dim, **others):
    """Whether errors of all images are taken together."""
    return _has_range(data_range) and dim is None


def _structural(
    data_range, reduction, sigma, kernel_size, return_full_image=False,
    return_contrast_sensitivity=False, **others,
):
    """Whether values are those of images, with windows as large as wide."""
    return (
        _has_range(data_range)
        and _reduces(reduction)
        and _number(sigma) is not None
        and _number(kernel_size) is not None
        and not (return_full_image or return_contrast_sensitivity)
    )


def _universal(reduction, sigma, kernel_size, **others):
    """The same."""
    return _averages(reduction) and None not in (_number(sigma), _number(kernel_size))


def _laplacian(high_pass_filter, **others):
    """Whether the filter is the default."""
    return high_pass_filter is None


ONLY_WITH = {
    "ErrorRelativeGlobalDimensionlessSynthesis": _reduces,
    "MultiScaleStructuralSimilarityIndexMeasure": _structural,
    "PeakSignalNoiseRatio": _whole,
    "PeakSignalNoiseRatioWithBlockedEffect": _has_range,
    "SpatialCorrelationCoefficient": _laplacian,
    "SpectralAngleMapper": _averages,
    "SpectralDistortionIndex": _averages,
    "StructuralSimilarityIndexMeasure": _structural,
    "TotalVariation": _reduces,
    "UniversalImageQualityIndex": _universal,
    "VisualInformationFidelity": _reduces,
}

LOOKED_AFTER = {
    "PeakSignalNoiseRatio": {"dim"},
    "SpatialCorrelationCoefficient": {"high_pass_filter"},
    "StructuralSimilarityIndexMeasure": {"return_full_image", "return_contrast_sensitivity"},
}

OPTIONS = {
    "ErrorRelativeGlobalDimensionlessSynthesis": _reduction,
    "MultiScaleStructuralSimilarityIndexMeasure": multi_scale,
    "PeakSignalNoiseRatio": pooled,
    "SpectralAngleMapper": _reduction,
    "SpectralDistortionIndex": universal,
    "StructuralSimilarityIndexMeasure": structural,
    "UniversalImageQualityIndex": universal,
    "VisualInformationFidelity": fidelity,
}
