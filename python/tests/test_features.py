"""Features of samples."""

import pytest
import tally
import torch

torch.manual_seed(0)
IMAGES = torch.rand(10, 3, 4, 4)


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Conv2d(3, 5, 2)
        self.norm = torch.nn.BatchNorm2d(5)
        self.fixed = torch.nn.Dropout()

    def forward(self, x):
        return self.norm(self.layer(x))


def expected(network):
    with torch.no_grad():
        return network.eval()(IMAGES).flatten(1)


def test_modules_functions_and_files(tmp_path):
    network = Network()
    network.train()
    network.fixed.eval()
    extractor = tally.FeatureExtractor(network, batch_size=4)
    features = extractor(IMAGES)
    # As it was before, and without gradients.
    assert network.training and not network.fixed.training
    assert not features.requires_grad
    torch.testing.assert_close(features, expected(network))
    torch.jit.script(network).save(tmp_path / "network.pt")
    for other in (
        tally.FeatureExtractor(tmp_path / "network.pt"),
        tally.FeatureExtractor(lambda x: network(x), batch_size=3),
        tally.FeatureExtractor(network, dtype=torch.float32, device="cpu"),
    ):
        torch.testing.assert_close(other(IMAGES), features)
    torch.testing.assert_close(extractor(IMAGES.numpy()), features)
    assert extractor(IMAGES[:0]).shape == (0, 45)
    assert tally.FeatureExtractor(lambda x: x.sum((1, 2, 3)))(IMAGES).shape == (10, 1)


def test_several_metrics_over_one_pass():
    calls = []

    def network(x):
        calls.append(len(x))
        return x.flatten(1)

    extractor = tally.FeatureExtractor(network, batch_size=6)
    metrics = tally.MetricCollection(
        [tally.FrechetInceptionDistance(), tally.KernelInceptionDistance(subsets=0),
         tally.ImprovedPrecisionRecall()]
    )
    metrics.update(extractor(IMAGES), real=True)
    metrics.update(extractor(IMAGES + 0.1), real=False)
    value = metrics.compute()
    assert calls == [6, 4, 6, 4]
    alone = tally.FrechetInceptionDistance()
    alone.update(IMAGES.flatten(1), True)
    alone.update((IMAGES + 0.1).flatten(1), torch.zeros(10, dtype=torch.bool))
    torch.testing.assert_close(value["FrechetInceptionDistance"], alone.compute())
    # Means that differ by 0.1 in each of 48 features, and equal covariances.
    torch.testing.assert_close(alone.compute().item(), 0.48, rtol=1e-5, atol=0)


def test_layers():
    layers = [torch.rand(2, 4, 3, 3), torch.rand(2, 8, 2, 2)]
    flat = tally.flatten_layers(layers)
    assert flat.shape == (2, 4 * 9 + 8 * 4)
    metric = tally.LearnedPerceptualImagePatchSimilarity(channels=[4, 8], pixels=[9, 4])
    assert metric(flat, flat) == 0
    assert metric(flat, tally.flatten_layers([torch.rand_like(x) for x in layers])) > 0
    for bad in ([], [layers[0][0]], [layers[0], layers[1][:1]]):
        with pytest.raises(ValueError, match="layers"):
            tally.flatten_layers(bad)


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: tally.FeatureExtractor(3), TypeError, "module, a function"),
        (lambda: tally.FeatureExtractor(Network(), batch_size=0), ValueError, "batch_size"),
        (lambda: tally.FeatureExtractor(lambda x: x)(0.5), ValueError, "rows"),
        (lambda: tally.FeatureExtractor(lambda x: (x,))(IMAGES), TypeError, "tuple"),
        (lambda: tally.FeatureExtractor(lambda x: x[:1])(IMAGES), ValueError, "10 rows"),
        (lambda: tally.FeatureExtractor(lambda x: x.sum())(IMAGES), ValueError, "10 rows"),
    ],
)
def test_what_is_refused(make, error, match):
    with pytest.raises(error, match=match):
        make()
