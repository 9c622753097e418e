"""Features of samples, for the metrics that compare them."""

import os

import torch

from tally._inputs import tensor_of
from tally._library import functions


class FeatureExtractor:
    """A network that turns images, or anything else in tensors, into features.

        extractor = tally.FeatureExtractor(network, batch_size=32)
        metrics = tally.MetricCollection([
            tally.FrechetInceptionDistance(), tally.KernelInceptionDistance(),
        ])
        metrics.update(extractor(images), real=True)

    It runs without gradients, in batches of its own size, and on its own device. What it
    returns is flattened to [N, D]. A network serves any number of metrics in one pass.

    Args:
        network: Any function of a tensor, a module (in evaluation mode for the call), or
            the path of a TorchScript file.
        batch_size: How many rows the network takes at a time; None: all at once.
        device: Where inputs are moved; None: they stay where they are. A module or file
            is moved there, too.
        dtype: The dtype of the network's inputs; None: they stay as they are.
    """

    def __init__(self, network, *, batch_size=None, device=None, dtype=None):
        if batch_size is not None and (not isinstance(batch_size, int) or batch_size < 1):
            raise ValueError(f"batch_size: expected at least 1 or None, got {batch_size!r}")
        if isinstance(network, (str, os.PathLike)):
            network = torch.jit.load(network, map_location=device or "cpu")
        elif not callable(network):
            raise TypeError(
                "FeatureExtractor expected a module, a function or the path of a TorchScript "
                f"file, got a {type(network).__name__}"
            )
        if isinstance(network, torch.nn.Module) and device is not None:
            network = network.to(device)
        self.network = network
        self.batch_size, self.device, self.dtype = batch_size, device, dtype

    def __call__(self, inputs):
        """Features [N, D] of inputs [N, ...]."""
        inputs = tensor_of(inputs)
        if not inputs.ndim:
            raise ValueError("FeatureExtractor expected inputs with rows, got one number")
        modes = []
        if isinstance(self.network, torch.nn.Module):
            modes = [(module, module.training) for module in self.network.modules()]
            self.network.eval()
        try:
            with torch.no_grad():
                size = self.batch_size or max(len(inputs), 1)
                parts = [self._features(part) for part in inputs.split(size)]
        finally:
            for module, mode in modes:
                module.training = mode
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _features(self, batch):
        features = self.network(batch.to(device=self.device, dtype=self.dtype))
        if not isinstance(features, torch.Tensor):
            raise TypeError(
                "FeatureExtractor expected a tensor of the network, got a "
                f"{type(features).__name__}"
            )
        if not features.ndim or len(features) != len(batch):
            raise ValueError(
                f"FeatureExtractor expected {len(batch)} rows of the network, one for each of "
                f"its input, got {list(features.shape)}"
            )
        return features.unsqueeze(1) if features.ndim == 1 else features.flatten(1)


def flatten_layers(layers):
    """Layers of a network, each [N, C, H, W], as one row for each image.

    What LearnedPerceptualImagePatchSimilarity takes: [N, sum of C * H * W].
    """
    return functions.flatten_layers([tensor_of(layer) for layer in layers])
