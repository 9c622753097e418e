"""In what TorchMetrics' classes of features differ from Tally's of the same name.

The network is TorchMetrics', or the user's module, and so is what is done to images
before; Tally's part begins with features.
"""

import torch

_OF_TWO_KINDS = (
    "FrechetInceptionDistance",
    "KernelInceptionDistance",
    "MemorizationInformedFrechetInceptionDistance",
)
_CLASSES = (*_OF_TWO_KINDS, "InceptionScore")


def _bytes(metric, images):
    """Images of [0, 1] as bytes, unless the network is the user's and takes them as they are."""
    of_user = getattr(metric, "used_custom_model", False)
    return (images * 255).byte() if metric.normalize and not of_user else images


def _features(metric, images):
    with torch.no_grad():
        features = metric.inception(_bytes(metric, images))
    return features.unsqueeze(0) if features.ndim == 1 else features


def logits(metric, inputs):
    """Of one kind of samples."""
    return [_features(metric, *inputs)]


def samples(metric, inputs):
    """Features, and whether they are of real samples, which may outlast reset()."""
    images, real = inputs
    features = _features(metric, images)
    if not metric.reset_real_features and bool(real):
        if metric._kept is None:
            metric.__dict__["_kept"] = metric._tally.clone()
            metric._kept.reset()
        metric._kept.update(features, real)
    return [features, real]


_LOOKED_AFTER = {
    "feature", "reset_real_features", "normalize", "input_img_size",
    "feature_extractor_weights_path", "antialias",
}

LOOKED_AFTER = dict.fromkeys(_CLASSES, _LOOKED_AFTER)
INPUTS = {
    **dict.fromkeys(_OF_TWO_KINDS, {"imgs": "features"}),
    "InceptionScore": {"imgs": "logits"},
}
PREPARED = {**dict.fromkeys(_OF_TWO_KINDS, samples), "InceptionScore": logits}
